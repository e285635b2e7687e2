//! Marks for the prompt caches of providers: which are set, and what comes of them.

use bardo_access::{DelegatedSpending, PayerTerms};
use bardo_engine::Received;
use bardo_ledger::{Dimension, ReceiptFilter, Receipts as _, SumQuery};
use bardo_router::Policy;
use bardo_types::ids::KeyId;
use bardo_types::model::{Dialect, Price};
use bardo_types::money::{MicroUsd, PricePerMillion};
use serde_json::{Value, json};

use crate::purse::{PRICE, Purse};
use crate::routing::{OPENROUTER, Scene, priced_world};
use crate::world::{Bench, prompt, world};

const MODEL: &str = "claude-sonnet-5-5";

/// A price list with a prompt cache: reads at a tenth, writes at 1.25 and 2 times.
pub(crate) const CACHED: Price = Price {
    cache_read: Some(PricePerMillion::from_micro(1_000_000)),
    cache_write_5m: Some(PricePerMillion::from_micro(12_500_000)),
    cache_write_1h: Some(PricePerMillion::from_micro(20_000_000)),
    ..PRICE
};

fn bench(price: Price) -> Bench {
    let bench = Bench::start();
    bench.swap(|address| world(address, true, Some(price)));
    bench
}

/// A request with a long system prompt.
fn long(text: &str) -> Value {
    let mut body = prompt(Dialect::Chat, MODEL, text);
    let rules = "Follow these rules closely. ".repeat(2_000);
    let messages = body["messages"].as_array_mut().expect("a list");
    messages.insert(0, json!({ "role": "system", "content": rules }));
    body
}

async fn sent(bench: &Bench) -> String {
    let received = bench.received().await;
    received.last().expect("a request").clone()
}

