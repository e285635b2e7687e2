//! A provider's stream into neutral steps.

use bardo_types::chat::{Citation, Finish, Opaque, StreamEvent};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::json::RawJson;
use serde_json::value::RawValue;

use crate::anthropic::shapes::{Block, BlockKind};
use crate::anthropic::usage::{Tally, UsageWire};
use crate::anthropic::{citation, error, finish};
use crate::codec::{DecodeContext, StreamDecoder};
use crate::json::{Lenient, Str, wire_object};
use crate::kit::custom_tools::unwrapped;
use crate::kit::steps;
use crate::sse::SseEvent;

wire_object! {
    struct EventWire<'a> {
        "type" => kind: Option<Str<'a>>,
        "index" => index: Option<u64>,
        "message" => message: Option<StartedMessage<'a>>,
        "content_block" => block: Option<Block<'a>>,
        "delta" => delta: Option<BlockDelta<'a>>,
        "usage" => usage: Lenient<UsageWire<'a>>,
    }

    struct StartedMessage<'a> {
        "id" => id: Option<Str<'a>>,
        "model" => model: Option<Str<'a>>,
        "usage" => usage: Lenient<UsageWire<'a>>,
    }

    struct BlockDelta<'a> {
        "type" => kind: Option<Str<'a>>,
        "text" => text: Option<Str<'a>>,
        "thinking" => thinking: Option<Str<'a>>,
        "signature" => signature: Option<Str<'a>>,
        "partial_json" => partial_json: Option<Str<'a>>,
        "citation" => citation: Option<&'a RawValue>,
        "content" => content: Option<&'a RawValue>,
        "stop_reason" => stop_reason: Option<Str<'a>>,
        "stop_sequence" => stop_sequence: Option<Str<'a>>,
        "stop_details" => stop_details: Option<&'a RawValue>,
    }
}

/// More blocks than any answer has open at once; a stream that opens them for ever has failed.
const MAX_OPEN: usize = 1_024;

/// A decoder of one Messages stream.
#[must_use]
pub fn stream_decoder(context: DecodeContext) -> Box<dyn StreamDecoder> {
    Box::new(MessagesDecoder {
        context,
        started: false,
        over: false,
        told: None,
        open: Vec::new(),
        calls: 0,
        last_call_is_whole: false,
        written: 0,
        tally: Tally::default(),
    })
}

struct MessagesDecoder {
    context: DecodeContext,
    started: bool,
    over: bool,
    /// Why the answer ended, as told so far.
    told: Option<PendingFinish>,
    /// Blocks that have begun, by index. The protocol has one at a time; others are tolerated.
    open: Vec<(u64, IncomingBlock)>,
    calls: u32,
    last_call_is_whole: bool,
    /// Characters of text so far.
    written: u64,
    tally: Tally,
}

/// A reason is handed on only when the message is over: words or a call may still follow it, and
/// a stream that breaks after it must not look finished.
struct PendingFinish {
    reason: Finish,
    stop_sequence: Option<String>,
    details: Option<RawJson>,
}

enum IncomingBlock {
    Text {
        from: u64,
        citations: Vec<Citation>,
    },
    Thinking {
        signature: String,
    },
    Redacted {
        data: String,
    },
    Call {
        call: u32,
        /// Input given in the block's start, used when no fragment follows.
        initial: String,
        input: String,
        custom: bool,
    },
    /// A block kept as written; `input` collects fragments and `content` a late content.
    Server {
        raw: RawJson,
        input: String,
        content: Option<RawJson>,
    },
}

impl StreamDecoder for MessagesDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut Vec<StreamEvent>) {
        if self.over || matches!(event.name, "ping") {
            return;
        }
        let wire: EventWire<'_> = match serde_json::from_slice(event.data) {
            Ok(wire) => wire,
            Err(_) if is_known(event.name) => {
                self.fail(
                    FaultClass::Malformed,
                    "the provider sent an invalid event",
                    out,
                );
                return;
            }
            Err(_) => return,
        };
        let kind = wire.kind.as_deref().unwrap_or(event.name);
        match kind {
            "message_start" => self.start(wire.message.unwrap_or_default(), out),
            "content_block_start" => {
                if let Some(block) = wire.block {
                    self.block_start(wire.index.unwrap_or(0), block, out);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = wire.delta {
                    self.delta(wire.index.unwrap_or(0), delta, out);
                }
            }
            "content_block_stop" => self.block_stop(wire.index.unwrap_or(0), out),
            "message_delta" => {
                if let Some(usage) = &wire.usage.0 {
                    self.tally.take(usage);
                    out.push(StreamEvent::Usage(self.tally.usage()));
                }
                if let Some(delta) = wire.delta {
                    self.finish(delta, out);
                }
            }
            "message_stop" => self.stop(out),
            "error" => {
                self.over = true;
                out.push(StreamEvent::Failed(error::fault_in_stream(event.data)));
            }
            _ => {}
        }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        if !self.over {
            self.fail(
                FaultClass::Connection,
                "the provider's stream stopped before its end",
                out,
            );
        }
    }
}

