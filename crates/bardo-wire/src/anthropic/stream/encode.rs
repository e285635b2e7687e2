//! Neutral steps into a caller's stream.

use std::collections::VecDeque;

use bardo_types::chat::{Finish, Opaque, ServerBlock, StreamEvent};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use bardo_types::usage::Usage;
use serde::de::IgnoredAny;

use crate::anthropic::answer::encode::{message_id, stop_details};
use crate::anthropic::blocks_out::{CALL_STATE, TEXT_STATE};
use crate::anthropic::{blocks_out, citation, error, finish, usage};
use crate::codec::{ErrorView, ReplyContext, StreamEncoder};
use crate::json::{Members, Object, object};

/// An encoder of one Messages stream.
#[must_use]
pub fn stream_encoder(context: ReplyContext) -> Box<dyn StreamEncoder> {
    Box::new(MessagesEncoder {
        context,
        started: false,
        over: false,
        index: 0,
        open: OpenBlock::None,
        waiting: VecDeque::new(),
        text_state: None,
        calls: 0,
        refused: false,
        usage: Usage::default(),
        service_tier: None,
        finish: None,
    })
}

/// One block is open at a time. While a call's input is unfinished, steps of other blocks wait, so
/// that interleaved calls come out one after another.
struct MessagesEncoder {
    context: ReplyContext,
    started: bool,
    over: bool,
    /// Index of the next block.
    index: u64,
    open: OpenBlock,
    waiting: VecDeque<StreamEvent>,
    /// State bound to the text before, written when another block follows: agents take the last
    /// block of an answer for its result, so an answer must not end in a block without words.
    text_state: Option<Opaque>,
    calls: usize,
    refused: bool,
    usage: Usage,
    service_tier: Option<String>,
    finish: Option<(Finish, Option<String>, Option<RawJson>)>,
}

enum OpenBlock {
    None,
    Thinking,
    Text,
    Call {
        call: u32,
        custom: bool,
        /// Input so far, to know when it is complete.
        input: String,
    },
}

impl StreamEncoder for MessagesEncoder {
    fn encode(&mut self, event: StreamEvent, trailer: &str, out: &mut Vec<u8>) {
        if self.over {
            return;
        }
        match event {
            StreamEvent::Start {
                id,
                model,
                service_tier,
                ..
            } => {
                self.service_tier = service_tier;
                self.start(id.as_deref(), model.as_deref(), out);
            }
            StreamEvent::Usage(usage) => self.usage.supersede(&usage),
            StreamEvent::Finish {
                choice: 0,
                reason,
                stop_sequence,
                details,
            } => {
                self.settle(out);
                self.finish = Some((reason, stop_sequence, details));
            }
            StreamEvent::Done => self.done(trailer, out),
            StreamEvent::Failed(fault) => {
                self.over = true;
                let mut body = Vec::with_capacity(256);
                error::write_error(&mut body, &fault, None, None);
                out.extend_from_slice(b"event: error\ndata: ");
                out.extend_from_slice(&body);
                out.extend_from_slice(b"\n\n");
            }
            event => {
                if choice_of(&event) == Some(0) {
                    self.begin(out);
                    self.step(event, out);
                }
            }
        }
    }

    fn fail(&mut self, view: &ErrorView<'_>, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.over, true) {
            out.extend_from_slice(&error::encode_stream_error(view));
        }
    }
}

/// The answer a step belongs to; this dialect has one.
fn choice_of(event: &StreamEvent) -> Option<u32> {
    match event {
        StreamEvent::Reasoning { choice, .. }
        | StreamEvent::ReasoningEnd { choice, .. }
        | StreamEvent::Text { choice, .. }
        | StreamEvent::TextEnd { choice, .. }
        | StreamEvent::Citation { choice, .. }
        | StreamEvent::Refusal { choice, .. }
        | StreamEvent::ToolStart { choice, .. }
        | StreamEvent::ToolInput { choice, .. }
        | StreamEvent::ToolEnd { choice, .. }
        | StreamEvent::Server { choice, .. } => Some(*choice),
        _ => None,
    }
}

