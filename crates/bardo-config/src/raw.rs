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

pub use self::alerts::{AlertsConfig, RawAlertEvent, WebhookConfig};
use self::auth::Auth;
pub use self::auth::PrivyConfig;
pub use self::cache::{
    CacheConfig, RawAuditMode, RawCacheScope, RawDomain, RawRegime, SemanticCacheConfig,
    VectorsConfig,
};
pub use self::cache::{RawPooling, RawVectorEngine, SemanticModelConfig};
use self::catalog::CatalogConfig;
pub use self::catalog::OwnerModelConfig;
pub use self::check::{BACKENDS, known_backend_beside, usd};
pub(crate) use self::inference::GeminiCaching;
use self::inference::RawInference;
pub use self::inference::{ModeName, ProviderMode, RawMinPFallback, percent};
pub use self::payments::{PaymentsConfig, RawPaymentScheme};
pub use self::price::PriceConfig;
use self::privacy::Privacy;
use self::profile::ProfileConfig;
use self::providers::Providers;
pub use self::providers::{
    BankrConfig, BlockRunConfig, DirectKey, DirectProvider, ServiceConfig, WalletNetwork,
};
use self::routing::RawRouting;
pub use self::screening::RefusedPhrasesConfig;
use self::screening::Screening;
pub use self::server::RawServer;
use self::server::Upstream;
pub use self::store::{LimitsConfig, RawDurability, SharedConfig, StoreConfig};
pub use self::telemetry::{ClickHouseConfig, LangfuseConfig, OtlpConfig, TelemetryConfig};

/// The whole configuration.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Listeners and limits for clients.
    pub server: RawServer,
    /// Limits for providers.
    pub upstream: Upstream,
    /// Models and their features.
    pub catalog: CatalogConfig,
    /// API keys and tokens of clients.
    #[serde(default)]
    pub auth: Auth,
    /// Store of money, keys and receipts.
    pub store: StoreConfig,
    /// Rate limits of keys.
    pub limits: LimitsConfig,
    /// State of requests that several gateways share.
    pub shared: SharedConfig,
    /// Backends by name.
    #[serde(default)]
    pub providers: Providers,
    /// Routing and model settings.
    pub inference: RawInference,
    /// Whose backends are called first.
    pub routing: RawRouting,
    /// Privacy of requests.
    pub privacy: Privacy,
    /// Checks of what requests say.
    #[serde(default)]
    pub screening: Screening,
    /// The cache of answers.
    pub cache: CacheConfig,
    /// Traces and metrics that are sent to other systems.
    pub telemetry: TelemetryConfig,
    /// Sale of single requests to callers without a key.
    pub payments: PaymentsConfig,
    /// Alerts by webhook.
    pub alerts: AlertsConfig,
    /// Digest of the settings that can change an answer.
    #[serde(skip)]
    pub revision: Vec<u8>,
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
