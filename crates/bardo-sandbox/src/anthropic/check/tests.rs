//! Refusals, one per rule: each case is a valid request with one thing wrong.

use serde_json::{Value, json};

use crate::anthropic::handle;
use crate::recorded::Recorded;
use crate::world::World;

fn base() -> Value {
    json!({"model": "claude-opus-5", "max_tokens": 2000,
        "messages": [{"role": "user", "content": "hi"}]})
}

/// The valid request with `changes` laid over its top level; `null` removes a field.
fn with(changes: Value) -> Value {
    let mut body = base();
    for (name, value) in changes.as_object().into_iter().flatten() {
        match value {
            Value::Null => {
                body.as_object_mut().expect("an object").remove(name);
            }
            value => body[name] = value.clone(),
        }
    }
    body
}

fn send(body: &Value, version: &'static str, betas: &'static str) -> (u16, Value) {
    let mut request = Recorded::test("anthropic", "/v1/messages", body);
    let header = |text: &'static str| http::HeaderValue::from_static(text);
    request.headers.insert("anthropic-version", header(version));
    if !betas.is_empty() {
        request.headers.insert("anthropic-beta", header(betas));
    }
    let reply = handle(&request, &World::new(1, Vec::new()));
    (reply.status, reply.body())
}

fn refused(changes: Value, expected: &str) {
    let (status, body) = send(&with(changes.clone()), "2023-06-01", "");
    let message = body["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(status, 400, "{changes} was served");
    assert!(message.contains(expected), "{changes}: {message}");
    assert_eq!(body["type"], "error");
    assert_eq!(body["error"]["type"], "invalid_request_error");
}

fn served(changes: Value) {
    let (status, body) = send(&with(changes.clone()), "2023-06-01", "");
    assert_eq!(status, 200, "{changes}: {body}");
}

#[test]
fn top_level_fields() {
    served(json!({}));
    refused(json!({"foo": 1}), "foo: Extra inputs are not permitted");
    refused(json!({"max_tokens": null}), "max_tokens: Field required");
    refused(json!({"messages": null}), "messages: Field required");
    refused(
        json!({"max_tokens": 999_999}),
        "max_tokens: 999999 > 128000",
    );
    refused(json!({"max_tokens": 0, "stream": true}), "`stream`");
    refused(json!({"metadata": {"user": "x"}}), "metadata.user: Extra");
    refused(json!({"service_tier": "flex"}), "'auto' or 'standard_only'");
    refused(json!({"stop_sequences": [" "]}), "non-whitespace");
    refused(
        json!({"system": [{"type": "image", "source": {}}]}),
        "system.0.type",
    );
    refused(
        json!({"context_management": {"edits": []}}),
        "context_management: Extra inputs are not permitted",
    );
    let (status, body) = send(&with(json!({"model": "claude-sonnet-4"})), "2023-06-01", "");
    assert_eq!(
        (status, &body["error"]["type"]),
        (404, &json!("not_found_error"))
    );
}

#[test]
fn betas_unlock_fields() {
    let body =
        with(json!({"context_management": {"edits": [{"type": "clear_thinking_20251015"}]}}));
    let (status, body) = send(&body, "2023-06-01", "context-management-2025-06-27");
    assert_eq!(status, 200);
    assert_eq!(body["context_management"], json!({"applied_edits": []}));
}

#[test]
fn message_roles_and_blocks() {
    let say = |messages: Value| json!({"messages": messages});
    refused(say(json!([])), "at least one message");
    refused(
        say(json!([{"role": "tool", "content": "x"}])),
        "messages.0.role: Input should be",
    );
    refused(
        say(json!([{"role": "user", "content": [{"type": "text", "text": ""}]}])),
        "text content blocks must be non-empty",
    );
    refused(
        say(json!([{"role": "user", "content": [{"type": "input_text", "text": "x"}]}])),
        "Input tag 'input_text' found",
    );
    refused(
        say(json!([{"role": "user", "content": [{"type": "text", "text": "x", "id": 1}]}])),
        "messages.0.content.0.text.id: Extra inputs",
    );
    refused(
        say(json!([{"role": "user", "content": "x", "name": "n"}])),
        "messages.0.name: Extra inputs",
    );
    refused(
        say(json!([{"role": "user", "content": [{"type": "image",
            "source": {"type": "base64", "media_type": "image/tiff", "data": "AAAA"}}]}])),
        "image.source.base64.media_type",
    );
    refused(
        say(json!([{"role": "user", "content": [{"type": "image",
            "source": {"type": "base64", "media_type": "image/jpeg", "data": "iVBORw0KGgo="}}]}])),
        "appears to be a image/png image",
    );
    refused(
        say(json!([{"role": "user", "content": "x"},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}]},
            {"role": "user", "content": "y"}])),
        "messages.1.content.0.thinking.signature: Field required",
    );
}

