//! Sums and lists of the receipts of all accounts.

use std::collections::HashMap;

use bardo_access::KeyRecord;
use bardo_ledger::{Cursor, Dimension, Group, ListQuery, ReceiptFilter, SumQuery, SumRow};
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

/// Receipts, newest first.
pub(crate) struct ReceiptsPage {
    /// Each receipt as its account reads it.
    pub(crate) receipts: Vec<Value>,
    /// Cursor of the next page; `None` after the last one.
    pub(crate) next: Option<String>,
}

impl Operator {
    /// Sums the receipts of all accounts that `filter` covers.
    pub(crate) async fn usage(
        &self,
        filter: ReceiptFilter,
        by: &[Dimension],
    ) -> Result<ReceiptSums, OperatorError> {
        self.ledger.flush().await?;
        let query = SumQuery {
            filter,
            by: by.to_vec(),
            limit: ROWS_MAX + 1,
        };
        let mut found = self.ledger.sums(query).await?;
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

    /// Lists receipts of all accounts that `filter` covers, after the page that ended at `cursor`.
    pub(crate) async fn receipts(
        &self,
        filter: ReceiptFilter,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<ReceiptsPage, OperatorError> {
        let after = cursor
            .map(|text| {
                let message = "`cursor` must be the `next` of an earlier page";
                read_cursor(text).ok_or_else(|| BadParameter::new("cursor", message))
            })
            .transpose()?;
        self.ledger.flush().await?;
        let query = ListQuery {
            filter,
            after,
            limit,
        };
        let found = self.ledger.list(query).await?;
        let is_full = found.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
        let last = found.last().filter(|_| is_full).map(Cursor::of);
        let read = |json: &str| serde_json::from_str(json).unwrap_or_else(|_| json!(json));
        Ok(ReceiptsPage {
            receipts: found.iter().map(|record| read(&record.json)).collect(),
            next: last.map(|last| format!("{}/{}/{}", last.at_ms, last.request, last.account)),
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
