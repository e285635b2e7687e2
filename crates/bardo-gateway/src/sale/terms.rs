//! The terms of the sale, from the configuration.

use bardo_ledger::claims::{ClaimOrder, ExposureTerms};
use bardo_seller::{IdentityTerms, ReputationTier, SaleTerms};
use bardo_types::money::MicroUsd;
use bardo_x402::evm::{Address, Signer};
use bardo_x402::identity::AgentRegistry;
use bardo_x402::quote::{CeilingBounds, QuoteKey};
use bardo_x402::token::{PaymentToken, TokenAmount};
use bardo_x402::wire::{PaymentResource, TransferMethod};

use crate::config::{Config, PaymentsConfig, RawPaymentScheme, WalletNetwork, percent, usd};

/// A public test key, which no chain has money for. It settles simulated payments.
const SIMULATED: &str = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
/// Wei of an ETH, for each of the millionths in which the budget of gas is given.
const WEI_OF_MICRO: u128 = 1_000_000_000_000;
/// Seconds that a settlement may take after the longest answer.
const SETTLE_S: u64 = 60;
/// Seconds between the signature of a payment and its arrival.
const ARRIVE_S: u64 = 60;

/// What is wrong with the settings of the sale, also where nothing is for sale yet. The key is checked
/// at the start, as a sandbox brings one of its own.
pub(crate) fn check(config: &Config) -> Result<(), String> {
    of(config, true)?;
    gas_per_day(&config.payments).map(drop)
}

/// The most wei of gas per day.
pub(super) fn gas_per_day(payments: &PaymentsConfig) -> Result<u128, String> {
    let gas = usd(
        "payments.max_gas_per_day_eth",
        &payments.max_gas_per_day_eth,
    )?;
    Ok(u128::from(gas.get()).saturating_mul(WEI_OF_MICRO))
}

/// The text of the settlement key. A sandbox has one of its own.
pub(super) fn settlement_key(payments: &PaymentsConfig, sandbox: bool) -> Result<&str, String> {
    let own = payments.settlement_key.as_ref();
    match own.map(bardo_types::secret::Secret::expose) {
        Some(key) if !key.is_empty() => Ok(key),
        _ if sandbox => Ok(SIMULATED),
        _ => Err(
            "`payments.settlement_key` is required to sell requests: the private key of the account that settles \
             payments, such as \"env:BARDO_SETTLEMENT_KEY\""
                .to_owned(),
        ),
    }
}

/// The account of the settlement key.
pub(super) fn signer(payments: &PaymentsConfig, sandbox: bool) -> Result<Signer, String> {
    let key = settlement_key(payments, sandbox)?;
    Signer::from_hex(key).map_err(|error| format!("`payments.settlement_key`: {error}"))
}

/// Whether a facilitator elsewhere settles.
pub(super) fn is_facilitated(payments: &PaymentsConfig) -> bool {
    payments.facilitator_url.is_some()
}

/// The secret that the key of quotes is made of.
fn quote_secret(payments: &PaymentsConfig, sandbox: bool) -> Result<&str, String> {
    if !is_facilitated(payments) {
        return settlement_key(payments, sandbox);
    }
    let secret = payments.quote_secret.as_ref();
    let secret = secret.map(bardo_types::secret::Secret::expose);
    secret.filter(|text| text.len() >= 32).ok_or_else(|| {
        "`payments.quote_secret` is required with `payments.facilitator_url`: 32 random characters or more, such as \
         \"env:BARDO_QUOTE_SECRET\""
            .to_owned()
    })
}

/// The account that settles; `None` where a facilitator elsewhere does.
fn settler(payments: &PaymentsConfig, sandbox: bool) -> Result<Option<Address>, String> {
    if !is_facilitated(payments) {
        return Ok(Some(signer(payments, sandbox)?.address()));
    }
    let own = payments.settlement_key.as_ref();
    if own.is_some_and(|key| !key.expose().is_empty()) {
        return Err(
            "`payments.settlement_key` and `payments.facilitator_url` exclude each other; set one of them"
                .to_owned(),
        );
    }
    if payments.schemes != [RawPaymentScheme::Exact] {
        return Err(
            "`payments.facilitator_url` needs `schemes: [\"exact\"]`: a settlement by `upto` looks like any other transfer \
             of the wallet"
                .to_owned(),
        );
    }
    Ok(None)
}

