//! Targets for the decoders of upstreams' answers.

use std::collections::HashSet;

use bardo_types::chat::{Assembler, ChatResponse, StreamEvent};
use bardo_types::model::Dialect;
use bardo_wire::codec::{DecodeContext, Observed};
use bardo_wire::sse::SseParser;
use bardo_wire::{chat, gemini, table};

use crate::{Knobs, world};

/// More than any error text that is passed on: 2 KiB and what is said around it.
const MESSAGE_MAX: usize = 2_048 + 256;
/// More than any decoder may count choices to.
const CHOICES_MAX: u32 = 128;

/// Whatever a Chat Completions upstream says, the steps keep their order.
pub fn chat_answer(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    answer(Dialect::Chat, knobs, payload);
    for_each_event(payload, |event| {
        let _ = chat::usage_only_chunk(event);
    });
}

/// Whatever an Anthropic upstream says, the steps keep their order.
pub fn anthropic_answer(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    answer(Dialect::Anthropic, knobs, payload);
    let _ = bardo_wire::anthropic::is_binding_error(400, payload);
}

/// Whatever a Responses upstream says, the steps keep their order.
pub fn responses_answer(data: &[u8]) {
    if let Some((knobs, payload)) = Knobs::part(data) {
        answer(Dialect::Responses, knobs, payload);
    }
}

/// Whatever a Gemini upstream says, the steps keep their order.
pub fn gemini_answer(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    answer(Dialect::Gemini, knobs, payload);
    let _ = gemini::decode_count(payload);
    let _ = gemini::decode_embeddings(payload);
}

/// Reads the payload in every way that an upstream's bytes are read.
fn answer(upstream: Dialect, knobs: Knobs, payload: &[u8]) {
    let client = knobs.pick(1, &world::CLIENTS);
    let context = world::decode_context(knobs, client);
    let steps = steps(upstream, &context, payload);
    let mut assembler = Assembler::default();
    let failed = matches!(steps.last(), Some(StreamEvent::Failed(_)));
    for step in steps {
        assembler.push(step);
    }
    assert_eq!(assembler.finish().is_err(), failed);
    let seen = table::observe_response(upstream, payload);
    match table::decode_response(upstream, payload, &context) {
        // No caller speaks Gemini, so its answers are never relayed.
        Ok(_) if upstream == Dialect::Gemini => {}
        Ok(response) => agree(&response, &seen),
        Err(fault) => assert!(
            fault.message.len() <= MESSAGE_MAX,
            "{}",
            fault.message.len()
        ),
    }
    let status = 400 + u16::from(knobs.0[0]);
    let fault = table::decode_error(upstream, status, payload, context.target.service);
    assert!(!fault.message.is_empty());
    assert!(
        fault.message.len() <= MESSAGE_MAX,
        "{}",
        fault.message.len()
    );
    let mut seen = Observed::default();
    for_each_event(payload, |event| table::observe(upstream, event, &mut seen));
}

/// A relay that needs an answer in neutral form takes the usage and the model from there, and does not
/// observe the answer too.
fn agree(response: &ChatResponse, seen: &Observed) {
    let counts = response.usage.as_ref().map(|usage| usage.output);
    if counts > Some(0) {
        assert_eq!(seen.fault, None);
        assert_eq!(seen.usage, response.usage);
        assert_eq!(seen.model, response.model);
    }
}

fn for_each_event(stream: &[u8], mut take: impl FnMut(bardo_wire::sse::SseEvent<'_>)) {
    let mut parser = SseParser::new(usize::MAX);
    parser
        .push(stream, &mut take)
        .expect("nothing outgrows the largest limit");
    parser.finish(take);
}

/// The steps of a whole stream, held to the order that [`StreamEvent`] tells.
pub(crate) fn steps(upstream: Dialect, context: &DecodeContext, stream: &[u8]) -> Vec<StreamEvent> {
    let mut decoder = table::stream_decoder(upstream, context.clone());
    let mut steps = Vec::new();
    for_each_event(stream, |event| decoder.event(event, &mut steps));
    decoder.end(&mut steps);
    ordered(&steps);
    steps
}

fn ordered(steps: &[StreamEvent]) {
    let (last, before) = steps.split_last().expect("every stream ends");
    assert!(is_end(last), "the end is missing: {last:?}");
    let mut calls = HashSet::new();
    let mut ended = HashSet::new();
    let mut finished = HashSet::new();
    let mut starts = 0;
    for step in before {
        assert!(!is_end(step), "{step:?} is not the last");
        if let Some(choice) = choice_of(step) {
            assert!(choice < CHOICES_MAX, "{step:?}");
            assert!(!finished.contains(&choice), "{step:?} after its finish");
        }
        match step {
            StreamEvent::Start { .. } => starts += 1,
            StreamEvent::ToolStart { choice, call, .. } => {
                assert!(calls.insert((*choice, *call)), "a second start of a call");
            }
            StreamEvent::ToolInput { choice, call, .. } => {
                assert!(calls.contains(&(*choice, *call)), "input of no call");
                assert!(!ended.contains(&(*choice, *call)), "input after the end");
            }
            StreamEvent::ToolEnd { choice, call } => {
                assert!(calls.contains(&(*choice, *call)), "end of no call");
                assert!(ended.insert((*choice, *call)), "a second end");
            }
            StreamEvent::Finish { choice, .. } => {
                finished.insert(*choice);
            }
            _ => {}
        }
    }
    assert!(starts <= 1, "a second start");
    if let StreamEvent::Failed(fault) = last {
        assert!(
            fault.message.len() <= MESSAGE_MAX,
            "{}",
            fault.message.len()
        );
    } else {
        assert!(!finished.is_empty(), "done, but nothing is finished");
        assert_eq!(ended.len(), calls.len(), "done, but a call is open");
        for (choice, call) in &calls {
            let counted = (0..*call).all(|before| calls.contains(&(*choice, before)));
            assert!(counted, "done, but calls do not count from 0");
        }
    }
}

fn is_end(step: &StreamEvent) -> bool {
    matches!(step, StreamEvent::Done | StreamEvent::Failed(_))
}

fn choice_of(step: &StreamEvent) -> Option<u32> {
    match step {
        StreamEvent::Reasoning { choice, .. }
        | StreamEvent::ReasoningEnd { choice, .. }
        | StreamEvent::Text { choice, .. }
        | StreamEvent::TextEnd { choice, .. }
        | StreamEvent::Citation { choice, .. }
        | StreamEvent::Refusal { choice, .. }
        | StreamEvent::ToolStart { choice, .. }
        | StreamEvent::ToolInput { choice, .. }
        | StreamEvent::ToolEnd { choice, .. }
        | StreamEvent::Server { choice, .. }
        | StreamEvent::Logprobs { choice, .. }
        | StreamEvent::Finish { choice, .. } => Some(*choice),
        StreamEvent::Start { .. }
        | StreamEvent::Usage(_)
        | StreamEvent::Done
        | StreamEvent::Failed(_) => None,
    }
}
