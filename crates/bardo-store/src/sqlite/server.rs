//! The store of a running server: the books in memory decide, the journal keeps, the writer carries
//! over.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use bardo_ledger::{
    Balance, CapScope, CapWindow, LedgerRefusal, ReceiptRecord, Reservation, Reserve, Settle,
    Settled, StoreError,
};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use tokio::sync::oneshot;

use super::apply::RowMemory;
use super::drill::Drill;
use super::error::{OpenError, gone, store_error};
use super::group::GroupStep;
use super::loading::{self, Start};
use super::lock::ServeLock;
use super::reader::{Length, Readers};
use super::schema::open_writer;
use super::shared::{QuickReserve, ReplySender, Shared, WriterAction, WriterCommand};
use super::writer::Writer;
use super::{Durability, Options, replay};

/// How often holding money is tried again after something was read for it.
const READS: usize = 4;

pub(super) struct SqliteServer {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Given back after the threads have stopped.
    _lock: ServeLock,
}

impl SqliteServer {
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, OpenError> {
        let lock = ServeLock::take(path)?;
        let mut connection = open_writer(path, options.tuning())?;
        let refused = |source| OpenError::Store {
            path: path.to_owned(),
            source,
        };
        let replayed = replay::replay(path, &mut connection, options.durability, true)?;
        let journal = replayed.expect("it was waited for");
        let Start { book, held } =
            loading::take_over(&mut connection, options.clock.now_ms()).map_err(refused)?;
        // What the writer names by its number it has from the table of accounts; that each number is
        // there is for `balance verify` to see, not for each row.
        connection
            .pragma_update(None, "foreign_keys", false)
            .map_err(|error| refused(store_error(&error)))?;
        let mut known = RowMemory::default();
        known.held.extend(held.iter().cloned());
        let applied = journal.last();
        let shared = Arc::new(Shared::new(
            book,
            held,
            journal,
            options.durability == Durability::Process,
            Drill::new(options.faults.clone()).into(),
        ));
        let writer = Writer {
            connection,
            shared: shared.clone(),
            known,
            applied,
            seen: 0,
            actor: options.actor.clone(),
            clock: options.clock.clone(),
            has_log: true,
        };
        let journal_writer = shared.clone();
        let mut server = Self {
            shared,
            threads: Vec::new(),
            _lock: lock,
        };
        let io = |source| OpenError::Io {
            path: path.to_owned(),
            source,
        };
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let journal_writer = thread("ledger-journal").spawn(move || journal_writer.write_journal());
        server.threads.push(journal_writer.map_err(io)?);
        let writer = thread("ledger-write").spawn(move || writer.run());
        server.threads.push(writer.map_err(io)?);
        Ok(server)
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Has the writer do something, and waits until it is on disk. It is done also when nobody
    /// waits any more.
    pub(super) async fn ask<T>(
        &self,
        action: impl FnOnce(ReplySender<T>) -> WriterAction,
    ) -> Result<T, StoreError> {
        let places = self.shared.places.clone();
        let place = places.acquire_owned().await.map_err(|_| gone())?;
        let (reply, answer) = oneshot::channel();
        self.shared.push(WriterCommand {
            action: action(reply),
            place,
        })?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Ends a hold; it is in the journal when this answers.
    pub(super) async fn settle(&self, command: Settle) -> Result<Settled, StoreError> {
        match self.shared.settle(command) {
            GroupStep::Done(answer) => answer,
            GroupStep::Wait(answer) => answer.await.unwrap_or_else(|_| Err(gone())),
            GroupStep::Ask(command) => self.ask(|reply| WriterAction::Settle(command, reply)).await,
        }
    }

    /// Answers when a hold is in the journal.
    pub(super) async fn persist(
        &self,
        account: &AccountId,
        request: &RequestId,
    ) -> Result<(), StoreError> {
        match self.shared.persist(account, request)? {
            None => Ok(()),
            Some(answer) => answer.await.unwrap_or_else(|_| Err(gone())),
        }
    }

    /// Has the database brought up to date, so that it can be read. Where it cannot be written, what
    /// it has is better than nothing.
    pub(super) async fn catch_up(&self) {
        let is_behind = self.shared.is_behind.load(Ordering::Acquire);
        if is_behind
            && self.shared.lock().failing.is_none()
            && let Err(error) = self.ask(WriterAction::Refresh).await
        {
            tracing::debug!(%error, "cannot read the ledger again; the last state is used");
        }
    }

    /// Holds money. Nothing is read where everything is in memory; before it refuses, it looks
    /// once whether somebody has deposited.
    pub(super) async fn reserve(
        &self,
        readers: &Readers,
        command: Reserve,
    ) -> Result<Result<Reservation, LedgerRefusal>, StoreError> {
        let mut has_looked = false;
        for _ in 0..READS {
            let attempt = self.shared.try_reserve(&command)?;
            match attempt {
                QuickReserve::Missing(caps) => {
                    self.load(readers, &command.account, caps).await?;
                }
                QuickReserve::Answer(Err(LedgerRefusal::NoAccount(_))) if !has_looked => {
                    has_looked = true;
                    self.load(readers, &command.account, Vec::new()).await?;
                }
                QuickReserve::Answer(Err(refusal @ LedgerRefusal::Insufficient { .. }))
                    if !has_looked =>
                {
                    has_looked = true;
                    if let Err(error) = self.load(readers, &command.account, Vec::new()).await {
                        tracing::debug!(%error, "cannot look for new deposits");
                        return Ok(Err(refusal));
                    }
                }
                QuickReserve::Answer(answer) => return Ok(answer),
            }
        }
        Err(StoreError::Unavailable(
            "the counters of a cap come and go".to_owned(),
        ))
    }

    pub(super) async fn extend(
        &self,
        readers: &Readers,
        account: &AccountId,
        request: &RequestId,
        by: MicroUsd,
    ) -> Result<Result<Reservation, LedgerRefusal>, StoreError> {
        let answer = self.shared.extend(account, request, by)?;
        if !matches!(answer, Err(LedgerRefusal::Insufficient { .. }))
            || self.load(readers, account, Vec::new()).await.is_err()
        {
            return Ok(answer);
        }
        self.shared.extend(account, request, by)
    }

    pub(super) async fn balance(
        &self,
        readers: &Readers,
        account: &AccountId,
    ) -> Result<Option<Balance>, StoreError> {
        let known = self.shared.lock().book.balance(account);
        if known.is_some() {
            return Ok(known);
        }
        self.load(readers, account, Vec::new()).await?;
        Ok(self.shared.lock().book.balance(account))
    }

    pub(super) fn record(&self, record: ReceiptRecord) {
        if !self.shared.record(record) {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Puts an account and counters into the books as the file has them.
    async fn load(
        &self,
        readers: &Readers,
        account: &AccountId,
        caps: Vec<(CapScope, CapWindow, u64)>,
    ) -> Result<(), StoreError> {
        let generation = self.shared.lock().generation;
        let id = account.clone();
        let (row, spent) = readers
            .ask(Length::Short, move |connection| {
                let transaction = connection.transaction()?;
                let row = loading::account(&transaction, &id)?;
                let spent = caps
                    .into_iter()
                    .map(|(scope, window, start)| {
                        loading::cap(&transaction, &id, &scope, window, start)
                            .map(|spent| (scope, window, start, spent))
                    })
                    .collect::<rusqlite::Result<Vec<_>>>()?;
                Ok((row, spent))
            })
            .await?;
        let mut core = self.shared.lock();
        if let Some((deposited, spent)) = row {
            core.book.load_account(account.clone(), deposited, spent);
        }
        // Counters that were dropped meanwhile may have counted more than was read.
        if core.generation == generation {
            for (scope, window, start, spent) in spent {
                core.book.load_cap(scope, window, start, spent);
            }
        }
        Ok(())
    }

    /// Ends as a process does that is killed: what was not on disk is lost.
    #[cfg(test)]
    pub(super) fn crash(&self) {
        self.shared.crash();
    }
}

impl Drop for SqliteServer {
    fn drop(&mut self) {
        self.shared.close();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the ledger had panicked");
            }
        }
    }
}
