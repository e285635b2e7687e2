//! How a conversation is laid out in items.

use super::*;

#[test]
fn leading_system_becomes_instructions_and_later_system_stays_in_place() {
    let mut request = chat();
    let system = |text: &str| Message::new(Role::System, vec![Text::new(text).into()]);
    request.messages.insert(0, system("One."));
    request.messages.insert(1, system("Two."));
    request.messages.push(system("Three."));
    let (body, lost) = sent(&request);
    assert_eq!(body["instructions"], "One.\n\nTwo.");
    assert_eq!(body["input"][1]["role"], "system");
    assert_eq!(lost, [""; 0]);
}

/// An Anthropic conversation with a tool loop.
fn anthropic() -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Anthropic, "claude");
    let mark = || Some(CacheMark(raw(r#"{"type":"ephemeral"}"#)));
    request.messages = vec![
        Message::new(
            Role::System,
            vec![Part::Text(Text {
                cache: mark(),
                ..Text::new("Be kind.")
            })],
        ),
        Message::new(Role::User, vec![Text::new("look").into()]),
        Message::new(
            Role::Assistant,
            vec![
                Part::Reasoning(Reasoning {
                    text: "hm".into(),
                    summary: false,
                    opaque: Some(Opaque::AnthropicSignature("EqQB".into())),
                }),
                Text::new("Looking.").into(),
                Part::ToolCall(ToolCall::new("toolu_1", "shot", "")),
                Part::ToolCall(ToolCall::new("toolu_2", "shot", "{\"n\":2}")),
            ],
        ),
        Message::new(
            Role::User,
            vec![
                Text::new("before").into(),
                Part::ToolResult(ToolResult {
                    call_id: "toolu_1".into(),
                    parts: vec![
                        Text::new("seen").into(),
                        Part::Image(Image {
                            source: MediaSource::Base64 {
                                media_type: "image/png".into(),
                                data: "iVBORw0KGgo=".into(),
                            },
                            detail: None,
                            cache: None,
                        }),
                    ],
                    is_error: false,
                    custom: false,
                    cache: None,
                }),
                Part::ToolResult(ToolResult {
                    call_id: "toolu_2".into(),
                    parts: vec![Text::new("boom").into()],
                    is_error: true,
                    custom: false,
                    cache: None,
                }),
                Part::Document(Document {
                    source: DocumentSource::Text("Body".into()),
                    title: Some("Title".into()),
                    context: None,
                    citations: true,
                    cache: None,
                }),
                Part::SearchResult(SearchResult {
                    source: "https://example.com".into(),
                    title: "Found".into(),
                    content: vec![Text::new("Words")],
                    citations: false,
                    cache: None,
                }),
            ],
        ),
    ];
    request
}

#[test]
fn a_tool_loop_of_another_dialect_reads_as_reviewed() {
    let (body, lost) = sent(&anthropic());
    insta::assert_json_snapshot!("upstream_anthropic", body);
    assert_eq!(lost, ["cache_control", "thinking_state", "citations"]);
}

#[test]
fn outputs_come_first_and_together() {
    let (body, _) = sent(&anthropic());
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
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output",
            "message"
        ]
    );
    assert_eq!(body["input"][6]["content"][0]["text"], "before");
}

#[test]
fn a_block_nobody_knows_leaves_text_behind() {
    let mut request = anthropic();
    let Part::ToolResult(result) = &mut request.messages[3].parts[1] else {
        panic!("a tool result");
    };
    result.parts = vec![Part::Server(ServerBlock {
        dialect: Dialect::Anthropic,
        kind: "tool_reference".into(),
        raw: raw(r#"{"type":"tool_reference","tool_name":"f"}"#),
    })];
    let (body, lost) = sent(&request);
    assert_eq!(body["input"][4]["output"][0]["text"], "[tool_reference]");
    assert!(lost.contains(&"server_tools".to_owned()));
}

#[test]
fn a_call_without_its_result_gets_one_that_says_so() {
    let mut request = anthropic();
    request.messages[3].parts.remove(2);
    let (body, lost) = sent(&request);
    let outputs: Vec<&Value> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["type"] == "function_call_output")
        .collect();
    assert_eq!(outputs.len(), 2);
    assert_eq!(outputs[0]["call_id"], "toolu_2");
    assert!(lost.contains(&"missing_tool_result".to_owned()));
}

