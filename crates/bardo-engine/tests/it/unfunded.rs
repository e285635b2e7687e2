//! Requests that their callers cannot pay, may not make, or have to end.

use std::sync::atomic::Ordering;

use bardo_access::KeyKind;
use bardo_engine::EngineError;
use bardo_ledger::CapWindow;
use bardo_types::model::{Dialect, Service};
use bardo_types::money::MicroUsd;
use bardo_types::receipt::{Outcome, PaymentMode};
use serde_json::json;

use crate::purse::{PRICE, Purse};
use crate::world::{prompt, script, world_of};

async fn nothing_was_sent(purse: &Purse) {
    assert_eq!(purse.bench.received().await, [""; 0]);
    assert_eq!(purse.settled().await.len(), 0);
    assert_eq!(purse.balance().await.spent, MicroUsd::ZERO);
}

#[tokio::test]
async fn a_limit_that_cannot_be_paid_is_refused_with_one_that_can() {
    let purse = Purse::with("0.01").await;
    let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    body["max_completion_tokens"] = json!(1_000);
    let refusal = purse.ask(Dialect::Chat, &body).await.err();
    let Some(EngineError::Funds {
        needed,
        available,
        fits_max_tokens: Some(fits),
        limits: Some(_),
    }) = refusal
    else {
        unreachable!("{refusal:?}");
    };
    assert!(needed > available);
    assert_eq!(available, MicroUsd::new(10_000));
    nothing_was_sent(&purse).await;
    body["max_completion_tokens"] = json!(fits + 1);
    assert!(purse.ask(Dialect::Chat, &body).await.is_err());
    body["max_completion_tokens"] = json!(fits);
    assert!(purse.ask(Dialect::Chat, &body).await.is_ok());
}

#[tokio::test]
async fn nobody_without_money_reaches_a_provider() {
    for stream in [false, true] {
        let purse = Purse::with("0.001").await;
        let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
        body["stream"] = json!(stream);
        let refusal = purse.ask(Dialect::Chat, &body).await;
        assert!(
            matches!(refusal, Err(EngineError::Funds { .. })),
            "{refusal:?}"
        );
        nothing_was_sent(&purse).await;
    }
}

#[tokio::test]
async fn without_money_the_backends_that_cost_nothing_still_answer() {
    for (model, other) in [("hermes-4", "gpt-5.5"), ("gpt-5.5", "hermes-4")] {
        for stream in [false, true] {
            let purse = Purse::with("0").await;
            purse.bench.swap(|address| {
                let is_own = |service| service == Service::Local;
                let mut world = world_of(address, is_own, Some(PRICE));
                world.fallbacks.insert(model.into(), vec![other.into()]);
                world
            });
            let mut body = prompt(Dialect::Chat, model, "Hi");
            body["stream"] = json!(stream);
            let read = purse.ask(Dialect::Chat, &body).await.expect(model);
            let degraded = &read.head.degraded;
            assert!(degraded.contains("fallback_backends"), "{degraded}");
            let receipt = purse.receipt().await;
            assert_eq!(receipt.mode, PaymentMode::Direct);
            assert_eq!(receipt.amounts.charge, MicroUsd::ZERO);
            assert_eq!(&*receipt.model, "hermes-4");
        }
    }
}

#[tokio::test]
async fn a_whole_answer_without_a_limit_gets_one_that_a_quarter_of_the_balance_pays() {
    for (model, key) in [
        ("gpt-5.5", "\"max_completion_tokens\":"),
        ("claude-sonnet-5-5", "\"max_tokens\":"),
    ] {
        let purse = Purse::with("1").await;
        let read = purse
            .ask(Dialect::Chat, &prompt(Dialect::Chat, model, "Hi"))
            .await;
        let read = read.expect("an answer");
        assert!(read.head.degraded.contains("max_tokens"), "{:?}", read.head);
        let sent = purse.bench.received().await.remove(0);
        let cap: u64 = sent
            .split_once(key)
            .expect(&sent)
            .1
            .chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>()
            .parse()
            .expect("a number");
        // A quarter of 1 USD at 100 USD per million and 20 %.
        assert!((1_900..=2_084).contains(&cap), "{cap}");
        purse.settled().await;
    }
    let rich = Purse::with("1000").await;
    let read = rich
        .ask(Dialect::Chat, &prompt(Dialect::Chat, "gpt-5.5", "Hi"))
        .await;
    assert_eq!(read.expect("an answer").head.degraded, "");
}

