//! Scopes as text. The names here are a promise to databases that exist already.

use bardo_types::money::MicroUsd;
use serde::{Deserialize, Serialize};

use super::{InvalidScopes, Scopes, SpendCaps};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    models: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    backends: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    networks: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requests_per_minute: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens_per_minute: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_micro_usd: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    day_micro_usd: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    month_micro_usd: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total_micro_usd: Option<u64>,
}

pub(super) fn write(scopes: &Scopes) -> String {
    let SpendCaps {
        session,
        day,
        month,
        total,
    } = scopes.spend;
    let stored = Stored {
        models: scopes.models.clone(),
        backends: scopes.backends.clone(),
        networks: scopes.networks.iter().map(ToString::to_string).collect(),
        requests_per_minute: scopes.requests_per_minute,
        tokens_per_minute: scopes.tokens_per_minute,
        session_micro_usd: session.map(MicroUsd::get),
        day_micro_usd: day.map(MicroUsd::get),
        month_micro_usd: month.map(MicroUsd::get),
        total_micro_usd: total.map(MicroUsd::get),
    };
    serde_json::to_string(&stored).expect("lists, texts and numbers are always JSON")
}

pub(super) fn read(text: &str) -> Result<Scopes, InvalidScopes> {
    // Serde would read a list as the members in their order.
    if !text.trim_start().starts_with('{') {
        return Err(InvalidScopes("they must be a JSON object".into()));
    }
    let stored: Stored =
        serde_json::from_str(text).map_err(|error| InvalidScopes(error.to_string()))?;
    let networks = stored
        .networks
        .iter()
        .map(|text| text.parse())
        .collect::<Result<_, crate::network::InvalidNetwork>>()
        .map_err(|error| InvalidScopes(error.to_string()))?;
    Ok(Scopes {
        models: stored.models,
        backends: stored.backends,
        networks,
        requests_per_minute: stored.requests_per_minute,
        tokens_per_minute: stored.tokens_per_minute,
        spend: SpendCaps {
            session: stored.session_micro_usd.map(MicroUsd::new),
            day: stored.day_micro_usd.map(MicroUsd::new),
            month: stored.month_micro_usd.map(MicroUsd::new),
            total: stored.total_micro_usd.map(MicroUsd::new),
        },
    })
}
