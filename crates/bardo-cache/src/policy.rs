//! What may be looked up and what may be stored.
//!
//! The rules before an answer are [`may_use`]; those that need the answer are [`may_store`]. Each
//! refusal is a [`Never`], which explanations, metrics and headers show by its name.

use std::borrow::Cow;

use bardo_types::chat::{ChatRequest, Citation, CitationSource, Finish, StreamEvent, Tool};
use bardo_types::json::RawJson;
use bardo_types::privacy::{SecurityClass, TaskClass};
use bardo_types::subsystem::Subsystem;
use bardo_types::usage::Usage;

use crate::reference::is_by_reference;

mod refusal;

/// What a caller asks of the cache, as with `Cache-Control`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wish {
    /// Serve and store.
    Default,
    /// Serve and store, and serve also an answer to the same question in other words.
    Semantic,
    /// Neither serve nor store.
    NoStore,
    /// Ask a provider, and store its answer. An entry may still serve when all backends are down.
    NoCache,
    /// Serve from the cache or fail.
    OnlyIfCached,
}

impl Wish {
    /// All wishes that a caller can state.
    pub const ALL: [Self; 5] = [
        Self::Default,
        Self::Semantic,
        Self::NoStore,
        Self::NoCache,
        Self::OnlyIfCached,
    ];

    /// The name in hints and explanations.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Semantic => "semantic",
            Self::NoStore => "no-store",
            Self::NoCache => "no-cache",
            Self::OnlyIfCached => "only-if-cached",
        }
    }

    /// Reads a name, in any case, with hyphens or underscores.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim();
        let is_same = |given: u8, own: u8| match own {
            b'-' => matches!(given, b'-' | b'_'),
            own => given.eq_ignore_ascii_case(&own),
        };
        Self::ALL.into_iter().find(|wish| {
            let own = wish.as_str();
            own.len() == name.len()
                && own
                    .bytes()
                    .zip(name.bytes())
                    .all(|(own, given)| is_same(given, own))
        })
    }

    /// Whether an entry may answer before a provider is asked.
    #[must_use]
    pub const fn serves(self) -> bool {
        matches!(self, Self::Default | Self::Semantic | Self::OnlyIfCached)
    }

    /// Whether an answer of a provider may be stored.
    #[must_use]
    pub const fn stores(self) -> bool {
        matches!(self, Self::Default | Self::Semantic | Self::NoCache)
    }

    /// Whether an unexpired entry may answer when all backends are down.
    #[must_use]
    pub const fn serves_as_last_resort(self) -> bool {
        !matches!(self, Self::NoStore)
    }
}

/// Why the cache has no part in a request, or does not keep its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Never {
    /// The caller said `no-store`.
    NoStore,
    /// The key of the caller has the scope `cache=off`.
    KeyOff,
    /// The caller asked for nothing, and the temperature is not 0.
    NotAsked,
    /// The caller asked for nothing, and the key of so long a prompt costs too much.
    Long,
    /// The caller asked for nothing, and the request names content that may change.
    ByReference,
    /// The temperature is above 0.7.
    Warm,
    /// Several answers are asked for.
    Several,
    /// The subsystem lives on variety.
    Creative,
    /// The request decides about risk, trades, the operator or death.
    Critical,
    /// The class of privacy forbids that an answer is kept.
    Private,
    /// The provider searches, runs tools or keeps state of its own.
    ServerSide,
    /// The caller asked for nothing, and the body holds members that reach the provider and that its
    /// decoder does not read, as `bardo_wire::codec::DecodedRequest` says. The caller of [`may_use`]
    /// looks for them once all else is in order.
    Unread,
    /// The answer is spoken.
    Spoken,
    /// The prompt was flagged as an injection.
    Flagged,
    /// The answer failed or did not end.
    Cut,
    /// The answer ended for another reason than that it was complete.
    Unfinished,
    /// The model or a filter refused.
    Refused,
    /// The answer calls a tool.
    CallsTool,
    /// The answer has fewer than ten tokens.
    Short,
    /// The answer does not satisfy the schema of the request.
    Invalid,
    /// The answer is larger than an entry may be.
    TooLarge,
}

