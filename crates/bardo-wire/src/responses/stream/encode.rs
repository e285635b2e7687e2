//! Neutral steps to the caller's stream of Responses events.
//!
//! Every event carries its name twice and a running `sequence_number`. Reasoning and messages are
//! open one at a time; calls stay open until they end, because this dialect lets them interleave.

use bardo_types::chat::{Finish, Opaque, Reasoning, StreamEvent};
use bardo_types::fault::Fault;
use bardo_types::json::RawJson;
use bardo_types::usage::Usage;

use crate::codec::{ErrorView, ReplyContext, StreamEncoder};
use crate::json::Object;
use crate::kit::namespaces;
use crate::responses::answer::encode as reply;
use crate::responses::answer::encode::{Frame, Status};
use crate::responses::output::item_id;
use crate::responses::{error as failures, output, reasoning_item};

mod blocks;
mod calls;

use blocks::{OpenMessage, OpenThinking};
use calls::{Form, OpenCall};

/// An encoder for one streamed answer.
#[must_use]
pub fn stream_encoder(context: ReplyContext) -> Box<dyn StreamEncoder> {
    Box::new(ResponsesEncoder {
        events: Events::default(),
        context,
        frame: None,
        open: OpenItem::None,
        calls: Vec::new(),
        before: 0,
        refused: false,
        logprobs: Vec::new(),
        finish: None,
        usage: None,
        over: false,
    })
}

struct ResponsesEncoder {
    events: Events,
    context: ReplyContext,
    /// Set once the answer has begun.
    frame: Option<Frame>,
    open: OpenItem,
    calls: Vec<OpenCall>,
    /// Characters in the text parts before the present one.
    before: u64,
    refused: bool,
    /// Probabilities of the text that comes next.
    logprobs: Vec<RawJson>,
    finish: Option<Finish>,
    usage: Option<Usage>,
    over: bool,
}

/// Numbers events and collects finished items by their place.
#[derive(Default)]
struct Events {
    sequence: u64,
    /// `None` while an item is still open.
    items: Vec<Option<RawJson>>,
}

impl Events {
    /// Writes one event; `rest` adds the members after `type` and `sequence_number`.
    fn write(&mut self, kind: &str, out: &mut Vec<u8>, rest: impl FnOnce(&mut Object<'_>)) {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\ndata: ");
        let mut data = Object::new(out);
        data.set("type", kind);
        data.set("sequence_number", self.sequence);
        rest(&mut data);
        data.end();
        out.extend_from_slice(b"\n\n");
        self.sequence += 1;
    }

    /// Announces an item; answers its place.
    fn add(&mut self, item: &RawJson, out: &mut Vec<u8>) -> usize {
        let place = self.items.len();
        self.items.push(None);
        self.write("response.output_item.added", out, |event| {
            event.set("output_index", place as u64);
            event.raw("item", item.as_str());
        });
        place
    }

    /// Closes an item.
    fn done(&mut self, place: usize, item: RawJson, out: &mut Vec<u8>) {
        self.write("response.output_item.done", out, |event| {
            event.set("output_index", place as u64);
            event.raw("item", item.as_str());
        });
        self.items[place] = Some(item);
    }

    /// An item that comes whole.
    fn whole(&mut self, item: RawJson, out: &mut Vec<u8>) {
        let place = self.add(&item, out);
        self.done(place, item, out);
    }

    fn next_id(&self, prefix: &str, seed: &str) -> String {
        item_id(prefix, seed, self.items.len())
    }

    fn finished(&self) -> Vec<RawJson> {
        self.items.iter().flatten().cloned().collect()
    }
}

/// The reasoning or message item that is open.
enum OpenItem {
    None,
    Reasoning(OpenThinking),
    Message(OpenMessage),
}

impl StreamEncoder for ResponsesEncoder {
    fn encode(&mut self, event: StreamEvent, trailer: &str, out: &mut Vec<u8>) {
        if self.over {
            return;
        }
        if let StreamEvent::Start {
            id,
            model,
            created,
            service_tier,
        } = event
        {
            if self.frame.is_none() {
                let frame = Frame::new(id.as_deref(), model, created, service_tier, &self.context);
                self.begin(frame, out);
            }
            return;
        }
        if let StreamEvent::Usage(usage) = event {
            self.usage.get_or_insert_default().supersede(&usage);
            return;
        }
        if self.frame.is_none() {
            let frame = Frame::new(None, None, None, None, &self.context);
            self.begin(frame, out);
        }
        match event {
            StreamEvent::Done => self.finish(trailer, out),
            StreamEvent::Failed(fault) => self.failed(&fault, None, out),
            event => self.step(event, out),
        }
    }

