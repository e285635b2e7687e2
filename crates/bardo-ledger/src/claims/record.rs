//! The rows: a claim and its wallet.

use std::fmt;

use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;

use super::key::{AuthorizationKey, ChainAddress, ChainHash, WalletId, from_hex};
use super::step::DebtEnd;

macro_rules! named {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident $text:literal)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All of them, in the order of a claim's life.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in tables and listings.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The variant of this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|each| each.as_str() == name)
            }
        }
    )*};
}
pub(super) use named;

named! {
    /// How much an authorization lets the gateway take (schemes of x402).
    ClaimScheme {
        /// The signed amount, whole, once (EIP-3009, or Permit2).
        Exact "exact"
        /// Any amount up to the signed one, once (Permit2).
        Upto "upto"
    }
    /// Which comes first.
    ClaimOrder {
        /// The answer; the settlement follows.
        ServeFirst "serve_first"
        /// The settlement; nothing is served before.
        SettleFirst "settle_first"
    }
    /// Where the money of a claim is.
    ClaimStage {
        /// Nothing was sent to the chain, and nothing is owed yet.
        Claimed "claimed"
        /// Something is owed, and nothing was sent.
        Owed "owed"
        /// At least one transaction may have been sent; nobody knows what became of it.
        Settling "settling"
        /// The chain has it.
        Settled "settled"
        /// The chain did not settle it and will not.
        Failed "failed"
        /// Nothing is owed, so nothing is settled. The authorization may still be valid.
        Void "void"
    }
    /// How far the answer is that a claim pays.
    ServiceStage {
        /// The answer was not begun.
        Pending "pending"
        /// A provider may have been called.
        Started "started"
        /// What it came to is known.
        Done "done"
    }
}

/// A transaction that was made to settle a claim. It is written down before it is sent.
#[derive(Clone, PartialEq, Eq)]
pub struct SettlementTransaction {
    /// Hash of the transaction.
    pub hash: ChainHash,
    /// The account that pays its gas.
    pub sender: ChainAddress,
    /// The sender's nonce. A transaction with a higher fee and the same nonce replaces it.
    pub sender_nonce: u64,
    /// The signed transaction, to be sent again.
    pub raw: Vec<u8>,
}

impl fmt::Debug for SettlementTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hash, sender) = (self.hash, self.sender);
        write!(f, "{hash} by {sender}, nonce {}", self.sender_nonce)
    }
}

impl SettlementTransaction {
    /// All of them as one text, for a column.
    #[must_use]
    pub fn encode_all(all: &[Self]) -> String {
        let texts: Vec<_> = all.iter().map(Self::encode).collect();
        texts.join(";")
    }

    /// The transactions that a text of [`Self::encode_all`] stands for.
    #[must_use]
    pub fn decode_all(text: &str) -> Option<Vec<Self>> {
        text.split(';')
            .filter(|each| !each.is_empty())
            .map(Self::decode)
            .collect()
    }

    fn encode(&self) -> String {
        let raw: String = self.raw.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}/{}/{}/{raw}", self.hash, self.sender, self.sender_nonce)
    }

    fn decode(text: &str) -> Option<Self> {
        let parts: Vec<_> = text.split('/').collect();
        let [hash, sender, nonce, raw] = parts[..] else {
            return None;
        };
        Some(Self {
            hash: hash.parse().ok()?,
            sender: sender.parse().ok()?,
            sender_nonce: nonce.parse().ok()?,
            raw: from_hex(raw)?,
        })
    }
}

/// What the chain says of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnChainSettlement {
    /// Hash of the transaction that paid, ours or another's.
    pub transaction: ChainHash,
    /// The amount that was paid.
    pub amount: MicroUsd,
    /// Number of its block.
    pub block: u64,
}