impl Never {
    /// All reasons, those before an answer first.
    pub const ALL: [Self; 21] = [
        Self::NoStore,
        Self::KeyOff,
        Self::NotAsked,
        Self::Long,
        Self::ByReference,
        Self::Warm,
        Self::Several,
        Self::Creative,
        Self::Critical,
        Self::Private,
        Self::ServerSide,
        Self::Unread,
        Self::Spoken,
        Self::Flagged,
        Self::Cut,
        Self::Unfinished,
        Self::Refused,
        Self::CallsTool,
        Self::Short,
        Self::Invalid,
        Self::TooLarge,
    ];

    /// The name in metrics and headers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoStore => "no_store",
            Self::KeyOff => "key_off",
            Self::NotAsked => "not_asked",
            Self::Long => "long_prompt",
            Self::ByReference => "by_reference",
            Self::Warm => "temperature",
            Self::Several => "several_answers",
            Self::Creative => "creative",
            Self::Critical => "critical",
            Self::Private => "private",
            Self::ServerSide => "server_side",
            Self::Unread => "unread_members",
            Self::Spoken => "audio",
            Self::Flagged => "flagged",
            Self::Cut => "cut",
            Self::Unfinished => "unfinished",
            Self::Refused => "refused",
            Self::CallsTool => "tool_call",
            Self::Short => "short",
            Self::Invalid => "schema",
            Self::TooLarge => "too_large",
        }
    }

    /// One sentence for a person.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::NoStore => "the request says `cache: no-store`",
            Self::KeyOff => "the key has the scope `cache=off`",
            Self::NotAsked => {
                "the request sets no temperature of 0, and neither it nor its key says `cache: default`"
            }
            Self::Long => {
                "the prompt is long, and neither the request nor its key says `cache: default`"
            }
            Self::ByReference => {
                "the request names content by its address or a prompt by its name, which may change, \
                and neither the request nor its key says `cache: default`"
            }
            Self::Warm => "the temperature is above 0.7",
            Self::Several => "the request asks for several answers",
            Self::Creative => "the subsystem needs a new answer each time",
            Self::Critical => "answers about risk, trades, the operator or death are never reused",
            Self::Private => "answers of this privacy class are not kept",
            Self::ServerSide => "the provider searches, runs tools or keeps state for this request",
            Self::Unread => {
                "the body holds members of messages or tools that the gateway does not know, and \
                neither the request nor its key says `cache: default`"
            }
            Self::Spoken => "the answer is audio",
            Self::Flagged => "the prompt was flagged as an injection",
            Self::Cut => "the answer failed or was cut off",
            Self::Unfinished => "the answer stopped before its end",
            Self::Refused => "the model refused",
            Self::CallsTool => "the answer calls a tool",
            Self::Short => "the answer has fewer than 10 tokens",
            Self::Invalid => "the answer does not match the schema or the format of the request",
            Self::TooLarge => "the answer is larger than an entry may be",
        }
    }
}

/// Bytes of a body that is looked up without being asked for.
///
/// The key of 32 kB costs 3 to 9 µs with wide instructions, less than half of what relaying such a
/// body costs at least; the key of 118 kB costs 21 to 36 µs, more than half.
const LONG_BODY_BYTES: usize = 32 * 1024;

/// What is known of a request before it is answered.
#[derive(Debug, Clone, Copy)]
pub struct CacheCandidate<'a> {
    /// The request, decoded.
    pub request: &'a ChatRequest,
    /// Bytes of the body that the request came in.
    pub body_bytes: usize,
    /// The wish of the request, else that of its key; `None` where neither says anything.
    pub wish: Option<Wish>,
    /// The caller is an agent whose profile sets the temperature.
    pub has_profile: bool,
    /// The temperature that the provider will get; `None`: its own default.
    pub temperature: Option<f64>,
    /// The part of the agent that asks.
    pub subsystem: Option<&'a Subsystem>,
    /// Task class by the hint.
    pub task: Option<TaskClass>,
    /// The agent's tick is of tier T2, or the request concerns the operator's own actions.
    pub critical: bool,
    /// Effective class of the request, floors and memory included.
    pub class: SecurityClass,
    /// The owner switched on that answers of class Private are kept, encrypted, in memory.
    pub keeps_private: bool,
    /// A filter took the prompt for an injection.
    pub flagged: bool,
}

