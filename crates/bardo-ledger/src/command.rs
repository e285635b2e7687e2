//! What can be asked of the books, and what they answer.

use std::sync::Arc;

use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::money::MicroUsd;
use bardo_types::receipt::ReceiptText;

use crate::book::SettledCost;
use crate::caps::{Cap, CapScope, CapWindow};
use crate::prompt_cache::PromptCacheFigures;
use crate::series::ReceiptDetails;

/// Takes money out of reach before it is spent.
#[derive(Debug, Clone)]
pub struct Reserve {
    /// The request that spends it; at most one hold per account has this id, for ever.
    pub request: RequestId,
    /// The account that pays.
    pub account: AccountId,
    /// By which key.
    pub key: Option<KeyId>,
    /// How much. At least this much must be available.
    pub amount: MicroUsd,
    /// The caps that the amount must fit too.
    pub caps: Vec<Cap>,
    /// Unix milliseconds at which the hold is released by itself.
    pub expires_at_ms: u64,
    /// Unix milliseconds now.
    pub now_ms: u64,
}

/// Money that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// How much is held in all.
    pub held: MicroUsd,
    /// The amount that the account can still spend.
    pub available: MicroUsd,
}

/// Why money was not held.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerRefusal {
    /// The account has less.
    #[error("{needed} USD are needed, but only {available} USD are available")]
    Insufficient {
        /// The amount that was requested.
        needed: MicroUsd,
        /// The amount that is available.
        available: MicroUsd,
    },
    /// A cap would be exceeded.
    #[error(
        "the cap of {limit} USD is reached: {used} USD are spent or held, {needed} USD are needed"
    )]
    Capped {
        /// The key, session or account that has the cap.
        scope: CapScope,
        /// Over which time.
        window: CapWindow,
        /// Amount of the cap.
        limit: MicroUsd,
        /// The part of the cap that is spent or held.
        used: MicroUsd,
        /// The amount that was requested.
        needed: MicroUsd,
        /// Unix milliseconds at which the window ends; `None`: never.
        resets_at_ms: Option<u64>,
    },
    /// There is no such account.
    #[error("the account `{0}` does not exist")]
    NoAccount(AccountId),
    /// The account has had a hold of this id before.
    #[error("the request `{0}` has a hold or is settled already")]
    Duplicate(RequestId),
    /// There is no such hold, or it has ended.
    #[error("the request `{0}` has no open hold")]
    NoHold(RequestId),
    /// The amount is larger than the books can hold.
    #[error("the amount is out of range")]
    Overflow,
}

/// The amounts that are captured of a hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The backend whose clearing account is credited.
    pub provider: Arc<str>,
    /// The provider's part of the charge.
    pub provider_cost: MicroUsd,
    /// The gateway's part of the charge.
    pub spread: MicroUsd,
}

impl Charge {
    /// The payment where only `reach` can be taken: the provider's part first. The rest is the
    /// shortfall.
    #[must_use]
    pub fn within(&self, reach: MicroUsd) -> SettledCost {
        let provider_cost = self.provider_cost.min(reach);
        let spread = self.spread.min(reach.saturating_sub(provider_cost));
        let missing = self.provider_cost.saturating_sub(provider_cost);
        SettledCost {
            provider_cost,
            spread,
            shortfall: missing
                .checked_add(self.spread.saturating_sub(spread))
                .unwrap_or(MicroUsd::MAX),
        }
    }
}

/// How a hold ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The account pays. Where this is more than what is held, the difference is taken too, as far
    /// as the account has it and the caps of the hold leave room; the rest is the operator's loss.
    Capture(Charge),
    /// Nothing is charged.
    Release,
    /// Nobody knows whether the provider bills: the hold stays, without expiry, until somebody
    /// reconciles it.
    Unknown,
}

/// A receipt as it is kept: the columns that are summed, and all of it as JSON.
#[derive(Debug, Clone)]
pub struct ReceiptRecord {
    /// Id of the request.
    pub request: RequestId,
    /// The caller's own name for the request, under which it is found too.
    pub client_request_id: Option<Arc<str>>,
    /// The account that paid.
    pub account: AccountId,
    /// By which key.
    pub key: Option<KeyId>,
    /// When it was received, in Unix milliseconds.
    pub at_ms: u64,
    /// The model that was chosen.
    pub model: Arc<str>,
    /// The backend that answered.
    pub provider: Arc<str>,
    /// `finished`, `aborted`, `failed` or `unknown`.
    pub outcome: &'static str,
    /// Prompt tokens of all classes.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Amount that the backend bills; `None` where nobody knows it.
    pub provider_cost: Option<MicroUsd>,
    /// The amount that the account was charged.
    pub charge: MicroUsd,
    /// The difference to the list price, where that is higher.
    pub savings: MicroUsd,
    /// Subsystem that the caller named.
    pub subsystem: Option<Arc<str>>,
    /// Session that the caller named.
    pub session: Option<Arc<str>>,
    /// Part of the provider's prompt cache in the request.
    pub prompt_cache: PromptCacheFigures,
    /// The whole receipt.
    pub json: ReceiptText,
    /// Members of the receipt that series use beyond the columns; `None` where they are to be read
    /// from its text.
    pub details: Option<Box<ReceiptDetails>>,
}