#[tokio::test]
async fn a_stream_holds_more_as_it_flows_and_is_charged_once() {
    let purse = Purse::with("10").await;
    let text = "One sentence after another keeps the stream going. ".repeat(1_200);
    let mut body = prompt(
        Dialect::Chat,
        "deepseek-v4-pro",
        &script(json!([{ "text": text, "chunk": 400 }])),
    );
    body["stream"] = json!(true);
    let read = purse.ask(Dialect::Chat, &body).await.expect("an answer");
    assert!(read.text.trim_end().ends_with("[DONE]"));
    let receipt = purse.receipt().await;
    let usage = receipt.usage.expect("counted");
    // Far beyond the first slice.
    assert!(usage.output > 8_192, "{usage:?}");
    assert!(receipt.amounts.charge > read.head.estimate.expect("an estimate"));
    assert_eq!(receipt.amounts.shortfall, MicroUsd::ZERO);
    assert_eq!(purse.balance().await.spent, receipt.amounts.charge);
}

#[tokio::test]
async fn a_stream_without_a_limit_gets_one_that_the_balance_pays() {
    for dialect in [Dialect::Chat, Dialect::Responses] {
        for model in ["gpt-5.5", "claude-sonnet-5-5", "deepseek-v4-pro"] {
            let purse = Purse::with("0.6").await;
            let text = "One sentence after another keeps the stream going. ".repeat(1_200);
            let script = script(json!([{ "text": text, "chunk": 40 }]));
            let mut body = prompt(dialect, model, &script);
            body["stream"] = json!(true);
            let read = purse.ask(dialect, &body).await.expect("an answer");
            let place = format!("{dialect:?} {model}");
            let degraded = &read.head.degraded;
            assert!(degraded.contains("max_tokens"), "{place}: {degraded}");
            let receipt = purse.receipt().await;
            // One that shows what it writes is stopped where its words may come to the limit.
            let is_shown = model == "deepseek-v4-pro";
            let is_done = receipt.outcome == Outcome::Finished;
            assert!(is_done || is_shown, "{place}");
            assert_eq!(receipt.amounts.shortfall, MicroUsd::ZERO, "{place}");
            let balance = purse.balance().await;
            assert_eq!(balance.spent, receipt.amounts.charge, "{place}");
            // Most of the money was worth something to the caller.
            assert!(
                balance.spent > MicroUsd::new(300_000),
                "{place}: {balance:?}"
            );
        }
    }
    // This dialect has to name a limit, so that is held at once.
    let purse = Purse::with("0.6").await;
    let mut body = prompt(Dialect::Anthropic, "gpt-5.5", "Hi");
    body["stream"] = json!(true);
    body["max_tokens"] = json!(20_000);
    let refusal = purse.ask(Dialect::Anthropic, &body).await;
    assert!(matches!(refusal, Err(EngineError::Funds { .. })));
}

#[tokio::test]
async fn a_stream_whose_books_vanish_ends_and_says_so() {
    let purse = Purse::with("10").await;
    purse.books.fail_extends.store(9, Ordering::Relaxed);
    let text = "One sentence after another keeps the stream going. ".repeat(1_200);
    let mut body = prompt(
        Dialect::Chat,
        "deepseek-v4-pro",
        &script(json!([{ "text": text }])),
    );
    body["stream"] = json!(true);
    let read = purse.ask(Dialect::Chat, &body).await.expect("an answer");
    assert!(
        read.text.contains("store_unavailable"),
        "{}",
        &read.text[read.text.len() - 500..]
    );
    assert!(!read.text.contains("[DONE]"));
    assert!(purse.receipt().await.amounts.charge > MicroUsd::ZERO);
}

