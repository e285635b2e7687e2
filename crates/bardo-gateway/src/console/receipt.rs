//! One request: its receipt as a timeline of stages and attempts, with the cost of each.

use bardo_console::format::{count, encoded, ms, us, usd_text};
use bardo_console::pages::{TimelinePage, TimelineStep};
use bardo_console::parts::{Cell, Empty, FactList, PageTable, Tile, Tone};
use bardo_console::render;
use bardo_ledger::ReceiptFilter;
use bardo_ledger::series::ReceiptSearch;
use serde_json::Value;

use super::backends::tone;
use super::visit::{PageProblem, PageResult, Shown, Visit, at};
use crate::operator::FoundReceipt;

/// Moments of a receipt in their order, and what was done until then.
const STAGES: [(&str, &str, &str); 9] = [
    (
        "read",
        "Read",
        "the request was read and its caller identified",
    ),
    ("limited", "Limits", "scopes, rates and allowances"),
    (
        "hash_lookup",
        "Stored answers",
        "look-up by the exact request",
    ),
    ("screened", "Screens", "checks of the prompt"),
    ("prepared", "Prepare", "settings and context"),
    ("planned", "Plan", "candidates and their order"),
    (
        "semantic_lookup",
        "Stored answers by meaning",
        "look-up of similar questions",
    ),
    ("reserved", "Hold", "money reserved"),
    ("sent", "Send", "connection to the provider"),
];
/// The address of a request's page.
pub(super) fn path_of(id: &str) -> String {
    format!("/console/requests/{}", encoded(id))
}

/// The receipt of a request of any account.
async fn find(visit: &Visit<'_>, id: &str) -> Result<Value, PageProblem> {
    let now = visit.ops.now_ms();
    let search = ReceiptSearch {
        filter: ReceiptFilter::between(0, now + 1),
        golem: None,
        layer: None,
        min_cost: None,
        request_prefix: Some(id.to_owned()),
        after: None,
        limit: 1,
    };
    let found = visit.ops.operator.search(search, None).await?;
    let own = found.receipts.first().map(FoundReceipt::json);
    own.filter(|receipt| receipt["request_id"] == *id)
        .ok_or_else(|| PageProblem::NotFound(format!("No request has the id {id}.")))
}

/// The receipt as a file.
pub(super) async fn file(visit: &Visit<'_>, id: &str) -> PageResult {
    let receipt = find(visit, id).await?;
    Ok(Shown::File {
        name: format!(
            "{}.json",
            receipt["request_id"].as_str().unwrap_or("receipt")
        ),
        kind: "application/json",
        body: serde_json::to_string_pretty(&receipt).unwrap_or_default(),
    })
}

