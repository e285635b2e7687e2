//! Alerts by webhook.

use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{optional_secret, secret};
use crate::units::Span;

/// Alerts: messages to webhooks about what an operator has to know.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertsConfig {
    /// Check this often.
    pub check_every: Span,
    /// Send an alert again after this time, as long as its cause lasts.
    pub repeat: Span,
    /// Send a message again for this time while its receiver fails.
    pub retry_for: Span,
    /// Alert if an account that made requests within a day has less than this left, in USD; 0: never.
    #[schemars(with = "f64")]
    pub low_balance_usd: serde_json::Number,
    /// Alert if the gateway's credit at a provider is below this, in USD, where it is known; 0: never.
    #[schemars(with = "f64")]
    pub low_credit_usd: serde_json::Number,
    /// Receivers of the messages.
    #[serde(default)]
    pub webhooks: Vec<WebhookConfig>,
}

/// A receiver of alerts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// Address for POST, which may be a secret, such as that of a Slack channel.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub url: Secret,
    /// Secret that signs each message; absent: messages are not signed.
    #[serde(default, deserialize_with = "optional_secret")]
    #[schemars(with = "Option<String>")]
    pub secret: Option<Secret>,
    /// Alerts to send; empty: all.
    #[serde(default)]
    pub events: Vec<RawAlertEvent>,
    /// Allow a host name that resolves to a private address.
    #[serde(default)]
    pub allow_private: bool,
}

/// A kind of alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum RawAlertEvent {
    /// An account has little left.
    #[serde(rename = "account.balance_low")]
    AccountBalanceLow,
    /// An account owed more than it had.
    #[serde(rename = "account.debt")]
    AccountDebt,
    /// The gateway's credit at a provider is low.
    #[serde(rename = "provider.credit_low")]
    ProviderCreditLow,
    /// The circuit of a backend with a model is open.
    #[serde(rename = "circuit.open")]
    CircuitOpen,
    /// The semantic cache stopped a domain: its error bound was passed.
    #[serde(rename = "cache.error_bound")]
    CacheErrorBound,
    /// The store does not answer.
    #[serde(rename = "store.failing")]
    StoreFailing,
}
