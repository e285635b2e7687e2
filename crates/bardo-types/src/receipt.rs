//! What happened to a request: one record, from which headers, the closing stream comment,
//! `GET /v1/receipts/{id}`, usage, events, metrics and log lines are made.

mod routing;
pub mod text;
mod trace;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::Degradation;
use crate::fault::FaultClass;
use crate::ids::{AccountId, KeyId, RequestId};
use crate::model::Dialect;
use crate::money::{BasisPoints, MicroUsd, SignedMicroUsd};
use crate::usage::Usage;

pub use self::routing::{Routing, SchemaOutcome, SentProfile};
pub use self::text::ReceiptText;
pub use self::trace::CallerTrace;

/// Account of the calls that keep prompts in providers' caches. The owner of the gateway pays.
pub const KEEPALIVE_ACCOUNT: &str = "cache-keepalive";
/// Account of the calls that store prefixes at providers. The owner of the gateway pays.
pub const STORED_PREFIX_ACCOUNT: &str = "cache-stored-prefix";

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The answer is complete.
    Finished,
    /// The caller left after the request was sent.
    Aborted,
    /// The provider failed after the answer had begun, no provider answered, or the answer was
    /// ended because the caller's money was.
    Failed,
    /// A provider took the request and then nothing is known: it may bill, and may not.
    Unknown,
}

impl Outcome {
    /// The name in receipts, logs and metric labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Aborted => "aborted",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// The party that pays the provider, and whether the caller is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PaymentMode {
    /// The caller's account is charged cost and spread.
    Prepaid,
    /// A key of the owner's own pays the provider; nothing is charged and there is no spread.
    Direct,
    /// The operator is the caller: metered, not charged.
    Owner,
}

impl PaymentMode {
    /// The name in receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prepaid => "prepaid",
            Self::Direct => "direct",
            Self::Owner => "owner",
        }
    }
}

/// Means by which a backend's provider is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderPayment {
    /// An API key of the owner; its provider sends the owner a bill.
    ApiKey,
    /// A payment per call, by x402.
    X402,
    /// Credits that the owner bought from the provider.
    Prepaid,
    /// Staked DIEM; a call costs nothing.
    Diem,
    /// A wallet that agents fill with what they earn.
    Wallet,
    /// No payment: a server of the owner's own.
    Unpaid,
}

impl ProviderPayment {
    /// Name in receipts and metric labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::X402 => "x402",
            Self::Prepaid => "prepaid",
            Self::Diem => "diem",
            Self::Wallet => "wallet",
            Self::Unpaid => "none",
        }
    }
}

/// One try at one backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The backend that was asked.
    pub backend: Arc<str>,
    /// The model as that backend calls it.
    pub model: Arc<str>,
    /// Why it failed; `None` for the one that answered.
    pub failure: Option<AttemptFailure>,
    /// How long it took: to the failure, or to the head of the answer.
    pub duration: Duration,
    /// The payment for this attempt alone; `None` where the provider is paid otherwise.
    pub payment: Option<AttemptPayment>,
}

/// A payment that was sent with one attempt, by x402.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptPayment {
    /// Amount that was signed. A provider that refused the request may not have taken it.
    pub amount: MicroUsd,
    /// Network of the payment, by its CAIP-2 name, such as `eip155:8453`.
    pub network: Arc<str>,
    /// Number that makes the payment unique on its network: the nonce of the authorization.
    pub reference: Arc<str>,
    /// Scheme of x402: `exact` takes the amount, `upto` at most the amount.
    pub scheme: &'static str,
    /// How the provider says that the payment ended; `None` where it did not say.
    pub settlement: Option<ProviderSettlement>,
}

/// The end of a payment as the provider reports it in `PAYMENT-RESPONSE`. It is not checked on the
/// chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSettlement {
    /// `settled`, `pending` or `failed`. A payment that is pending or failed may still be settled
    /// until its authorization ends.
    pub state: &'static str,
    /// Hash of the transaction.
    pub transaction: Option<Arc<str>>,
    /// Amount that was taken; never above the signed one. `None` where it is unknown.
    pub amount: Option<MicroUsd>,
}

/// Why a try failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptFailure {
    /// Class of the failure.
    pub class: FaultClass,
    /// The HTTP status the provider used, where it used one.
    pub status: Option<u16>,
    /// The provider may have carried it out and billed it.
    pub unknown_outcome: bool,
}