/// Whether the cache may have a part in a request at all. Asked before the key is made.
///
/// # Errors
/// The reason why not.
pub fn may_use(question: &CacheCandidate<'_>) -> Result<(), Never> {
    if question.wish == Some(Wish::NoStore) {
        return Err(Never::NoStore);
    }
    if question.flagged {
        return Err(Never::Flagged);
    }
    match question.class {
        SecurityClass::Standard => {}
        SecurityClass::Private if question.keeps_private => {}
        _ => return Err(Never::Private),
    }
    if is_critical(question) {
        return Err(Never::Critical);
    }
    if question.subsystem.is_some_and(|part| part.creative) {
        return Err(Never::Creative);
    }
    temperature_allows(question)?;
    if question.wish.is_none() && question.body_bytes > LONG_BODY_BYTES {
        return Err(Never::Long);
    }
    request_allows(question.request)?;
    if question.wish.is_none() && is_by_reference(question.request) {
        return Err(Never::ByReference);
    }
    Ok(())
}

fn is_critical(question: &CacheCandidate<'_>) -> bool {
    const GROUPS: [&str; 4] = ["risk", "trade", "operator", "death"];
    let by_task = matches!(
        question.task,
        Some(
            TaskClass::Trade
                | TaskClass::Negotiate
                | TaskClass::Incident
                | TaskClass::SealedAuction
                | TaskClass::MevScenario
                | TaskClass::Testament
        )
    );
    let by_subsystem = question.subsystem.is_some_and(|part| {
        GROUPS.contains(&part.name.as_str()) || GROUPS.contains(&part.group.as_str())
    });
    question.critical || by_task || by_subsystem
}

fn temperature_allows(question: &CacheCandidate<'_>) -> Result<(), Never> {
    const WARMEST: f64 = 0.7;
    if question
        .temperature
        .is_some_and(|warmth| warmth > WARMEST || warmth.is_nan())
    {
        return Err(Never::Warm);
    }
    let is_asked = question.wish.is_some();
    let is_cold = question.temperature == Some(0.0);
    let is_set_by_profile = question.has_profile && question.temperature.is_some();
    if is_asked || is_cold || is_set_by_profile {
        Ok(())
    } else {
        Err(Never::NotAsked)
    }
}

/// Members without a neutral meaning that make a provider search, act or remember.
const SERVER_SIDE: [&str; 16] = [
    "background",
    "container",
    "context_management",
    "conversation",
    "enable_web_search",
    "fallbacks",
    "mcp_servers",
    "models",
    "plugins",
    "previous_response_id",
    "search_parameters",
    "transforms",
    "venice_parameters",
    "web_search",
    "web_search_options",
    "x_search",
];

/// The member of a request that makes its provider search, act or remember, for explanations.
#[must_use]
pub fn server_side_member(request: &ChatRequest) -> Option<&str> {
    if request.web_search == Some(true) {
        return Some("web_search");
    }
    let mut tools = request.tools.iter();
    if tools.any(|tool| matches!(tool, Tool::Server { .. })) {
        return Some("tools");
    }
    if request.model.ends_with(":online") {
        return Some("model");
    }
    // These values are as good as none.
    let is_set = |json: &RawJson| !["null", "false"].contains(&json.as_str());
    let mut extra = request.extra.iter();
    let found = extra.find(|(name, json)| SERVER_SIDE.contains(&name.as_str()) && is_set(json));
    found.map(|(name, _)| name.as_str())
}

