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
    for section in ["limits", "cache"] {
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
    problems
}

fn of_provider(place: &str, provider: &Value, problems: &mut Vec<String>) {
    if let Some(url) = provider["base_url"].as_str()
        && let Err(error) = BaseUrl::parse(url)
    {
        problems.push(format!("`{place}.base_url`: {error}"));
    }
}
