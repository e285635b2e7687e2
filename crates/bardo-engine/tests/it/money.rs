//! What requests that run their course cost.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bardo_engine::{AnswerBody, Task};
use bardo_ledger::{HoldState, Receipts as _};
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::{Outcome, PaymentMode};
use serde_json::{Value, json};

use crate::purse::{Purse, charge};
use crate::world::{prompt, read, script};

const CALLERS: [Dialect; 3] = [Dialect::Chat, Dialect::Responses, Dialect::Anthropic];

fn streamed(mut body: Value) -> Value {
    body["stream"] = json!(true);
    body
}

/// The figures of the comment that closes a stream.
fn figures(text: &str) -> Value {
    let at = text.find(": bardo ").expect("a closing comment");
    let line = text[at + 8..].lines().next().expect("a line");
    serde_json::from_str(line).expect("JSON")
}

#[tokio::test]
async fn a_whole_answer_is_charged_before_it_is_handed_over() {
    for dialect in CALLERS {
        for model in ["gpt-5.5", "claude-sonnet-5-5", "gemini-3-flash"] {
            let purse = Purse::with("10").await;
            let answer = purse.begin(dialect, &prompt(dialect, model, "Hi")).await;
            let spent = purse.balance().await.spent;
            let receipt = purse.receipt().await;
            let usage = receipt.usage.clone().expect("the provider counts");
            let place = format!("{dialect:?} {model}");
            assert_eq!(receipt.outcome, Outcome::Finished, "{place}");
            assert!(!receipt.estimated && usage.output > 0, "{place}");
            assert_eq!(spent, charge(usage.prompt(), usage.output), "{place}");
            let head = answer.expect(&place).head;
            let figures = head.figures.expect("final figures");
            assert_eq!(figures.mode, PaymentMode::Prepaid);
            assert_eq!(figures.cost, Some(spent));
            let balance = purse.balance().await;
            assert_eq!(figures.balance, Some(balance.available));
            assert_eq!(
                receipt
                    .amounts
                    .provider_cost
                    .unwrap()
                    .checked_add(figures.spread),
                Some(spent)
            );
            assert!(head.limits.is_some());
            assert_eq!(*purse.gate.used.lock().unwrap(), [usage.total()]);
            let id = receipt.request_id.as_str();
            let kept = purse.books.inner.receipt(&purse.account, id).await.unwrap();
            let kept: Value = serde_json::from_str(&kept.expect("a kept receipt")).unwrap();
            assert_eq!(kept["cost"]["charge"], spent.to_string());
            assert_eq!(kept["status"], "finished");
            assert_eq!(kept["attempts"][0]["outcome"], "answered");
        }
    }
}

/// Anthropic's price of a token in one region is 1.1 times that of the list.
#[tokio::test]
async fn an_answer_that_stays_in_one_region_costs_what_the_provider_takes_for_it() {
    let cases = [
        (Dialect::Anthropic, json!("us"), 11),
        (Dialect::Anthropic, json!("global"), 10),
        (Dialect::Anthropic, json!(null), 10),
        // The member does not get to the provider.
        (Dialect::Chat, json!("us"), 10),
    ];
    for (dialect, region, tenths) in cases {
        for streams in [false, true] {
            let purse = Purse::with("10").await;
            let mut body = prompt(dialect, "claude-sonnet-5-5", "Hi");
            body["inference_geo"] = region.clone();
            body["stream"] = json!(streams);
            purse.ask(dialect, &body).await.expect("an answer");
            let sent = purse.bench.received().await.pop().expect("a request");
            let place = format!("{dialect:?} {region} {streams}: {sent}");
            assert_eq!(
                sent.contains("inference_geo"),
                dialect == Dialect::Anthropic,
                "{place}"
            );
            let receipt = purse.receipt().await;
            let usage = receipt.usage.clone().expect("the provider counts");
            let listed = charge(usage.prompt(), usage.output).get();
            let spent = purse.balance().await.spent.get();
            let exact = (listed * tenths).div_ceil(10);
            assert!(spent.abs_diff(exact) <= 1, "{spent} {exact} {place}");
        }
    }
}

