//! Callers' money and the time by which it is held.

use std::sync::Arc;

use bardo_access::{KeyKind, KeyRecord, Scopes};
use bardo_ledger::{Deposit, Funds};
use bardo_types::clock::Clock;
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::MicroUsd;
use tokio::time::Instant;

/// When every scene begins, in Unix milliseconds.
const BEGINNING: u64 = 1_795_000_000_000;

/// A wall clock that moves with the paused one.
#[derive(Debug, Clone, Copy)]
pub struct PausedClock(Instant);

impl PausedClock {
    /// A clock at its beginning.
    #[must_use]
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Default for PausedClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for PausedClock {
    fn now_ms(&self) -> u64 {
        BEGINNING + u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A caller who pays.
#[derive(Debug, Clone)]
pub struct Purse {
    /// The caller's key.
    pub key: Arc<KeyRecord>,
    /// The amount that was paid in.
    pub deposited: MicroUsd,
}

impl Purse {
    /// A caller with so much in these books.
    ///
    /// # Panics
    /// When the books do not take it.
    pub async fn fill(ledger: &dyn Funds, name: &str, micro: u64) -> Self {
        let account = AccountId::parse(&format!("acct_{name}")).expect("an id");
        let deposit = Deposit {
            account: account.clone(),
            amount: MicroUsd::new(micro),
            reference: format!("test:{name}"),
            now_ms: BEGINNING,
        };
        let taken = ledger.deposit(deposit).await.expect("the books answer");
        taken.expect("the books take money");
        let key = KeyRecord {
            id: KeyId::parse(name).expect("an id"),
            account,
            kind: KeyKind::Spend,
            name: name.to_owned(),
            hash: String::new(),
            scopes: Scopes::default(),
            tier: None,
            spread: None,
            created_at_ms: BEGINNING,
            expires_at_ms: None,
            revoked_at_ms: None,
            replaces: None,
        };
        Self {
            key: Arc::new(key),
            deposited: MicroUsd::new(micro),
        }
    }
}
