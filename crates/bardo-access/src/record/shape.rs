//! Scopes as text: one form for every store.
//!
//! Databases hold these member names, so a released name never changes its meaning. To add a scope,
//! add a member here, with a default that restricts nothing. A version that does not know a member
//! refuses the key.

use std::collections::BTreeMap;

use bardo_types::money::MicroUsd;
use serde::{Deserialize, Serialize};

use super::{CapRange, CapRanges, InvalidScopes, Scopes, SpendCaps};
use crate::cache_permission::CachePermission;
use crate::limit::Allowance;
use crate::network::{InvalidNetwork, Network};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScopesText {
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
    allowance: Option<StoredAllowance>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spend_session: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spend_day: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spend_month: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spend_total: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    spend_day_of_subsystems: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spend_day_range: Option<[u64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spend_month_range: Option<[u64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredAllowance {
    tokens: u64,
    overage: bool,
}

pub(super) fn write(scopes: &Scopes) -> String {
    let Scopes {
        models,
        backends,
        networks,
        requests_per_minute,
        tokens_per_minute,
        allowance,
        spend,
        subsystem_caps,
        ranges,
        cache,
    } = scopes;
    let range = |range: Option<CapRange>| range.map(|range| [range.min.get(), range.max.get()]);
    let stored = ScopesText {
        models: models.clone(),
        backends: backends.clone(),
        networks: networks.iter().map(ToString::to_string).collect(),
        requests_per_minute: *requests_per_minute,
        tokens_per_minute: *tokens_per_minute,
        allowance: allowance
            .map(|Allowance { tokens, overage }| StoredAllowance { tokens, overage }),
        spend_session: spend.session.map(MicroUsd::get),
        spend_day: spend.day.map(MicroUsd::get),
        spend_month: spend.month.map(MicroUsd::get),
        spend_total: spend.total.map(MicroUsd::get),
        spend_day_of_subsystems: subsystem_caps
            .iter()
            .map(|(name, cap)| (name.clone(), cap.get()))
            .collect(),
        spend_day_range: range(ranges.day),
        spend_month_range: range(ranges.month),
        cache: cache.map(|cache| cache.as_str().to_owned()),
    };
    serde_json::to_string(&stored).expect("lists, texts and numbers are always JSON")
}

pub(super) fn read(text: &str) -> Result<Scopes, InvalidScopes> {
    // Serde would read a list as the members in their order.
    if !text.trim_start().starts_with('{') {
        return Err(InvalidScopes("they must be a JSON object".into()));
    }
    let stored: ScopesText =
        serde_json::from_str(text).map_err(|error| InvalidScopes(error.to_string()))?;
    let networks: Result<Vec<Network>, InvalidNetwork> =
        stored.networks.iter().map(|text| text.parse()).collect();
    Ok(Scopes {
        models: stored.models,
        backends: stored.backends,
        networks: networks.map_err(|error| InvalidScopes(error.to_string()))?,
        requests_per_minute: stored.requests_per_minute,
        tokens_per_minute: stored.tokens_per_minute,
        allowance: stored.allowance.map(|stored| Allowance {
            tokens: stored.tokens,
            overage: stored.overage,
        }),
        spend: SpendCaps {
            session: stored.spend_session.map(MicroUsd::new),
            day: stored.spend_day.map(MicroUsd::new),
            month: stored.spend_month.map(MicroUsd::new),
            total: stored.spend_total.map(MicroUsd::new),
        },
        subsystem_caps: stored
            .spend_day_of_subsystems
            .into_iter()
            .map(|(name, cap)| (name, MicroUsd::new(cap)))
            .collect(),
        ranges: CapRanges {
            day: range(stored.spend_day_range)?,
            month: range(stored.spend_month_range)?,
        },
        cache: stored.cache.as_deref().map(cache).transpose()?,
    })
}

fn cache(stored: &str) -> Result<CachePermission, InvalidScopes> {
    let scope = CachePermission::parse(stored);
    scope.ok_or_else(|| InvalidScopes(format!("`{stored}` is not a scope of the cache")))
}

fn range(stored: Option<[u64; 2]>) -> Result<Option<CapRange>, InvalidScopes> {
    let Some([min, max]) = stored else {
        return Ok(None);
    };
    let range = CapRange::new(MicroUsd::new(min), MicroUsd::new(max));
    range
        .map(Some)
        .ok_or_else(|| InvalidScopes(format!("{min} to {max} is not a range")))
}
