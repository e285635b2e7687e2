//! A prepaid caller with books that can be made to fail, and everything that is told of it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bardo_access::{
    Admission, KeyKind, KeyRecord, LimitRequest, LimitStore, PayerTerms, Remaining, Scopes,
    Throttled,
};
use bardo_engine::{Answer, EngineError, EventSink, Hints, Payer, Principal, Services, Task};
use bardo_ledger::{
    Accounts as _, Balance, Deposit, Funds, HoldView, Holds, LedgerFuture as Answered,
    LedgerRefusal, MemoryLedger, ReceiptRecord, Reservation, Reserve, Settle, Settled, StoreError,
};
use bardo_types::clock::Clock;
use bardo_types::fault::Fault;
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::model::{Dialect, Price};
use bardo_types::money::{BasisPoints, MicroUsd, PricePerMillion};
use bardo_types::receipt::Receipt;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::world::{Bench, Call, Read, read, world};

/// Every model costs this: 10 and 100 USD per million tokens.
pub(crate) const PRICE: Price = Price {
    input: PricePerMillion::from_micro(10_000_000),
    output: PricePerMillion::from_micro(100_000_000),
    cache_read: None,
    cache_write_5m: None,
    cache_write_1h: None,
    audio_input: None,
    audio_output: None,
    reasoning: None,
    web_search: None,
    request: None,
    long_context: None,
};

/// Books in memory that fail as often as they are told to.
#[derive(Default)]
pub(crate) struct Books {
    pub(crate) inner: MemoryLedger,
    /// Number of settlements that fail from now on.
    pub(crate) fail_settles: AtomicU32,
    /// Number of holds that are not taken.
    pub(crate) fail_reserves: AtomicU32,
    /// Number of holds that are not stored.
    pub(crate) fail_persists: AtomicU32,
    /// Number of extensions that fail.
    pub(crate) fail_extends: AtomicU32,
    pub(crate) settles: AtomicU32,
    /// Number of holds that were to be stored.
    pub(crate) persists: AtomicU32,
}

fn fails(left: &AtomicU32) -> bool {
    let fewer = |left: u32| left.checked_sub(1);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer)
        .is_ok()
}

fn down<'a, T: Send + 'a>() -> Answered<'a, Result<T, StoreError>> {
    let error = StoreError::Unavailable("as told".to_owned());
    Box::pin(std::future::ready(Err(error)))
}

impl Funds for Books {
    fn balance<'a>(
        &'a self,
        account: &'a AccountId,
    ) -> Answered<'a, Result<Option<Balance>, StoreError>> {
        self.inner.balance(account)
    }

    fn deposit(
        &self,
        command: Deposit,
    ) -> Answered<'_, Result<Result<Balance, LedgerRefusal>, StoreError>> {
        self.inner.deposit(command)
    }
}

impl Holds for Books {
    fn deposit_for<'a>(
        &'a self,
        command: Deposit,
        request: &'a RequestId,
    ) -> Answered<'a, Result<Result<Balance, LedgerRefusal>, StoreError>> {
        self.inner.deposit_for(command, request)
    }

    fn reserve(
        &self,
        command: Reserve,
    ) -> Answered<'_, Result<Result<Reservation, LedgerRefusal>, StoreError>> {
        if fails(&self.fail_reserves) {
            return down();
        }
        self.inner.reserve(command)
    }

    fn persist<'a>(
        &'a self,
        account: &'a AccountId,
        request: &'a RequestId,
    ) -> Answered<'a, Result<(), StoreError>> {
        self.persists.fetch_add(1, Ordering::Relaxed);
        if fails(&self.fail_persists) {
            return down();
        }
        self.inner.persist(account, request)
    }

    fn extend<'a>(
        &'a self,
        account: &'a AccountId,
        request: &'a RequestId,
        by: MicroUsd,
        now_ms: u64,
    ) -> Answered<'a, Result<Result<Reservation, LedgerRefusal>, StoreError>> {
        if fails(&self.fail_extends) {
            return down();
        }
        self.inner.extend(account, request, by, now_ms)
    }

    fn settle(&self, command: Settle) -> Answered<'_, Result<Settled, StoreError>> {
        self.settles.fetch_add(1, Ordering::Relaxed);
        if fails(&self.fail_settles) {
            return down();
        }
        self.inner.settle(command)
    }

    fn release(&self, account: &AccountId, request: &RequestId, now_ms: u64) {
        self.inner.release(account, request, now_ms);
    }

    fn record(&self, record: ReceiptRecord) {
        self.inner.record(record);
    }
}

/// Keeps what it is told, and lets waiters know.
#[derive(Default)]
pub(crate) struct Told {
    receipts: Mutex<Vec<Receipt>>,
    pub(crate) unpriced: AtomicU32,
    delayed: Option<Semaphore>,
}

