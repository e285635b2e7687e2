//! The schema. Field docs become the JSON schema's descriptions.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use bardo_types::ids::AccountId;
use bardo_types::model::Dialect;
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::units::{Size, Span};

/// The whole configuration.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Listeners and limits towards callers.
    pub(crate) server: Server,
    /// Limits towards providers.
    pub(crate) upstream: Upstream,
    /// The list of models.
    pub(crate) catalog: CatalogConfig,
    /// Who may call.
    #[serde(default)]
    pub(crate) auth: Auth,
    /// Where money, keys and receipts are kept.
    pub(crate) store: StoreConfig,
    /// How much callers may ask for.
    pub(crate) limits: LimitsConfig,
    /// The backends.
    #[serde(default)]
    pub(crate) providers: Providers,
    /// Choosing among backends.
    pub(crate) inference: Inference,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    /// Where callers connect.
    pub(crate) listen: SocketAddr,
    /// Where operators connect.
    pub(crate) admin_listen: SocketAddr,
    /// What operators have to send as `Authorization: Bearer`; empty: nothing, on loopback alone.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub(crate) admin_token: Secret,
    /// Worker threads; 0 means one per core.
    pub(crate) workers: usize,
    /// Silence on a stream before a comment is sent to the caller.
    pub(crate) heartbeat: Span,
    /// Largest request body.
    pub(crate) max_body: Size,
    /// Largest request head.
    pub(crate) max_header: Size,
    /// How long a caller may take to send its request.
    pub(crate) read_timeout: Span,
    /// How long a caller may leave what is sent to it unread.
    pub(crate) write_timeout: Span,
    /// How long streams under way may go on after a stop signal.
    pub(crate) drain: Span,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Upstream {
    /// Opening a connection to a provider.
    pub(crate) connect_timeout: Span,
    /// From sending a request to the head of the answer; of whole answers only where it is set.
    pub(crate) header_timeout: Span,
    /// Somebody set it.
    #[serde(skip)]
    pub(crate) header_timeout_is_set: bool,
    /// From the head to the first content of a stream.
    pub(crate) first_token_timeout: Span,
    /// Between data on a stream; comments and pings do not count.
    pub(crate) idle_timeout: Span,
    /// A whole request, with all its tries.
    pub(crate) total_timeout: Span,
    /// Tries for one request, over all backends.
    pub(crate) max_attempts: usize,
    /// Tries of a backend that has failed just now, as a share of the recent requests.
    pub(crate) retry_budget: f64,
    /// How often a backend that nobody asks is probed by its list of models; 0: never.
    pub(crate) probe_every: Span,
    /// When a backend is not asked for a while.
    pub(crate) breaker: BreakerConfig,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BreakerConfig {
    /// Whether there are such times.
    pub(crate) enabled: bool,
    /// Failures in a row that begin one.
    pub(crate) failures: u32,
    /// Connections in a row that do not come about and begin one.
    pub(crate) connect_failures: u32,
    /// The share of failures within five minutes that begins one.
    pub(crate) error_rate: f64,
    /// The answers that this share needs to mean something.
    pub(crate) min_samples: u32,
    /// How long the first one lasts.
    pub(crate) open_for: Span,
    /// How long one lasts at most.
    pub(crate) open_for_max: Span,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CatalogConfig {
    /// Ask each provider for its list of models.
    pub(crate) live: bool,
    /// How often.
    pub(crate) refresh: Span,
}

/// Where money, keys and receipts are kept.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoreConfig {
    /// `sqlite` for a file in the data folder, or `postgres://…` for several gateways on one set of
    /// books.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub(crate) url: Secret,
    /// What an acknowledged posting survives (SQLite).
    pub(crate) durability: Durability,
    /// Receipts are kept for so long; postings for ever.
    pub(crate) keep_receipts: Span,
}

/// What an acknowledged posting survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Durability {
    /// The end of the process, however abrupt.
    Normal,
    /// The end of the machine's power too; each commit waits for the disk.
    Full,
}

/// How much callers may ask for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsConfig {
    /// Requests per minute and key, where neither its scopes nor its tier say otherwise.
    pub(crate) requests_per_minute: u32,
    /// Tokens per minute and key, likewise; 0: no limit.
    pub(crate) tokens_per_minute: u64,
    /// `redis://…` where several gateways share the counters; empty: each counts for itself.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub(crate) redis_url: Secret,
    /// How many gateways share the counters: when Redis is lost, each grants its share.
    pub(crate) instances: u32,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Auth {
    /// Keys that callers may use. Without any, everybody who can reach a loopback listener may call.
    #[serde(default)]
    pub(crate) keys: Vec<CallerKey>,
    /// Tokens of Privy, sent as `Bearer privy_<token>`.
    pub(crate) privy: Option<PrivyConfig>,
}

