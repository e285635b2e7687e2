//! The settings, backends, models and prices that one request reads: a reload makes another.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bardo_access::DefaultLimits;
use bardo_profile::{CACHE_KEY_PREFIX, MinPFallback};
use bardo_providers::Endpoint;
use bardo_providers::payment::Wallet;
use bardo_router::{Candidate, NoRoute, Roster, Router};
use bardo_types::model::Price;
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::profile::InferenceProfile;
use bardo_types::secret::Secret;

use crate::cache_key::EpochEvents;
use crate::cache_policy::{CachePolicy, KeepalivePolicy, StoredPrefixPolicy};
use crate::health::Breaker;
use crate::ports::Stages;

/// How long each phase of a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// From sending to the response's head, of a stream.
    pub header: Duration,
    /// Time limit from sending to the head of a whole answer, which providers send when the model
    /// is done.
    pub whole_header: Duration,
    /// From the head to the first content of a stream.
    pub first_token: Duration,
    /// Between data; comments and pings do not count.
    pub idle: Duration,
    /// The whole call.
    pub total: Duration,
    /// Silence towards the caller before a comment is sent.
    pub heartbeat: Duration,
}

/// How failures of providers are borne (`docs/retries.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resilience {
    /// Retries of this process as a share of its requests, in thousandths.
    pub retry_budget_permille: u32,
    /// When a backend is not asked for a while.
    pub breaker: Breaker,
}

impl Resilience {
    /// Nothing is asked again and no circuit opens; what providers say of time is still obeyed.
    pub const NONE: Self = Self {
        retry_budget_permille: 0,
        breaker: Breaker {
            enabled: false,
            failures: u32::MAX,
            connect_failures: u32::MAX,
            error_permille: 1000,
            min_samples: u32::MAX,
            open_for: Duration::ZERO,
            open_for_max: Duration::ZERO,
        },
    };
}

/// How prepaid callers are charged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Billing {
    /// The addition to costs where neither the key nor its tier sets one.
    pub spread: BasisPoints,
    /// Tokens of output that are reckoned with where nobody says what the model writes at most.
    pub unknown_output: u64,
    /// After so long a hold is released by itself. Longer than any answer takes.
    pub hold_ttl: Duration,
    /// The treatment of models without a price.
    pub unpriced: Unpriced,
}

/// The treatment of models without a price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unpriced {
    /// Paying callers may not use the model.
    Refuse,
    /// The model costs this price.
    Ceiling(Box<Price>),
}

impl Billing {
    /// The usual settings, with holds that outlive answers of at most `total`.
    #[must_use]
    pub fn new(total: Duration) -> Self {
        Self {
            spread: BasisPoints::ZERO,
            unknown_output: 32_768,
            hold_ttl: total + Duration::from_secs(60),
            unpriced: Unpriced::Refuse,
        }
    }
}

/// The owner's settings for setting up models, whatever the subsystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupPolicy {
    /// The treatment of `min_p` where a model does not take it.
    pub min_p_fallback: MinPFallback,
    /// The first part of keys for prompt caches.
    pub cache_key_prefix: String,
    /// The secret under which these keys are made; empty: agents get none.
    pub cache_key_secret: Secret,
    /// Which changes of an agent make new keys.
    pub epoch_events: EpochEvents,
    /// Whether profiles may let a provider search the web; `None`: where the owner's profile of the
    /// subsystem says so.
    pub web_search: Option<bool>,
    /// The most that the web searches of one cycle may cost.
    pub web_search_budget: MicroUsd,
    /// Keepalive calls for prompts in providers' caches, at the owner's cost; `None`: none are made.
    pub keepalive: Option<KeepalivePolicy>,
    /// Prefixes that Gemini stores, at the owner's cost; `None`: none are stored.
    pub stored_prefixes: Option<StoredPrefixPolicy>,
    /// A second model verifies decisions about risks where more than this is at stake; `None`:
    /// none does.
    pub verify_above: Option<MicroUsd>,
}

