//! From the offers of a 402 to a signed and counted payment.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bardo_types::money::MicroUsd;
use bardo_x402::evm::{B256, Signer, U256};
use bardo_x402::payer::{
    ChosenOffer, OfferRefusal, PayerLimits, PaymentHeader, PaymentOffers, Permit2Approval,
};
use bardo_x402::token::{PaymentToken, TokenAmount};
use bardo_x402::wire::{PaymentScheme, SettlementReceipt, TransferMethod, X402Version};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use crate::book::{CapRefusal, PaymentEnd, SpendBook};
use crate::chain::WalletReader;

/// Longest time for which a payment is signed, in seconds.
const TIMEOUT_MAX_S: u64 = 1_800;

/// Why a 402 stays unpaid. Nothing was signed that anybody has.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayRefusal {
    #[error(transparent)]
    Cap(#[from] CapRefusal),
    #[error("the endpoint's offer is refused: {0}")]
    Offer(OfferRefusal),
    #[error("the endpoint's offer is for another host, {0}; `--resource-host {0}` allows it")]
    Host(String),
    #[error(
        "Permit2 has no approval for tokens of this wallet, and {0}; approve Permit2, or use `--scheme exact`"
    )]
    Approval(String),
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
}

/// A payment that is signed and counted, and may be sent.
#[derive(Debug, Clone)]
pub(crate) struct CountedPayment {
    pub(crate) name: HeaderName,
    pub(crate) value: HeaderValue,
    pub(crate) version: X402Version,
    pub(crate) scheme: PaymentScheme,
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
    /// No receipt, or one that cannot be read.
    None,
    Charged(MicroUsd),
    /// SentOutcome to the chain, or unclear: it may still be charged.
    Open,
    /// Not charged, as the seller says.
    Failed,
}

/// The wallet with its limits.
pub(crate) struct OfferPayer {
    signer: Signer,
    pub(crate) book: Arc<SpendBook>,
    tokens: Vec<PaymentToken>,
    pub(crate) schemes: Vec<PaymentScheme>,
    /// Hosts that an offer may name.
    hosts: Vec<String>,
    chain: Option<WalletReader>,
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
        chain: Option<WalletReader>,
    ) -> Self {
        Self {
            signer,
            book,
            tokens,
            schemes,
            hosts,
            chain,
        }
    }

    /// Takes an offer that one of these schemes pays, signs it, and counts it.
    ///
    /// # Errors
    /// When no offer is taken, or a cap has no room.
    pub(crate) async fn pay(
        &self,
        offers: &PaymentOffers,
        schemes: &[PaymentScheme],
    ) -> Result<CountedPayment, PayRefusal> {
        let chosen = self.choose(offers, schemes)?;
        self.check_host(&chosen)?;
        let approval = self.approval(&chosen).await?;
        let mut nonce = [0; 32];
        getrandom::fill(&mut nonce).map_err(PayRefusal::Random)?;
        let now_s = now_s();
        let signed = chosen.sign(&self.signer, B256::from(nonce), approval, now_s);
        self.counted(signed, &chosen, now_s).await
    }

    /// Takes an offer without signing it.
    ///
    /// # Errors
    /// When no offer is taken.
    pub(crate) fn choose(
        &self,
        offers: &PaymentOffers,
        schemes: &[PaymentScheme],
    ) -> Result<ChosenOffer, PayRefusal> {
        let cap = self.book.caps().request;
        let limits = PayerLimits {
            tokens: self.tokens.clone(),
            schemes: schemes.to_vec(),
            most: TokenAmount::from_usd(cap),
            most_timeout_s: TIMEOUT_MAX_S,
        };
        offers.choose(&limits).map_err(|refusal| match refusal {
            OfferRefusal::TooDear { amount, .. } => PayRefusal::Cap(CapRefusal::Reached {
                period: "request",
                flag: "--cap-request",
                cap,
                spent: MicroUsd::ZERO,
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

    /// How Permit2 may take the tokens; a permit is signed where the seller sends it.
    async fn approval(&self, chosen: &ChosenOffer) -> Result<Permit2Approval, PayRefusal> {
        let Some(chain) = &self.chain else {
            return Ok(Permit2Approval::Standing);
        };
        if chosen.method() == TransferMethod::Exact {
            return Ok(Permit2Approval::Standing);
        }
        let (token, account) = (chosen.token(), self.signer.address());
        let unknown = |error: anyhow::Error| PayRefusal::Approval(format!("{error:#}"));
        if chain.chain_id().await.map_err(unknown)? != token.network().chain_id() {
            let other = "the JSON-RPC server is on another network";
            return Err(PayRefusal::Approval(other.into()));
        }
        let allowed = chain
            .permit2_allowance(token, account)
            .await
            .map_err(unknown)?;
        if allowed >= U256::from(chosen.amount().get()) {
            return Ok(Permit2Approval::Standing);
        }
        if !chosen.sponsors_gas() {
            return Err(PayRefusal::Approval("the endpoint sends no permit".into()));
        }
        let nonce = chain.permit_nonce(token, account).await.map_err(unknown)?;
        Ok(Permit2Approval::Permit { nonce })
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
        let (book, nonce) = (Arc::clone(&self.book), payment.nonce.clone());
        let _ = tokio::task::spawn_blocking(move || book.end(&nonce, end)).await;
    }
}

impl CountedPayment {
    /// What the head of an answer says of this payment.
    pub(crate) fn news(&self, headers: &HeaderMap) -> ReceiptNews {
        let Some(header) = headers.get(self.version.receipt_header()) else {
            return ReceiptNews::None;
        };
        match SettlementReceipt::from_header(self.version, header.as_bytes()) {
            Err(_) => ReceiptNews::None,
            Ok(SettlementReceipt::Settled { amount, .. }) => {
                // The amount of a receipt counts where the payment was a ceiling alone.
                let charged = match (self.scheme, amount) {
                    (PaymentScheme::Upto, Some(amount)) => amount.to_usd().min(self.amount),
                    _ => self.amount,
                };
                ReceiptNews::Charged(charged)
            }
            Ok(receipt) if receipt.is_pending() => ReceiptNews::Open,
            Ok(SettlementReceipt::Failed { .. }) => ReceiptNews::Failed,
        }
    }
}

/// The offers of a 402, of either version; `None` where it has none that can be read.
pub(crate) fn offers(headers: &HeaderMap, body: &[u8]) -> Option<PaymentOffers> {
    let header = headers.get(bardo_x402::wire::PAYMENT_REQUIRED);
    PaymentOffers::read(header.map(HeaderValue::as_bytes), body).ok()
}
