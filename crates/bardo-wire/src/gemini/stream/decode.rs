//! Answers of Gemini, event by event.

use bardo_types::chat::{Finish, Opaque, ServerBlock, StreamEvent};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use bardo_types::usage::Usage;
use serde_json::value::RawValue;

use crate::codec::{DecodeContext, StreamDecoder};
use crate::gemini::grounding::Sources;
use crate::gemini::outcome::{blocked, logprobs, read_finish, refusal, server_part};
use crate::gemini::partial::PartialArgs;
use crate::gemini::shapes::answer::{
    AnswerFunctionCall, AnswerPart, Candidate, GenerateChunk, UsageMetadata, compact,
};
use crate::gemini::usage::read_usage;
use crate::json::Lenient;
use crate::kit::custom_tools::unwrapped_whole;
use crate::kit::messages::malformed;
use crate::kit::steps;
use crate::sse::SseEvent;

/// The most candidates that a request can ask for, with room; an index above it is no index.
pub(in crate::gemini) const MAX_CANDIDATES: u64 = 64;

/// A decoder for `streamGenerateContent?alt=sse`.
#[must_use]
pub fn stream_decoder(context: DecodeContext) -> Box<dyn StreamDecoder> {
    Box::new(GeminiDecoder::new(context, false))
}

/// The state of one answer, streamed or whole.
pub(in crate::gemini) struct GeminiDecoder {
    context: DecodeContext,
    buffered: bool,
    started: bool,
    over: bool,
    blocked: Option<RawJson>,
    candidates: Vec<Progress>,
    usage: Option<Usage>,
}

/// How far one candidate is.
#[derive(Default)]
struct Progress {
    open: OpenPart,
    calls: u32,
    partial: Option<PartialCall>,
    cut_call: bool,
    /// A signature that closes the open text, kept back until its citations are known.
    text_signature: Option<String>,
    finish: Option<Finish>,
    details: Option<RawJson>,
    sources: Sources,
}

/// A call whose input comes in pieces.
struct PartialCall {
    place: u32,
    custom: bool,
    args: PartialArgs,
}

#[derive(Default, PartialEq, Clone, Copy)]
enum OpenPart {
    #[default]
    None,
    Reasoning,
    Text,
    Other,
}

impl StreamDecoder for GeminiDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut Vec<StreamEvent>) {
        // Proxies that imitate OpenAI append this; Gemini itself does not.
        if event.data.trim_ascii() != b"[DONE]" {
            self.take(event.data, out);
        }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let complete = self.blocked.is_some()
            || !self.candidates.is_empty()
                && self.candidates.iter().all(|done| done.finish.is_some());
        if !complete {
            out.push(StreamEvent::Failed(if self.buffered {
                malformed("the provider's answer is not complete")
            } else {
                Fault::new(
                    FaultClass::Connection,
                    "the provider closed the stream before the answer was complete",
                )
            }));
            return;
        }
        self.report_searches(out);
        for index in 0..self.candidates.len() {
            self.finish(index, out);
        }
        if let Some(details) = self.blocked.take() {
            out.push(StreamEvent::Finish {
                choice: 0,
                reason: Finish::Refusal,
                stop_sequence: None,
                details: Some(details),
            });
        }
        out.push(StreamEvent::Done);
    }
}

impl GeminiDecoder {
    pub(in crate::gemini) fn new(context: DecodeContext, buffered: bool) -> Self {
        Self {
            context,
            buffered,
            started: false,
            over: false,
            blocked: None,
            candidates: Vec::new(),
            usage: None,
        }
    }

    fn fail(&mut self, fault: Fault, out: &mut Vec<StreamEvent>) {
        self.over = true;
        out.push(StreamEvent::Failed(fault));
    }

    /// Takes one event, or the whole answer.
    pub(in crate::gemini) fn take(&mut self, data: &[u8], out: &mut Vec<StreamEvent>) {
        if self.over {
            return;
        }
        let chunk = match std::str::from_utf8(data).map(serde_json::from_str::<GenerateChunk<'_>>) {
            Ok(Ok(chunk)) if chunk.error.is_none_or(|error| error.get() == "null") => chunk,
            Ok(Ok(chunk)) => {
                // What was counted before the failure may be billed all the same.
                if self.started {
                    self.count(chunk.usage_metadata, out);
                }
                return self.fail(crate::gemini::error::told_in_200(data), out);
            }
            _ if data.trim_ascii_start().starts_with(b"[") => {
                return self.fail(crate::gemini::error::told_in_200(data), out);
            }
            _ => {
                let fault = malformed("the provider sent an event that is not a Gemini answer");
                return self.fail(fault, out);
            }
        };
        self.start(&chunk, out);
        let mut failed = None;
        let seen = chunk.candidates.as_ref().map_or(0, Vec::len);
        for (place, candidate) in chunk.candidates.into_iter().flatten().enumerate() {
            // Events of one candidate carry no index.
            let index = match candidate.index.0 {
                Some(index) => index,
                None if seen == 1 => 0,
                None => place as u64,
            };
            if index >= MAX_CANDIDATES {
                continue;
            }
            let index = usize::try_from(index).unwrap_or(0);
            if self.candidates.len() <= index {
                self.candidates.resize_with(index + 1, Progress::default);
            }
            if let Err(fault) = self.candidate(index, candidate, out) {
                failed = Some(fault);
                break;
            }
        }
        self.count(chunk.usage_metadata, out);
        if let Some(fault) = failed {
            return self.fail(fault, out);
        }
        if let Some(feedback) = &chunk.prompt_feedback
            && self.candidates.is_empty()
        {
            self.blocked = blocked(feedback).or(self.blocked.take());
        }
    }

