//! A claim, its wallet and its chain, in few words.

use std::sync::Arc;

use bardo_types::ids::RequestId;
use bardo_types::money::MicroUsd;

use super::super::rig::NOW_MS;
use crate::claims::{
    AuthorizationKey, ChainAddress, ChainHash, ClaimAnswer, ClaimBook, ClaimOrder, ClaimRecord,
    ClaimRefusal, ClaimScheme, ClaimStep, ClaimStore, ExposureTerms, NewClaim, OnChainSettlement,
    SettlementTransaction, StepBy, StepRefusal, WalletId, audit_claims,
};
use crate::command::{Charge, End, Settle};
use crate::port::Ledger;

pub(super) const DEADLINE_S: u64 = NOW_MS / 1_000 + 600;
pub(super) const STALE_MS: u64 = NOW_MS + 60_000;

/// A book, and wallets that this case alone uses.
pub(super) struct ClaimRig {
    pub(super) book: ClaimBook,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) name: &'static str,
}

impl ClaimRig {
    pub(super) fn new(
        store: Arc<dyn ClaimStore>,
        ledger: Arc<dyn Ledger>,
        name: &'static str,
    ) -> Self {
        let book = ClaimBook::new(store);
        Self { book, ledger, name }
    }

    pub(super) fn wallet(&self) -> WalletId {
        let mut address = [0; 20];
        for (place, byte) in self.name.bytes().enumerate() {
            address[place % 20] ^= byte.rotate_left(u32::try_from(place / 20).expect("short"));
        }
        WalletId {
            chain_id: 8_453,
            address: ChainAddress(address),
        }
    }

    pub(super) fn key(&self, number: u8) -> AuthorizationKey {
        AuthorizationKey {
            chain_id: 8_453,
            contract: ChainAddress([7; 20]),
            payer: self.wallet().address,
            nonce: ChainHash([number; 32]),
        }
    }

    pub(super) fn transaction(&self, number: u8) -> SettlementTransaction {
        let mut hash = [number; 32];
        hash[..20].copy_from_slice(&self.wallet().address.0);
        SettlementTransaction {
            hash: ChainHash(hash),
            sender: ChainAddress([9; 20]),
            sender_nonce: number.into(),
            raw: vec![2, number],
        }
    }

    pub(super) fn command(&self, number: u8, ceiling: u64) -> NewClaim {
        NewClaim {
            key: self.key(number),
            request: self.request(number),
            account: self.wallet().account(),
            body_hash: ChainHash([1; 32]),
            quote: format!("quote {number}"),
            scheme: ClaimScheme::Upto,
            order: ClaimOrder::ServeFirst,
            ceiling: MicroUsd::new(ceiling),
            deadline_s: DEADLINE_S,
            payload: vec![0, 255, number],
            stale_at_ms: STALE_MS,
            terms: ExposureTerms {
                cap: MicroUsd::new(1_000),
                first_cap: MicroUsd::new(300),
                raise: MicroUsd::new(100),
                open_max: 3,
                admits_debtors: false,
            },
            now_ms: NOW_MS,
        }
    }

    pub(super) fn request(&self, number: u8) -> RequestId {
        RequestId::parse(&format!("{}:{number}", self.name)).expect("names of functions are ids")
    }

    pub(super) fn by(&self, number: u8) -> StepBy {
        StepBy::Request(self.request(number))
    }

    pub(super) async fn claim(&self, command: &NewClaim) -> Result<ClaimAnswer, ClaimRefusal> {
        self.book.claim(command).await.expect("the store works")
    }

    pub(super) async fn claimed(&self, command: &NewClaim) {
        let answer = self.claim(command).await;
        assert!(matches!(answer, Ok(ClaimAnswer::Claimed(_))), "{answer:?}");
    }

    pub(super) async fn step(
        &self,
        number: u8,
        by: &StepBy,
        step: ClaimStep,
    ) -> Result<Option<ClaimRecord>, StepRefusal> {
        let key = self.key(number);
        let answer = self.book.step(&key, by, &step, NOW_MS + 1).await;
        answer.expect("the store works")
    }

    pub(super) async fn stepped(&self, number: u8, by: &StepBy, step: ClaimStep) -> ClaimRecord {
        let again = step.clone();
        let claim = self.step(number, by, step).await.expect("it follows");
        let claim = claim.expect("it stays");
        // A step whose answer was lost is sent again.
        if !matches!(again, ClaimStep::Serve | ClaimStep::Lease { .. }) {
            let repeated = self.step(number, by, again).await.expect("it was taken");
            assert_eq!(repeated.map(|each| each.stage), Some(claim.stage));
        }
        claim
    }

    /// Claims, serves and ends an answer that costs `used`.
    pub(super) async fn served(&self, number: u8, ceiling: u64, used: u64) -> ClaimRecord {
        self.claimed(&self.command(number, ceiling)).await;
        self.stepped(number, &self.by(number), ClaimStep::Serve)
            .await;
        let used = MicroUsd::new(used);
        let step = ClaimStep::Served { used };
        self.stepped(number, &self.by(number), step).await
    }

    pub(super) async fn lease(&self, number: u8) -> StepBy {
        let step = ClaimStep::Lease {
            owner: "settler".to_owned(),
            until_ms: NOW_MS,
        };
        let claim = self.stepped(number, &StepBy::Operator, step).await;
        StepBy::Lease(claim.lease_no)
    }

    pub(super) fn send(&self, number: u8) -> ClaimStep {
        ClaimStep::Send {
            transaction: self.transaction(number),
            check_at_ms: NOW_MS + 5_000,
        }
    }

    pub(super) fn settle(&self, number: u8, amount: u64) -> ClaimStep {
        ClaimStep::Settle {
            settlement: OnChainSettlement {
                transaction: self.transaction(number).hash,
                amount: MicroUsd::new(amount),
                block: 77,
            },
            book_at_ms: NOW_MS + 6_000,
        }
    }

    pub(super) async fn book(&self, claim: &ClaimRecord) -> ClaimRecord {
        let capture = Settle {
            account: claim.account.clone(),
            request: claim.request.clone(),
            end: End::Capture(Charge {
                provider: "sim".into(),
                provider_cost: claim.capture(),
                spread: MicroUsd::ZERO,
            }),
            record: None,
            now_ms: NOW_MS,
        };
        let ledger: &dyn Ledger = &*self.ledger;
        let booked = self.book.book(ledger, claim, Some(capture), NOW_MS).await;
        let booked = booked.expect("the stores work").expect("it is settled");
        booked.expect("it stays")
    }

    /// Open, exposure, debt, settlements, settled, booked.
    pub(super) async fn figures(&self) -> (u64, u64, u64, u64, u64, u64) {
        let wallet = self.book.store().wallet(self.wallet()).await;
        let wallet = wallet.expect("the store works").expect("it had claims");
        (
            wallet.open,
            wallet.exposure.get(),
            wallet.debt.get(),
            wallet.settlements,
            wallet.settled.get(),
            wallet.booked.get(),
        )
    }

    pub(super) async fn audit(&self) {
        let ledger: &dyn Ledger = &*self.ledger;
        let problems = audit_claims(self.book.store(), ledger).await;
        assert_eq!(problems.expect("the stores work"), Vec::<String>::new());
    }

    pub(super) async fn stands(&self) -> (u64, u64, u64) {
        let account = self.wallet().account();
        let balance = self.ledger.balance(&account).await.expect("it works");
        let balance = balance.expect("it was paid into");
        let (deposited, spent) = (balance.deposited.get(), balance.spent.get());
        (deposited, spent, balance.available.get())
    }
}
