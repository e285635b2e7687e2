//! Short words for long commands.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::money::MicroUsd;

use crate::caps::{Cap, CapScope, CapWindow};
use crate::command::{
    Balance, Charge, Deposit, End, HoldView, LedgerRefusal, Posting, ReceiptRecord, Reservation,
    Reserve, Settle, Settled,
};
use crate::port::Ledger;

/// 2026-11-20T16:00:00Z, in milliseconds: the time at which cases begin.
pub(super) const NOW_MS: u64 = 1_795_190_400_000;
/// How long the holds of cases last.
pub(super) const HOLD_MS: u64 = 60_000;

/// Runs a future on this thread. Enough for stores that need no runtime.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Carries on with all futures at once; answers in their order.
pub async fn join_all<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<Pin<Box<_>>> = futures.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<T>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, slot) in running.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let Poll::Ready(value) = future.as_mut().poll(context)
            {
                *slot = Some(value);
            }
        }
        if done.iter().all(Option::is_some) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

/// A store and an account that this case alone uses.
#[derive(Clone)]
pub(super) struct Rig {
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) account: AccountId,
    name: &'static str,
}

impl Rig {
    pub(super) fn new(ledger: Arc<dyn Ledger>, name: &'static str) -> Self {
        Self {
            ledger,
            account: AccountId::parse(name).expect("names of functions are ids"),
            name,
        }
    }

    /// A rig with another account in the same store.
    pub(super) fn other(&self) -> Self {
        let account = format!("{}.other", self.name);
        Self {
            account: AccountId::parse(&account).expect("names of functions are ids"),
            ..self.clone()
        }
    }

    pub(super) fn request(&self, number: u64) -> RequestId {
        RequestId::parse(&format!("req_{}_{number}", self.name)).expect("plain")
    }

    pub(super) fn key(&self) -> KeyId {
        KeyId::parse(self.name).expect("plain")
    }

    pub(super) async fn deposit(&self, amount: u64, reference: &str) -> Balance {
        let command = Deposit {
            account: self.account.clone(),
            amount: MicroUsd::new(amount),
            reference: reference.to_owned(),
            now_ms: NOW_MS,
        };
        let answer = self.ledger.deposit(command).await.expect("the store works");
        answer.expect("the sum is in range")
    }

    pub(super) fn reserve_command(&self, number: u64, amount: u64) -> Reserve {
        Reserve {
            request: self.request(number),
            account: self.account.clone(),
            key: Some(self.key()),
            amount: MicroUsd::new(amount),
            caps: Vec::new(),
            expires_at_ms: NOW_MS + HOLD_MS,
            now_ms: NOW_MS,
        }
    }

    pub(super) async fn try_reserve(&self, command: Reserve) -> Result<Reservation, LedgerRefusal> {
        let answer = self.ledger.reserve(command).await;
        let answer = answer.expect("the store works");
        self.check_identity().await;
        answer
    }

    pub(super) async fn reserve(&self, number: u64, amount: u64) -> Reservation {
        let command = self.reserve_command(number, amount);
        self.try_reserve(command).await.expect("there is enough")
    }

    pub(super) async fn extend(&self, number: u64, by: u64) -> Result<Reservation, LedgerRefusal> {
        let request = self.request(number);
        let answer = self
            .ledger
            .extend(&self.account, &request, MicroUsd::new(by), NOW_MS)
            .await
            .expect("the store works");
        self.check_identity().await;
        answer
    }

    pub(super) async fn end(&self, number: u64, end: End) -> Settled {
        self.end_with(number, end, None).await
    }

    pub(super) async fn end_with(
        &self,
        number: u64,
        end: End,
        record: Option<ReceiptRecord>,
    ) -> Settled {
        let settled = self.end_beside_others(number, end, record).await;
        self.check_identity().await;
        settled
    }

    /// Ends a hold while other commands run: what is read of the account in two steps may not fit
    /// together then.
    pub(super) async fn end_beside_others(
        &self,
        number: u64,
        end: End,
        record: Option<ReceiptRecord>,
    ) -> Settled {
        let command = Settle {
            account: self.account.clone(),
            request: self.request(number),
            end,
            record,
            now_ms: NOW_MS,
        };
        self.ledger.settle(command).await.expect("the store works")
    }

    pub(super) async fn balance(&self) -> Balance {
        let balance = self.ledger.balance(&self.account).await;
        balance.expect("the store works").unwrap_or_default()
    }

    /// Deposited, spent, held and available, in 10⁻⁶ USD.
    pub(super) async fn stands(&self) -> (u64, u64, u64, u64) {
        let balance = self.balance().await;
        (
            balance.deposited.get(),
            balance.spent.get(),
            balance.held.get(),
            balance.available.get(),
        )
    }

    pub(super) async fn holds(&self) -> Vec<HoldView> {
        let holds = self.ledger.holds(Some(&self.account)).await;
        holds.expect("the store works")
    }

    pub(super) async fn expire(&self, now_ms: u64) -> u64 {
        let count = self.ledger.expire(now_ms).await.expect("the store works");
        self.check_identity().await;
        count
    }

    pub(super) async fn postings(&self, after: u64, limit: u32) -> Vec<Posting> {
        let postings = self.ledger.postings(&self.account, after, limit).await;
        postings.expect("the store works")
    }

    pub(super) async fn receipt(&self, id: &str) -> Option<String> {
        let receipt = self.ledger.receipt(&self.account, id).await;
        receipt.expect("the store works")
    }

    pub(super) async fn verify(&self) {
        let verification = self.ledger.verify().await.expect("the store works");
        assert_eq!(verification.problems, Vec::<String>::new());
    }

    /// Deposits are what is spent, held and available, to the unit.
    async fn check_identity(&self) {
        let (deposited, spent, held, available) = self.stands().await;
        assert_eq!(deposited, spent + held + available);
        let sum: u64 = self.holds().await.iter().map(|h| h.amount.get()).sum();
        assert_eq!(held, sum, "what is held is the sum of the holds");
    }
}

pub(super) fn capture(provider_cost: u64, spread: u64) -> End {
    End::Capture(Charge {
        provider: "sim".into(),
        provider_cost: MicroUsd::new(provider_cost),
        spread: MicroUsd::new(spread),
    })
}

pub(super) fn settled(charged: u64, shortfall: u64, available: u64, repeated: bool) -> Settled {
    Settled {
        charged: MicroUsd::new(charged),
        shortfall: MicroUsd::new(shortfall),
        available: MicroUsd::new(available),
        repeated,
    }
}

pub(super) fn cap(scope: CapScope, window: CapWindow, limit: u64) -> Cap {
    Cap {
        scope,
        window,
        limit: MicroUsd::new(limit),
    }
}
