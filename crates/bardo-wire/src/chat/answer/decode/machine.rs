//! From deltas to neutral steps. A whole answer is one large delta, so that both ways of answering
//! mean the same by construction.

use std::borrow::Cow;

use bardo_types::chat::{Citation, Finish, Opaque, ServerBlock, StreamEvent};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use serde_json::value::RawValue;

use super::calls::IncomingCalls;
use super::sources;
use crate::chat::details;
use crate::chat::details::{Detail, DetailBlock};
use crate::chat::shapes::answer::{Delta, WireChoice};
use crate::codec::DecodeContext;
use crate::kit::messages::malformed;
use crate::kit::steps;

/// More answers than anybody may ask for; an index beyond is nonsense.
const MAX_CHOICES: u32 = 128;

/// More sources than anybody reads.
const MAX_CITATIONS: usize = 1_024;

/// What Venice writes where thinking is there but may not be read.
const HIDDEN_REASONING: &str = "[Some reasoning content is encrypted]";

/// The choices of one answer as they grow.
#[derive(Default)]
pub(super) struct Machine {
    choices: Vec<Growing>,
}

#[derive(Default)]
struct Growing {
    open: OpenReasoning,
    calls: IncomingCalls,
    /// Sources that name no place in the text, told before it ends.
    citations: Vec<Citation>,
    has_text: bool,
    refused: bool,
    finish: Option<Finish>,
    stop_sequence: Option<String>,
}

#[derive(Default)]
enum OpenReasoning {
    #[default]
    Nothing,
    /// `reasoning_content`, whose text is all there is.
    Reasoning,
    /// A block of `reasoning_details`, and whether it had words.
    Details(Box<DetailBlock>, bool),
    Text,
}

impl Machine {
    /// Takes one choice of a chunk, or of a whole answer (`whole`).
    pub(super) fn take(
        &mut self,
        wire: &WireChoice<'_>,
        place: usize,
        whole: bool,
        context: &DecodeContext,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), Fault> {
        let fallback = if whole {
            u32::try_from(place).unwrap_or(0)
        } else {
            0
        };
        let number = wire.index.unwrap_or(fallback);
        if number >= MAX_CHOICES {
            return Err(malformed("the answer has a choice with too large an index"));
        }
        if let Some(error) = wire.error {
            return Err(crate::chat::error::decode::of_value(
                error.get(),
                context.target.service,
            ));
        }
        let index = number as usize;
        if let Some(more) = (index + 1).checked_sub(self.choices.len()) {
            self.choices.reserve_exact(more);
            self.choices.resize_with(index + 1, Growing::default);
        }
        let choice = &mut self.choices[index];
        let mut growth = Growth {
            choice,
            number,
            whole,
            context,
            out,
        };
        let delta = if whole {
            wire.message.as_ref().or(wire.delta.as_ref())
        } else {
            wire.delta.as_ref().or(wire.message.as_ref())
        };
        if let Some(raw) = wire.logprobs {
            growth.out.push(StreamEvent::Logprobs {
                choice: number,
                raw: raw.into(),
            });
        }
        if let Some(delta) = delta {
            growth.take(delta);
        }
        if growth.choice.calls.are_too_many() {
            return Err(malformed("the answer has too many tool calls"));
        }
        choice_end(wire, &mut self.choices[index], context)
    }

    /// Notes a source that the service tells beside the choices (Venice, Perplexity).
    pub(super) fn cite(&mut self, citation: Citation) {
        if self.choices.is_empty() {
            self.choices.push(Growing::default());
        }
        let known = &mut self.choices[0].citations;
        if known.len() < MAX_CITATIONS && !known.contains(&citation) {
            known.push(citation);
        }
    }

    /// Whether every choice said why it ended.
    pub(super) fn is_finished(&self) -> bool {
        !self.choices.is_empty() && self.choices.iter().all(|choice| choice.finish.is_some())
    }

