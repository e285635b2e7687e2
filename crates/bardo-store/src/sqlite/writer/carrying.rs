//! From the journal into the database, in bulk.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use bardo_ledger::{ReceiptRecord, StoreError};

use super::{MOST, Writer, WriterFailure};
use crate::sqlite::apply::{self, TransactionEffects};
use crate::sqlite::changes;
use crate::sqlite::entry::JournalEntry;
use crate::sqlite::rows;

impl Writer {
    /// Carries over what is in the journal and what was recorded beside it. On an error nothing has
    /// happened.
    pub(super) fn apply(&mut self) -> Result<(), StoreError> {
        // What comes meanwhile can wait, so there is an end to it.
        let mut left = {
            let core = self.shared.lock();
            if core.is_applied() && core.failing.is_none() {
                return Ok(());
            }
            core.unapplied.len().div_ceil(MOST).max(1)
        };
        while left > 0 {
            self.begin()?;
            self.carry_over()?;
            left -= 1;
        }
        Ok(())
    }

    /// Applies entries of the journal within a transaction that has begun, and ends it.
    pub(super) fn carry_over(&mut self) -> Result<(), StoreError> {
        let (mut entries, records) = {
            let mut core = self.shared.lock();
            let rest = core.unapplied.len().min(MOST);
            let rest = core.unapplied.split_off(rest);
            (
                std::mem::replace(&mut core.unapplied, rest),
                std::mem::take(&mut core.records),
            )
        };
        entries.iter_mut().for_each(JournalEntry::complete);
        let last = self.applied + entries.len() as u64;
        match self.write(&entries, &records, last) {
            Ok(()) => Ok(()),
            Err(WriterFailure::Impossible(error)) => {
                tracing::error!(%error, "a group of writes to the ledger failed; trying each write alone");
                self.carry_over_one_by_one(entries, records)
            }
            Err(WriterFailure::Store(error)) => {
                self.put_back(entries, records);
                Err(self.fails(error))
            }
        }
    }

    /// Ends the transaction with these in it, or as if it had not begun.
    fn write<'a>(
        &mut self,
        entries: &'a [JournalEntry],
        records: impl IntoIterator<Item = &'a ReceiptRecord>,
        last: u64,
    ) -> Result<(), WriterFailure> {
        let written = changes::read(&self.connection, &self.shared, &mut self.known, self.seen)
            .and_then(|seen| {
                self.seen = seen;
                apply::write(&self.connection, &mut self.known, entries, records)
            })
            .and_then(|applied| {
                rows::set_applied(&self.connection, last)?;
                Ok(applied)
            });
        let applied = written.map_err(WriterFailure::of).and_then(|applied| {
            self.commit()?;
            Ok(applied)
        });
        match applied {
            Ok(applied) => {
                self.carried_over(applied, last);
                Ok(())
            }
            Err(failure) => {
                self.roll_back();
                Err(failure)
            }
        }
    }

    fn carried_over(&mut self, applied: TransactionEffects, last: u64) {
        self.applied = last;
        let mut core = self.shared.lock();
        for again in &applied.again {
            tracing::error!(account = %again.account, charged = %again.charged, "a request was charged twice; \
                the second charge was reversed");
            core.book
                .take_back(&again.account, again.charged, &again.counters);
        }
        if core.is_applied() {
            self.shared.is_behind.store(false, Ordering::Release);
        }
        if core.failing.take().is_some() {
            tracing::warn!("the ledger works again");
        }
        drop(core);
        self.known.committed(applied);
    }

    fn put_back(&mut self, mut entries: Vec<JournalEntry>, mut records: VecDeque<ReceiptRecord>) {
        let mut core = self.shared.lock();
        entries.append(&mut core.unapplied);
        core.unapplied = entries;
        records.append(&mut core.records);
        core.records = records;
    }

    /// One of them no row may say. The others must not suffer for it, and it is kept.
    fn carry_over_one_by_one(
        &mut self,
        entries: Vec<JournalEntry>,
        records: VecDeque<ReceiptRecord>,
    ) -> Result<(), StoreError> {
        let mut left = entries.into_iter();
        while let Some(entry) = left.next() {
            if let Err(error) = self.carry_over_one(&entry) {
                self.put_back(std::iter::once(entry).chain(left).collect(), records);
                return Err(self.fails(error));
            }
        }
        for record in &records {
            let begun = self.begin().map_err(WriterFailure::Store);
            let last = self.applied;
            if let Err(failure) = begun.and_then(|()| self.write(&[], [record], last)) {
                tracing::error!(error = %failure.store(), id = %record.request, "cannot store a receipt");
                self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    fn carry_over_one(&mut self, entry: &JournalEntry) -> Result<(), StoreError> {
        self.begin()?;
        let last = self.applied + 1;
        let error = match self.write(std::slice::from_ref(entry), [], last) {
            Ok(()) => return Ok(()),
            Err(WriterFailure::Store(error)) => return Err(error),
            Err(WriterFailure::Impossible(error)) => error,
        };
        tracing::error!(%error, ?entry, "no row may say what the journal does");
        let mut bytes = Vec::new();
        entry.encode(&mut bytes);
        self.begin()?;
        let kept = rows::refuse(&self.connection, last, &error.to_string(), &bytes)
            .map_err(WriterFailure::of)
            .and_then(|()| self.write(&[], [], last));
        kept.map_err(|failure| {
            self.roll_back();
            failure.store()
        })
    }
}