fn request_allows(request: &ChatRequest) -> Result<(), Never> {
    if request.n.is_some_and(|n| n > 1) {
        return Err(Never::Several);
    }
    if server_side_member(request).is_some() {
        return Err(Never::ServerSide);
    }
    let is_spoken = request
        .modalities
        .as_ref()
        .is_some_and(|kinds| kinds.as_str().contains("audio"));
    if request.audio.is_some() || is_spoken {
        return Err(Never::Spoken);
    }
    Ok(())
}

/// What is known of an answer once it ended.
#[derive(Debug, Clone, Copy)]
pub struct CacheOffer<'a> {
    /// The answer, event by event.
    pub events: &'a [StreamEvent],
    /// What the provider counted; `None`: it did not say.
    pub usage: Option<&'a Usage>,
    /// Whether the answer satisfies the schema of the request; `None`: it asked for none, or that
    /// was not checked.
    pub matches_schema: Option<bool>,
}

/// Whether a complete answer may be stored.
///
/// # Errors
/// The reason why not.
pub fn may_store(answered: &CacheOffer<'_>) -> Result<(), Never> {
    if answered.events.last() != Some(&StreamEvent::Done) {
        return Err(Never::Cut);
    }
    let mut finishes = 0;
    let mut text_bytes = 0;
    for event in answered.events {
        match event {
            StreamEvent::Failed(_) => return Err(Never::Cut),
            StreamEvent::Refusal { .. } => return Err(Never::Refused),
            StreamEvent::ToolStart { .. }
            | StreamEvent::ToolInput { .. }
            | StreamEvent::ToolEnd { .. } => return Err(Never::CallsTool),
            StreamEvent::Server { block, .. } if block.ends_message() => {}
            StreamEvent::Server { .. } => return Err(Never::ServerSide),
            // The model searched by itself, as some do without being asked.
            StreamEvent::Citation { citation, .. } if is_found(citation) => {
                return Err(Never::ServerSide);
            }
            StreamEvent::Text { text, .. } => text_bytes += text.trim().len(),
            StreamEvent::Finish { reason, .. } => {
                finishes += 1;
                match reason {
                    Finish::Stop | Finish::StopSequence => {}
                    Finish::Refusal => return Err(Never::Refused),
                    Finish::ToolCalls => return Err(Never::CallsTool),
                    Finish::Unknown => return Err(Never::Cut),
                    Finish::Length | Finish::ContextWindow | Finish::Pause => {
                        return Err(Never::Unfinished);
                    }
                }
            }
            _ => {}
        }
    }
    match finishes {
        0 => return Err(Never::Unfinished),
        1 => {}
        _ => return Err(Never::Several),
    }
    if is_short(answered.usage, text_bytes) {
        return Err(Never::Short);
    }
    if says_no(answered.events, text_bytes) {
        return Err(Never::Refused);
    }
    if answered.matches_schema == Some(false) {
        return Err(Never::Invalid);
    }
    Ok(())
}

/// Fewer than ten tokens that a reader sees. Where no usage came, four bytes count as a token.
fn is_short(usage: Option<&Usage>, text_bytes: usize) -> bool {
    const LEAST: u64 = 10;
    let told = usage.filter(|usage| usage.output > 0);
    let tokens = match told {
        Some(usage) => usage
            .output
            .saturating_sub(usage.reasoning.unwrap_or_default()),
        None => (text_bytes / 4) as u64,
    };
    text_bytes == 0 || tokens < LEAST
}

/// Whether a source is a page of the web.
const fn is_found(citation: &Citation) -> bool {
    matches!(citation.source, CitationSource::Url { .. })
}

/// Whether the texts of an answer, of `text_bytes` in all, are a refusal in plain words.
fn says_no(events: &[StreamEvent], text_bytes: usize) -> bool {
    if text_bytes > refusal::LONGEST_BYTES {
        return false;
    }
    let mut texts = events.iter().filter_map(|event| match event {
        StreamEvent::Text { text, .. } => Some(&**text),
        _ => None,
    });
    let mut whole = Cow::Borrowed(texts.next().unwrap_or_default());
    for text in texts {
        whole.to_mut().push_str(text);
    }
    refusal::is_refusal(&whole)
}

#[cfg(test)]
mod tests;
