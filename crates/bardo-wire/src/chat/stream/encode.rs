//! Neutral steps as chunks.

use bardo_types::chat::{Citation, Finish, Opaque, Reasoning, ServerBlock, StreamEvent};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;

use crate::chat::answer::encode::{
    Head, ReplyForm, block_gap, citations, explanation, finish_reason, hides_thinking,
    wants_legacy_calls, write_signature, write_thinking,
};
use crate::chat::details;
use crate::chat::stream::chunks::Chunks;
use crate::codec::{ErrorView, ReplyContext, StreamEncoder};
use crate::json::{Array, Object};
use crate::kit::custom_tools::unwrapped;

/// An encoder for a streamed answer.
#[must_use]
pub fn stream_encoder(context: ReplyContext) -> Box<dyn StreamEncoder> {
    Box::new(ChatEncoder {
        legacy: wants_legacy_calls(&context),
        chunks: Chunks::new(ReplyForm::Chunk, context),
        choices: Vec::new(),
    })
}

struct ChatEncoder {
    chunks: Chunks,
    /// The caller declared `functions`.
    legacy: bool,
    choices: Vec<ChoiceState>,
}

#[derive(Default)]
struct ChoiceState {
    begun: bool,
    finished: bool,
    refused: bool,
    /// The open thinking block; whether its words are a summary.
    thinking: Option<bool>,
    has_thought: bool,
    detail_index: u64,
    /// Characters sent, and how many of them before the open text block.
    characters: u64,
    text_start: u64,
    /// Sources of the open text block.
    citations: Vec<Citation>,
    /// Probabilities of the text that comes next.
    logprobs: Option<RawJson>,
    calls: Vec<StreamedCall>,
}

#[derive(Default)]
struct StreamedCall {
    has_input: bool,
    custom: bool,
    /// Arguments of a custom tool that came as a function, held back until complete.
    wrapped: Option<String>,
    ended: bool,
}

impl StreamEncoder for ChatEncoder {
    fn encode(&mut self, event: StreamEvent, trailer: &str, out: &mut Vec<u8>) {
        let Some(event) = self.chunks.take(event, out) else {
            return;
        };
        match event {
            StreamEvent::Start {
                id,
                model,
                created,
                service_tier,
            } => {
                self.chunks.begin(&Head {
                    id: id.as_deref(),
                    model: model.as_deref(),
                    created,
                    service_tier: service_tier.as_deref(),
                });
                self.choice(0, out);
            }
            StreamEvent::Done => self.done(trailer, out),
            StreamEvent::ToolStart { .. }
            | StreamEvent::ToolInput { .. }
            | StreamEvent::ToolEnd { .. } => self.tool(event, out),
            event => self.content(event, out),
        }
    }

    fn fail(&mut self, view: &ErrorView<'_>, out: &mut Vec<u8>) {
        self.chunks.fail(view, out);
    }
}

impl ChatEncoder {
    /// The state of a choice, after its first chunk.
    fn choice(&mut self, number: u32, out: &mut Vec<u8>) -> &mut ChoiceState {
        self.chunks.begin_anyway();
        let index = number as usize;
        while self.choices.len() <= index {
            self.choices.push(ChoiceState::default());
        }
        if !std::mem::replace(&mut self.choices[index].begun, true) {
            self.chunk(number, out, |delta| {
                delta
                    .set("role", "assistant")
                    .set("content", "")
                    .set("refusal", ());
            });
        }
        &mut self.choices[index]
    }

    fn chunk(&self, number: u32, out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
        self.chunk_with(number, None, None, out, fill);
    }

    fn chunk_with(
        &self,
        number: u32,
        logprobs: Option<&RawJson>,
        finish: Option<&str>,
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut Object<'_>),
    ) {
        self.chunks.write(out, |choice| {
            choice.set("index", number);
            fill(&mut choice.object("delta"));
            match logprobs {
                Some(raw) => choice.raw("logprobs", raw.as_str()),
                None => choice.set("logprobs", ()),
            };
            choice.set("finish_reason", finish);
        });
    }

