//! What a caller asks.

use bardo_types::chat::{Opaque, Part, Role, ToolChoice};

use super::*;

fn decoded(name: &str) -> ChatRequest {
    decode_request(&read(&format!("requests/{name}.json"))).unwrap()
}

#[test]
fn requests_decode_as_reviewed() {
    for name in ["plain", "codex", "everything"] {
        insta::assert_debug_snapshot!(format!("request_{name}"), decoded(name));
    }
}

#[test]
fn a_request_of_this_dialect_survives_the_round_trip() {
    for name in ["plain", "codex", "everything"] {
        let request = decoded(name);
        let encoded = encode_request(&request, &target()).unwrap();
        assert_eq!(encoded.degraded, [], "{name}");
        let again = decode_request(&encoded.body).unwrap();
        assert_eq!(sorted(again), sorted(request), "{name}");
        insta::assert_json_snapshot!(format!("upstream_{name}"), json(&encoded.body));
    }
}

/// Members without a meaning here have no order.
fn sorted(mut request: ChatRequest) -> ChatRequest {
    request.extra.sort_by(|a, b| a.0.cmp(&b.0));
    request
}

#[test]
fn codex_keeps_its_two_developer_messages_and_its_state() {
    let request = decoded("codex");
    let developers = request.messages.iter().filter(|message| message.developer);
    assert_eq!(developers.count(), 2);
    assert_eq!(request.messages[0].text(), "You are Codex.");
    let turn = request
        .messages
        .iter()
        .find(|message| message.role == Role::Assistant)
        .unwrap();
    assert!(matches!(
        &turn.parts[0],
        Part::Reasoning(reasoning) if matches!(&reasoning.opaque, Some(Opaque::OpenAiReasoning(raw)) if raw.as_str().contains("gAAAAABo-1"))
    ));
    assert!(matches!(&turn.parts[1], Part::ToolCall(call) if call.id == "call_1"));
    assert!(request.reasoning.encrypted);
    assert!(request.is_custom_tool("apply_patch"));
    let body = json(&encode_request(&request, &target()).unwrap().body);
    let kinds: Vec<&str> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "message",
            "message",
            "message",
            "message",
            "reasoning",
            "function_call",
            "function_call_output",
            "reasoning",
            "custom_tool_call",
            "custom_tool_call_output",
            "message",
            "message"
        ]
    );
}

