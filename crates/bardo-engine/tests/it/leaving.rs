//! Callers who leave, in every state of their request.

use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use bardo_engine::{AnswerBody, Hints, Task};
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::Outcome;
use serde_json::{Value, json};

use crate::purse::{Purse, charge};
use crate::world::{Call, prompt, script};

/// A stream of some twenty events.
fn body(dialect: Dialect, model: &str) -> Value {
    let text = "One sentence after another keeps the stream going. ".repeat(6);
    let mut body = prompt(
        dialect,
        model,
        &script(json!([{ "text": text, "delay_ms": 1 }])),
    );
    body["stream"] = json!(true);
    body
}

/// Reads so many pieces, then leaves; whether the stream was still going.
async fn leave_after(purse: &Purse, dialect: Dialect, model: &str, pieces: usize) -> bool {
    let answer = purse.begin(dialect, &body(dialect, model)).await;
    let AnswerBody::Stream(mut stream) = answer.expect("an answer").body else {
        unreachable!("a stream was asked for");
    };
    for _ in 0..pieces {
        if std::future::poll_fn(|cx| stream.poll_next(cx))
            .await
            .is_none()
        {
            return false;
        }
    }
    true
}

#[tokio::test]
async fn a_stream_that_is_left_is_charged_for_what_was_delivered() {
    for dialect in [Dialect::Chat, Dialect::Anthropic] {
        for model in ["gpt-5.5", "claude-sonnet-5-5"] {
            let mut last = 0;
            for pieces in [0, 1, 2, 3, 5, 8, 13] {
                let purse = Purse::with("10").await;
                if !leave_after(&purse, dialect, model, pieces).await {
                    break;
                }
                let receipt = purse.receipt().await;
                let place = format!("{dialect:?} {model} {pieces}");
                assert_eq!(receipt.outcome, Outcome::Aborted, "{place}");
                let spent = purse.balance().await.spent;
                assert_eq!(spent, receipt.amounts.charge, "{place}");
                if pieces == 0 {
                    // What the provider had told by then, and what the model thought.
                    assert!(receipt.estimated, "{place}");
                    continue;
                }
                let usage = receipt.usage.expect("counted here");
                assert!(receipt.estimated, "{place}");
                assert_eq!(spent, charge(usage.prompt(), usage.output), "{place}");
                assert!(usage.output > 0 && usage.output < 80, "{place} {usage:?}");
                // Thinking that was not shown is estimated by time, which differs from run to run.
                let shown = usage.output - usage.reasoning.unwrap_or(0);
                assert!(shown >= last, "{place}: less for more, {usage:?}");
                last = shown;
            }
            assert!(last > 0);
        }
    }
}

#[tokio::test]
async fn leaving_a_stream_before_its_head_gives_the_hold_back_and_a_whole_answer_is_paid_for() {
    for stream in [false, true] {
        let mut charged = Vec::new();
        // Each poll takes the request a little further, until the provider is waited for.
        for polls in [0, 1, 2, 4, 8, 200] {
            let purse = Purse::with("10").await;
            let silence = json!({ "kind": "delay_headers", "ms": 60_000 });
            purse.bench.fault("openai", 0, silence).await;
            let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
            body["stream"] = json!(stream);
            let admitted = purse.bench.read(Call {
                task: Task::Generate,
                dialect: Dialect::Chat,
                body: &body,
                principal: purse.principal(),
                hints: Hints::default(),
            });
            let engine = Arc::clone(&purse.bench.engine);
            let mut answer = Box::pin(engine.answer(admitted.expect("it is well formed")));
            for _ in 0..polls {
                let polled = std::future::poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx)));
                assert!(polled.await.is_pending());
                tokio::task::yield_now().await;
            }
            drop(answer);
            let receipts = purse.settled().await;
            assert!(receipts.len() <= 1);
            let spent = purse.balance().await.spent;
            charged.push(spent > MicroUsd::ZERO);
            for receipt in receipts {
                assert_eq!(receipt.outcome, Outcome::Aborted);
                assert_eq!(receipt.amounts.charge, spent);
                if spent > MicroUsd::ZERO {
                    let usage = receipt.usage.expect("counted here");
                    assert!(receipt.estimated);
                    assert_eq!(spent, charge(usage.prompt(), usage.output));
                }
            }
        }
        // The provider takes it at some time, and is at work from then on.
        assert!(!charged[0] && charged.is_sorted(), "{charged:?}");
        assert_eq!(charged.last(), Some(&!stream), "{charged:?}");
    }
}

