//! Why a request went where it went, and how its model was set up.

use std::sync::Arc;

use crate::Degradation;
use crate::feature::{Feature, FeatureSet};
use crate::intent::Quality;
use crate::model::{Effort, Tier};
use crate::money::MicroUsd;
use crate::phase::Phase;
use crate::privacy::{SecurityClass, TeeEvidence};

/// What the receipt says of routing, for requests that the gateway routed by more than a name, or
/// whose callers said something about themselves.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Routing {
    /// The row of the subsystem table; `None` where the caller named no subsystem, or an unknown
    /// one.
    pub subsystem: Option<Arc<str>>,
    /// The gateway chose the model; the caller named none.
    pub automatic: bool,
    /// How good the answer had to be, after mortality.
    pub quality: Option<Quality>,
    /// How much cost counted, after mortality.
    pub cost_sensitivity: Option<f64>,
    /// The least protection that the request needed.
    pub security_class: SecurityClass,
    /// How well whoever answered keeps it.
    pub security: SecurityClass,
    /// What the claim of attested hardware rests on; `None` where none is made.
    pub tee: Option<TeeEvidence>,
    /// The tier of the model that answered.
    pub tier: Option<Tier>,
    /// What was required or preferred, in order of weight.
    pub requested: Vec<Feature>,
    /// What whoever answered offers.
    pub features: FeatureSet,
    /// What was required or preferred and is missing, in order of weight.
    pub degraded: Vec<Feature>,
    /// What the request was expected to cost, where that could be told.
    pub estimated_cost: Option<MicroUsd>,
    /// What was odd about the hints, in words for the caller.
    pub warnings: Vec<String>,
    /// What the agent's owner should know, with the configuration that would mend it.
    pub owner_message: Option<Arc<str>>,
    /// How the model was set up, where a profile was applied.
    pub profile: Option<SentProfile>,
    /// What became of the schema that the answer was held to.
    pub schema: Option<SchemaOutcome>,
    /// Id of the agent.
    pub golem_id: Option<Arc<str>>,
    /// The number of its tick.
    pub tick: Option<u64>,
    /// How alive it said that it was.
    pub vitality: Option<f64>,
    /// The phase that it said it was in.
    pub phase: Option<Phase>,
}

/// How a model was set up.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SentProfile {
    /// The row of the profile table; `None` where the owner or the caller alone said something.
    pub row: Option<Arc<str>>,
    /// The temperature that was sent.
    pub temperature: Option<f64>,
    /// The effort that was sent.
    pub effort: Option<Effort>,
    /// The answer was held to a schema.
    pub structured: bool,
    /// Parts of the prompt were marked or keyed for the provider's cache.
    pub cached: bool,
    /// What was wanted and not sent, or not as it was wanted.
    pub degraded: Vec<Degradation>,
}

/// What became of the schema that an answer was held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaOutcome {
    /// The schema's name.
    pub name: Arc<str>,
    /// Who held the model to it: `native`, `tool` or `prompt`.
    pub mode: &'static str,
    /// Whether the answer kept it; `None` where it was not checked, as streams are not.
    pub valid: Option<bool>,
    /// The model was asked once more, because its first answer did not.
    pub repaired: bool,
}
