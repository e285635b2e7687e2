use super::*;
use bardo_types::chat::Finish;
use bardo_types::fault::FaultClass;

#[test]
fn streams_decode() {
    for name in fixtures("streams") {
        let events = decode_stream(
            &fixture(&format!("streams/{name}.sse")),
            usize::MAX,
            context(),
        );
        insta::assert_debug_snapshot!(format!("stream_{name}"), events);
    }
}

#[test]
fn any_split_gives_the_same_steps() {
    for name in fixtures("streams") {
        let bytes = fixture(&format!("streams/{name}.sse"));
        let whole = decode_stream(&bytes, usize::MAX, context());
        for piece in [1, 2, 3, 7, 64, 1000] {
            assert_eq!(
                decode_stream(&bytes, piece, context()),
                whole,
                "{name} by {piece}"
            );
        }
    }
}

#[test]
fn a_stream_that_failed_never_looks_finished() {
    for (name, class) in [
        ("error_midway", FaultClass::Overloaded),
        ("cut_midway", FaultClass::Connection),
        ("cut_before_content", FaultClass::Connection),
        ("cut_before_message_stop", FaultClass::Connection),
    ] {
        let events = decode_stream(&fixture(&format!("streams/{name}.sse")), 5, context());
        assert!(!events.contains(&StreamEvent::Done), "{name}");
        let finish = |step: &StreamEvent| matches!(step, StreamEvent::Finish { .. });
        assert!(!events.iter().any(finish), "{name}");
        let Some(StreamEvent::Failed(fault)) = events.last() else {
            panic!("{name} did not fail: {events:?}");
        };
        assert_eq!(fault.class, class, "{name}");
        let names: Vec<String> = grammatical_names(&encode_stream(events));
        assert_eq!(names.last().unwrap(), "error", "{name}");
        assert!(!names.contains(&"message_stop".to_owned()), "{name}");
    }
}

fn grammatical_names(stream: &[u8]) -> Vec<String> {
    events_of(stream)
        .into_iter()
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn a_broken_event_fails_the_stream_and_a_strange_one_does_not() {
    let broken = b"event: message_start\ndata: {\"type\":\n\n";
    assert!(matches!(
        decode_stream(broken, 9, context()).as_slice(),
        [StreamEvent::Failed(fault)] if fault.class == FaultClass::Malformed
    ));
    let strange = b"event: fortune\ndata: hello\n\n";
    assert!(matches!(
        decode_stream(strange, 9, context()).as_slice(),
        [StreamEvent::Failed(fault)] if fault.class == FaultClass::Connection
    ));
    let headless = b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    assert!(matches!(
        decode_stream(headless, 9, context()).as_slice(),
        [StreamEvent::Failed(fault)] if fault.class == FaultClass::Malformed
    ));
}

#[test]
fn nothing_follows_the_end() {
    let mut bytes = fixture("streams/text.sse");
    bytes.extend_from_slice(&fixture("streams/error_midway.sse"));
    let events = decode_stream(&bytes, 100, context());
    assert_eq!(events.last(), Some(&StreamEvent::Done));
}

#[test]
fn streams_come_out_as_they_came_in() {
    for name in fixtures("answers") {
        let bytes = fixture(&format!("streams/{name}.sse"));
        let out = encode_stream(decode_stream(&bytes, usize::MAX, context()));
        grammatical(&out);
        let first = assemble(decode_stream(&bytes, usize::MAX, context())).unwrap();
        let second = assemble(decode_stream(&out, usize::MAX, context())).unwrap();
        assert_eq!(compact(second), compact(first), "{name}");
    }
}

#[test]
fn the_trailer_comes_right_before_the_last_event() {
    let mut encoder = stream_encoder(reply());
    let mut out = Vec::new();
    for event in decode_stream(&fixture("streams/text.sse"), usize::MAX, context()) {
        encoder.encode(event, ": cost 1\n", &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    assert!(text.ends_with(": cost 1\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
    assert_eq!(text.matches(": cost 1").count(), 1);
}

#[test]
fn a_truncated_call_stays_truncated() {
    let events = decode_stream(
        &fixture("streams/truncated_call.sse"),
        usize::MAX,
        context(),
    );
    assert!(events.iter().any(|event| matches!(
        event,
        StreamEvent::Finish {
            reason: Finish::Length,
            ..
        }
    )));
}

#[test]
fn only_a_known_reason_says_that_an_answer_is_complete() {
    for (told, expected) in [
        (r#""end_turn""#, Finish::Stop),
        (r#""something_new""#, Finish::Unknown),
        ("null", Finish::Unknown),
    ] {
        let stream = format!(
            "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"a\"}}}}\n\n\
            event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":{told}}}}}\n\n\
            event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
        );
        let streamed = decode_stream(stream.as_bytes(), usize::MAX, context());
        let body = format!(r#"{{"content":[{{"type":"text","text":"x"}}],"stop_reason":{told}}}"#);
        let whole = decode_response(body.as_bytes(), &context()).unwrap();
        for events in [streamed, whole.into_events()] {
            let reason = events.iter().find_map(|event| match event {
                StreamEvent::Finish { reason, .. } => Some(*reason),
                _ => None,
            });
            assert_eq!(reason, Some(expected), "{told}");
            assert_eq!(
                events.last(),
                Some(&StreamEvent::Done),
                "callers get the answer"
            );
        }
    }
}
