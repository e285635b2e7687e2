//! Routing and model settings.

use std::collections::BTreeMap;

use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ProfileConfig, secret};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawInference {
    /// Order of the backends that serve the same model.
    pub provider_order: Vec<String>,
    /// Your own names for models.
    #[serde(default)]
    pub aliases: BTreeMap<String, String>,
    /// Models to try if no backend of the named model answers.
    #[serde(default)]
    pub fallbacks: BTreeMap<String, Vec<String>>,
    /// Percentage added to the cost of a provider, if the tier of the key does not set one.
    #[schemars(with = "f64")]
    pub spread_pct: serde_json::Number,
    /// How the gateway chooses if a request names no model.
    pub mode: ModeName,
    /// Order of backends per subsystem, instead of `provider_order`.
    #[serde(default)]
    pub routes: BTreeMap<String, Vec<String>>,
    /// Model settings per subsystem. They override the table of the gateway.
    #[serde(default)]
    pub profiles: BTreeMap<String, ProfileConfig>,
    /// Models of `bardo/t1`, `bardo/t2` and the heartbeats `heartbeat_t1` and `heartbeat_t2`.
    #[serde(default)]
    pub tiers: Tiers,
    /// Weights of the score's terms.
    pub weights: WeightsConfig,
    /// Blended price of a million tokens, in USD, at which the cost score of a model is zero.
    #[schemars(with = "f64")]
    pub max_cost_usd: serde_json::Number,
    /// Skip backends that are slower than a request allows, instead of trying them last.
    pub strict_latency: bool,
    /// Allow free models for requests above minimum quality.
    pub free_models: bool,
    /// Use the variants of OpenRouter (`:nitro`, `:floor`).
    pub variants: bool,
    /// Largest cost of a single call of a dying agent, in USD.
    #[schemars(with = "f64")]
    pub death_reserve_usd: serde_json::Number,
    /// Write the testament of a dying agent only in attested hardware: short for
    /// `profiles.death_testament.tee_mode`.
    pub sealed_testament: bool,
    /// Let a second model verify decisions of the subsystem `risk` if more than this is at stake, in
    /// USD.
    #[schemars(with = "Option<f64>")]
    pub verify_above_usd: Option<serde_json::Number>,
    /// How to replace `min_p` for models without it.
    pub min_p_fallback: RawMinPFallback,
    /// Use of the providers' prompt caches.
    pub caching: Caching,
    /// Models and dimensions of embeddings.
    pub embeddings: Embeddings,
    /// Configured providers to use.
    pub provider_mode: Option<ProviderMode>,
    /// First backend for dreams: short for `routes.dream`.
    pub dream_provider: Option<String>,
}

/// How the gateway chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModeName {
    /// The order decides between backends that meet the same preferences.
    Ordered,
    /// The score decides, and the order breaks ties.
    Scored,
}

/// How to replace `min_p` for models without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawMinPFallback {
    /// Send `top_p` = 1 - `min_p`, unless the request has a `top_p`.
    TopP,
    /// Remove `min_p` from the request.
    Drop,
}

/// Providers to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderMode {
    /// All configured providers.
    Both,
    /// Only the provider Venice.
    Venice,
    /// All except Venice.
    Bardo,
}

/// Models of the tiers.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tiers {
    /// Model of `bardo/t1` and `heartbeat_t1`.
    pub t1: Option<TierConfig>,
    /// Model of `bardo/t2` and `heartbeat_t2`.
    pub t2: Option<TierConfig>,
}

/// Model of a tier.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TierConfig {
    /// `<backend>/<model>`, or a model at any backend.
    #[serde(alias = "model")]
    pub provider: String,
}

/// Weights of the score's terms: two numbers each, at cost sensitivity 0 and 1, with a straight line
/// in between.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightsConfig {
    /// Weight of the cost.
    pub cost: (f64, f64),
    /// Weight of the quality.
    pub quality: (f64, f64),
    /// Weight of the latency.
    pub latency: (f64, f64),
    /// Weight of the preferred features.
    pub features: (f64, f64),
    /// Weight of the security class, if privacy is preferred and not required.
    pub privacy: (f64, f64),
}