#[tokio::test]
async fn a_translated_request_is_marked_where_it_pays_and_the_next_one_is_read_from_the_cache() {
    let bench = bench(CACHED);
    let explain = |text: &str| {
        let received = bench.received_request(Dialect::Chat, &long(text));
        bench.engine.explain(received).expect("it is well formed")
    };
    let before = explain("One").prompt_cache;
    let reason = before.reason.expect("a decision");
    assert!(reason.contains("first guess"), "{reason}");

    let first = bench.ask(Dialect::Chat, &long("One")).await.unwrap();
    assert_eq!(first.head.optimizations, ["cache_marks_5m"]);
    let body = sent(&bench).await;
    assert_eq!(
        body.matches(r#""cache_control":{"type":"ephemeral"}"#)
            .count(),
        2
    );

    let second = bench.ask(Dialect::Chat, &long("Two")).await.unwrap();
    let usage = &second.json()["usage"]["prompt_tokens_details"];
    assert!(usage["cached_tokens"].as_u64() > Some(5_000), "{usage}");
    let reason = explain("Three").prompt_cache.reason.expect("a decision");
    assert!(
        reason.contains("of 2 calls, 2 came back within 5 minutes"),
        "{reason}"
    );
}

#[tokio::test]
async fn no_discount_on_reads_means_no_marks() {
    let bench = bench(PRICE);
    let answer = bench.ask(Dialect::Chat, &long("One")).await.unwrap();
    assert_eq!(answer.head.optimizations, ["cache_marks_withheld"]);
    assert!(!sent(&bench).await.contains("cache_control"));
}

#[tokio::test]
async fn a_prompt_below_the_minimum_is_neither_marked_nor_talked_about() {
    let bench = bench(CACHED);
    let short = prompt(Dialect::Chat, MODEL, "Hello");
    let answer = bench.ask(Dialect::Chat, &short).await.unwrap();
    assert!(answer.head.optimizations.is_empty());
    assert!(!sent(&bench).await.contains("cache_control"));
}

#[tokio::test]
async fn marks_of_the_caller_stand_and_none_are_added() {
    let bench = bench(CACHED);
    let mut body = long("One");
    let text = body["messages"][0]["content"].take();
    body["messages"][0]["content"] = json!([
        { "type": "text", "text": text, "cache_control": { "type": "ephemeral", "ttl": "1h" } }
    ]);
    let answer = bench.ask(Dialect::Chat, &body).await.unwrap();
    assert!(answer.head.optimizations.is_empty());
    let sent = sent(&bench).await;
    assert_eq!(sent.matches("cache_control").count(), 1);
    assert!(sent.contains(r#""ttl":"1h""#));
}

/// OpenRouter counts writes without their lifetime.
#[tokio::test]
async fn a_write_for_an_hour_is_charged_as_one_where_the_provider_does_not_tell_it_apart() {
    let of = |micro| Some(PricePerMillion::from_micro(micro));
    let price = Price {
        input: PricePerMillion::from_micro(4_000_000),
        output: PricePerMillion::from_micro(20_000_000),
        cache_read: of(200_000),
        cache_write_5m: of(5_000_000),
        cache_write_1h: of(8_000_000),
        ..PRICE
    };
    let scene = Scene::of(&[OPENROUTER]);
    scene
        .bench
        .swap(|address| priced_world(address, &[OPENROUTER], Policy::default(), price));
    for (ttl, for_an_hour) in [("5m", false), ("1h", true)] {
        let mut body = prompt(Dialect::Chat, "claude-opus-5-5", "One");
        let rules = format!("{ttl}: follow these rules closely. ").repeat(2_000);
        let mark = json!({ "type": "ephemeral", "ttl": ttl });
        let part = json!({ "type": "text", "text": rules, "cache_control": mark });
        let messages = body["messages"].as_array_mut().expect("a list");
        messages.insert(0, json!({ "role": "system", "content": [part] }));
        scene.ask(&body).await.expect("an answer");
        let receipt = scene.last();
        let usage = receipt.usage.expect("it is counted");
        let (short, long) = (usage.cache_write_5m, usage.cache_write_1h);
        assert_eq!((short > 0, long > 0), (!for_an_hour, for_an_hour), "{ttl}");
    }
}

#[tokio::test]
async fn a_relayed_request_keeps_its_bytes() {
    let bench = bench(CACHED);
    let mut body = prompt(Dialect::Anthropic, MODEL, "One");
    body["system"] = json!("Follow these rules closely. ".repeat(2_000));
    bench.ask(Dialect::Anthropic, &body).await.unwrap();
    assert_eq!(sent(&bench).await, body.to_string());
}

#[tokio::test]
async fn a_relayed_request_whose_profile_wants_marks_gets_those_that_the_answer_names() {
    let bench = bench(CACHED);
    let mut body = prompt(Dialect::Anthropic, MODEL, "One");
    body["system"] = json!("Follow these rules closely. ".repeat(2_000));
    body["bardo"] = json!({ "profile": { "cache_control": true } });
    let answer = bench.ask(Dialect::Anthropic, &body).await.unwrap();
    assert_eq!(answer.head.optimizations, ["cache_marks_5m"]);
    let marked = sent(&bench).await;
    assert_eq!(marked.matches("cache_control").count(), 1);
    assert!(marked.contains(r#"closely. ","cache_control":{"type":"ephemeral"}"#));

    // What is not read would be lost for a mark, so the bytes stay.
    body["messages"][0]["phase"] = json!("commentary");
    let received = bench.received_request(Dialect::Anthropic, &body);
    let explained = bench.engine.explain(received).expect("it is well formed");
    assert_eq!(explained.prompt_cache.reason, None);
    let _ = bench.ask(Dialect::Anthropic, &body).await;
    let relayed = sent(&bench).await;
    assert!(relayed.contains("commentary"));
    assert!(!relayed.contains("cache_control"));
}

/// A request of an Anthropic caller with a long system prompt, and with its own mark.
fn own_mark(mark: Option<Value>) -> Value {
    let mut body = prompt(Dialect::Anthropic, MODEL, "One");
    let rules = "Follow these rules closely. ".repeat(2_000);
    body["system"] = json!([{ "type": "text", "text": rules }]);
    if let Some(mark) = mark {
        body["system"][0]["cache_control"] = mark;
    }
    body
}

/// The lowest limit of the cost that lets a request pass, in cents.
async fn least_limit(price: Price, dialect: Dialect, body: &Value) -> f64 {
    let bench = bench(price);
    let mut cents = 1;
    loop {
        assert!(cents < 200, "no limit is enough");
        let mut body = body.clone();
        body["max_tokens"] = json!(300);
        body["bardo"] = json!({ "max_cost_usd": f64::from(cents) / 100.0 });
        if bench.ask(dialect, &body).await.is_ok() {
            return f64::from(cents);
        }
        cents += 1;
    }
}

#[tokio::test]
async fn a_limit_of_the_cost_counts_the_write_of_a_mark() {
    let bare = least_limit(PRICE, Dialect::Chat, &long("One")).await;
    let marked = least_limit(CACHED, Dialect::Chat, &long("One")).await;
    // The prompt is nearly all of the cost, and its write costs a quarter more.
    assert!((1.1..1.35).contains(&(marked / bare)), "{bare} {marked}");
}

#[tokio::test]
async fn a_limit_of_the_cost_counts_the_write_of_the_callers_own_mark() {
    let of = async |mark| least_limit(CACHED, Dialect::Anthropic, &own_mark(mark)).await;
    let bare = of(None).await;
    let usual = of(Some(json!({ "type": "ephemeral" }))).await / bare;
    let hour = of(Some(json!({ "type": "ephemeral", "ttl": "1h" }))).await / bare;
    assert!((1.1..1.35).contains(&usual), "{usual}");
    assert!((1.7..2.1).contains(&hour), "{hour}");
}

#[tokio::test]
async fn a_hold_covers_a_write_without_a_listed_price() {
    let mut held = Vec::new();
    for mark in [
        None,
        Some(json!({ "type": "ephemeral" })),
        Some(json!({ "type": "ephemeral", "ttl": "1h" })),
    ] {
        let purse = Purse::priced("1000", false, Some(PRICE)).await;
        let mut body = own_mark(mark);
        body["max_tokens"] = json!(1);
        body["stream"] = json!(true);
        let answer = purse.begin(Dialect::Anthropic, &body).await;
        let answer = answer.expect("a head");
        held.push(purse.holds().await[0].amount.get());
        drop(answer);
    }
    let [bare, usual, hour] = held[..] else {
        panic!("three holds");
    };
    // The answer of one token is next to nothing beside the prompt.
    assert!(usual * 100 > bare * 124, "{held:?}");
    assert!(hour * 100 > bare * 198, "{held:?}");
}

#[tokio::test]
async fn a_first_write_is_recorded_as_a_premium_and_the_reads_after_it_as_a_saving() {
    let purse = Purse::priced("1000", false, Some(CACHED)).await;
    for (text, session) in [("One", "s1"), ("Two", "s2")] {
        let mut body = long(text);
        body["max_tokens"] = json!(100);
        body["bardo"] = json!({ "session_id": session });
        purse.ask(Dialect::Chat, &body).await.expect("an answer");
    }
    let receipts = purse.settled().await;
    let saved: Vec<_> = receipts
        .iter()
        .map(|one| one.amounts.cache_savings)
        .collect();
    let usage: Vec<_> = receipts
        .iter()
        .filter_map(|one| one.usage.clone())
        .collect();
    // Writing costs a quarter of the usual price more, reading nine tenths less.
    let written = i64::try_from(usage[0].cache_write()).expect("a count");
    let premium = saved[0].expect("a price").get();
    assert!(written > 5_000, "{written}");
    assert!((premium + written * 10 / 4).abs() <= 1, "{premium}");
    let read = i64::try_from(usage[1].cache_read).expect("a count");
    let rewritten = i64::try_from(usage[1].cache_write()).expect("a count");
    let gain = saved[1].expect("a price").get();
    assert!((gain - read * 9 + rewritten * 10 / 4).abs() <= 1, "{gain}");
    let query = SumQuery {
        filter: ReceiptFilter::between(0, u64::MAX),
        by: vec![Dimension::Session],
        limit: 9,
    };
    let rows = purse.books.inner.sums(query).await.expect("books");
    let sums: Vec<_> = rows
        .iter()
        .map(|row| row.sums.prompt_cache.saved.get())
        .collect();
    assert_eq!(sums, [premium, gain]);
}

#[tokio::test]
async fn who_spends_by_a_delegation_sees_nothing_of_the_prompts_of_the_account() {
    let mut purse = Purse::priced("1000", false, Some(CACHED)).await;
    for text in ["One", "Two"] {
        purse.ask(Dialect::Chat, &long(text)).await.unwrap();
    }
    // A call counts from when it is settled, which is after its answer.
    purse.settled().await;
    let reason = |purse: &Purse| {
        let received = Received {
            principal: purse.principal(),
            ..purse.bench.received_request(Dialect::Chat, &long("Three"))
        };
        let explained = purse.bench.engine.explain(received);
        let cache = explained.expect("it is well formed").prompt_cache;
        cache.reason.expect("a decision")
    };
    let seen = "of 2 calls, 2 came back";
    assert!(reason(&purse).contains(seen), "{}", reason(&purse));
    assert_eq!(purse.principal().idempotency_name("order-17"), "order-17");
    purse.terms = Some(PayerTerms {
        delegated: Some(DelegatedSpending {
            counted_as: KeyId::parse("0x1:0x2").expect("an id"),
            most: MicroUsd::new(1_000_000_000),
        }),
        ..PayerTerms::of_key(&purse.key)
    });
    assert!(!reason(&purse).contains(seen), "{}", reason(&purse));
    let principal = purse.principal();
    let name = principal.idempotency_name("order-17");
    assert_eq!(name, "0x1:0x2\norder-17", "its keys are its own");
}
