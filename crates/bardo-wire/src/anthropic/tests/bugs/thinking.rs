use super::*;

#[test]
fn an_empty_thinking_block_with_a_signature_survives() {
    let response = decode_response(&fixture("answers/thinking_omitted.json"), &context()).unwrap();
    let expected = thought("", signed("EuYBCkQYAi=="));
    assert_eq!(response.choices[0].parts[0], expected);
    let out: Value = serde_json::from_slice(&encode_response(&response, &reply())).unwrap();
    let block = json!({"type": "thinking", "thinking": "", "signature": "EuYBCkQYAi=="});
    assert_eq!(out["content"][0], block);
    let stream = encode_stream(decode_stream(
        &fixture("streams/thinking_omitted.sse"),
        usize::MAX,
        context(),
    ));
    assert_eq!(blocks_of(&grammatical(&stream))[0], block);
    let mut request = hello();
    request.messages.extend([
        Message::new(Role::Assistant, vec![expected, Text::new("42").into()]),
        say(Role::User, "Why?"),
    ]);
    let (body, lost) = encoded(&request, newest());
    assert_eq!(body["messages"][1]["content"][0], block);
    assert_eq!(lost, [""; 0]);
}

fn tool_loop(thinking: Option<Part>) -> ChatRequest {
    let mut parts: Vec<Part> = thinking.into_iter().collect();
    parts.push(called("a", "f", "{}"));
    let mut request = hello();
    request.tools = vec![function("f", None)];
    request.messages.extend([
        Message::new(Role::Assistant, parts),
        Message::new(Role::User, vec![result("a", "done")]),
    ]);
    request.reasoning = ReasoningRequest {
        mode: Some(ThinkingMode::Budget(4096)),
        ..ReasoningRequest::default()
    };
    request
}

#[test]
fn manual_thinking_is_off_where_the_tool_loop_lost_its_thinking() {
    let (body, lost) = encoded(&tool_loop(None), older());
    assert_eq!(body["thinking"], json!({"type": "disabled"}));
    assert_eq!(lost, ["thinking"]);
    let (body, lost) = encoded(&tool_loop(Some(thought("t", signed("sig")))), older());
    assert_eq!(
        body["thinking"],
        json!({"type": "enabled", "budget_tokens": 4096})
    );
    assert_eq!(lost, [""; 0]);
    // Once the loop is over, earlier turns need no thinking.
    let mut over = tool_loop(None);
    over.messages
        .extend([say(Role::Assistant, "Done."), say(Role::User, "Thanks")]);
    let (body, _) = encoded(&over, older());
    assert_eq!(body["thinking"]["type"], "enabled");
}

#[test]
fn a_signed_block_from_a_caller_of_another_dialect_goes_up() {
    let (body, _) = encoded(&tool_loop(Some(thought("hmm", signed("sig")))), newest());
    assert_eq!(
        body["messages"][1]["content"][0],
        json!({"type": "thinking", "thinking": "hmm", "signature": "sig"})
    );
}

#[test]
fn thinking_that_is_not_anthropics_is_dropped() {
    let foreign = [
        None,
        Some(Opaque::AnthropicSignature(String::new())),
        Some(Opaque::AnthropicSignature("bardo1.abc".into())),
        Some(Opaque::GeminiSignature("Ci==".into())),
        Some(Opaque::ReasoningContent),
        Some(Opaque::OpenAiReasoning(RawJson::empty_object())),
        Some(Opaque::ReasoningDetail(RawJson::empty_object())),
    ];
    for opaque in foreign {
        let mut request = hello();
        request.messages.extend([
            Message::new(
                Role::Assistant,
                vec![
                    thought("secret", opaque.clone()),
                    thought("kept", signed("sig")),
                    thought("", Some(Opaque::AnthropicRedacted("data".into()))),
                    Text::new("Hi").into(),
                ],
            ),
            say(Role::User, "Go on"),
        ]);
        let (body, lost) = encoded(&request, newest());
        assert_eq!(
            body["messages"][1]["content"],
            json!([
                {"type": "thinking", "thinking": "kept", "signature": "sig"},
                {"type": "redacted_thinking", "data": "data"},
                {"type": "text", "text": "Hi"},
            ]),
            "{opaque:?}"
        );
        assert_eq!(lost, ["thinking_state"], "{opaque:?}");
    }
}

#[test]
fn text_and_signature_of_thinking_become_one_block() {
    let (blocks, _) = streamed(vec![
        StreamEvent::Reasoning {
            choice: 0,
            text: "Hm".into(),
            summary: false,
        },
        StreamEvent::Reasoning {
            choice: 0,
            text: "m.".into(),
            summary: false,
        },
        StreamEvent::ReasoningEnd {
            choice: 0,
            opaque: signed("sig"),
        },
        text("Hi"),
        finish(Finish::Stop),
    ]);
    assert_eq!(
        blocks[0],
        json!({"type": "thinking", "thinking": "Hmm.", "signature": "sig"})
    );
}

