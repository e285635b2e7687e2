use super::*;

#[test]
fn whole_answers() {
    for name in fixtures("answers") {
        let response =
            decode_response(&fixture(&format!("answers/{name}.json")), &context()).unwrap();
        insta::assert_debug_snapshot!(format!("answer_{name}"), compact(response));
    }
}

#[test]
fn a_stream_and_its_whole_twin_say_the_same() {
    for name in fixtures("answers") {
        let whole = decode_response(&fixture(&format!("answers/{name}.json")), &context()).unwrap();
        let stream = fixture(&format!("streams/{name}.sse"));
        let assembled = assemble(decode_stream(&stream, usize::MAX, context())).unwrap();
        assert_eq!(compact(assembled), compact(whole), "{name}");
    }
}

#[test]
fn answers_come_out_as_they_came_in() {
    for name in fixtures("answers") {
        let bytes = fixture(&format!("answers/{name}.json"));
        let response = decode_response(&bytes, &context()).unwrap();
        let again: Value = serde_json::from_slice(&encode_response(&response, &reply())).unwrap();
        let mut original: Value = serde_json::from_slice(&bytes).unwrap();
        // Upstream said `end_turn` although it called, and `compaction` is one kind of pause.
        match name.as_str() {
            "stop_with_call" => original["stop_reason"] = "tool_use".into(),
            "compaction" => original["stop_reason"] = "pause_turn".into(),
            _ => {}
        }
        // Older answers do not tell who called; the model did.
        for block in original["content"].as_array_mut().unwrap() {
            if block["type"] == "tool_use" && block.get("caller").is_none() {
                block["caller"] = serde_json::json!({"type": "direct"});
            }
        }
        for member in [
            "id",
            "model",
            "content",
            "stop_reason",
            "stop_sequence",
            "stop_details",
        ] {
            assert_eq!(again[member], original[member], "{name}: {member}");
        }
        if name != "compaction" {
            for member in [
                "input_tokens",
                "cache_creation_input_tokens",
                "cache_read_input_tokens",
                "cache_creation",
                "output_tokens",
                "output_tokens_details",
            ] {
                assert_eq!(
                    again["usage"][member], original["usage"][member],
                    "{name}: {member}"
                );
            }
        }
    }
}

#[test]
fn an_error_in_a_200_is_a_fault() {
    let body = br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let fault = decode_response(body, &context()).unwrap_err();
    assert_eq!(fault.class, bardo_types::fault::FaultClass::Overloaded);
    assert_eq!(fault.message, "Overloaded");
    assert!(decode_response(b"<html>", &context()).is_err());
    assert!(decode_response(br#"{"id":"msg_1"}"#, &context()).is_err());
}

#[test]
fn tool_names_and_free_text_inputs_come_back_as_the_caller_knows_them() {
    let mut request = hello();
    request.tools = vec![
        Tool::Custom {
            name: "sql".into(),
            description: None,
            format: None,
        },
        function("fs.read", None),
    ];
    let mut context = context_for(request);
    context.renamed_tools = vec![("fs_read".into(), "fs.read".into())];
    let body = br#"{"type":"message","content":[{"type":"tool_use","id":"a","name":"sql","input":{"input":"select \"1\""}},{"type":"tool_use","id":"b","name":"fs_read","input":{}}],"stop_reason":"tool_use"}"#;
    let stream = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"sql\",\"input\":{}}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"input\\\":\\\"select \"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\\\\\"1\\\\\\\"\\\"}\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"fs_read\",\"input\":{}}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let whole = decode_response(body, &context).unwrap();
    assert_eq!(
        whole.choices[0].parts,
        vec![
            Part::ToolCall(ToolCall {
                input: ToolInput::Text("select \"1\"".into()),
                ..ToolCall::new("a", "sql", "")
            }),
            called("b", "fs.read", "{}"),
        ]
    );
    let streamed = assemble(decode_stream(stream.as_bytes(), 7, context)).unwrap();
    assert_eq!(streamed.choices, whole.choices);
}

#[test]
fn the_price_that_a_provider_tells_is_kept_as_written() {
    let body = br#"{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1,"cost":0.00012500}}"#;
    let usage = decode_response(body, &context()).unwrap().usage.unwrap();
    assert_eq!(usage.provider_cost_usd.as_deref(), Some("0.00012500"));
}
