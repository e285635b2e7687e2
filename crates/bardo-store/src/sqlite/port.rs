//! The ports, by server or tool.

use std::sync::atomic::Ordering;

use bardo_access::{Amendment, KeyError, KeyRecord, KeyStore};
use bardo_ledger::{
    Accounts, Balance, Deposit, Funds, HoldView, Holds, LedgerFuture, LedgerRefusal, ListQuery,
    Posting, ReceiptRecord, Receipts, Reservation, Reserve, Settle, Settled, StoreError, SumQuery,
    SumRow, Verification,
};
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::money::MicroUsd;
use rusqlite::Connection;

use super::error::key_error;
use super::keys::{self, KeyWrite};
use super::reader::Length;
use super::shared::WriterAction;
use super::{Side, SqliteStore, journal, loading, queries, receipts, verify};

/// The error of operations that only a server can do.
fn no_server<T>() -> Result<T, StoreError> {
    Err(StoreError::Unavailable(
        "only a running server can hold money".to_owned(),
    ))
}

/// Boxes a future that is made in its place on the heap. `Box::pin` makes it first, for which it
/// has to be dropped if there is no memory, and then copies all its bytes.
fn boxed<'a, F: Future + Send + 'a>(make: impl FnOnce() -> F) -> LedgerFuture<'a, F::Output> {
    let future = Box::write(Box::new_uninit(), make());
    Box::into_pin(future)
}

impl SqliteStore {
    /// Looks at the database when it has all that was acknowledged before.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        length: Length,
        look: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        if let Side::Server(server) = &self.side {
            server.catch_up().await;
        }
        self.readers.ask(length, look).await
    }
}

impl Funds for SqliteStore {
    fn balance<'a>(
        &'a self,
        account: &'a AccountId,
    ) -> LedgerFuture<'a, Result<Option<Balance>, StoreError>> {
        Box::pin(async move {
            match &self.side {
                Side::Server(server) => server.balance(&self.readers, account).await,
                Side::Tool(tool) => tool.balance(account),
            }
        })
    }

    fn deposit(
        &self,
        command: Deposit,
    ) -> LedgerFuture<'_, Result<Result<Balance, LedgerRefusal>, StoreError>> {
        Box::pin(async move {
            match &self.side {
                Side::Server(server) => {
                    server
                        .ask(|reply| WriterAction::Deposit(command, None, reply))
                        .await
                }
                Side::Tool(tool) => tool.deposit(&command),
            }
        })
    }
}

impl Holds for SqliteStore {
    fn deposit_for<'a>(
        &'a self,
        command: Deposit,
        request: &'a RequestId,
    ) -> LedgerFuture<'a, Result<Result<Balance, LedgerRefusal>, StoreError>> {
        let request = Some(request.clone());
        Box::pin(async move {
            match &self.side {
                Side::Server(server) => {
                    server
                        .ask(|reply| WriterAction::Deposit(command, request, reply))
                        .await
                }
                Side::Tool(_) => no_server(),
            }
        })
    }

    fn reserve(
        &self,
        command: Reserve,
    ) -> LedgerFuture<'_, Result<Result<Reservation, LedgerRefusal>, StoreError>> {
        boxed(|| async move {
            match &self.side {
                Side::Server(server) => server.reserve(&self.readers, command).await,
                Side::Tool(_) => no_server(),
            }
        })
    }

    fn persist<'a>(
        &'a self,
        account: &'a AccountId,
        request: &'a RequestId,
    ) -> LedgerFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            match &self.side {
                Side::Server(server) => server.persist(account, request).await,
                Side::Tool(_) => no_server(),
            }
        })
    }

    fn extend<'a>(
        &'a self,
        account: &'a AccountId,
        request: &'a RequestId,
        by: MicroUsd,
        _now_ms: u64,
    ) -> LedgerFuture<'a, Result<Result<Reservation, LedgerRefusal>, StoreError>> {
        Box::pin(async move {
            match &self.side {
                Side::Server(server) => server.extend(&self.readers, account, request, by).await,
                Side::Tool(_) => no_server(),
            }
        })
    }

    fn settle(&self, command: Settle) -> LedgerFuture<'_, Result<Settled, StoreError>> {
        boxed(|| async move {
            match &self.side {
                Side::Server(server) => server.settle(command).await,
                Side::Tool(tool) => tool.settle(&command),
            }
        })
    }

    fn release(&self, account: &AccountId, request: &RequestId, now_ms: u64) {
        if let Side::Server(server) = &self.side {
            server.shared().release(account, request, now_ms);
        }
    }

    fn record(&self, record: ReceiptRecord) {
        if let Side::Server(server) = &self.side {
            server.record(record);
        }
    }
}

