//! Money that somebody sent to the gateway's address.

use std::fmt;
use std::str::FromStr;

use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;

use super::key::{ChainHash, InvalidChainText, WalletId};
use super::record::named;

/// A log of a contract: what makes a transfer one of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainLog {
    /// The chain's id (EIP-155).
    pub chain_id: u64,
    /// Hash of the transaction that logged it.
    pub transaction: ChainHash,
    /// The place of the log in its block.
    pub log_index: u32,
}

impl ChainLog {
    /// The reference of the deposit in the ledger.
    #[must_use]
    pub fn deposit_reference(&self) -> String {
        format!("transfer:{self}")
    }
}

impl fmt::Display for ChainLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (transaction, index) = (self.transaction, self.log_index);
        write!(f, "{}:{transaction}:{index}", self.chain_id)
    }
}

impl FromStr for ChainLog {
    type Err = InvalidChainText;

    /// Reads `<chain id>:<transaction>:<log index>`.
    fn from_str(text: &str) -> Result<Self, InvalidChainText> {
        let invalid = || InvalidChainText(text.to_owned());
        let parts: Vec<_> = text.split(':').collect();
        let [chain_id, transaction, log_index] = parts[..] else {
            return Err(invalid());
        };
        Ok(Self {
            chain_id: chain_id.parse().map_err(|_| invalid())?,
            transaction: transaction.parse()?,
            log_index: log_index.parse().map_err(|_| invalid())?,
        })
    }
}

named! {
    /// How sure a deposit on a chain is.
    ChainDepositState {
        /// Its block may still be undone.
        Pending "pending"
        /// Its block has the confirmations that were asked for.
        Confirmed "confirmed"
        /// The ledger has booked it.
        Credited "credited"
        /// A reorganization undid it while it was pending.
        Reversed "reversed"
    }
}

/// A transfer to the gateway's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainDeposit {
    /// The log of the transfer.
    pub log: ChainLog,
    /// Rises with each change; zero where it was not kept yet.
    pub version: u64,
    /// The wallet that sent it.
    pub from: WalletId,
    /// The account that it is credited to.
    pub account: AccountId,
    /// How much was sent.
    pub amount: MicroUsd,
    /// Number of the block.
    pub block: u64,
    /// Hash of the block.
    pub block_hash: ChainHash,
    /// How sure it is.
    pub state: ChainDepositState,
    /// Unix milliseconds of the last change.
    pub changed_at_ms: u64,
}

/// The result of telling of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenTransfer {
    /// The transfer is kept, now or since before.
    Kept(ChainDeposit),
    /// Its transaction settles a claim, so that it is money of that claim and no deposit.
    Settlement,
}

/// Why a deposit on a chain did not change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainDepositRefusal {
    /// There is no such deposit.
    #[error("there is no such deposit")]
    NoDeposit,
    /// The step does not follow from its state.
    #[error("a deposit that is {} cannot become {}", from.as_str(), to.as_str())]
    OutOfOrder {
        /// The state that it has.
        from: ChainDepositState,
        /// The state that it should get.
        to: ChainDepositState,
    },
    /// Its transaction settles a claim.
    #[error("its transaction settles a payment and is no deposit")]
    Settlement,
}

/// Whether a deposit may pass from one state to another. `Some(false)`: it is there already.
pub(super) fn passes(from: ChainDepositState, to: ChainDepositState) -> Option<bool> {
    use ChainDepositState::{Confirmed, Credited, Pending, Reversed};
    match (from, to) {
        (Pending, Confirmed | Reversed) | (Confirmed, Credited) | (Reversed, Pending) => Some(true),
        (Credited, Confirmed) => Some(false),
        _ if from == to => Some(false),
        _ => None,
    }
}
