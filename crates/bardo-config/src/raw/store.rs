//! The store of money, keys and receipts, and rate limits.

use std::collections::BTreeMap;

use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::secret;
use crate::units::Span;

/// Store of money, keys and receipts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreConfig {
    /// `sqlite` for a file in the data folder, or `postgres://…` for several gateways that share
    /// accounts and keys.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub url: Secret,
    /// Durability of SQLite.
    pub durability: RawDurability,
    /// Delete receipts after this time. Postings stay for ever.
    pub keep_receipts: Span,
    /// Keep the figures of charts per minute for this time.
    pub keep_minutes: Span,
    /// Keep the figures of charts per hour and per day for this time, longer than receipts.
    pub keep_hours: Span,
}

/// Durability of an acknowledged posting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawDurability {
    /// A posting survives a crash of the process.
    Normal,
    /// A posting survives a loss of power too; each commit waits for the disk.
    Full,
}

/// State of requests that several gateways share for a time.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedConfig {
    /// `redis://…` to share repeated requests, stored responses, thinking, hints about backends and
    /// events between gateways; empty: each gateway has its own.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub redis_url: Secret,
    /// Secret of 32 characters or more that encrypts the state in Redis; the same in all gateways.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub redis_key: Secret,
}

/// Rate limits of keys.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsConfig {
    /// Requests per minute and key, if neither its scopes nor its tier set a limit.
    pub requests_per_minute: u32,
    /// Tokens per minute and key, in the same way; 0: no limit.
    pub tokens_per_minute: u64,
    /// Tokens per hour (UTC) and account; 0: no allowance.
    pub allowance_tokens_per_hour: u64,
    /// Tokens per hour (UTC) of single accounts, and of each account of a tier: by the id of the
    /// account, or `free`, `pro`, `golem` or `none`.
    #[serde(default)]
    pub allowances: BTreeMap<String, u64>,
    /// Serve requests beyond the allowance too; false: refuse them until the hour ends. All requests
    /// are charged, those within the allowance too.
    pub allowance_overage: bool,
    /// `redis://…` to share the counters between gateways; empty: each gateway counts its own
    /// requests.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub redis_url: Secret,
    /// Number of gateways that share the counters. Without Redis each one grants its share of the
    /// limit.
    pub instances: u32,
}
