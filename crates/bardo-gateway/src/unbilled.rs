//! Notices about backends whose requests are not billed: they use up no balance and count toward no
//! cap, so a key with a cap may spend more than its cap says.

use std::path::Path;

use bardo_access::KeyRecord;
use serde_json::Value;

use crate::assemble::{self, AssembledBackend};
use crate::cli::environment;
use crate::config;

/// The backends that are not billed, except local servers without a price, which cost nothing.
pub(crate) fn names(backends: &[AssembledBackend]) -> Vec<String> {
    let unbilled = backends.iter().filter(|backend| backend.is_unbilled());
    unbilled
        .map(|backend| backend.endpoint.name.clone())
        .collect()
}

/// The backends that are not billed, as the configuration of a verb says. A verb that acts on the
/// store needs no key of a provider, so references that cannot be resolved here are no error.
pub(crate) fn configured(flag: Option<&Path>) -> Vec<String> {
    let Some(config) = config::peek(flag, &environment()) else {
        return Vec::new();
    };
    names(&assemble::backends(&config).unwrap_or_default())
}

/// A warning about a new key with a cap or a deposit that does not apply to some backends, because
/// they are not billed. `key` is the key as listings show it.
pub(crate) fn of_key(key: &Value, unbilled: &[String]) -> Option<String> {
    let caps = key["scopes"]["spend"].as_object();
    let is_capped = caps.is_some_and(|caps| caps.values().any(Value::is_string));
    let what = match (is_capped, key["balance"].is_object()) {
        (true, _) => "count toward no cap of this key",
        (false, true) => "use up no balance",
        (false, false) => return None,
    };
    notice(unbilled, what)
}

/// A warning about active keys with caps that do not apply to unbilled backends.
pub(crate) fn of_keys(keys: &[KeyRecord], now_ms: u64, unbilled: &[String]) -> Option<String> {
    let is_capped = |key: &&KeyRecord| {
        let caps = &key.scopes.spend;
        let caps = [caps.session, caps.day, caps.month, caps.total];
        key.state(now_ms) == bardo_access::KeyState::Active && caps.iter().any(Option::is_some)
    };
    match keys.iter().filter(is_capped).count() {
        0 => None,
        1 => notice(unbilled, "do not count toward the spending cap of one key"),
        count => notice(
            unbilled,
            &format!("do not count toward the spending caps of {count} keys"),
        ),
    }
}

fn notice(unbilled: &[String], what: &str) -> Option<String> {
    if unbilled.is_empty() {
        return None;
    }
    let names: Vec<String> = unbilled.iter().map(|name| format!("`{name}`")).collect();
    Some(format!(
        "requests to {} are not billed and {what}; to bill them, set `bill: true` for the backend under \
         `providers`",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::of_key;

    #[test]
    fn a_cap_or_a_deposit_is_worth_a_notice_where_a_backend_is_not_billed() {
        let unbilled = ["direct/openai".to_owned()];
        let capped = json!({ "scopes": { "spend": { "day": "0.050000", "month": null } } });
        let funded = json!({ "scopes": { "spend": { "day": null } }, "balance": {} });
        let plain = json!({ "scopes": { "spend": { "day": null } } });
        let told = of_key(&capped, &unbilled).unwrap();
        assert!(told.contains("`direct/openai`") && told.contains("bill: true"));
        assert!(of_key(&funded, &unbilled).unwrap().contains("no balance"));
        assert_eq!(of_key(&plain, &unbilled), None);
        assert_eq!(of_key(&capped, &[]), None);
    }
}
