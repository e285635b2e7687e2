//! What OpenRouter says of its own bill: afterwards, where the caller left before the usage, and of
//! calls with a key of the operator's own at the maker.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::paying::till::{Key, Till, header, micro_of};
use crate::rig::{Gateway, Sandbox, eventually};
use crate::scripted::{Scripted, Turn};
use crate::sse::Caller;

const TEXT: &str = "One two three four five six seven eight nine ten";

/// OpenRouter at this address, at a price that makes words expensive.
fn config(url: &str, key: &str) -> Value {
    let mut config = crate::rig::config(&[]);
    config["providers"] = json!({ "openrouter": {
        "api_key": key, "base_url": url,
        "price": { "input_per_million": 100, "output_per_million": 1000 },
    } });
    config
}

/// Streams some words and no usage. It knows what it billed from the third question on.
fn upstream(bill: &'static str) -> (Scripted, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let upstream = Scripted::start(move |mut turn| {
        if turn
            .got
            .line
            .starts_with("GET /api/v1/generation?id=gen-1 ")
        {
            match count.fetch_add(1, Ordering::SeqCst) {
                0 => turn.answer(
                    404,
                    "application/json",
                    r#"{"error":{"code":404,"message":"?"}}"#,
                ),
                1 => turn.answer(500, "text/plain", "oops"),
                _ => turn.json(bill),
            }
            return;
        }
        speak(&mut turn);
        turn.closed();
    });
    (upstream, asked)
}

fn speak(turn: &mut Turn) {
    turn.write(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-generation-id: gen-1\r\n\
         transfer-encoding: chunked\r\n\r\n",
    );
    let chunk = json!({ "id": "gen-1", "object": "chat.completion.chunk", "created": 1,
        "model": "qwen/qwen-plus",
        "choices": [{ "index": 0, "delta": { "content": TEXT }, "finish_reason": null }] });
    turn.chunk(format!("data: {chunk}\n\n"));
}

/// Reads the words of a stream and leaves; answers the id and the receipt.
#[track_caller]
fn leave(gateway: &Gateway, key: &Key) -> (String, Value) {
    let body = Caller::Chat.request("qwen-plus", "Hello", true);
    let mut exchange = gateway.open(&key.ask(Caller::Chat, &body));
    let head = exchange.head();
    assert_eq!(head.status, 200);
    let id = head.get("x-request-id").expect("an id").to_owned();
    exchange.until(&mut Vec::new(), "ten");
    drop(exchange);
    let receipt = eventually("it is settled", || {
        let found = gateway.send(&key.get(&format!("/v1/receipts/{id}")));
        (found.status() == 200).then(|| found.json())
    });
    assert_eq!(receipt["status"], "aborted", "{receipt}");
    assert_eq!(receipt["usage"]["estimated"], true, "{receipt}");
    (id, receipt)
}

fn credits(till: &Till, key: &Key) -> Vec<(String, i64)> {
    let postings = till.told(&["balance", "ledger", "--key", &key.id]);
    let ours = format!("customer:{}", key.account);
    postings
        .iter()
        .filter(|posting| posting["book"] == ours.as_str())
        .filter_map(|posting| {
            let reference = posting["reference"].as_str()?.strip_prefix("credit:")?;
            Some((reference.to_owned(), posting["amount_micro"].as_i64()?))
        })
        .collect()
}