/// Shows the page.
pub(super) async fn show(visit: &Visit<'_>, id: &str) -> PageResult {
    let receipt = find(visit, id).await?;
    let id = receipt["request_id"].as_str().unwrap_or_default();
    let shell = visit.shell(id, "requests");
    Ok(Shown::Html(render(&TimelinePage {
        shell: &shell,
        json: format!("{}.json", path_of(id)),
        failure: failure(&receipt),
        tiles: tiles(&receipt),
        steps: steps(&receipt),
        request: request(&receipt),
        cost: cost(&receipt),
        tokens: tokens(&receipt),
        routing: routing(&receipt),
        degraded: lost(&receipt),
        passed_over: passed_over(&receipt),
        source: serde_json::to_string_pretty(&receipt).unwrap_or_default(),
    })))
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn failure(receipt: &Value) -> String {
    let last = receipt["attempts"].as_array().and_then(|all| all.last());
    let last = last.map_or_else(String::new, |attempt| {
        let status = attempt["status"]
            .as_u64()
            .map_or_else(String::new, |status| format!(", status {status}"));
        format!(
            " The last attempt, at {}, ended with {}{status}.",
            text(attempt, "provider"),
            text(attempt, "class")
        )
    });
    match text(receipt, "status") {
        "failed" => format!("The request failed.{last}"),
        "unknown" => {
            "The outcome is unknown: the provider may have billed it. Decide it under Accounts."
                .to_owned()
        }
        _ => String::new(),
    }
}

fn tiles(receipt: &Value) -> Vec<Tile> {
    let status = text(receipt, "status");
    let (cost, billed) = super::requests::cost(receipt);
    let timings = &receipt["timings_ms"];
    let time = |name: &str| timings[name].as_u64().map_or_else(|| "–".to_owned(), ms);
    let usage = &receipt["usage"];
    let number = |name: &str| usage[name].as_u64().map_or_else(|| "–".to_owned(), count);
    vec![
        Tile::new("Status", status)
            .tone(tone(status))
            .note(match text(receipt, "cache") {
                "hash" => "from a stored answer",
                "semantic" => "from a stored answer by meaning",
                _ => "",
            }),
        Tile::new("Cost", usd_text(cost)).note(if billed {
            "charged to the account"
        } else {
            "on the owner's own key"
        }),
        Tile::new("Savings", usd_text(receipt["cost"]["savings"].as_str()))
            .note("against the list price"),
        Tile::new("Total time", time("total"))
            .note(format!("first content after {}", time("first_content"))),
        Tile::new("Input tokens", number("input_tokens")).note(format!(
            "{} from the provider's cache",
            number("cache_read_tokens")
        )),
        Tile::new("Output tokens", number("output_tokens"))
            .note(format!("{} reasoning", number("reasoning_tokens"))),
    ]
}

/// Stages by their moments, and attempts by their durations, on one scale.
fn steps(receipt: &Value) -> Vec<TimelineStep> {
    let moments = &receipt["timings_us"];
    let total = moments["total"].as_u64().unwrap_or(0).max(1);
    let step = |kind, name: &str, note: String, from: u64, until: u64, cost: String| TimelineStep {
        kind,
        name: name.to_owned(),
        note,
        from: from.min(total) * 1_000 / total,
        length: (until.saturating_sub(from) * 1_000 / total).clamp(3, 1_000),
        took: us(until.saturating_sub(from)),
        cost,
    };
    let mut steps = Vec::new();
    let mut before = 0;
    for (name, label, note) in STAGES {
        let Some(moment) = moments[name].as_u64() else {
            continue;
        };
        if name != "sent" {
            steps.push(step(
                "stage",
                label,
                note.to_owned(),
                before,
                moment,
                String::new(),
            ));
        }
        before = before.max(moment);
    }
    let attempts = receipt["attempts"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let whole: u64 = attempts.iter().filter_map(|one| one["ms"].as_u64()).sum();
    // Attempts follow one another and end with the answer.
    let mut begin = total.saturating_sub(whole * 1_000).min(before);
    let (cost, _) = super::requests::cost(receipt);
    for (index, attempt) in attempts.iter().enumerate() {
        let outcome = text(attempt, "outcome");
        let is_good = outcome == "answered";
        // The moments of the last sending and of the first content are exact; durations are in
        // whole milliseconds.
        let exact = (moments["sent"].as_u64()).zip(moments["first_content"].as_u64());
        let exact = exact.filter(|_| is_good && index + 1 == attempts.len());
        let end = begin.saturating_add(attempt["ms"].as_u64().unwrap_or(0) * 1_000);
        let (start, end) = exact.unwrap_or((begin, end));
        let end = end.min(total);
        let mut note = format!("{} · {outcome}", text(attempt, "model"));
        if let Some(class) = attempt["class"].as_str() {
            let status = attempt["status"]
                .as_u64()
                .map_or_else(String::new, |status| format!(" {status}"));
            note.push_str(&format!(" · {class}{status}"));
        }
        let paid = attempt["payment"]["amount"].as_str();
        let cost = match (is_good, paid) {
            (_, Some(paid)) => usd_text(Some(paid)),
            (true, None) => usd_text(cost),
            (false, None) => "$0.00".to_owned(),
        };
        let kind = if is_good { "attempt" } else { "attempt failed" };
        steps.push(step(
            kind,
            text(attempt, "provider"),
            note,
            start,
            end,
            cost,
        ));
        begin = end;
    }
    if let Some(first) = moments["first_content"].as_u64() {
        steps.push(step(
            "stage",
            "First content",
            "delivered to the client".to_owned(),
            first,
            first,
            String::new(),
        ));
    }
    if let Some(settled) = moments["settled"].as_u64() {
        let first = moments["first_content"].as_u64().unwrap_or(0);
        steps.push(step(
            "stage",
            "Relay and charge",
            "from the first content to the final figures".to_owned(),
            begin.max(first).min(settled),
            settled,
            String::new(),
        ));
    }
    steps
}

fn request(receipt: &Value) -> FactList {
    let mut facts = FactList::default();
    let maybe = |name: &str| Cell::maybe(receipt[name].as_str());
    facts.add("Time", at(&receipt["created_ms"]));
    facts.add("Model asked for", maybe("model_requested"));
    facts.add("Model", maybe("model"));
    let provider = text(receipt, "provider");
    facts.add(
        "Provider",
        Cell::maybe(receipt["provider"].as_str()).link(match provider {
            "" => String::new(),
            name => format!("/console/providers/{}", encoded(name)),
        }),
    );
    facts.add("Dialect", maybe("dialect"));
    let streamed = if receipt["stream"] == true {
        "yes"
    } else {
        "no"
    };
    facts.add("Streamed", Cell::text(streamed));
    if let Some(key) = receipt["key"].as_str() {
        facts.add("Key", Cell::code(key).link(super::keys::path_of(key)));
    }
    for (label, name) in [("Session", "session"), ("Subsystem", "subsystem")] {
        if let Some(value) = receipt[name].as_str() {
            let href = format!("/console/requests?since=30d&{name}={}", encoded(value));
            facts.add(label, Cell::text(value).link(href));
        }
    }
    for (label, name) in [
        ("Client's request id", "client_request_id"),
        ("Provider's request id", "upstream_request_id"),
        ("Trace", "trace_id"),
    ] {
        if let Some(value) = receipt[name].as_str() {
            facts.add(label, Cell::code(value));
        }
    }
    facts
}

fn cost(receipt: &Value) -> FactList {
    let cost = &receipt["cost"];
    let usd = |name: &str| Cell::text(usd_text(cost[name].as_str()));
    let mut facts = FactList::default();
    facts.add("Provider's cost", usd("provider_cost"));
    let bps = cost["spread_bps"].as_u64().unwrap_or(0);
    facts.add(
        "Spread",
        usd("spread").note(format!("{}.{:02}%", bps / 100, bps % 100)),
    );
    facts.add("Charged", usd("charge"));
    facts.add("List price", usd("list_price"));
    facts.add("Saved", usd("savings"));
    facts.add("Saved by prompt caches", usd("cache_savings"));
    facts.add("Shortfall", usd("shortfall"));
    facts.add("Balance afterwards", usd("balance"));
    facts.add(
        "Payment",
        Cell::maybe(cost["mode"].as_str()).note(text(cost, "provider_payment")),
    );
    facts
}

fn tokens(receipt: &Value) -> FactList {
    let usage = &receipt["usage"];
    let mut facts = FactList::default();
    for (label, name) in [
        ("Fresh input", "fresh_input_tokens"),
        ("From cache", "cache_read_tokens"),
        ("Written, 5 minutes", "cache_write_5m_tokens"),
        ("Written, 1 hour", "cache_write_1h_tokens"),
        ("Output", "output_tokens"),
        ("Reasoning", "reasoning_tokens"),
        ("Audio in", "audio_input_tokens"),
        ("Audio out", "audio_output_tokens"),
        ("Web searches", "web_searches"),
    ] {
        let number = usage[name].as_u64();
        let is_usual = !name.starts_with("audio") && name != "web_searches";
        if is_usual || number.is_some_and(|number| number > 0) {
            facts.add(
                label,
                Cell::text(number.map_or_else(|| "–".to_owned(), count)),
            );
        }
    }
    let estimated = usage["estimated"] == true;
    facts.add(
        "Counted by",
        Cell::text(if estimated {
            "the gateway (estimated)"
        } else {
            "the provider"
        }),
    );
    facts
}

fn routing(receipt: &Value) -> FactList {
    let routing = &receipt["routing"];
    let mut facts = FactList::default();
    let list = |value: &Value| {
        let names: Vec<&str> = value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        Cell::maybe(Some(names.join(", ").as_str()))
    };
    facts.add(
        "Stored answers",
        Cell::maybe(receipt["cache"].as_str()).note(text(receipt, "cache_reason")),
    );
    facts.add("Optimizations", list(&receipt["optimizations"]));
    if routing.is_null() {
        return facts;
    }
    facts.add(
        "Chosen by",
        Cell::text(if routing["automatic"] == true {
            "the gateway"
        } else {
            "the model's name"
        }),
    );
    for (label, name) in [
        ("Subsystem", "subsystem"),
        ("Tier", "tier"),
        ("Quality", "quality"),
        ("Privacy asked for", "security_class"),
        ("Privacy", "security"),
        ("TEE evidence", "tee"),
        ("Agent", "golem_id"),
        ("Phase", "phase"),
    ] {
        if let Some(value) = routing[name].as_str() {
            facts.add(label, Cell::text(value));
        }
    }
    if let Some(vitality) = routing["vitality"].as_f64() {
        facts.add("Vitality", Cell::text(format!("{vitality:.2}")));
    }
    facts.add("Features", list(&routing["features"]));
    facts.add("Warnings", list(&routing["warnings"]));
    facts
}

fn lost(receipt: &Value) -> PageTable {
    let mut table = PageTable::new("Degraded", &["Feature", "Detail"]);
    for one in receipt["degraded"].as_array().into_iter().flatten() {
        table.push(vec![
            Cell::badge(text(one, "feature"), Tone::Warn),
            Cell::text(text(one, "detail")),
        ]);
    }
    table
}

fn passed_over(receipt: &Value) -> PageTable {
    let mut table =
        PageTable::new("Backends passed over", &["Backend", "Reason"]).empty(Empty::default());
    for one in receipt["passed_over"].as_array().into_iter().flatten() {
        table.push(vec![
            Cell::text(text(one, "backend")),
            Cell::text(text(one, "reason")),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_time_of_a_quick_provider_is_from_sending_to_first_content() {
        let attempt = |provider: &str, outcome: &str, ms: u64| json!({ "provider": provider, "model": "m", "outcome": outcome, "ms": ms });
        let moments = json!({ "read": 30, "planned": 100, "reserved": 140, "sent": 5_200,
            "first_content": 5_900, "settled": 5_950, "total": 5_950 });
        let receipt = |attempts: Value| json!({ "timings_us": moments, "attempts": attempts });
        let took = |receipt: &Value, name: &str| {
            let steps = steps(receipt);
            let step = steps.iter().find(|step| step.name == name);
            step.expect("a step").took.clone()
        };
        let one = receipt(json!([attempt("a", "answered", 0)]));
        assert_eq!(took(&one, "a"), "700 µs");
        let two = receipt(json!([
            attempt("a", "failed", 5),
            attempt("b", "answered", 0)
        ]));
        assert_eq!(took(&two, "a"), "5.0 ms");
        assert_eq!(took(&two, "b"), "700 µs");
        assert_eq!(took(&two, "Relay and charge"), "50 µs");
    }
}
