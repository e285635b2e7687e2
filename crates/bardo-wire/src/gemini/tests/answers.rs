use bardo_types::chat::{
    Assembler, ChatResponse, Citation, CitationSource, Finish, Opaque, Part, StreamEvent, Tool,
    ToolInput,
};
use bardo_types::fault::FaultClass;
use bardo_types::usage::Usage;
use proptest::prelude::*;

use super::*;
use crate::codec::Observed;
use crate::gemini::{decode_response, observe, observe_response};

const TWINS: [&str; 11] = [
    "blocked_prompt",
    "call_with_id",
    "code_execution",
    "cut_by_the_limit",
    "grounded",
    "parallel_calls",
    "probabilities",
    "stopped_for_safety",
    "streamed_arguments",
    "thoughts_then_text",
    "two_candidates",
];
const BROKEN: [&str; 3] = ["dies_midway", "error_midway", "malformed_call"];

fn stream(name: &str) -> Vec<StreamEvent> {
    decode(&[&fixture(&format!("{name}.sse"))], context())
}

fn assemble(events: Vec<StreamEvent>) -> ChatResponse {
    let mut assembler = Assembler::default();
    for event in events {
        assembler.push(event);
    }
    assembler.finish().unwrap()
}

#[track_caller]
fn check(name: &str) -> ChatResponse {
    let events = stream(name);
    insta::assert_debug_snapshot!(name, events);
    let streamed = assemble(events);
    let buffered = decode_response(&fixture(&format!("{name}.json")), &context()).unwrap();
    assert_eq!(streamed, buffered);
    streamed
}

#[test]
fn thoughts_then_text() {
    let answer = check("thoughts_then_text");
    let usage = answer.usage.unwrap();
    assert_eq!((usage.fresh_input, usage.cache_read), (20, 100));
}