    fn fail(&mut self, view: &ErrorView<'_>, out: &mut Vec<u8>) {
        if self.over {
            return;
        }
        if self.frame.is_none() {
            let frame = Frame::new(None, None, None, None, &self.context);
            self.begin(frame, out);
        }
        self.failed(view.fault, Some(view.bardo_code), out);
    }
}

impl ResponsesEncoder {
    fn begin(&mut self, frame: Frame, out: &mut Vec<u8>) {
        for kind in ["response.created", "response.in_progress"] {
            self.events.write(kind, out, |event| {
                frame.write(Status::InProgress, &[], None, event.key("response"));
            });
        }
        self.frame = Some(frame);
    }

    /// A step within an answer. This dialect has one answer; others are left out.
    fn step(&mut self, event: StreamEvent, out: &mut Vec<u8>) {
        match event {
            StreamEvent::Reasoning {
                choice: 0,
                text,
                summary,
            } => self.think(&text, summary, out),
            StreamEvent::ReasoningEnd { choice: 0, opaque } => self.end_thinking(opaque, out),
            StreamEvent::Text { choice: 0, text } => self.say(&text, false, out),
            StreamEvent::Refusal { choice: 0, text } => self.say(&text, true, out),
            StreamEvent::TextEnd { choice: 0, opaque } => self.end_text(opaque, out),
            StreamEvent::Citation {
                choice: 0,
                citation,
            } => {
                if let OpenItem::Message(message) = &mut self.open {
                    message.cite(citation);
                }
            }
            StreamEvent::Logprobs { choice: 0, raw } => {
                self.logprobs.extend(output::logprob_entries(&raw));
            }
            StreamEvent::ToolStart {
                choice: 0,
                call,
                id,
                name,
                custom,
                opaque,
            } => {
                self.close("completed", out);
                if let Some(opaque) = opaque {
                    self.state_item(|id| reasoning_item::of_call_state(&opaque, id), out);
                }
                let request = &self.context.request;
                let declared = request.is_custom_tool(&name);
                let called = namespaces::called(request, &name);
                let seed = &self.context.id_seed;
                let call = OpenCall::begin(
                    call,
                    id,
                    called,
                    Form::of(custom, declared),
                    seed,
                    &mut self.events,
                    out,
                );
                self.calls.push(call);
            }
            StreamEvent::ToolInput {
                choice: 0,
                call,
                fragment,
            } => {
                if let Some(open) = self.calls.iter_mut().find(|open| open.is(call)) {
                    open.input(&fragment, &mut self.events, out);
                }
            }
            StreamEvent::ToolEnd { choice: 0, call } => {
                if let Some(open) = self.calls.iter_mut().find(|open| open.is(call)) {
                    open.end("completed", &mut self.events, out);
                }
            }
            StreamEvent::Server { choice: 0, block } if block.ends_message() => {
                if let OpenItem::Message(message) = &mut self.open {
                    message.phase = output::phase_of(&block);
                    self.close("completed", out);
                }
            }
            StreamEvent::Server { choice: 0, block }
                if block.dialect == bardo_types::model::Dialect::Responses =>
            {
                self.close("completed", out);
                self.events.whole(block.raw, out);
            }
            StreamEvent::Finish {
                choice: 0, reason, ..
            } => {
                let cut = output::is_cut(Some(reason));
                self.close_all(if cut { "incomplete" } else { "completed" }, out);
                self.finish = Some(reason);
            }
            _ => {}
        }
    }

    fn state_item(&mut self, item: impl FnOnce(&str) -> RawJson, out: &mut Vec<u8>) {
        let id = self.events.next_id("rs", &self.context.id_seed);
        self.events.whole(item(&id), out);
    }

    fn think(&mut self, text: &str, summary: bool, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        if !matches!(self.open, OpenItem::Reasoning(_)) {
            self.close("completed", out);
            let id = self.events.next_id("rs", &self.context.id_seed);
            let place = self.events.add(&reasoning_item::begun(&id), out);
            let summary = summary || output::wants_summary(&self.context);
            let thinking = OpenThinking::begin(place, id, summary, &mut self.events, out);
            self.open = OpenItem::Reasoning(thinking);
        }
        if let OpenItem::Reasoning(thinking) = &mut self.open {
            thinking.think(text, &mut self.events, out);
        }
    }

