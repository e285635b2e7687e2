//! Bankr's prepaid credit: balance, use, top-up.

use serde_json::{Value, json};

use crate::bankr::catalog::Model;
use crate::bankr::error;
use crate::chat::Counts;
use crate::recorded::Recorded;
use crate::reply::{Content, Reply};
use crate::world::World;

const BALANCE: &str = "bankr:balance_micro_usd";
const USAGE: &str = "bankr:usage";
const AUTO: &str = "bankr:auto_topup";
/// What the sandbox account starts with.
const START_MICRO_USD: i64 = 9_150_000;

/// The balance, which may be slightly negative after the last call that it paid for.
pub(super) fn balance_micro_usd(world: &World) -> i64 {
    world
        .shelf
        .get(BALANCE)
        .and_then(|held| held.as_i64())
        .unwrap_or(START_MICRO_USD)
}

fn change_balance(world: &World, by_micro_usd: i64) -> i64 {
    let changed = world.shelf.update(BALANCE, |held| {
        let before = held
            .and_then(|held| held.as_i64())
            .unwrap_or(START_MICRO_USD);
        json!(before + by_micro_usd)
    });
    changed.as_i64().unwrap_or(START_MICRO_USD)
}

fn dollars(micro_usd: i64) -> f64 {
    micro_usd as f64 / 1e6
}

/// Deducts what an answer costs, and adds it to the usage of its model.
pub(super) fn charge(model: &Model, counts: &Counts, world: &World) {
    let plain = counts
        .input
        .saturating_sub(counts.cache_read + counts.cache_written);
    let micro_usd = plain as f64 * model.price("input")
        + counts.cache_read as f64 * model.price("cache_read")
        + counts.cache_written as f64 * model.price("cache_write")
        + counts.output as f64 * model.price("output");
    let micro_usd = micro_usd.ceil() as i64;
    change_balance(world, -micro_usd);
    world.shelf.update(USAGE, |held| {
        let mut usage = held.unwrap_or(json!({}));
        let row = &mut usage[model.id()];
        let add = |row: &mut Value, name: &str, more: u64| {
            row[name] = json!(row[name].as_u64().unwrap_or(0) + more);
        };
        if row.is_null() {
            *row = json!({ "provider": model.owner() });
        }
        add(row, "requests", 1);
        add(row, "input", plain);
        add(row, "output", counts.output);
        add(row, "read", counts.cache_read);
        add(row, "written", counts.cache_written);
        add(row, "micro_usd", u64::try_from(micro_usd).unwrap_or(0));
        usage
    });
}

/// Deducts an answer of the Messages dialect, from the usage that it reports.
pub(super) fn charge_reply(model: &Model, reply: &Reply, world: &World) {
    let mut counts = Counts::default();
    let mut read = |usage: &Value| {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
        counts.cache_read = counts.cache_read.max(count("cache_read_input_tokens"));
        counts.cache_written = counts
            .cache_written
            .max(count("cache_creation_input_tokens"));
        let input = count("input_tokens") + counts.cache_read + counts.cache_written;
        counts.input = counts.input.max(input);
        counts.output = counts.output.max(count("output_tokens"));
    };
    let events: Vec<Value> = match &reply.content {
        Content::Whole(body) => vec![serde_json::from_slice(body).unwrap_or_default()],
        Content::Stream(pieces) => pieces
            .iter()
            .filter_map(|piece| {
                let text = std::str::from_utf8(&piece.bytes).ok()?;
                let data = text.lines().find_map(|line| line.strip_prefix("data: "))?;
                serde_json::from_str(data).ok()
            })
            .collect(),
    };
    for event in &events {
        for path in ["/usage", "/message/usage"] {
            event.pointer(path).into_iter().for_each(&mut read);
        }
    }
    if reply.status < 400 {
        charge(model, &counts, world);
    }
}

/// Answers `GET /v1/credits`.
pub(super) fn credits(world: &World) -> Value {
    let balance = dollars(balance_micro_usd(world));
    json!({ "object": "credit_balance", "balanceUsd": balance,
        "effectiveBalanceUsd": balance, "undeductedCostUsd": 0 })
}

/// `GET /v1/usage`; a number of days out of range is clamped without a word.
pub(super) fn usage(days: Option<i64>, world: &World) -> Value {
    let days = match days.unwrap_or(30) {
        ..=0 => 30,
        days => days.min(90),
    };
    let held = world.shelf.get(USAGE).unwrap_or(json!({}));
    let rows: Vec<(&String, &Value)> = held.as_object().into_iter().flatten().collect();
    let sum = |name: &str| {
        rows.iter()
            .filter_map(|(_, row)| row[name].as_u64())
            .sum::<u64>()
    };
    let tokens = |row: &Value| {
        ["input", "output", "read", "written"]
            .iter()
            .filter_map(|name| row[*name].as_u64())
            .sum::<u64>()
    };
    let cost = |micro_usd: u64| micro_usd as f64 / 1e6;
    let by_model: Vec<Value> = rows
        .iter()
        .map(|(model, row)| {
            json!({ "model": model, "provider": row["provider"], "requests": row["requests"],
                "totalTokens": tokens(row), "totalCost": cost(row["micro_usd"].as_u64().unwrap_or(0)) })
        })
        .collect();
    json!({
        "object": "usage", "days": days, "startDate": "2026-10-21T00:00:00.000Z",
        "endDate": "2026-11-20T00:00:00.000Z",
        "totals": {
            "totalRequests": sum("requests"), "totalInputTokens": sum("input"),
            "totalOutputTokens": sum("output"), "totalCacheReadInputTokens": sum("read"),
            "totalCacheWriteInputTokens": sum("written"),
            "totalTokens": rows.iter().map(|(_, row)| tokens(row)).sum::<u64>(),
            "totalCost": cost(sum("micro_usd")), "totalCacheCost": 0,
            "totalImageOutputTokens": 0, "totalImageCost": 0,
        },
        "byModel": by_model,
    })
}

/// `POST /llm/credits/topup`; there is no idempotency key, each call spends.
pub(super) fn top_up(request: &Recorded, world: &World) -> Reply {
    let body = request.json().unwrap_or_default();
    let amount = body.get("amountUsd").and_then(Value::as_f64);
    let Some(amount) = amount.filter(|amount| (1.0..=1_000.0).contains(amount)) else {
        return error(
            400,
            "invalid_request_error",
            "amountUsd must be between 1 and 1000",
        );
    };
    let balance = change_balance(world, (amount * 1e6).round() as i64);
    let transaction = world.hex_id("0x", 64, &[b"topup", &request.seq.to_be_bytes()]);
    Reply::json(
        200,
        &json!({ "creditsGranted": amount, "newBalance": dollars(balance), "txHash": transaction }),
    )
}

/// Answers `GET` and `POST /llm/credits/auto-topup`.
pub(super) fn auto_top_up(request: &Recorded, world: &World) -> Reply {
    let changes = request.json().unwrap_or_default();
    let config = world.shelf.update(AUTO, |held| {
        let mut config = held.unwrap_or(json!({
            "enabled": false, "amountUsd": 25, "thresholdUsd": 5, "tokens": [],
            "lastTopUpAt": null, "lastError": null,
        }));
        for name in ["enabled", "amountUsd", "thresholdUsd", "tokens"] {
            if let Some(value) = changes.get(name) {
                config[name] = value.clone();
            }
        }
        config
    });
    Reply::json(200, &json!({ "config": config }))
}
