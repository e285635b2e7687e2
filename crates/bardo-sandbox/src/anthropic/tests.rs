//! Whole requests: tool loops with signed thinking, streams, caching, threads.

use serde_json::{Value, json};

use super::{handle, resold_messages};
use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::world::World;

fn world() -> World {
    World::new(1, Vec::new())
}

fn scripted(steps: Value) -> Value {
    json!([{"role": "user", "content": format!("bardo-script: {}", json!({"steps": steps}))}])
}

fn request(body: &Value, betas: &'static str) -> Recorded {
    let mut request = Recorded::test("anthropic", "/v1/messages", body);
    if !betas.is_empty() {
        let betas = http::HeaderValue::from_static(betas);
        request.headers.insert("anthropic-beta", betas);
    }
    request
}

fn post(body: &Value, world: &World) -> Reply {
    handle(&request(body, ""), world)
}

fn body_of(model: &str, messages: Value) -> Value {
    json!({"model": model, "max_tokens": 4000, "messages": messages,
        "tools": [{"name": "f", "input_schema": {"type": "object"}},
                  {"name": "g", "input_schema": {"type": "object"}}]})
}

/// A conversation after one round of tools, ready to be sent again.
fn after_one_round(model: &str, world: &World) -> Value {
    let steps = json!([{"think": "hm", "tools": [{"name": "f", "args": {"a": 1}}]},
        {"think": "again", "tools": [{"name": "g"}]}, {"text": "done"}]);
    let mut body = body_of(model, scripted(steps));
    answer_calls(&mut body, world);
    body
}

fn answer_calls(body: &mut Value, world: &World) {
    let reply = post(body, world);
    assert_eq!(reply.status, 200, "{}", reply.body());
    let content = reply.body()["content"].clone();
    let results: Vec<Value> = content
        .as_array()
        .into_iter()
        .flatten()
        .filter(|block| block["type"] == "tool_use")
        .map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "r"}))
        .collect();
    let messages = body["messages"].as_array_mut().expect("messages");
    messages.push(json!({"role": "assistant", "content": content}));
    messages.push(json!({"role": "user", "content": results}));
}

fn refusal(body: &Value, world: &World) -> String {
    let reply = post(body, world);
    assert_eq!(reply.status, 400, "{}", reply.body());
    reply.body()["error"]["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_tool_loop_keeps_its_thinking() {
    let world = world();
    for model in ["claude-opus-5-5", "claude-opus-5", "claude-fable-5-2"] {
        let mut body = after_one_round(model, &world);
        answer_calls(&mut body, &world);
        let last = post(&body, &world).body();
        assert_eq!(last["content"][0]["text"], "done", "{last}");
        assert_eq!(last["stop_reason"], "end_turn");
    }
}

#[test]
fn a_tampered_signature_is_always_refused() {
    let world = world();
    for model in ["claude-opus-5-5", "claude-opus-5"] {
        let mut body = after_one_round(model, &world);
        body["messages"][1]["content"][0]["thinking"] = json!("edited");
        assert_eq!(
            refusal(&body, &world),
            "messages.1.content.0: Invalid `signature` in `thinking` block"
        );
    }
}

#[test]
fn bound_models_notice_an_edited_prefix() {
    let world = world();
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit); 3] = [
        ("system", |body| body["system"] = json!("new")),
        ("tools", |body| {
            drop(body["tools"].as_array_mut().expect("tools").pop())
        }),
        ("history", |body| {
            let text = body["messages"][0]["content"].as_str().expect("text");
            body["messages"][0]["content"] = json!(format!("{text} "));
        }),
    ];
    for (what, edit) in edits {
        let mut bound = after_one_round("claude-sonnet-5-5", &world);
        edit(&mut bound);
        let message = refusal(&bound, &world);
        let expected = "messages.1.content.0: Invalid `signature` in `thinking` block. The block \
                        is bound to a different conversation.";
        assert!(message.starts_with(expected), "{what}: {message}");
        let mut free = after_one_round("claude-opus-5", &world);
        edit(&mut free);
        assert_eq!(post(&free, &world).status, 200, "{what}");
    }
}

#[test]
fn moving_markers_and_reordering_tools_is_no_edit() {
    let world = world();
    let mut body = after_one_round("claude-opus-5-5", &world);
    body["tools"].as_array_mut().expect("tools").reverse();
    let text = body["messages"][0]["content"].clone();
    body["messages"][0]["content"] =
        json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]);
    body["max_tokens"] = json!(3000);
    assert_eq!(post(&body, &world).status, 200);
}