/// Writes one event with both of its lines; clients skip events without the first.
fn emit(out: &mut Vec<u8>, name: &str, fill: impl FnOnce(&mut Object<'_>)) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    object(out, |event| {
        event.set("type", name);
        fill(event);
    });
    out.extend_from_slice(b"\n\n");
}

impl MessagesEncoder {
    fn begin(&mut self, out: &mut Vec<u8>) {
        if !self.started {
            self.start(None, None, out);
        }
    }

    fn start(&mut self, id: Option<&str>, model: Option<&str>, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        emit(out, "message_start", |event| {
            event.nest("message", |message| {
                message.set("id", message_id(id, &self.context));
                message.set("type", "message");
                message.set("role", "assistant");
                message.set("model", model.unwrap_or(&self.context.model));
                message.raw("content", "[]");
                message.raw("stop_reason", "null");
                message.raw("stop_sequence", "null");
                message.raw("stop_details", "null");
                message.raw("container", "null");
                message.nest("usage", |object| {
                    usage::write_counts(object, &self.usage);
                    object.set(
                        "service_tier",
                        usage::tier_name(self.service_tier.as_deref()),
                    );
                });
            });
        });
    }

    /// Takes a step, or sets it aside while an unfinished call is open.
    fn step(&mut self, event: StreamEvent, out: &mut Vec<u8>) {
        if self.belongs_to_open_call(&event) {
            self.write(event, out);
        } else if !self.waiting.is_empty() || self.is_unfinished_call() {
            self.waiting.push_back(event);
        } else {
            self.write(event, out);
            return;
        }
        // The call may be complete by now, and then others need not wait longer.
        while !self.waiting.is_empty() && !self.is_unfinished_call() {
            self.replay(out);
        }
    }

    /// Takes the steps set aside once more, in their order.
    fn replay(&mut self, out: &mut Vec<u8>) {
        for event in std::mem::take(&mut self.waiting) {
            if !self.belongs_to_open_call(&event)
                && (!self.waiting.is_empty() || self.is_unfinished_call())
            {
                self.waiting.push_back(event);
            } else {
                self.write(event, out);
            }
        }
    }

    fn belongs_to_open_call(&self, event: &StreamEvent) -> bool {
        let OpenBlock::Call { call: open, .. } = &self.open else {
            return false;
        };
        matches!(
            event,
            StreamEvent::ToolInput { call, .. } | StreamEvent::ToolEnd { call, .. } if call == open
        )
    }

    /// Whether more input may come for the open call: JSON that parses is complete.
    fn is_unfinished_call(&self) -> bool {
        match &self.open {
            OpenBlock::Call {
                custom: false,
                input,
                ..
            } => !input.ends_with('}') || serde_json::from_str::<IgnoredAny>(input).is_err(),
            OpenBlock::Call { custom: true, .. } => true,
            _ => false,
        }
    }

    /// No more steps will come: closes what is open and writes what waited.
    fn settle(&mut self, out: &mut Vec<u8>) {
        self.close(out);
        while !self.waiting.is_empty() {
            self.replay(out);
            self.close(out);
        }
    }

