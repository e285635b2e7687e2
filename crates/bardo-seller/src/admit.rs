//! From a payment to the right to one answer: compared with our offer, proven, and claimed.

use std::sync::Arc;

use bardo_engine::Task;
use bardo_ledger::StoreError;
use bardo_ledger::claims::{
    AuthorizationKey, ChainAddress, ChainHash, ClaimAnswer, ClaimBook, ClaimOrder, ClaimQuery,
    ClaimRecord, ClaimRefusal, ClaimScheme, ExposureTerms, NewClaim, WalletId,
};
use bardo_types::clock::Clock;
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_x402::quote::{CeilingBounds, RequestDigest};
use bardo_x402::token::TokenAmount;
use bardo_x402::verify::{CheckedPayment, PayerState, PaymentClaim, VerifiedPayment};
use bardo_x402::wire::{
    FacilitatorRequest, OfferedRequirement, PaymentScheme, TransferMethod, X402Version,
};

use crate::claimed::ClaimedHolds;
use crate::offers::digest;
use crate::payment::PresentedPayment;
use crate::port::{ChainUnknown, PaymentChain};
use crate::terms::SaleTerms;
use crate::ticket::PaidTicket;

/// Sells requests on terms of its own.
pub struct Seller {
    pub(crate) terms: Arc<SaleTerms>,
    pub(crate) claims: ClaimBook,
    pub(crate) chain: Arc<dyn PaymentChain>,
    holds: Arc<ClaimedHolds>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// What a payment has to pay.
pub(crate) struct PricedItem {
    /// What quotes of it bind.
    pub(crate) digest: RequestDigest,
    /// The price at which it is offered now. A payment without a quote must match it.
    pub(crate) price: Option<MicroUsd>,
    pub(crate) bounds: CeilingBounds,
    /// Seconds for which a payment has to be good yet.
    pub(crate) least_s: u64,
}

/// The request that a payment came with.
pub struct SaleRequest<'a> {
    /// The kind of work.
    pub task: Task,
    /// The caller's dialect.
    pub dialect: Dialect,
    /// The body, byte for byte.
    pub body: &'a [u8],
    /// The price at which the request is offered now, for payments without a quote.
    pub price: Option<MicroUsd>,
}

/// A payment that pays our offer, and that nobody has proven yet.
pub struct ComparedPayment {
    checked: CheckedPayment,
    version: X402Version,
    quote: String,
    request: RequestDigest,
    /// What a facilitator elsewhere is asked.
    facilitated: Option<String>,
}

/// How a payment is claimed.
pub(crate) struct ClaimTerms {
    pub(crate) order: ClaimOrder,
    pub(crate) exposure: ExposureTerms,
    pub(crate) stale_ms: u64,
}

/// A payment that is proven and not claimed yet.
pub struct AdmittedPayment {
    verified: VerifiedPayment,
    version: X402Version,
    quote: String,
    request: RequestDigest,
    /// What a facilitator elsewhere is asked.
    facilitated: Option<String>,
}

/// Why a payment buys nothing.
#[derive(Debug, thiserror::Error)]
pub enum PaymentRejection {
    /// The payment does not pay the offer, or its payer cannot pay. Another payment may.
    #[error("{message}")]
    Refused {
        /// Code of the protocol.
        code: &'static str,
        /// What the payer has to change.
        message: String,
    },
    /// Another request had the payment first.
    #[error("this payment was used already, for the request `{}`", .0.request)]
    Used(Box<ClaimRecord>),
    /// An earlier payment of the wallet failed after its answer was served.
    #[error("the wallet owes {debt} USD of earlier answers; pay that debt by a deposit first")]
    InDebt {
        /// What is owed.
        debt: MicroUsd,
    },
    /// The wallet has as much open as the gateway trusts it with.
    #[error("{0}; wait until open payments are settled")]
    Exposed(ClaimRefusal),
    /// The chain did not answer, which says nothing about the payment.
    #[error("the payment cannot be verified now: {0}")]
    Unknown(#[from] ChainUnknown),
    /// The store of claims did not answer, which says nothing about the payment.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PaymentRejection {
    pub(crate) fn refused(code: &'static str, error: &impl std::fmt::Display) -> Self {
        Self::Refused {
            code,
            message: error.to_string(),
        }
    }
}

impl AdmittedPayment {
    /// The account that the payment is booked on.
    #[must_use]
    pub fn account(&self) -> AccountId {
        self.wallet().account()
    }

    /// Whether a claim is of this payment for the same request.
    pub(crate) fn is_of(&self, claim: &ClaimRecord) -> bool {
        claim.body_hash == ChainHash(self.request.to_bytes())
    }

    /// The version of the protocol that the payer speaks.
    #[must_use]
    pub fn version(&self) -> X402Version {
        self.version
    }

