//! A provider's stream of Responses events to neutral steps.
//!
//! Items are told apart by `output_index`. What deltas did not bring, the `done` events and the
//! finished items do, each word once; an item that only the terminal event shows counts as well.

use std::collections::BTreeMap;

use bardo_types::chat::{Finish, Opaque, StreamEvent};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::json::RawJson;
use serde_json::value::RawValue;

use crate::codec::{DecodeContext, StreamDecoder};
use crate::json::{Str, wire_object};
use crate::kit::steps;
use crate::responses::answer::decode::{
    AnswerEnd, OutputItem, OutputPart, ResponseObject, logprobs, loose_text, made_up_id,
    message_end, server_block,
};
use crate::responses::output::characters;
use crate::responses::{annotations, error as failures, reasoning_item};
use crate::sse::SseEvent;

wire_object! {
    /// An event of any type.
    struct Event<'a> {
        "type" => kind: Option<Str<'a>>,
        "response" => response: Option<&'a RawValue>,
        "output_index" => output_index: Option<u64>,
        "content_index" => content_index: Option<u64>,
        "summary_index" => summary_index: Option<u64>,
        "delta" => delta: Option<&'a RawValue>,
        "text" => text: Option<Str<'a>>,
        "refusal" => refusal: Option<Str<'a>>,
        "arguments" => arguments: Option<&'a RawValue>,
        "input" => input: Option<&'a RawValue>,
        "item" => item: Option<&'a RawValue>,
        "part" => part: Option<&'a RawValue>,
        "annotation" => annotation: Option<&'a RawValue>,
        "logprobs" => logprobs: Option<Vec<&'a RawValue>>,
        "error" => error: Option<&'a RawValue>,
    }
}

/// A decoder for one streamed answer.
#[must_use]
pub fn stream_decoder(context: DecodeContext) -> Box<dyn StreamDecoder> {
    Box::new(ResponsesDecoder::new(context))
}

pub(in crate::responses) struct ResponsesDecoder {
    context: DecodeContext,
    started: bool,
    over: bool,
    items: BTreeMap<u64, ItemProgress>,
    calls: u32,
    /// Characters in the text parts before the present one.
    before: u64,
    /// A message is over, and nothing said so yet.
    message_over: bool,
    seen: AnswerEnd,
}

/// What came of an item so far.
struct ItemProgress {
    body: ItemState,
    done: bool,
}

enum ItemState {
    Message(MessageState),
    Reasoning(ReasoningState),
    Call(CallState),
    /// Comes whole, when it is done.
    Other,
}

#[derive(Default)]
struct MessageState {
    /// The part that is open, or was last.
    part: u64,
    /// Words of that part so far.
    text: String,
    /// Annotations of that part that were handed on.
    cited: usize,
    weighed: bool,
    ended: bool,
}

#[derive(Default)]
struct ReasoningState {
    /// Whether the words handed on are a summary; `None` before the first.
    summary: Option<bool>,
    /// The entry of the summary that the last words belong to.
    entry: u64,
    text: String,
}

struct CallState {
    number: u32,
    custom: bool,
    text: String,
}

impl ItemProgress {
    fn of_kind(kind: &str) -> Self {
        let body = match kind {
            "message" => ItemState::Message(MessageState::default()),
            "reasoning" => ItemState::Reasoning(ReasoningState::default()),
            _ => ItemState::Other,
        };
        Self { body, done: false }
    }
}

impl StreamDecoder for ResponsesDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut Vec<StreamEvent>) {
        if self.over || event.data.is_empty() || event.data.starts_with(b"[DONE]") {
            return;
        }
        match serde_json::from_slice::<Event<'_>>(event.data) {
            Ok(wire) => {
                let kind = wire.kind.as_deref().unwrap_or(event.name).to_owned();
                self.take(&kind, &wire, event.data, out);
            }
            Err(_) => self.fail(
                failures::malformed("the provider sent an event that is not a JSON object"),
                out,
            ),
        }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        self.fail(
            Fault::new(
                FaultClass::Connection,
                "the provider closed the stream before the answer was complete",
            ),
            out,
        );
    }
}

impl ResponsesDecoder {
    pub(in crate::responses) fn new(context: DecodeContext) -> Self {
        Self {
            context,
            started: false,
            over: false,
            items: BTreeMap::new(),
            calls: 0,
            before: 0,
            message_over: false,
            seen: AnswerEnd::default(),
        }
    }

