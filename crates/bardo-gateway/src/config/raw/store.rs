//! Where money, keys and receipts are kept, and how much callers may ask for.

use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::secret;
use crate::config::units::Span;

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
    /// Tokens per hour (UTC) and account; 0: no allowance.
    pub(crate) allowance_tokens_per_hour: u64,
    /// Beyond the allowance requests go on and are billed; else they are refused until the hour
    /// ends.
    pub(crate) allowance_overage: bool,
    /// `redis://…` where several gateways share the counters; empty: each counts for itself.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub(crate) redis_url: Secret,
    /// How many gateways share the counters: when Redis is lost, each grants its share.
    pub(crate) instances: u32,
}