    fn content(&mut self, event: StreamEvent, out: &mut Vec<u8>) {
        match event {
            StreamEvent::Reasoning { .. } | StreamEvent::ReasoningEnd { .. }
                if hides_thinking(&self.chunks.context) => {}
            StreamEvent::Reasoning {
                choice,
                text,
                summary,
            } => self.reasoning(choice, &text, summary, out),
            StreamEvent::ReasoningEnd { choice, opaque } => {
                self.end_text(choice, out);
                self.end_reasoning(choice, opaque, out);
            }
            StreamEvent::Text { choice, text } => {
                self.end_reasoning(choice, None, out);
                if !text.is_empty() {
                    let state = self.choice(choice, out);
                    state.characters += citations::count(&text);
                    let logprobs = state.logprobs.take();
                    self.chunk_with(choice, logprobs.as_ref(), None, out, |delta| {
                        delta.set("content", &text);
                    });
                }
            }
            StreamEvent::TextEnd { choice, .. } => self.end_text(choice, out),
            StreamEvent::Citation { choice, citation } => {
                self.end_reasoning(choice, None, out);
                self.choice(choice, out).citations.push(citation);
            }
            StreamEvent::Refusal { choice, text } => {
                self.close(choice, out);
                self.choice(choice, out).refused = true;
                self.chunk(choice, out, |delta| {
                    delta.set("refusal", &text);
                });
            }
            StreamEvent::Logprobs { choice, raw } => {
                self.logprobs_alone(choice, out);
                self.choice(choice, out).logprobs = Some(raw);
            }
            StreamEvent::Server { choice, block } => self.server(choice, &block, out),
            StreamEvent::Finish {
                choice,
                reason,
                details,
                ..
            } => self.finish(choice, reason, details.as_ref(), out),
            _ => {}
        }
    }

    /// Tells probabilities that no text came for.
    fn logprobs_alone(&mut self, number: u32, out: &mut Vec<u8>) {
        if let Some(raw) = self.choice(number, out).logprobs.take() {
            self.chunk_with(number, Some(&raw), None, out, |_| {});
        }
    }

    fn reasoning(&mut self, number: u32, text: &str, summary: bool, out: &mut Vec<u8>) {
        self.end_text(number, out);
        let original = self.chunks.context.original;
        let choice = self.choice(number, out);
        let gap = if choice.thinking.is_none() && choice.has_thought {
            block_gap(original)
        } else {
            ""
        };
        if text.is_empty() {
            return;
        }
        choice.thinking.get_or_insert(summary);
        choice.has_thought = true;
        let index = choice.detail_index;
        self.chunk(number, out, |delta| {
            write_thinking(format_args!("{gap}{text}"), original, delta);
            // Without state its words say all.
            if original.is_some_and(|it| !it.writes_details()) {
                return;
            }
            delta
                .array("reasoning_details")
                .object()
                .set("type", details::words_kind(summary))
                .set(if summary { "summary" } else { "text" }, text)
                .set("index", index);
        });
    }

    /// Tells the state of the thinking block that is over, where it has any. Its words went out
    /// before, under the same index.
    fn end_reasoning(&mut self, number: u32, opaque: Option<Opaque>, out: &mut Vec<u8>) {
        let choice = self.choice(number, out);
        let words = choice.thinking.take();
        if words.is_none() && opaque.is_none() {
            return;
        }
        let mut index = choice.detail_index;
        let mut entries = Vec::new();
        {
            let mut list = Array::new(&mut entries);
            match words {
                Some(summary) => {
                    details::write_end(opaque.as_ref(), summary, &mut index, &mut list);
                }
                None => {
                    let silent = Reasoning {
                        opaque,
                        ..Reasoning::default()
                    };
                    details::write(&silent, &mut index, &mut list);
                }
            }
        }
        choice.detail_index = index;
        if entries != b"[]" {
            self.chunk(number, out, |delta| {
                delta.key("reasoning_details").extend_from_slice(&entries);
            });
        }
    }

    /// Tells the sources of the text block that is over.
    fn end_text(&mut self, number: u32, out: &mut Vec<u8>) {
        let choice = self.choice(number, out);
        let (start, end) = (choice.text_start, choice.characters);
        choice.text_start = end;
        if choice.citations.is_empty() {
            return;
        }
        let sources = std::mem::take(&mut choice.citations);
        let mut annotations = Vec::new();
        {
            let mut list = Array::new(&mut annotations);
            for source in &sources {
                citations::write(source, start, end, &mut list);
            }
        }
        if annotations != b"[]" {
            self.chunk(number, out, |delta| {
                delta.key("annotations").extend_from_slice(&annotations);
            });
        }
    }

    fn close(&mut self, number: u32, out: &mut Vec<u8>) {
        self.end_reasoning(number, None, out);
        self.end_text(number, out);
    }

    fn server(&mut self, number: u32, block: &ServerBlock, out: &mut Vec<u8>) {
        if block.dialect == Dialect::Chat {
            self.close(number, out);
            self.chunk(number, out, |delta| {
                delta.foreign(&block.kind, block.raw.as_str());
            });
        }
    }