/// A claim on a signed authorization. Amounts never exceed `ceiling`.
#[derive(Clone, PartialEq, Eq)]
pub struct ClaimRecord {
    /// Rises in the order of claims; zero until the store has given it.
    pub no: u64,
    /// Rises with each change; zero where it was not kept yet.
    pub version: u64,
    /// The authorization that is claimed.
    pub key: AuthorizationKey,
    /// The request that has it.
    pub request: RequestId,
    /// The account that the settlement is booked on.
    pub account: AccountId,
    /// Hash of the request's body, by which a replay is told from a theft.
    pub body_hash: ChainHash,
    /// Id of the quote that was accepted.
    pub quote: String,
    /// The scheme of the payment.
    pub scheme: ClaimScheme,
    /// Whether the answer or the settlement comes first.
    pub order: ClaimOrder,
    /// The most that may be settled.
    pub ceiling: MicroUsd,
    /// Unix seconds at which the authorization ends on the chain.
    pub deadline_s: u64,
    /// All that is needed to settle. Not read here.
    pub payload: Vec<u8>,
    /// How far the answer is.
    pub service: ServiceStage,
    /// Where the money is.
    pub stage: ClaimStage,
    /// What the answer cost the caller; zero until it is known.
    pub used: MicroUsd,
    /// What is to be settled: `used`, or under `exact` the ceiling.
    pub amount: MicroUsd,
    /// Transactions that may have been sent, oldest first.
    pub transactions: Vec<SettlementTransaction>,
    /// What the chain says; `None` while it has said nothing, or what it said was undone.
    pub settlement: Option<OnChainSettlement>,
    /// The amount that the ledger has booked as paid on the chain.
    pub booked: Option<MicroUsd>,
    /// Why it failed, or why it waits.
    pub reason: Option<String>,
    /// How the debt of a failed claim ended; `None` while it is open.
    pub debt_end: Option<String>,
    /// Unix milliseconds at which it was made.
    pub claimed_at_ms: u64,
    /// Unix milliseconds of the last change.
    pub changed_at_ms: u64,
    /// Unix milliseconds after which a request that has said nothing is taken for dead.
    pub stale_at_ms: u64,
    /// Unix milliseconds at which a settler should look at it; `None`: never.
    pub due_at_ms: Option<u64>,
    /// Who works on it.
    pub lease_owner: String,
    /// Rises with each lease, so that steps under an older lease are refused.
    pub lease_no: u64,
    /// Unix milliseconds at which another may take it.
    pub lease_until_ms: u64,
}

impl fmt::Debug for ClaimRecord {
    /// Without the payload, which whoever has it could settle.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimRecord")
            .field("key", &self.key)
            .field("request", &self.request)
            .field("stage", &self.stage)
            .field("service", &self.service)
            .field("ceiling", &self.ceiling)
            .field("amount", &self.amount)
            .field("settlement", &self.settlement)
            .finish_non_exhaustive()
    }
}

impl ClaimRecord {
    /// The transaction that was sent last. A mark for a settlement that another sends has no bytes
    /// and counts for nothing.
    #[must_use]
    pub fn sent(&self) -> Option<ChainHash> {
        let mut sent = self.transactions.iter().rev();
        sent.find(|one| !one.raw.is_empty()).map(|one| one.hash)
    }

    /// Whether it counts towards the exposure of its wallet.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match self.stage {
            ClaimStage::Claimed | ClaimStage::Owed | ClaimStage::Settling => true,
            ClaimStage::Settled | ClaimStage::Failed | ClaimStage::Void => false,
        }
    }

    /// The amount that its wallet owes: served, not settled, not paid otherwise.
    #[must_use]
    pub fn debt(&self) -> MicroUsd {
        let is_debt = self.stage == ClaimStage::Failed && self.debt_end.is_none();
        if is_debt { self.used } else { MicroUsd::ZERO }
    }

    /// The part of the settled amount that the answer costs; the rest stays with the account. Zero
    /// where the account paid the debt before the chain settled after all.
    #[must_use]
    pub fn capture(&self) -> MicroUsd {
        let end = self.debt_end.as_deref();
        let was_paid = end.is_some_and(|end| end.starts_with(DebtEnd::PAID));
        match &self.settlement {
            Some(settlement) if !was_paid => self.used.min(settlement.amount),
            _ => MicroUsd::ZERO,
        }
    }

    /// Whether the row can go once nobody could use the authorization any more. Settled claims are
    /// books and stay.
    #[must_use]
    pub fn is_prunable(&self) -> bool {
        let is_over = match self.stage {
            ClaimStage::Void => self.service != ServiceStage::Started,
            ClaimStage::Failed => self.debt() == MicroUsd::ZERO,
            ClaimStage::Claimed | ClaimStage::Owed | ClaimStage::Settling | ClaimStage::Settled => {
                false
            }
        };
        is_over && self.booked.is_none()
    }

    /// Hashes of all transactions that settle it or may do so.
    pub fn transaction_hashes(&self) -> impl Iterator<Item = ChainHash> + '_ {
        let ours = self.transactions.iter().map(|each| each.hash);
        ours.chain(self.settlement.map(|settlement| settlement.transaction))
    }
}