#[test]
fn tool_results_answer_all_calls_first() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "r"});
    let talk = |answer: Value| {
        json!({"messages": [{"role": "user", "content": "x"},
            {"role": "assistant", "content": [call("a"), call("b")]},
            {"role": "user", "content": answer}]})
    };
    served(talk(
        json!([result("a"), result("b"), {"type": "text", "text": "and"}]),
    ));
    refused(
        talk(json!([result("a")])),
        "`tool_use` ids were found without `tool_result` blocks immediately after: b.",
    );
    refused(
        talk(json!([result("a"), {"type": "text", "text": "x"}, result("b")])),
        "`tool_result` blocks must come before",
    );
    refused(
        talk(json!([result("a"), result("b"), result("c")])),
        "unexpected `tool_use_id` found in `tool_result` blocks: c",
    );
    refused(
        talk(json!([result("a"), result("b"), result("b")])),
        "single result",
    );
    refused(
        json!({"messages": [{"role": "user", "content": "x"},
            {"role": "assistant", "content": [call("a b")]}]}),
        "'^[a-zA-Z0-9_-]+$'",
    );
}

#[test]
fn tool_definitions() {
    let tool = |schema: Value| json!({"tools": [{"name": "f", "input_schema": schema}]});
    served(tool(json!({"type": "object", "properties": {}})));
    refused(
        tool(json!({})),
        "tools.0.custom.input_schema.type: Field required",
    );
    refused(tool(json!({"type": "string"})), "Input should be 'object'");
    refused(
        tool(json!({"type": "object", "properties":
            {"n": {"type": "number", "exclusiveMinimum": true}}})),
        "draft 2020-12",
    );
    refused(
        json!({"tools": [{"name": "a.b", "input_schema": {"type": "object"}}]}),
        "'^[a-zA-Z0-9_-]{1,128}$'",
    );
    refused(
        json!({"tools": [{"type": "function", "function": {"name": "f"}}]}),
        "Input tag 'function' found",
    );
    refused(
        json!({"tools": [{"name": "f", "parameters": {}}]}),
        "tools.0.custom.parameters: Extra inputs",
    );
    refused(
        json!({"tool_choice": {"type": "auto"}}),
        "while providing `tools`",
    );
    refused(
        json!({"tool_choice": "auto"}),
        "tool_choice: Input should be an object",
    );
}

#[test]
fn sampling_by_version_and_model() {
    refused(json!({"temperature": 0.5}), "`temperature` is deprecated");
    served(json!({"model": "claude-haiku-4-5", "temperature": 0.5}));
    refused(
        json!({"model": "claude-haiku-4-5", "temperature": 0.5, "top_p": 0.5}),
        "cannot both be specified",
    );
    let body = with(json!({"model": "claude-haiku-4-5", "temperature": 1}));
    let (status, answer) = send(&body, "2026-10-21", "");
    assert_eq!(status, 400, "{answer}");
}

