//! Whose backends are called first, of those that the gateway chooses.

use schemars::JsonSchema;
use serde::Deserialize;

/// Whose backends are called first, of those that the gateway chooses.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawRouting {
    /// A direct or local backend that has the chosen model answers in place of a seller, if nothing
    /// that the request asks for is lost. A caller who pays gets it only if the backend is billed.
    pub prefer_own_keys: bool,
}
