//! The inputs of a decision, beside the router's own tables.

use bardo_types::feature::FeatureSet;
use bardo_types::hints::RouteHints;
use bardo_types::model::{Dialect, Effort};
use bardo_types::money::MicroUsd;

use crate::roster::Candidate;

/// Facts that the request itself shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The dialect it came in.
    pub dialect: Dialect,
    /// Features that the request uses: tools, images, documents, audio, a schema, a search …
    pub uses: FeatureSet,
    /// Tokens of its prompt, estimated.
    pub prompt_tokens: u64,
    /// Tokens that it allows the answer, where it says so.
    pub max_output_tokens: Option<u64>,
    /// Whether the request wants several answers.
    pub several: bool,
    /// Reasoning effort that the request names, from `high` on.
    pub effort: Option<Effort>,
    /// Whether the request wants embeddings instead of an answer.
    pub embeddings: bool,
    /// Turns of its conversation.
    pub turns: u32,
    /// Answered piece by piece.
    pub stream: bool,
    /// Kind of the request, for callers without hints.
    pub kind: Kind,
}

/// The kind of a request without hints, by tools, tool results and code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// A conversation with a person.
    #[default]
    Conversation,
    /// Reading or writing code.
    Code,
    /// Long material and a question about it.
    Analysis,
    /// One of many steps of an agent with tools.
    AgentLoop,
}

impl Kind {
    /// The name in explanations.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Code => "code",
            Self::Analysis => "analysis",
            Self::AgentLoop => "agent_loop",
        }
    }
}

/// Health of a backend with a model, as the router reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ObservedHealth {
    /// State of the backend.
    pub state: HealthState,
    /// Milliseconds to the first byte of streams or to the end of whole answers that half of the
    /// requests stay under; `None` below the least number of samples.
    pub p50_ms: Option<u64>,
    /// The 90th percentile of the time that `p50_ms` has the median of, in milliseconds.
    pub p90_ms: Option<u64>,
    /// Failures of the last five minutes, in thousandths.
    pub error_permille: Option<u32>,
}

/// Whether a backend answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HealthState {
    /// The backend answers.
    Healthy,
    /// Many requests fail.
    Degraded,
    /// The backend does not answer.
    Down,
    /// Nobody asked it yet.
    #[default]
    Unknown,
}

/// A view of the health of backends.
pub trait HealthView {
    /// Reads the health of a candidate.
    fn observe(&self, candidate: &Candidate) -> ObservedHealth;
}

/// Nothing is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHealth;

impl HealthView for NoHealth {
    fn observe(&self, _: &Candidate) -> ObservedHealth {
        ObservedHealth::default()
    }
}

/// One request for a decision.
#[derive(Clone, Copy)]
pub struct RouteRequest<'a> {
    /// The model as the caller named it: an id, an alias, a pin, or `bardo/auto`, `bardo/t1`,
    /// `bardo/t2`.
    pub model: &'a str,
    /// Hints of the caller.
    pub hints: &'a RouteHints,
    /// Facts of the request.
    pub facts: Facts,
    /// A cheaper model will do where budgets ask for it, by the caller's word or its tier.
    pub allow_downgrade: bool,
    /// Whether the caller's key and tier let it use a candidate, and it can be billed.
    pub may_use: &'a dyn Fn(&Candidate) -> bool,
    /// Tokens that the settings of a candidate are known to add to the prompt, for the limit of
    /// costs; 0 where that is not known.
    pub added: &'a dyn Fn(&Candidate) -> u64,
    /// Whether a candidate on the owner's own key or machine may answer this caller in place of a
    /// seller: the caller is the owner, or the candidate is billed.
    pub own_keys: &'a dyn Fn(&Candidate) -> bool,
    /// Health of the backends.
    pub health: &'a dyn HealthView,
    /// Money for calls to Bankr.
    pub bankr: BankrFunds,
    /// The product tier of the caller's key (`free`, `pro`, …), where it has one.
    pub tier: Option<&'a str>,
}

impl RouteRequest<'_> {
    /// The facts of the request at a candidate: its prompt with the tokens that are added there.
    pub(crate) fn facts_at(&self, candidate: &Candidate) -> Facts {
        let added = (self.added)(candidate);
        Facts {
            prompt_tokens: self.facts.prompt_tokens.saturating_add(added),
            ..self.facts
        }
    }
}

/// Money for calls to Bankr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BankrFunds {
    /// The credit of the account, where Bankr told it; the owner's configuration stands above it.
    pub credit: Option<MicroUsd>,
    /// Rest of today's seed of an agent without revenue; `None` means all of it.
    pub seed_left: Option<MicroUsd>,
}
