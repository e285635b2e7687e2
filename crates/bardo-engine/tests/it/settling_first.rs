//! Callers whose worst case is held and stored before anything is sent.

use std::sync::atomic::Ordering;

use bardo_access::PayerTerms;
use bardo_engine::EngineError;
use bardo_types::ids::KeyId;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::Outcome;
use serde_json::{Value, json};

use crate::purse::{Purse, charge};
use crate::world::{prompt, read, script};

/// A caller without a key that settles first or does not.
async fn purse(usd: &str, settles_first: bool) -> Purse {
    let mut purse = Purse::with(usd).await;
    let payer = KeyId::parse("x402:0xabc").expect("an id");
    purse.terms = Some(PayerTerms {
        settles_first,
        ..PayerTerms::without_key(payer)
    });
    purse
}

fn body(stream: bool) -> Value {
    let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    body["max_completion_tokens"] = json!(1_000);
    body["stream"] = json!(stream);
    body
}

/// A long stream of a model that shows what it writes, without a limit.
fn long() -> Value {
    let text = "One sentence after another keeps the stream going. ".repeat(1_200);
    let script = script(json!([{ "text": text, "chunk": 400 }]));
    let mut body = prompt(Dialect::Chat, "deepseek-v4-pro", &script);
    body["stream"] = json!(true);
    body
}

#[tokio::test]
async fn the_hold_is_stored_before_a_provider_is_called() {
    for stream in [false, true] {
        let purse = purse("10", true).await;
        purse.books.fail_persists.store(1, Ordering::Relaxed);
        let refusal = purse.ask(Dialect::Chat, &body(stream)).await;
        assert!(matches!(refusal, Err(EngineError::Store(_))), "{stream}");
        assert_eq!(purse.bench.received().await, [""; 0]);
        assert_eq!(purse.settled().await.len(), 0);
        assert_eq!(purse.balance().await.spent, MicroUsd::ZERO);
        // The next one is stored, once.
        purse
            .ask(Dialect::Chat, &body(stream))
            .await
            .expect("an answer");
        assert_eq!(purse.books.persists.load(Ordering::Relaxed), 2);
        assert_eq!(purse.receipt().await.outcome, Outcome::Finished);
    }
}

#[tokio::test]
async fn a_whole_answer_of_another_caller_does_not_wait_for_its_hold() {
    let purse = purse("10", false).await;
    purse
        .ask(Dialect::Chat, &body(false))
        .await
        .expect("an answer");
    assert_eq!(purse.books.persists.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn the_whole_worst_case_of_a_stream_is_held_at_once_and_the_rest_given_back() {
    for settles_first in [false, true] {
        let purse = purse("1000", settles_first).await;
        // No hold can grow.
        purse.books.fail_extends.store(99, Ordering::Relaxed);
        let answer = purse.begin(Dialect::Chat, &long()).await.expect("a head");
        let held = purse.holds().await[0].amount;
        let read = read(answer).await.expect("the rest");
        assert_eq!(read.text.contains("[DONE]"), settles_first);
        let receipt = purse.receipt().await;
        let usage = receipt.usage.as_ref().expect("counted");
        let balance = purse.balance().await;
        assert_eq!(balance.spent, receipt.amounts.charge);
        assert_eq!(balance.held, MicroUsd::ZERO);
        if settles_first {
            assert!(usage.output > 8_192, "{usage:?}");
            assert_eq!(receipt.amounts.charge, charge(usage.prompt(), usage.output));
            assert!(held > receipt.amounts.charge, "the rest is given back");
            assert_eq!(receipt.amounts.shortfall, MicroUsd::ZERO);
        }
    }
}

#[tokio::test]
async fn a_stream_that_settles_first_gets_the_limit_that_its_money_pays() {
    let purse = purse("0.6", true).await;
    let read = purse.ask(Dialect::Chat, &long()).await.expect("an answer");
    let degraded = &read.head.degraded;
    assert!(degraded.contains("max_tokens"), "{degraded}");
    let receipt = purse.receipt().await;
    assert_eq!(receipt.amounts.shortfall, MicroUsd::ZERO);
    assert_eq!(purse.balance().await.spent, receipt.amounts.charge);
}