    fn fail(&mut self, fault: Fault, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.over, true) {
            out.push(StreamEvent::Failed(fault));
        }
    }

    fn take(&mut self, kind: &str, event: &Event<'_>, data: &[u8], out: &mut Vec<StreamEvent>) {
        let place = event.output_index.unwrap_or(0);
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => {
                if let Some(answer) = answer(event) {
                    self.start(&answer, out);
                }
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                self.complete(kind, event, out);
            }
            "response.failed" | "response.cancelled" => {
                let answer = answer(event);
                // What was counted before the failure may be billed all the same.
                let counted = answer.as_ref().and_then(ResponseObject::counted);
                if self.started {
                    out.extend(counted.map(StreamEvent::Usage));
                }
                let told = answer.and_then(|answer| answer.failure());
                self.fail(told.unwrap_or_else(|| failures::of_error_object("{}")), out);
            }
            "error" => self.fail(error_of(event, data), out),
            "response.output_item.added" => {
                let item = event
                    .item
                    .and_then(|raw| serde_json::from_str(raw.get()).ok());
                if let Some(item) = item {
                    self.added(place, &item, out);
                }
            }
            "response.output_item.done" => {
                // An item that cannot be read may come again, within the last event.
                event.item.map(|raw| self.done(place, raw, out));
            }
            "response.content_part.done" => {
                let part = event
                    .part
                    .and_then(|raw| serde_json::from_str(raw.get()).ok());
                if let Some(part) = part {
                    self.part_done(place, event.content_index.unwrap_or(0), part, out);
                }
            }
            _ if kind.starts_with("response.reasoning_") => self.reasoning(kind, event, place, out),
            _ if kind.ends_with(".delta")
                || kind.ends_with(".done")
                || kind.ends_with(".added") =>
            {
                self.words(kind, event, place, out);
            }
            _ if event.error.is_some_and(|raw| raw.get() != "null") => {
                self.fail(error_of(event, data), out);
            }
            _ => {}
        }
    }

    pub(in crate::responses) fn start(
        &mut self,
        answer: &ResponseObject<'_>,
        out: &mut Vec<StreamEvent>,
    ) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let owned = |text: &Option<Str<'_>>| text.as_deref().map(str::to_owned);
        out.push(StreamEvent::Start {
            id: owned(&answer.id),
            model: owned(&answer.model),
            created: answer.created_at.0,
            service_tier: owned(&answer.service_tier.0),
        });
    }

    fn complete(&mut self, kind: &str, event: &Event<'_>, out: &mut Vec<StreamEvent>) {
        let Some(answer) = answer(event) else {
            self.fail(
                failures::malformed("the provider's last event has no response object"),
                out,
            );
            return;
        };
        self.start(&answer, out);
        if let Some(fault) = answer.failure() {
            // What was told before the failure may be billed all the same.
            out.extend(answer.counted().map(StreamEvent::Usage));
            self.fail(fault, out);
            return;
        }
        // Servers number items with gaps, so the n-th item here is the n-th that was announced.
        let known: Vec<u64> = self.items.keys().copied().collect();
        let mut fresh = known.last().map_or(0, |last| last.saturating_add(1));
        for (index, raw) in answer.output.iter().flatten().enumerate() {
            let place = known.get(index).copied().unwrap_or(fresh);
            if index >= known.len() {
                fresh = fresh.saturating_add(1);
            }
            self.done(place, raw, out).ok();
        }
        let mut told = answer.finish();
        // An object without a status ended as its event says.
        match kind {
            "response.incomplete" if answer.status.is_none() => told = Finish::Length,
            "response.completed" if answer.status.is_none() => told = Finish::Stop,
            _ => {}
        }
        self.finish(&answer, told, out);
    }

    /// Ends the answer, which ended for the reason `told` apart from its calls.
    pub(in crate::responses) fn finish(
        &mut self,
        answer: &ResponseObject<'_>,
        told: Finish,
        out: &mut Vec<StreamEvent>,
    ) {
        self.end_calls(out);
        out.extend(answer.counted().map(StreamEvent::Usage));
        out.push(steps::finish(0, self.seen.finish(told)));
        out.push(StreamEvent::Done);
        self.over = true;
    }

    /// Ends calls whose item was never reported done.
    fn end_calls(&mut self, out: &mut Vec<StreamEvent>) {
        for item in self.items.values_mut().filter(|item| !item.done) {
            item.done = true;
            if let ItemState::Call(call) = &item.body {
                self.seen.last_call = Some((!call.custom).then(|| call.text.clone()));
                out.push(StreamEvent::ToolEnd {
                    choice: 0,
                    call: call.number,
                });
            }
        }
    }

    /// The item at a place, begun as `kind` where no event announced it.
    fn item(&mut self, place: u64, kind: &str) -> &mut ItemProgress {
        self.items
            .entry(place)
            .or_insert_with(|| ItemProgress::of_kind(kind))
    }

    fn added(&mut self, place: u64, item: &OutputItem<'_>, out: &mut Vec<StreamEvent>) {
        let kind = item.kind();
        if self.items.contains_key(&place) {
            return;
        }
        if std::mem::take(&mut self.message_over) && kind == "message" {
            out.push(steps::server(0, message_end(None)));
        }
        if matches!(kind, "function_call" | "custom_tool_call") {
            let custom = kind == "custom_tool_call";
            let number = self.calls;
            self.calls += 1;
            let name = item.tool_name(&self.context);
            let id = match item.call_id.as_deref().or(item.id.as_deref()) {
                Some(id) => id.to_owned(),
                None => made_up_id(&self.context, place as usize),
            };
            out.push(StreamEvent::ToolStart {
                choice: 0,
                call: number,
                id,
                name,
                custom,
                opaque: None,
            });
            let call = CallState {
                number,
                custom,
                text: String::new(),
            };
            self.items.insert(
                place,
                ItemProgress {
                    body: ItemState::Call(call),
                    done: false,
                },
            );
            self.seen.last_call = Some(Some(String::new()));
        } else {
            self.item(place, kind);
        }
    }

    /// Takes a finished item; an error says why it is none.
    pub(in crate::responses) fn done(
        &mut self,
        place: u64,
        raw: &RawValue,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), Fault> {
        if self.items.get(&place).is_some_and(|item| item.done) {
            return Ok(());
        }
        let item: OutputItem<'_> = serde_json::from_str(raw.get()).map_err(|_| {
            failures::malformed("the provider sent an output item that is not an object")
        })?;
        self.added(place, &item, out);
        let kind = item.kind();
        match kind {
            // What was announced as a call ends as one, whatever its item says at last.
            _ if self.is_call(place) => self.call_done(place, &item, out),
            "message" => {
                let parts = item.content.map_or("[]", RawValue::get);
                let parts: Vec<OutputPart<'_>> = serde_json::from_str(parts).map_err(|_| {
                    failures::malformed("the provider sent a message without content parts")
                })?;
                for (index, part) in (0..).zip(parts) {
                    self.part_done(place, index, part, out);
                }
                self.end_text(place, out);
                let phase = item.phase.filter(|phase| phase.get() != "null");
                self.message_over = phase.is_none();
                if phase.is_some() {
                    out.push(steps::server(0, message_end(phase)));
                }
            }
            "reasoning" => self.reasoning_done(place, raw, out),
            kind => out.push(steps::server(0, server_block(kind, raw))),
        }
        if let Some(item) = self.items.get_mut(&place) {
            item.done = true;
        }
        Ok(())
    }

    fn is_call(&self, place: u64) -> bool {
        let item = self.items.get(&place);
        item.is_some_and(|item| matches!(item.body, ItemState::Call(_)))
    }

    fn call_done(&mut self, place: u64, item: &OutputItem<'_>, out: &mut Vec<StreamEvent>) {
        self.call_rest(place, item.arguments.or(item.input), out);
        let Some(ItemProgress {
            body: ItemState::Call(call),
            ..
        }) = self.items.get(&place)
        else {
            return;
        };
        self.seen.last_call = Some((!call.custom).then(|| call.text.clone()));
        out.push(StreamEvent::ToolEnd {
            choice: 0,
            call: call.number,
        });
    }
}

mod pieces;

fn answer<'a>(event: &Event<'a>) -> Option<ResponseObject<'a>> {
    serde_json::from_str(event.response?.get()).ok()
}

/// An `error` event: its members stand beside `type`, or under `error`.
fn error_of(event: &Event<'_>, data: &[u8]) -> Fault {
    match event.error.filter(|raw| raw.get() != "null") {
        Some(error) => failures::of_error_object(error.get()),
        None => failures::of_error_event(&String::from_utf8_lossy(data)),
    }
}
