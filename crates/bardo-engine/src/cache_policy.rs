//! What the owner says of stored answers, and of prompts in providers' caches.

use std::time::Duration;

use bardo_cache::prefix::KeepaliveLimits;
use bardo_cache::scope::Scope;
use bardo_cache::semantic::{AuditRules, Domain};
use bardo_cache::store::Limits;
use bardo_cache::ttl::MarketRegime;
use bardo_types::money::PricePerMillion;

/// What the owner says of stored answers.
#[derive(Debug, Clone, PartialEq)]
pub struct CachePolicy {
    /// Answers are stored and served at all.
    pub enabled: bool,
    /// Identical requests at the same time share one call of a provider.
    pub single_flight: bool,
    /// A stored answer serves a caller that asked for a new one when no backend answers.
    pub last_resort: bool,
    /// Callers that share answers.
    pub scope: Scope,
    /// Answers of class `private` are kept too, encrypted and for a short time.
    pub keeps_private: bool,
    /// Regime of requests that name none; `None`: unknown.
    pub regime: Option<MarketRegime>,
    /// Largest body, in bytes, of a request that does not ask for the cache itself.
    pub unasked_bytes: usize,
    /// Budget of bytes and lifetimes.
    pub limits: Limits,
    /// Answers to the same question in other words.
    pub semantic: SemanticPolicy,
    /// Digest of all settings that can change an answer.
    pub revision: Vec<u8>,
}

impl Default for CachePolicy {
    /// No answer is stored.
    fn default() -> Self {
        Self {
            enabled: false,
            single_flight: true,
            last_resort: true,
            scope: Scope::default(),
            keeps_private: false,
            regime: None,
            unasked_bytes: 32 << 10,
            limits: Limits::default(),
            semantic: SemanticPolicy::default(),
            revision: Vec::new(),
        }
    }
}

/// What the owner says of answers to the same question in other words.
#[derive(Debug, Clone, PartialEq)]
pub struct SemanticPolicy {
    /// Such answers are looked for where a request, its key or its tier asks for it.
    pub enabled: bool,
    /// Longest time for the vector of a question.
    pub deadline: Duration,
    /// Questions that are indexed at most.
    pub entries: usize,
    /// Least cosine of a hit, where that of the domain is lower.
    pub min_similarity: f32,
    /// Domains of requests of agents with the tier `golem` that are looked for without being asked.
    pub golem_domains: Vec<Domain>,
    /// How much is audited, and which error is allowed.
    pub rules: AuditRules,
}

impl Default for SemanticPolicy {
    /// No such answer is looked for.
    fn default() -> Self {
        Self {
            enabled: false,
            deadline: Duration::from_millis(8),
            entries: 10_000,
            min_similarity: 0.9,
            golem_domains: vec![Domain::Reference, Domain::Market, Domain::Strategy],
            rules: AuditRules::default(),
        }
    }
}

/// What the owner allows of prefixes that a provider stores for a fee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredPrefixPolicy {
    /// Price of a million stored tokens for an hour.
    pub hour: PricePerMillion,
    /// Most creations and extensions, and most money, in a day.
    pub limits: KeepaliveLimits,
}

/// What the owner allows of keepalive calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepalivePolicy {
    /// Most keepalive calls in a row, without a call of the agent between them.
    pub in_row: u32,
    /// Most keepalive calls and most money in a day.
    pub limits: KeepaliveLimits,
}
