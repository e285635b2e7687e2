//! Many at once on a small balance.

use std::sync::{Arc, Condvar, Mutex};

use bardo_store::servers::PostgresServer;
use serde_json::json;

use crate::http::Request;
use crate::money::shop::{Key, Shop, billed};
use crate::scripted::Scripted;

const AFFORDABLE: usize = 37;

/// As many as descriptors allow beside those that the other tests use.
const CALLERS: usize = 1_000;

fn question(key: &Key, number: usize) -> Request {
    let content = format!("Question {number}");
    let body = json!({ "model": "m", "max_tokens": 100,
        "messages": [{ "role": "user", "content": content }] });
    Request::json("/v1/chat/completions", &body).with("x-api-key", &key.key)
}

#[test]
fn a_thousand_at_once_on_a_balance_for_thirty_seven() {
    rush(1, Shop::with);
}

#[test]
fn a_thousand_at_once_over_three_gateways_with_one_set_of_books() {
    let server = PostgresServer::start().expect("a database server");
    let url = server.database().expect("a database");
    rush(3, |config| Shop::with(config).sharing(url));
}

fn rush(gateways: usize, shop: impl FnOnce(serde_json::Value) -> Shop) {
    // Nobody is answered before everybody has asked.
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let held = Arc::clone(&gate);
    let upstream = Scripted::start(move |mut turn| {
        let (open, changed) = &*held;
        let open = open.lock().expect("no panic");
        drop(changed.wait_while(open, |open| !*open).expect("no panic"));
        let body = json!({
            "id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "usage": { "prompt_tokens": 10, "completion_tokens": 100, "total_tokens": 110 },
            "choices": [{ "index": 0, "finish_reason": "length",
                "message": { "role": "assistant", "content": "Hello" } }],
        });
        turn.json(&body.to_string());
    });
    // 100 tokens are 0.10 USD, and nothing else costs anything.
    let price = json!({ "input_per_million": 0, "output_per_million": 1000 });
    let mut config = billed(&upstream.at("/v1"), &price);
    config["inference"] = json!({ "spread_pct": 0 });
    let shop = shop(config);
    let key = shop.key("3.70");
    let gateways: Vec<_> = (0..gateways).map(|_| shop.open(&[])).collect();
    for gateway in &gateways {
        // A key that was never seen is verified first, and few of those at a time.
        let known = gateway.send(&Request::get("/v1/balance").with("x-api-key", &key.key));
        assert_eq!(known.status(), 200, "{}", known.text());
    }
    let mut statuses = Vec::new();
    let mut waiting: Vec<_> = (0..CALLERS)
        .map(|number| gateways[number % gateways.len()].open(&question(&key, number)))
        .collect();
    // Those who cannot pay are told at once, while the others wait.
    let (open, changed) = &*gate;
    crate::rig::eventually("as many as can pay are asked for", || {
        (upstream.got().len() >= AFFORDABLE).then_some(())
    });
    *open.lock().expect("no panic") = true;
    changed.notify_all();
    for exchange in &mut waiting {
        let answer = exchange.answer();
        let expected = matches!(answer.status(), 200 | 402);
        assert!(expected, "{} {}", answer.status(), answer.text());
        statuses.push(answer.status());
    }
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!(
        upstream.got().len(),
        AFFORDABLE,
        "who cannot pay is not sent on"
    );
    assert_eq!(count(200), AFFORDABLE, "{statuses:?}");
    assert_eq!(count(402), CALLERS - AFFORDABLE, "{statuses:?}");
    let books = shop.books(&key);
    books.check();
    assert_eq!(
        (books.spent, books.available, books.held),
        (3_700_000, 0, 0)
    );
    shop.verify();
}
