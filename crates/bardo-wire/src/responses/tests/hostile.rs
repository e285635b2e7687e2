//! Nothing that arrives makes the codec panic, and no cut stream looks finished.

use proptest::prelude::*;

use super::*;
use crate::codec::Observed;
use crate::sse::SseEvent;

/// JSON that looks like events and items, with members of the wrong kinds.
fn near_json() -> impl Strategy<Value = serde_json::Value> {
    let word = prop::sample::select(vec![
        "type",
        "role",
        "content",
        "output",
        "item",
        "delta",
        "text",
        "summary",
        "response",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
        "response.output_text.delta",
        "response.function_call_arguments.done",
        "response.reasoning_summary_text.delta",
        "response.content_part.done",
        "error",
        "message",
        "function_call",
        "function_call_output",
        "reasoning",
        "custom_tool_call",
        "input_text",
        "user",
        "input",
        "model",
        "tools",
        "call_id",
        "name",
        "bardo1.e30",
    ])
    .prop_map(str::to_owned);
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        word.clone().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec((word.clone(), inner), 0..6)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

fn run(bytes: &[u8]) {
    if let Ok(request) = decode_request(bytes) {
        let _ = encode_request(&request, &target());
    }
    let _ = decode_response(bytes, &decode_context());
    let _ = decode_error(400, bytes, Service::Venice);
    let _ = observe_response(bytes);
    let _ = input_items(bytes);
    let _ = prepend_items(bytes, &[]);
    let event = SseEvent {
        name: "response.output_item.done",
        data: bytes,
    };
    observe(event, &mut Observed::default());
    let mut decoder = stream_decoder(decode_context());
    let mut encoder = stream_encoder(reply_context());
    let (mut steps, mut out) = (Vec::new(), Vec::new());
    decoder.event(event, &mut steps);
    decoder.event(SseEvent { name: "", ..event }, &mut steps);
    decoder.end(&mut steps);
    steps
        .into_iter()
        .for_each(|step| encoder.encode(step, "", &mut out));
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        run(&bytes);
    }

    #[test]
    fn any_json(value in near_json()) {
        run(value.to_string().as_bytes());
    }

    /// Events of a real stream, some lost, some twice, in any order.
    #[test]
    fn shuffled_events_never_panic_and_end_once(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        name in prop::sample::select(vec!["parallel_tools", "web_search", "refusal", "custom_tool", "interleaved_calls"]),
    ) {
        let text = String::from_utf8(read(&format!("answers/{name}.sse"))).unwrap();
        let events: Vec<&str> = text.split_inclusive("\n\n").collect();
        let shuffled: String = picks.iter().map(|pick| events[pick.index(events.len())]).collect();
        let steps = steps(shuffled.as_bytes(), 4096);
        let ends = steps.iter().filter(|step| matches!(step, StreamEvent::Done | StreamEvent::Failed(_)));
        prop_assert_eq!(ends.count(), 1);
        prop_assert!(matches!(steps.last(), Some(StreamEvent::Done | StreamEvent::Failed(_))));
        let mut encoder = stream_encoder(reply_context());
        let mut out = Vec::new();
        steps.into_iter().for_each(|step| encoder.encode(step, "", &mut out));
    }
}
