use bardo_types::chat::{
    Audio, CacheMark, Document, DocumentSource, Image, MediaSource, Message, Opaque, Part,
    Reasoning, Role, SearchResult, ServerBlock, Text, ToolCall, ToolChoice, ToolInput, ToolResult,
};
use bardo_types::json::RawJson;
use serde_json::{Value, json};

use super::*;

pub(super) fn raw(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

pub(super) fn user(parts: Vec<Part>) -> Message {
    Message::new(Role::User, parts)
}

pub(super) fn assistant(parts: Vec<Part>) -> Message {
    Message::new(Role::Assistant, parts)
}

pub(super) fn text(words: &str) -> Part {
    Text::new(words).into()
}

pub(super) fn result(id: &str, parts: Vec<Part>) -> Part {
    Part::ToolResult(ToolResult {
        call_id: id.into(),
        parts,
        is_error: false,
        custom: false,
        cache: None,
    })
}

pub(super) fn function(name: &str) -> Tool {
    Tool::Function {
        name: name.into(),
        description: None,
        schema: Some(raw(r#"{"type":"object"}"#)),
        strict: None,
        cache: None,
        extra: Vec::new(),
    }
}

pub(super) fn thinking(words: &str, opaque: Opaque) -> Part {
    Part::Reasoning(Reasoning {
        text: words.into(),
        summary: false,
        opaque: Some(opaque),
    })
}

/// A request as a caller of Anthropic's dialect makes it.
pub(super) fn foreign() -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Anthropic, "m");
    request.messages.push(user(vec![text("hi")]));
    request
}

/// What goes upstream, and the names of what was lost.
#[track_caller]
pub(super) fn sent(request: &ChatRequest, target: &Target) -> (Value, Vec<String>) {
    let encoded = encode_request(request, target).unwrap();
    let body: Value = serde_json::from_slice(&encoded.body)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&encoded.body)));
    let body_text = String::from_utf8(encoded.body).unwrap();
    assert!(!body_text.contains(crate::envelope::PREFIX), "{body_text}");
    let lost = encoded
        .degraded
        .into_iter()
        .map(|loss| loss.feature.into_owned())
        .collect();
    (body, lost)
}

pub(super) fn able(
    service: Service,
    model: &str,
    change: impl FnOnce(&mut Capabilities),
) -> Target {
    let mut capabilities = Capabilities::default();
    change(&mut capabilities);
    Target {
        model: model.into(),
        service,
        capabilities: Arc::new(capabilities),
    }
}

const SERVICES: [Service; 7] = [
    Service::OpenAi,
    Service::OpenRouter,
    Service::Venice,
    Service::DeepSeek,
    Service::Bankr,
    Service::BlockRun,
    Service::Local,
];

pub(super) fn plain(service: Service) -> Target {
    let model = match service {
        Service::OpenRouter => "x-ai/grok",
        _ => "some-model",
    };
    target(service, model)
}

#[test]
fn custom_tools_are_native_at_openai_and_wrapped_elsewhere() {
    let mut request = foreign();
    request.dialect = Dialect::Responses;
    request.tools.push(Tool::Custom {
        name: "apply_patch".into(),
        description: Some("d".into()),
        format: Some(raw(
            r#"{"type":"grammar","syntax":"lark","definition":"start: x"}"#,
        )),
    });
    request
        .messages
        .push(assistant(vec![Part::ToolCall(ToolCall {
            input: ToolInput::Text("*** \"x\"".into()),
            ..ToolCall::new("c", "apply_patch", "")
        })]));
    request
        .messages
        .push(user(vec![result("c", vec![text("ok")])]));
    let (native, lost) = sent(&request, &plain(Service::OpenAi));
    assert_eq!(
        native["tools"][0],
        json!({"type": "custom", "custom": {"name": "apply_patch", "description": "d",
            "format": {"type": "grammar", "grammar": {"definition": "start: x", "syntax": "lark"}}}})
    );
    assert_eq!(
        native["messages"][1]["tool_calls"][0]["custom"]["input"],
        "*** \"x\""
    );
    assert!(lost.is_empty());
    let (wrapped, lost) = sent(&request, &plain(Service::Local));
    assert_eq!(
        wrapped["tools"][0]["function"]["parameters"]["required"],
        json!(["input"])
    );
    assert_eq!(
        wrapped["messages"][1]["tool_calls"][0]["function"]["arguments"],
        r#"{"input":"*** \"x\""}"#
    );
    assert_eq!(lost, ["custom_tool_grammar"]);
}