/// An application at Privy, whose users may call.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrivyConfig {
    /// The application's id.
    pub(crate) app_id: String,
    /// Who makes the tokens; `privy.io` if absent.
    pub(crate) issuer: Option<String>,
    /// Whom the tokens are made for; the application if absent.
    pub(crate) audience: Option<String>,
    /// Where the issuer publishes its keys, when not at Privy's usual address.
    pub(crate) jwks_url: Option<String>,
    /// A file with the issuer's keys; they are then fetched from nowhere.
    pub(crate) jwks_file: Option<PathBuf>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallerKey {
    /// A name for logs and partitions.
    pub(crate) id: String,
    /// The key, by `env:NAME`, `file:PATH` or as it is.
    #[serde(alias = "secret", deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub(crate) key: Secret,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Providers {
    /// BlockRun: with an account's `brk_` key from its credit, without a key paid per call (x402).
    pub(crate) blockrun: Option<ServiceConfig>,
    /// OpenRouter.
    pub(crate) openrouter: Option<ServiceConfig>,
    /// Venice.
    pub(crate) venice: Option<ServiceConfig>,
    /// Bankr.
    pub(crate) bankr: Option<ServiceConfig>,
    /// A server of your own in OpenAI format.
    pub(crate) local: Option<ServiceConfig>,
    /// Keys of your own for the makers of models.
    pub(crate) direct: Option<Direct>,
}

/// One backend.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceConfig {
    /// The key, by `env:NAME`, `file:PATH` or as it is.
    #[serde(default, deserialize_with = "optional_secret")]
    #[schemars(with = "Option<String>")]
    pub(crate) api_key: Option<Secret>,
    /// Where it is, when not at its usual address.
    #[serde(alias = "endpoint")]
    pub(crate) base_url: Option<String>,
    /// The models it shall serve; a trailing `*` matches any ending. All, if absent.
    #[serde(default)]
    pub(crate) models: Vec<String>,
    /// Its host name may resolve to a private address.
    #[serde(default)]
    pub(crate) allow_private: bool,
    /// Its price, where no list tells.
    pub(crate) price: Option<PriceConfig>,
    /// Charge callers for it.
    pub(crate) bill: Option<bool>,
    /// The dialect to speak to it, where its description is not what you want.
    #[serde(alias = "dialect")]
    #[schemars(with = "Option<String>")]
    pub(crate) api: Option<Dialect>,
}

/// Keys of your own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Direct {
    /// One entry per key, asked in this order.
    #[serde(default)]
    pub(crate) keys: Vec<DirectKey>,
}

/// A key of your own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DirectKey {
    /// Whose key it is.
    pub(crate) provider: DirectProvider,
    /// The key, by `env:NAME`, `file:PATH` or as it is.
    #[serde(default, deserialize_with = "optional_secret")]
    #[schemars(with = "Option<String>")]
    pub(crate) api_key: Option<Secret>,
    /// Where it is, when not at its usual address.
    #[serde(alias = "endpoint")]
    pub(crate) base_url: Option<String>,
    /// The models it shall serve; a trailing `*` matches any ending. All of the maker's, if absent.
    #[serde(default)]
    pub(crate) models: Vec<String>,
    /// The host name may resolve to a private address.
    #[serde(default)]
    pub(crate) allow_private: bool,
    /// Its price, where no list tells.
    pub(crate) price: Option<PriceConfig>,
    /// Charge callers for it; by default the key's owner pays and callers are not charged.
    pub(crate) bill: Option<bool>,
    /// The dialect to speak to it: `chat`, `responses` or `anthropic`, where the provider has more
    /// than one.
    #[serde(alias = "dialect")]
    #[schemars(with = "Option<String>")]
    pub(crate) api: Option<Dialect>,
}

/// Who made the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DirectProvider {
    /// api.openai.com, or a server that speaks its format.
    Openai,
    /// api.anthropic.com.
    Anthropic,
    /// The Gemini API.
    #[serde(alias = "gemini")]
    Google,
    /// api.deepseek.com.
    Deepseek,
    /// A server of your own in OpenAI format.
    Local,
}