impl Default for SetupPolicy {
    fn default() -> Self {
        Self {
            min_p_fallback: MinPFallback::default(),
            cache_key_prefix: CACHE_KEY_PREFIX.to_owned(),
            cache_key_secret: Secret::new(String::new()),
            epoch_events: EpochEvents::default(),
            web_search: None,
            web_search_budget: MicroUsd::new(50_000),
            keepalive: None,
            stored_prefixes: None,
            verify_above: None,
        }
    }
}

/// Everything that configuration and catalogs decide. Immutable; a reload or a refresh swaps the
/// whole.
pub struct Snapshot {
    /// The models, who serves them, and who is chosen.
    pub router: Router,
    /// How the owner wants the models of subsystems set up, by subsystem.
    pub profiles: BTreeMap<String, InferenceProfile>,
    /// The owner's settings beside the profiles.
    pub setup: SetupPolicy,
    /// The backends, in the order of the roster's.
    pub endpoints: Vec<Arc<Endpoint>>,
    /// Other models to try when no backend of the named one answers, by that name in any spelling.
    pub fallbacks: HashMap<String, Vec<String>>,
    /// Phases and their limits.
    pub deadlines: Deadlines,
    /// How many tries a request has at most, over all backends.
    pub max_attempts: usize,
    /// Retries and circuits.
    pub resilience: Resilience,
    /// Pays services that answer 402.
    pub wallet: Option<Arc<dyn Wallet>>,
    /// Simulated providers answer.
    pub sandbox: bool,
    /// How prepaid callers are charged.
    pub billing: Billing,
    /// Limits of callers whose key and tier set none.
    pub limits: DefaultLimits,
    /// The screens and preparers of requests.
    pub stages: Stages,
    /// What is stored of answers.
    pub cache: CachePolicy,
}

impl Snapshot {
    /// A model at the backend of a name; `None` where the configuration has none.
    pub(crate) fn candidate_at(&self, model: &str, backend: &str) -> Option<Candidate> {
        let candidates = self.roster().resolve(model).ok()?;
        candidates.into_iter().find(|candidate| {
            candidate.entry.id == model && self.endpoint(candidate).name == backend
        })
    }

    /// Whether prefixes may be stored at a backend, which may be one of another configuration.
    pub(crate) fn stores_at(&self, backend: &Endpoint) -> bool {
        let is_there = |one: &Arc<Endpoint>| one.name == backend.name && one.is_same_place(backend);
        self.setup.stored_prefixes.is_some() && self.endpoints.iter().any(is_there)
    }

    /// The models and who serves them.
    #[must_use]
    pub fn roster(&self) -> &Roster {
        self.router.roster()
    }

    /// The models that the owner named for when no backend of the named one answers: those of the
    /// entry under this very name, else those of an entry for the same model in another spelling or
    /// by an alias.
    pub(crate) fn fallbacks_of(&self, model: &str) -> &[String] {
        if let Some(others) = self.fallbacks.get(model) {
            return others;
        }
        if self.fallbacks.is_empty() {
            return &[];
        }
        let roster = self.roster();
        // A prefix that means nothing does not become another model.
        let is_misnamed = matches!(
            roster.resolve(model),
            Err(NoRoute::UnknownPrefix { .. } | NoRoute::UnknownBackend { .. })
        );
        if is_misnamed {
            return &[];
        }
        let meaning = roster.meaning(model);
        let same = |name: &&String| roster.meaning(name) == meaning;
        let name = self.fallbacks.keys().filter(same).min();
        name.map_or(&[], |name| &self.fallbacks[name])
    }

    /// The backend of a candidate.
    pub(crate) fn endpoint(&self, candidate: &Candidate) -> &Arc<Endpoint> {
        &self.endpoints[candidate.backend]
    }

    /// Iterates over the backends that have an address, in the owner's order.
    pub fn remote(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.endpoints.iter().filter(|one| !one.is_built_in())
    }

    /// The price of a candidate; `None` where it must not be billed.
    pub(crate) fn price(&self, candidate: &Candidate) -> Option<Price> {
        match (candidate.entry.price, &self.billing.unpriced) {
            (Some(price), _) => Some(price),
            (None, Unpriced::Ceiling(price)) if !self.endpoint(candidate).direct => Some(**price),
            (None, Unpriced::Ceiling(_) | Unpriced::Refuse) => None,
        }
    }
}
