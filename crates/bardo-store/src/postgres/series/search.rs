//! Searches of receipts, along the index by time.

use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::Cursor;
use bardo_ledger::series::{FoundReceipts, ReceiptSearch};

use super::super::arguments::{Argument, Statement, number};
use super::super::receipts::{covered, record};
use super::super::{PostgresStore, on};
use super::StoreError;

/// A search for rare names may read many receipts.
const SEARCH_MAX: Duration = Duration::from_secs(30);

/// The filter is followed by the last receipt of the page before, texts that receipts must have, the
/// smallest cost, the beginning of the id, and the limit.
const SEARCH: &str = receipts!(
    "at_ms >= $1 AND at_ms < $2 AND ($3::text IS NULL OR account = $3)
        AND ($4::text IS NULL OR key_id = $4) AND ($5::text IS NULL OR model = $5)
        AND ($6::text IS NULL OR provider = $6) AND ($7::text IS NULL OR subsystem = $7)
        AND ($8::text IS NULL OR session = $8) AND ($9::text IS NULL OR outcome = $9)
        AND ($10::bigint IS NULL
            OR (at_ms, request COLLATE \"C\", account COLLATE \"C\") < ($10, $11::text, $12::text))
        AND ($13::text IS NULL OR position($13 IN json) > 0)
        AND ($14::text IS NULL OR position($14 IN json) > 0)
        AND ($15::bigint IS NULL OR greatest(charge, coalesce(provider_cost, 0)) >= $15)
        AND ($16::text IS NULL OR starts_with(request, $16))
     ORDER BY at_ms DESC, request COLLATE \"C\" DESC, account COLLATE \"C\" DESC LIMIT $17"
);

impl PostgresStore {
    pub(super) async fn look_for(
        &self,
        mut search: ReceiptSearch,
    ) -> Result<FoundReceipts, StoreError> {
        let limit = usize::try_from(search.limit).unwrap_or(usize::MAX);
        let mut page = FoundReceipts::default();
        loop {
            let statement = Statement::new(SEARCH, arguments(&search));
            let pool = Arc::clone(&self.pool);
            let rows = on(&self.thread, async move {
                pool.run_long(&statement, SEARCH_MAX).await
            })
            .await?;
            for row in &rows {
                let record = record(row)?;
                search.after = Some(Cursor::of(&record));
                // A text may stand elsewhere in a receipt too.
                if page.records.len() < limit && search.covers(&record) {
                    page.records.push(record);
                }
            }
            if rows.len() < limit || page.records.len() >= limit {
                return Ok(page);
            }
        }
    }
}

fn arguments(search: &ReceiptSearch) -> Vec<Argument> {
    let last = search.after.as_ref();
    let to_ms = last.map_or(search.filter.to_ms, |last| {
        search.filter.to_ms.min(last.at_ms.saturating_add(1))
    });
    let member = |name: &str, value: &Option<String>| {
        let value = value.as_ref();
        Argument::Text(value.map(|value| format!("\"{name}\":{}", serde_json::json!(value))))
    };
    let least = search.min_cost.map(bardo_types::money::MicroUsd::get);
    let mut arguments = covered(&search.filter, to_ms);
    arguments.extend([
        Argument::Number(last.and_then(|last| i64::try_from(last.at_ms).ok())),
        Argument::Text(last.map(|last| last.request.to_string())),
        Argument::Text(last.map(|last| last.account.to_string())),
        member("golem_id", &search.golem),
        member("cache", &search.layer),
        Argument::Number(least.map(|least| i64::try_from(least).unwrap_or(i64::MAX))),
        Argument::Text(search.request_prefix.clone()),
        number(search.limit.into()),
    ]);
    arguments
}
