//! Sums and lists of the receipts of all accounts.

use std::collections::HashMap;

use bardo_access::KeyRecord;
use bardo_ledger::series::{ReceiptFacts, ReceiptSearch};
use bardo_ledger::{Cursor, Dimension, Group, ReceiptFilter, ReceiptRecord, SumQuery, SumRow};
use bardo_types::ids::{AccountId, RequestId};
use serde_json::{Map, Value, json};

use super::{Operator, OperatorError};
use crate::usage::{self, BadParameter, ROWS_MAX};

/// Sums of receipts as rows of one form.
pub(crate) struct ReceiptSums {
    /// Names of the members of each row, in their order.
    pub(crate) columns: Vec<String>,
    /// A row for each group.
    pub(crate) rows: Vec<Map<String, Value>>,
    /// Sums of all rows.
    pub(crate) total: Map<String, Value>,
}

/// A receipt of a search.
pub(crate) struct FoundReceipt {
    /// Its columns and its text.
    pub(crate) record: ReceiptRecord,
    /// Its facts as series and searches see them.
    pub(crate) facts: ReceiptFacts,
}

impl FoundReceipt {
    /// The receipt as its account reads it.
    pub(crate) fn json(&self) -> Value {
        let json = self.record.json.json();
        serde_json::from_str(&json).unwrap_or_else(|_| json!(json))
    }
}

/// A page of receipts, the latest first.
pub(crate) struct SearchPage {
    /// Receipts of the page in their order.
    pub(crate) receipts: Vec<FoundReceipt>,
    /// Cursor of the next page; `None` after the last one.
    pub(crate) next: Option<String>,
    /// Whether receipts of earlier versions may be missing until they are indexed.
    pub(crate) is_partial: bool,
}

impl Operator {
    /// Sums the receipts of all accounts that `filter` covers.
    pub(crate) async fn usage(
        &self,
        filter: ReceiptFilter,
        by: &[Dimension],
    ) -> Result<ReceiptSums, OperatorError> {
        let mut found = self.sums(filter, by).await?;
        if found.len() > usize::try_from(ROWS_MAX).unwrap_or(usize::MAX) {
            let message = format!(
                "the report has more than {ROWS_MAX} rows; shorten the time, or name fewer dimensions in `by`"
            );
            return Err(BadParameter::new("by", message).into());
        }
        found.sort_by_cached_key(|row| usage::place(&row.group, by));
        let keys = match by.contains(&Dimension::Key) {
            true => self.keys.list(None).await?,
            false => Vec::new(),
        };
        let keys: HashMap<&str, &KeyRecord> =
            keys.iter().map(|key| (key.id.as_str(), key)).collect();
        let mut total = Map::new();
        usage::amounts(&usage::total(&found), &mut total);
        let row = |SumRow { group, sums }: &SumRow| {
            let mut row = labels(group, by, &keys);
            usage::amounts(sums, &mut row);
            row
        };
        let columns = labels(&Group::default(), by, &keys);
        Ok(ReceiptSums {
            columns: columns.keys().chain(total.keys()).cloned().collect(),
            rows: found.iter().map(row).collect(),
            total,
        })
    }

    async fn sums(
        &self,
        filter: ReceiptFilter,
        by: &[Dimension],
    ) -> Result<Vec<SumRow>, OperatorError> {
        if by.contains(&Dimension::Golem) {
            return usage::of_golems(self, &filter, by).await;
        }
        self.ledger.flush().await?;
        let query = SumQuery {
            filter,
            by: by.to_vec(),
            limit: ROWS_MAX + 1,
        };
        Ok(self.ledger.sums(query).await?)
    }

    /// Receipts of all accounts that a search covers, after the page that ended at `cursor`.
    pub(crate) async fn search(
        &self,
        mut search: ReceiptSearch,
        cursor: Option<&str>,
    ) -> Result<SearchPage, OperatorError> {
        if let Some(text) = cursor {
            let message = "`cursor` must be the `next` of an earlier page";
            let after = read_cursor(text).ok_or_else(|| BadParameter::new("cursor", message));
            search.after = Some(after?);
        }
        self.ledger.flush().await?;
        let limit = usize::try_from(search.limit).unwrap_or(usize::MAX);
        let found = self.ledger.search(search).await?;
        let is_full = found.records.len() >= limit;
        let last = found.records.last().filter(|_| is_full).map(Cursor::of);
        let receipts = found.records.into_iter().map(|record| FoundReceipt {
            facts: ReceiptFacts::of(&record),
            record,
        });
        Ok(SearchPage {
            receipts: receipts.collect(),
            next: last.map(|last| format!("{}/{}/{}", last.at_ms, last.request, last.account)),
            is_partial: found.is_partial,
        })
    }
}

/// Dimensions of a group; beside a key its name and its account.
fn labels(group: &Group, by: &[Dimension], keys: &HashMap<&str, &KeyRecord>) -> Map<String, Value> {
    let mut row = Map::new();
    for dimension in by {
        row.insert(
            usage::label(*dimension).to_owned(),
            usage::value(group, *dimension),
        );
        if *dimension == Dimension::Key {
            let key = group.key.as_deref().and_then(|key| keys.get(key));
            row.insert("key_name".to_owned(), json!(key.map(|key| &key.name)));
            if !by.contains(&Dimension::Account) {
                let account = key.map(|key| key.account.as_str());
                row.insert("account".to_owned(), json!(account));
            }
        }
    }
    row
}

fn read_cursor(text: &str) -> Option<Cursor> {
    let (at_ms, rest) = text.split_once('/')?;
    let (request, account) = rest.split_once('/')?;
    Some(Cursor {
        at_ms: at_ms.parse().ok()?,
        request: RequestId::parse(request).ok()?,
        account: AccountId::parse(account).ok()?,
    })
}