    /// The wallet that pays, proven by its signature.
    #[must_use]
    pub fn wallet(&self) -> WalletId {
        authorization(&self.verified.claim()).wallet()
    }
}

impl Seller {
    /// A seller whose requests are held in these books.
    #[must_use]
    pub fn new(
        terms: Arc<SaleTerms>,
        claims: ClaimBook,
        chain: Arc<dyn PaymentChain>,
        holds: Arc<ClaimedHolds>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            terms,
            claims,
            chain,
            holds,
            clock,
        }
    }

    /// The terms of the sale.
    #[must_use]
    pub fn terms(&self) -> &SaleTerms {
        &self.terms
    }

    /// The claims of payments, for reading.
    #[must_use]
    pub fn claims(&self) -> &ClaimBook {
        &self.claims
    }

    /// Compares a payment with our offer of its request, without asking a chain.
    ///
    /// # Errors
    /// For the first member that differs.
    pub fn compare(
        &self,
        payment: PresentedPayment,
        request: &SaleRequest<'_>,
    ) -> Result<ComparedPayment, PaymentRejection> {
        let wanted = PricedItem {
            digest: digest(request.task, request.dialect, request.body),
            price: request.price,
            bounds: self.terms.bounds,
            least_s: self.terms.least_s,
        };
        self.compared(payment, &wanted)
    }

    pub(crate) fn compared(
        &self,
        payment: PresentedPayment,
        wanted: &PricedItem,
    ) -> Result<ComparedPayment, PaymentRejection> {
        let now_s = self.clock.now_ms() / 1_000;
        let version = payment.version();
        let is_exact = payment.payload.scheme == PaymentScheme::Exact.name();
        let (requirement, quote) = match payment.has_quote() {
            false if is_exact => (self.current(wanted, now_s)?, String::new()),
            _ => self.quoted(&payment, wanted.digest, now_s)?,
        };
        let method = requirement.method;
        let window = self.terms.window(wanted.least_s);
        let facilitated = self.terms.facilitated.as_ref().map(|resource| {
            let asked = FacilitatorRequest {
                payment: &payment.payload,
                requirement: &requirement,
                resource,
                amount: requirement.amount,
            };
            asked.body()
        });
        let checked = CheckedPayment::check(payment.payload, &requirement, window, now_s);
        let checked = checked.map_err(|no| PaymentRejection::refused(no.code(method), &no))?;
        Ok(ComparedPayment {
            checked,
            version,
            quote,
            request: wanted.digest,
            facilitated,
        })
    }

    /// The requirement of the quote that a payment of version 2 repeats.
    fn quoted(
        &self,
        payment: &PresentedPayment,
        digest: RequestDigest,
        now_s: u64,
    ) -> Result<(OfferedRequirement, String), PaymentRejection> {
        let invalid = "invalid_payment_requirements";
        let accepted = payment.payload.accepted.as_ref();
        let text = accepted.and_then(|accepted| accepted.quote.as_deref());
        let text = text.ok_or_else(|| {
            let missing =
                "`accepted.extra.quote` is missing; send an offer of the last 402 back as it is";
            PaymentRejection::refused(invalid, &missing)
        })?;
        let quote = self.terms.quote_key.read(text, digest, now_s);
        let quote = quote.map_err(|no| PaymentRejection::refused(invalid, &no))?;
        let requirement = self.terms.requirement(&quote, Some(text.to_owned()));
        let requirement = requirement.ok_or_else(|| {
            let changed = "the terms of the gateway have changed; ask for a new offer";
            PaymentRejection::refused(invalid, &changed)
        })?;
        Ok((requirement, text.to_owned()))
    }

    /// The requirement of `exact` at the price of now, for a payment without a quote.
    fn current(
        &self,
        wanted: &PricedItem,
        now_s: u64,
    ) -> Result<OfferedRequirement, PaymentRejection> {
        let refused = |error: &dyn std::fmt::Display| {
            PaymentRejection::refused("invalid_payment_requirements", &error)
        };
        let price = wanted
            .price
            .ok_or_else(|| refused(&"the request is not for sale"))?;
        let amount = wanted.bounds.ceiling(TokenAmount::from_usd(price));
        let amount = amount.map_err(|above| refused(&above))?;
        let method = TransferMethod::Exact;
        let quote = self.terms.quote(wanted.digest, method, amount, now_s);
        let requirement = self.terms.requirement(&quote, None);
        requirement.ok_or_else(|| refused(&"`exact` is not offered; use version 2"))
    }