    fn write(&mut self, event: StreamEvent, out: &mut Vec<u8>) {
        match event {
            StreamEvent::Reasoning { text, .. } if !text.is_empty() => {
                if !matches!(self.open, OpenBlock::Thinking) {
                    self.open_thinking(out);
                }
                self.delta(out, |delta| {
                    delta.set("type", "thinking_delta");
                    delta.set("thinking", &text);
                });
            }
            StreamEvent::ReasoningEnd { opaque, .. } => self.reasoning_end(opaque.as_ref(), out),
            StreamEvent::Text { text, .. } => self.text(&text, out),
            StreamEvent::Refusal { text, .. } => {
                self.refused = true;
                self.text(&text, out);
            }
            StreamEvent::TextEnd { opaque, .. } => {
                if matches!(self.open, OpenBlock::Text) {
                    self.close(out);
                }
                self.text_state = opaque;
            }
            StreamEvent::Citation { citation, .. } => {
                let wire = citation::to_wire(&citation);
                if let (Some(wire), OpenBlock::Text) = (wire, &self.open) {
                    self.delta(out, |delta| {
                        delta.set("type", "citations_delta");
                        delta.raw("citation", wire.as_str());
                    });
                }
            }
            StreamEvent::Server { block, .. } => self.server(&block, out),
            event => self.write_call(event, out),
        }
    }

    fn write_call(&mut self, event: StreamEvent, out: &mut Vec<u8>) {
        match event {
            StreamEvent::ToolStart {
                call,
                id,
                name,
                custom,
                opaque,
                ..
            } => {
                if let Some(opaque) = &opaque {
                    self.bound_state(opaque, CALL_STATE, out);
                }
                let id = blocks_out::call_id(&id, &self.context.id_seed, self.calls);
                self.calls += 1;
                self.block_start(out, |block| {
                    block.set("type", "tool_use");
                    block.set("id", &id);
                    block.set("name", &name);
                    block.raw("input", "{}");
                    block.raw(blocks_out::CALLER, blocks_out::CALLED_BY_THE_MODEL);
                });
                self.open = OpenBlock::Call {
                    call,
                    custom,
                    input: String::new(),
                };
            }
            StreamEvent::ToolInput { call, fragment, .. } => self.input(call, &fragment, out),
            StreamEvent::ToolEnd { call, .. } => {
                if matches!(&self.open, OpenBlock::Call { call: open, .. } if *open == call) {
                    self.close(out);
                }
            }
            _ => {}
        }
    }

    fn input(&mut self, to: u32, fragment: &str, out: &mut Vec<u8>) {
        let OpenBlock::Call {
            call,
            custom,
            input,
        } = &mut self.open
        else {
            return;
        };
        if *call != to || fragment.is_empty() {
            return;
        }
        let text = if *custom {
            // Free text becomes the one member of an object, escaped as it flows.
            let quoted = serde_json::to_string(fragment).expect("a string always serializes");
            let escaped = &quoted[1..quoted.len() - 1];
            if input.is_empty() {
                format!("{{\"input\":\"{escaped}")
            } else {
                escaped.to_owned()
            }
        } else {
            fragment.to_owned()
        };
        input.push_str(&text);
        self.delta(out, |delta| {
            delta.set("type", "input_json_delta");
            delta.set("partial_json", &text);
        });
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        if !matches!(self.open, OpenBlock::Text) {
            self.block_start(out, |block| {
                block.set("type", "text");
                block.set("text", "");
            });
            self.open = OpenBlock::Text;
        }
        self.delta(out, |delta| {
            delta.set("type", "text_delta");
            delta.set("text", text);
        });
    }

    fn open_thinking(&mut self, out: &mut Vec<u8>) {
        self.block_start(out, |block| blocks_out::thinking_members(block, "", ""));
        self.open = OpenBlock::Thinking;
    }

    fn reasoning_end(&mut self, opaque: Option<&Opaque>, out: &mut Vec<u8>) {
        let is_open = matches!(self.open, OpenBlock::Thinking);
        match opaque {
            Some(Opaque::AnthropicRedacted(data)) => {
                self.block_start(out, |block| {
                    block.set("type", "redacted_thinking");
                    block.set("data", data);
                });
                self.block_stop(out);
            }
            None if !is_open => {}
            opaque => {
                if !is_open {
                    self.open_thinking(out);
                }
                self.sign(&blocks_out::signature(opaque), out);
            }
        }
    }