    fn end_thinking(&mut self, opaque: Option<Opaque>, out: &mut Vec<u8>) {
        if !matches!(self.open, OpenItem::Reasoning(_)) {
            if let Some(Opaque::OpenAiReasoning(raw)) = opaque {
                self.close("completed", out);
                self.think_again(raw, out);
            } else if let Some(opaque) = opaque {
                self.close("completed", out);
                let reasoning = Reasoning {
                    opaque: Some(opaque),
                    ..Reasoning::default()
                };
                let item = |id: &str| reasoning_item::of_reasoning(&reasoning, false, id);
                self.state_item(item, out);
            }
            return;
        }
        if let OpenItem::Reasoning(thinking) = std::mem::replace(&mut self.open, OpenItem::None) {
            thinking.end(opaque, &mut self.events, out);
        }
    }

    /// Writes OpenAI's own item, whose words did not go out before, with its parts and under its id.
    fn think_again(&mut self, raw: RawJson, out: &mut Vec<u8>) {
        let summary = reasoning_item::summary_of(&raw);
        let own_id = self.events.next_id("rs", &self.context.id_seed);
        let id = reasoning_item::id_of(&raw).unwrap_or(own_id);
        let place = self.events.add(&reasoning_item::begun(&id), out);
        for (index, text) in (0..).zip(summary) {
            OpenThinking::whole_part(place, &id, index, &text, &mut self.events, out);
        }
        self.events.done(place, raw, out);
    }

    fn say(&mut self, text: &str, refusal: bool, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        self.refused |= refusal;
        if !matches!(self.open, OpenItem::Message(_)) {
            self.close("completed", out);
            let id = self.events.next_id("msg", &self.context.id_seed);
            let item = output::message(&id, "in_progress", None, &[]);
            let place = self.events.add(&item, out);
            self.open = OpenItem::Message(OpenMessage::begin(place, id));
        }
        if let OpenItem::Message(message) = &mut self.open {
            if message
                .refusing()
                .is_some_and(|refusing| refusing != refusal)
            {
                message.end_part(&mut self.before, &mut self.events, out);
            }
            let logprobs = match refusal {
                true => Vec::new(),
                false => std::mem::take(&mut self.logprobs),
            };
            message.say(text, refusal, logprobs, &mut self.events, out);
        }
    }

    fn end_text(&mut self, opaque: Option<Opaque>, out: &mut Vec<u8>) {
        let mut said = String::new();
        if let OpenItem::Message(message) = &mut self.open {
            said = message.said().to_owned();
            message.weigh(std::mem::take(&mut self.logprobs));
            message.end_part(&mut self.before, &mut self.events, out);
        }
        if let Some(opaque) = opaque {
            self.close("completed", out);
            self.state_item(|id| reasoning_item::of_text_state(&opaque, &said, id), out);
        }
    }

    /// Closes the open reasoning or message.
    fn close(&mut self, status: &str, out: &mut Vec<u8>) {
        match std::mem::replace(&mut self.open, OpenItem::None) {
            OpenItem::None => {}
            OpenItem::Reasoning(thinking) => thinking.end(None, &mut self.events, out),
            OpenItem::Message(mut message) => {
                message.weigh(std::mem::take(&mut self.logprobs));
                message.end(status, &mut self.before, &mut self.events, out);
            }
        }
    }

    fn close_all(&mut self, status: &str, out: &mut Vec<u8>) {
        self.close(status, out);
        for call in &mut self.calls {
            call.end(status, &mut self.events, out);
        }
    }

    fn finish(&mut self, trailer: &str, out: &mut Vec<u8>) {
        self.close_all("completed", out);
        self.over = true;
        let status = reply::status(self.finish, self.refused);
        let kind = if status == Status::Completed {
            "response.completed"
        } else {
            "response.incomplete"
        };
        out.extend_from_slice(trailer.as_bytes());
        self.terminal(kind, status, None, out);
    }

    fn failed(&mut self, fault: &Fault, bardo_code: Option<&str>, out: &mut Vec<u8>) {
        self.over = true;
        let status = Status::Failed {
            code: failures::stream_code(fault),
            message: &fault.message,
        };
        self.terminal("response.failed", status, bardo_code, out);
    }

    fn terminal(
        &mut self,
        kind: &str,
        status: Status<'_>,
        bardo_code: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        let items = self.events.finished();
        let Self {
            events,
            frame,
            usage,
            ..
        } = self;
        if let Some(frame) = frame {
            events.write(kind, out, |event| {
                frame.write(status, &items, usage.as_ref(), event.key("response"));
                if let Some(code) = bardo_code {
                    event.set("bardo_code", code);
                }
            });
        }
    }
}
