//! From the offers of a 402 to a signed and counted payment.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bardo_types::money::MicroUsd;
use bardo_x402::evm::{Address, B256, Signer, U256};
use bardo_x402::payer::{
    ChosenOffer, OfferRefusal, PayerLimits, PaymentHeader, PaymentOffers, Permit2Approval,
};
use bardo_x402::token::{PaymentToken, TokenAmount};
use bardo_x402::wire::{PaymentScheme, SettlementReceipt, TransferMethod, X402Version};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use crate::book::{CapRefusal, PaymentEnd, SpendBook};
use crate::permit2::{ApprovalRefusal, Permit2Desk};

/// Longest time for which a payment is signed, in seconds.
pub(crate) const TIMEOUT_MAX_S: u64 = 1_800;

/// BlockRun's header for a settlement that is late; the payment may still be taken.
const PAYMENT_SETTLED: &str = "x-payment-settled";

/// Why a 402 stays unpaid. Nothing was signed that anybody has.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayRefusal {
    #[error(transparent)]
    Cap(#[from] CapRefusal),
    #[error("the endpoint's offer is refused: {0}")]
    Offer(OfferRefusal),
    #[error("the endpoint's offer is for another host, {0}; `--resource-host {0}` allows it")]
    Host(String),
    #[error("Permit2 cannot move this payment: {0}; approve Permit2, or use `--scheme auto`")]
    Approval(#[from] ApprovalRefusal),
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
}

impl PayRefusal {
    /// Whether a fixed price may be paid where a ceiling cannot: Permit2 may not take it, or a cap
    /// has no room for so much.
    pub(crate) fn is_of_a_ceiling(&self) -> bool {
        matches!(
            self,
            Self::Approval(_) | Self::Cap(CapRefusal::Reached { .. })
        )
    }
}

/// A payment that is signed and counted, and may be sent.
#[derive(Debug, Clone)]
pub(crate) struct CountedPayment {
    pub(crate) name: HeaderName,
    pub(crate) value: HeaderValue,
    pub(crate) version: X402Version,
    pub(crate) scheme: PaymentScheme,
    pub(crate) token: PaymentToken,
    payer: Address,
    /// The nonce at Permit2, where that moves the money.
    pub(crate) permit2: Option<U256>,
    /// The most that it can cost.
    pub(crate) amount: MicroUsd,
    /// The last second, in Unix time, at which it can settle.
    pub(crate) ends_s: u64,
    /// The nonce, as hexadecimal digits.
    pub(crate) nonce: String,
}

/// What a seller says of a payment in the head of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiptNews {
    /// No receipt, or one that cannot be read or is of another payment.
    None,
    /// Charged with this amount, as the seller says; one above the ceiling is a false claim.
    Charged(MicroUsd),
    /// Taken, and charged later with an amount that nobody has said yet.
    Accepted,
    /// Nothing is charged, as the seller says. It keeps a payment that it can still settle.
    Free,
    /// Sent to the chain, or unclear: it may still be charged.
    Open,
    /// Not charged, as the seller says.
    Failed,
}

impl ReceiptNews {
    /// Whether the seller took the payment for its answer.
    pub(crate) fn is_taken(self) -> bool {
        matches!(self, Self::Charged(_) | Self::Accepted)
    }
}

/// The wallet with its limits.
pub(crate) struct OfferPayer {
    signer: Signer,
    pub(crate) book: Arc<SpendBook>,
    tokens: Vec<PaymentToken>,
    pub(crate) schemes: Vec<PaymentScheme>,
    /// Hosts that an offer may name.
    hosts: Vec<String>,
    pub(crate) permit2: Option<Arc<Permit2Desk>>,
}

/// The Unix time in seconds.
pub(crate) fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

impl OfferPayer {
    pub(crate) fn new(
        signer: Signer,
        book: Arc<SpendBook>,
        tokens: Vec<PaymentToken>,
        schemes: Vec<PaymentScheme>,
        hosts: Vec<String>,
        permit2: Option<Arc<Permit2Desk>>,
    ) -> Self {
        Self {
            signer,
            book,
            tokens,
            schemes,
            hosts,
            permit2,
        }
    }