/// Use of the providers' prompt caches.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Caching {
    /// Mark stable parts of prompts for the provider's cache, if the profile enables it.
    pub auto_cache_control: bool,
    /// Prefix of the prompt cache keys of agents: `<prefix>-<26 letters>`.
    pub prompt_cache_key_prefix: String,
    /// Secret of the prompt cache keys of agents, at least 16 characters. Empty: a random one in the
    /// data folder. Gateways that share clients need the same one.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub secret: Secret,
    /// Small calls that keep prompts of agents in providers' caches, at your cost.
    pub keepalive: KeepaliveConfig,
    /// Prefixes that Gemini stores for a fee, at your cost.
    pub gemini: GeminiCaching,
}

/// Tools and system prompts that Gemini stores (`cachedContents`), so that requests name them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeminiCaching {
    /// Store them where that saves more than 1.5 times what it costs. Needs the storage price.
    pub enabled: bool,
    /// Price of a million stored tokens for an hour in USD, the highest of your models; above 0.
    pub storage_usd_per_mtok_hour: Option<serde_json::Number>,
    /// Most creations and extensions for one prompt in a day.
    pub prompt_calls_per_day: u32,
    /// Most USD for one prompt in a day.
    pub prompt_usd_per_day: serde_json::Number,
    /// Most creations and extensions in a day.
    pub calls_per_day: u32,
    /// Most USD in a day.
    pub usd_per_day: serde_json::Number,
}

/// Small calls between the calls of an agent, so that its provider keeps the prompt in its cache.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepaliveConfig {
    /// Make such calls where they save more than 1.5 times what they cost.
    pub enabled: bool,
    /// Most calls in a row, without a call of the agent between them; from 1 to 24.
    pub in_row: u32,
    /// Most calls for one prompt in a day.
    pub prompt_calls_per_day: u32,
    /// Most USD for one prompt in a day.
    pub prompt_usd_per_day: serde_json::Number,
    /// Most calls in a day.
    pub calls_per_day: u32,
    /// Most USD in a day.
    pub usd_per_day: serde_json::Number,
}

/// Models and dimensions of embeddings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Embeddings {
    /// Backend that serves embeddings for `bardo/auto`: `venice`, or `local` to let the gateway
    /// choose.
    pub provider: String,
    /// Embedding model at Venice.
    pub venice_model: String,
}

impl RawInference {
    /// The model behind an alias, over further aliases.
    ///
    /// # Errors
    /// With the chain, if it leads back to itself.
    pub fn unaliased(&self, alias: &str) -> Result<&str, Vec<String>> {
        let mut chain = vec![alias.to_owned()];
        let mut name = self.aliases.get(alias).ok_or_else(|| chain.clone())?;
        while let Some(next) = self.aliases.get(name) {
            let is_known = chain.contains(name);
            chain.push(name.clone());
            if is_known {
                return Err(chain);
            }
            name = next;
        }
        Ok(name)
    }

    /// The spread in basis points.
    ///
    /// # Errors
    /// If it is negative, above 900 %, or has more than two decimals.
    pub fn spread(&self) -> Result<BasisPoints, String> {
        percent("inference.spread_pct", &self.spread_pct)
    }
}

/// A spread from a percentage.
pub fn percent(place: &str, number: &serde_json::Number) -> Result<BasisPoints, String> {
    let hundredths = MicroUsd::from_usd(&number.to_string())
        .ok()
        .map(MicroUsd::get)
        .filter(|micro| micro % 10_000 == 0)
        .and_then(|micro| u32::try_from(micro / 10_000).ok())
        .and_then(BasisPoints::new);
    hundredths.ok_or_else(|| {
        format!(
            "`{place}` must be a percentage from 0 to 900 with at most two decimals, not {number}"
        )
    })
}
