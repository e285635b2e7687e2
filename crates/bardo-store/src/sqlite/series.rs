//! Series of receipts, and searches: what a reader finds, and what the writer adds.

mod numbers;
mod places;
mod rows;
mod search;
mod step;
mod sums;
mod written;

use bardo_ledger::series::{
    AccountView, FoundReceipts, GolemSeen, ReceiptSearch, RollUpLag, RolledUp, SeriesKeep,
    SeriesQuery, SeriesRow,
};
use bardo_ledger::{LedgerFuture, ReceiptSeries, StoreError};

use super::reader::Length;
use super::shared::WriterAction;
use super::{Side, SqliteStore};

#[cfg(test)]
pub(super) use self::step::read;
pub(super) use self::step::{SeriesStep, write};
pub(super) use self::written::WrittenSums;

impl SqliteStore {
    /// Reads the next receipts from the tables, and has them added.
    async fn roll_up_rest(&self, keep: SeriesKeep, limit: u32) -> Result<RolledUp, StoreError> {
        let read = move |connection: &mut _| step::read(connection, keep, limit);
        let Some(step) = self.readers.ask(Length::Long, read).await? else {
            return Ok(RolledUp::default());
        };
        let result = step.result;
        let step = Box::new(step);
        let is_written = match &self.side {
            Side::Server(server) => {
                server
                    .ask(|reply| WriterAction::RollUp(step, reply))
                    .await?
            }
            Side::Tool(tool) => tool.roll_up(&step)?,
        };
        // Another process was first, or a receipt changed meanwhile: the next step reads again.
        Ok(if is_written {
            result
        } else {
            RolledUp {
                receipts: 0,
                has_more: true,
            }
        })
    }
}

impl ReceiptSeries for SqliteStore {
    fn roll_up(
        &self,
        keep: SeriesKeep,
        limit: u32,
    ) -> LedgerFuture<'_, Result<RolledUp, StoreError>> {
        Box::pin(async move {
            // The server adds up what it writes; others, and what it could not keep, are read.
            let added = match &self.side {
                Side::Server(server) => {
                    server.ask(|reply| WriterAction::AddUp(keep, reply)).await?
                }
                Side::Tool(_) => RolledUp::default(),
            };
            if added.receipts > 0 && !added.has_more {
                return Ok(added);
            }
            let rest = self.roll_up_rest(keep, limit).await?;
            Ok(RolledUp {
                receipts: added.receipts + rest.receipts,
                has_more: rest.has_more,
            })
        })
    }

    fn lag(&self) -> LedgerFuture<'_, Result<RollUpLag, StoreError>> {
        Box::pin(
            self.readers
                .ask(Length::Short, |connection| rows::lag(connection)),
        )
    }

    fn series(&self, query: SeriesQuery) -> LedgerFuture<'_, Result<Vec<SeriesRow>, StoreError>> {
        let read = move |connection: &mut _| rows::series(connection, &query);
        Box::pin(self.readers.ask(Length::Short, read))
    }

    fn golems(
        &self,
        from_ms: u64,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<GolemSeen>, StoreError>> {
        let read = move |connection: &mut _| rows::golems(connection, from_ms, limit);
        Box::pin(self.readers.ask(Length::Short, read))
    }

    fn search(&self, search: ReceiptSearch) -> LedgerFuture<'_, Result<FoundReceipts, StoreError>> {
        let look = move |connection: &mut _| search::search(connection, &search);
        Box::pin(self.read(Length::Long, look))
    }

    fn accounts(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<AccountView>, StoreError>> {
        let look = move |connection: &mut _| rows::accounts(connection, after.as_deref(), limit);
        Box::pin(self.read(Length::Short, look))
    }
}