#[tokio::test]
async fn a_stream_ends_with_what_it_cost_and_that_is_what_was_charged() {
    for dialect in CALLERS {
        for model in ["gpt-5.5", "claude-sonnet-5-5", "gemini-3-flash"] {
            let purse = Purse::with("10").await;
            let body = streamed(prompt(dialect, model, "Hi"));
            let read = purse.ask(dialect, &body).await.expect("an answer");
            let figures = figures(&read.text);
            let balance = purse.balance().await;
            let receipt = purse.receipt().await;
            let usage = receipt.usage.clone().expect("the provider counts");
            let place = format!("{dialect:?} {model}");
            assert_eq!(
                balance.spent,
                charge(usage.prompt(), usage.output),
                "{place}"
            );
            assert_eq!(figures["cost"], balance.spent.to_string(), "{place}");
            assert_eq!(figures["balance"], balance.available.to_string(), "{place}");
            assert_eq!(figures["estimated"], false, "{place}");
            assert!(figures.get("pending").is_none(), "{place}");
            assert!(read.head.figures.is_none());
            let estimate = read.head.estimate.expect("an estimate");
            assert!(estimate > MicroUsd::ZERO, "{place}");
            // The worst case would be more than a dollar.
            assert!(estimate < MicroUsd::new(100_000), "{place}: {estimate}");
        }
    }
}

#[tokio::test]
async fn a_provider_that_does_not_count_is_counted_for() {
    for (fault, stream) in [
        ("usage_missing", false),
        ("usage_missing", true),
        ("usage_zero", false),
        ("usage_zero", true),
    ] {
        let purse = Purse::with("10").await;
        let fault = json!({ "kind": fault });
        let text = "Some words that take a number of tokens. ".repeat(10);
        let mut body = prompt(
            Dialect::Chat,
            "gpt-5.5",
            &script(json!([{ "text": text, "fault": fault }])),
        );
        body["stream"] = json!(stream);
        purse.ask(Dialect::Chat, &body).await.expect("an answer");
        let receipt = purse.receipt().await;
        let usage = receipt.usage.clone().expect("counted here");
        assert!(receipt.estimated, "{stream}");
        assert!((90..=110).contains(&usage.output), "{stream} {usage:?}");
        assert!(usage.fresh_input > 20, "{stream} {usage:?}");
        assert_eq!(
            receipt.amounts.charge,
            charge(usage.fresh_input, usage.output)
        );
    }
}

#[tokio::test]
async fn a_refusal_or_a_failure_before_any_content_costs_nothing() {
    for stream in [false, true] {
        for fault in [
            json!({ "kind": "status", "status": 429 }),
            json!({ "kind": "status", "status": 400 }),
            json!({ "kind": "error_in_200" }),
        ] {
            let purse = Purse::with("10").await;
            purse.bench.fault("openai", 0, fault.clone()).await;
            let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
            body["stream"] = json!(stream);
            let answer = purse.ask(Dialect::Chat, &body).await;
            assert!(answer.is_err(), "{fault} {stream}");
            let receipt = purse.receipt().await;
            assert_eq!(receipt.outcome, Outcome::Failed, "{fault} {stream}");
            assert!(receipt.attempts.iter().all(|one| one.failure.is_some()));
            assert_eq!(purse.balance().await.spent, MicroUsd::ZERO);
        }
    }
}

#[tokio::test]
async fn a_provider_that_takes_a_request_and_vanishes_leaves_the_hold_and_is_asked_once() {
    for stream in [false, true] {
        for fault in [
            json!({ "kind": "cut_at_byte", "n": 0 }),
            json!({ "kind": "reset_on_connect" }),
        ] {
            let purse = Purse::with("10").await;
            purse.bench.fault("openai", 0, fault.clone()).await;
            let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
            body["stream"] = json!(stream);
            let answer = purse.ask(Dialect::Chat, &body).await;
            assert!(answer.is_err(), "{fault} {stream}");
            let receipts = purse.drained().await;
            assert_eq!(receipts.len(), 1);
            assert_eq!(receipts[0].outcome, Outcome::Unknown, "{fault} {stream}");
            assert_eq!(receipts[0].attempts.len(), 1);
            assert!(
                receipts[0].attempts[0]
                    .failure
                    .as_ref()
                    .unwrap()
                    .unknown_outcome
            );
            let holds = purse.holds().await;
            assert_eq!(holds.len(), 1);
            assert_eq!(holds[0].state, HoldState::Unknown);
            assert_eq!(purse.balance().await.spent, MicroUsd::ZERO);
        }
    }
}

