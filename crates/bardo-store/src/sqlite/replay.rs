//! Carrying over what a server left in the journal when it ended.

use std::io;
use std::path::Path;

use bardo_ledger::StoreError;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::apply::{self, RowMemory};
use super::entry::JournalEntry;
use super::error::{OpenError, store_error};
use super::journal::{Journal, OpenedJournal};
use super::schema::Durability;
use super::{loading, rows};

/// Entries in one transaction.
const MANY: usize = 4_096;

/// Opens the journal beside a database, and brings the database up to date; `None` where a server
/// has it and is not to be waited for.
pub(super) fn replay(
    path: &Path,
    connection: &mut Connection,
    durability: Durability,
    wait: bool,
) -> Result<Option<Journal>, OpenError> {
    let refused = |source| OpenError::Store {
        path: path.to_owned(),
        source,
    };
    let look = |connection: &Connection| {
        rows::ledger(connection).map_err(|error| refused(store_error(&error)))
    };
    let (name, _) = look(connection)?;
    let applied = || {
        rows::ledger(connection)
            .map(|(_, applied)| applied)
            .map_err(io::Error::other)
    };
    let opened =
        Journal::open(path, name, applied, durability, wait).map_err(|source| OpenError::Io {
            path: super::journal::beside(path),
            source,
        })?;
    let Some(OpenedJournal {
        mut journal,
        mut entries,
    }) = opened
    else {
        return Ok(None);
    };
    if !entries.is_empty() {
        entries.iter_mut().for_each(JournalEntry::complete);
        carry_over(connection, &entries, journal.last()).map_err(refused)?;
        tracing::info!(
            count = entries.len(),
            "entries of the journal were applied to the ledger"
        );
    }
    journal.clear().map_err(|source| OpenError::Io {
        path: super::journal::beside(path),
        source,
    })?;
    Ok(Some(journal))
}

fn carry_over(
    connection: &mut Connection,
    entries: &[JournalEntry],
    last: u64,
) -> Result<(), StoreError> {
    let failing = |error: rusqlite::Error| store_error(&error);
    let mut known = RowMemory::default();
    for (view, _) in loading::holds(connection, None).map_err(failing)? {
        known.held.insert((view.account, view.request), view.amount);
    }
    let mut done = last - entries.len() as u64;
    for some in entries.chunks(MANY) {
        done += some.len() as u64;
        let written = transact(connection, |transaction| {
            let written = apply::write(transaction, &mut known, some, [])?;
            rows::set_applied(transaction, done)?;
            Ok(written)
        });
        match written {
            Ok(written) => known.committed(written),
            Err(error) if apply::is_impossible(&error) => {
                known.rolled_back();
                one_by_one(connection, &mut known, some, done - some.len() as u64)
                    .map_err(failing)?;
            }
            Err(error) => return Err(failing(error)),
        }
    }
    Ok(())
}

/// Keeps aside what no row may say, so that the rest is carried over.
fn one_by_one(
    connection: &mut Connection,
    known: &mut RowMemory,
    entries: &[JournalEntry],
    before: u64,
) -> rusqlite::Result<()> {
    for (seq, entry) in (before + 1..).zip(entries) {
        let written = transact(connection, |transaction| {
            let written = apply::write(transaction, known, std::slice::from_ref(entry), [])?;
            rows::set_applied(transaction, seq)?;
            Ok(written)
        });
        match written {
            Ok(written) => known.committed(written),
            Err(error) if apply::is_impossible(&error) => {
                known.rolled_back();
                tracing::error!(%error, ?entry, "no row may say what the journal does");
                let mut bytes = Vec::new();
                entry.encode(&mut bytes);
                transact(connection, |transaction| {
                    rows::refuse(transaction, seq, &error.to_string(), &bytes)?;
                    rows::set_applied(transaction, seq)
                })?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn transact<T>(
    connection: &mut Connection,
    body: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = body(&transaction)?;
    transaction.commit()?;
    Ok(done)
}
