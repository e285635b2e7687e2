//! What every dialect offers, and what it is told.

use std::sync::Arc;

use bardo_types::Degradation;
use bardo_types::chat::{ChatRequest, StreamEvent};
use bardo_types::fault::Fault;
use bardo_types::model::{Capabilities, Service};
use bardo_types::usage::Usage;

use crate::anthropic::Tally;
use crate::sse::SseEvent;

/// Why a caller's body was refused: the field and the fix, for a 400 in the caller's dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadRequest {
    /// The field at fault as a path, e.g. `messages[2].content[0].source`; empty when the body as
    /// a whole is at fault.
    pub param: String,
    /// The fault of the request, and its remedy.
    pub message: String,
    /// The code by which the caller's SDK handles this refusal itself, in its dialect's words.
    pub code: Option<&'static str>,
    /// The request itself cannot be read: a member has a wrong form, or a content part a type that
    /// no translation knows. Another model does not help.
    pub is_unreadable: bool,
}

impl BadRequest {
    /// A refusal naming a field.
    #[must_use]
    pub fn new(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            param: param.into(),
            message: message.into(),
            code: None,
            is_unreadable: false,
        }
    }

    /// This refusal as one of a request that cannot be read.
    #[must_use]
    pub fn unreadable(self) -> Self {
        Self {
            is_unreadable: true,
            ..self
        }
    }

    /// This refusal with a code that the caller's SDK knows.
    #[must_use]
    pub fn with_code(self, code: &'static str) -> Self {
        Self {
            code: Some(code),
            ..self
        }
    }
}

/// A caller's request as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedRequest {
    /// The request in neutral form.
    pub request: ChatRequest,
    /// The body holds members below its top level that the decoder takes and does not read. A relay
    /// sends them to a provider of the same dialect, which may answer by them, so the neutral request
    /// says less than the body and no key can be made of it.
    pub holds_unread_members: bool,
}

/// The model and endpoint that a request is written for.
#[derive(Debug, Clone)]
pub struct Target {
    /// The model id as the endpoint wants it.
    pub model: String,
    /// The service that runs the endpoint; decides peculiarities within the dialect.
    pub service: Service,
    /// The abilities of the model.
    pub capabilities: Arc<Capabilities>,
}

/// A request in an upstream's dialect.
#[derive(Debug, Clone, Default)]
pub struct Encoded {
    /// The JSON body.
    pub body: Vec<u8>,
    /// The requested features that the body could not carry.
    pub degraded: Vec<Degradation>,
    /// Tool names that had to change for the upstream, as (sent, original).
    pub renamed_tools: Vec<(String, String)>,
}

/// The context of an answer for its decoder: the request that it belongs to.
#[derive(Debug, Clone)]
pub struct DecodeContext {
    /// The model and endpoint that were called.
    pub target: Target,
    /// The request, for tool kinds and output formats.
    pub request: Arc<ChatRequest>,
    /// As in [`Encoded::renamed_tools`]; decoders restore the original names.
    pub renamed_tools: Vec<(String, String)>,
    /// Makes ids unique where the provider gives none, e.g. the request id without its prefix.
    pub id_seed: String,
}

impl DecodeContext {
    /// The caller's name for a tool that the upstream calls `name`. Gemini puts the name of its own
    /// module before some.
    #[must_use]
    pub fn original_tool_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.known_tool(name)
            .or_else(|| {
                let rest = ["default_api:", "default_api."]
                    .iter()
                    .find_map(|module| name.strip_prefix(module))?;
                self.known_tool(rest)
            })
            .unwrap_or(name)
    }

    fn known_tool<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let renamed = self.renamed_tools.iter().find(|(sent, _)| sent == name);
        let declared = || {
            self.request
                .tools
                .iter()
                .any(|tool| tool.name() == Some(name))
        };
        match renamed {
            Some((_, original)) => Some(original),
            None => declared().then_some(name),
        }
    }
}