#[tokio::test]
async fn what_was_delivered_before_a_failure_is_charged_and_marked_as_counted_here() {
    for dialect in CALLERS {
        for model in ["gpt-5.5", "claude-sonnet-5-5"] {
            let purse = Purse::with("10").await;
            let text = "One sentence after another keeps the stream going. ".repeat(8);
            let fault = json!({ "kind": "cut_after", "events": 12 });
            let body = prompt(
                dialect,
                model,
                &script(json!([{ "text": text, "fault": fault }])),
            );
            let read = purse
                .ask(dialect, &streamed(body))
                .await
                .expect("an answer");
            assert!(!read.text.contains(": bardo "), "{}", read.text);
            let receipt = purse.receipt().await;
            let usage = receipt.usage.clone().expect("counted here");
            assert_eq!(receipt.outcome, Outcome::Failed);
            assert!(receipt.estimated && usage.output > 0, "{usage:?}");
            assert!(usage.output < 90, "more than was delivered: {usage:?}");
            assert_eq!(receipt.amounts.charge, charge(usage.prompt(), usage.output));
        }
    }
}

#[tokio::test]
async fn the_callers_own_key_costs_nothing_and_is_recorded() {
    let purse = Purse::priced("1", true, None).await;
    for stream in [false, true] {
        let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
        body["stream"] = json!(stream);
        let read = purse.ask(Dialect::Chat, &body).await.expect("an answer");
        if stream {
            assert_eq!(figures(&read.text)["billed"], false);
        }
    }
    let receipts = purse.settled().await;
    assert_eq!(receipts.len(), 2);
    for receipt in receipts {
        assert_eq!(receipt.mode, PaymentMode::Direct);
        assert_eq!(receipt.amounts.charge, MicroUsd::ZERO);
        let id = receipt.request_id.as_str();
        let kept = purse.books.inner.receipt(&purse.account, id).await.unwrap();
        assert!(kept.is_some());
    }
    assert_eq!(purse.balance().await.spent, MicroUsd::ZERO);
}

#[tokio::test]
async fn what_nobody_is_charged_for_is_counted_roughly() {
    for stream in [false, true] {
        let purse = Purse::priced("1", true, None).await;
        let fault = json!({ "kind": "usage_missing" });
        let text = "Some words that take a number of tokens. ".repeat(10);
        let script = script(json!([{ "text": text, "fault": fault }]));
        let mut body = prompt(Dialect::Chat, "gpt-5.5", &script);
        body["stream"] = json!(stream);
        purse.ask(Dialect::Chat, &body).await.expect("an answer");
        let receipt = purse.receipt().await;
        let usage = receipt.usage.expect("counted here");
        assert!(receipt.estimated);
        assert!((80..=120).contains(&usage.output), "{stream} {usage:?}");
        assert!(usage.fresh_input > 20, "{stream} {usage:?}");
    }
}

#[tokio::test]
async fn embeddings_are_charged_and_counting_is_free() {
    let purse = Purse::with("1").await;
    let body = prompt(Dialect::Anthropic, "claude-sonnet-5-5", "Hi");
    let counted = purse
        .task(Task::CountTokens, Dialect::Anthropic, &body)
        .await;
    assert!(counted.expect("a count").head.limits.is_some());
    assert_eq!(purse.settled().await.len(), 0);
    let purse = Purse::with("1").await;
    let body = json!({ "model": "text-embedding-3-small", "input": "Some words to embed." });
    let answer = purse.task(Task::Embeddings, Dialect::Chat, &body).await;
    let answer = answer.expect("vectors");
    let spent = purse.balance().await.spent;
    assert_eq!(answer.head.figures.expect("figures").cost, Some(spent));
    let receipt = purse.receipt().await;
    let id = receipt.upstream_request_id.as_deref();
    assert!(id.is_some_and(|id| id.starts_with("req_")), "{id:?}");
    assert_eq!(answer.head.upstream_request_id.as_deref(), id);
    let usage = receipt.usage.expect("counts");
    assert!(usage.fresh_input > 0);
    assert_eq!(spent, charge(usage.fresh_input, 0));
}

#[tokio::test]
async fn books_that_fail_for_a_moment_are_asked_again_before_the_answer() {
    for stream in [false, true] {
        let purse = Purse::with("10").await;
        purse
            .books
            .fail_settles
            .store(2, std::sync::atomic::Ordering::Relaxed);
        let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
        body["stream"] = json!(stream);
        let read = purse.ask(Dialect::Chat, &body).await.expect("an answer");
        assert!(!read.text.contains("pending"));
        let receipt = purse.receipt().await;
        assert_eq!(purse.balance().await.spent, receipt.amounts.charge);
        assert!(receipt.amounts.charge > MicroUsd::ZERO);
    }
}