/// The figures of a wallet: sums over its claims, kept in the same transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletRecord {
    /// The wallet that the figures are of.
    pub wallet: WalletId,
    /// Rises with each change; zero where it was not kept yet.
    pub version: u64,
    /// How many claims are open.
    pub open: u64,
    /// Sum of the ceilings of open claims.
    pub exposure: MicroUsd,
    /// Sum of open debts.
    pub debt: MicroUsd,
    /// How many claims are settled.
    pub settlements: u64,
    /// Sum of settled amounts.
    pub settled: MicroUsd,
    /// Sum of amounts that the ledger has booked.
    pub booked: MicroUsd,
}

impl WalletRecord {
    /// A wallet without claims.
    #[must_use]
    pub fn new(wallet: WalletId) -> Self {
        Self {
            wallet,
            version: 0,
            open: 0,
            exposure: MicroUsd::ZERO,
            debt: MicroUsd::ZERO,
            settlements: 0,
            settled: MicroUsd::ZERO,
            booked: MicroUsd::ZERO,
        }
    }

    /// The figures after a claim changed from `before` to `after`; `None` where they cannot be
    /// counted, because one is out of range.
    #[must_use]
    pub fn after(&self, before: Option<&ClaimRecord>, after: Option<&ClaimRecord>) -> Option<Self> {
        let before = before.map(ClaimFigures::of).unwrap_or_default();
        let after = after.map(ClaimFigures::of).unwrap_or_default();
        let sum = |sum: MicroUsd, less: MicroUsd, more: MicroUsd| {
            sum.checked_sub(less)?.checked_add(more)
        };
        let count =
            |count: u64, less: bool, more: bool| (count + u64::from(more)).checked_sub(less.into());
        Some(Self {
            wallet: self.wallet,
            version: self.version,
            open: count(self.open, before.is_open, after.is_open)?,
            exposure: sum(self.exposure, before.exposure, after.exposure)?,
            debt: sum(self.debt, before.debt, after.debt)?,
            settlements: count(self.settlements, before.is_settled, after.is_settled)?,
            settled: sum(self.settled, before.settled, after.settled)?,
            booked: sum(self.booked, before.booked, after.booked)?,
        })
    }
}

/// What one claim adds to its wallet.
#[derive(Default)]
struct ClaimFigures {
    is_open: bool,
    is_settled: bool,
    exposure: MicroUsd,
    debt: MicroUsd,
    settled: MicroUsd,
    booked: MicroUsd,
}

impl ClaimFigures {
    fn of(claim: &ClaimRecord) -> Self {
        let settlement = match claim.stage {
            ClaimStage::Settled => claim.settlement,
            _ => None,
        };
        Self {
            is_open: claim.is_open(),
            is_settled: settlement.is_some(),
            exposure: if claim.is_open() {
                claim.ceiling
            } else {
                MicroUsd::ZERO
            },
            debt: claim.debt(),
            settled: settlement.map_or(MicroUsd::ZERO, |settlement| settlement.amount),
            booked: claim.booked.unwrap_or_default(),
        }
    }
}