/// What a caller would send back after seeing `parts`, both streamed and whole.
fn handed_back(parts: &[Part], steps: Vec<StreamEvent>) -> [Vec<Part>; 2] {
    let response = ChatResponse {
        choices: vec![bardo_types::chat::Choice {
            parts: parts.to_vec(),
            finish: Some(Finish::ToolCalls),
            ..Default::default()
        }],
        ..ChatResponse::default()
    };
    let whole: Value = serde_json::from_slice(&encode_response(&response, &reply())).unwrap();
    let (blocks, _) = streamed(steps);
    [whole["content"].clone(), Value::from(blocks)].map(|content| {
        let body = json!({"model": "m", "max_tokens": 1, "messages": [
            {"role": "user", "content": "Hi"}, {"role": "assistant", "content": content}]});
        let request = decode_request(body.to_string().as_bytes()).unwrap();
        let mut parts = request.messages[1].parts.clone();
        for part in &mut parts {
            if let Part::ToolCall(call) = part {
                assert_eq!(call.extra.len(), 1, "who called");
                call.extra.clear();
            }
        }
        parts
    })
}

#[test]
fn state_bound_to_calls_and_texts_comes_back_in_its_place() {
    let state = |text: &str| Some(Opaque::GeminiSignature(text.into()));
    let parts = vec![
        thought("plan", state("for thought")),
        Text {
            opaque: state("for text"),
            ..Text::new("Looking.")
        }
        .into(),
        Part::ToolCall(ToolCall {
            opaque: state("for a"),
            ..ToolCall::new("a", "f", "{}")
        }),
        called("b", "f", r#"{"x":1}"#),
    ];
    let tool_with = |call, id: &str, opaque| StreamEvent::ToolStart {
        choice: 0,
        call,
        id: id.into(),
        name: "f".into(),
        custom: false,
        opaque,
    };
    let steps = vec![
        StreamEvent::Reasoning {
            choice: 0,
            text: "plan".into(),
            summary: false,
        },
        StreamEvent::ReasoningEnd {
            choice: 0,
            opaque: state("for thought"),
        },
        text("Looking."),
        StreamEvent::TextEnd {
            choice: 0,
            opaque: state("for text"),
        },
        tool_with(0, "a", state("for a")),
        input(0, "{}"),
        StreamEvent::ToolEnd { choice: 0, call: 0 },
        tool_with(1, "b", None),
        input(1, r#"{"x":1}"#),
        StreamEvent::ToolEnd { choice: 0, call: 1 },
        finish(Finish::ToolCalls),
    ];
    for back in handed_back(&parts, steps) {
        assert_eq!(back, parts);
    }
}

#[test]
fn reasoning_that_must_be_echoed_comes_back() {
    let states = [
        Some(Opaque::ReasoningContent),
        Some(Opaque::OpenAiReasoning(
            RawJson::parse(r#"{"id":"rs_1"}"#).unwrap(),
        )),
        Some(Opaque::ReasoningDetail(RawJson::empty_object())),
        None,
    ];
    for opaque in states {
        let parts = vec![thought("hmm", opaque.clone()), called("a", "f", "{}")];
        let steps = vec![
            StreamEvent::Reasoning {
                choice: 0,
                text: "hmm".into(),
                summary: false,
            },
            StreamEvent::ReasoningEnd { choice: 0, opaque },
            tool(0, "a"),
            finish(Finish::ToolCalls),
        ];
        for back in handed_back(&parts, steps) {
            assert_eq!(back, parts);
        }
    }
}

#[test]
fn a_budget_is_an_effort_where_the_model_takes_no_budget() {
    let mut request = hello();
    request.reasoning.mode = Some(ThinkingMode::Budget(16_000));
    let (body, lost) = encoded(&request, newest());
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
    assert_eq!(body["output_config"], json!({"effort": "high"}));
    assert_eq!(lost, ["thinking_budget"]);
}

#[test]
fn leaving_out_sampling_leaves_thinking_in() {
    let mut request = hello();
    request.reasoning.mode = Some(ThinkingMode::Adaptive);
    request.sampling.temperature = RawJson::parse("0.2").ok();
    request.sampling.top_k = RawJson::parse("5").ok();
    let (body, lost) = encoded(&request, newest());
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
    assert!(body.get("temperature").is_none() && body.get("top_k").is_none());
    assert_eq!(lost, ["temperature", "top_k"]);
}

#[test]
fn instructions_stay_out_of_what_signed_thinking_is_bound_to() {
    let mut request = tool_loop(Some(thought("t", signed("sig"))));
    request.messages.insert(0, say(Role::System, "Be kind."));
    request.tool_choice = Some(ToolChoice::Required);
    request.reasoning = ReasoningRequest::default();
    let (body, lost) = encoded(&request, newest());
    assert_eq!(body["system"][0]["text"], "Be kind.");
    assert_eq!(body["system"].as_array().unwrap().len(), 1);
    let last = body["messages"][2]["content"].as_array().unwrap();
    assert_eq!(last[0]["type"], "tool_result");
    assert!(last[1]["text"].as_str().unwrap().contains("must call"));
    assert_eq!(body["tool_choice"], json!({"type": "auto"}));
    assert_eq!(lost, ["forced_tool_choice"]);
}

#[test]
fn an_answer_ends_in_its_words_and_not_in_their_state() {
    let opaque = Some(Opaque::GeminiSignature("for text".into()));
    let words = Text {
        opaque: opaque.clone(),
        ..Text::new("Done.")
    };
    let steps = vec![
        text("Done."),
        StreamEvent::TextEnd { choice: 0, opaque },
        finish(Finish::Stop),
    ];
    for back in handed_back(&[words.into()], steps) {
        assert_eq!(back, [Part::from(Text::new("Done."))]);
    }
}
