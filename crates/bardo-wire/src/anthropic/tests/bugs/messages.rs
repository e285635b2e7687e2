use super::*;

#[test]
fn results_come_first_in_the_next_user_message() {
    let mut request = hello();
    request.messages.extend([
        Message::new(
            Role::Assistant,
            vec![called("a", "f", "{}"), called("b", "f", "{}")],
        ),
        Message::new(
            Role::User,
            vec![
                Text::new("one").into(),
                result("a", "A"),
                Text::new("two").into(),
            ],
        ),
        Message::new(Role::User, vec![result("b", "B")]),
        say(Role::User, "three"),
    ]);
    let (body, lost) = encoded(&request, newest());
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
    assert_eq!(
        body["messages"][2]["content"],
        json!([
            {"type": "tool_result", "tool_use_id": "a", "content": "A"},
            {"type": "tool_result", "tool_use_id": "b", "content": "B"},
            {"type": "text", "text": "one"},
            {"type": "text", "text": "two"},
            {"type": "text", "text": "three", "cache_control": {"type": "ephemeral"}},
        ])
    );
    assert_eq!(lost, [""; 0]);
}

#[test]
fn calls_without_results_are_answered_with_an_error() {
    let mut request = hello();
    request.messages.extend([
        Message::new(
            Role::Assistant,
            vec![called("a", "f", "{}"), called("b", "f", "{}")],
        ),
        Message::new(Role::User, vec![result("b", "B"), result("ghost", "?")]),
        Message::new(Role::Assistant, vec![called("c", "f", "{}")]),
    ]);
    let (body, lost) = encoded(&request, newest());
    let content = &body["messages"][2]["content"];
    assert_eq!(content[0]["tool_use_id"], "b");
    assert_eq!(
        (&content[1]["tool_use_id"], &content[1]["is_error"]),
        (&json!("a"), &json!(true))
    );
    assert!(content[2]["text"].as_str().unwrap().contains("`ghost`"));
    assert_eq!(content[3]["text"], "?");
    let last = &body["messages"][4];
    assert_eq!(last["role"], "user");
    assert_eq!(last["content"][0]["tool_use_id"], "c");
    assert_eq!(lost, ["tool_result"]);
}

#[test]
fn schemas_become_valid() {
    for (schema, expected) in [
        (None, json!({"type": "object", "properties": {}})),
        (Some("{}"), json!({"type": "object", "properties": {}})),
        (Some("null"), json!({"type": "object", "properties": {}})),
        (
            Some(r#"{"properties":{"x":{"type":"string"}}}"#),
            json!({"type": "object", "properties": {"x": {"type": "string"}}}),
        ),
        (
            Some(
                r#"{"type":"object","properties":{"n":{"minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false},"exclusiveMinimum":{"type":"boolean"}}}"#,
            ),
            json!({"type": "object", "properties": {"n": {"exclusiveMinimum": 1, "maximum": 9}, "exclusiveMinimum": {"type": "boolean"}}}),
        ),
        (
            Some(
                r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"array","items":[{"type":"any"}]},"b":{"type":"string","required":true}}}"#,
            ),
            json!({"type": "object", "properties": {"a": {"type": "array", "prefixItems": [{}]}, "b": {"type": "string"}}}),
        ),
        (
            Some(
                r#"{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"properties":{"b":{}}}]}"#,
            ),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}),
        ),
    ] {
        let mut request = hello();
        request.tools = vec![function("f", schema)];
        let before = request.clone();
        let (body, _) = encoded(&request, newest());
        assert_eq!(body["tools"][0]["input_schema"], expected, "{schema:?}");
        assert_eq!(request, before, "the caller's schema is untouched");
    }
}