    fn start(&mut self, chunk: &GenerateChunk<'_>, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(StreamEvent::Start {
                id: chunk.response_id.as_deref().map(str::to_owned),
                model: chunk.model_version.as_deref().map(str::to_owned),
                created: None,
                service_tier: None,
            });
        }
    }

    fn count(&mut self, told: Option<Lenient<UsageMetadata<'_>>>, out: &mut Vec<StreamEvent>) {
        let told = told.and_then(|told| told.0).map(|meta| read_usage(&meta));
        if let Some(told) = told.filter(|told| *told != Usage::default()) {
            let mut usage = self.usage.clone().unwrap_or_default();
            usage.supersede(&told);
            self.report_usage(usage, out);
        }
    }

    fn report_usage(&mut self, usage: Usage, out: &mut Vec<StreamEvent>) {
        if self.usage.as_ref() != Some(&usage) {
            out.push(StreamEvent::Usage(usage.clone()));
            self.usage = Some(usage);
        }
    }

    fn report_searches(&mut self, out: &mut Vec<StreamEvent>) {
        let queries: u64 = self.candidates.iter().map(|c| c.sources.queries()).sum();
        if queries > 0 {
            let mut usage = self.usage.clone().unwrap_or_default();
            usage.web_searches = Some(queries);
            self.report_usage(usage, out);
        }
    }

    fn candidate(
        &mut self,
        index: usize,
        candidate: Candidate<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), Fault> {
        if let Some(grounding) = &candidate.grounding_metadata {
            self.candidates[index].sources.ground(grounding);
        }
        if let Some(metadata) = &candidate.citation_metadata {
            self.candidates[index].sources.recite(metadata);
        }
        if let Some(result) = &candidate.logprobs_result
            && let Some(raw) = logprobs(result)
        {
            let choice = number(index);
            out.push(StreamEvent::Logprobs { choice, raw });
        }
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.into_iter().flatten() {
            self.part(index, part, out);
        }
        if let Some(reason) = candidate.finish_reason.as_deref() {
            let message = candidate.finish_message.as_deref();
            let finish = read_finish(reason, message)?;
            let progress = &mut self.candidates[index];
            progress.finish = Some(finish);
            progress.details = (finish == Finish::Refusal)
                .then(|| refusal("the answer was stopped", reason, message));
        }
        Ok(())
    }

    fn part(&mut self, index: usize, mut part: AnswerPart<'_>, out: &mut Vec<StreamEvent>) {
        let signature = part
            .thought_signature
            .take()
            .map(crate::json::Str::into_string)
            .filter(|signature| !signature.is_empty());
        if let Some(call) = part.function_call.take() {
            self.close_text(index, out);
            self.call(index, &call, signature, out);
        } else if let Some((kind, value)) = part.server_member() {
            self.close_text(index, out);
            let progress = &mut self.candidates[index];
            progress.open = OpenPart::Other;
            progress.sources.other_block();
            out.push(steps::server(
                number(index),
                ServerBlock {
                    dialect: Dialect::Gemini,
                    kind: kind.to_owned(),
                    raw: server_part(kind, value, signature.as_deref()),
                },
            ));
        } else if part.thought == Some(true) {
            self.thought(index, part, signature, out);
        } else if part.text.is_some() || signature.is_some() {
            self.words(index, part, signature, out);
        }
    }

    fn thought(
        &mut self,
        index: usize,
        part: AnswerPart<'_>,
        signature: Option<String>,
        out: &mut Vec<StreamEvent>,
    ) {
        let choice = number(index);
        self.close_text(index, out);
        let progress = &mut self.candidates[index];
        let text = part
            .text
            .map_or_else(String::new, |text| text.into_string());
        if !text.is_empty() {
            if progress.open != OpenPart::Reasoning {
                progress.sources.other_block();
            }
            progress.open = OpenPart::Reasoning;
            out.push(StreamEvent::Reasoning {
                choice,
                text,
                // Gemini shows summaries of its thoughts, never the thoughts.
                summary: true,
            });
        }
        if let Some(signature) = signature {
            progress.open = OpenPart::None;
            out.push(steps::reasoning_end(
                choice,
                Some(Opaque::GeminiSignature(signature)),
            ));
        }
    }

    fn words(
        &mut self,
        index: usize,
        part: AnswerPart<'_>,
        signature: Option<String>,
        out: &mut Vec<StreamEvent>,
    ) {
        let choice = number(index);
        let text = part
            .text
            .map_or_else(String::new, |text| text.into_string());
        if !text.is_empty() {
            // A signature ends its block; words after it are a new one.
            if self.candidates[index].text_signature.is_some() {
                self.close_text(index, out);
            }
            let progress = &mut self.candidates[index];
            progress
                .sources
                .text(&text, progress.open != OpenPart::Text);
            progress.open = OpenPart::Text;
            out.push(StreamEvent::Text { choice, text });
        }
        if signature.is_some() {
            if self.candidates[index].text_signature.is_some() {
                self.close_text(index, out);
            }
            self.candidates[index].text_signature = signature;
        }
    }

    /// Writes the end of a signed text block, before anything else may follow it.
    fn close_text(&mut self, index: usize, out: &mut Vec<StreamEvent>) {
        let progress = &mut self.candidates[index];
        if let Some(signature) = progress.text_signature.take() {
            if progress.open != OpenPart::Text {
                progress.sources.text("", true);
            }
            progress.open = OpenPart::None;
            out.push(steps::text_end(
                number(index),
                Some(Opaque::GeminiSignature(signature)),
            ));
        }
    }

    fn call(
        &mut self,
        index: usize,
        call: &AnswerFunctionCall<'_>,
        signature: Option<String>,
        out: &mut Vec<StreamEvent>,
    ) {
        let continues = call.will_continue == Some(true);
        let Some(name) = call.name.as_deref().filter(|name| !name.is_empty()) else {
            if let Some(partial) = &mut self.candidates[index].partial {
                partial
                    .args
                    .take(call.partial_args.as_deref().unwrap_or_default());
                if !continues {
                    self.close_call(index, true, out);
                }
            }
            return;
        };
        self.close_call(index, true, out);
        let choice = number(index);
        let progress = &mut self.candidates[index];
        let place = progress.calls;
        progress.calls += 1;
        progress.open = OpenPart::Other;
        progress.sources.other_block();
        let id = match call.id.as_deref().filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None if index == 0 => format!("call_{}_{place}", self.context.id_seed),
            None => format!("call_{}_{index}_{place}", self.context.id_seed),
        };
        let name = self.context.original_tool_name(name);
        let custom = self.context.request.is_custom_tool(name);
        out.push(StreamEvent::ToolStart {
            choice,
            call: place,
            id,
            name: name.to_owned(),
            custom,
            opaque: signature.map(Opaque::GeminiSignature),
        });
        if continues || call.partial_args.is_some() {
            let mut args = PartialArgs::default();
            args.take(call.partial_args.as_deref().unwrap_or_default());
            progress.partial = Some(PartialCall {
                place,
                custom,
                args,
            });
            if !continues {
                self.close_call(index, true, out);
            }
            return;
        }
        let args = call.args.map_or("{}", RawValue::get);
        let args = if args == "null" { "{}" } else { args };
        push_input(choice, place, custom, args, out);
    }

    /// Writes the input of a call that came in pieces.
    fn close_call(&mut self, index: usize, complete: bool, out: &mut Vec<StreamEvent>) {
        let progress = &mut self.candidates[index];
        let Some(partial) = progress.partial.take() else {
            return;
        };
        let mut json = partial.args.to_json();
        if !complete {
            // Without its brace the text does not parse, so nobody runs half a call.
            json.pop();
            progress.cut_call = true;
        }
        push_input(number(index), partial.place, partial.custom, &json, out);
    }

    fn finish(&mut self, index: usize, out: &mut Vec<StreamEvent>) {
        let reason = self.candidates[index].finish.unwrap_or(Finish::Stop);
        self.close_call(index, reason != Finish::Length, out);
        let choice = number(index);
        let progress = &mut self.candidates[index];
        for citation in progress.sources.citations() {
            out.push(StreamEvent::Citation { choice, citation });
        }
        self.close_text(index, out);
        let progress = &mut self.candidates[index];
        let called = progress.calls > 0
            && (reason == Finish::Stop || reason == Finish::Length && !progress.cut_call);
        out.push(StreamEvent::Finish {
            choice,
            reason: if called { Finish::ToolCalls } else { reason },
            stop_sequence: None,
            details: progress.details.take(),
        });
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Writes the whole input of a call; custom tools were declared with one `input` string.
fn push_input(choice: u32, call: u32, custom: bool, args: &str, out: &mut Vec<StreamEvent>) {
    let text = custom.then(|| unwrapped_whole(args)).flatten();
    let fragment = text.unwrap_or_else(|| compact(args));
    out.push(steps::tool_input(choice, call, fragment));
    out.push(StreamEvent::ToolEnd { choice, call });
}
