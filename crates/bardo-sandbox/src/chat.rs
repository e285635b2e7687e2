//! The chat completions family: one renderer, with a flavor per service.
//!
//! What a request may say differs from service to service, so validation lives with each service.
//! What an answer looks like is the same grammar with small differences, which [`Flavor`] names.

pub(crate) mod facts;
pub(crate) mod order;
pub(crate) mod parts;
mod stream;
mod usage;
mod whole;

use serde_json::{Map, Value};

use crate::fault::{Fault, Faults};
use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::script::{self, Facts, Stop, Turn};
use crate::tokens;
use crate::world::World;

pub(crate) use usage::{Caching, Counts, count_key, scope_of, settle};

/// How a service's answers differ from plain chat completions.
#[derive(Clone, Copy)]
pub(crate) struct Flavor {
    pub(crate) id_prefix: &'static str,
    pub(crate) call_prefix: &'static str,
    pub(crate) thoughts: Thoughts,
    pub(crate) usage_chunk: UsageChunk,
    pub(crate) usage: fn(&Counts) -> Value,
    /// A comment sent before the first event and now and then after it.
    pub(crate) comment: Option<&'static str>,
    /// Every tool call has index 0, as some local servers do it.
    pub(crate) index_zero: bool,
    /// Changes the turn before it is rendered, such as tool calls that become text.
    pub(crate) reshape: fn(&mut Turn, &Asked<'_>),
    /// Adds what only this service has to a response or a chunk.
    pub(crate) decorate: fn(&mut Map<String, Value>, &Context<'_>),
}

/// Where reasoning appears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thoughts {
    /// Counted, never shown.
    Hidden,
    /// In a field next to `content`; with `null_other` the unused field of a delta is `null`.
    Field {
        name: &'static str,
        null_other: bool,
    },
    /// As `reasoning` and `reasoning_details`.
    Details,
}

/// When a stream reports usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageChunk {
    /// In an extra chunk without choices, if the request asks for it.
    OnRequest,
    /// In an extra chunk without choices, always.
    Always,
    /// In the chunk that has the finish reason.
    WithFinish,
    /// In an extra chunk with an empty delta.
    WithEmptyDelta,
}

/// A validated request.
pub(crate) struct Asked<'a> {
    pub(crate) request: &'a Recorded,
    pub(crate) body: &'a Value,
    /// The model as the answer names it.
    pub(crate) model: String,
    pub(crate) can_think: bool,
    pub(crate) thinking: bool,
    pub(crate) caching: Caching,
}

/// What a decoration may look at.
pub(crate) struct Context<'a> {
    pub(crate) asked: &'a Asked<'a>,
    pub(crate) counts: &'a Counts,
    pub(crate) world: &'a World,
    /// Whether this object carries the final usage, or is the whole answer.
    pub(crate) last: bool,
}

/// Everything a renderer needs.
struct Rendering<'a> {
    asked: &'a Asked<'a>,
    flavor: &'a Flavor,
    world: &'a World,
    turns: Vec<Turn>,
    counts: Counts,
    faults: Faults,
    id: String,
    created: u64,
}

impl Asked<'_> {
    pub(crate) fn streams(&self) -> bool {
        flag(self.body, "stream")
    }

    pub(crate) fn includes_usage(&self) -> bool {
        self.body
            .pointer("/stream_options/include_usage")
            .and_then(Value::as_bool)
            == Some(true)
    }
}

/// Answers a validated request. The error is a script that cannot be understood.
pub(crate) fn answer(asked: &Asked<'_>, flavor: &Flavor, world: &World) -> Result<Reply, String> {
    let prompt = usage::prompt(asked);
    let facts = Facts {
        input_tokens: Some(tokens::count(&prompt).max(1)),
        ..facts::of(asked)
    };
    let choices = asked
        .body
        .get("n")
        .and_then(Value::as_u64)
        .unwrap_or(1)
        .clamp(1, 128);
    let mut turns = Vec::new();
    for index in 0..usize::try_from(choices).unwrap_or(1) {
        let mut turn = script::play(
            &Facts {
                choice_index: index,
                ..facts.clone()
            },
            world,
        )?;
        (flavor.reshape)(&mut turn, asked);
        turns.push(turn);
    }
    let script_faults = turns[0].faults.clone();
    let faults = asked.request.faults.clone().and(&script_faults);
    let counts = match faults.has(&Fault::UsageZero) {
        true => Counts::default(),
        false => usage::count(asked, &prompt, &turns, world),
    };
    let rendering = Rendering {
        asked,
        flavor,
        world,
        counts,
        faults,
        id: world.id(
            flavor.id_prefix,
            29,
            &[asked.request.service.as_bytes(), &asked.request.body],
        ),
        created: world.created(asked.request),
        turns,
    };
    let reply = if asked.streams() {
        stream::render(&rendering)
    } else {
        whole::render(&rendering)
    };
    Ok(reply.with_faults(&script_faults))
}

impl Rendering<'_> {
    fn decorate(&self, object: &mut Map<String, Value>, last: bool) {
        let context = Context {
            asked: self.asked,
            counts: &self.counts,
            world: self.world,
            last,
        };
        (self.flavor.decorate)(object, &context);
    }

    /// Whether the request uses the `functions` of the first tool interface.
    fn legacy_functions(&self) -> bool {
        self.asked.body.get("functions").is_some()
    }

    fn finish_reason(&self, turn: &Turn) -> Value {
        if self.faults.has(&crate::fault::Fault::FinishMissing) {
            return Value::Null;
        }
        let reason = match &turn.stop {
            Stop::Tools if self.legacy_functions() => "function_call",
            Stop::Tools => "tool_calls",
            Stop::MaxTokens => "length",
            Stop::ContentFilter => "content_filter",
            Stop::End | Stop::Sequence(_) | Stop::Refusal => "stop",
            Stop::Other(reason) => reason,
        };
        reason.into()
    }
}

/// A flavor hook that changes nothing.
pub(crate) fn unchanged(_: &mut Turn, _: &Asked<'_>) {}

/// Whether a field is `true`.
pub(crate) fn flag(body: &Value, name: &str) -> bool {
    body.get(name).and_then(Value::as_bool) == Some(true)
}
