//! Requests of other dialects to a Responses upstream.

use bardo_types::chat::{
    CacheMark, Document, DocumentSource, Image, Logprobs, MediaSource, Message, Opaque,
    OutputFormat, Part, Reasoning, Role, SearchResult, ServerBlock, Text, ThinkingDisplay,
    ThinkingMode, ToolCall, ToolChoice, ToolInput, ToolResult,
};
use bardo_types::json::RawJson;
use serde_json::{Value, json};

use super::*;
use crate::codec::Encoded;

mod conversation;

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

fn chat() -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Chat, "gpt-5.5");
    request
        .messages
        .push(Message::new(Role::User, vec![Text::new("hi").into()]));
    request
}

fn function(name: &str) -> Tool {
    Tool::Function {
        name: name.into(),
        description: None,
        schema: None,
        strict: None,
        cache: None,
        extra: Vec::new(),
    }
}

fn sent(request: &ChatRequest) -> (Value, Vec<String>) {
    let encoded = encode_request(request, &target()).unwrap();
    let lost = encoded
        .degraded
        .iter()
        .map(|one| one.feature.to_string())
        .collect();
    (super::json(&encoded.body), lost)
}

/// One row of the request map: what is asked, where it is sent, and what is lost.
#[track_caller]
fn row(name: &str, ask: impl FnOnce(&mut ChatRequest), at: &str, expected: Value, lost: &[&str]) {
    let mut request = chat();
    ask(&mut request);
    let (body, degraded) = sent(&request);
    let found = body.pointer(at).cloned().unwrap_or(Value::Null);
    assert_eq!(found, expected, "{name}: {body:#}");
    assert_eq!(degraded, lost, "{name}");
}

