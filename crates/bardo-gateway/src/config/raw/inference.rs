//! Choosing among backends, and setting up models.

use std::collections::BTreeMap;

use bardo_types::money::{BasisPoints, MicroUsd};
use schemars::JsonSchema;
use serde::Deserialize;

use super::ProfileConfig;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inference {
    /// The order in which backends that serve the same model are asked.
    pub(crate) provider_order: Vec<String>,
    /// Names of your own for models.
    #[serde(default)]
    pub(crate) aliases: BTreeMap<String, String>,
    /// Other models to try when no backend of the named one answers.
    #[serde(default)]
    pub(crate) fallbacks: BTreeMap<String, Vec<String>>,
    /// What is added to a provider's cost, in percent, where the key's tier does not say.
    #[schemars(with = "f64")]
    pub(crate) spread_pct: serde_json::Number,
    /// How the gateway chooses where the caller names no model.
    pub(crate) mode: ModeName,
    /// Backends in order, by subsystem, instead of `provider_order`.
    #[serde(default)]
    pub(crate) routes: BTreeMap<String, Vec<String>>,
    /// How the models of a subsystem are set up, by subsystem; over the table of the gateway.
    #[serde(default)]
    pub(crate) profiles: BTreeMap<String, ProfileConfig>,
    /// The models of `bardo/t1` and `bardo/t2`, and of the heartbeats that think.
    #[serde(default)]
    pub(crate) tiers: Tiers,
    /// The weights of the score's terms.
    pub(crate) weights: WeightsConfig,
    /// The blended price of a million tokens, in USD, at which a model gets no points for its cost.
    #[schemars(with = "f64")]
    pub(crate) max_cost_usd: serde_json::Number,
    /// A backend slower than a request allows is left out, instead of being asked last.
    pub(crate) strict_latency: bool,
    /// Free models may serve more than the requests of least quality.
    pub(crate) free_models: bool,
    /// OpenRouter's variants (`:nitro`, `:floor`) are used.
    pub(crate) variants: bool,
    /// The most that a single call of a dying agent may cost, in USD.
    #[schemars(with = "f64")]
    pub(crate) death_reserve_usd: serde_json::Number,
    /// What becomes of `min_p` where a model has no such knob.
    pub(crate) min_p_fallback: MinPFallback,
    /// What is asked of the providers' caches.
    pub(crate) caching: Caching,
    /// Who makes embeddings.
    pub(crate) embeddings: Embeddings,
    /// Which providers are used where several are configured.
    pub(crate) provider_mode: Option<ProviderMode>,
    /// The backend of dreams: short for `routes.dream`, in front of everybody else.
    pub(crate) dream_provider: Option<String>,
}

/// How the gateway chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModeName {
    /// The owner's order decides, as far as wishes are met alike.
    Ordered,
    /// The score decides, and the order breaks ties.
    Scored,
}

/// What becomes of `min_p` where a model has no such knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MinPFallback {
    /// It is sent as `top_p` = 1 - `min_p`, where nobody sets `top_p`.
    TopP,
    /// It is left out.
    Drop,
}

/// Which providers are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProviderMode {
    /// All that are configured.
    Both,
    /// Venice alone.
    Venice,
    /// All but Venice.
    Bardo,
}

/// The models of the tiers.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Tiers {
    /// Of `bardo/t1` and `heartbeat_t1`.
    pub(crate) t1: Option<TierConfig>,
    /// Of `bardo/t2` and `heartbeat_t2`.
    pub(crate) t2: Option<TierConfig>,
}

/// The model of a tier.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierConfig {
    /// `<backend>/<model>`, or a model that any backend may serve.
    #[serde(alias = "model")]
    pub(crate) provider: String,
}

/// The weights of the score's terms: two numbers each, for requests to which cost does not matter
/// and for those to which nothing else does. In between they lie on a line.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WeightsConfig {
    /// Of what it costs.
    pub(crate) cost: (f64, f64),
    /// Of how good the model is.
    pub(crate) quality: (f64, f64),
    /// Of how quick it is.
    pub(crate) latency: (f64, f64),
    /// Of how many wishes are met.
    pub(crate) features: (f64, f64),
    /// Of how well the request is kept secret, where that is preferred and not required.
    pub(crate) privacy: (f64, f64),
}

/// What is asked of the providers' caches.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Caching {
    /// Stable parts of prompts are marked for the provider's cache, where a profile says so.
    pub(crate) auto_cache_control: bool,
    /// What the keys of agents' prompts begin with: `<prefix>-<agent>-<subsystem>`.
    pub(crate) prompt_cache_key_prefix: String,
}

/// Who makes embeddings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Embeddings {
    /// `local`, or a configured backend.
    pub(crate) provider: String,
    /// Venice's model for them.
    pub(crate) venice_model: String,
}

impl Inference {
    /// The spread in 1/10,000.
    ///
    /// # Errors
    /// When it is negative, has more than two decimal digits, or is beyond reason.
    pub(crate) fn spread(&self) -> Result<BasisPoints, String> {
        let hundredths = MicroUsd::from_usd(&self.spread_pct.to_string())
            .ok()
            .map(MicroUsd::get)
            .filter(|micro| micro % 10_000 == 0)
            .and_then(|micro| u32::try_from(micro / 10_000).ok())
            .and_then(BasisPoints::new);
        hundredths.ok_or_else(|| {
            format!(
                "`inference.spread_pct` must be a percentage from 0 to 900 with at most two decimals, not {}",
                self.spread_pct
            )
        })
    }
}
