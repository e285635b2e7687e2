use super::*;

#[test]
fn conversation_rows() {
    check(vec![
        row(
            "system blocks",
            |request| {
                request.messages.insert(0, say(Role::System, "A"));
                let mut developer = say(Role::System, "B");
                developer.developer = true;
                request.messages.insert(1, developer);
            },
            "/system",
            json!([{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]),
            &[],
        ),
        on(
            newest,
            row(
                "later system, native",
                |request| request.messages.push(say(Role::System, "S")),
                "/messages/1",
                json!({"role": "system", "content": [{"type": "text", "text": "S"}]}),
                &[],
            ),
        ),
        on(
            newest,
            row(
                "later system, position not legal",
                |request| {
                    request.messages.extend([
                        say(Role::Assistant, "Hi"),
                        say(Role::System, "S"),
                        say(Role::User, "U"),
                    ]);
                },
                "/messages/2/content",
                json!([{"type": "text", "text": "<system>\nS\n</system>"}, {"type": "text", "text": "U"}]),
                &["mid_system"],
            ),
        ),
        row(
            "later system, model without it",
            |request| request.messages.push(say(Role::System, "S")),
            "/messages/0/content/1/text",
            json!("<system>\nS\n</system>"),
            &["mid_system"],
        ),
        on(
            newest,
            row(
                "message-level output_config",
                |request| {
                    request.messages.push(Message {
                        output_config: Some(raw(r#"{"effort":"low"}"#)),
                        ..say(Role::System, "S")
                    });
                },
                "/messages/1/output_config",
                json!({"effort": "low"}),
                &[],
            ),
        ),
        on(
            || Capabilities {
                mid_system: false,
                ..newest()
            },
            row(
                "message-level output_config, model without it",
                |request| {
                    request.messages.push(Message {
                        output_config: Some(raw(r#"{"effort":"low"}"#)),
                        ..say(Role::System, "S")
                    });
                },
                "/output_config/effort",
                json!("low"),
                &["mid_system"],
            ),
        ),
        row(
            "user text, same roles merged, empty blocks dropped",
            |request| {
                request
                    .messages
                    .extend([say(Role::User, ""), say(Role::User, "B")]);
            },
            "/messages",
            json!([{"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "text", "text": "B"}]}]),
            &[],
        ),
        row(
            "system alone",
            |request| request.messages = vec![say(Role::System, "S")],
            "/messages/0",
            json!({"role": "user", "content": [{"type": "text", "text": "S"}]}),
            &["system_role"],
        ),
        row(
            "name",
            |request| request.messages[0].name = Some("Ann".into()),
            "/messages/0/role",
            json!("user"),
            &["name"],
        ),
        on(
            newest,
            row(
                "prefill, model without it",
                |request| {
                    request
                        .messages
                        .push(say(Role::Assistant, "The answer is "))
                },
                "/messages/2/role",
                json!("user"),
                &["prefill"],
            ),
        ),
        row(
            "prefill",
            |request| {
                request
                    .messages
                    .push(say(Role::Assistant, "The answer is "))
            },
            "/messages/1/content/0/text",
            json!("The answer is"),
            &[],
        ),
        row(
            "refusal handed back",
            |request| {
                request.messages.extend([
                    Message::new(Role::Assistant, vec![Part::Refusal("No.".into())]),
                    say(Role::User, "Why?"),
                ]);
            },
            "/messages/1/content/0/text",
            json!("No."),
            &[],
        ),
    ]);
}

#[test]
fn media_rows() {
    check(vec![
        row(
            "image, base64",
            |request| {
                with_part(
                    request,
                    image(MediaSource::Base64 {
                        media_type: "image/jpg".into(),
                        data: "AA==".into(),
                    }),
                );
            },
            "/messages/0/content/0",
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AA=="}}),
            &[],
        ),
        row(
            "image, url with detail",
            |request| {
                with_part(
                    request,
                    Part::Image(Image {
                        source: MediaSource::Url("https://a/b.png".into()),
                        detail: Some("high".into()),
                        cache: None,
                    }),
                );
            },
            "/messages/0/content/0/source",
            json!({"type": "url", "url": "https://a/b.png"}),
            &["image_detail"],
        ),
        row(
            "document, pdf",
            |request| {
                with_part(
                    request,
                    document(DocumentSource::Media(MediaSource::Base64 {
                        media_type: "application/pdf".into(),
                        data: "JVBE".into(),
                    })),
                );
            },
            "/messages/0/content/0",
            json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}, "title": "T", "citations": {"enabled": true}}),
            &[],
        ),
        row(
            "document, blocks",
            |request| {
                with_part(
                    request,
                    document(DocumentSource::Parts(vec![Text::new("x").into()])),
                );
            },
            "/messages/0/content/0/source",
            json!({"type": "content", "content": [{"type": "text", "text": "x"}]}),
            &[],
        ),
        row(
            "citations and a schema",
            |request| {
                with_part(request, document(DocumentSource::Text("x".into())));
                request.output = OutputFormat::JsonSchema {
                    name: None,
                    description: None,
                    schema: raw(r#"{"type":"object","properties":{}}"#),
                    strict: None,
                };
            },
            "/messages/0/content/0/citations",
            Value::Null,
            &["citations"],
        ),
        row(
            "search result",
            |request| {
                with_part(
                    request,
                    Part::SearchResult(SearchResult {
                        source: "s".into(),
                        title: "T".into(),
                        content: vec![Text::new("x")],
                        citations: false,
                        cache: None,
                    }),
                );
            },
            "/messages/0/content/0",
            json!({"type": "search_result", "source": "s", "title": "T", "content": [{"type": "text", "text": "x"}]}),
            &[],
        ),
        row(
            "citations of user text",
            |request| {
                with_part(
                    request,
                    Text {
                        citations: vec![Citation {
                            source: CitationSource::Other,
                            cited_text: None,
                            raw: Some((Dialect::Anthropic, raw(r#"{"type":"char_location"}"#))),
                        }],
                        ..Text::new("x")
                    }
                    .into(),
                );
            },
            "/messages/0/content/0/citations",
            Value::Null,
            &["citations"],
        ),
        row(
            "media in the model's own turn",
            |request| {
                request.messages.extend([
                    Message::new(
                        Role::Assistant,
                        vec![
                            document(DocumentSource::Text("words".into())),
                            image(MediaSource::Url("https://a/b.png".into())),
                        ],
                    ),
                    say(Role::User, "Go on"),
                ]);
            },
            "/messages/1/content",
            json!([{"type": "text", "text": "words"}]),
            &["assistant_media"],
        ),
        row(
            "tool result with an image, is_error",
            |request| {
                request.messages.extend([
                    Message::new(Role::Assistant, vec![called("a", "f", "{}")]),
                    Message::new(
                        Role::User,
                        vec![Part::ToolResult(ToolResult {
                            call_id: "a".into(),
                            parts: vec![
                                Text::new("x").into(),
                                image(MediaSource::Url("https://a/b.png".into())),
                            ],
                            is_error: true,
                            custom: false,
                            cache: None,
                        })],
                    ),
                ]);
            },
            "/messages/2/content/0",
            json!({"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}, {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}], "is_error": true}),
            &[],
        ),
    ]);
}

#[test]
fn tool_rows() {
    check(vec![
        row(
            "choice auto",
            |r| with_tool(r, ToolChoice::Auto),
            "/tool_choice",
            json!({"type": "auto"}),
            &[],
        ),
        row(
            "choice none",
            |r| with_tool(r, ToolChoice::None),
            "/tool_choice",
            json!({"type": "none"}),
            &[],
        ),
        row(
            "choice required",
            |r| with_tool(r, ToolChoice::Required),
            "/tool_choice",
            json!({"type": "any"}),
            &[],
        ),
        row(
            "choice named",
            |r| with_tool(r, ToolChoice::Named("f".into())),
            "/tool_choice",
            json!({"type": "tool", "name": "f"}),
            &[],
        ),
        row(
            "choice limited",
            |r| {
                with_tool(
                    r,
                    ToolChoice::Allowed {
                        required: true,
                        names: vec!["g".into()],
                    },
                )
            },
            "/tools/0/name",
            json!("g"),
            &[],
        ),
        row(
            "choice without tools",
            |r| r.tool_choice = Some(ToolChoice::Auto),
            "/tool_choice",
            Value::Null,
            &[],
        ),
        on(
            newest,
            row(
                "choice forced where it is refused",
                |r| {
                    r.messages.insert(0, say(Role::System, "S"));
                    with_tool(r, ToolChoice::Named("f".into()));
                },
                "/system/1/text",
                json!("You must call the tool `f` now, and answer in no other way."),
                &["forced_tool_choice"],
            ),
        ),
        row(
            "choice forced while thinking by budget",
            |r| {
                with_tool(r, ToolChoice::Required);
                r.reasoning.mode = Some(ThinkingMode::Budget(2048));
            },
            "/tool_choice",
            json!({"type": "auto"}),
            &["forced_tool_choice"],
        ),
        row(
            "parallel off needs a choice",
            |r| {
                r.tools = vec![function("f", None)];
                r.parallel_tool_calls = Some(false);
            },
            "/tool_choice",
            json!({"type": "auto", "disable_parallel_tool_use": true}),
            &[],
        ),
        row(
            "strict",
            |r| {
                r.tools = vec![Tool::Function {
                    name: "f".into(),
                    description: Some("d".into()),
                    schema: None,
                    strict: Some(true),
                    cache: None,
                    extra: Vec::new(),
                }];
            },
            "/tools/0",
            json!({"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}, "strict": true}),
            &[],
        ),
        row(
            "custom tool is wrapped",
            |r| {
                r.tools = vec![Tool::Custom {
                    name: "sql".into(),
                    description: None,
                    format: Some(raw(r#"{"type":"grammar"}"#)),
                }];
            },
            "/tools/0/input_schema/required",
            json!(["input"]),
            &["custom_tool_format"],
        ),
        row(
            "custom call is wrapped",
            |r| {
                r.messages.extend([
                    Message::new(
                        Role::Assistant,
                        vec![Part::ToolCall(ToolCall {
                            input: ToolInput::Text("select 1".into()),
                            ..ToolCall::new("a", "sql", "")
                        })],
                    ),
                    Message::new(Role::User, vec![result("a", "1")]),
                ]);
            },
            "/messages/1/content/0/input",
            json!({"input": "select 1"}),
            &[],
        ),
        row(
            "call whose arguments are cut",
            |r| {
                r.messages.extend([
                    Message::new(Role::Assistant, vec![called("a", "f", "{\"x\":")]),
                    Message::new(Role::User, vec![result("a", "1")]),
                ]);
            },
            "/messages/1/content/0/input",
            json!({"input": "{\"x\":"}),
            &["tool_input"],
        ),
    ]);
}

#[test]
fn refusals_name_what_cannot_be_had() {
    let refused = |param: &str, capabilities: Capabilities, change: &dyn Fn(&mut ChatRequest)| {
        let mut request = hello();
        change(&mut request);
        let refusal = encode_request(&request, &target(capabilities)).unwrap_err();
        assert_eq!(refusal.param, param);
        assert!(refusal.message.contains(param));
    };
    refused("n", older(), &|r| r.n = Some(2));
    refused("modalities", older(), &|r| {
        r.modalities = Some(raw(r#"["text","audio"]"#))
    });
    refused("messages", older(), &|r| r.messages.clear());
    refused("messages", older(), &|r| {
        r.messages = vec![say(Role::User, " ")]
    });
    let second = |part: Part| move |r: &mut ChatRequest| r.messages[0].parts.push(part.clone());
    refused(
        "messages[0].content[1]",
        older(),
        &second(Part::Audio(Audio {
            data: "AA==".into(),
            format: "wav".into(),
            id: None,
        })),
    );
    for source in [
        MediaSource::File("file_1".into()),
        MediaSource::Url("gs://bucket/a.png".into()),
        MediaSource::Base64 {
            media_type: "image/bmp".into(),
            data: "AA==".into(),
        },
    ] {
        refused("messages[0].content[1]", older(), &second(image(source)));
    }
    let blind = Capabilities {
        images: false,
        documents: false,
        ..older()
    };
    let url = MediaSource::Url("https://a/b".into());
    refused(
        "messages[0].content[1]",
        blind.clone(),
        &second(image(url.clone())),
    );
    refused(
        "messages[0].content[1]",
        blind,
        &second(document(DocumentSource::Media(url))),
    );
    let mut one = hello();
    one.n = Some(1);
    assert!(encode_request(&one, &target(older())).is_ok());
}
