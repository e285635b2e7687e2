//! Money that was sent to the gateway's address, and what a watcher of a chain keeps.

use bardo_types::money::MicroUsd;

use super::super::rig::NOW_MS;
use super::rig::ClaimRig;
use crate::claims::{
    ChainDeposit, ChainDepositRefusal, ChainDepositState, ChainHash, ChainLog, ChainProgress,
    GasDay, SeenTransfer,
};
use crate::port::Ledger;

impl ClaimRig {
    fn transfer(&self, number: u8, log_index: u32) -> ChainDeposit {
        ChainDeposit {
            log: ChainLog {
                chain_id: 8_453,
                transaction: self.transaction(number).hash,
                log_index,
            },
            version: 0,
            from: self.wallet(),
            account: self.wallet().account(),
            amount: MicroUsd::new(500),
            block: 10,
            block_hash: ChainHash([10; 32]),
            state: ChainDepositState::Pending,
            changed_at_ms: NOW_MS,
        }
    }

    async fn seen(&self, transfer: &ChainDeposit) -> SeenTransfer {
        let seen = self.book.see_transfer(transfer).await;
        seen.expect("the store works")
    }

    async fn moved(
        &self,
        log: ChainLog,
        to: ChainDepositState,
    ) -> Result<ChainDeposit, ChainDepositRefusal> {
        let moved = self.book.move_deposit(log, to, NOW_MS).await;
        moved.expect("the store works")
    }
}

pub(super) async fn transfers_are_credited_once(rig: ClaimRig) {
    let transfer = rig.transfer(1, 3);
    let log = transfer.log;
    rig.seen(&transfer).await;
    assert!(matches!(rig.seen(&transfer).await, SeenTransfer::Kept(_)));
    let ledger: &dyn Ledger = &*rig.ledger;
    let early = rig.book.credit_deposit(ledger, &transfer, NOW_MS).await;
    assert!(early.expect("the store works").is_err());
    rig.moved(log, ChainDepositState::Reversed)
        .await
        .expect("it is pending");
    // It is in another block now.
    let mut again = transfer.clone();
    (again.block, again.block_hash) = (11, ChainHash([11; 32]));
    rig.seen(&again).await;
    let confirmed = rig.moved(log, ChainDepositState::Confirmed).await;
    let confirmed = confirmed.expect("it is pending");
    assert_eq!(confirmed.block, 11);
    let late = rig.moved(log, ChainDepositState::Reversed).await;
    assert!(matches!(late, Err(ChainDepositRefusal::OutOfOrder { .. })));
    for _ in 0..2 {
        let credited = rig.book.credit_deposit(ledger, &confirmed, NOW_MS).await;
        credited.expect("the stores work").expect("it is confirmed");
    }
    assert_eq!(rig.stands().await, (500, 0, 500));
    assert!(matches!(rig.seen(&transfer).await, SeenTransfer::Kept(_)));
    let other = rig.transfer(1, 4);
    rig.seen(&other).await;
    let store = rig.book.store();
    let pending = store
        .chain_deposits(ChainDepositState::Pending, Some(log), 1)
        .await;
    assert_eq!(pending.expect("the store works")[0].log, other.log);
    rig.audit().await;
}

pub(super) async fn a_settlement_is_no_transfer(rig: ClaimRig) {
    rig.served(1, 100, 60).await;
    // The watcher was faster than the settler.
    rig.seen(&rig.transfer(1, 0)).await;
    let lease = rig.lease(1).await;
    rig.stepped(1, &lease, rig.send(1)).await;
    let log = rig.transfer(1, 0).log;
    let confirmed = rig.moved(log, ChainDepositState::Confirmed).await;
    assert_eq!(confirmed, Err(ChainDepositRefusal::Settlement));
    let seen = rig.seen(&rig.transfer(1, 7)).await;
    assert_eq!(seen, SeenTransfer::Settlement);
    let store = rig.book.store();
    let found = store.claim_of_transaction(8_453, log.transaction).await;
    assert_eq!(found.expect("the store works"), Some(rig.key(1)));
    let found = store.claim_of_transaction(1, log.transaction).await;
    assert_eq!(found.expect("the store works"), None);
}

pub(super) async fn progress_and_gas_are_kept(rig: ClaimRig) {
    let book = &rig.book;
    let watcher = rig.name;
    let first = ChainProgress {
        block: 5,
        hash: ChainHash([5; 32]),
    };
    let second = ChainProgress { block: 6, ..first };
    for (from, to, expected) in [
        (Some(first), second, false),
        (None, first, true),
        (None, second, false),
        (Some(first), second, true),
    ] {
        let moved = book.move_progress(8_453, watcher, from, to).await;
        assert_eq!(moved.expect("the store works"), expected);
    }
    let progress = book.progress(8_453, watcher).await;
    assert_eq!(progress.expect("the store works"), Some(second));
    let day = GasDay::at(8_453, rig.wallet().address, NOW_MS);
    let budget = u128::MAX / 2;
    let aside = |nonce, wei| async move {
        let answer = book.set_gas_aside(day, nonce, wei, budget).await;
        answer.expect("the store works")
    };
    assert_eq!(aside(1, budget).await, Ok(budget));
    assert_eq!(
        aside(2, 1).await.map_err(|refusal| refusal.used),
        Err(budget)
    );
    let spent = book.spend_gas(day, 1, 5).await;
    assert_eq!(spent.expect("the store works"), 5);
    assert_eq!(aside(2, 1).await, Ok(6));
    let tomorrow = GasDay {
        day: day.day + 1,
        ..day
    };
    let answer = book.set_gas_aside(tomorrow, 3, budget, budget).await;
    assert_eq!(answer.expect("the store works"), Ok(budget));
}