fn is_known(name: &str) -> bool {
    matches!(
        name,
        "message_start"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message_delta"
            | "message_stop"
    )
}

impl MessagesDecoder {
    fn fail(&mut self, class: FaultClass, message: &'static str, out: &mut Vec<StreamEvent>) {
        self.over = true;
        out.push(StreamEvent::Failed(Fault::new(class, message)));
    }

    fn start(&mut self, message: StartedMessage<'_>, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let tier = message
            .usage
            .0
            .as_ref()
            .and_then(|usage| usage.service_tier.as_deref())
            .map(str::to_owned);
        out.push(StreamEvent::Start {
            id: message.id.map(Str::into_string),
            model: message.model.map(Str::into_string),
            created: None,
            service_tier: tier,
        });
        if let Some(usage) = &message.usage.0 {
            self.tally.begin(usage);
            out.push(StreamEvent::Usage(self.tally.usage()));
        }
    }

    fn block_start(&mut self, index: u64, block: Block<'_>, out: &mut Vec<StreamEvent>) {
        // A block whose end was never told is over when its index comes again.
        self.block_stop(index, out);
        if self.open.len() == MAX_OPEN {
            self.fail(
                FaultClass::Malformed,
                "the provider sent too many content blocks",
                out,
            );
            return;
        }
        let open = match block.kind {
            BlockKind::Text => {
                let from = self.written;
                self.text(block.text.as_deref().unwrap_or_default(), out);
                IncomingBlock::Text {
                    from,
                    citations: Vec::new(),
                }
            }
            BlockKind::Thinking => {
                thinking(block.text.as_deref().unwrap_or_default(), out);
                IncomingBlock::Thinking {
                    signature: block.signature.as_deref().unwrap_or_default().to_owned(),
                }
            }
            BlockKind::Redacted => IncomingBlock::Redacted {
                data: block.text.as_deref().unwrap_or_default().to_owned(),
            },
            BlockKind::ToolUse => self.call_start(block, out),
            _ => IncomingBlock::Server {
                raw: block.into_server(None).raw,
                input: String::new(),
                content: None,
            },
        };
        self.open.push((index, open));
    }

    fn call_start(&mut self, block: Block<'_>, out: &mut Vec<StreamEvent>) -> IncomingBlock {
        let name = block.name.map(Str::into_string).unwrap_or_default();
        let name = self.context.original_tool_name(&name).to_owned();
        let custom = self.context.request.is_custom_tool(&name);
        let call = self.calls;
        self.calls += 1;
        let id = match block.id.map(Str::into_string) {
            Some(id) if !id.is_empty() => id,
            _ => format!("toolu_{}_{call}", self.context.id_seed),
        };
        out.push(StreamEvent::ToolStart {
            choice: 0,
            call,
            id,
            name,
            custom,
            opaque: None,
        });
        IncomingBlock::Call {
            call,
            initial: block.input.map_or("{}", RawValue::get).to_owned(),
            input: String::new(),
            custom,
        }
    }

    fn text(&mut self, text: &str, out: &mut Vec<StreamEvent>) {
        if !text.is_empty() {
            self.written += text.chars().count() as u64;
            out.push(steps::text(0, text));
        }
    }

    fn delta(&mut self, index: u64, delta: BlockDelta<'_>, out: &mut Vec<StreamEvent>) {
        let Some(place) = self.open.iter().position(|(open, _)| *open == index) else {
            return;
        };
        match (&mut self.open[place].1, delta.kind.as_deref()) {
            (IncomingBlock::Text { .. }, Some("text_delta")) => {
                let text = delta.text.unwrap_or_default();
                self.text(&text, out);
            }
            (IncomingBlock::Text { citations, .. }, Some("citations_delta")) => {
                citations.extend(delta.citation.map(citation::read));
            }
            (IncomingBlock::Thinking { .. }, Some("thinking_delta")) => {
                thinking(delta.thinking.as_deref().unwrap_or_default(), out);
            }
            (IncomingBlock::Thinking { signature }, Some("signature_delta")) => {
                signature.push_str(delta.signature.as_deref().unwrap_or_default());
            }
            (
                IncomingBlock::Call {
                    call,
                    input,
                    custom,
                    ..
                },
                Some("input_json_delta"),
            ) => {
                let fragment = delta.partial_json.unwrap_or_default();
                if fragment.is_empty() {
                    return;
                }
                input.push_str(&fragment);
                if !*custom {
                    out.push(steps::tool_input(0, *call, fragment.into_string()));
                }
            }
            (IncomingBlock::Server { input, .. }, Some("input_json_delta")) => {
                input.push_str(delta.partial_json.as_deref().unwrap_or_default());
            }
            (IncomingBlock::Server { content, .. }, Some("compaction_delta")) => {
                *content = delta.content.map(RawJson::from);
            }
            _ => {}
        }
    }

