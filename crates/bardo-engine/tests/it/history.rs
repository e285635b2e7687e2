//! Conversations whose earlier turns carry state.

use bardo_types::model::Dialect;
use serde_json::{Value, json};

use crate::world::{Bench, prompt, script};

fn thinking_call() -> String {
    script(json!([
        { "think": "It needs f.", "text": "A moment.", "tools": [{ "name": "f", "args": { "a": 1 } }] },
        { "text": "Done." },
    ]))
}

fn chat_tools() -> Value {
    json!([{ "type": "function", "function": { "name": "f", "parameters": { "type": "object", "properties": {} } } }])
}

/// The conversation so far, the answer to it as its client keeps it, and the result of its call.
fn next_chat(body: &Value, answer: &Value, keeps: &[&str]) -> Value {
    let message = &answer["choices"][0]["message"];
    let mut turn = json!({ "role": "assistant" });
    for name in keeps {
        turn[*name] = message[*name].clone();
    }
    let result =
        json!({ "role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "2" });
    let mut next = body.clone();
    let messages = next["messages"].as_array_mut().expect("a list");
    messages.extend([turn, result]);
    next
}

#[tokio::test]
async fn thinking_that_the_client_drops_comes_back_as_it_was() {
    let bench = Bench::start();
    for model in ["claude-sonnet-5-5", "claude-opus-5-5"] {
        let mut body = prompt(Dialect::Chat, model, &thinking_call());
        body["tools"] = chat_tools();
        body["reasoning_effort"] = json!("high");
        let first = bench.ask(Dialect::Chat, &body).await.expect("an answer");
        let next = next_chat(&body, &first.json(), &["content", "tool_calls"]);
        let second = bench.ask(Dialect::Chat, &next).await.expect("an answer");
        assert_eq!(second.json()["choices"][0]["message"]["content"], "Done.");
        assert_eq!(second.head.degraded, first.head.degraded);
        let sent = bench.received().await.pop().expect("a request");
        let sent: Value = serde_json::from_str(&sent).expect("JSON");
        let kinds: Vec<&str> = sent["messages"][1]["content"]
            .as_array()
            .expect("blocks")
            .iter()
            .filter_map(|block| block["type"].as_str())
            .collect();
        assert_eq!(kinds, ["thinking", "text", "tool_use"]);
    }
}

/// What clients make of the thinking in an answer when they put a stream together in their own way.
fn kept_in_part(message: &Value) -> Vec<Value> {
    let mut words = message.clone();
    words["reasoning_details"] = Value::Null;
    let mut nameless = message.clone();
    let mut last = message.clone();
    for entry in nameless["reasoning_details"]
        .as_array_mut()
        .expect("a list")
    {
        entry.as_object_mut().expect("an entry").remove("format");
    }
    let entries = last["reasoning_details"].as_array_mut().expect("a list");
    entries[0].as_object_mut().expect("an entry").remove("text");
    vec![words, nameless, last]
}

#[tokio::test]
async fn thinking_of_which_the_client_keeps_a_part_comes_back_as_it_was() {
    let bench = Bench::start();
    for model in ["claude-sonnet-5-5", "claude-opus-5-5"] {
        let mut body = prompt(Dialect::Chat, model, &thinking_call());
        body["tools"] = chat_tools();
        body["reasoning_effort"] = json!("high");
        let first = bench.ask(Dialect::Chat, &body).await.expect("an answer");
        let told = first.json();
        let keeps = [
            "content",
            "tool_calls",
            "reasoning_content",
            "reasoning_details",
        ];
        let whole = next_chat(&body, &told, &keeps);
        bench.ask(Dialect::Chat, &whole).await.expect("an answer");
        let expected = bench.received().await.pop().expect("a request");
        assert!(expected.contains("\"signature\""), "{expected}");
        for message in kept_in_part(&told["choices"][0]["message"]) {
            let mut answer = told.clone();
            answer["choices"][0]["message"] = message;
            let next = next_chat(&body, &answer, &keeps);
            let second = bench.ask(Dialect::Chat, &next).await.expect("an answer");
            assert_eq!(second.head.degraded, first.head.degraded, "{next}");
            let sent = bench.received().await.pop().expect("a request");
            assert_eq!(sent, expected, "{next}");
        }
    }
}

/// Claude Code fills in members that have a default; Google's signature is of what the model wrote.
#[tokio::test]
async fn a_signed_call_that_the_client_completed_goes_back_as_it_was_made() {
    let bench = Bench::start();
    let mut body = prompt(Dialect::Anthropic, "gemini-3-flash", &thinking_call());
    body["tools"] =
        json!([{ "name": "f", "input_schema": { "type": "object", "properties": {} } }]);
    body["thinking"] = json!({ "type": "adaptive" });
    let first = bench
        .ask(Dialect::Anthropic, &body)
        .await
        .expect("an answer")
        .json();
    for (input, made) in [
        (json!({ "a": 1, "replace_all": false }), true),
        (json!({ "a": 2 }), false),
    ] {
        let mut said = first["content"].clone();
        let blocks = said.as_array_mut().expect("blocks");
        let call = blocks.last_mut().expect("a call");
        call["input"] = input.clone();
        let result = json!([{ "type": "tool_result", "tool_use_id": call["id"], "content": "2" }]);
        let mut next = body.clone();
        next["messages"].as_array_mut().expect("a list").extend([
            json!({ "role": "assistant", "content": said }),
            json!({ "role": "user", "content": result }),
        ]);
        let read = bench
            .ask(Dialect::Anthropic, &next)
            .await
            .expect("an answer");
        let sent = bench.received().await.pop().expect("a request");
        let sent: Value = serde_json::from_str(&sent).expect("JSON");
        let parts = sent["contents"][1]["parts"].as_array().expect("parts");
        let call = parts.last().expect("a call");
        let expected = if made { json!({ "a": 1 }) } else { input };
        assert_eq!(call["functionCall"]["args"], expected);
        let stand_in = call["thoughtSignature"] == "skip_thought_signature_validator";
        assert_eq!(stand_in, !made, "{call}");
        assert_eq!(read.head.degraded.contains("thinking_state"), !made);
    }
}

/// Signatures are bound to what came before; a client that edits its history breaks them.
#[tokio::test]
async fn signatures_of_another_conversation_are_stripped_and_said() {
    let bench = Bench::start();
    let mut body = prompt(Dialect::Chat, "claude-opus-5-5", &thinking_call());
    body["tools"] = chat_tools();
    body["reasoning_effort"] = json!("high");
    let first = bench.ask(Dialect::Chat, &body).await.expect("an answer");
    let mut next = next_chat(&body, &first.json(), &["content", "tool_calls"]);
    let system = json!({ "role": "system", "content": "Be brief." });
    next["messages"]
        .as_array_mut()
        .expect("a list")
        .insert(0, system);
    let second = bench.ask(Dialect::Chat, &next).await.expect("an answer");
    assert_eq!(second.json()["choices"][0]["message"]["content"], "Done.");
    assert!(
        second.head.degraded.contains("thinking_state"),
        "{:?}",
        second.head
    );
}

/// A conversation that began with another provider's model goes on in the caller's own dialect.
#[tokio::test]
async fn an_envelope_never_reaches_a_provider() {
    let bench = Bench::start();
    let text = thinking_call();
    for (dialect, first_model, next_model) in [
        (Dialect::Anthropic, "gpt-6-sol", "claude-sonnet-5-5"),
        (Dialect::Anthropic, "gemini-3-flash", "claude-sonnet-5-5"),
        (Dialect::Responses, "claude-sonnet-5-5", "gpt-6-sol"),
        (Dialect::Responses, "gemini-3-flash", "gpt-6-sol"),
        (Dialect::Chat, "gpt-6-sol", "gpt-5.5"),
        (Dialect::Chat, "claude-sonnet-5-5", "deepseek-v4-pro"),
    ] {
        let mut body = prompt(dialect, first_model, &text);
        let tool = json!({ "type": "object", "properties": {} });
        body["tools"] = match dialect {
            Dialect::Anthropic => json!([{ "name": "f", "input_schema": tool }]),
            Dialect::Responses => json!([{ "type": "function", "name": "f", "parameters": tool }]),
            _ => chat_tools(),
        };
        match dialect {
            Dialect::Anthropic => body["thinking"] = json!({ "type": "adaptive" }),
            Dialect::Responses => {
                body["reasoning"] = json!({ "effort": "high", "summary": "auto" });
                body["include"] = json!(["reasoning.encrypted_content"]);
                body["store"] = json!(false);
                body["input"] = json!([{ "role": "user", "content": text }]);
            }
            _ => body["reasoning_effort"] = json!("high"),
        }
        let place = format!("{dialect:?} {first_model} {next_model}");
        let first = bench.ask(dialect, &body).await.expect(&place).json();
        let mut next = match dialect {
            Dialect::Anthropic => {
                let call = first["content"]
                    .as_array()
                    .expect("blocks")
                    .last()
                    .expect("a call")
                    .clone();
                let result =
                    json!([{ "type": "tool_result", "tool_use_id": call["id"], "content": "2" }]);
                let mut next = body.clone();
                next["messages"].as_array_mut().expect("a list").extend([
                    json!({ "role": "assistant", "content": first["content"] }),
                    json!({ "role": "user", "content": result }),
                ]);
                next
            }
            Dialect::Responses => {
                let output = first["output"].as_array().expect("items");
                let call = output.last().expect("a call")["call_id"].clone();
                let result =
                    json!({ "type": "function_call_output", "call_id": call, "output": "2" });
                let mut next = body.clone();
                let input = next["input"].as_array_mut().expect("a list");
                input.extend(output.iter().cloned().chain([result]));
                next
            }
            _ => next_chat(
                &body,
                &first,
                &[
                    "content",
                    "tool_calls",
                    "reasoning_content",
                    "reasoning_details",
                ],
            ),
        };
        next["model"] = json!(next_model);
        let answer = bench.ask(dialect, &next).await;
        let sent = bench.received().await.pop().expect("a request");
        assert!(sent.contains(next_model), "{place}: {sent}");
        assert!(!sent.contains("bardo1."), "{place}: {sent}");
        let read = answer.expect(&place);
        assert!(read.text.contains("Done."), "{place}: {}", read.text);
    }
}

/// The ids of items that the gateway made are known to it alone.
#[tokio::test]
async fn references_to_items_of_the_gateway_reach_a_provider_as_the_items() {
    for next_model in ["claude-sonnet-5-5", "gpt-6-sol"] {
        let bench = Bench::start();
        let text = script(json!([{ "text": "First." }, { "text": "Second." }]));
        let body =
            json!({ "model": "claude-sonnet-5-5", "input": [{ "role": "user", "content": text }] });
        let first = bench.ask(Dialect::Responses, &body).await;
        let first = first.expect("an answer").json();
        let next = referring(&body, &first, next_model);
        let second = bench.ask(Dialect::Responses, &next).await;
        let second = second.expect("an answer").json();
        let sent = bench.received().await.pop().expect("a request");
        assert!(sent.contains("First."), "{sent}");
        let is_told = |text: &str| sent.contains(text);
        assert!(!is_told("_bardo_") && !is_told("item_reference"), "{sent}");
        // The third turn refers to both answers.
        let third = referring(&next, &second, next_model);
        let third = bench.ask(Dialect::Responses, &third).await;
        third.expect("an answer");
        let sent = bench.received().await.pop().expect("a request");
        assert!(
            sent.contains("First.") && sent.contains("Second."),
            "{sent}"
        );
        let gone = json!({ "output": [{ "id": "msg_bardo_ab_0" }] });
        let gone = referring(&body, &gone, next_model);
        let refused = bench.ask(Dialect::Responses, &gone).await.map(|_| ());
        let refused = format!("{:?}", refused.unwrap_err());
        assert!(refused.contains("input[1].id"), "{refused}");
    }
}

/// A conversation with references to the items of the last answer, and another turn of its user.
fn referring(body: &Value, answer: &Value, model: &str) -> Value {
    let mut next = body.clone();
    next["model"] = json!(model);
    let input = next["input"].as_array_mut().expect("a list");
    for item in answer["output"].as_array().expect("items") {
        input.push(json!({ "type": "item_reference", "id": item["id"] }));
    }
    input.push(json!({ "role": "user", "content": "Go on." }));
    next
}

/// The gateway stored the first answer, so only it can tell the next provider what was said.
#[tokio::test]
async fn a_stored_answer_goes_on_with_a_provider_of_the_callers_dialect() {
    let bench = Bench::start();
    let text = script(json!([{ "text": "First." }, { "text": "Second." }]));
    let body = prompt(Dialect::Responses, "claude-sonnet-5-5", &text);
    let first = bench
        .ask(Dialect::Responses, &body)
        .await
        .expect("an answer")
        .json();
    let next =
        json!({ "model": "gpt-6-sol", "previous_response_id": first["id"], "input": "Go on." });
    let second = bench
        .ask(Dialect::Responses, &next)
        .await
        .expect("an answer");
    assert_eq!(
        second.json()["output"]
            .as_array()
            .expect("items")
            .last()
            .expect("one")["type"],
        "message"
    );
    let sent = bench.received().await.pop().expect("a request");
    assert!(
        sent.contains("First.") && !sent.contains("previous_response_id"),
        "{sent}"
    );
}
