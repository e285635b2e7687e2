//! Rude input never panics, and any order of steps makes a legal stream.

use super::*;
use bardo_types::chat::{Finish, Opaque};
use proptest::prelude::*;

fn step() -> impl Strategy<Value = StreamEvent> {
    let words = prop::sample::select(vec!["", "a", "é\n", "\"q\""]);
    let fragments = prop::sample::select(vec!["", "{", "\"k\":1", "}", "{}"]);
    let state = prop::sample::select(vec![
        None,
        Some(Opaque::AnthropicSignature("sig".into())),
        Some(Opaque::AnthropicRedacted("data".into())),
        Some(Opaque::GeminiSignature("g".into())),
        Some(Opaque::ReasoningContent),
    ]);
    (0..9usize, 0..3u32, words, fragments, state).prop_map(
        |(kind, call, words, fragment, opaque)| {
            let choice = 0;
            match kind {
                0 => StreamEvent::Reasoning {
                    choice,
                    text: words.into(),
                    summary: false,
                },
                1 => StreamEvent::ReasoningEnd { choice, opaque },
                2 | 3 => StreamEvent::Text {
                    choice,
                    text: words.into(),
                },
                4 => StreamEvent::TextEnd { choice, opaque },
                5 => StreamEvent::ToolStart {
                    choice,
                    call,
                    id: format!("call_{call}"),
                    name: "f".into(),
                    custom: false,
                    opaque,
                },
                6 | 7 => StreamEvent::ToolInput {
                    choice,
                    call,
                    fragment: fragment.into(),
                },
                _ => StreamEvent::ToolEnd { choice, call },
            }
        },
    )
}

/// The rules of the stream but for the input's validity, which is up to the model.
fn well_framed(stream: &[u8]) {
    let mut open = None;
    let mut next = 0u64;
    for (name, data) in events_of(stream) {
        match name.as_str() {
            "content_block_start" => {
                assert_eq!(open, None);
                assert_eq!(data["index"], next);
                open = Some(next);
            }
            "content_block_delta" => assert_eq!(data["index"].as_u64(), open),
            "content_block_stop" => {
                assert_eq!(data["index"].as_u64(), open.take());
                next += 1;
            }
            _ => assert_eq!(open, None, "{name}"),
        }
    }
}

/// Calls interleaved in any way: numbers of calls, each to be followed by its next fragment.
fn interleaving() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0..3u32, 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_steps_make_a_well_framed_stream(steps in prop::collection::vec(step(), 0..30)) {
        let all = steps.into_iter().chain([
            StreamEvent::Finish { choice: 0, reason: Finish::Stop, stop_sequence: None, details: None },
            StreamEvent::Done,
        ]);
        let stream = encode_stream(all);
        well_framed(&stream);
        let last = events_of(&stream).pop().map(|(name, _)| name);
        prop_assert_eq!(last.as_deref(), Some("message_stop"));
    }

    #[test]
    fn interleaved_calls_keep_their_inputs(order in interleaving()) {
        let mut steps = Vec::new();
        let mut inputs: Vec<(u32, Vec<usize>)> = Vec::new();
        for (at, call) in order.iter().enumerate() {
            let place = inputs.iter().position(|(known, _)| known == call).unwrap_or_else(|| {
                steps.push(StreamEvent::ToolStart {
                    choice: 0, call: *call, id: format!("c{call}"), name: "f".into(), custom: false, opaque: None,
                });
                steps.push(StreamEvent::ToolInput { choice: 0, call: *call, fragment: "{\"n\":[".into() });
                inputs.push((*call, Vec::new()));
                inputs.len() - 1
            });
            let comma = if inputs[place].1.is_empty() { "" } else { "," };
            steps.push(StreamEvent::ToolInput { choice: 0, call: *call, fragment: format!("{comma}{at}") });
            inputs[place].1.push(at);
        }
        for (call, _) in &inputs {
            steps.push(StreamEvent::ToolInput { choice: 0, call: *call, fragment: "]}".into() });
        }
        steps.push(StreamEvent::Finish { choice: 0, reason: Finish::ToolCalls, stop_sequence: None, details: None });
        steps.push(StreamEvent::Done);
        let blocks = blocks_of(&grammatical(&encode_stream(
            std::iter::once(StreamEvent::Start { id: None, model: None, created: None, service_tier: None }).chain(steps),
        )));
        let expected: Vec<Value> = inputs.iter().map(|(call, numbers)| serde_json::json!({
            "type": "tool_use", "id": format!("c{call}"), "name": "f", "input": {"n": numbers}, "caller": {"type": "direct"},
        })).collect();
        prop_assert_eq!(blocks, expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        swallow(&bytes);
    }

    #[test]
    fn mutilated_fixtures_never_panic(which in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let all: Vec<String> = ["answers", "requests"].iter()
            .flat_map(|folder| fixtures(folder).into_iter().map(move |name| format!("{folder}/{name}.json")))
            .chain(fixtures("streams").into_iter().map(|name| format!("streams/{name}.sse")))
            .collect();
        let mut bytes = fixture(&all[which.index(all.len())]);
        let at = cut.index(bytes.len());
        bytes[at] = byte;
        swallow(&bytes);
        bytes.truncate(at);
        swallow(&bytes);
    }

    #[test]
    fn renamed_tools_are_valid_and_distinct(names in prop::collection::hash_set(".{0,140}", 1..8)) {
        let mut request = hello();
        request.tools = names.iter().map(|name| function(name, None)).collect();
        let encoded = encode_request(&request, &target(newest())).unwrap();
        let body = body(&encoded);
        let mut sent: Vec<&str> = body["tools"].as_array().unwrap().iter()
            .map(|tool| tool["name"].as_str().unwrap()).collect();
        for name in &sent {
            prop_assert!((1..=128).contains(&name.len()));
            prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
        }
        sent.sort_unstable();
        sent.dedup();
        prop_assert_eq!(sent.len(), names.len());
    }
}

fn swallow(bytes: &[u8]) {
    if let Ok(request) = decode_request(bytes) {
        for capabilities in [newest(), older()] {
            if let Ok(encoded) = encode_request(&request, &target(capabilities)) {
                serde_json::from_slice::<Value>(&encoded.body).expect("what is sent is JSON");
            }
        }
    }
    let _ = decode_count_request(bytes);
    let _ = decode_error(500, bytes, Service::Anthropic);
    let _ = is_binding_error(400, bytes);
    if let Some(stripped) = strip_thinking(bytes) {
        serde_json::from_slice::<Value>(&stripped).expect("what is sent is JSON");
    }
    let _ = observe_response(bytes);
    if let Ok(response) = decode_response(bytes, &context()) {
        serde_json::from_slice::<Value>(&encode_response(&response, &reply())).unwrap();
    }
    let events = decode_stream(bytes, 17, context());
    encode_stream(events);
    for name in [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "message_delta",
    ] {
        let event = crate::sse::SseEvent { name, data: bytes };
        let mut out = Vec::new();
        stream_decoder(context()).event(event, &mut out);
        observe(event, &mut crate::codec::Observed::default());
    }
}