    /// Closes all choices. Their reasons are told only here, when nothing can follow any more: a
    /// call may come after its finish reason, and a broken stream must not look finished.
    pub(super) fn finish(&mut self, context: &DecodeContext, out: &mut Vec<StreamEvent>) {
        for (number, choice) in (0..).zip(&mut self.choices) {
            let mut growth = Growth {
                choice,
                number,
                whole: true,
                context,
                out,
            };
            growth.close();
            growth.close_calls();
            let reason = growth.reason();
            let stop_sequence = growth.choice.stop_sequence.take();
            growth.out.push(StreamEvent::Finish {
                choice: number,
                reason,
                stop_sequence,
                details: None,
            });
        }
    }
}

/// Reads why a choice ended, where it did.
fn choice_end(
    wire: &WireChoice<'_>,
    choice: &mut Growing,
    context: &DecodeContext,
) -> Result<(), Fault> {
    let Some(reason) = wire.finish_reason.get() else {
        return Ok(());
    };
    let mut small = Cow::Borrowed(reason);
    if reason.bytes().any(|letter| letter.is_ascii_uppercase()) {
        small.to_mut().make_ascii_lowercase();
    }
    let finish = match &*small {
        "stop" | "end_turn" | "eos" | "eos_token" | "completed" => Finish::Stop,
        "stop_sequence" => Finish::StopSequence,
        "length" | "max_tokens" | "max_output_tokens" | "model_length" => Finish::Length,
        "model_context_window_exceeded" => Finish::ContextWindow,
        "tool_calls" | "tool_call" | "tool_use" | "function_call" => Finish::ToolCalls,
        "content_filter" | "refusal" | "safety" | "prohibited_content" | "recitation"
        | "blocklist" | "spii" => Finish::Refusal,
        "pause_turn" => Finish::Pause,
        "insufficient_system_resource" => {
            return Err(Fault::new(
                FaultClass::Overloaded,
                "the provider ran out of resources before the answer was complete",
            )
            .with_code(reason));
        }
        "error" => {
            return Err(Fault::new(
                FaultClass::Server,
                "the provider ended the answer with an error",
            ));
        }
        _ => {
            let shown: String = reason.chars().take(64).collect();
            return Err(malformed(format!(
                "the answer ended with an unknown finish reason: `{shown}`"
            )));
        }
    };
    choice.finish = Some(match choice.finish {
        None => finish,
        Some(told) => both(told, finish),
    });
    if let Some(text) = wire.stop_reason.get()
        && finish == Finish::Stop
        && context.request.stop.iter().any(|stop| stop == text)
    {
        choice.finish = Some(Finish::StopSequence);
        choice.stop_sequence = Some(text.to_owned());
    }
    Ok(())
}

/// What a choice ended with that names two reasons. The first one counts, unless the second one says
/// that there is less than a whole answer.
const fn both(first: Finish, second: Finish) -> Finish {
    match (first, second) {
        (
            Finish::Stop | Finish::StopSequence,
            Finish::Length | Finish::ContextWindow | Finish::Refusal | Finish::Pause,
        ) => Finish::Unknown,
        _ => first,
    }
}

/// One choice while something is added to it.
struct Growth<'a> {
    choice: &'a mut Growing,
    number: u32,
    whole: bool,
    context: &'a DecodeContext,
    out: &'a mut Vec<StreamEvent>,
}

