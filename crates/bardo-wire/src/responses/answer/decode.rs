//! A provider's whole answer to neutral parts, and what its stream shares with it.

use bardo_types::chat::{Assembler, ChatResponse, Finish, ServerBlock};
use bardo_types::fault::Fault;
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use bardo_types::usage::Usage;
use serde_json::value::RawValue;

use crate::codec::DecodeContext;
use crate::json::{Count, Lenient, Str, kept_object, lenient_object, wire_object};
use crate::kit::namespaces;
use crate::responses::stream::decode::ResponsesDecoder;
use crate::responses::usage::{ResponsesUsage, ToolUsage};
use crate::responses::{error as failures, usage};

wire_object! {
    /// A response object.
    pub(in crate::responses) struct ResponseObject<'a> {
        "id" => id: Option<Str<'a>>,
        "model" => model: Option<Str<'a>>,
        "created_at" => created_at: Count,
        "status" => status: Option<Str<'a>>,
        "error" => error: Option<&'a RawValue>,
        "incomplete_details" => incomplete: Lenient<Incomplete<'a>>,
        "output" => output: Option<Vec<&'a RawValue>>,
        "service_tier" => service_tier: Lenient<Str<'a>>,
        "usage" => usage: Lenient<ResponsesUsage<'a>>,
        "tool_usage" => tool_usage: Lenient<ToolUsage>,
    }

    /// An output item. Its `content` is typed for messages only.
    pub(in crate::responses) struct OutputItem<'a> {
        "type" => kind: Option<Str<'a>>,
        "id" => id: Option<Str<'a>>,
        "call_id" => call_id: Option<Str<'a>>,
        "name" => name: Option<Str<'a>>,
        "namespace" => namespace: Option<Str<'a>>,
        "arguments" => arguments: Option<&'a RawValue>,
        "input" => input: Option<&'a RawValue>,
        "content" => content: Option<&'a RawValue>,
        /// Of a message: whether it is the answer, or said on the way to it.
        "phase" => phase: Option<&'a RawValue>,
    }

    /// A content part of a message.
    pub(in crate::responses) struct OutputPart<'a> {
        "type" => kind: Option<Str<'a>>,
        "text" => text: Option<Str<'a>>,
        "refusal" => refusal: Option<Str<'a>>,
        "annotations" => annotations: Option<Vec<&'a RawValue>>,
        "logprobs" => logprobs: Option<Vec<&'a RawValue>>,
    }
}

lenient_object! {
    /// The member `incomplete_details`.
    pub(in crate::responses) struct Incomplete<'a> {
        "reason" => reason: Str<'a>,
    }
}

impl OutputItem<'_> {
    /// The `type`; a message may leave it out.
    pub(in crate::responses) fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or("message")
    }

    /// The caller's name for the tool that is called.
    pub(in crate::responses) fn tool_name(&self, context: &DecodeContext) -> String {
        let name = self.name.as_deref().unwrap_or_default();
        match self.namespace.as_deref() {
            Some(namespace) => namespaces::flat(namespace, name),
            None => context.original_tool_name(name).to_owned(),
        }
    }
}

impl ResponseObject<'_> {
    /// The failure that the object tells of, if any.
    pub(in crate::responses) fn failure(&self) -> Option<Fault> {
        if let Some(error) = self.error.filter(|raw| raw.get() != "null") {
            return Some(failures::of_error_object(error.get()));
        }
        match self.status.as_deref() {
            Some("failed") => Some(failures::of_error_object("{}")),
            Some("cancelled") => Some(Fault::new(
                bardo_types::fault::FaultClass::Server,
                "the provider cancelled the answer",
            )),
            Some("queued" | "in_progress") => {
                Some(failures::malformed("the provider's answer is not finished"))
            }
            _ => None,
        }
    }

    /// The reported usage, searches included.
    pub(in crate::responses) fn counted(&self) -> Option<Usage> {
        let usage = self.usage.0.as_ref()?.neutral();
        let items = self.output.as_deref().unwrap_or_default();
        Some(Usage {
            web_searches: usage::searches(self.tool_usage.0.as_ref(), items),
            ..usage
        })
    }

    /// Whether an item of an answer that calls itself complete is not.
    fn has_a_part_answer(&self) -> bool {
        let mut items = self.output.iter().flatten();
        items.any(|item| {
            let item: ItemStatus<'_> = serde_json::from_str(item.get()).unwrap_or_default();
            matches!(item.status.0.as_deref(), Some("incomplete" | "in_progress"))
        })
    }

    /// Why the answer ended, apart from its calls.
    pub(in crate::responses) fn finish(&self) -> Finish {
        match self.status.as_deref() {
            Some("completed") if self.has_a_part_answer() => return Finish::Unknown,
            Some("completed") => return Finish::Stop,
            Some("incomplete") => {}
            _ => return Finish::Unknown,
        }
        let reason = self
            .incomplete
            .0
            .as_ref()
            .and_then(|it| it.reason.as_deref());
        match reason {
            Some("content_filter") => Finish::Refusal,
            Some("max_tool_calls" | "max_messages" | "steered") => Finish::Pause,
            _ => Finish::Length,
        }
    }
}

