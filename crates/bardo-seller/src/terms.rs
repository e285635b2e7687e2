//! The terms of a sale: what is asked for, and how far a payer is trusted.

use bardo_ledger::claims::{ClaimOrder, ExposureTerms};
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_x402::evm::Address;
use bardo_x402::identity::AgentRegistry;
use bardo_x402::quote::{CeilingBounds, Quote, QuoteKey, RequestDigest};
use bardo_x402::token::{PaymentToken, TokenAmount};
use bardo_x402::verify::PaymentWindow;
use bardo_x402::wire::{OfferedRequirement, PaymentResource, TransferMethod};

/// Version of the prices in quotes.
const PRICE_VERSION: u64 = 1;

/// The terms of a gateway that sells single requests. It has no `Debug`: the key of its quotes is
/// a secret.
pub struct SaleTerms {
    /// The token that is taken.
    pub token: PaymentToken,
    /// The account that is paid.
    pub pay_to: Address,
    /// The ways to pay, in the order of preference.
    pub methods: Vec<TransferMethod>,
    /// Whether the answer or the settlement comes first. Only `exact` can be settled first.
    pub order: ClaimOrder,
    /// The key of quotes; instances that share callers share it.
    pub quote_key: QuoteKey,
    /// Seconds for which a quote is honored.
    pub quote_s: u64,
    /// Seconds for which a payment has to be good, from its signature.
    pub max_timeout_s: u64,
    /// Seconds that the longest answer and its settlement need.
    pub least_s: u64,
    /// Smallest and largest payment.
    pub bounds: CeilingBounds,
    /// Smallest and largest deposit.
    pub deposits: CeilingBounds,
    /// The least that an answer with content costs.
    pub minimum: MicroUsd,
    /// How much a payer may owe.
    pub exposure: ExposureTerms,
    /// How agents prove who they are; `None`: they cannot.
    pub identity: Option<IdentityTerms>,
    /// What payments are for, as a facilitator elsewhere is told that settles them; `None`: the
    /// gateway settles.
    pub facilitated: Option<PaymentResource>,
    /// Milliseconds after which a request that says nothing is taken for dead.
    pub stale_ms: u64,
}

/// How much longer than asked a payment may be good, for payers whose clocks are ahead.
const CLOCK_S: u64 = 600;

impl SaleTerms {
    /// The times that a payment is held to which must be good for so many seconds.
    pub(crate) fn window(&self, least_s: u64) -> PaymentWindow {
        PaymentWindow {
            least_s,
            most_s: self.max_timeout_s + CLOCK_S,
        }
    }

    /// The quote of a request at a price, with the method of one of the ways to pay.
    pub(crate) fn quote(
        &self,
        request: RequestDigest,
        method: TransferMethod,
        amount: TokenAmount,
        now_s: u64,
    ) -> Quote {
        Quote {
            request,
            method,
            chain_id: self.token.network().chain_id(),
            token: self.token.address(),
            pay_to: self.pay_to,
            amount,
            price_version: PRICE_VERSION,
            expires_s: now_s + self.quote_s,
        }
    }

    /// The requirement of a quote of ours; `None` where it is for terms that are no longer those of
    /// the gateway.
    pub(crate) fn requirement(
        &self,
        quote: &Quote,
        text: Option<String>,
    ) -> Option<OfferedRequirement> {
        // Deposits are offered by `exact` in any case.
        let is_known =
            quote.method == TransferMethod::Exact || self.methods.contains(&quote.method);
        let is_offered = is_known && quote.pay_to == self.pay_to;
        let is_offered = is_offered && quote.price_version == PRICE_VERSION;
        let requirement = quote.requirement(&self.token, self.max_timeout_s, text);
        requirement.filter(|_| is_offered)
    }
}

/// How agents prove who they are (ERC-8004), and the discount of their reputation.
pub struct IdentityTerms {
    /// Public origin of the gateway, which proofs name.
    pub audience: String,
    /// The identity registry whose agents are known.
    pub registry: AgentRegistry,
    /// The registry of feedback; without it no agent has a reputation.
    pub reputation: Option<Address>,
    /// The accounts whose feedback counts.
    pub reviewers: Vec<Address>,
    /// Discounts, the highest score first.
    pub tiers: Vec<ReputationTier>,
}

/// A discount from a score on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReputationTier {
    /// Name of the tier.
    pub name: String,
    /// The least score.
    pub score: u64,
    /// Addition to the costs of providers.
    pub spread: BasisPoints,
}
