//! Who may call.

use std::path::PathBuf;

use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::secret;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Auth {
    /// Keys that callers may use. Without any, everybody who can reach a loopback listener may call.
    #[serde(default)]
    pub(crate) keys: Vec<CallerKey>,
    /// Tokens of Privy, sent as `Bearer privy_<token>`.
    pub(crate) privy: Option<PrivyConfig>,
}

/// An application at Privy, whose users may call.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrivyConfig {
    /// The application's id.
    pub(crate) app_id: String,
    /// Who makes the tokens; `privy.io` if absent.
    pub(crate) issuer: Option<String>,
    /// Whom the tokens are made for; the application if absent.
    pub(crate) audience: Option<String>,
    /// Where the issuer publishes its keys, when not at Privy's usual address.
    pub(crate) jwks_url: Option<String>,
    /// A file with the issuer's keys; they are then fetched from nowhere.
    pub(crate) jwks_file: Option<PathBuf>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallerKey {
    /// A name for logs and partitions.
    pub(crate) id: String,
    /// The key, by `env:NAME`, `file:PATH` or as it is.
    #[serde(alias = "secret", deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub(crate) key: Secret,
}