#[test]
fn names_that_break_the_pattern_are_renamed_everywhere() {
    let odd = "mcp.server/tool with a name that is far too long to be taken by anybody at all";
    let mut request = foreign();
    request.tools.push(function(odd));
    request.tools.push(function("fine"));
    request.tool_choice = Some(ToolChoice::Named(odd.into()));
    request
        .messages
        .push(assistant(vec![Part::ToolCall(ToolCall::new(
            "id with space",
            odd,
            "{}",
        ))]));
    request
        .messages
        .push(user(vec![result("id with space", vec![text("ok")])]));
    let encoded = encode_request(&request, &plain(Service::OpenAi)).unwrap();
    let [(name, original)] = &encoded.renamed_tools[..] else {
        panic!("{:?}", encoded.renamed_tools);
    };
    assert_eq!(original, odd);
    assert!(name.len() <= 64 && name.starts_with("mcp_server_tool"));
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    assert_eq!(body["tools"][0]["function"]["name"], **name);
    assert_eq!(body["tool_choice"]["function"]["name"], **name);
    let call = &body["messages"][1]["tool_calls"][0];
    assert_eq!(call["function"]["name"], **name);
    assert_eq!(call["id"], body["messages"][2]["tool_call_id"]);
    assert_eq!(call["id"].as_str().unwrap().len(), 29);
}

#[test]
fn media_and_documents_become_what_the_target_takes() {
    let base64 = || MediaSource::Base64 {
        media_type: "application/pdf".into(),
        data: "JVBERi0=".into(),
    };
    let document = |source, citations| {
        Part::Document(Document {
            source,
            title: Some("T".into()),
            context: None,
            citations,
            cache: None,
        })
    };
    let mut request = foreign();
    request.messages[0] = user(vec![
        document(DocumentSource::Media(base64()), false),
        document(DocumentSource::Text("words".into()), true),
        Part::SearchResult(SearchResult {
            source: "https://a".into(),
            title: "A".into(),
            content: vec![Text::new("found")],
            citations: true,
            cache: None,
        }),
        Part::Audio(Audio {
            data: "UklG".into(),
            format: "wav".into(),
            id: None,
        }),
        Part::Image(Image {
            source: MediaSource::File("file_1".into()),
            detail: None,
            cache: None,
        }),
        Part::Server(ServerBlock {
            dialect: Dialect::Anthropic,
            kind: "container_upload".into(),
            raw: raw("{}"),
        }),
    ]);
    let (body, lost) = sent(&request, &plain(Service::OpenAi));
    assert_eq!(
        body["messages"][0]["content"],
        json!([
            {"type": "file", "file": {"filename": "T", "file_data": "data:application/pdf;base64,JVBERi0="}},
            {"type": "text", "text": "T\n\nwords"},
            {"type": "text", "text": "A\nSource: https://a\n\nfound"},
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
            {"type": "text", "text": "[image omitted: it is in another provider's file store]"}
        ])
    );
    assert_eq!(lost, ["citations", "image_file", "container_upload"]);
    let (_, lost) = sent(
        &request,
        &able(Service::Local, "m", |able| able.audio = false),
    );
    assert_eq!(
        lost,
        [
            "documents",
            "citations",
            "audio",
            "image_file",
            "container_upload"
        ]
    );
}