#[test]
fn thinking_by_model() {
    let budget = json!({"type": "enabled", "budget_tokens": 1024});
    refused(
        json!({"thinking": budget}),
        "\"thinking.type.enabled\" is not supported",
    );
    served(json!({"model": "claude-haiku-4-5", "thinking": budget}));
    refused(
        json!({"model": "claude-haiku-4-5", "thinking": {"type": "enabled", "budget_tokens": 0}}),
        "greater than or equal to 1024",
    );
    refused(
        json!({"model": "claude-haiku-4-5", "max_tokens": 1024, "thinking": budget}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    );
    refused(
        json!({"model": "claude-haiku-4-5", "thinking": {"type": "adaptive"}}),
        "\"thinking.type.adaptive\" is not supported",
    );
    served(json!({"thinking": {"type": "disabled"}}));
    refused(
        json!({"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}}),
        "effort `high` or below",
    );
    refused(
        json!({"model": "claude-opus-5-5", "thinking": {"type": "disabled"}}),
        "\"thinking.type.disabled\"",
    );
    refused(
        json!({"model": "claude-sonnet-5-5", "thinking": {"type": "disabled"}}),
        "between_tools",
    );
    refused(
        json!({"thinking": {"type": "adaptive",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"}}}),
        "block_binding: Extra inputs are not permitted",
    );
}

#[test]
fn forced_tools_and_prefill_by_model() {
    let tools = json!([{"name": "f", "input_schema": {"type": "object"}}]);
    let forced = |model: &str| json!({"model": model, "tools": tools.clone(), "tool_choice": {"type": "any"}});
    served(forced("claude-opus-5"));
    refused(forced("claude-opus-5-5"), "forced tool use");
    refused(forced("claude-fable-5-1"), "forced tool use");
    let prefill = |model: &str| {
        json!({"model": model, "messages": [{"role": "user", "content": "x"},
            {"role": "assistant", "content": "The"}]})
    };
    served(prefill("claude-haiku-4-5"));
    refused(
        prefill("claude-opus-4-6"),
        "does not support assistant message prefill",
    );
}

#[test]
fn system_messages_by_model_and_place() {
    let talk = |model: &str, messages: Value| json!({"model": model, "messages": messages});
    let user = json!({"role": "user", "content": "x"});
    let system = json!({"role": "system", "content": "be brief"});
    served(talk("claude-opus-5", json!([user, system])));
    let effort = json!({"role": "system", "output_config": {"effort": "low"}});
    served(talk("claude-opus-5", json!([user, effort])));
    refused(
        talk("claude-sonnet-5", json!([user, system])),
        "role 'system' is not supported on this model",
    );
    refused(talk("claude-opus-5", json!([system, user])), "must follow");
    refused(
        talk("claude-opus-5", json!([user, system, user])),
        "must follow",
    );
}

#[test]
fn output_formats() {
    let format = |schema: Value| json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}});
    served(format(
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
    ));
    refused(
        format(json!({"type": "object", "properties": {}})),
        "'additionalProperties'",
    );
    refused(
        json!({"output_config": {"format": {"type": "json_schema",
            "json_schema": {"name": "x", "schema": {}}}}}),
        "Extra inputs",
    );
    refused(
        json!({"output_config": {"effort": "ultra"}}),
        "output_config.effort",
    );
}

#[test]
fn cache_markers() {
    let marked = |ttl: Option<&str>| {
        let mut control = json!({"type": "ephemeral"});
        if let Some(ttl) = ttl {
            control["ttl"] = json!(ttl);
        }
        json!({"type": "text", "text": "x", "cache_control": control})
    };
    served(json!({"system": [marked(Some("1h")), marked(None)]}));
    refused(
        json!({"system": [marked(None), marked(Some("1h"))]}),
        "system.1.cache_control.ttl: a ttl='1h' cache_control block must not come after",
    );
    refused(
        json!({"system": vec![marked(None); 4], "cache_control": {"type": "ephemeral"}}),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    );
}

#[test]
fn the_newer_version_refuses_documents_by_the_assistant() {
    let document = json!({"type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "d"}});
    let body = with(json!({"messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": [document]}, {"role": "user", "content": "y"}]}));
    assert_eq!(send(&body, "2023-06-01", "").0, 200);
    assert_eq!(send(&body, "2026-10-21", "").0, 400);
}