impl Growth<'_> {
    fn take(&mut self, delta: &Delta<'_>) {
        self.take_reasoning(delta);
        if let Some(signature) = delta.thought_signature.get() {
            self.close();
            self.out.push(steps::reasoning_end(
                self.number,
                Some(details::thought_signature(signature)),
            ));
        }
        let text = delta.content.get();
        if !text.is_empty() {
            if !matches!(self.choice.open, OpenReasoning::Text) {
                self.close();
                self.choice.open = OpenReasoning::Text;
            }
            self.choice.has_text = true;
            self.out.push(steps::text(self.number, text));
        }
        if let Some(text) = delta.refusal.get() {
            self.close();
            self.choice.refused = true;
            self.out.push(steps::refusal(self.number, text));
        }
        for raw in delta.annotations.iter().flatten() {
            if let Some(citation) = sources::annotated(raw) {
                self.out.push(steps::citation(self.number, citation));
            }
        }
        for (kind, raw) in [("audio", delta.audio), ("images", delta.images)] {
            if let Some(raw) = raw {
                self.take_block(kind, raw.into());
            }
        }
        if let Some(parts) = delta.content.others() {
            self.take_block("content_parts", parts);
        }
        for (place, fragment) in delta.tool_calls.iter().flatten().enumerate() {
            self.close();
            let place = self.whole.then_some(place);
            self.choice
                .calls
                .take(fragment, place, self.number, self.context, self.out);
        }
        if let Some(function) = &delta.function_call {
            self.close();
            self.choice
                .calls
                .take_legacy(function, self.number, self.context, self.out);
        }
    }

    /// Takes what this dialect alone understands.
    fn take_block(&mut self, kind: &str, raw: RawJson) {
        self.close();
        let block = ServerBlock {
            dialect: Dialect::Chat,
            kind: kind.into(),
            raw,
        };
        self.out.push(steps::server(self.number, block));
    }

    fn take_reasoning(&mut self, delta: &Delta<'_>) {
        let raws = delta.reasoning_details.as_deref().unwrap_or_default();
        let details: Vec<(Detail<'_>, &RawValue)> = raws
            .iter()
            .filter_map(|raw| Some((Detail::read(raw)?, *raw)))
            .collect();
        // Where details have the words, the plain member only repeats them.
        if details
            .iter()
            .all(|(detail, _)| detail.words().0.is_empty())
        {
            let plain = delta.reasoning_content.get().or(delta.reasoning.get());
            self.take_plain_reasoning(plain.or(delta.content.thinking()));
        }
        for (detail, raw) in details {
            let goes_on = !self.whole
                && matches!(&self.choice.open, OpenReasoning::Details(block, _) if block.continues_with(&detail));
            if !goes_on {
                self.close();
            }
            let (text, summary) = detail.words();
            if !text.is_empty() {
                self.out.push(steps::reasoning(self.number, text, summary));
            }
            match &mut self.choice.open {
                OpenReasoning::Details(block, has_words) => {
                    block.add(&detail, raw);
                    *has_words |= !text.is_empty();
                }
                open => {
                    *open = OpenReasoning::Details(
                        Box::new(DetailBlock::begin(&detail, raw)),
                        !text.is_empty(),
                    );
                }
            }
        }
    }

    fn take_plain_reasoning(&mut self, text: Option<&str>) {
        let Some(text) = text else {
            return;
        };
        if text.trim() == HIDDEN_REASONING {
            return;
        }
        if !matches!(self.choice.open, OpenReasoning::Reasoning) {
            self.close();
            self.choice.open = OpenReasoning::Reasoning;
        }
        self.out.push(steps::reasoning(self.number, text, false));
    }

    /// Ends the open block of thinking or text.
    fn close(&mut self) {
        let choice = self.number;
        match std::mem::take(&mut self.choice.open) {
            OpenReasoning::Nothing | OpenReasoning::Text => {}
            OpenReasoning::Reasoning => self
                .out
                .push(steps::reasoning_end(choice, Some(Opaque::ReasoningContent))),
            OpenReasoning::Details(block, has_words) => {
                let opaque = block.finish();
                if has_words || opaque.is_some() {
                    self.out.push(StreamEvent::ReasoningEnd { choice, opaque });
                }
            }
        }
    }

    fn close_calls(&mut self) {
        if self.choice.has_text {
            for citation in std::mem::take(&mut self.choice.citations) {
                self.out.push(steps::citation(self.number, citation));
            }
        }
        self.choice
            .calls
            .end_all(self.number, self.context, self.out);
    }

    /// Calls outweigh what the provider says, unless the last one was cut off.
    fn reason(&self) -> Finish {
        let told = self.choice.finish.unwrap_or(Finish::Stop);
        let calls = &self.choice.calls;
        match told {
            Finish::Refusal | Finish::Pause => told,
            Finish::Length if !calls.last_is_complete() => told,
            _ if !calls.is_empty() => Finish::ToolCalls,
            Finish::Stop | Finish::Unknown if self.choice.refused => Finish::Refusal,
            // The calls that it speaks of are not there.
            Finish::ToolCalls => Finish::Unknown,
            _ => told,
        }
    }
}