impl Accounts for SqliteStore {
    fn postings<'a>(
        &'a self,
        account: &'a AccountId,
        after: u64,
        limit: u32,
    ) -> LedgerFuture<'a, Result<Vec<Posting>, StoreError>> {
        let account = account.clone();
        Box::pin(self.read(Length::Long, move |connection| {
            queries::postings(connection, account.as_str(), after, limit)
        }))
    }

    fn holds<'a>(
        &'a self,
        account: Option<&'a AccountId>,
    ) -> LedgerFuture<'a, Result<Vec<HoldView>, StoreError>> {
        if let Side::Server(server) = &self.side {
            let holds = server.shared().lock().book.holds(account);
            return Box::pin(std::future::ready(Ok(holds)));
        }
        let account = account.cloned();
        Box::pin(self.readers.ask(Length::Short, move |connection| {
            let rows = loading::holds(connection, account.as_ref().map(AccountId::as_str))?;
            Ok(rows.into_iter().map(|(view, _)| view).collect())
        }))
    }

    fn expire(&self, now_ms: u64) -> LedgerFuture<'_, Result<u64, StoreError>> {
        let count = match &self.side {
            Side::Server(server) => server.shared().expire(now_ms),
            Side::Tool(_) => 0,
        };
        Box::pin(std::future::ready(Ok(count)))
    }

    fn verify(&self) -> LedgerFuture<'_, Result<Verification, StoreError>> {
        Box::pin(async move {
            let mut verification = self.read(Length::Long, verify::verify).await?;
            for aside in journal::kept_aside(&self.path) {
                verification.problems.push(format!(
                    "`{}` was set aside, and some of its entries may be missing in the accounts; compare it \
                    with the receipts, then move it away",
                    aside.display()
                ));
            }
            if let Side::Server(server) = &self.side {
                verification
                    .problems
                    .extend(server.shared().lock().book.audit());
            }
            Ok(verification)
        })
    }
}

impl Receipts for SqliteStore {
    fn receipt<'a>(
        &'a self,
        account: &'a AccountId,
        id: &'a str,
    ) -> LedgerFuture<'a, Result<Option<String>, StoreError>> {
        let (account, id) = (account.clone(), id.to_owned());
        Box::pin(self.read(Length::Short, move |connection| {
            receipts::one(connection, account.as_str(), &id)
        }))
    }

    fn sums(&self, query: SumQuery) -> LedgerFuture<'_, Result<Vec<SumRow>, StoreError>> {
        Box::pin(self.read(Length::Long, move |connection| {
            receipts::sums(connection, &query)
        }))
    }

    fn list(&self, query: ListQuery) -> LedgerFuture<'_, Result<Vec<ReceiptRecord>, StoreError>> {
        Box::pin(self.read(Length::Long, move |connection| {
            receipts::list(connection, &query)
        }))
    }

    fn flush(&self) -> LedgerFuture<'_, Result<(), StoreError>> {
        Box::pin(self.refresh())
    }

    fn dropped(&self) -> u64 {
        match &self.side {
            Side::Server(server) => server.shared().dropped.load(Ordering::Relaxed),
            Side::Tool(_) => 0,
        }
    }
}

impl SqliteStore {
    async fn write_key(&self, record: KeyRecord, write: keys::Write) -> Result<(), KeyError> {
        let id = record.id.clone();
        let written = match &self.side {
            Side::Server(server) => {
                let key = Box::new((record, write));
                server.ask(|reply| WriterAction::Key(key, reply)).await
            }
            Side::Tool(tool) => tool.key(&record, &write),
        };
        match written.map_err(key_error)? {
            KeyWrite::Done => Ok(()),
            KeyWrite::Exists => Err(KeyError::Exists(id)),
            KeyWrite::Unknown => Err(KeyError::Unknown(id)),
            KeyWrite::Overtaken => Err(KeyError::Changed(id)),
        }
    }
}

impl KeyStore for SqliteStore {
    fn find<'a>(&'a self, id: &'a KeyId) -> LedgerFuture<'a, Result<Option<KeyRecord>, KeyError>> {
        let id = id.clone();
        Box::pin(async move {
            self.readers
                .ask(Length::Short, move |connection| {
                    keys::find(connection, id.as_str())
                })
                .await
                .map_err(key_error)
        })
    }

    fn insert(&self, record: KeyRecord) -> LedgerFuture<'_, Result<(), KeyError>> {
        Box::pin(self.write_key(record, keys::Write::New))
    }

    fn update(&self, record: KeyRecord, how: Amendment) -> LedgerFuture<'_, Result<(), KeyError>> {
        Box::pin(self.write_key(record, keys::Write::Amended(Box::new(how))))
    }

    fn list<'a>(
        &'a self,
        account: Option<&'a AccountId>,
    ) -> LedgerFuture<'a, Result<Vec<KeyRecord>, KeyError>> {
        let account = account.cloned();
        Box::pin(async move {
            self.readers
                .ask(Length::Long, move |connection| {
                    keys::list(connection, account.as_ref().map(AccountId::as_str))
                })
                .await
                .map_err(key_error)
        })
    }

    fn revision(&self) -> u64 {
        match &self.side {
            Side::Server(server) => server.shared().revision.load(Ordering::Acquire),
            Side::Tool(tool) => tool.revision.load(Ordering::Acquire),
        }
    }

    fn is_empty(&self) -> LedgerFuture<'_, Result<bool, KeyError>> {
        Box::pin(async move {
            self.readers
                .ask(Length::Short, |connection| keys::is_empty(connection))
                .await
                .map_err(key_error)
        })
    }
}