#[test]
fn an_estimate_above_the_real_bill_is_credited_once() {
    let (upstream, _) = upstream(r#"{"data":{"id":"gen-1","total_cost":0.0010000001}}"#);
    let till = Till::new(config(&upstream.at("/api/v1"), "up-key"));
    let key = till.rich("1");
    let gateway = till.open();
    let (id, receipt) = leave(&gateway, &key);
    let charge = micro_of(&receipt["cost"]["charge"]);
    // 1,001 micro-USD and 20 % of it, rounded up.
    let due = 1_202;
    assert!(charge > due, "{receipt}");
    let posted = eventually("the difference is credited", || {
        Some(credits(&till, &key)).filter(|posted| !posted.is_empty())
    });
    let credit = i64::try_from(charge - due).expect("it is small");
    assert_eq!(posted, [(id.clone(), credit)]);
    assert_eq!(
        till.charged(&key, &id),
        charge,
        "the charge stays as it was"
    );
    let stand = till.stand(&key);
    assert_eq!((stand.held, stand.spent), (0, charge));
    assert_eq!(stand.deposited, 1_000_000 + charge - due);
    till.verify();
}

#[test]
fn a_bill_above_the_estimate_is_never_a_second_debit() {
    let (upstream, asked) = upstream(r#"{"data":{"id":"gen-1","total_cost":0.9}}"#);
    let till = Till::new(config(&upstream.at("/api/v1"), "up-key"));
    let key = till.rich("1");
    let gateway = till.open();
    let (id, receipt) = leave(&gateway, &key);
    let charge = micro_of(&receipt["cost"]["charge"]);
    eventually("the bill is known", || {
        (asked.load(Ordering::SeqCst) >= 3).then_some(())
    });
    // A later request is settled after whatever the bill led to.
    let before = till.stand(&key);
    assert_eq!((before.spent, before.deposited), (charge, 1_000_000));
    assert_eq!(till.charged(&key, &id), charge);
    assert_eq!(credits(&till, &key), []);
    till.verify();
}

#[test]
fn the_simulated_openrouter_says_what_it_billed() {
    let sandbox = Sandbox::start();
    let till = Till::new(config(&sandbox.at("/openrouter/api/v1"), "up-key"));
    let key = till.rich("1");
    let gateway = till.open();
    let text = format!("{TEXT} and so on {}", "and on ".repeat(200));
    let script = json!({ "steps": [{ "text": text, "usage": { "output": 1 }, "delay_ms": 20 }] });
    let mut body = Caller::Chat.request("qwen-plus", "Hello", true);
    body["messages"][0]["content"] = json!(format!("Please. bardo-script: {script}"));
    let mut exchange = gateway.open(&key.ask(Caller::Chat, &body));
    assert_eq!(exchange.head().status, 200);
    exchange.until(&mut Vec::new(), "ten");
    drop(exchange);
    eventually("the difference is credited", || {
        Some(credits(&till, &key)).filter(|posted| !posted.is_empty())
    });
    till.verify();
}

#[test]
fn with_an_own_key_at_the_maker_the_fee_alone_is_charged() {
    let sandbox = Sandbox::start();
    let url = sandbox.at("/openrouter/api/v1");
    let mut fees = Vec::new();
    for (api_key, is_byok) in [("up-key", false), ("up-byok-key", true)] {
        let till = Till::new(config(&url, api_key));
        let key = till.rich("1");
        let gateway = till.open();
        for stream in [false, true] {
            let body = Caller::Chat.request("qwen-plus", "Hello", stream);
            let answer = gateway.send(&key.ask(Caller::Chat, &body));
            assert_eq!(answer.status(), 200, "{}", answer.text());
            let id = header(&answer, "x-request-id");
            let receipt = eventually("it is settled", || {
                let found = gateway.send(&key.get(&format!("/v1/receipts/{id}")));
                (found.status() == 200).then(|| found.json())
            });
            assert_eq!(receipt["usage"]["byok"], is_byok, "{receipt}");
            let cost = &receipt["cost"];
            fees.push(micro_of(&cost["provider_cost"]));
            let spread = (micro_of(&cost["provider_cost"]) * 12).div_ceil(10);
            assert!(micro_of(&cost["charge"]) <= spread, "{receipt}");
            assert_eq!(till.charged(&key, id), micro_of(&cost["charge"]));
            if is_byok {
                assert_eq!(cost["savings"], Value::Null, "{receipt}");
            }
        }
        till.verify();
    }
    // The maker's bill is not in it.
    assert!(fees[2] > 0 && fees[2] * 10 < fees[0], "{fees:?}");
    assert!(fees[3] > 0 && fees[3] * 10 < fees[1], "{fees:?}");
}
