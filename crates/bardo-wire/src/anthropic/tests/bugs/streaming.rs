use super::*;

#[test]
fn a_call_that_comes_whole_has_its_arguments() {
    let steps = vec![
        tool(0, "a"),
        input(0, r#"{"city":"Paris"}"#),
        StreamEvent::ToolEnd { choice: 0, call: 0 },
        finish(Finish::ToolCalls),
    ];
    let events = events_of(&encode_stream(
        std::iter::once(start()).chain(steps.clone()),
    ));
    assert!(
        events
            .iter()
            .any(|(_, data)| data["delta"]["type"] == "input_json_delta")
    );
    let (blocks, reason) = streamed(steps);
    assert_eq!(blocks, [call("a", json!({"city": "Paris"}))]);
    assert_eq!(reason, "tool_use");
}

#[test]
fn input_given_in_the_start_of_a_block_is_not_lost() {
    let stream = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{\"x\":1}}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let response = assemble(decode_stream(stream.as_bytes(), 11, context())).unwrap();
    assert_eq!(response.choices[0].parts, [called("a", "f", r#"{"x":1}"#)]);
}

#[test]
fn empty_steps_write_nothing() {
    let (blocks, _) = streamed(vec![text(""), text("Hi"), text(""), finish(Finish::Stop)]);
    assert_eq!(blocks, [json!({"type": "text", "text": "Hi"})]);
}

#[test]
fn calls_are_counted_among_calls_only() {
    let events = decode_stream(
        &fixture("streams/thinking_and_calls.sse"),
        usize::MAX,
        context(),
    );
    let calls: Vec<u32> = events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::ToolStart { call, .. } => Some(*call),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [0, 1]);
}

#[test]
fn three_calls_are_three_blocks() {
    let mut steps = Vec::new();
    for (number, id) in [(0, "a"), (1, "b"), (2, "c")] {
        steps.push(tool(number, id));
        steps.push(input(number, "{\"n\":"));
        steps.push(input(number, &format!("{number}}}")));
    }
    steps.push(finish(Finish::ToolCalls));
    let (blocks, _) = streamed(steps);
    let expected: Vec<Value> = ["a", "b", "c"]
        .iter()
        .enumerate()
        .map(|(n, id)| call(id, json!({"n": n})))
        .collect();
    assert_eq!(blocks, expected);
}

#[test]
fn interleaved_calls_come_out_one_after_another() {
    let (blocks, _) = streamed(vec![
        tool(0, "a"),
        tool(1, "b"),
        tool(2, "c"),
        input(1, "{\"y\":"),
        input(0, "{\"x\":"),
        input(2, "{}"),
        input(1, "{\"z\":2}}"),
        text("words between"),
        input(0, "1}"),
        finish(Finish::ToolCalls),
    ]);
    assert_eq!(
        blocks,
        [
            call("a", json!({"x": 1})),
            call("b", json!({"y": {"z": 2}})),
            call("c", json!({})),
            json!({"type": "text", "text": "words between"}),
        ]
    );
}

#[test]
fn a_complete_call_makes_way_at_once() {
    let mut encoder = stream_encoder(reply());
    let mut out = Vec::new();
    for step in [
        start(),
        tool(0, "a"),
        input(0, "{\"x\":1}"),
        tool(1, "b"),
        input(1, "{\"y\""),
    ] {
        encoder.encode(step, "", &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.contains(r#"{\"y\""#),
        "the second call streams: {text}"
    );
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    let (blocks, _) = streamed(vec![tool(0, "a"), input(0, ""), finish(Finish::ToolCalls)]);
    assert_eq!(blocks, [call("a", json!({}))]);
    let mut request = hello();
    request.messages.extend([
        Message::new(Role::Assistant, vec![called("a", "f", "")]),
        Message::new(Role::User, vec![result("a", "done")]),
    ]);
    let (body, _) = encoded(&request, older());
    assert_eq!(body["messages"][1]["content"][0]["input"], json!({}));
    let events = decode_stream(&fixture("streams/call_without_arguments.sse"), 3, context());
    assert!(events.contains(&input(0, "{}")));
}

#[test]
fn a_call_is_reported_though_upstream_said_stop() {
    let (blocks, reason) = streamed(vec![
        text(""),
        tool(0, "a"),
        input(0, "{}"),
        finish(Finish::Stop),
    ]);
    assert_eq!(reason, "tool_use");
    assert_eq!(blocks, [call("a", json!({}))]);
    let whole = decode_response(&fixture("answers/stop_with_call.json"), &context()).unwrap();
    assert_eq!(whole.choices[0].finish, Some(Finish::ToolCalls));
}

#[test]
fn text_and_a_call_end_with_tool_use() {
    let (blocks, reason) = streamed(vec![
        text("Looking."),
        tool(0, "a"),
        input(0, "{}"),
        finish(Finish::ToolCalls),
    ]);
    assert_eq!((blocks.len(), reason), (2, json!("tool_use")));
}

#[test]
fn a_failure_after_the_start_is_an_error_event() {
    let fault = Fault::new(FaultClass::RateLimit, "You exceeded your quota");
    for before in [
        vec![],
        vec![start()],
        vec![start(), text("Hal"), tool(0, "a")],
    ] {
        let events = events_of(&encode_stream(
            before
                .into_iter()
                .chain([StreamEvent::Failed(fault.clone()), StreamEvent::Done]),
        ));
        let (name, data) = events.last().unwrap();
        assert_eq!(name, "error");
        assert_eq!(data["error"]["type"], "rate_limit_error");
        assert_eq!(data["error"]["message"], "You exceeded your quota");
        assert!(!events.iter().any(|(name, _)| name == "message_stop"));
    }
}

#[test]
fn a_stream_that_dies_before_content_fails() {
    let events = decode_stream(&fixture("streams/cut_before_content.sse"), 9, context());
    assert!(matches!(events.last(), Some(StreamEvent::Failed(_))));
    assert!(matches!(
        decode_stream(b"", 1, context()).as_slice(),
        [StreamEvent::Failed(_)]
    ));
}

#[test]
fn a_stream_without_its_last_event_fails() {
    let events = decode_stream(
        &fixture("streams/cut_before_message_stop.sse"),
        9,
        context(),
    );
    assert!(matches!(events.last(), Some(StreamEvent::Failed(_))));
}

#[test]
fn cache_reads_and_writes_are_part_of_the_prompt() {
    let body = br#"{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":10,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":5}}"#;
    let usage = decode_response(body, &context()).unwrap().usage.unwrap();
    assert_eq!(
        (usage.prompt(), usage.cache_read, usage.total()),
        (1110, 1000, 1115)
    );
}

#[test]
fn input_tokens_are_without_the_cached_ones() {
    let response = ChatResponse {
        usage: Some(Usage {
            fresh_input: 224,
            cache_read: 3712,
            output: 5,
            ..Usage::default()
        }),
        ..ChatResponse::default()
    };
    let body: Value = serde_json::from_slice(&encode_response(&response, &reply())).unwrap();
    assert_eq!(body["usage"]["input_tokens"], 224);
    assert_eq!(body["usage"]["cache_read_input_tokens"], 3712);
}

#[test]
fn counts_that_come_late_are_in_message_delta() {
    let events = grammatical(&encode_stream([
        start(),
        text("Hi"),
        finish(Finish::Stop),
        StreamEvent::Usage(Usage {
            fresh_input: 224,
            cache_read: 3712,
            cache_write_1h: 7,
            output: 5,
            reasoning: Some(2),
            ..Usage::default()
        }),
        StreamEvent::Done,
    ]));
    assert_eq!(events[0].1["message"]["usage"]["input_tokens"], 0);
    let usage = &events[events.len() - 2].1["usage"];
    assert_eq!(usage["input_tokens"], 224);
    assert_eq!(usage["cache_read_input_tokens"], 3712);
    assert_eq!(usage["cache_creation"]["ephemeral_1h_input_tokens"], 7);
    assert_eq!(usage["output_tokens"], 5);
    assert_eq!(usage["output_tokens_details"]["thinking_tokens"], 2);
}

#[test]
fn output_is_read_from_message_delta() {
    let events = decode_stream(
        &fixture("streams/cut_before_message_stop.sse"),
        50,
        context(),
    );
    let last = events.iter().rev().find_map(|event| match event {
        StreamEvent::Usage(usage) => Some(usage),
        _ => None,
    });
    let usage = last.unwrap();
    assert_eq!(
        (usage.output, usage.fresh_input, usage.cache_read),
        (5, 10, 1000)
    );
}
