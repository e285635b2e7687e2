//! The schema. Field docs become the JSON schema's descriptions.

mod alerts;
mod auth;
mod cache;
mod catalog;
mod check;
mod inference;
mod payments;
mod price;
mod privacy;
mod profile;
mod providers;
mod routing;
mod screening;
mod server;
mod store;
mod telemetry;

use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use self::alerts::{AlertsConfig, RawAlertEvent, WebhookConfig};
use self::auth::Auth;
pub(crate) use self::auth::PrivyConfig;
pub(crate) use self::cache::{
    CacheConfig, RawAuditMode, RawCacheScope, RawDomain, RawRegime, SemanticCacheConfig,
    VectorsConfig,
};
#[cfg(feature = "embedder")]
pub(crate) use self::cache::{RawPooling, RawVectorEngine, SemanticModelConfig};
use self::catalog::CatalogConfig;
pub(crate) use self::catalog::OwnerModelConfig;
pub(crate) use self::check::{BACKENDS, known_backend_beside, usd};
use self::inference::RawInference;
pub(crate) use self::inference::{GeminiCaching, ModeName, ProviderMode, RawMinPFallback, percent};
pub(crate) use self::payments::{PaymentsConfig, RawPaymentScheme};
pub(crate) use self::price::PriceConfig;
use self::privacy::Privacy;
use self::profile::ProfileConfig;
use self::providers::Providers;
pub(crate) use self::providers::{
    BankrConfig, BlockRunConfig, DirectKey, DirectProvider, ServiceConfig, WalletNetwork,
};
use self::routing::RawRouting;
pub(crate) use self::screening::RefusedPhrasesConfig;
use self::screening::Screening;
pub(crate) use self::server::RawServer;
use self::server::Upstream;
pub(crate) use self::store::{LimitsConfig, RawDurability, SharedConfig, StoreConfig};
pub(crate) use self::telemetry::{ClickHouseConfig, LangfuseConfig, OtlpConfig, TelemetryConfig};

/// The whole configuration.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Listeners and limits for clients.
    pub(crate) server: RawServer,
    /// Limits for providers.
    pub(crate) upstream: Upstream,
    /// Models and their features.
    pub(crate) catalog: CatalogConfig,
    /// API keys and tokens of clients.
    #[serde(default)]
    pub(crate) auth: Auth,
    /// Store of money, keys and receipts.
    pub(crate) store: StoreConfig,
    /// Rate limits of keys.
    pub(crate) limits: LimitsConfig,
    /// State of requests that several gateways share.
    pub(crate) shared: SharedConfig,
    /// Backends by name.
    #[serde(default)]
    pub(crate) providers: Providers,
    /// Routing and model settings.
    pub(crate) inference: RawInference,
    /// Whose backends are called first.
    pub(crate) routing: RawRouting,
    /// Privacy of requests.
    pub(crate) privacy: Privacy,
    /// Checks of what requests say.
    #[serde(default)]
    pub(crate) screening: Screening,
    /// The cache of answers.
    pub(crate) cache: CacheConfig,
    /// Traces and metrics that are sent to other systems.
    pub(crate) telemetry: TelemetryConfig,
    /// Sale of single requests to callers without a key.
    pub(crate) payments: PaymentsConfig,
    /// Alerts by webhook.
    pub(crate) alerts: AlertsConfig,
    /// Digest of the settings that can change an answer.
    #[serde(skip)]
    pub(crate) revision: Vec<u8>,
}

fn secret<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

fn optional_secret<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Secret>, D::Error> {
    Option::<String>::deserialize(deserializer).map(|key| key.map(Secret::new))
}

fn secrets<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Secret>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    Ok(texts.into_iter().map(Secret::new).collect())
}
