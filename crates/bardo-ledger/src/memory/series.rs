//! Series of the reference store: made of all receipts whenever they are asked for.

use std::collections::BTreeMap;

use bardo_types::money::MicroUsd;

use super::{Cursor, Inner, MemoryLedger, Reverse, ready};
use crate::port::{LedgerFuture, StoreError};
use crate::series::{
    AccountView, FoundReceipts, GolemSeen, ReceiptColumns, ReceiptSearch, ReceiptSeries, RollUp,
    RollUpLag, RolledUp, SeriesKeep, SeriesName, SeriesQuery, SeriesRow, names_max,
};

impl Inner {
    fn roll_up(&self) -> RollUp {
        let mut all = RollUp::default();
        for record in &self.records[..self.rolled_up] {
            all.add(&ReceiptColumns::of(record));
        }
        all
    }

    fn series(&self, query: &SeriesQuery) -> Vec<SeriesRow> {
        let account = query.account.as_ref().map(ToString::to_string);
        let account = account.unwrap_or_default();
        let starts: Vec<u64> = query.starts().collect();
        let rows = self
            .roll_up()
            .rows(self.keep)
            .into_iter()
            .filter(|(key, _)| {
                key.resolution == query.resolution
                    && key.dimension == query.dimension
                    && key.account == account
                    && starts.contains(&key.starts_at_ms)
                    && query.only.as_ref().is_none_or(|only| *only == key.name)
            });
        let mut names = BTreeMap::<u64, usize>::new();
        let row = |(key, figures): (crate::series::SeriesPlace, _)| {
            let mut name = key.name;
            if let SeriesName::Named(_) = name {
                let count = names.entry(key.starts_at_ms).or_default();
                *count += 1;
                if *count > names_max(key.resolution) {
                    name = SeriesName::Other;
                }
            }
            SeriesRow {
                starts_at_ms: key.starts_at_ms,
                name,
                figures,
            }
        };
        query.arrange(rows.map(row).collect())
    }

    fn search(&self, search: &ReceiptSearch) -> FoundReceipts {
        let records = self.records.iter();
        let mut records: Vec<_> = records
            .filter(|record| search.covers(record) && search.is_after(record))
            .cloned()
            .collect();
        records.sort_by_key(|record| Reverse(Cursor::of(record)));
        records.truncate(usize::try_from(search.limit).unwrap_or(usize::MAX));
        FoundReceipts {
            records,
            is_partial: false,
        }
    }

    fn accounts(&self, after: Option<&str>, limit: u32) -> Vec<AccountView> {
        let mut ids = BTreeMap::new();
        let deposits = self.deposits.iter().map(|(account, _)| account);
        for account in deposits.chain(self.records.iter().map(|record| &record.account)) {
            ids.insert(account.to_string(), account.clone());
        }
        let accounts = ids.into_iter().filter(|(id, _)| Some(&**id) > after);
        let view = |account| AccountView {
            balance: self.book.balance(&account).unwrap_or_default(),
            // The reference store keeps no shortfalls.
            debt: MicroUsd::ZERO,
            account,
        };
        accounts
            .take(usize::try_from(limit).unwrap_or(usize::MAX))
            .map(|(_, account)| view(account))
            .collect()
    }
}

impl ReceiptSeries for MemoryLedger {
    fn roll_up(
        &self,
        keep: SeriesKeep,
        limit: u32,
    ) -> LedgerFuture<'_, Result<RolledUp, StoreError>> {
        let mut inner = self.inner();
        inner.keep = keep;
        let waiting = inner.records.len() - inner.rolled_up;
        let taken = waiting.min(usize::try_from(limit).unwrap_or(usize::MAX));
        inner.rolled_up += taken;
        ready(RolledUp {
            receipts: u64::try_from(taken).unwrap_or(u64::MAX),
            has_more: taken < waiting,
        })
    }

    fn lag(&self) -> LedgerFuture<'_, Result<RollUpLag, StoreError>> {
        let inner = self.inner();
        let waiting = inner.records.len() - inner.rolled_up;
        ready(RollUpLag {
            waiting: u64::try_from(waiting).unwrap_or(u64::MAX),
            is_back_filling: false,
        })
    }

    fn series(&self, query: SeriesQuery) -> LedgerFuture<'_, Result<Vec<SeriesRow>, StoreError>> {
        ready(self.inner().series(&query))
    }

    fn golems(
        &self,
        from_ms: u64,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<GolemSeen>, StoreError>> {
        let all = self.inner().roll_up();
        let mut seen: Vec<GolemSeen> = all
            .golems()
            .filter(|golem| golem.last_seen_ms >= from_ms)
            .cloned()
            .collect();
        seen.sort_by_key(|golem| Reverse(golem.last_seen_ms));
        seen.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        ready(seen)
    }

    fn search(&self, search: ReceiptSearch) -> LedgerFuture<'_, Result<FoundReceipts, StoreError>> {
        ready(self.inner().search(&search))
    }

    fn accounts(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<AccountView>, StoreError>> {
        ready(self.inner().accounts(after.as_deref(), limit))
    }
}