/// The cost of the request, to the caller and to the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amounts {
    /// At the backend's price, rounded up once; `None` where price or usage is unknown.
    pub provider_cost: Option<MicroUsd>,
    /// The addition to the cost, in 1/10,000 of it.
    pub spread_rate: BasisPoints,
    /// The addition to the cost. `charge` = `provider_cost` + `spread` wherever all of it was
    /// captured.
    pub spread: MicroUsd,
    /// The amount that the account was charged.
    pub charge: MicroUsd,
    /// Costs that could not be charged, the operator's loss (the hold was too small and the
    /// account empty).
    pub shortfall: MicroUsd,
    /// The list price at the model's maker for the request as the caller wrote it; `None` where
    /// nobody published one.
    pub baseline: Option<MicroUsd>,
    /// Part of the provider's price that its prompt cache saved, below zero where the premium of
    /// writes was higher; `None` where price or usage is unknown. A call that the gateway makes for
    /// the cache alone has its cost here, below zero.
    pub cache_savings: Option<SignedMicroUsd>,
    /// The balance of the account after this request, where it is known.
    pub balance: Option<MicroUsd>,
}

impl Amounts {
    /// What the caller saved against the list price; `None` where that is unknown, zero where it
    /// paid more.
    #[must_use]
    pub fn savings(&self) -> Option<MicroUsd> {
        self.baseline
            .map(|baseline| baseline.saturating_sub(self.charge))
    }
}

/// How long the stages took, each from receiving the request; `None` where one was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timings {
    /// Until the body was read and understood.
    pub read: Option<Duration>,
    /// Until the limits of the caller let the request in.
    pub limited: Option<Duration>,
    /// Until the stores were searched for an answer to the identical request.
    pub hash_lookup: Option<Duration>,
    /// Until the screens let the request pass.
    pub screened: Option<Duration>,
    /// Until the preparers were done.
    pub prepared: Option<Duration>,
    /// Until the backends were chosen.
    pub planned: Option<Duration>,
    /// Until the stores were searched for an answer to a request of the same meaning.
    pub semantic_lookup: Option<Duration>,
    /// Until funds were held, or none were needed.
    pub reserved: Option<Duration>,
    /// Until the request was sent for the last time.
    pub sent: Option<Duration>,
    /// Until the head of the answer.
    pub head: Option<Duration>,
    /// Until the first content.
    pub first_content: Option<Duration>,
    /// Until the figures were final and went to the ledger.
    pub settled: Option<Duration>,
    /// Until the end.
    pub total: Duration,
}

/// What came of asking a second model for the same decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerificationResult {
    /// Both models recommend the same.
    Agreed,
    /// The models recommend different things; the more cautious answer is delivered.
    Disagreed,
    /// The first answer calls a tool and decides nothing yet.
    Undecided,
    /// There is no second decision to compare with.
    Unavailable,
}

impl VerificationResult {
    /// The lower-case name in receipts, headers and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agreed => "agreed",
            Self::Disagreed => "disagreed",
            Self::Undecided => "undecided",
            Self::Unavailable => "unavailable",
        }
    }
}

/// The verification of an answer by a second model, as the receipts of both requests have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionVerification {
    /// What came of it.
    pub result: VerificationResult,
    /// The other request of the pair; `None` where none was sent.
    pub other: Option<RequestId>,
    /// The model of the other request.
    pub other_model: Option<Arc<str>>,
    /// The cost of the other request, which the cost of this one does not contain; `None` where it
    /// is not known, and in the receipt of the answer that is not delivered.
    pub other_cost: Option<MicroUsd>,
    /// Whether this request is the second one, which the gateway made.
    pub is_second: bool,
    /// Whether the caller got the answer of this request.
    pub delivered: bool,
}

/// A backend that the request was not sent to, though it came earlier in the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOver {
    /// The name of the backend.
    pub backend: Arc<str>,
    /// Why it was not asked, such as ``would lose `n` ``.
    pub reason: Arc<str>,
}

impl PassedOver {
    /// One sentence for the caller.
    #[must_use]
    pub fn warning(&self) -> String {
        format!("`{}` was passed over: it {}", self.backend, self.reason)
    }
}

