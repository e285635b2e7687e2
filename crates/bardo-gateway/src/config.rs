//! The settings of the program: what `bardo-config` reads, with the checks of the parts that it sets
//! up.

use std::path::Path;

use serde_json::Value;

pub(crate) use bardo_config::{
    AlertsConfig, BACKENDS, BankrConfig, BlockRunConfig, CacheConfig, ClickHouseConfig, Config,
    ConfigError, DirectKey, DirectProvider, LangfuseConfig, LimitsConfig, Loaded, ModeName,
    OtlpConfig, OwnerModelConfig, PaymentsConfig, PriceConfig, PrivyConfig, ProviderMode,
    RawAlertEvent, RawAuditMode, RawCacheScope, RawDomain, RawDurability, RawMinPFallback,
    RawPaymentScheme, RawRegime, RawServer, RefusedPhrasesConfig, SemanticCacheConfig,
    ServiceConfig, SharedConfig, StoreConfig, TelemetryConfig, VectorsConfig, WRONG_COLLECTION,
    WalletNetwork, WebhookConfig, credentials, embedded_store, is_collection, known_backend_beside,
    listener, load_store, peek, percent, units, usd,
};
#[cfg(feature = "embedder")]
pub(crate) use bardo_config::{RawPooling, RawVectorEngine, SemanticModelConfig};

use crate::{alerts, sale};

/// Checks of the parts, which know their own settings best.
fn of_parts(config: &Config) -> Vec<String> {
    let checked = [alerts::check(&config.alerts), sale::check(config)];
    checked.into_iter().filter_map(Result::err).collect()
}

/// Finds, reads and checks the configuration.
///
/// # Errors
/// With every mistake.
pub(crate) fn load(
    flag: Option<&Path>,
    environment: &[(String, String)],
) -> Result<Loaded, ConfigError> {
    bardo_config::load(flag, environment, &of_parts)
}

/// [`load`] with checks of the caller, which get settings whose mistakes were replaced.
///
/// # Errors
/// With every mistake.
pub(crate) fn load_with(
    flag: Option<&Path>,
    environment: &[(String, String)],
    more: impl Fn(&Config) -> Vec<String>,
) -> Result<Loaded, ConfigError> {
    let all = |config: &Config| [of_parts(config), more(config)].concat();
    bardo_config::load(flag, environment, &all)
}

/// A configuration made by the program itself, over the defaults.
///
/// # Errors
/// With every mistake.
pub(crate) fn embedded(name: &str, value: Value) -> Result<Loaded, ConfigError> {
    embedded_with(name, value, &[])
}

/// [`embedded`] under the telemetry and over the terms of payments that the environment names.
///
/// # Errors
/// With every mistake.
pub(crate) fn embedded_with(
    name: &str,
    value: Value,
    environment: &[(String, String)],
) -> Result<Loaded, ConfigError> {
    bardo_config::embedded(name, value, environment, &of_parts)
}

/// A configuration file as YAML that is not written yet.
///
/// # Errors
/// With every mistake.
pub(crate) fn of_text(text: &str, environment: &[(String, String)]) -> Result<Loaded, ConfigError> {
    bardo_config::of_text(text, environment, &of_parts)
}

#[cfg(test)]
mod tests;