#[test]
fn openai_state_stands_right_before_its_call_whatever_the_dialect() {
    let mut request = anthropic();
    let item = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAA"}"#;
    request.messages[2].parts[0] = Part::Reasoning(Reasoning {
        opaque: Some(Opaque::OpenAiReasoning(raw(item))),
        ..Reasoning::default()
    });
    request.messages[2].parts.remove(1);
    let (body, lost) = sent(&request);
    assert_eq!(body["input"][1], super::json(item.as_bytes()));
    assert_eq!(body["input"][2]["type"], "function_call");
    assert!(!lost.contains(&"thinking_state".to_owned()));
}

#[test]
fn no_envelope_ever_reaches_an_upstream() {
    let sealed = crate::envelope::seal(&Opaque::AnthropicSignature("EqQB".into()), Some("hm"));
    for state in [sealed.as_str(), "bardo1.broken"] {
        let body = json!({"model":"m","input":[
            {"type":"reasoning","id":"rs_bardo_x_0","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":state},
            {"type":"message","role":"user","content":"go"}]});
        let request = decode_request(body.to_string().as_bytes()).unwrap();
        let encoded = encode_request(&request, &target()).unwrap();
        assert!(!String::from_utf8(encoded.body).unwrap().contains("bardo1."));
        assert_eq!(encoded.degraded[0].feature, "thinking_state");
    }
}

#[test]
fn ids_that_the_gateway_made_do_not_reach_an_upstream() {
    let body = |id: &str| {
        json!({"model":"m","input":[
            {"type":"function_call","id":id,"call_id":"c","name":"f","arguments":"{}"},
            {"type":"function_call_output","call_id":"c","output":"ok"}]})
        .to_string()
    };
    let item = |body: &str| {
        let request = decode_request(body.as_bytes()).unwrap();
        sent(&request).0["input"][0].clone()
    };
    let (own, theirs) = (body("fc_bardo_seed_0"), body("fc_0a1b"));
    assert_eq!(item(&own).get("id"), None);
    assert_eq!(item(&theirs)["id"], "fc_0a1b");
    assert!(holds_own_marks(own.as_bytes()));
    assert!(holds_own_marks(br#"{"encrypted_content":"bardo1.e30"}"#));
    assert!(!holds_own_marks(theirs.as_bytes()));
}

#[test]
fn custom_calls_and_their_results_stay_free_text() {
    let mut request = chat();
    request.messages.push(Message::new(
        Role::Assistant,
        vec![Part::ToolCall(ToolCall {
            input: ToolInput::Text("select 1".into()),
            ..ToolCall::new("call_1", "sql", "")
        })],
    ));
    request.messages.push(Message::new(
        Role::User,
        vec![Part::ToolResult(ToolResult {
            call_id: "call_1".into(),
            parts: vec![Text::new("1").into()],
            is_error: false,
            custom: true,
            cache: None,
        })],
    ));
    let (body, _) = sent(&request);
    assert_eq!(
        body["input"][1],
        json!({"type":"custom_tool_call","call_id":"call_1","name":"sql","input":"select 1"})
    );
    assert_eq!(body["input"][2]["type"], "custom_tool_call_output");
}

#[test]
fn what_cannot_be_honored_is_refused() {
    let mut several = chat();
    several.n = Some(2);
    assert_eq!(encode_request(&several, &target()).unwrap_err().param, "n");
    let mut filed = anthropic();
    filed.messages[1].parts.push(Part::Image(Image {
        source: MediaSource::File("file_011".into()),
        detail: None,
        cache: None,
    }));
    assert_eq!(
        encode_request(&filed, &target()).unwrap_err().param,
        "messages[1]"
    );
}

#[test]
fn long_ids_fit_and_still_pair() {
    let id = "x".repeat(80);
    let mut request = chat();
    request.messages.push(Message::new(
        Role::Assistant,
        vec![Part::ToolCall(ToolCall::new(id.clone(), "f", "{}"))],
    ));
    request.messages.push(Message::new(
        Role::User,
        vec![Part::ToolResult(ToolResult {
            call_id: id,
            parts: Vec::new(),
            is_error: false,
            custom: false,
            cache: None,
        })],
    ));
    let (body, _) = sent(&request);
    assert_eq!(body["input"][1]["call_id"], body["input"][2]["call_id"]);
    assert!(body["input"][1]["call_id"].as_str().unwrap().len() <= 64);
}
