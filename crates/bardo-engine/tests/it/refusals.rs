//! Requests that no provider gets to see, or that lose something on their way.

use bardo_engine::{EngineError, Task};
use bardo_types::model::Dialect;
use serde_json::{Value, json};

use crate::purse::Purse;
use crate::world::{Bench, Read, prompt};

#[track_caller]
fn refused(answer: Result<Read, EngineError>) -> (String, Option<&'static str>) {
    let refusal = match answer.expect_err("a refusal") {
        EngineError::Invalid(refusal) => Ok(refusal),
        other => Err(other),
    };
    let refusal = refusal.expect("a refusal of the body");
    (refusal.param, refusal.code)
}

#[tokio::test]
async fn a_thread_stays_with_the_provider_that_keeps_threads() {
    let bench = Bench::start();
    let thread = |model: &str| {
        let mut body = prompt(Dialect::Anthropic, model, "Hi");
        body["thread"] = json!({ "type": "create" });
        body
    };
    for task in [Task::Generate, Task::CountTokens] {
        let answer = bench
            .task(task, Dialect::Anthropic, &thread("gpt-5.5"))
            .await;
        let (param, code) = refused(answer);
        assert_eq!(param, "thread");
        assert_eq!(code, Some("thread_unsupported_request"));
    }
    assert_eq!(bench.received().await, [""; 0]);
    // The header of this beta is not sent, so the provider refuses; but it was asked.
    let own = bench
        .ask(Dialect::Anthropic, &thread("claude-sonnet-5-5"))
        .await;
    assert!(matches!(own, Err(EngineError::Upstream(_))), "{own:?}");
    let mut without = thread("gpt-5.5");
    without["thread"] = Value::Null;
    assert!(bench.ask(Dialect::Anthropic, &without).await.is_ok());
}

#[tokio::test]
async fn a_conversation_that_another_company_stores_is_not_answered_without_its_items() {
    let bench = Bench::start();
    let conversation = |model: &str, id: Value| {
        let mut body = prompt(Dialect::Responses, model, "Hi");
        body["conversation"] = id;
        body
    };
    for id in [json!("conv_1"), json!({ "id": "conv_1" })] {
        let body = conversation("claude-sonnet-5-5", id);
        for task in [Task::Generate, Task::CountTokens] {
            let (param, _) = refused(bench.task(task, Dialect::Responses, &body).await);
            assert_eq!(param, "conversation");
        }
    }
    assert_eq!(bench.received().await, [""; 0]);
    let without = conversation("claude-sonnet-5-5", Value::Null);
    assert!(bench.ask(Dialect::Responses, &without).await.is_ok());
}

#[tokio::test]
async fn content_stored_at_google_is_named_by_its_owner_alone() {
    for member in ["cachedContent", "cached_content"] {
        let purse = Purse::with("1").await;
        let mut body = prompt(Dialect::Chat, "gemini-3-flash", "Hi");
        body[member] = json!("cachedContents/x");
        let (param, _) = refused(purse.ask(Dialect::Chat, &body).await);
        assert_eq!(param, member);
        assert_eq!(purse.bench.received().await, [""; 0]);
        body[member] = Value::Null;
        assert!(purse.ask(Dialect::Chat, &body).await.is_ok());
    }
    // It reaches Google, which does not have it.
    let bench = Bench::start();
    let mut body = prompt(Dialect::Chat, "gemini-3-flash", "Hi");
    body["cachedContent"] = json!("cachedContents/x");
    let own = bench.ask(Dialect::Chat, &body).await;
    assert!(matches!(own, Err(EngineError::Upstream(_))), "{own:?}");
}

#[tokio::test]
async fn a_part_that_translation_does_not_know_is_refused_by_its_place() {
    let bench = Bench::start();
    let asking = |content: Value| {
        json!({ "model": "gpt-5.5", "max_tokens": 1000,
            "messages": [{ "role": "user", "content": content }] })
    };
    let unknown = json!({ "type": "txt", "text": "Hi" });
    let (param, _) = refused(
        bench
            .ask(Dialect::Anthropic, &asking(json!([unknown])))
            .await,
    );
    assert_eq!(param, "messages[0].content[0].type");
    assert_eq!(bench.received().await, [""; 0]);
    let beside = asking(json!([{ "type": "text", "text": "Hi" }, unknown]));
    let (param, _) = refused(bench.ask(Dialect::Anthropic, &beside).await);
    assert_eq!(param, "messages[0].content[1].type");
    assert_eq!(bench.received().await, [""; 0]);
}