#[test]
fn a_middle_block_may_not_go_but_runs_at_the_ends_may() {
    let world = world();
    let mut body = after_one_round("claude-opus-5-5", &world);
    answer_calls(&mut body, &world);
    let without = |places: &[usize]| {
        let mut body = body.clone();
        for place in places {
            let content = &mut body["messages"][*place]["content"];
            content.as_array_mut().expect("blocks").remove(0);
        }
        post(&body, &world).status
    };
    assert_eq!(
        (without(&[1]), without(&[3]), without(&[1, 3])),
        (200, 200, 200)
    );

    let steps: Value = (0..3)
        .map(|step| json!({"think": format!("t{step}"), "tools": [{"name": "f"}]}))
        .chain([json!({"text": "done"})])
        .collect();
    let mut long = body_of("claude-opus-5-5", scripted(steps));
    (0..3).for_each(|_| answer_calls(&mut long, &world));
    assert_eq!(post(&long, &world).status, 200);
    long["messages"][3]["content"]
        .as_array_mut()
        .expect("blocks")
        .remove(0);
    assert!(refusal(&long, &world).contains("bound to a different conversation"));
}

#[test]
fn another_models_thinking_is_dropped_and_said_so() {
    let world = world();
    let mut body = after_one_round("claude-opus-5", &world);
    body["model"] = json!("claude-opus-5-5");
    let reply = handle(
        &request(&body, "thinking-binding-controls-2026-08-01"),
        &world,
    );
    assert_eq!(reply.status, 200, "{}", reply.body());
    assert_eq!(
        reply.body()["input_transformations"],
        json!([{"type": "thinking_dropped", "path": "messages.1.content.0",
            "reason": "model_binding_mismatch"}])
    );
}

