//! A file of its own for each test, and commands in few words.

use std::path::PathBuf;
use std::sync::Arc;

use bardo_ledger::contract::block_on;
use bardo_ledger::{
    Balance, Cap, Charge, Deposit, End, Ledger, LedgerRefusal, PromptCacheFigures, ReceiptRecord,
    Reservation, Reserve, Settle, Settled, StoreError,
};
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::money::{MicroUsd, SignedMicroUsd};
use tempfile::TempDir;

use crate::sqlite::{OpenMode, Options, Side, SqliteStore};

pub(in crate::sqlite) const NOW_MS: u64 = 1_795_190_400_000;

pub(in crate::sqlite) struct Folder(TempDir);

impl Folder {
    pub(in crate::sqlite) fn new() -> Self {
        Self(TempDir::with_prefix("ledger").unwrap())
    }

    pub(in crate::sqlite) fn file(&self) -> PathBuf {
        self.0.path().join("ledger.db")
    }

    pub(in crate::sqlite) fn serve(&self) -> Arc<SqliteStore> {
        self.serve_with(&Options::default())
    }

    pub(in crate::sqlite) fn serve_with(&self, options: &Options) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open_with(self.file(), OpenMode::Serve, options).unwrap())
    }

    pub(in crate::sqlite) fn tool(&self) -> SqliteStore {
        SqliteStore::open(self.file(), OpenMode::Tool).unwrap()
    }

    pub(in crate::sqlite) fn journal(&self) -> PathBuf {
        self.0.path().join("ledger.journal")
    }

    /// A connection that knows nothing of the store.
    pub(in crate::sqlite) fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file()).unwrap()
    }
}

/// Has the database brought up to date, for those who look at it alone.
#[track_caller]
pub(in crate::sqlite) fn refresh(store: &SqliteStore) {
    block_on(store.refresh()).unwrap();
}

/// Ends a store as a killed process ends.
pub(in crate::sqlite) fn crash(store: Arc<SqliteStore>) {
    if let Side::Server(server) = &store.side {
        server.crash();
    }
    Arc::into_inner(store).expect("nobody else uses it");
}

pub(in crate::sqlite) fn account(name: &str) -> AccountId {
    AccountId::parse(name).unwrap()
}

pub(in crate::sqlite) fn request(number: u64) -> RequestId {
    RequestId::parse(&format!("req_{number}")).unwrap()
}

pub(in crate::sqlite) fn micro(amount: u64) -> MicroUsd {
    MicroUsd::new(amount)
}

pub(in crate::sqlite) fn deposit(
    store: &dyn Ledger,
    name: &str,
    amount: u64,
    reference: &str,
) -> Balance {
    try_deposit(store, name, amount, reference)
        .unwrap()
        .unwrap()
}

pub(in crate::sqlite) fn try_deposit(
    store: &dyn Ledger,
    name: &str,
    amount: u64,
    reference: &str,
) -> Result<Result<Balance, LedgerRefusal>, StoreError> {
    block_on(store.deposit(Deposit {
        account: account(name),
        amount: micro(amount),
        reference: reference.to_owned(),
        now_ms: NOW_MS,
    }))
}

pub(in crate::sqlite) fn reserve_command(
    name: &str,
    number: u64,
    amount: u64,
    caps: Vec<Cap>,
) -> Reserve {
    Reserve {
        request: request(number),
        account: account(name),
        key: Some(KeyId::parse("key").unwrap()),
        amount: micro(amount),
        caps,
        expires_at_ms: NOW_MS + 60_000,
        now_ms: NOW_MS,
    }
}

pub(in crate::sqlite) fn reserve(
    store: &dyn Ledger,
    name: &str,
    number: u64,
    amount: u64,
) -> Reservation {
    try_reserve(store, name, number, amount).unwrap().unwrap()
}

pub(in crate::sqlite) fn try_reserve(
    store: &dyn Ledger,
    name: &str,
    number: u64,
    amount: u64,
) -> Result<Result<Reservation, LedgerRefusal>, StoreError> {
    block_on(store.reserve(reserve_command(name, number, amount, Vec::new())))
}

pub(in crate::sqlite) fn persist(
    store: &dyn Ledger,
    name: &str,
    number: u64,
) -> Result<(), StoreError> {
    block_on(store.persist(&account(name), &request(number)))
}

pub(in crate::sqlite) fn capture(provider_cost: u64, spread: u64) -> End {
    End::Capture(Charge {
        provider: "sim".into(),
        provider_cost: micro(provider_cost),
        spread: micro(spread),
    })
}

pub(in crate::sqlite) fn settle_command(name: &str, number: u64, end: End) -> Settle {
    Settle {
        account: account(name),
        request: request(number),
        end,
        record: None,
        now_ms: NOW_MS,
    }
}

pub(in crate::sqlite) fn end(store: &dyn Ledger, name: &str, number: u64, end: End) -> Settled {
    try_end(store, name, number, end).unwrap()
}

pub(in crate::sqlite) fn try_end(
    store: &dyn Ledger,
    name: &str,
    number: u64,
    end: End,
) -> Result<Settled, StoreError> {
    block_on(store.settle(settle_command(name, number, end)))
}

pub(in crate::sqlite) fn record(name: &str, number: u64, charge: u64) -> ReceiptRecord {
    ReceiptRecord {
        request: request(number),
        client_request_id: Some("mine".into()),
        account: account(name),
        key: Some(KeyId::parse("key").unwrap()),
        at_ms: NOW_MS + number,
        model: "strong-1".into(),
        provider: "sim".into(),
        outcome: "finished",
        input_tokens: 100,
        output_tokens: 10,
        provider_cost: Some(micro(20)),
        charge: micro(charge),
        savings: micro(5),
        subsystem: None,
        session: None,
        prompt_cache: PromptCacheFigures {
            read_tokens: 50,
            written_tokens: 40,
            saved: SignedMicroUsd::new(-3),
        },
        json: format!("{{\"n\":{number}}}").into(),
        details: None,
    }
}

/// Deposited, spent, held and available.
pub(in crate::sqlite) fn stands(store: &dyn Ledger, name: &str) -> (u64, u64, u64, u64) {
    let balance = block_on(store.balance(&account(name))).unwrap();
    let Balance {
        deposited,
        spent,
        held,
        available,
    } = balance.unwrap();
    (deposited.get(), spent.get(), held.get(), available.get())
}

#[track_caller]
pub(in crate::sqlite) fn check_verify(store: &dyn Ledger) {
    let verification = block_on(store.verify()).unwrap();
    assert_eq!(verification.problems, Vec::<String>::new());
}

/// Polls until something holds; there is nothing else to wait for where another thread or process
/// acts by itself.
#[track_caller]
pub(in crate::sqlite) fn until(mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed().as_secs() < 20, "it never came to hold");
        std::thread::yield_now();
    }
}