#[tokio::test]
async fn a_limit_that_is_no_number_is_refused_before_a_backend_is_chosen() {
    let bench = Bench::start();
    for (dialect, key) in [
        (Dialect::Chat, "max_tokens"),
        (Dialect::Chat, "max_completion_tokens"),
        (Dialect::Chat, "n"),
        (Dialect::Responses, "max_output_tokens"),
        (Dialect::Anthropic, "max_tokens"),
    ] {
        for model in ["gpt-5.5", "claude-sonnet-5-5"] {
            let mut body = prompt(dialect, model, "Hi");
            for wrong in [json!("ten"), json!(true), json!([1]), json!({})] {
                body[key] = wrong;
                let (param, _) = refused(bench.ask(dialect, &body).await);
                assert_eq!(param, key, "{dialect:?} {model}");
            }
        }
    }
    assert_eq!(bench.received().await, [""; 0]);
}

#[tokio::test]
async fn a_model_that_cannot_see_does_not_answer_about_images() {
    let bench = Bench::start();
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGk=" } });
    let asking = |content: Value| {
        json!({ "model": "deepseek-v4-pro", "max_tokens": 1000,
            "messages": [{ "role": "user", "content": content }] })
    };
    let shown = asking(json!([{ "type": "text", "text": "What is this?" }, image]));
    let (param, _) = refused(bench.ask(Dialect::Anthropic, &shown).await);
    assert_eq!(param, "messages");
    let mut by_tool =
        asking(json!([{ "type": "tool_result", "tool_use_id": "t1", "content": [image] }]));
    let history = by_tool["messages"].as_array_mut().expect("a list");
    history.insert(
        0,
        json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "t1", "name": "look", "input": {} }] }),
    );
    history.insert(0, json!({ "role": "user", "content": "Look." }));
    by_tool["thinking"] = json!({ "type": "disabled" });
    let read = bench
        .ask(Dialect::Anthropic, &by_tool)
        .await
        .expect("an answer");
    assert!(read.head.degraded.contains("images"), "{:?}", read.head);
}

#[tokio::test]
async fn a_forced_call_is_only_a_wish_where_calls_are_text() {
    let bench = Bench::start();
    let mut body = prompt(Dialect::Chat, "hermes-4", "Hi");
    body["tools"] = json!([{ "type": "function", "function": { "name": "f", "parameters": { "type": "object" } } }]);
    let read = bench.ask(Dialect::Chat, &body).await.expect("an answer");
    assert!(!read.head.degraded.contains("forced_tool_choice"));
    body["tool_choice"] = json!("required");
    let read = bench.ask(Dialect::Chat, &body).await.expect("an answer");
    assert!(
        read.head.degraded.contains("forced_tool_choice"),
        "{:?}",
        read.head
    );
}

#[tokio::test]
async fn a_stored_answer_of_a_model_that_nobody_has_is_a_wrong_model() {
    let purse = crate::caching::purse().await;
    let mut body = crate::caching::asking(Dialect::Chat, "gpt-9000", "Hello.", false);
    body["bardo"] = serde_json::json!({ "cache": "only-if-cached" });
    let refused = purse.ask(Dialect::Chat, &body).await.unwrap_err();
    assert!(matches!(refused, EngineError::NoRoute(_)), "{refused}");
}

/// A list has one price; a faster answer costs more at the provider.
#[tokio::test]
async fn a_class_of_service_beyond_the_list_is_not_bought_for_a_caller_that_pays() {
    for (dialect, model, member, value, is_kept) in [
        (Dialect::Chat, "gpt-5.5", "service_tier", "priority", false),
        (Dialect::Chat, "gpt-5.5", "service_tier", "flex", true),
        (
            Dialect::Chat,
            "gemini-3-flash",
            "service_tier",
            "priority",
            false,
        ),
        (
            Dialect::Anthropic,
            "claude-sonnet-5-5",
            "speed",
            "fast",
            false,
        ),
        (Dialect::Responses, "gpt-5.5", "service_tier", "auto", true),
    ] {
        let purse = Purse::with("10").await;
        let mut body = prompt(dialect, model, "Hello");
        body[member] = json!(value);
        purse.ask(dialect, &body).await.expect("an answer");
        let sent = purse.bench.received().await.pop().expect("a request");
        assert_eq!(sent.contains(member), is_kept, "{model} {value}: {sent}");
        let receipt = purse.receipt().await;
        let is_told = receipt.degraded.iter().any(|lost| lost.feature == member);
        assert_eq!(is_told, !is_kept, "{model} {value}");
    }
    // The owner pays the provider's bill itself.
    let bench = Bench::start();
    let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hello");
    body["service_tier"] = json!("priority");
    bench.ask(Dialect::Chat, &body).await.expect("an answer");
    let sent = bench.received().await.pop().expect("a request");
    assert!(sent.contains("priority"), "{sent}");
}
