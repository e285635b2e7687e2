//! Addresses in settings, checked before the settings are read: a mistake beside an address must not
//! hide that of the address.

use bardo_providers::BaseUrl;
use serde_json::Value;

/// Mistakes in the addresses of providers and of Redis, one sentence each.
pub(super) fn problems(settings: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let providers = settings["providers"].as_object();
    for (name, provider) in providers.into_iter().flatten() {
        of_provider(&format!("providers.{name}"), provider, &mut problems);
        let keys = provider["keys"].as_array();
        for (index, key) in keys.into_iter().flatten().enumerate() {
            let place = format!("providers.{name}.keys[{index}]");
            of_provider(&place, key, &mut problems);
        }
    }
    for section in ["limits", "cache", "shared"] {
        let url = settings[section]["redis_url"].as_str().unwrap_or_default();
        let is_redis = ["redis://", "redis+unix://", "unix://", "valkey://"]
            .iter()
            .any(|scheme| url.starts_with(scheme));
        if !url.is_empty() && !is_redis {
            problems.push(format!(
                "`{section}.redis_url` must begin with redis:// or redis+unix://; TLS (rediss://) is not supported"
            ));
        }
    }
    of_vectors(settings, &mut problems);
    of_telemetry(&settings["telemetry"], &mut problems);
    problems
}

/// The least bytes of the key that encrypts shared answers.
const KEY_BYTES_MIN: usize = 32;

/// The settings of the cache that several gateways share.
fn of_vectors(settings: &Value, problems: &mut Vec<String>) {
    let cache = &settings["cache"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    for (section, what) in [
        ("cache", "the shared cache"),
        ("shared", "the shared state"),
    ] {
        let section_of = &settings[section];
        let is_shared = section_of["redis_url"]
            .as_str()
            .is_some_and(|url| !url.is_empty());
        let is_short = |key: String| key.len() < KEY_BYTES_MIN;
        if is_shared && text(&section_of["redis_key"]).is_some_and(is_short) {
            problems.push(format!(
                "`{section}.redis_key`: the key of {what} must have 32 bytes or more; write a random text"
            ));
        }
    }
    let vectors = &cache["semantic"]["vectors"];
    if let Some(url) = vectors["url"].as_str()
        && let Err(error) = BaseUrl::parse(url)
    {
        problems.push(format!("`cache.semantic.vectors.url`: {error}"));
    }
    if let Some(name) = vectors["collection"].as_str()
        && !is_collection(name)
    {
        problems.push(WRONG_COLLECTION.to_owned());
    }
}

/// The addresses of telemetry sinks.
fn of_telemetry(telemetry: &Value, problems: &mut Vec<String>) {
    for (section, name) in [
        ("otlp", "endpoint"),
        ("otlp", "traces_endpoint"),
        ("otlp", "metrics_endpoint"),
        ("langfuse", "url"),
        ("clickhouse", "url"),
    ] {
        let url = telemetry[section][name].as_str().unwrap_or_default();
        if let Err(error) = BaseUrl::parse(url)
            && !url.is_empty()
        {
            problems.push(format!("`telemetry.{section}.{name}`: {error}"));
        }
    }
}

/// The refusal of a name that [`is_collection`] does not accept.
pub const WRONG_COLLECTION: &str = "`cache.semantic.vectors.collection` must have letters, digits, `-` and `_` only, and at least one of them";

/// Whether a collection of vectors may have this name.
pub fn is_collection(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !name.is_empty() && name.bytes().all(is_plain)
}

fn of_provider(place: &str, provider: &Value, problems: &mut Vec<String>) {
    if let Some(url) = provider["base_url"].as_str()
        && let Err(error) = BaseUrl::parse(url)
    {
        problems.push(format!("`{place}.base_url`: {error}"));
    }
}