#[test]
fn cache_marks_stay_where_they_count() {
    let mark = |json: &str| Some(CacheMark(raw(json)));
    for (service, marks, json, member) in [
        (
            Service::OpenRouter,
            false,
            r#"{"type":"ephemeral","ttl":"1h"}"#,
            Some(("cache_control", r#"{"type":"ephemeral","ttl":"1h"}"#)),
        ),
        (
            Service::Venice,
            false,
            r#"{"mode":"explicit"}"#,
            Some(("cache_control", r#"{"type":"ephemeral"}"#)),
        ),
        (
            Service::OpenAi,
            true,
            r#"{"type":"ephemeral"}"#,
            Some(("prompt_cache_breakpoint", r#"{"mode":"explicit"}"#)),
        ),
        (Service::OpenAi, false, r#"{"type":"ephemeral"}"#, None),
        (Service::Local, true, r#"{"type":"ephemeral"}"#, None),
        (Service::DeepSeek, true, r#"{"type":"ephemeral"}"#, None),
    ] {
        let mut request = foreign();
        request.messages[0] = user(vec![Part::Text(Text {
            cache: mark(json),
            ..Text::new("a")
        })]);
        let target = able(service, "m", |able| able.cache_marks = marks);
        let (body, lost) = sent(&request, &target);
        let content = &body["messages"][0]["content"];
        match member {
            Some((member, value)) => {
                assert_eq!(content[0][member].to_string(), value, "{service:?}");
                assert!(lost.is_empty(), "{service:?}");
            }
            None => {
                assert_eq!(content, "a", "{service:?}");
                assert_eq!(lost, ["cache_control"], "{service:?}");
            }
        }
    }
}

#[test]
fn members_of_one_service_do_not_reach_another() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"x"}],"provider":{"zdr":true},"venice_parameters":{"enable_web_search":"on"},"brand_new":1,"api_key":"sk-x","base_url":"http://evil","bardo":{"cache":"no-store"}}"#;
    let request = decode_request(body.as_bytes()).unwrap();
    for service in SERVICES {
        let (sent_body, lost) = sent(&request, &plain(service));
        assert_eq!(
            sent_body.get("provider").is_some(),
            service == Service::OpenRouter
        );
        assert_eq!(
            sent_body
                .pointer("/venice_parameters/enable_web_search")
                .is_some(),
            service == Service::Venice
        );
        assert_eq!(sent_body["brand_new"], 1);
        for never in ["api_key", "base_url", "bardo"] {
            assert!(sent_body.get(never).is_none(), "{never} at {service:?}");
        }
        let foreign_members = [Service::OpenRouter, Service::Venice].contains(&service);
        assert_eq!(lost.len(), if foreign_members { 1 } else { 2 }, "{lost:?}");
    }
}

#[test]
fn thinking_goes_back_only_to_those_who_read_it() {
    let claude = || thinking("deep", Opaque::AnthropicSignature("sig".into()));
    let bare = || thinking("bare", Opaque::ReasoningContent);
    let openai = || {
        thinking(
            "",
            Opaque::OpenAiReasoning(raw(
                r#"{"type":"reasoning","id":"rs","encrypted_content":"gA"}"#,
            )),
        )
    };
    let conversation = |parts: Vec<Part>| {
        let mut request = foreign();
        let mut turn = parts;
        turn.push(Part::ToolCall(ToolCall::new("c", "f", "{}")));
        request.messages.push(assistant(turn));
        request
            .messages
            .push(user(vec![result("c", vec![text("ok")])]));
        request
    };
    for (service, model, part, member, expected, is_lost) in [
        (
            Service::OpenRouter,
            "anthropic/claude-opus-5.5",
            claude(),
            "reasoning_details",
            r#"[{"type":"reasoning.text","text":"deep","index":0,"format":"anthropic-claude-v1","signature":"sig"}]"#,
            false,
        ),
        (
            Service::OpenRouter,
            "openai/gpt-6-sol",
            claude(),
            "reasoning_details",
            "null",
            true,
        ),
        (
            Service::OpenRouter,
            "openai/gpt-6-sol",
            openai(),
            "reasoning_details",
            r#"[{"type":"reasoning.encrypted","data":"gA","index":0,"id":"rs","format":"openai-responses-v1"}]"#,
            false,
        ),
        (
            Service::OpenRouter,
            "deepseek/deepseek-v4",
            bare(),
            "reasoning",
            r#""bare""#,
            false,
        ),
        (
            Service::Venice,
            "claude-opus-4-6",
            claude(),
            "reasoning_details",
            r#"[{"type":"reasoning.text","text":"deep","index":0,"format":"anthropic-claude-v1","signature":"sig"}]"#,
            false,
        ),
        (
            Service::Venice,
            "glm-5",
            bare(),
            "reasoning_content",
            r#""bare""#,
            false,
        ),
        (
            Service::DeepSeek,
            "deepseek-v4-pro",
            bare(),
            "reasoning_content",
            r#""bare""#,
            false,
        ),
        (
            Service::DeepSeek,
            "deepseek-v4-pro",
            claude(),
            "reasoning_content",
            r#""deep""#,
            true,
        ),
        (
            Service::DeepSeek,
            "deepseek-v4-pro",
            text("x"),
            "reasoning_content",
            r#""""#,
            false,
        ),
        (
            Service::OpenAi,
            "gpt-5.5",
            claude(),
            "reasoning_content",
            "null",
            true,
        ),
        (
            Service::OpenAi,
            "gpt-5.5",
            bare(),
            "reasoning_content",
            "null",
            true,
        ),
        (
            Service::Local,
            "qwen3",
            bare(),
            "reasoning_content",
            r#""bare""#,
            false,
        ),
        (
            Service::BlockRun,
            "anthropic/claude-opus-5.5",
            claude(),
            "reasoning_details",
            "null",
            true,
        ),
    ] {
        let (body, lost) = sent(&conversation(vec![part.clone()]), &target(service, model));
        let found = body["messages"][1][member].to_string();
        assert_eq!(found, expected, "{service:?} {model} {part:?}");
        assert_eq!(
            lost.contains(&"thinking_state".to_owned()),
            is_lost,
            "{service:?} {model} {part:?}"
        );
    }
}

#[test]
fn refusals_of_bodies_name_the_member_and_the_fix() {
    for (body, param) in [
        (r#"{"messages":[]}"#, "model"),
        (r#"{"model":"m"}"#, "messages"),
        (
            r#"{"model":"m","messages":[{"role":"wizard","content":"x"}]}"#,
            "messages[0].role",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user"}]}"#,
            "messages[0].content",
        ),
        (
            r#"{"model":"m","messages":[{"role":"tool","content":"x"}]}"#,
            "messages[0].tool_call_id",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text"}]}]}"#,
            "messages[0].content[0].text",
        ),
        (
            r#"{"model":"m","messages":[{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f"}}]}]}"#,
            "messages[0].tool_calls[0].id",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{}}]}"#,
            "tools[0].function.name",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"x"}],"tool_choice":"maybe"}"#,
            "tool_choice",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema"}}"#,
            "response_format.json_schema",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":0}"#,
            "max_tokens",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"x"}],"n":0}"#,
            "n",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"x"}],"stream":"yes"}"#,
            "stream",
        ),
    ] {
        let refusal = decode_request(body.as_bytes()).unwrap_err();
        assert_eq!(refusal.param, param, "{body}: {refusal}");
        assert!(!refusal.message.is_empty());
    }
}

