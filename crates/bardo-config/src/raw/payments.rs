//! Payments by callers without a key (x402).

use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::providers::WalletNetwork;
use super::{optional_secret, secrets};
use crate::units::Span;

/// Sale of single requests to callers without a key, for USDC (x402).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaymentsConfig {
    /// Offer requests for sale to callers without a key.
    pub enabled: bool,
    /// Private key of the account that settles payments and pays their gas, as `env:NAME` or
    /// `file:PATH`: 64 hex digits, or the JSON of a keystore.
    #[serde(default, deserialize_with = "optional_secret")]
    #[schemars(with = "Option<String>")]
    pub settlement_key: Option<Secret>,
    /// Passphrase of the keystore, as `env:NAME` or `file:PATH`.
    #[serde(default, deserialize_with = "optional_secret")]
    #[schemars(with = "Option<String>")]
    pub settlement_passphrase: Option<Secret>,
    /// Address of a facilitator that settles payments in place of `settlement_key`. Needs the scheme
    /// `exact` alone.
    #[serde(default)]
    pub facilitator_url: Option<String>,
    /// Token for the facilitator, as `env:NAME` or `file:PATH`.
    #[serde(default, deserialize_with = "optional_secret")]
    #[schemars(with = "Option<String>")]
    pub facilitator_key: Option<Secret>,
    /// Secret of offers where there is no `settlement_key`, as `env:NAME` or `file:PATH`: 32
    /// characters or more. Instances that share callers share it.
    #[serde(default, deserialize_with = "optional_secret")]
    #[schemars(with = "Option<String>")]
    pub quote_secret: Option<Secret>,
    /// Address that is paid. Default: the address of `settlement_key`.
    #[serde(default)]
    pub pay_to: Option<String>,
    /// Network of the payments: `base` or `base-sepolia`.
    pub network: WalletNetwork,
    /// JSON-RPC endpoints of the network.
    #[serde(default, deserialize_with = "secrets")]
    #[schemars(with = "Vec<String>")]
    pub rpc_urls: Vec<Secret>,
    /// Endpoints that must agree on what decides about money; 0: more than half of them.
    pub rpc_quorum: usize,
    /// Allow endpoints at private addresses, such as a node of your own.
    pub rpc_allow_private: bool,
    /// Ways to pay, in the order of preference.
    pub schemes: Vec<RawPaymentScheme>,
    /// Settle each payment before its answer begins. Needs the scheme `exact` alone.
    pub settle_first: bool,
    /// The largest payment for one request, in USD.
    #[schemars(with = "f64")]
    pub max_request_usd: serde_json::Number,
    /// The smallest payment, and the least that an answer costs, in USD.
    #[schemars(with = "f64")]
    pub min_request_usd: serde_json::Number,
    /// The largest deposit, in USD.
    #[schemars(with = "f64")]
    pub max_deposit_usd: serde_json::Number,
    /// The most that the open payments of a wallet may add up to, in USD.
    #[schemars(with = "f64")]
    pub max_open_usd: serde_json::Number,
    /// The most for a wallet without a settled payment, in USD.
    #[schemars(with = "f64")]
    pub first_open_usd: serde_json::Number,
    /// Each settled payment raises that by this much, in USD.
    #[schemars(with = "f64")]
    pub raise_open_usd: serde_json::Number,
    /// The most open payments of a wallet.
    pub max_open: u64,
    /// Time for which an offer is honored.
    pub quote_ttl: Span,
    /// Longest time that a whole answer waits for its settlement.
    pub settlement_wait: Span,
    /// Blocks after which a settlement is final and a transfer is credited.
    pub confirmations: u64,
    /// The most gas per day (UTC) for settlements, in ETH.
    #[schemars(with = "f64")]
    pub max_gas_per_day_eth: serde_json::Number,
    /// Identity registry of agents, as `eip155:<chain>:<address>` in lower case (ERC-8004).
    pub identity_registry: String,
    /// Registry of feedback on agents.
    pub reputation_registry: String,
    /// Accounts whose feedback counts for the reputation of an agent.
    #[serde(default)]
    pub reviewers: Vec<String>,
    /// Spreads of wallets that are linked with an agent, by its reputation.
    #[serde(default)]
    pub reputation_tiers: Vec<ReputationTierConfig>,
    /// Address of the gateway as callers see it, for offers and agent proofs. Default for offers:
    /// the `Host` of the request.
    #[serde(default)]
    pub public_url: Option<String>,
}

/// A scheme of x402.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawPaymentScheme {
    /// Up to the signed amount, by Permit2.
    Upto,
    /// The signed amount, by EIP-3009. The part that a caller pays too much becomes credit of its wallet.
    Exact,
}

/// A spread from a reputation on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReputationTierConfig {
    /// Name of the tier.
    pub name: String,
    /// The least reputation.
    pub score: u64,
    /// Addition to the costs of providers, in percent.
    #[schemars(with = "f64")]
    pub spread_pct: serde_json::Number,
}