#[test]
fn settings_go_where_the_map_says() {
    row(
        "max tokens",
        |r| r.max_output_tokens = Some(100),
        "/max_output_tokens",
        json!(100),
        &[],
    );
    row(
        "small limit",
        |r| r.max_output_tokens = Some(1),
        "/max_output_tokens",
        json!(16),
        &["max_output_tokens"],
    );
    row(
        "temperature",
        |r| r.sampling.temperature = Some(raw("1.0")),
        "/temperature",
        json!(1.0),
        &[],
    );
    row(
        "top_p",
        |r| r.sampling.top_p = Some(raw("0.5")),
        "/top_p",
        json!(0.5),
        &[],
    );
    row(
        "top_k",
        |r| r.sampling.top_k = Some(raw("5")),
        "/top_k",
        Value::Null,
        &["top_k"],
    );
    row(
        "min_p",
        |r| r.sampling.min_p = Some(raw("0.1")),
        "/min_p",
        Value::Null,
        &["min_p"],
    );
    row(
        "seed",
        |r| r.sampling.seed = Some(raw("1")),
        "/seed",
        Value::Null,
        &["seed"],
    );
    row(
        "presence",
        |r| r.sampling.presence_penalty = Some(raw("1")),
        "/presence_penalty",
        Value::Null,
        &["presence_penalty"],
    );
    row(
        "frequency",
        |r| r.sampling.frequency_penalty = Some(raw("1")),
        "/frequency_penalty",
        Value::Null,
        &["frequency_penalty"],
    );
    row(
        "logit bias",
        |r| r.sampling.logit_bias = Some(raw("{}")),
        "/logit_bias",
        Value::Null,
        &["logit_bias"],
    );
    row(
        "stop",
        |r| r.stop = vec!["x".into()],
        "/stop",
        Value::Null,
        &["stop"],
    );
    row(
        "prediction",
        |r| r.prediction = Some(raw("{}")),
        "/prediction",
        Value::Null,
        &["prediction"],
    );
    row(
        "audio",
        |r| r.modalities = Some(raw(r#"["text","audio"]"#)),
        "/modalities",
        Value::Null,
        &["audio"],
    );
    row(
        "text modality",
        |r| r.modalities = Some(raw(r#"["text"]"#)),
        "/modalities",
        Value::Null,
        &[],
    );
    row(
        "logprobs",
        |r| r.logprobs = Some(Logprobs { top: Some(2) }),
        "/top_logprobs",
        json!(2),
        &[],
    );
    row(
        "logprobs asked",
        |r| r.logprobs = Some(Logprobs { top: None }),
        "/include/1",
        json!("message.output_text.logprobs"),
        &[],
    );
    row(
        "user",
        |r| r.end_user = Some("u".into()),
        "/safety_identifier",
        json!("u"),
        &[],
    );
    row(
        "cache key",
        |r| r.cache.key = Some("k".into()),
        "/prompt_cache_key",
        json!("k"),
        &[],
    );
    row(
        "automatic cache",
        |r| r.cache.automatic = Some(raw("{}")),
        "/cache_control",
        Value::Null,
        &["cache_control"],
    );
    row(
        "metadata",
        |r| r.metadata = Some(raw(r#"{"a":"b"}"#)),
        "/metadata/a",
        json!("b"),
        &[],
    );
    row(
        "tier",
        |r| r.service_tier = Some("flex".into()),
        "/service_tier",
        json!("flex"),
        &[],
    );
    row("stateless", |_| {}, "/store", json!(false), &[]);
    row(
        "state asked for",
        |_| {},
        "/include",
        json!(["reasoning.encrypted_content"]),
        &[],
    );
    row("stream", |r| r.stream = true, "/stream", json!(true), &[]);
    row(
        "unknown member",
        |r| r.extra.push(("provider".into(), raw("{}"))),
        "/provider",
        Value::Null,
        &["provider"],
    );
    row(
        "verbosity",
        |r| r.verbosity = Some(bardo_types::chat::Verbosity::Low),
        "/text/verbosity",
        json!("low"),
        &[],
    );
    row(
        "json object",
        |r| r.output = OutputFormat::JsonObject,
        "/text/format",
        json!({"type":"json_object"}),
        &[],
    );
    row(
        "bug 51, a schema is flat here",
        |r| {
            r.output = OutputFormat::JsonSchema {
                name: None,
                description: None,
                schema: raw(r#"{"type":"object"}"#),
                strict: Some(true),
            };
        },
        "/text/format",
        json!({"type":"json_schema","name":"answer","schema":{"type":"object"},"strict":true}),
        &[],
    );
}

#[test]
fn thinking_maps_to_effort() {
    row(
        "effort",
        |r| r.reasoning.effort = Some(Effort::High),
        "/reasoning",
        json!({"effort":"high"}),
        &[],
    );
    row(
        "nearest",
        |r| r.reasoning.effort = Some(Effort::Max),
        "/reasoning/effort",
        json!("high"),
        &["effort"],
    );
    row(
        "budget",
        |r| r.reasoning.mode = Some(ThinkingMode::Budget(2_049)),
        "/reasoning/effort",
        json!("medium"),
        &[],
    );
    row(
        "disabled",
        |r| r.reasoning.mode = Some(ThinkingMode::Disabled),
        "/reasoning/effort",
        json!("none"),
        &[],
    );
    row(
        "adaptive",
        |r| r.reasoning.mode = Some(ThinkingMode::Adaptive),
        "/reasoning",
        Value::Null,
        &[],
    );
    row(
        "shown",
        |r| r.reasoning.display = Some(ThinkingDisplay::Summarized),
        "/reasoning",
        json!({"summary":"auto"}),
        &[],
    );
}

#[test]
fn a_model_that_does_not_think_is_not_asked_for_state() {
    let mut plain = target();
    plain.capabilities = Arc::new(Capabilities::default());
    let mut request = chat();
    request.reasoning.effort = Some(Effort::High);
    let Encoded { body, degraded, .. } = encode_request(&request, &plain).unwrap();
    let body = super::json(&body);
    assert_eq!(body.get("include"), None);
    assert_eq!(body.get("reasoning"), None);
    assert_eq!(degraded[0].feature, "effort");
    request.reasoning.effort = Some(Effort::None);
    assert_eq!(encode_request(&request, &plain).unwrap().degraded, []);
}

#[test]
fn tools_are_flat_and_not_strict_unless_asked() {
    row(
        "function",
        |r| r.tools = vec![function("f")],
        "/tools/0",
        json!({"type":"function","name":"f","parameters":{"type":"object","properties":{}},"strict":false}),
        &[],
    );
    row(
        "custom with the grammar of the other API",
        |r| {
            r.tools = vec![Tool::Custom {
                name: "c".into(),
                description: None,
                format: Some(raw(
                    r#"{"type":"grammar","grammar":{"syntax":"lark","definition":"start: x"}}"#,
                )),
            }];
        },
        "/tools/0",
        json!({"type":"custom","name":"c","format":{"type":"grammar","syntax":"lark","definition":"start: x"}}),
        &[],
    );
    let choose = |choice: ToolChoice| {
        move |r: &mut ChatRequest| {
            r.tools = vec![function("f")];
            r.tool_choice = Some(choice);
        }
    };
    row(
        "auto",
        choose(ToolChoice::Auto),
        "/tool_choice",
        json!("auto"),
        &[],
    );
    row(
        "none",
        choose(ToolChoice::None),
        "/tool_choice",
        json!("none"),
        &[],
    );
    row(
        "required",
        choose(ToolChoice::Required),
        "/tool_choice",
        json!("required"),
        &[],
    );
    row(
        "named",
        choose(ToolChoice::Named("f".into())),
        "/tool_choice",
        json!({"type":"function","name":"f"}),
        &[],
    );
    row(
        "allowed",
        choose(ToolChoice::Allowed {
            required: true,
            names: vec!["f".into()],
        }),
        "/tool_choice",
        json!({"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"}]}),
        &[],
    );
    row(
        "no tools, no choice",
        |r| r.tool_choice = Some(ToolChoice::Auto),
        "/tool_choice",
        Value::Null,
        &[],
    );
    row(
        "no tools, no parallel",
        |r| r.parallel_tool_calls = Some(false),
        "/parallel_tool_calls",
        Value::Null,
        &[],
    );
    row(
        "parallel",
        |r| {
            r.tools = vec![function("f")];
            r.parallel_tool_calls = Some(false);
        },
        "/parallel_tool_calls",
        json!(false),
        &[],
    );
}

#[test]
fn a_model_without_forced_calls_decides_itself() {
    let mut gentle = target();
    gentle.capabilities = Arc::new(Capabilities {
        forced_tool_choice: false,
        ..Capabilities::default()
    });
    let mut request = chat();
    request.tools = vec![function("f")];
    request.tool_choice = Some(ToolChoice::Required);
    let encoded = encode_request(&request, &gentle).unwrap();
    assert_eq!(super::json(&encoded.body)["tool_choice"], "auto");
    assert_eq!(encoded.degraded[0].feature, "forced_tool_choice");
}

#[test]
fn venice_wants_functions_nested() {
    let mut venice = target();
    venice.service = Service::Venice;
    let mut request = chat();
    request.tools = vec![function("f")];
    let body = super::json(&encode_request(&request, &venice).unwrap().body);
    assert_eq!(body["tools"][0]["function"]["name"], "f");
}

#[test]
fn another_providers_tools_are_left_out_unless_forced() {
    let search = Tool::Server {
        dialect: Dialect::Anthropic,
        kind: "web_search_20250305".into(),
        name: Some("web_search".into()),
        raw: raw(r#"{"type":"web_search_20250305","name":"web_search"}"#),
    };
    let mut request = chat();
    request.tools = vec![search, function("f")];
    let (body, lost) = sent(&request);
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(lost, ["server_tools"]);
    request.tool_choice = Some(ToolChoice::Named("web_search".into()));
    let refused = encode_request(&request, &target()).unwrap_err();
    assert_eq!(refused.param, "tool_choice");
}

#[test]
fn names_that_do_not_fit_are_replaced_everywhere() {
    let mut request = chat();
    request.tools = vec![function("crm.find")];
    request.tool_choice = Some(ToolChoice::Named("crm.find".into()));
    request.messages.push(Message::new(
        Role::Assistant,
        vec![Part::ToolCall(ToolCall::new("c", "crm.find", "{}"))],
    ));
    let encoded = encode_request(&request, &target()).unwrap();
    let body = super::json(&encoded.body);
    let [(short, original)] = encoded.renamed_tools.as_slice() else {
        panic!("one name changed");
    };
    assert_eq!(original, "crm.find");
    assert_eq!(&body["tools"][0]["name"], short);
    assert_eq!(&body["tool_choice"]["name"], short);
    assert_eq!(&body["input"][1]["name"], short);
    assert_eq!(encoded.degraded, []);
}