    /// Proves a payment by what its chain says of the payer.
    ///
    /// # Errors
    /// When the payer cannot pay, or the chain does not answer.
    pub async fn verify(
        &self,
        payment: ComparedPayment,
    ) -> Result<AdmittedPayment, PaymentRejection> {
        let ComparedPayment {
            checked,
            version,
            quote,
            request,
            facilitated,
        } = payment;
        let method = checked.method();
        let facts = self.chain.payer(&checked).await?;
        let claim = authorization(&checked.claim());
        let account = &facts.account;
        let verified = match checked.clone().verify(account, &facts.state) {
            // A payment of ours that was settled is used, and not one that cannot pay.
            Err(no) if no.is_of_state() && self.is_claimed(&claim).await? => {
                checked.verify(account, &PayerState::ABLE)
            }
            verified => verified,
        };
        let verified = verified.map_err(|no| PaymentRejection::refused(no.code(method), &no))?;
        if let Some(asked) = &facilitated
            && let Some(reason) = self.chain.refusal(asked).await?
            && !self.is_claimed(&claim).await?
        {
            let message = format!("the facilitator of the gateway says `{reason}`");
            let code = "invalid_transaction_state";
            return Err(PaymentRejection::Refused { code, message });
        }
        Ok(AdmittedPayment {
            verified,
            version,
            quote,
            request,
            facilitated,
        })
    }

    /// Whether some request has the payment.
    async fn is_claimed(&self, key: &AuthorizationKey) -> Result<bool, StoreError> {
        Ok(self.claims.store().view(key).await?.claim.is_some())
    }

    /// Claims a proven payment for a request, durably. From here on no other request gets it.
    ///
    /// # Errors
    /// When another request has it, or the wallet is not trusted with more.
    pub async fn claim(
        &self,
        payment: &AdmittedPayment,
        request: &RequestId,
        account: AccountId,
    ) -> Result<PaidTicket, PaymentRejection> {
        let terms = ClaimTerms {
            order: self.terms.order,
            exposure: self.terms.exposure,
            stale_ms: self.terms.stale_ms,
        };
        let claim = self.claimed(payment, request, account, &terms).await?;
        self.holds.open(request.clone(), claim.key, claim.ceiling);
        Ok(PaidTicket {
            key: claim.key,
            request: request.clone(),
            version: payment.version,
            holds: Arc::clone(&self.holds),
            chain: Arc::clone(&self.chain),
        })
    }

    pub(crate) async fn claimed(
        &self,
        payment: &AdmittedPayment,
        request: &RequestId,
        account: AccountId,
        terms: &ClaimTerms,
    ) -> Result<Box<ClaimRecord>, PaymentRejection> {
        let verified = &payment.verified;
        let plan = verified.plan().ok_or_else(|| {
            PaymentRejection::refused("invalid_payload", &"the payment settles nothing")
        })?;
        let plan = match payment.facilitated.clone() {
            Some(asked) => plan.by_facilitator(asked),
            None => plan,
        };
        let now_ms = self.clock.now_ms();
        let command = NewClaim {
            key: authorization(&verified.claim()),
            request: request.clone(),
            account,
            body_hash: ChainHash(payment.request.to_bytes()),
            quote: payment.quote.clone(),
            scheme: match verified.method().scheme() {
                PaymentScheme::Exact => ClaimScheme::Exact,
                PaymentScheme::Upto => ClaimScheme::Upto,
            },
            order: terms.order,
            ceiling: verified.ceiling().to_usd(),
            deadline_s: verified.ends_s(),
            payload: plan.encode(),
            stale_at_ms: now_ms + terms.stale_ms,
            terms: terms.exposure,
            now_ms,
        };
        match self.claims.claim(&command).await? {
            Ok(ClaimAnswer::Claimed(claim)) => Ok(claim),
            Ok(ClaimAnswer::AlreadyClaimed { claim, .. }) => Err(PaymentRejection::Used(claim)),
            Err(ClaimRefusal::InDebt { debt }) => Err(PaymentRejection::InDebt { debt }),
            Err(refusal @ ClaimRefusal::Expired { .. }) => {
                Err(PaymentRejection::refused("payment_expired", &refusal))
            }
            Err(refusal) => Err(PaymentRejection::Exposed(refusal)),
        }
    }

    /// The claim of a request; `None` where the request has none.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn find(&self, request: RequestId) -> Result<Option<ClaimRecord>, StoreError> {
        let query = ClaimQuery {
            request: Some(request),
            limit: 1,
            ..ClaimQuery::default()
        };
        let found = self.claims.store().claims(query).await?;
        Ok(found.into_iter().next())
    }

    /// Whether payments are settled before the answer begins.
    #[must_use]
    pub fn settles_first(&self) -> bool {
        self.terms.order == ClaimOrder::SettleFirst
    }
}

/// The name of a payment in the store of claims.
fn authorization(claim: &PaymentClaim) -> AuthorizationKey {
    AuthorizationKey {
        chain_id: claim.chain_id,
        contract: ChainAddress(claim.contract.0.0),
        payer: ChainAddress(claim.payer.0.0),
        nonce: ChainHash(claim.nonce.0),
    }
}
