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
    /// The evidence for the claim of attested hardware; `None` where no claim is made.
    pub tee: Option<TeeEvidence>,
    /// The tier of the model that answered.
    pub tier: Option<Tier>,
    /// The required and preferred features, in order of weight.
    pub requested: Vec<Feature>,
    /// The features of the backend that answered.
    pub features: FeatureSet,
    /// The required and preferred features that are missing, in order of weight.
    pub degraded: Vec<Feature>,
    /// The expected cost of the request, where an estimate was possible.
    pub estimated_cost: Option<MicroUsd>,
    /// The warnings about hints, in words for the caller.
    pub warnings: Vec<String>,
    /// The message for the agent's owner, with the configuration that would mend the loss.
    pub owner_message: Option<Arc<str>>,
    /// How the model was set up, where a profile was applied.
    pub profile: Option<SentProfile>,
    /// The result of checking the answer against its schema.
    pub schema: Option<SchemaOutcome>,
    /// Id of the agent.
    pub golem_id: Option<Arc<str>>,
    /// The number of its tick.
    pub tick: Option<u64>,
    /// How alive it said that it was.
    pub vitality: Option<f64>,
    /// The phase that it said it was in.
    pub phase: Option<Phase>,
    /// The ratio of its revenue to its cost that it told.
    pub sustainability: Option<f64>,
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
    /// The wanted settings that were not sent, or were changed.
    pub degraded: Vec<Degradation>,
}

/// The result of checking an answer against its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaOutcome {
    /// The schema's name.
    pub name: Arc<str>,
    /// The means that held the model to it: `native`, `tool` or `prompt`.
    pub mode: &'static str,
    /// Whether the answer kept it; `None` where it was not checked, as streams are not.
    pub valid: Option<bool>,
    /// The model was asked once more, because its first answer did not.
    pub repaired: bool,
}
