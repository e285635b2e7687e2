//! Payments that callers signed for a chain: their claims, settlements and debts, deposits that
//! arrive there, and how far the watcher and the gas budget are.
//!
//! A signed authorization is money only once, so it is claimed before anything is served for it.
//! The rules are functions without I/O over two rows, the claim and its wallet ([`ClaimRecord`],
//! [`WalletRecord`]); a store keeps rows and compares versions ([`ClaimStore`]), and [`ClaimBook`]
//! puts the two together. Nothing here knows a chain: transactions are hashes, and the signed
//! payload is bytes.

mod admit;
mod audit;
mod book;
mod chain_deposit;
mod chain_state;
mod key;
mod memory;
mod port;
mod record;
mod step;

pub use admit::{ClaimAnswer, ClaimRefusal, ExposureTerms, NewClaim};
pub use audit::audit_claims;
pub use book::ClaimBook;
pub use chain_deposit::{
    ChainDeposit, ChainDepositRefusal, ChainDepositState, ChainLog, SeenTransfer,
};
pub use chain_state::{ChainProgress, GasBudgetRefusal, GasDay};
pub use key::{AuthorizationKey, ChainAddress, ChainHash, InvalidChainText, WalletId};
pub use memory::MemoryClaims;
pub use port::{
    ClaimChange, ClaimQuery, ClaimStore, ClaimTotals, ClaimView, PROOF_MARKS, StageTotal,
};
pub use record::{
    ClaimOrder, ClaimRecord, ClaimScheme, ClaimStage, OnChainSettlement, ServiceStage,
    SettlementTransaction, WalletRecord,
};
pub use step::{ClaimStep, DebtEnd, StepBy, StepRefusal, TRANSACTIONS_MAX};

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::MemoryClaims;
    use crate::MemoryLedger;
    use crate::contract::{CLAIM_CASES, block_on};

    #[test]
    fn memory_keeps_the_contract() {
        for case in CLAIM_CASES {
            println!("{}", case.name);
            let store = Arc::new(MemoryClaims::new());
            block_on(case.run(store, Arc::new(MemoryLedger::new())));
        }
    }
}