#[tokio::test]
async fn a_cap_counts_what_is_held_and_refuses_with_the_time_it_ends() {
    let mut purse = Purse::with("10").await;
    purse.key.scopes.spend.day = Some(MicroUsd::new(30_000));
    let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    body["max_completion_tokens"] = json!(200);
    assert!(purse.ask(Dialect::Chat, &body).await.is_ok());
    body["max_completion_tokens"] = json!(2_000);
    let refusal = purse.ask(Dialect::Chat, &body).await.err();
    let Some(EngineError::Budget {
        window,
        limit,
        retry_after_ms,
        ..
    }) = refusal
    else {
        unreachable!("{refusal:?}");
    };
    assert_eq!((window, limit), (CapWindow::Day, MicroUsd::new(30_000)));
    assert_eq!(retry_after_ms, Some(8 * 3_600_000));
    assert_eq!(purse.settled().await.len(), 1);
    // Leaving the session out is no way around its cap.
    purse.key.scopes.spend.day = None;
    purse.key.scopes.spend.session = Some(MicroUsd::ZERO);
    let refusal = purse.ask(Dialect::Chat, &body).await;
    assert!(matches!(refusal, Err(EngineError::Budget { .. })));
}

#[tokio::test]
async fn a_model_that_nobody_priced_is_refused_and_told() {
    let purse = Purse::priced("10", false, None).await;
    let refusal = purse
        .ask(Dialect::Chat, &prompt(Dialect::Chat, "hermes-4", "Hi"))
        .await;
    assert!(
        matches!(refusal, Err(EngineError::Unpriced { .. })),
        "{refusal:?}"
    );
    assert_eq!(purse.told.unpriced.load(Ordering::Relaxed), 1);
    nothing_was_sent(&purse).await;
}

#[tokio::test]
async fn keys_are_for_what_they_are_for() {
    let mut purse = Purse::with("10").await;
    let body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    let is_scope = |answer| matches!(answer, Err(EngineError::Scope { .. }));
    purse.key.scopes.models = vec!["claude-*".into()];
    assert!(is_scope(purse.ask(Dialect::Chat, &body).await));
    purse.key.scopes.models = vec!["gpt-*".into()];
    purse.key.scopes.backends = vec!["backend-2".into()];
    assert!(is_scope(purse.ask(Dialect::Chat, &body).await));
    purse.key.scopes.backends = vec!["backend-0".into()];
    purse.key.kind = KeyKind::ReadOnly;
    assert!(is_scope(purse.ask(Dialect::Chat, &body).await));
    nothing_was_sent(&purse).await;
    purse.key.kind = KeyKind::Spend;
    assert!(purse.ask(Dialect::Chat, &body).await.is_ok());
}

#[tokio::test]
async fn a_throttled_caller_is_told_when_to_come_back() {
    let purse = Purse::with("10").await;
    purse.gate.left.store(1, Ordering::Relaxed);
    let body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    assert!(purse.ask(Dialect::Chat, &body).await.is_ok());
    let Err(EngineError::Throttled { throttled, .. }) = purse.ask(Dialect::Chat, &body).await
    else {
        unreachable!("only one is let in");
    };
    assert_eq!(throttled.retry_after_ms, 1_000);
    assert_eq!(purse.settled().await.len(), 1);
}

#[tokio::test]
async fn a_refused_request_gives_its_tokens_back() {
    let purse = Purse::with("0.001").await;
    let body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    assert!(purse.ask(Dialect::Chat, &body).await.is_err());
    assert_eq!(*purse.gate.used.lock().unwrap(), [0]);
}