#[tokio::test]
async fn thinking_that_nobody_saw_is_charged_by_time_and_observed_speed() {
    let purse = Purse::with("10").await;
    let turn = |reasoning: u64| {
        let text = "One sentence after another keeps the stream going. ".repeat(6);
        let usage = json!({ "reasoning": reasoning });
        let turn = json!([{ "text": text, "delay_ms": 1, "usage": usage }]);
        let script = script(turn);
        let mut body = prompt(Dialect::Chat, "gpt-5.5", &script);
        body["max_completion_tokens"] = json!(30_000);
        body["stream"] = json!(true);
        body
    };
    // As much as a whole answer comes to says how fast the model is.
    let body = turn(20_000);
    purse.ask(Dialect::Chat, &body).await.expect("an answer");
    let before = purse.balance().await.spent;
    let answer = purse.begin(Dialect::Chat, &body).await.expect("an answer");
    let AnswerBody::Stream(mut stream) = answer.body else {
        unreachable!("a stream was asked for");
    };
    std::future::poll_fn(|cx| stream.poll_next(cx)).await;
    drop(stream);
    let receipts = purse.settled().await;
    let receipt = &receipts[1];
    let usage = receipt.usage.as_ref().expect("counted here");
    assert_eq!(receipt.outcome, Outcome::Aborted);
    assert!(receipt.estimated);
    assert!(usage.reasoning > Some(100), "{usage:?}");
    let spent = purse.balance().await.spent.saturating_sub(before);
    assert_eq!(spent, receipt.amounts.charge);
    let hold = charge(usage.prompt() * 10, 30_000);
    assert!(spent <= hold, "{spent}");
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_is_settled_all_the_same() {
    // The books are slow to take it, and the caller leaves meanwhile.
    let purse = Purse::with("10").await;
    purse
        .books
        .fail_settles
        .store(3, std::sync::atomic::Ordering::Relaxed);
    let body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    let mut answer = Box::pin(purse.begin(Dialect::Chat, &body));
    while purse
        .books
        .settles
        .load(std::sync::atomic::Ordering::Relaxed)
        == 0
    {
        let polled = std::future::poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx)));
        assert!(polled.await.is_pending());
        tokio::task::yield_now().await;
    }
    drop(answer);
    let receipt = purse.receipt().await;
    assert_eq!(receipt.outcome, Outcome::Finished);
    assert_eq!(purse.balance().await.spent, receipt.amounts.charge);
    assert!(receipt.amounts.charge > MicroUsd::ZERO);
}

#[tokio::test]
async fn a_stream_left_while_it_is_settled_is_charged_once() {
    let purse = Purse::with("10").await;
    purse
        .books
        .fail_settles
        .store(2, std::sync::atomic::Ordering::Relaxed);
    let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    body["stream"] = json!(true);
    let answer = purse.begin(Dialect::Chat, &body).await.expect("an answer");
    let AnswerBody::Stream(mut stream) = answer.body else {
        unreachable!("a stream was asked for");
    };
    let mut text = Vec::new();
    while purse
        .books
        .settles
        .load(std::sync::atomic::Ordering::Relaxed)
        == 0
    {
        let next = std::future::poll_fn(|cx| Poll::Ready(stream.poll_next(cx))).await;
        if let Poll::Ready(Some(piece)) = next {
            text.extend_from_slice(&piece);
        }
        tokio::task::yield_now().await;
    }
    drop(stream);
    assert!(!String::from_utf8(text).unwrap().contains("[DONE]"));
    let receipt = purse.receipt().await;
    assert_eq!(receipt.outcome, Outcome::Finished);
    assert_eq!(purse.balance().await.spent, receipt.amounts.charge);
}