    /// Takes an offer that one of these schemes pays, signs it, and counts it. `spent` is the most that
    /// earlier payments of the same request can cost.
    ///
    /// # Errors
    /// When no offer is taken, or a cap has no room.
    pub(crate) async fn pay(
        &self,
        offers: &PaymentOffers,
        schemes: &[PaymentScheme],
        spent: MicroUsd,
    ) -> Result<CountedPayment, PayRefusal> {
        let chosen = self.choose(offers, schemes, spent)?;
        self.check_host(&chosen)?;
        let mut nonce = [0; 32];
        getrandom::fill(&mut nonce).map_err(PayRefusal::Random)?;
        let nonce = B256::from(nonce);
        let desk = self.permit2.as_deref();
        let desk = desk.filter(|_| chosen.method() != TransferMethod::Exact);
        let (approval, hold) = match desk {
            Some(desk) => {
                let (approval, hold) = desk.approve(&chosen, nonce.into()).await?;
                (approval, Some(hold))
            }
            None => (Permit2Approval::Standing, None),
        };
        let now_s = now_s();
        let signed = chosen.sign(&self.signer, nonce, approval, now_s);
        let ends_s = signed.ends_s;
        let counted = self.counted(signed, &chosen, now_s).await?;
        if let Some(hold) = hold {
            hold.keep(ends_s);
        }
        Ok(counted)
    }

    /// Takes an offer without signing it, within what is left of the cap of the request.
    ///
    /// # Errors
    /// When no offer is taken.
    pub(crate) fn choose(
        &self,
        offers: &PaymentOffers,
        schemes: &[PaymentScheme],
        spent: MicroUsd,
    ) -> Result<ChosenOffer, PayRefusal> {
        let cap = self.book.caps().request;
        let left = MicroUsd::new(cap.get().saturating_sub(spent.get()));
        let limits = PayerLimits {
            tokens: self.tokens.clone(),
            schemes: schemes.to_vec(),
            most: TokenAmount::from_usd(left),
            most_timeout_s: TIMEOUT_MAX_S,
        };
        offers.choose(&limits).map_err(|refusal| match refusal {
            OfferRefusal::TooDear { amount, .. } => PayRefusal::Cap(CapRefusal::Reached {
                period: "request",
                flag: "--cap-request",
                cap,
                spent,
                amount: amount.to_usd(),
            }),
            other => PayRefusal::Offer(other),
        })
    }

    /// Refuses an offer of another host, which would be passed on to it.
    fn check_host(&self, chosen: &ChosenOffer) -> Result<(), PayRefusal> {
        let Some(url) = chosen.resource_url() else {
            return Ok(());
        };
        let named = url.parse::<Uri>().ok();
        let Some(host) = named.as_ref().and_then(Uri::host) else {
            // A path names no host.
            return Ok(());
        };
        let host = host.trim_matches(['[', ']']);
        let is_known = self
            .hosts
            .iter()
            .any(|known| known.eq_ignore_ascii_case(host));
        is_known
            .then_some(())
            .ok_or_else(|| PayRefusal::Host(host.to_owned()))
    }

    async fn counted(
        &self,
        signed: PaymentHeader,
        chosen: &ChosenOffer,
        now_s: u64,
    ) -> Result<CountedPayment, PayRefusal> {
        let value = HeaderValue::from_str(&signed.value).expect("base64 is a header value");
        let payment = CountedPayment {
            name: HeaderName::from_static(signed.name),
            value,
            version: chosen.version(),
            scheme: chosen.method().scheme(),
            token: chosen.token().clone(),
            payer: signed.claim.payer,
            permit2: (chosen.method() != TransferMethod::Exact).then(|| signed.claim.nonce.into()),
            amount: signed.amount.to_usd(),
            ends_s: signed.ends_s,
            nonce: signed.claim.nonce.to_string(),
        };
        let (book, copy) = (Arc::clone(&self.book), payment.clone());
        let count = move || book.count(&copy.nonce, copy.amount, copy.ends_s, now_s);
        match tokio::task::spawn_blocking(count).await {
            Ok(counted) => counted?,
            Err(error) => {
                return Err(PayRefusal::Cap(CapRefusal::Uncounted {
                    file: String::new(),
                    source: std::io::Error::other(error),
                }));
            }
        }
        Ok(payment)
    }