pub(super) fn of(config: &Config, sandbox: bool) -> Result<SaleTerms, String> {
    let payments = &config.payments;
    let settler = settler(payments, sandbox)?;
    let longest_s = config.upstream.total_timeout.0.as_secs();
    let amount = |name: &str, number| usd(&format!("payments.{name}"), number);
    let least = amount("min_request_usd", &payments.min_request_usd)?;
    let most = amount("max_request_usd", &payments.max_request_usd)?;
    let deposit = amount("max_deposit_usd", &payments.max_deposit_usd)?;
    if most < least || least == MicroUsd::ZERO {
        return Err(
            "`payments.min_request_usd` must be above 0 and at most `payments.max_request_usd`"
                .to_owned(),
        );
    }
    Ok(SaleTerms {
        token: match payments.network {
            WalletNetwork::Base => PaymentToken::usdc_on_base(),
            WalletNetwork::BaseSepolia => PaymentToken::usdc_on_base_sepolia(),
        },
        pay_to: match (payments.pay_to.as_deref(), settler) {
            (Some(text), _) => address(text)?,
            (None, Some(settler)) => settler,
            (None, None) => {
                return Err(
                    "`payments.pay_to` is required with `payments.facilitator_url`: the address that is paid"
                        .to_owned(),
                );
            }
        },
        methods: methods(payments, settler)?,
        order: match payments.settle_first {
            true => ClaimOrder::SettleFirst,
            false => ClaimOrder::ServeFirst,
        },
        quote_key: QuoteKey::derive(quote_secret(payments, sandbox)?.as_bytes()),
        quote_s: payments.quote_ttl.0.as_secs(),
        max_timeout_s: longest_s + SETTLE_S + ARRIVE_S,
        least_s: longest_s + SETTLE_S,
        bounds: CeilingBounds {
            least: TokenAmount::from_usd(least),
            below: TokenAmount::new(most.get().saturating_add(1)),
        },
        deposits: CeilingBounds {
            least: TokenAmount::from_usd(least),
            below: TokenAmount::new(deposit.get().saturating_add(1)),
        },
        minimum: least,
        exposure: ExposureTerms {
            cap: amount("max_open_usd", &payments.max_open_usd)?,
            first_cap: amount("first_open_usd", &payments.first_open_usd)?,
            raise: amount("raise_open_usd", &payments.raise_open_usd)?,
            open_max: payments.max_open,
            admits_debtors: false,
        },
        identity: identity(payments)?,
        facilitated: is_facilitated(payments).then(|| resource(payments)),
        stale_ms: (longest_s + SETTLE_S) * 1_000,
    })
}

fn methods(
    payments: &PaymentsConfig,
    settler: Option<Address>,
) -> Result<Vec<TransferMethod>, String> {
    let schemes = &payments.schemes;
    if schemes.is_empty() {
        return Err("`payments.schemes` is empty; name \"upto\", \"exact\" or both".to_owned());
    }
    if payments.settle_first && schemes.contains(&RawPaymentScheme::Upto) {
        return Err(
            "`payments.settle_first` needs `schemes: [\"exact\"]`: what `upto` settles is known after the answer"
                .to_owned(),
        );
    }
    let methods = schemes.iter().filter_map(|scheme| match scheme {
        RawPaymentScheme::Upto => settler.map(|facilitator| TransferMethod::Upto { facilitator }),
        RawPaymentScheme::Exact => Some(TransferMethod::Exact),
    });
    Ok(methods.collect())
}

/// What payments are for, as a facilitator is told.
fn resource(payments: &PaymentsConfig) -> PaymentResource {
    let url = payments.public_url.as_deref();
    PaymentResource {
        url: url.unwrap_or("https://localhost").to_owned(),
        description: "an answer of a model".to_owned(),
        mime_type: "application/json".to_owned(),
    }
}

fn address(text: &str) -> Result<Address, String> {
    let address: Option<Address> = text.parse().ok();
    address
        .filter(|address| *address != Address::ZERO)
        .ok_or_else(|| "`payments.pay_to` must be an address: 0x and 40 hex digits".to_owned())
}

/// The proofs of agents; they name the public address of the gateway, so it has to be known.
fn identity(payments: &PaymentsConfig) -> Result<Option<IdentityTerms>, String> {
    let registry = AgentRegistry::parse(&payments.identity_registry).ok_or_else(|| {
        "`payments.identity_registry` must be such as eip155:8453:0x8004a169fb4a3325136eb29fa0ceb6d2e539a432, in lower case"
            .to_owned()
    })?;
    let account = |place: &str, text: &str| -> Result<Address, String> {
        text.parse()
            .map_err(|_| format!("`payments.{place}` must be an address: 0x and 40 hex digits"))
    };
    let reputation = account("reputation_registry", &payments.reputation_registry)?;
    let reviewers = payments.reviewers.iter();
    let reviewers: Result<Vec<_>, _> = reviewers.map(|text| account("reviewers", text)).collect();
    let tiers = payments.reputation_tiers.iter().enumerate();
    let tiers = tiers.map(|(index, tier)| {
        let place = format!("payments.reputation_tiers[{index}].spread_pct");
        Ok(ReputationTier {
            name: tier.name.clone(),
            score: tier.score,
            spread: percent(&place, &tier.spread_pct)?,
        })
    });
    let tiers: Vec<_> = tiers.collect::<Result<_, String>>()?;
    let reviewers = reviewers?;
    Ok(payments.public_url.as_ref().map(|url| IdentityTerms {
        audience: url.trim_end_matches('/').to_owned(),
        registry,
        reputation: Some(reputation),
        reviewers,
        tiers,
    }))
}