#[test]
fn tool_choices_are_understood() {
    for (text, expected) in [
        (r#""auto""#, ToolChoice::Auto),
        (r#""none""#, ToolChoice::None),
        (r#""required""#, ToolChoice::Required),
        (
            r#"{"type":"function","name":"f"}"#,
            ToolChoice::Named("f".into()),
        ),
        (
            r#"{"type":"custom","name":"c"}"#,
            ToolChoice::Named("c".into()),
        ),
        (
            r#"{"type":"web_search"}"#,
            ToolChoice::Named("web_search".into()),
        ),
        (
            r#"{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"},{"type":"web_search"}]}"#,
            ToolChoice::Allowed {
                required: false,
                names: vec!["f".into(), "web_search".into()],
            },
        ),
    ] {
        let body = format!(
            r#"{{"model":"m","input":"x","tools":[{{"type":"function","name":"f"}},{{"type":"custom","name":"c"}},{{"type":"web_search"}}],"tool_choice":{text}}}"#
        );
        let request = decode_request(body.as_bytes()).unwrap();
        assert_eq!(request.tool_choice, Some(expected), "{text}");
        let sent = json(&encode_request(&request, &target()).unwrap().body);
        assert_eq!(sent["tool_choice"], json(text.as_bytes()), "{text}");
        assert_eq!(
            request.tools[2].name(),
            Some("web_search"),
            "a forced tool can be found by its name"
        );
    }
}

#[test]
fn a_refused_body_names_the_field_and_the_fix() {
    for (body, param) in [
        (r#"{"input":"x"}"#, "model"),
        (r#"{"model":1,"input":"x"}"#, "model"),
        (r#"{"model":"m","input":3}"#, "input"),
        (r#"{"model":"m","input":["x"]}"#, "input[0]"),
        (
            r#"{"model":"m","input":[{"role":"user","content":5}]}"#,
            "input[0].content",
        ),
        (
            r#"{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":5}]}]}"#,
            "input[0].content[1].text",
        ),
        (
            r#"{"model":"m","input":[{"role":"tool","content":"x"}]}"#,
            "input[0].role",
        ),
        (
            r#"{"model":"m","input":[{"role":"user"}]}"#,
            "input[0].content",
        ),
        (
            r#"{"model":"m","input":[{"role":"user","content":[{"type":"input_image"}]}]}"#,
            "input[0].content[0].image_url",
        ),
        (
            r#"{"model":"m","input":[{"type":"function_call","name":"f"}]}"#,
            "input[0].call_id",
        ),
        (
            r#"{"model":"m","input":[{"type":"function_call_output","call_id":"c"}]}"#,
            "input[0].output",
        ),
        (
            r#"{"model":"m","input":"x","tools":[{"name":"f"}]}"#,
            "tools[0].type",
        ),
        (
            r#"{"model":"m","input":"x","tools":[{"type":"function","function":{"name":"f"}}]}"#,
            "tools[0].name",
        ),
        (
            r#"{"model":"m","input":"x","tool_choice":"always"}"#,
            "tool_choice",
        ),
        (
            r#"{"model":"m","input":"x","temperature":"hot"}"#,
            "temperature",
        ),
        (
            r#"{"model":"m","input":"x","max_output_tokens":-1}"#,
            "max_output_tokens",
        ),
        (r#"{"model":"m","input":"x","stream":"yes"}"#, "stream"),
        (
            r#"{"model":"m","input":"x","text":{"verbosity":"loud"}}"#,
            "text.verbosity",
        ),
        (
            r#"{"model":"m","input":"x","text":{"format":{"type":"json_schema"}}}"#,
            "text.format.schema",
        ),
        (r#"{"model":"m""#, ""),
        ("[]", ""),
    ] {
        let refused = decode_request(body.as_bytes()).unwrap_err();
        assert_eq!(refused.param, param, "{body}: {refused}");
        assert!(
            refused.message.contains(param.rsplit('.').next().unwrap()),
            "{refused}"
        );
    }
}

#[test]
fn an_effort_newer_than_our_table_reaches_the_same_dialect() {
    let body = br#"{"model":"m","input":"x","reasoning":{"effort":"ultra","summary":"auto"}}"#;
    let request = decode_request(body).unwrap();
    assert_eq!(request.reasoning.effort, None);
    let sent = json(&encode_request(&request, &target()).unwrap().body);
    assert_eq!(
        sent["reasoning"],
        serde_json::json!({"summary":"auto","effort":"ultra"})
    );
}

#[test]
fn the_order_of_an_items_members_does_not_matter() {
    let straight = br#"{"model":"m","input":[{"type":"message","role":"user","content":"a"},{"type":"function_call_output","call_id":"c","output":"o"}]}"#;
    let turned = br#"{"input":[{"content":"a","role":"user","type":"message"},{"output":"o","call_id":"c","type":"function_call_output"}],"model":"m"}"#;
    assert_eq!(decode_request(straight), decode_request(turned));
}

/// A request with two namespaces that share a function's name, and a turn that called one.
const NAMESPACED: &str = r#"{"model":"m","input":[
    {"type":"function_call","id":"fc_1","call_id":"c1","name":"find","namespace":"crm","arguments":"{}"},
    {"type":"function_call_output","call_id":"c1","output":"ok"}],
  "tools":[
    {"type":"namespace","name":"crm","description":"Customers","tools":[{"type":"function","name":"find","parameters":{"type":"object"}},{"type":"function","name":"add","defer_loading":true,"parameters":{"type":"object"}}]},
    {"type":"namespace","name":"mcp__web__","description":"The web","tools":[{"type":"function","name":"find","parameters":{"type":"object"}}]}]}"#;

#[test]
fn namespaces_are_flat_for_others_and_whole_for_their_own_dialect() {
    let request = decode_request(NAMESPACED.as_bytes()).unwrap();
    let names: Vec<&str> = request.tools.iter().filter_map(Tool::name).collect();
    assert_eq!(names, ["crm__find", "crm__add", "mcp__web__find"]);
    assert!(
        matches!(&request.messages[0].parts[0], Part::ToolCall(call) if call.name == "crm__find")
    );
    let encoded = encode_request(&request, &target()).unwrap();
    assert_eq!(encoded.renamed_tools, []);
    let (sent, asked) = (json(&encoded.body), json(NAMESPACED.as_bytes()));
    assert_eq!(sent["tools"], asked["tools"]);
    assert_eq!(sent["input"], asked["input"]);
}

#[test]
fn a_called_function_goes_back_into_its_namespace() {
    let request = decode_request(NAMESPACED.as_bytes()).unwrap();
    let context = ReplyContext {
        request: Arc::new(request),
        ..reply_context()
    };
    let called = ["crm__find", "mcp__web__find", "elsewhere"];
    let response = ChatResponse {
        choices: vec![bardo_types::chat::Choice {
            parts: called
                .map(|name| Part::ToolCall(bardo_types::chat::ToolCall::new("c", name, "{}")))
                .to_vec(),
            ..Default::default()
        }],
        ..ChatResponse::default()
    };
    let reply = json(&encode_response(&response, &context));
    let back: Vec<(Option<&str>, Option<&str>)> = reply["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["namespace"].as_str(), item["name"].as_str()))
        .collect();
    assert_eq!(
        back,
        [
            (Some("crm"), Some("find")),
            (Some("mcp__web__"), Some("find")),
            (None, Some("elsewhere"))
        ]
    );
    assert_eq!(reply["tools"], json(NAMESPACED.as_bytes())["tools"]);
    // And an upstream of this dialect names both parts.
    let whole = br#"{"status":"completed","output":[{"type":"function_call","call_id":"c","name":"find","namespace":"crm","arguments":"{}"}]}"#;
    let answer = decode_response(whole, &decode_context()).unwrap();
    assert!(
        matches!(&answer.choices[0].parts[0], Part::ToolCall(call) if call.name == "crm__find")
    );
}

#[test]
fn a_flat_namespace_is_no_loss() {
    let request = decode_request(NAMESPACED.as_bytes()).unwrap();
    for dialect in [Dialect::Chat, Dialect::Anthropic, Dialect::Gemini] {
        let encoded = crate::table::encode_request(dialect, &request, &target()).unwrap();
        let names = |lost: &bardo_types::Degradation| lost.feature.clone();
        let lost: Vec<_> = encoded.degraded.iter().map(names).collect();
        assert!(
            !lost.iter().any(|name| name == "namespace"),
            "{dialect:?}: {lost:?}"
        );
        assert!(
            lost.iter().any(|name| name == "defer_loading"),
            "{dialect:?}: {lost:?}"
        );
    }
}

#[test]
fn a_choice_within_a_namespace_is_found() {
    let body = NAMESPACED.replacen(
        '{',
        r#"{"tool_choice":{"type":"function","name":"add"},"#,
        1,
    );
    let request = decode_request(body.as_bytes()).unwrap();
    assert_eq!(
        request.tool_choice,
        Some(ToolChoice::Named("crm__add".into()))
    );
    let sent = json(&encode_request(&request, &target()).unwrap().body);
    assert_eq!(sent["tool_choice"]["name"], "add");
}

/// Codex sends the tools of its newest models in an item of its own.
#[test]
fn tools_that_come_in_the_conversation_are_tools() {
    let body = br#"{"model":"m","tool_choice":{"type":"custom","name":"exec"},"input":[
    {"type":"additional_tools","id":"at_1","role":"developer","tools":[
        {"type":"namespace","name":"functions","description":"","tools":[
            {"type":"custom","name":"exec","description":"Run"},
            {"type":"function","name":"wait","parameters":{"type":"object"}}]},
        {"type":"namespace","name":"clock","description":"Time","tools":[
            {"type":"function","name":"sleep","parameters":{"type":"object"}}]}]},
    {"role":"user","content":"Hi"},
    {"type":"custom_tool_call","call_id":"c1","name":"exec","namespace":"functions","input":"1"},
    {"type":"custom_tool_call_output","call_id":"c1","output":"2"}],
    "tools":[{"type":"function","name":"first","parameters":{"type":"object"}}]}"#;
    let request = decode_request(body).unwrap();
    let names: Vec<_> = request
        .tools
        .iter()
        .filter_map(|tool| tool.name())
        .collect();
    assert_eq!(names, ["first", "exec", "wait", "clock__sleep"]);
    assert!(request.is_custom_tool("exec"));
    assert_eq!(request.tool_choice, Some(ToolChoice::Named("exec".into())));
    assert_eq!(request.messages.len(), 3, "the item itself says nothing");
    assert!(matches!(&request.messages[1].parts[0], Part::ToolCall(call) if call.name == "exec"));
    let encoded = encode_request(&request, &target()).unwrap();
    assert_eq!(encoded.degraded, []);
    let tools = json(&encoded.body)["tools"].clone();
    let kinds: Vec<_> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["type"].clone())
        .collect();
    assert_eq!(kinds, ["function", "custom", "function", "namespace"]);
    let broken =
        br#"{"model":"m","input":[{"type":"additional_tools","tools":[{"type":"function"}]}]}"#;
    assert_eq!(
        decode_request(broken).unwrap_err().param,
        "input[0].tools[0].name"
    );
}