    fn block_stop(&mut self, index: u64, out: &mut Vec<StreamEvent>) {
        let Some(place) = self.open.iter().position(|(open, _)| *open == index) else {
            return;
        };
        match self.open.remove(place).1 {
            IncomingBlock::Text { from, citations } => {
                if self.written == from && citations.is_empty() {
                    return;
                }
                for mut citation in citations {
                    citation::place(&mut citation, from, self.written);
                    out.push(steps::citation(0, citation));
                }
                out.push(steps::text_end(0, None));
            }
            IncomingBlock::Thinking { signature } => out.push(steps::reasoning_end(
                0,
                (!signature.is_empty()).then_some(Opaque::AnthropicSignature(signature)),
            )),
            IncomingBlock::Redacted { data } => out.push(steps::reasoning_end(
                0,
                Some(Opaque::AnthropicRedacted(data)),
            )),
            IncomingBlock::Call {
                call,
                initial,
                input,
                custom,
            } => self.call_stop(call, &initial, &input, custom, out),
            IncomingBlock::Server {
                raw,
                input,
                content,
            } => server(&raw, &input, content.as_ref(), out),
        }
    }

    fn call_stop(
        &mut self,
        call: u32,
        initial: &str,
        input: &str,
        custom: bool,
        out: &mut Vec<StreamEvent>,
    ) {
        let whole = if input.trim().is_empty() {
            initial
        } else {
            input
        };
        let fragment = if custom {
            unwrapped(whole).unwrap_or_else(|| whole.to_owned())
        } else if input.trim().is_empty() {
            initial.to_owned()
        } else {
            String::new()
        };
        if !fragment.is_empty() {
            out.push(steps::tool_input(0, call, fragment));
        }
        self.last_call_is_whole = serde_json::from_str::<serde::de::IgnoredAny>(whole).is_ok();
        out.push(StreamEvent::ToolEnd { choice: 0, call });
    }

    fn close_all(&mut self, out: &mut Vec<StreamEvent>) {
        while let Some((index, _)) = self.open.first() {
            self.block_stop(*index, out);
        }
    }

    fn finish(&mut self, delta: BlockDelta<'_>, out: &mut Vec<StreamEvent>) {
        let Some(reason) = delta.stop_reason else {
            return;
        };
        if self.told.is_some() {
            return;
        }
        self.close_all(out);
        self.told = Some(PendingFinish {
            reason: finish::parse(&reason),
            stop_sequence: delta.stop_sequence.map(Str::into_string),
            details: delta.stop_details.map(RawJson::from),
        });
    }

    fn stop(&mut self, out: &mut Vec<StreamEvent>) {
        if !self.started {
            self.fail(
                FaultClass::Malformed,
                "the provider ended a message that it did not start",
                out,
            );
            return;
        }
        self.close_all(out);
        let told = self.told.take().unwrap_or(PendingFinish {
            reason: Finish::Unknown,
            stop_sequence: None,
            details: None,
        });
        out.push(StreamEvent::Finish {
            choice: 0,
            reason: finish::with_calls(told.reason, self.calls > 0, self.last_call_is_whole),
            stop_sequence: told.stop_sequence,
            details: told.details,
        });
        self.over = true;
        out.push(StreamEvent::Done);
    }
}

fn thinking(text: &str, out: &mut Vec<StreamEvent>) {
    if !text.is_empty() {
        out.push(steps::reasoning(0, text, false));
    }
}

/// A block of Anthropic's own is handed over whole, with what arrived after its start put in.
fn server(raw: &RawJson, input: &str, content: Option<&RawJson>, out: &mut Vec<StreamEvent>) {
    let replaced = match content {
        Some(content) => Some(("content", content.as_str())),
        None if RawJson::parse(input).is_ok() => Some(("input", input)),
        None => None,
    };
    if let Ok(block) = raw.read::<Block<'_>>() {
        out.push(steps::server(0, block.into_server(replaced)));
    }
}
