//! API keys and tokens of clients.

use std::path::PathBuf;

use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::secret;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// API keys for clients. Without any key, every program on this machine can call a loopback
    /// listener.
    #[serde(default)]
    pub keys: Vec<CallerKey>,
    /// Accept tokens of Privy, sent as `Bearer privy_<token>`.
    pub privy: Option<PrivyConfig>,
}

/// An application at Privy. Its users can call the gateway.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrivyConfig {
    /// Id of the application.
    pub app_id: String,
    /// Issuer of the tokens; `privy.io` if absent.
    pub issuer: Option<String>,
    /// Audience of the tokens; the application if absent.
    pub audience: Option<String>,
    /// Address of the issuer's keys, if not the usual one of Privy.
    pub jwks_url: Option<String>,
    /// File with the issuer's keys. Nothing is fetched if it is set.
    pub jwks_file: Option<PathBuf>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallerKey {
    /// Name of the client, for logs and cache partitions.
    pub id: String,
    /// API key: `env:NAME`, `file:PATH` or the key itself.
    #[serde(alias = "secret", deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub key: Secret,
}