impl EventSink for Told {
    fn settled(&self, receipt: &Receipt) {
        self.receipts
            .lock()
            .expect("nobody panicked")
            .push(receipt.clone());
    }

    fn attempt_failed(&self, _request_id: &str, _backend: &str, _fault: &Fault) {}

    fn unpriced(&self, _model: &str) {
        self.unpriced.fetch_add(1, Ordering::Relaxed);
    }

    fn settling_delayed(&self, _request_id: &str) {
        if let Some(delayed) = &self.delayed {
            delayed.add_permits(1);
        }
    }
}

/// Limits that let a number of requests in and remember what was corrected.
pub(crate) struct Gate {
    pub(crate) left: AtomicU32,
    /// Tokens taken on account, and tokens used in the end.
    pub(crate) taken: AtomicU64,
    pub(crate) used: Mutex<Vec<u64>>,
    /// Names under which requests were counted.
    pub(crate) counted: Mutex<Vec<Option<KeyId>>>,
    /// When the last request was counted, in Unix milliseconds.
    pub(crate) counted_ms: AtomicU64,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            left: AtomicU32::new(u32::MAX),
            taken: AtomicU64::new(0),
            used: Mutex::default(),
            counted: Mutex::default(),
            counted_ms: AtomicU64::new(0),
        }
    }
}

impl LimitStore for Gate {
    fn admit<'a>(
        &'a self,
        request: &'a LimitRequest,
    ) -> bardo_access::BoxFuture<'a, Result<Admission, Throttled>> {
        self.counted
            .lock()
            .expect("nobody panicked")
            .push(request.key.clone());
        self.counted_ms.store(request.now_ms, Ordering::Relaxed);
        let state = Admission {
            requests: Some(Remaining {
                limit: 9,
                remaining: 3,
                reset_ms: 1_000,
            }),
            reserved_tokens: request.tokens,
            ..Admission::default()
        };
        let answer = if fails(&self.left) {
            self.taken.fetch_add(request.tokens, Ordering::Relaxed);
            Ok(state)
        } else {
            Err(Throttled {
                limit: "requests",
                retry_after_ms: 1_000,
                state,
            })
        };
        Box::pin(std::future::ready(answer))
    }

    fn correct(&self, _request: &LimitRequest, reserved: u64, used: u64, _now_ms: u64) {
        self.taken.fetch_sub(reserved, Ordering::Relaxed);
        self.used.lock().expect("nobody panicked").push(used);
    }

    fn mode(&self) -> &'static str {
        "local"
    }
}

/// The time at which a purse begins, in Unix milliseconds.
const BEGUN_MS: u64 = 1_795_190_400_000;

/// A clock that the test moves.
struct Hand(Arc<AtomicU64>);

impl Clock for Hand {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A prepaid caller before an engine whose backends are billed.
pub(crate) struct Purse {
    pub(crate) bench: Bench,
    pub(crate) books: Arc<Books>,
    pub(crate) told: Arc<Told>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) account: AccountId,
    pub(crate) key: KeyRecord,
    /// Terms of the caller where they do not come from the key.
    pub(crate) terms: Option<PayerTerms>,
    now_ms: Arc<AtomicU64>,
    hurried: AtomicBool,
}

impl Purse {
    /// A caller with so much money; 20 % are added to costs.
    pub(crate) async fn with(usd: &str) -> Self {
        Self::priced(usd, false, Some(PRICE)).await
    }

    pub(crate) async fn priced(usd: &str, direct: bool, price: Option<Price>) -> Self {
        let books = Arc::new(Books::default());
        let told = Arc::new(Told {
            delayed: Some(Semaphore::new(0)),
            ..Told::default()
        });
        let gate = Arc::new(Gate::default());
        let now_ms = Arc::new(AtomicU64::new(BEGUN_MS));
        let services = Services {
            ledger: Some(Arc::clone(&books) as Arc<dyn Holds>),
            limits: Arc::clone(&gate) as Arc<dyn LimitStore>,
            clock: Arc::new(Hand(Arc::clone(&now_ms))),
            sink: Arc::clone(&told) as Arc<dyn EventSink>,
        };
        let bench = Bench::with(services, |address| {
            let mut world = world(address, direct, price);
            world.billing.spread = BasisPoints::new(2_000).expect("in range");
            world.limits.tokens_per_minute = Some(1_000_000);
            world
        });
        let account = AccountId::parse("acct_1").expect("an id");
        let deposit = Deposit {
            account: account.clone(),
            amount: MicroUsd::from_usd(usd).expect("an amount"),
            reference: "operator:1".into(),
            now_ms: BEGUN_MS,
        };
        books
            .deposit(deposit)
            .await
            .expect("books")
            .expect("an account");
        let key = KeyRecord {
            id: KeyId::parse("k1").expect("an id"),
            account: account.clone(),
            kind: KeyKind::Spend,
            name: "test".into(),
            hash: String::new(),
            scopes: Scopes::default(),
            tier: None,
            spread: None,
            created_at_ms: 0,
            expires_at_ms: None,
            revoked_at_ms: None,
            replaces: None,
        };
        Self {
            bench,
            books,
            told,
            gate,
            account,
            key,
            terms: None,
            now_ms,
            hurried: AtomicBool::new(false),
        }
    }