/// The record of one request.
#[derive(Debug, Clone)]
pub struct Receipt {
    /// Its id, made here and never used twice; its hold and its postings have it too.
    pub request_id: RequestId,
    /// The id that the caller gave it, which it may give to several.
    pub client_request_id: Option<Arc<str>>,
    /// Trace of the caller's `traceparent` header: 32 hexadecimal digits.
    pub trace_id: Option<Arc<str>>,
    /// Span of the caller in that trace.
    pub caller_span: Option<Arc<CallerTrace>>,
    /// When it was received, in Unix milliseconds.
    pub received_at_ms: u64,
    /// The account that made the request.
    pub account: AccountId,
    /// By which key; `None` where the caller has none.
    pub key: Option<KeyId>,
    /// The caller's name for its session, where it gave one.
    pub session: Option<Arc<str>>,
    /// The caller's subsystem, where it named one.
    pub subsystem: Option<Arc<str>>,
    /// The caller's dialect.
    pub dialect: Dialect,
    /// The upstream's dialect.
    pub upstream_dialect: Dialect,
    /// The model as the caller named it.
    pub model_requested: Arc<str>,
    /// The model that was chosen, by the catalog's name.
    pub model: Arc<str>,
    /// The model as the provider named it in its answer, where it did.
    pub model_answered: Option<Arc<str>>,
    /// The backend that answered, or that was asked last; empty where none was.
    pub backend: Arc<str>,
    /// The provider's own request id.
    pub upstream_request_id: Option<Arc<str>>,
    /// Every try, in order.
    pub attempts: Vec<Attempt>,
    /// The backends before the last tried one that could not take the request, in order.
    pub passed_over: Vec<PassedOver>,
    /// Answered piece by piece.
    pub streamed: bool,
    /// The reported or counted usage.
    pub usage: Option<Usage>,
    /// Usage of the answer when a provider made it, where a stored answer was served: it was saved.
    pub saved_usage: Option<Usage>,
    /// Time since a stored answer was made; `None` where none was served.
    pub cache_age: Option<Duration>,
    /// Likeness of both questions in thousandths, where the stored answer was made for the same
    /// question in other words.
    pub cache_similarity: Option<u16>,
    /// Why no stored answer was served, in words without any of the request; `None` where one was,
    /// or the cache had no part in the request.
    pub cache_reason: Option<Cow<'static, str>>,
    /// The usage was counted here, because the provider did not report it.
    pub estimated: bool,
    /// The party that pays for the request.
    pub mode: PaymentMode,
    /// How the provider of `backend` is paid; `None` where no backend was asked.
    pub provider_payment: Option<ProviderPayment>,
    /// The cost of the request.
    pub amounts: Amounts,
    /// `hash`, `semantic`, `miss` or `bypass`.
    pub cache: Cow<'static, str>,
    /// The verdict of a second model; `None` where no second model was to be called.
    pub verification: Option<Box<DecisionVerification>>,
    /// The requested features that the answer lacks.
    pub degraded: Vec<Degradation>,
    /// The measures that made the answer cheaper.
    pub optimizations: Vec<Cow<'static, str>>,
    /// Why it went where it went; `None` where the caller named a model and said no more.
    pub routing: Option<Box<Routing>>,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub timings: Timings,
}

impl Receipt {
    /// What the caller paid, or where its account is not charged, what the provider asks by its
    /// price; `None` where that is unknown.
    #[must_use]
    pub fn cost(&self) -> Option<MicroUsd> {
        match self.mode {
            PaymentMode::Prepaid => Some(self.amounts.charge),
            PaymentMode::Owner | PaymentMode::Direct => self.amounts.provider_cost,
        }
    }

    /// The cost as decimal USD.
    #[must_use]
    pub fn cost_text(&self) -> Option<String> {
        self.cost().map(|cost| cost.to_string())
    }

    /// Whether the answer was there already, so that no provider was called for it.
    #[must_use]
    pub fn is_found(&self) -> bool {
        matches!(&*self.cache, "hash" | "semantic")
    }

    /// Whether the account is charged.
    #[must_use]
    pub fn is_billed(&self) -> bool {
        self.mode == PaymentMode::Prepaid
    }

    /// Whether tokens were counted and their price is not known.
    #[must_use]
    pub fn is_unpriced(&self) -> bool {
        self.usage.is_some() && self.cost().is_none()
    }

    /// Whether the gateway made the call itself, to keep a prompt in a provider's cache or to store
    /// one there.
    #[must_use]
    pub fn is_for_a_cache(&self) -> bool {
        [KEEPALIVE_ACCOUNT, STORED_PREFIX_ACCOUNT].contains(&self.account.as_str())
    }

    /// Whether the tokens of the request are texts for vectors, as far as its figures tell: a whole
    /// answer in the dialect of Chat Completions without any output, whose prompt no cache took
    /// part in.
    #[must_use]
    pub fn is_for_vectors(&self) -> bool {
        let has_input_alone =
            |usage: &Usage| usage.prompt() == usage.fresh_input && usage.output == 0;
        self.dialect == Dialect::Chat
            && !self.streamed
            && self.usage.as_ref().is_some_and(has_input_alone)
    }

    /// Amount that the provider bills; `None` where it counted tokens that have no price, or may
    /// have carried the request out unseen.
    #[must_use]
    pub fn provider_bill(&self) -> Option<MicroUsd> {
        let is_unknown = self.is_unpriced() || self.outcome == Outcome::Unknown;
        let nothing = (!is_unknown).then_some(MicroUsd::ZERO);
        self.amounts.provider_cost.or(nothing)
    }

    /// The difference to the list price, whichever party pays; `None` where a part of it is
    /// unknown.
    #[must_use]
    pub fn savings(&self) -> Option<MicroUsd> {
        let cost = self.cost()?;
        self.amounts
            .baseline
            .map(|baseline| baseline.saturating_sub(cost))
    }
}