impl ReceiptRecord {
    /// The outcome of this name; `unknown` for any other text.
    #[must_use]
    pub fn outcome_named(name: &str) -> &'static str {
        ["finished", "aborted", "failed"]
            .into_iter()
            .find(|known| *known == name)
            .unwrap_or("unknown")
    }
}

/// Ends a hold. Sent again, it changes nothing and answers the same.
#[derive(Debug, Clone)]
pub struct Settle {
    /// The account that pays.
    pub account: AccountId,
    /// The hold's request.
    pub request: RequestId,
    /// How it ends.
    pub end: End,
    /// Kept in the same transaction.
    pub record: Option<ReceiptRecord>,
    /// Unix milliseconds now.
    pub now_ms: u64,
}

/// The result of ending a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settled {
    /// The amount that the account paid.
    pub charged: MicroUsd,
    /// The amount that it owed beyond that.
    pub shortfall: MicroUsd,
    /// The amount that it can still spend.
    pub available: MicroUsd,
    /// The hold had ended before. If it ended in another way, that end stays in force, and the
    /// figures are from it.
    pub repeated: bool,
}

/// Milliseconds for which a deposit for a request is held.
const DEPOSIT_HELD_MS: u64 = 900_000;

/// Puts money into an account.
#[derive(Debug, Clone)]
pub struct Deposit {
    /// The account that receives the money.
    pub account: AccountId,
    /// Amount to add.
    pub amount: MicroUsd,
    /// Where it came from, e.g. `operator` or a transaction's hash. The same reference twice is one
    /// deposit.
    pub reference: String,
    /// Unix milliseconds now.
    pub now_ms: u64,
}

impl Deposit {
    /// The hold of the whole deposit for one request, for a quarter of an hour.
    #[must_use]
    pub fn hold_for(&self, request: &RequestId) -> Reserve {
        Reserve {
            request: request.clone(),
            account: self.account.clone(),
            key: None,
            amount: self.amount,
            caps: Vec::new(),
            expires_at_ms: self.now_ms.saturating_add(DEPOSIT_HELD_MS),
            now_ms: self.now_ms,
        }
    }
}

/// Where an account stands. `deposited` = `spent` + `held` + `available`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// All that ever came in.
    pub deposited: MicroUsd,
    /// All that was captured.
    pub spent: MicroUsd,
    /// The amount that is held for requests in progress.
    pub held: MicroUsd,
    /// The amount that can be spent.
    pub available: MicroUsd,
}

/// Why a posting was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PostingKind {
    /// Money came in.
    Deposit,
    /// A request was charged.
    Charge,
}

impl PostingKind {
    /// The name in listings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Charge => "charge",
        }
    }
}

/// One line of the books; never changed. The lines of one transfer add up to zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    /// The transfer it belongs to; rises with time.
    pub transfer: u64,
    /// Time of the posting, in Unix milliseconds.
    pub at_ms: u64,
    /// Kind of transfer that caused it.
    pub kind: PostingKind,
    /// `customer:<account>`, `provider:<backend>`, `spread` or `funding:<source>`.
    pub book: String,
    /// In 10⁻⁶ USD; positive is money that the book now owns.
    pub amount: i64,
    /// The request or deposit that caused it.
    pub reference: String,
}

/// The state of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HoldState {
    /// A request spends it.
    Open,
    /// Nobody knows whether the provider bills.
    Unknown,
}

/// A hold that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldView {
    /// Id of the request.
    pub request: RequestId,
    /// The account that pays.
    pub account: AccountId,
    /// Amount that is held.
    pub amount: MicroUsd,
    /// Whether anybody knows.
    pub state: HoldState,
    /// Unix milliseconds at which it was made.
    pub created_at_ms: u64,
    /// Unix milliseconds at which it is released by itself.
    pub expires_at_ms: u64,
}

/// Whether the books add up.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// How many accounts were looked at.
    pub accounts: u64,
    /// How many postings were added up.
    pub postings: u64,
    /// How many holds are open.
    pub holds: u64,
    /// The contradictions in the books, in words; empty where there are none.
    pub problems: Vec<String>,
}