#[test]
fn several_answers_are_refused_where_there_is_one() {
    let mut request = foreign();
    request.n = Some(2);
    assert_eq!(
        encode_request(&request, &plain(Service::DeepSeek))
            .unwrap_err()
            .param,
        "n"
    );
}

#[test]
fn a_cache_mark_of_a_message_is_one_of_its_last_part() {
    let messages = r#"[
        {"role":"system","content":"s","cache_control":{"type":"ephemeral","ttl":"1h"}},
        {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"cache_control":{"type":"ephemeral"}},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}],"cache_control":{"type":"ephemeral"}},
        {"role":"tool","tool_call_id":"c","content":"r"},
        {"role":"user","content":[{"type":"text","text":"own","cache_control":{"type":"ephemeral","ttl":"1h"}}],"cache_control":{"type":"ephemeral"}}
    ]"#;
    let body = format!(r#"{{"model":"m","max_tokens":9,"messages":{messages}}}"#);
    let request = decode_request(body.as_bytes()).unwrap();
    let target = able(Service::Anthropic, "claude-opus-4-8", |_| ());
    let encoded = crate::anthropic::encode_request(&request, &target).unwrap();
    let sent: Value = serde_json::from_slice(&encoded.body).unwrap();
    let (short, long) = (
        json!({ "type": "ephemeral" }),
        json!({ "type": "ephemeral", "ttl": "1h" }),
    );
    assert_eq!(sent["system"][0]["cache_control"], long);
    let of = |message: usize, part: usize| &sent["messages"][message]["content"][part];
    assert!(of(0, 0).get("cache_control").is_none());
    assert_eq!(of(0, 1)["cache_control"], short);
    assert_eq!(of(1, 0)["cache_control"], short);
    assert!(of(2, 0).get("cache_control").is_none());
    assert_eq!(of(2, 1)["cache_control"], long, "{sent}");
}