#[test]
fn a_schema_for_the_answer_is_flat() {
    let mut request = hello();
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#;
    request.output = OutputFormat::JsonSchema {
        name: Some("answer".into()),
        description: None,
        schema: RawJson::parse(schema).unwrap(),
        strict: Some(true),
    };
    let encoded = encode_request(&request, &target(newest())).unwrap();
    let format =
        format!(r#""output_config":{{"format":{{"type":"json_schema","schema":{schema}}}}}"#);
    assert!(
        String::from_utf8(encoded.body.clone())
            .unwrap()
            .contains(&format)
    );
    assert_eq!(features(&encoded), [""; 0]);
    let body = json!({"model":"m","max_tokens":1,"messages":[],"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}});
    let request = decode_request(body.to_string().as_bytes()).unwrap();
    assert!(
        matches!(request.output, OutputFormat::JsonSchema { schema, .. } if schema.as_str() == r#"{"type":"object"}"#)
    );
}

#[test]
fn cache_marks_stay_on_every_kind_of_block() {
    let mark = || {
        Some(CacheMark(
            RawJson::parse(r#"{"type":"ephemeral","ttl":"1h"}"#).unwrap(),
        ))
    };
    let mut request = ChatRequest {
        dialect: Dialect::Anthropic,
        ..hello()
    };
    request.messages.extend([
        Message::new(
            Role::Assistant,
            vec![Part::ToolCall(ToolCall {
                cache: mark(),
                ..ToolCall::new("a", "f", "{}")
            })],
        ),
        Message::new(
            Role::User,
            vec![
                Part::ToolResult(ToolResult {
                    call_id: "a".into(),
                    parts: vec![Text::new("x").into()],
                    is_error: false,
                    custom: false,
                    cache: mark(),
                }),
                Part::Image(Image {
                    source: MediaSource::Url("https://example.org/a.png".into()),
                    detail: None,
                    cache: mark(),
                }),
            ],
        ),
    ]);
    request.tools = vec![Tool::Function {
        name: "f".into(),
        description: None,
        schema: None,
        strict: None,
        cache: mark(),
        extra: Vec::new(),
    }];
    let (body, lost) = encoded(&request, newest());
    let marked = json!({"type": "ephemeral", "ttl": "1h"});
    for place in [
        "/messages/1/content/0",
        "/messages/2/content/0",
        "/messages/2/content/1",
        "/tools/0",
    ] {
        assert_eq!(
            body.pointer(place).unwrap()["cache_control"],
            marked,
            "{place}"
        );
    }
    assert_eq!(lost, [""; 0]);
}

/// Paths of the blocks that carry a mark.
fn marks(body: &Value) -> Vec<String> {
    fn walk(value: &Value, path: String, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                if members.contains_key("cache_control") {
                    found.push(path.clone());
                }
                for (name, inner) in members {
                    walk(inner, format!("{path}/{name}"), found);
                }
            }
            Value::Array(items) => {
                for (index, inner) in items.iter().enumerate() {
                    walk(inner, format!("{path}/{index}"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(body, String::new(), &mut found);
    found
}

#[test]
fn breakpoints_are_set_once_and_stay_where_they_are() {
    let mut request = hello();
    request.messages.insert(0, say(Role::System, "A"));
    request.messages.insert(1, say(Role::System, "B"));
    request.tools = vec![function("f", None), function("g", None)];
    let (first, _) = encoded(&request, newest());
    assert_eq!(
        marks(&first),
        ["/system/1", "/messages/0/content/0", "/tools/1"]
    );
    request
        .messages
        .extend([say(Role::Assistant, "Hi"), say(Role::User, "More")]);
    let (second, _) = encoded(&request, newest());
    assert_eq!(
        marks(&second),
        [
            "/system/1",
            "/messages/0/content/0",
            "/messages/2/content/0",
            "/tools/1"
        ]
    );
    assert_eq!(first["messages"][0], second["messages"][0]);
    let none = Capabilities {
        cache_marks: false,
        ..newest()
    };
    assert_eq!(marks(&encoded(&request, none).0), [""; 0]);
    if let Part::Text(text) = &mut request.messages[2].parts[0] {
        text.cache = Some(CacheMark(RawJson::parse(r#"{"mode":"explicit"}"#).unwrap()));
    }
    let (own, _) = encoded(&request, newest());
    assert_eq!(marks(&own), ["/messages/0/content/0"]);
    assert_eq!(
        own["messages"][0]["content"][0]["cache_control"],
        json!({"type": "ephemeral"})
    );
}

#[test]
fn server_tools_and_blocks_go_back_only_to_their_maker() {
    let block = |dialect, kind: &str| {
        Part::Server(ServerBlock {
            dialect,
            kind: kind.into(),
            raw: RawJson::parse(format!(r#"{{"type":"{kind}","id":"srv_1","x":1.0}}"#)).unwrap(),
        })
    };
    let tool = |dialect, kind: &str| Tool::Server {
        dialect,
        kind: kind.into(),
        name: None,
        raw: RawJson::parse(format!(r#"{{"type":"{kind}","max_uses":5}}"#)).unwrap(),
    };
    let mut request = hello();
    request.messages.extend([
        Message::new(
            Role::Assistant,
            vec![
                block(Dialect::Anthropic, "server_tool_use"),
                block(Dialect::Responses, "web_search_call"),
                Text::new("x").into(),
            ],
        ),
        say(Role::User, "Go on"),
    ]);
    request.tools = vec![
        tool(Dialect::Anthropic, "web_search_20260318"),
        tool(Dialect::Responses, "code_interpreter"),
    ];
    let encoded = encode_request(&request, &target(newest())).unwrap();
    let text = String::from_utf8(encoded.body.clone()).unwrap();
    assert!(text.contains(r#"{"type":"server_tool_use","id":"srv_1","x":1.0}"#));
    assert!(text.contains(r#"{"type":"web_search_20260318","max_uses":5}"#));
    assert!(!text.contains("web_search_call") && !text.contains("code_interpreter"));
    assert_eq!(features(&encoded), ["web_search_call", "code_interpreter"]);
}

#[test]
fn a_document_keeps_its_title_where_text_hides_in_base64() {
    let mut request = hello();
    request.messages[0].parts.push(Part::Document(Document {
        source: DocumentSource::Media(MediaSource::Base64 {
            media_type: "text/markdown".into(),
            data: "IyBIaQ==".into(),
        }),
        title: Some("notes.md".into()),
        context: None,
        citations: false,
        cache: None,
    }));
    let (body, _) = encoded(&request, older());
    let block = &body["messages"][0]["content"][1];
    assert_eq!(block["source"]["data"], "# Hi");
    assert_eq!(block["title"], "notes.md");
}