wire_object! {
    struct ItemStatus<'a> {
        "status" => status: Lenient<Str<'a>>,
        ..
    }
}

/// The end of an answer, as the kinds of its parts tell.
#[derive(Debug, Default, Clone)]
pub(in crate::responses) struct AnswerEnd {
    pub(in crate::responses) refused: bool,
    /// The last call: its arguments, where they are JSON.
    pub(in crate::responses) last_call: Option<Option<String>>,
}

impl AnswerEnd {
    /// The end that callers are told: calls outrank a plain stop, a cut call does not count.
    pub(in crate::responses) fn finish(&self, told: Finish) -> Finish {
        match (&self.last_call, told) {
            (Some(arguments), Finish::Length) => {
                let whole = arguments
                    .as_ref()
                    .is_none_or(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
                if whole {
                    Finish::ToolCalls
                } else {
                    Finish::Length
                }
            }
            (Some(_), _) => Finish::ToolCalls,
            (None, Finish::Stop | Finish::Unknown) if self.refused => Finish::Refusal,
            (None, told) => told,
        }
    }
}

/// A string member, or the JSON of any other value, which some servers send as arguments.
pub(in crate::responses) fn loose_text(raw: Option<&RawValue>) -> String {
    match raw {
        None => String::new(),
        Some(raw) if raw.get() == "null" => String::new(),
        Some(raw) => serde_json::from_str::<Str<'_>>(raw.get())
            .map_or_else(|_| raw.get().to_owned(), Str::into_string),
    }
}

/// A block of this dialect alone.
pub(in crate::responses) fn server_block(kind: &str, raw: &RawValue) -> ServerBlock {
    ServerBlock {
        dialect: Dialect::Responses,
        kind: kind.to_owned(),
        raw: raw.into(),
    }
}

/// The end of a message: in this dialect an answer can have several, each with a phase.
pub(in crate::responses) fn message_end(phase: Option<&RawValue>) -> ServerBlock {
    ServerBlock {
        dialect: Dialect::Responses,
        kind: ServerBlock::MESSAGE_END.to_owned(),
        raw: kept_object(|object| {
            object.set_some("phase", phase);
        }),
    }
}

/// Probabilities in the form that Chat Completions gave them.
pub(in crate::responses) fn logprobs(entries: &[&RawValue]) -> Option<RawJson> {
    (!entries.is_empty()).then(|| {
        kept_object(|object| {
            object.set("content", entries);
            object.set("refusal", ());
        })
    })
}

/// Reads a whole answer: what a stream with nothing but its last event would bring.
///
/// # Errors
/// When the body is no answer, or tells of a failure.
pub fn decode_response(body: &[u8], context: &DecodeContext) -> Result<ChatResponse, Fault> {
    let answer: ResponseObject<'_> = serde_json::from_slice(body)
        .map_err(|_| failures::malformed("the provider's answer is not a response object"))?;
    if let Some(fault) = answer.failure() {
        return Err(fault);
    }
    let Some(output) = &answer.output else {
        return Err(failures::malformed("the provider's answer has no `output`"));
    };
    let mut decoder = ResponsesDecoder::new(context.clone());
    let mut steps = Vec::new();
    decoder.start(&answer, &mut steps);
    for (place, raw) in (0..).zip(output) {
        decoder.done(place, raw, &mut steps)?;
    }
    decoder.finish(&answer, answer.finish(), &mut steps);
    let mut assembler = Assembler::default();
    for step in steps {
        assembler.push(step);
    }
    assembler.finish()
}

/// The id of a call whose provider gave none.
pub(in crate::responses) fn made_up_id(context: &DecodeContext, index: usize) -> String {
    format!("call_{}_{index}", context.id_seed)
}