#[test]
fn a_call_that_arrives_whole_keeps_its_arguments() {
    let answer = check("parallel_calls");
    let calls: Vec<_> = answer.choices[0]
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some((call.id.as_str(), call.input.clone())),
            _ => None,
        })
        .collect();
    let json = |text: &str| ToolInput::Json(text.into());
    assert_eq!(
        calls,
        [
            ("call_01J_0", json(r#"{"city":"Zürich","days":2}"#)),
            ("call_01J_1", json(r#"{"city":"Bern","days":1.0}"#)),
            ("call_01J_2", json("{}")),
        ]
    );
}

#[test]
fn calls_finish_with_tool_calls_though_gemini_says_stop() {
    assert_eq!(
        check("parallel_calls").choices[0].finish,
        Some(Finish::ToolCalls)
    );
}

#[test]
fn an_id_and_a_changed_name_come_back() {
    let answer = check("call_with_id");
    let Part::ToolCall(call) = &answer.choices[0].parts[0] else {
        panic!("{answer:?}");
    };
    assert_eq!(
        (call.id.as_str(), call.name.as_str()),
        ("fc_7", "swap tokens")
    );
    assert_eq!(call.opaque, Some(Opaque::GeminiSignature("c2ln".into())));
}

#[test]
fn arguments_that_come_in_pieces() {
    check("streamed_arguments");
}

#[test]
fn sources_count_characters_though_gemini_counts_bytes() {
    let answer = check("grounded");
    let Part::Text(text) = &answer.choices[0].parts[0] else {
        panic!("{answer:?}");
    };
    let supported: Vec<_> = text
        .citations
        .iter()
        .map(|citation| {
            let Citation {
                source:
                    CitationSource::Url {
                        url,
                        start: Some(start),
                        end: Some(end),
                        ..
                    },
                ..
            } = citation
            else {
                panic!("{citation:?}");
            };
            let words: String = text
                .text
                .chars()
                .skip(*start as usize)
                .take((end - start) as usize)
                .collect();
            (url.as_str(), words)
        })
        .collect();
    assert_eq!(
        supported,
        [
            ("https://a.example/1", "Zürich ist größer.".to_owned()),
            ("https://a.example/1", "Bern ist klein.".to_owned()),
            ("https://b.example/2", "Bern ist klein.".to_owned()),
        ]
    );
    let usage = answer.usage.unwrap();
    assert_eq!((usage.fresh_input, usage.web_searches), (320, Some(2)));
}

#[test]
fn code_that_gemini_ran_is_kept_as_written() {
    check("code_execution");
}

#[test]
fn several_candidates() {
    check("two_candidates");
}

#[test]
fn a_blocked_prompt_is_a_refusal() {
    let answer = check("blocked_prompt");
    assert_eq!(answer.choices[0].finish, Some(Finish::Refusal));
    assert!(answer.choices[0].parts.is_empty());
}

#[test]
fn safety_is_a_refusal_with_what_was_said() {
    check("stopped_for_safety");
}

#[test]
fn probabilities_have_the_shape_of_openai() {
    check("probabilities");
}

#[test]
fn without_a_count_of_candidates_the_total_tells() {
    let usage = check("cut_by_the_limit").usage.unwrap();
    assert_eq!(usage.output, 42);
}

#[test]
fn a_stream_that_just_ends_is_a_failure() {
    insta::assert_debug_snapshot!(stream("dies_midway"));
}

#[test]
fn a_stream_without_any_event_is_a_failure() {
    let events = decode(&[b""], context());
    let [StreamEvent::Failed(fault)] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!(fault.class, FaultClass::Connection);
}

#[test]
fn an_error_in_the_stream_ends_it() {
    let events = stream("error_midway");
    let Some(StreamEvent::Failed(fault)) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!(fault.class, FaultClass::Overloaded);
    assert!(!events.contains(&StreamEvent::Done));
}

#[test]
fn a_malformed_call_is_a_failure() {
    insta::assert_debug_snapshot!(stream("malformed_call"));
}

#[test]
fn an_error_with_status_200_is_a_failure() {
    let body = br#"{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}"#;
    let fault = decode_response(body, &context()).unwrap_err();
    assert_eq!(fault.class, FaultClass::RateLimit);
    let fault = decode_response(br#"{"candidates":[]}"#, &context()).unwrap_err();
    assert_eq!(fault.class, FaultClass::Malformed);
}

/// Section 3, the Gemini row.
#[test]
fn output_includes_thoughts() {
    let body = br#"{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],
        "usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":600,"candidatesTokenCount":10,
        "thoughtsTokenCount":90,"toolUsePromptTokenCount":7,"totalTokenCount":1107,
        "promptTokensDetails":[{"modality":"AUDIO","tokenCount":5}]}}"#;
    let usage = decode_response(body, &context()).unwrap().usage.unwrap();
    assert_eq!(
        usage,
        Usage {
            fresh_input: 407,
            cache_read: 600,
            output: 100,
            reasoning: Some(90),
            audio_input: Some(5),
            ..Usage::default()
        }
    );
}

/// Section 2, the Gemini column.
#[test]
fn every_finish_reason_has_its_meaning() {
    let finish = |reason: &str, parts: &str| {
        let body = format!(
            r#"{{"candidates":[{{"content":{{"parts":{parts}}},"finishReason":"{reason}"}}]}}"#
        );
        decode_response(body.as_bytes(), &context())
            .map(|answer| answer.choices[0].finish.unwrap())
            .map_err(|fault| (fault.class, fault.code.unwrap()))
    };
    let text = r#"[{"text":"x"}]"#;
    let call = r#"[{"functionCall":{"name":"f","args":{}}}]"#;
    let rows = [
        ("STOP", text, Finish::Stop),
        ("STOP", call, Finish::ToolCalls),
        ("MAX_TOKENS", text, Finish::Length),
        ("MAX_TOKENS", call, Finish::ToolCalls),
        ("CONTINUATION", text, Finish::Pause),
        ("SAFETY", call, Finish::Refusal),
    ];
    for (reason, parts, expected) in rows {
        assert_eq!(finish(reason, parts), Ok(expected), "{reason} {parts}");
    }
    for reason in [
        "SAFETY",
        "PROHIBITED_CONTENT",
        "BLOCKLIST",
        "SPII",
        "RECITATION",
        "LANGUAGE",
        "IMAGE_SAFETY",
        "IMAGE_OTHER",
        "NO_IMAGE",
        "MODEL_ARMOR",
    ] {
        assert_eq!(finish(reason, text), Ok(Finish::Refusal), "{reason}");
    }
    for reason in [
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "OTHER",
        "SOMETHING_NEW",
    ] {
        let expected = Err((FaultClass::Malformed, reason.to_owned()));
        assert_eq!(finish(reason, text), expected, "{reason}");
    }
}

#[test]
fn a_call_cut_within_its_arguments_stays_cut() {
    let stream = br#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true,"partialArgs":[{"jsonPath":"$.a","stringValue":"b","willContinue":true}]}}]},"finishReason":"MAX_TOKENS"}]}"#;
    let answer = assemble(decode(&[stream], context()));
    assert_eq!(answer.choices[0].finish, Some(Finish::Length));
    let Part::ToolCall(call) = &answer.choices[0].parts[0] else {
        panic!("{answer:?}");
    };
    assert_eq!(call.input.as_object(), None);
}

#[test]
fn a_custom_tool_gets_its_text_back() {
    let mut request = ChatRequest::new(Dialect::Responses, "m");
    request.tools.push(Tool::Custom {
        name: "patch".into(),
        description: None,
        format: None,
    });
    let body = br#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"patch","args":{"input":"*** Begin\n"}}}]},"finishReason":"STOP"}]}"#;
    let answer = decode_response(body, &context_of(request)).unwrap();
    let Part::ToolCall(call) = &answer.choices[0].parts[0] else {
        panic!("{answer:?}");
    };
    assert_eq!(call.input, ToolInput::Text("*** Begin\n".into()));
}

#[test]
fn text_after_a_signed_part_is_a_block_of_its_own() {
    let body = br#"{"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"s1"},{"text":"b"},{"text":"","thoughtSignature":"s2"}]},"finishReason":"STOP"}]}"#;
    let answer = decode_response(body, &context()).unwrap();
    let texts: Vec<_> = answer.choices[0]
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => (text.text.as_str(), text.opaque.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    let signed = |signature: &str| Some(Opaque::GeminiSignature(signature.into()));
    assert_eq!(texts, [("a", signed("s1")), ("b", signed("s2"))]);
}

#[test]
fn a_relay_sees_usage_model_and_end() {
    let whole = observe_response(&fixture("thoughts_then_text.json"));
    let bytes = fixture("thoughts_then_text.sse");
    let mut seen = Observed::default();
    let mut parser = SseParser::new(1 << 20);
    parser
        .push(&bytes, |event| observe(event, &mut seen))
        .unwrap();
    assert_eq!(seen, whole);
    assert!(seen.content && seen.finished && seen.terminal);
    assert_eq!(seen.model.as_deref(), Some("gemini-3-flash"));
    assert_eq!(seen.usage.unwrap().output, 100);
    let failed = observe_response(br#"[{"error":{"code":503,"status":"UNAVAILABLE"}}]"#);
    assert_eq!(failed.fault.unwrap().class, FaultClass::Overloaded);
}

proptest! {
    #[test]
    fn any_split_gives_the_same_steps(
        fixture_index in 0..TWINS.len() + BROKEN.len(),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
    ) {
        let name = TWINS.iter().chain(&BROKEN).nth(fixture_index).unwrap();
        let bytes = fixture(&format!("{name}.sse"));
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        places.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for place in places {
            pieces.push(&bytes[from..place]);
            from = place;
        }
        pieces.push(&bytes[from..]);
        prop_assert_eq!(decode(&pieces, context()), stream(name));
    }

    #[test]
    fn a_cut_stream_never_looks_finished(
        fixture_index in 0..TWINS.len(),
        cut in any::<proptest::sample::Index>(),
    ) {
        let bytes = fixture(&format!("{}.sse", TWINS[fixture_index]));
        let place = cut.index(bytes.len());
        let events = decode(&[&bytes[..place]], context());
        let finishes = ["finishReason", "blockReason"];
        let told = finishes.iter().any(|name| {
            String::from_utf8_lossy(&bytes[..place]).contains(name)
        });
        if !told {
            prop_assert!(matches!(events.last(), Some(StreamEvent::Failed(_))), "{:?}", events);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode_response(&bytes, &context());
        let _ = observe_response(&bytes);
        let _ = crate::gemini::decode_count(&bytes);
        let _ = crate::gemini::decode_embeddings(&bytes);
        let _ = crate::gemini::decode_error(400, &bytes, Service::Google);
    }

    #[test]
    fn a_damaged_answer_never_panics(
        fixture_index in 0..TWINS.len(),
        at in any::<proptest::sample::Index>(),
        with in "[\\[\\]{}\",:0-9a-z-]{0,6}",
        skip in 0usize..12,
    ) {
        let text = String::from_utf8(fixture(&format!("{}.json", TWINS[fixture_index]))).unwrap();
        let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
        let from = at.index(places.len());
        let to = places.get(from + skip).copied().unwrap_or(text.len());
        let damaged = format!("{}{with}{}", &text[..places[from]], &text[to..]);
        let _ = decode_response(damaged.as_bytes(), &context());
    }
}

/// Gemini sometimes calls a tool by the name of its own module.
#[test]
fn the_name_of_a_module_is_taken_off_where_the_rest_is_a_tool() {
    let mut request = chat(vec![user("Go")]);
    request.tools = vec![function("find"), function("default_api:own")];
    let context = context_of(request);
    for (sent, name) in [
        ("default_api:find", "find"),
        ("default_api.find", "find"),
        ("default_api:swap_tokens", "swap tokens"),
        ("default_api:own", "default_api:own"),
        ("default_api:other", "default_api:other"),
        ("find", "find"),
    ] {
        let body = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"{sent}","args":{{}}}}}}]}},"finishReason":"STOP"}}]}}"#
        );
        let answer = decode_response(body.as_bytes(), &context).unwrap();
        let Part::ToolCall(call) = &answer.choices[0].parts[0] else {
            panic!("{answer:?}");
        };
        assert_eq!(call.name, name, "{sent}");
    }
}