/// The context of an answer for its encoder: the caller's request.
#[derive(Debug, Clone)]
pub struct ReplyContext {
    /// The request in the caller's words: model name, tools, include_usage and so on.
    pub request: Arc<ChatRequest>,
    /// Unique text for ids that the caller's dialect wants and the provider did not give.
    pub id_seed: String,
    /// Unix seconds, for `created` members.
    pub created: u64,
    /// The model name shown to the caller when the provider names none.
    pub model: String,
    /// Set for an answer to an earlier request, which came in the caller's own dialect.
    pub original: Option<Original>,
}

/// What an encoder has to know of an answer that was relayed once, to write it as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Original {
    /// The service that made it.
    pub service: Service,
    /// Whether thinking in it has state beside its words.
    pub has_thinking_state: bool,
}

impl Original {
    /// Whether its thinking stands in `reasoning_details` too.
    pub(crate) fn writes_details(self) -> bool {
        self.has_thinking_state || self.service == Service::OpenRouter
    }
}

/// Turns an upstream's events into neutral steps. Bytes are framed by [`crate::sse::SseParser`]
/// before they get here.
pub trait StreamDecoder: Send {
    /// Takes one complete event and appends the steps it stands for. After a
    /// [`StreamEvent::Done`] or [`StreamEvent::Failed`] nothing more is appended.
    fn event(&mut self, event: SseEvent<'_>, out: &mut Vec<StreamEvent>);

    /// The upstream closed. Appends [`StreamEvent::Failed`] unless the stream was complete, or
    /// [`StreamEvent::Done`] when the dialect ends by closing (Gemini).
    fn end(&mut self, out: &mut Vec<StreamEvent>);

    /// The upstream closed, and its HTTP body ended whole: with its last chunk, or at its announced
    /// length. A stream that said all but its terminal event is complete then, where the dialect's
    /// terminal event says nothing of its own (chat).
    fn end_whole(&mut self, out: &mut Vec<StreamEvent>) {
        self.end(out);
    }
}

/// Turns neutral steps into the caller's stream.
pub trait StreamEncoder: Send {
    /// Appends the bytes of one step. [`StreamEvent::Done`] closes open blocks and writes the
    /// terminal event with `trailer` (complete SSE comment lines, possibly empty) immediately
    /// before it; [`StreamEvent::Failed`] writes an error event and no terminal.
    fn encode(&mut self, event: StreamEvent, trailer: &str, out: &mut Vec<u8>);

    /// Appends the error event of a failure with the gateway's code for it, and no terminal.
    fn fail(&mut self, view: &ErrorView<'_>, out: &mut Vec<u8>) {
        self.encode(StreamEvent::Failed(view.fault.clone()), "", out);
    }
}

/// A failure as the caller's dialect shows it.
#[derive(Debug, Clone)]
pub struct ErrorView<'a> {
    /// The failure to describe.
    pub fault: &'a Fault,
    /// The status that the response carries.
    pub status: u16,
    /// The gateway's stable code, e.g. `model_not_found`.
    pub bardo_code: &'a str,
    /// The request id.
    pub request_id: &'a str,
}

/// The facts that a relay learns from bytes that it passes on unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// The latest counts, merged as the dialect's rules say.
    pub usage: Option<Usage>,
    /// Content (text, thinking, a call) has begun: from here on no other provider may answer.
    pub content: bool,
    /// A finish or stop reason was seen.
    pub finished: bool,
    /// The dialect's terminal event was seen.
    pub terminal: bool,
    /// The model that answered.
    pub model: Option<String>,
    /// The stream, or a 200 body, told of a failure.
    pub fault: Option<Fault>,
    pub(crate) memory: ObservedState,
}

/// The state of a dialect between events, for correct counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ObservedState {
    /// Anthropic: the last value of each member.
    pub(crate) tally: Tally,
    /// Gemini: the searches of each candidate.
    pub(crate) searches: Vec<u64>,
    /// Chat: which choices said why they ended, a bit for each.
    pub(crate) finished: u128,
    /// Responses: the answer's id, and when it began.
    pub(crate) begun: Option<(String, u64)>,
}

impl Observed {
    /// Whether each of so many answers said why it ended.
    #[must_use]
    pub fn all_finished(&self, choices: u64) -> bool {
        self.finished && (choices <= 1 || u64::from(self.memory.finished.count_ones()) >= choices)
    }
}