    /// Ends the open thinking block with its signature.
    fn sign(&mut self, signature: &str, out: &mut Vec<u8>) {
        self.delta(out, |delta| {
            delta.set("type", "signature_delta");
            delta.set("signature", signature);
        });
        self.open = OpenBlock::None;
        self.block_stop(out);
    }

    /// State bound to a call or a text, in a thinking block of its own.
    fn bound_state(&mut self, opaque: &Opaque, to: &str, out: &mut Vec<u8>) {
        self.open_thinking(out);
        self.sign(&blocks_out::bound_signature(opaque, to), out);
    }

    fn server(&mut self, block: &ServerBlock, out: &mut Vec<u8>) {
        if block.dialect != Dialect::Anthropic {
            return;
        }
        let input = match &*block.kind {
            "server_tool_use" | "mcp_tool_use" => block
                .raw
                .read::<Members<'_>>()
                .ok()
                .and_then(|members| Some((members.get("input")?.get().to_owned(), members))),
            _ => None,
        };
        match input {
            Some((input, members)) => {
                let start = members.to_raw(Some(("input", "{}")));
                self.raw_block_start(start.as_str(), out);
                self.delta(out, |delta| {
                    delta.set("type", "input_json_delta");
                    delta.set("partial_json", &input);
                });
            }
            None => self.raw_block_start(block.raw.as_str(), out),
        }
        self.block_stop(out);
    }

    fn block_start(&mut self, out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
        self.close_for_another(out);
        emit(out, "content_block_start", |event| {
            event.set("index", self.index);
            event.nest("content_block", fill);
        });
    }

    fn raw_block_start(&mut self, block: &str, out: &mut Vec<u8>) {
        self.close_for_another(out);
        emit(out, "content_block_start", |event| {
            event.set("index", self.index);
            event.raw("content_block", block);
        });
    }

    fn close_for_another(&mut self, out: &mut Vec<u8>) {
        self.close(out);
        if let Some(opaque) = self.text_state.take() {
            self.bound_state(&opaque, TEXT_STATE, out);
        }
    }

    fn delta(&self, out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
        emit(out, "content_block_delta", |event| {
            event.set("index", self.index);
            event.nest("delta", fill);
        });
    }

    fn block_stop(&mut self, out: &mut Vec<u8>) {
        emit(out, "content_block_stop", |event| {
            event.set("index", self.index);
        });
        self.index += 1;
    }

    /// Closes the open block, if any.
    fn close(&mut self, out: &mut Vec<u8>) {
        match std::mem::replace(&mut self.open, OpenBlock::None) {
            OpenBlock::None => {}
            OpenBlock::Text => self.block_stop(out),
            OpenBlock::Thinking => self.sign(&blocks_out::signature(None), out),
            OpenBlock::Call { custom, input, .. } => {
                if custom && !input.is_empty() {
                    self.delta(out, |delta| {
                        delta.set("type", "input_json_delta");
                        delta.set("partial_json", "\"}");
                    });
                }
                self.block_stop(out);
            }
        }
    }

    fn done(&mut self, trailer: &str, out: &mut Vec<u8>) {
        self.over = true;
        self.begin(out);
        self.settle(out);
        let (told, stop_sequence, details) =
            self.finish.take().unwrap_or((Finish::Stop, None, None));
        let reason = match told {
            Finish::Stop | Finish::Unknown if self.refused && self.calls == 0 => Finish::Refusal,
            Finish::Length | Finish::ContextWindow => told,
            told => finish::with_calls(told, self.calls > 0, true),
        };
        emit(out, "message_delta", |event| {
            event.nest("delta", |delta| {
                delta.set("stop_reason", finish::name(reason));
                delta.set("stop_sequence", &stop_sequence);
                delta.raw("stop_details", &stop_details(reason, details.as_ref()));
                delta.raw("container", "null");
            });
            event.nest("usage", |object| usage::write_counts(object, &self.usage));
        });
        out.extend_from_slice(trailer.as_bytes());
        emit(out, "message_stop", |_| {});
    }
}