#[test]
fn drop_block_serves_a_moved_conversation() {
    let world = world();
    let mut body = after_one_round("claude-opus-5-5", &world);
    body["system"] = json!("new");
    body["thinking"] = json!({"type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
    let reply = handle(
        &request(&body, "thinking-binding-controls-2026-08-01"),
        &world,
    );
    let dropped = &reply.body()["input_transformations"][0];
    assert_eq!(dropped["reason"], "prefix_binding_mismatch");
}

/// Rebuilds a message from its events.
fn assembled(events: &[Value]) -> Value {
    let mut message = Value::Null;
    let mut inputs = String::new();
    for event in events {
        let index = event["index"].as_u64().map_or(0, |index| index as usize);
        let delta = &event["delta"];
        let mut append = |field: &str| {
            let held = &mut message["content"][index][field];
            let added = delta[field].as_str().unwrap_or_default();
            *held = json!(format!("{}{added}", held.as_str().unwrap_or_default()));
        };
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => message = event["message"].clone(),
            "content_block_start" => {
                inputs.clear();
                let content = message["content"].as_array_mut().expect("content");
                assert_eq!(content.len(), index, "indexes are contiguous");
                content.push(event["content_block"].clone());
            }
            "content_block_delta" => match delta["type"].as_str().unwrap_or_default() {
                "text_delta" => append("text"),
                "thinking_delta" => append("thinking"),
                "signature_delta" => append("signature"),
                "input_json_delta" => inputs += delta["partial_json"].as_str().unwrap_or_default(),
                "citations_delta" => message["content"][index]["citations"]
                    .as_array_mut()
                    .expect("citations")
                    .push(delta["citation"].clone()),
                other => panic!("unknown delta {other}"),
            },
            "content_block_stop" if !inputs.is_empty() => {
                message["content"][index]["input"] =
                    serde_json::from_str(&inputs).expect("whole arguments");
            }
            "message_delta" => {
                for field in ["stop_reason", "stop_sequence", "stop_details"] {
                    message[field] = delta[field].clone();
                }
                for (name, value) in event["usage"].as_object().into_iter().flatten() {
                    message["usage"][name] = value.clone();
                }
            }
            _ => {}
        }
    }
    message
}

#[test]
fn a_stream_adds_up_to_the_message() {
    let search = json!([{"type": "web_search_20250305", "name": "web_search"}]);
    let steps = json!([{"think": "let me see ü", "text": "calling", "tools":
        [{"name": "f", "args": {"a": "x", "b": [1, 2]}}, {"name": "g"}]}]);
    for mut body in [
        body_of("claude-opus-4-6", scripted(steps.clone())),
        body_of("claude-opus-5-5", scripted(steps)),
        json!({"model": "claude-opus-5", "max_tokens": 500, "tools": search,
            "messages": [{"role": "user", "content": "news"}]}),
        body_of(
            "claude-opus-5",
            scripted(json!([{"refusal": "no", "category": "bio"}])),
        ),
        body_of(
            "claude-opus-5",
            scripted(json!([{"think": "x", "redacted": true, "text": "y"}])),
        ),
    ] {
        body["thinking"] = json!({"type": "adaptive"});
        let mut whole = post(&body, &world()).body();
        body["stream"] = json!(true);
        let events = post(&body, &world()).events();
        let mut streamed = assembled(&events);
        for message in [&mut whole, &mut streamed] {
            message.as_object_mut().expect("a message").remove("id");
        }
        assert_eq!(whole, streamed);
        assert!(events.iter().any(|event| event["type"] == "ping"));
        assert_eq!(events.last().expect("events")["type"], "message_stop");
    }
}

#[test]
fn omitted_thinking_is_an_empty_text_with_a_signature() {
    let body = body_of(
        "claude-opus-5-5",
        scripted(json!([{"think": "secret", "text": "y"}])),
    );
    let message = post(&body, &world()).body();
    assert_eq!(message["content"][0]["thinking"], "");
    assert!(
        message["content"][0]["signature"]
            .as_str()
            .is_some_and(|s| s.len() > 40)
    );
    assert!(!message.to_string().contains("secret\""));
    assert_eq!(
        message["usage"]["output_tokens_details"]["thinking_tokens"],
        2
    );
}

#[test]
fn a_call_cut_by_the_limit_is_broken_only_when_streamed_eagerly() {
    let steps = json!([{"tools": [{"name": "f", "args": {"a": 1, "b": "0123456789abcdef"}}]}]);
    let mut body = json!({"model": "claude-opus-4-8", "max_tokens": 4, "stream": true,
        "messages": scripted(steps),
        "tools": [{"name": "f", "input_schema": {"type": "object"}}]});
    let fragments = |body: &Value| -> String {
        let events = post(body, &world()).events();
        events
            .iter()
            .filter_map(|event| event["delta"]["partial_json"].as_str())
            .collect()
    };
    assert_eq!(fragments(&body), r#"{"a":1}"#);
    body["tools"][0]["eager_input_streaming"] = json!(true);
    assert_eq!(fragments(&body), r#"{"a":1,"b":"0123"#);
    assert!(
        post(&body, &world())
            .events()
            .iter()
            .any(|e| e["delta"]["stop_reason"] == "max_tokens")
    );
}

#[test]
fn caching_reports_what_was_written_and_read() {
    let world = world();
    let long = "lorem ipsum ".repeat(400);
    let mut body = json!({"model": "claude-opus-5-5", "max_tokens": 500,
        "system": [{"type": "text", "text": long,
            "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "cache_control": {"type": "ephemeral"},
        "messages": [{"role": "user", "content": "one"}]});
    let first = post(&body, &world).body()["usage"].clone();
    let hour = first["cache_creation"]["ephemeral_1h_input_tokens"]
        .as_u64()
        .expect("a count");
    let minutes = first["cache_creation"]["ephemeral_5m_input_tokens"]
        .as_u64()
        .expect("a count");
    assert!(hour > 1_000 && minutes > 0, "{first}");
    assert_eq!(first["cache_creation_input_tokens"], hour + minutes);
    assert_eq!(first["cache_read_input_tokens"], 0);
    body["messages"] = json!([{"role": "user", "content": "two"}]);
    let second = post(&body, &world).body()["usage"].clone();
    assert_eq!(second["cache_read_input_tokens"], hour, "{second}");
    body["model"] = json!("claude-opus-4-6");
    let too_short = post(&body, &world).body()["usage"].clone();
    assert_eq!(
        too_short["cache_creation_input_tokens"], 0,
        "below the minimum of 4096"
    );
}

#[test]
fn a_search_result_must_come_back_as_it_was() {
    let world = world();
    let mut body = json!({"model": "claude-opus-5", "max_tokens": 500,
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        "messages": [{"role": "user", "content": "news"}]});
    let message = post(&body, &world).body();
    assert_eq!(
        message["usage"]["server_tool_use"]["web_search_requests"],
        1
    );
    let text = message["content"]
        .as_array()
        .and_then(|blocks| blocks.last())
        .expect("text");
    assert_eq!(text["citations"][0]["type"], "web_search_result_location");
    let messages = body["messages"].as_array_mut().expect("messages");
    messages.push(json!({"role": "assistant", "content": message["content"]}));
    messages.push(json!({"role": "user", "content": "more"}));
    assert_eq!(post(&body, &world).status, 200);
    body["messages"][1]["content"][2]["content"][0]["encrypted_content"] = json!("AAAA");
    assert!(refusal(&body, &world).contains("encrypted_content"));
}

#[test]
fn a_thread_holds_the_conversation() {
    let world = world();
    let steps = json!([{"think": "t", "tools": [{"name": "f"}]}, {"text": "done"}]);
    let mut body = body_of("claude-opus-5-5", scripted(steps));
    body["thread"] = json!({"type": "create"});
    let send = |body: &Value| handle(&request(body, "message-threads-2026-08-12"), &world);
    let first = send(&body).body();
    let call = &first["content"][1]["id"];
    let mut next = json!({"model": "claude-opus-5-5", "max_tokens": 500,
        "thread": {"type": "continue", "previous_message_id": first["id"]},
        "messages": [{"role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call, "content": "r"}]}]});
    assert_eq!(send(&next).body()["content"][0]["text"], "done");
    let again = send(&next);
    assert_eq!(again.status, 409);
    assert_eq!(
        again.body()["error"]["details"]["error_code"],
        "thread_already_continued"
    );
    next["thread"]["previous_message_id"] = json!("msg_unknown");
    let lost = send(&next);
    assert_eq!(lost.status, 404);
    assert_eq!(
        lost.body()["error"]["details"]["error_code"],
        "thread_not_found"
    );
}

#[test]
fn resellers_need_no_version_and_serve_other_makers() {
    for model in ["anthropic/claude-opus-5.5", "openai/gpt-5.5"] {
        let body = json!({"model": model, "max_tokens": 100,
            "messages": [{"role": "user", "content": "x"}]});
        let mut request = request(&body, "");
        request.headers.remove("anthropic-version");
        let reply = resold_messages(&request, &world());
        assert_eq!((reply.status, &reply.body()["model"]), (200, &json!(model)));
    }
}

#[test]
fn counting_needs_no_limit_and_refuses_the_same() {
    let world = world();
    let count = |body: Value| {
        handle(
            &Recorded::test("anthropic", "/v1/messages/count_tokens?beta=true", &body),
            &world,
        )
    };
    let messages = json!([{"role": "user", "content": "x"}]);
    let reply = count(json!({"model": "claude-opus-5-5", "messages": messages}));
    assert!(
        reply.body()["input_tokens"]
            .as_u64()
            .is_some_and(|tokens| tokens > 0)
    );
    let forced = json!({"model": "claude-opus-5-5", "messages": messages,
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "tool", "name": "f"}});
    assert_eq!(count(forced).status, 400);
}

#[test]
fn models_come_in_pages() {
    let world = world();
    let get = |path: &str| handle(&Recorded::test("anthropic", path, &Value::Null), &world).body();
    let first = get("/v1/models?limit=3");
    assert_eq!(
        (first["data"].as_array().map(Vec::len), &first["has_more"]),
        (Some(3), &json!(true))
    );
    let next = get(&format!(
        "/v1/models?limit=3&after_id={}",
        first["last_id"].as_str().expect("id")
    ));
    assert_ne!(first["first_id"], next["first_id"]);
    let one = get("/v1/models/claude-sonnet-5-5");
    let types = &one["capabilities"]["thinking"]["types"];
    assert_eq!(types["between_tools"]["supported"], true);
    assert_eq!(types["disabled"]["supported"], false);
}

#[test]
fn times_are_rfc_3339() {
    assert_eq!(super::rfc3339(0), "1970-01-01T00:00:00Z");
    assert_eq!(super::rfc3339(1_792_540_799), "2026-10-20T23:59:59Z");
    assert_eq!(super::rfc3339(1_709_164_800), "2024-02-29T00:00:00Z");
}

#[test]
fn text_without_sources_has_no_member_for_them() {
    let body = body_of(
        "claude-sonnet-5-5",
        scripted(json!([{"text": "no source"}])),
    );
    let reply = post(&body, &world()).body();
    assert_eq!(
        reply["content"],
        json!([{"type": "text", "text": "no source"}])
    );
}