/// A price in USD, per million tokens where not said otherwise.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriceConfig {
    /// Fresh prompt tokens.
    #[schemars(with = "f64")]
    pub(crate) input_per_million: serde_json::Number,
    /// Completion tokens.
    #[schemars(with = "f64")]
    pub(crate) output_per_million: serde_json::Number,
    /// Prompt tokens read from the provider's cache.
    #[schemars(with = "Option<f64>")]
    pub(crate) cache_read_per_million: Option<serde_json::Number>,
    /// Prompt tokens written to the provider's cache for 5 minutes, or its only duration.
    #[schemars(with = "Option<f64>")]
    pub(crate) cache_write_per_million: Option<serde_json::Number>,
    /// Prompt tokens written to the provider's cache for an hour.
    #[schemars(with = "Option<f64>")]
    pub(crate) cache_write_1h_per_million: Option<serde_json::Number>,
    /// Audio tokens of the prompt.
    #[schemars(with = "Option<f64>")]
    pub(crate) audio_input_per_million: Option<serde_json::Number>,
    /// Audio tokens of the completion.
    #[schemars(with = "Option<f64>")]
    pub(crate) audio_output_per_million: Option<serde_json::Number>,
    /// Reasoning tokens.
    #[schemars(with = "Option<f64>")]
    pub(crate) reasoning_per_million: Option<serde_json::Number>,
    /// Each search that the provider runs, in USD.
    #[schemars(with = "Option<f64>")]
    pub(crate) per_search: Option<serde_json::Number>,
    /// Each request whatever its size, in USD.
    #[schemars(with = "Option<f64>")]
    pub(crate) per_request: Option<serde_json::Number>,
}

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

fn secret<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

fn optional_secret<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Secret>, D::Error> {
    Option::<String>::deserialize(deserializer).map(|key| key.map(Secret::new))
}

impl Config {
    /// Checks what types alone cannot.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.upstream.max_attempts == 0 {
            return Err("`upstream.max_attempts` must be at least 1".into());
        }
        self.inference.spread()?;
        if self.limits.instances == 0 {
            return Err("`limits.instances` must be at least 1".into());
        }
        let breaker = &self.upstream.breaker;
        for (key, share) in [
            ("retry_budget", self.upstream.retry_budget),
            ("breaker.error_rate", breaker.error_rate),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!(
                    "`upstream.{key}` is a share and must be between 0 and 1"
                ));
            }
        }
        for (key, count) in [
            ("failures", breaker.failures),
            ("connect_failures", breaker.connect_failures),
            ("min_samples", breaker.min_samples),
        ] {
            if count == 0 {
                return Err(format!(
                    "`upstream.breaker.{key}` must be at least 1; `upstream.breaker.enabled: false` switches it off"
                ));
            }
        }
        if self.server.max_header.0 > 1 << 20 {
            return Err("`server.max_header` must be at most 1MiB".into());
        }
        if !self.server.admin_listen.ip().is_loopback() && self.server.admin_token.is_empty() {
            return Err(format!(
                "`server.admin_listen` is {}, which others can reach; set `server.admin_token`, or listen on \
                 127.0.0.1",
                self.server.admin_listen
            ));
        }
        if let Some(privy) = &self.auth.privy {
            if privy.app_id.is_empty()
                || !privy
                    .app_id
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
            {
                return Err("`auth.privy.app_id` must be the id of an application".into());
            }
            if privy.jwks_url.is_some() && privy.jwks_file.is_some() {
                return Err("`auth.privy` must have `jwks_url` or `jwks_file`, not both".into());
            }
        }
        for (index, key) in self.auth.keys.iter().enumerate() {
            if let Err(error) = AccountId::parse(&key.id) {
                return Err(format!("`auth.keys[{index}].id`: {error}"));
            }
            if key.key.expose().len() < 16 {
                return Err(format!(
                    "`auth.keys[{index}].key` must have at least 16 characters"
                ));
            }
            if self.auth.keys[..index]
                .iter()
                .any(|earlier| earlier.id == key.id)
            {
                return Err(format!(
                    "`auth.keys[{index}].id`: `{}` is used twice",
                    key.id
                ));
            }
        }
        let known = [
            "direct",
            "local",
            "blockrun",
            "openrouter",
            "venice",
            "bankr",
        ];
        for name in &self.inference.provider_order {
            if !known.contains(&name.as_str()) {
                return Err(format!(
                    "`inference.provider_order`: `{name}` is none of {}",
                    known.join(", ")
                ));
            }
        }
        Ok(())
    }

    /// Whether any backend is configured.
    pub(crate) fn has_providers(&self) -> bool {
        let providers = &self.providers;
        let services = [
            &providers.blockrun,
            &providers.openrouter,
            &providers.venice,
            &providers.bankr,
            &providers.local,
        ];
        services.iter().any(|service| service.is_some())
            || providers
                .direct
                .as_ref()
                .is_some_and(|direct| !direct.keys.is_empty())
    }
}
