use std::sync::Arc;

use bardo_ledger::claims::{
    AuthorizationKey, ChainAddress, ChainHash, ClaimOrder, ClaimScheme, ExposureTerms,
    MemoryClaims, NewClaim, SettlementTransaction, WalletId,
};
use bardo_ledger::{Charge, Deposit, Funds as _, Holds as _, MemoryLedger};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;

use super::*;

const NOW_MS: u64 = 1_750_000_000_000;
const DEBT: MicroUsd = MicroUsd::new(60);

/// A wallet that owes 60 µUSD for one answer.
struct Owing {
    claims: ClaimBook,
    ledger: MemoryLedger,
    account: AccountId,
    request: RequestId,
    key: AuthorizationKey,
}

impl Owing {
    async fn new() -> Self {
        let wallet = WalletId {
            chain_id: 8_453,
            address: ChainAddress([5; 20]),
        };
        let owing = Self {
            claims: ClaimBook::new(Arc::new(MemoryClaims::default())),
            ledger: MemoryLedger::default(),
            account: wallet.account(),
            request: RequestId::parse("req:1").unwrap(),
            key: AuthorizationKey {
                chain_id: 8_453,
                contract: ChainAddress([7; 20]),
                payer: wallet.address,
                nonce: ChainHash([1; 32]),
            },
        };
        owing.claims.claim(&owing.claim()).await.unwrap().unwrap();
        let by = StepBy::Request(owing.request.clone());
        owing.step(&by, ClaimStep::Serve).await;
        owing.step(&by, ClaimStep::Served { used: DEBT }).await;
        let lease = ClaimStep::Lease {
            owner: "settler".to_owned(),
            until_ms: NOW_MS,
        };
        let by = StepBy::Lease(owing.step(&StepBy::Operator, lease).await.lease_no);
        let send = ClaimStep::Send {
            transaction: SettlementTransaction {
                hash: ChainHash([2; 32]),
                sender: ChainAddress([9; 20]),
                sender_nonce: 1,
                raw: vec![2],
            },
            check_at_ms: NOW_MS,
        };
        owing.step(&by, send).await;
        let reason = "insufficient_funds".to_owned();
        owing.step(&by, ClaimStep::Fail { reason }).await;
        assert_eq!(owing.debt().await, DEBT);
        owing
    }

    fn claim(&self) -> NewClaim {
        NewClaim {
            key: self.key,
            request: self.request.clone(),
            account: self.account.clone(),
            body_hash: ChainHash([1; 32]),
            quote: "quote".to_owned(),
            scheme: ClaimScheme::Upto,
            order: ClaimOrder::ServeFirst,
            ceiling: MicroUsd::new(100),
            deadline_s: NOW_MS / 1_000 + 600,
            payload: Vec::new(),
            stale_at_ms: NOW_MS + 60_000,
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

    async fn step(&self, by: &StepBy, step: ClaimStep) -> ClaimRecord {
        let stepped = self.claims.step(&self.key, by, &step, NOW_MS).await;
        stepped.unwrap().expect("it follows").expect("it stays")
    }

    async fn debt(&self) -> MicroUsd {
        let claims = self.claims.store().claims(ClaimQuery {
            limit: 10,
            ..ClaimQuery::default()
        });
        claims.await.unwrap()[0].debt()
    }

    async fn deposit(&self, amount: MicroUsd, reference: &str) {
        let deposit = Deposit {
            account: self.account.clone(),
            amount,
            reference: reference.to_owned(),
            now_ms: NOW_MS,
        };
        self.ledger.deposit(deposit).await.unwrap().unwrap();
    }

    /// What the account has spent, and what it can spend.
    async fn stands(&self) -> (u64, u64) {
        let balance = self.ledger.balance(&self.account).await.unwrap().unwrap();
        (balance.spent.get(), balance.available.get())
    }
}

#[tokio::test]
async fn a_debt_is_paid_whole_or_not_at_all() {
    let owing = Owing::new().await;
    pay(&owing.claims, &owing.ledger).await.unwrap();
    owing.deposit(MicroUsd::new(59), "first").await;
    pay(&owing.claims, &owing.ledger).await.unwrap();
    assert_eq!((owing.debt().await, owing.stands().await), (DEBT, (0, 59)));
    owing.deposit(MicroUsd::new(2), "second").await;
    for _ in 0..2 {
        pay(&owing.claims, &owing.ledger).await.unwrap();
        let stands = owing.stands().await;
        assert_eq!((owing.debt().await, stands), (MicroUsd::ZERO, (60, 1)));
    }
}

#[tokio::test]
async fn a_debt_that_was_charged_before_a_kill_ends_without_another_deposit() {
    let owing = Owing::new().await;
    owing.deposit(DEBT, "first").await;
    let charge = Settle {
        account: owing.account.clone(),
        request: owing.request.clone(),
        end: End::Capture(Charge {
            provider: "sim".into(),
            provider_cost: DEBT,
            spread: MicroUsd::ZERO,
        }),
        record: None,
        now_ms: NOW_MS,
    };
    owing.ledger.settle(charge).await.unwrap();
    assert_eq!((owing.debt().await, owing.stands().await), (DEBT, (60, 0)));
    pay(&owing.claims, &owing.ledger).await.unwrap();
    let stands = owing.stands().await;
    assert_eq!((owing.debt().await, stands), (MicroUsd::ZERO, (60, 0)));
}