    /// One millisecond passes. Answers the time after it, in Unix milliseconds.
    pub(crate) fn tick(&self) -> u64 {
        self.now_ms.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn principal(&self) -> Principal {
        let of_key = || PayerTerms::of_key(&self.key);
        let terms = self.terms.clone().unwrap_or_else(of_key);
        Principal {
            account: self.account.clone(),
            payer: Payer::Prepaid(Arc::new(terms)),
        }
    }

    /// Begins to answer.
    pub(crate) async fn begin(
        &self,
        dialect: Dialect,
        body: &Value,
    ) -> Result<Answer, EngineError> {
        self.task(Task::Generate, dialect, body).await
    }

    pub(crate) async fn task(
        &self,
        task: Task,
        dialect: Dialect,
        body: &Value,
    ) -> Result<Answer, EngineError> {
        let read = self.read_as(task, dialect, body)?;
        Arc::clone(&self.bench.engine).answer(read).await
    }

    /// A request of the caller as the engine has read it.
    pub(crate) fn read_as(
        &self,
        task: Task,
        dialect: Dialect,
        body: &Value,
    ) -> Result<bardo_engine::Call, EngineError> {
        self.bench.read(Call {
            task,
            dialect,
            body,
            principal: self.principal(),
            hints: Hints::default(),
        })
    }

    /// Asks and reads to the end.
    pub(crate) async fn ask(&self, dialect: Dialect, body: &Value) -> Result<Read, EngineError> {
        read(self.begin(dialect, body).await?).await
    }

    pub(crate) async fn balance(&self) -> Balance {
        self.books
            .balance(&self.account)
            .await
            .expect("books")
            .expect("an account")
    }

    pub(crate) async fn holds(&self) -> Vec<HoldView> {
        let holds = self.books.inner.holds(Some(&self.account)).await;
        holds.expect("books")
    }

    /// Waits until everything is settled, checks that the books add up and that nothing is held
    /// or on account any more, and answers what was told.
    pub(crate) async fn settled(&self) -> Vec<Receipt> {
        let receipts = self.drained().await;
        assert_eq!(self.balance().await.held, MicroUsd::ZERO, "a hold leaked");
        receipts
    }

    /// As [`Self::settled`], with holds of unknown outcome allowed.
    pub(crate) async fn drained(&self) -> Vec<Receipt> {
        let drained = self.bench.engine.drain_settler();
        tokio::time::timeout(Duration::from_secs(30), drained)
            .await
            .expect("everything is settled in the end");
        let verification = self.books.inner.verify().await.expect("books");
        assert_eq!(verification.problems, [""; 0]);
        assert_eq!(self.gate.taken.load(Ordering::Relaxed), 0, "tokens leaked");
        let receipts = self.told.receipts.lock().expect("nobody panicked").clone();
        let mut ids: Vec<_> = receipts.iter().map(|one| &one.request_id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), receipts.len(), "a receipt was told twice");
        receipts
    }

    /// The only receipt, when everything is settled.
    pub(crate) async fn receipt(&self) -> Receipt {
        let mut receipts = self.settled().await;
        assert_eq!(receipts.len(), 1, "{receipts:?}");
        receipts.remove(0)
    }

    /// Waits for `work`, and lets time fly from the first question to the books on.
    pub(crate) async fn hurry<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        std::future::poll_fn(|cx| {
            let polled = work.as_mut().poll(cx);
            let asked = self.books.settles.load(Ordering::Relaxed) > 0;
            if polled.is_pending() && asked && !self.hurried.swap(true, Ordering::Relaxed) {
                tokio::time::pause();
            }
            polled
        })
        .await
    }

    /// Waits until the settler met books that do not answer.
    pub(crate) async fn delayed(&self) {
        let delayed = self.told.delayed.as_ref().expect("it is counted");
        delayed.acquire().await.expect("books").forget();
    }
}

/// What so many tokens cost a caller at [`PRICE`] and 20 %.
pub(crate) fn charge(input: u64, output: u64) -> MicroUsd {
    MicroUsd::new(((input * 10 + output * 100) * 12).div_ceil(10))
}