    fn finish(
        &mut self,
        number: u32,
        reason: Finish,
        details: Option<&RawJson>,
        out: &mut Vec<u8>,
    ) {
        self.close(number, out);
        self.logprobs_alone(number, out);
        self.end_calls(number, out);
        let choice = self.choice(number, out);
        if std::mem::replace(&mut choice.finished, true) {
            return;
        }
        let calls = !choice.calls.is_empty();
        if reason == Finish::Refusal && !std::mem::replace(&mut choice.refused, true) {
            let words = explanation(details);
            self.chunk(number, out, |delta| {
                delta.set("refusal", &words);
            });
        }
        let reason = finish_reason(Some(reason), calls, self.legacy);
        self.chunk_with(number, None, Some(reason), out, |_| {});
    }

    fn done(&mut self, trailer: &str, out: &mut Vec<u8>) {
        for number in 0..u32::try_from(self.choices.len()).unwrap_or(0) {
            if !self.choices[number as usize].finished {
                self.finish(number, Finish::Stop, None, out);
            }
        }
        self.chunks.end(trailer, out);
    }
}

/// Tool calls in the stream.
impl ChatEncoder {
    fn tool(&mut self, event: StreamEvent, out: &mut Vec<u8>) {
        match event {
            StreamEvent::ToolStart {
                choice,
                call,
                id,
                name,
                custom,
                opaque,
            } => {
                self.close(choice, out);
                self.start_call(choice, call, &id, &name, custom, opaque.as_ref(), out);
            }
            StreamEvent::ToolInput {
                choice,
                call,
                fragment,
            } => self.call_input(choice, call, &fragment, out),
            StreamEvent::ToolEnd { choice, call } => self.end_call(choice, call, out),
            _ => {}
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the members of one step, taken apart once"
    )]
    fn start_call(
        &mut self,
        number: u32,
        call: u32,
        id: &str,
        name: &str,
        custom: bool,
        opaque: Option<&Opaque>,
        out: &mut Vec<u8>,
    ) {
        let wrapped = !custom && self.chunks.context.request.is_custom_tool(name);
        let free_text = custom || wrapped;
        let calls = &mut self.choice(number, out).calls;
        while calls.len() <= call as usize {
            calls.push(StreamedCall::default());
        }
        calls[call as usize] = StreamedCall {
            custom: free_text,
            wrapped: wrapped.then(String::new),
            ..StreamedCall::default()
        };
        if self.legacy {
            if call == 0 {
                self.chunk(number, out, |delta| {
                    delta
                        .object("function_call")
                        .set("name", name)
                        .set("arguments", "");
                });
            }
            return;
        }
        self.fragment(number, call, out, |entry| {
            let (kind, input) = if free_text {
                ("custom", "input")
            } else {
                ("function", "arguments")
            };
            entry.set("id", id).set("type", kind);
            entry.object(kind).set("name", name).set(input, "");
            write_signature(opaque, entry);
        });
    }

    fn fragment(
        &self,
        number: u32,
        call: u32,
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut Object<'_>),
    ) {
        self.chunk(number, out, |delta| {
            let mut list = delta.array("tool_calls");
            let mut entry = list.object();
            entry.set("index", call);
            fill(&mut entry);
        });
    }

    fn call_input(&mut self, number: u32, call: u32, fragment: &str, out: &mut Vec<u8>) {
        if fragment.is_empty() {
            return;
        }
        let Some(state) = self.choice(number, out).calls.get_mut(call as usize) else {
            return;
        };
        state.has_input = true;
        if let Some(held) = &mut state.wrapped {
            held.push_str(fragment);
            return;
        }
        let custom = state.custom;
        self.write_input(number, call, custom, fragment, out);
    }

    fn write_input(&self, number: u32, call: u32, custom: bool, input: &str, out: &mut Vec<u8>) {
        if self.legacy {
            if call == 0 {
                self.chunk(number, out, |delta| {
                    delta.object("function_call").set("arguments", input);
                });
            }
            return;
        }
        self.fragment(number, call, out, |entry| {
            if custom {
                entry.object("custom").set("input", input);
            } else {
                entry.object("function").set("arguments", input);
            }
        });
    }

    fn end_call(&mut self, number: u32, call: u32, out: &mut Vec<u8>) {
        let Some(state) = self.choice(number, out).calls.get_mut(call as usize) else {
            return;
        };
        if std::mem::replace(&mut state.ended, true) {
            return;
        }
        let custom = state.custom;
        if let Some(held) = state.wrapped.take() {
            let input = unwrapped(&held).unwrap_or(held);
            self.write_input(number, call, true, &input, out);
        } else if !state.has_input && !custom {
            // Callers parse the arguments, so no arguments are an empty object.
            self.write_input(number, call, false, "{}", out);
        }
    }

    fn end_calls(&mut self, number: u32, out: &mut Vec<u8>) {
        let count = self.choice(number, out).calls.len();
        for call in 0..u32::try_from(count).unwrap_or(0) {
            self.end_call(number, call, out);
        }
    }
}