#[tokio::test]
async fn a_stream_does_not_wait_for_ever_and_its_money_is_not_lost() {
    let purse = Purse::with("10").await;
    purse
        .books
        .fail_settles
        .store(60, std::sync::atomic::Ordering::Relaxed);
    let body = streamed(prompt(Dialect::Chat, "gpt-5.5", "Hi"));
    let read = purse.hurry(purse.ask(Dialect::Chat, &body)).await;
    let read = read.expect("an answer");
    assert_eq!(figures(&read.text)["pending"], true);
    assert!(read.text.trim_end().ends_with("[DONE]"));
    purse.delayed().await;
    assert_eq!(purse.balance().await.spent, MicroUsd::ZERO);
    purse
        .books
        .fail_settles
        .store(0, std::sync::atomic::Ordering::Relaxed);
    let receipt = purse.receipt().await;
    assert_eq!(receipt.outcome, Outcome::Finished);
    assert_eq!(purse.balance().await.spent, receipt.amounts.charge);
    assert!(receipt.amounts.charge > MicroUsd::ZERO);
}

#[tokio::test]
async fn a_whole_answer_that_the_books_do_not_take_is_not_handed_over_and_costs_nothing() {
    let purse = Purse::with("10").await;
    purse
        .books
        .fail_settles
        .store(60, std::sync::atomic::Ordering::Relaxed);
    let body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    let answer = purse.begin(Dialect::Chat, &body).await;
    assert!(matches!(
        answer.err(),
        Some(bardo_engine::EngineError::Store(_))
    ));
    purse.delayed().await;
    purse
        .books
        .fail_settles
        .store(0, std::sync::atomic::Ordering::Relaxed);
    let receipt = purse.receipt().await;
    assert_eq!(receipt.outcome, Outcome::Failed);
    assert_eq!(purse.balance().await.spent, MicroUsd::ZERO);
}

#[tokio::test]
async fn no_content_comes_before_its_hold_is_kept() {
    let purse = Purse::with("10").await;
    purse
        .books
        .fail_persists
        .store(1, std::sync::atomic::Ordering::Relaxed);
    let body = streamed(prompt(Dialect::Chat, "gpt-5.5", "Hi"));
    let answer = purse.begin(Dialect::Chat, &body).await;
    assert!(matches!(
        answer.err(),
        Some(bardo_engine::EngineError::Store(_))
    ));
    let receipt = purse.receipt().await;
    assert_eq!(receipt.outcome, Outcome::Failed);
    assert_eq!(purse.balance().await.spent, MicroUsd::ZERO);
    let answer = purse.begin(Dialect::Chat, &body).await.expect("an answer");
    assert!(matches!(answer.body, AnswerBody::Stream(_)));
    read(answer).await.expect("an answer");
    assert!(purse.balance().await.spent > MicroUsd::ZERO);
}

#[tokio::test]
async fn figures_are_within_the_answer_where_they_are_asked_for() {
    for dialect in CALLERS {
        let purse = Purse::with("10").await;
        let mut body = prompt(dialect, "gpt-5.5", "Hi");
        let plain = purse.ask(dialect, &body).await.expect("an answer");
        assert!(plain.json()["usage"].get("bardo").is_none());
        body["bardo"] = json!({ "metadata": true });
        let read = purse.ask(dialect, &body).await.expect("an answer");
        let figures = read.head.figures.expect("final figures");
        let usage = &read.json()["usage"];
        let cost = figures.cost.expect("a cost").to_string();
        assert_eq!(usage["bardo"]["cost"], cost, "{dialect:?} {usage}");
        assert_eq!(
            usage.as_object().map(|members| members.len()),
            plain.json()["usage"]
                .as_object()
                .map(|members| members.len() + 1)
        );
        purse.settled().await;
    }
}

#[tokio::test]
async fn limits_count_a_request_at_the_present_time_and_not_at_its_arrival() {
    let purse = Purse::with("10").await;
    let body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    let call = purse.read_as(Task::Generate, Dialect::Chat, &body);
    let now_ms = purse.tick();
    let engine = Arc::clone(&purse.bench.engine);
    let answer = engine.answer(call.expect("a request")).await;
    answer.expect("an answer");
    assert_eq!(purse.gate.counted_ms.load(Ordering::Relaxed), now_ms);
    purse.settled().await;
}