    /// Notes how a payment ended.
    pub(crate) async fn end(&self, payment: &CountedPayment, end: PaymentEnd) {
        if let (Some(desk), Some(nonce)) = (&self.permit2, payment.permit2) {
            match end {
                PaymentEnd::Charged(_) => desk.forget(nonce),
                PaymentEnd::Reported(amount) => desk.refused(nonce, amount == MicroUsd::ZERO),
                PaymentEnd::Refused => desk.refused(nonce, true),
                PaymentEnd::Reopened => desk.refused(nonce, false),
            }
        }
        let (book, nonce) = (Arc::clone(&self.book), payment.nonce.clone());
        let _ = tokio::task::spawn_blocking(move || book.end(&nonce, end)).await;
    }
}

impl CountedPayment {
    /// What a receipt of this amount ends. A seller that says less than the ceiling can still settle
    /// the ceiling, so the chain has the last word.
    pub(crate) fn end_of(&self, told: MicroUsd) -> PaymentEnd {
        match self.permit2 {
            Some(_) if told < self.amount => PaymentEnd::Reported(told),
            _ => PaymentEnd::Charged(told),
        }
    }

    /// What the head of an answer says of this payment.
    pub(crate) fn news(&self, headers: &HeaderMap) -> ReceiptNews {
        let Some(header) = headers.get(self.version.receipt_header()) else {
            return ReceiptNews::None;
        };
        let Ok(receipt) = SettlementReceipt::from_header(self.version, header.as_bytes()) else {
            return ReceiptNews::None;
        };
        let is_pending = receipt.is_pending();
        match receipt {
            SettlementReceipt::Settled { network, payer, .. }
                if network != self.token.network()
                    || payer.is_some_and(|payer| payer != self.payer) =>
            {
                ReceiptNews::None
            }
            SettlementReceipt::Settled {
                amount,
                transaction,
                ..
            } => {
                let is_late = headers.get(PAYMENT_SETTLED).is_some_and(|v| v == "false");
                self.charge(
                    amount.map(TokenAmount::to_usd),
                    transaction.is_some(),
                    is_late,
                )
            }
            SettlementReceipt::Failed { .. } if is_pending => ReceiptNews::Open,
            SettlementReceipt::Failed { .. } => ReceiptNews::Failed,
        }
    }

    /// What a receipt of success says: the amount counts under `upto` alone, and only where a
    /// transaction has moved it.
    fn charge(&self, told: Option<MicroUsd>, is_on_chain: bool, is_late: bool) -> ReceiptNews {
        match (self.scheme, told) {
            (_, Some(amount)) if amount > self.amount => ReceiptNews::Charged(amount),
            (PaymentScheme::Exact, _) => ReceiptNews::Charged(self.amount),
            // Contracts move no zero, so the payment is unused.
            (PaymentScheme::Upto, Some(MicroUsd::ZERO)) => ReceiptNews::Free,
            (PaymentScheme::Upto, Some(amount)) if is_on_chain && !is_late => {
                ReceiptNews::Charged(amount)
            }
            (PaymentScheme::Upto, _) => ReceiptNews::Accepted,
        }
    }
}

/// The offers of a 402, of either version; `None` where it has none that can be read.
pub(crate) fn offers(headers: &HeaderMap, body: &[u8]) -> Option<PaymentOffers> {
    let header = headers.get(bardo_x402::wire::PAYMENT_REQUIRED);
    PaymentOffers::read(header.map(HeaderValue::as_bytes), body).ok()
}
