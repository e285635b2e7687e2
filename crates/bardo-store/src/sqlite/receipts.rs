//! Receipts: one of them, some of them, and their sums.

use std::sync::Arc;

use bardo_ledger::{
    Dimension, Group, ListQuery, PromptCacheFigures, ReceiptFilter, ReceiptRecord, SumQuery,
    SumRow, Sums,
};
use bardo_types::ids::{AccountId, InvalidId, KeyId, RequestId};
use bardo_types::money::{MicroUsd, SignedMicroUsd};
use bardo_types::receipt::{ReceiptText, text};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

/// Condition of a [`ReceiptFilter`], whose parameters are the first nine; the third is the account.
const COVERED: &str = "r.at_ms >= ?1 AND r.at_ms < ?2 \
     AND (?3 IS NULL OR r.account = (SELECT no FROM accounts WHERE id = ?3)) \
     AND (?4 IS NULL OR r.key = ?4) AND (?5 IS NULL OR r.model = ?5) \
     AND (?6 IS NULL OR r.provider = ?6) AND (?7 IS NULL OR r.subsystem = ?7) \
     AND (?8 IS NULL OR r.session = ?8) AND (?9 IS NULL OR r.outcome = ?9)";
/// Part of the index by minute that has the receipts of all accounts within a time.
const MINUTES: &str = "r.at_ms / 60000 >= ?1 / 60000 AND r.at_ms / 60000 <= (?2 - 1) / 60000";
/// Sources of the receipts of all accounts within a time.
const OF_ALL: &str = "receipts r WHERE";
/// Source of the receipts of one account. They are indexed by minute and then by account: the
/// minutes that have any are looked at, one after the other.
const OF_ONE: &str = "( \
     WITH RECURSIVE minutes (minute) AS ( \
         SELECT min(at_ms / 60000) FROM receipts WHERE at_ms / 60000 >= ?1 / 60000 \
         UNION ALL SELECT ( \
             SELECT min(at_ms / 60000) FROM receipts WHERE at_ms / 60000 > minute) \
         FROM minutes WHERE minute < (?2 - 1) / 60000) \
     SELECT minute FROM minutes) m \
     CROSS JOIN receipts r ON r.at_ms / 60000 = m.minute \
         AND r.account = (SELECT no FROM accounts WHERE id = ?3) WHERE";

/// A receipt as JSON, by our id or the caller's.
pub(super) fn one(
    connection: &Connection,
    account: &str,
    id: &str,
) -> rusqlite::Result<Option<String>> {
    let select = |condition: &str| -> rusqlite::Result<Option<String>> {
        connection
            .prepare_cached(&format!(
                "SELECT t.json FROM receipts r JOIN receipt_texts t ON t.no = r.no \
                 WHERE r.account = (SELECT no FROM accounts WHERE id = ?1) AND {condition} \
                 ORDER BY r.at_ms DESC, r.no DESC LIMIT 1"
            ))?
            .query_row([account, id], |row| {
                Ok(text::json(row.get_ref(0)?.as_str()?).into_owned())
            })
            .optional()
    };
    match select("r.request = ?2")? {
        Some(json) => Ok(Some(json)),
        None => select("r.client_request = ?2"),
    }
}

/// Statement that sums receipts, of one account or of all.
fn sums_sql(is_of_one: bool) -> String {
    let (source, minutes) = match is_of_one {
        true => (OF_ONE, "true"),
        false => (OF_ALL, MINUTES),
    };
    format!(
        "SELECT r.at_ms / ?10 * ?10, \
             CASE WHEN ?11 THEN (SELECT id FROM accounts WHERE no = r.account) END, \
             CASE WHEN ?12 THEN r.key END, CASE WHEN ?13 THEN r.model END, \
             CASE WHEN ?14 THEN r.provider END, CASE WHEN ?15 THEN r.subsystem END, \
             CASE WHEN ?16 THEN r.session END, \
             count(*), sum(r.outcome = 'failed'), sum(r.cost_unknown), \
             sum(min(r.input_tokens, 1 << 40)), sum(min(r.output_tokens, 1 << 40)), \
             sum(min(r.provider_cost, 1 << 50)), sum(min(r.charge, 1 << 50)), \
             sum(min(r.savings, 1 << 50)), \
             sum(min(r.cache_read_tokens, 1 << 40)), sum(min(r.cache_written_tokens, 1 << 40)), \
             sum(max(min(r.cache_saved, 1 << 50), -(1 << 50))) \
         FROM {source} {minutes} AND {COVERED} \
         GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7 LIMIT ?17"
    )
}

/// Sums of receipts by group, in the order of groups.
pub(super) fn sums(connection: &Connection, query: &SumQuery) -> rusqlite::Result<Vec<SumRow>> {
    let mut parameters = covered(&query.filter, query.filter.to_ms);
    parameters.push(query.period_ms().map_or(Value::Null, number));
    for dimension in [
        Dimension::Account,
        Dimension::Key,
        Dimension::Model,
        Dimension::Backend,
        Dimension::Subsystem,
        Dimension::Session,
    ] {
        parameters.push(Value::Integer(query.by.contains(&dimension).into()));
    }
    parameters.push(Value::Integer(query.limit.into()));
    let mut select = connection.prepare_cached(&sums_sql(query.filter.account.is_some()))?;
    let rows = select.query_map(params_from_iter(parameters), |row| {
        Ok(SumRow {
            group: Group {
                starts_at_ms: row.get(0)?,
                account: row.get(1)?,
                key: row.get(2)?,
                model: row.get(3)?,
                backend: row.get(4)?,
                subsystem: row.get(5)?,
                session: row.get(6)?,
                golem: None,
            },
            sums: Sums {
                requests: row.get(7)?,
                failed_requests: row.get(8)?,
                unpriced_requests: row.get(9)?,
                input_tokens: row.get(10)?,
                output_tokens: row.get(11)?,
                provider_cost: MicroUsd::new(row.get(12)?),
                charge: MicroUsd::new(row.get(13)?),
                savings: MicroUsd::new(row.get(14)?),
                prompt_cache: prompt_cache(row, 15)?,
            },
        })
    })?;
    rows.collect()
}

/// Statement that lists receipts. The minutes are in the order of their index; only receipts of the
/// same minute are sorted.
fn list_sql() -> String {
    format!(
        "SELECT {COLUMNS} \
         FROM receipts r CROSS JOIN accounts a ON a.no = r.account \
             CROSS JOIN receipt_texts t ON t.no = r.no \
         WHERE {MINUTES} AND {COVERED} \
             AND (?10 IS NULL OR (r.at_ms, r.request, a.id) < (?10, ?11, ?12)) \
         ORDER BY r.at_ms / 60000 DESC, r.at_ms DESC, r.request DESC, a.id DESC LIMIT ?13"
    )
}

/// Receipts one by one, newest first.
pub(super) fn list(
    connection: &Connection,
    query: &ListQuery,
) -> rusqlite::Result<Vec<ReceiptRecord>> {
    let to_ms = query.after.as_ref().map_or(query.filter.to_ms, |last| {
        query.filter.to_ms.min(last.at_ms.saturating_add(1))
    });
    let mut parameters = covered(&query.filter, to_ms);
    match &query.after {
        None => parameters.extend([Value::Null, Value::Null, Value::Null]),
        Some(last) => parameters.extend([
            number(last.at_ms),
            Value::Text(last.request.to_string()),
            Value::Text(last.account.to_string()),
        ]),
    }
    parameters.push(Value::Integer(query.limit.into()));
    let mut select = connection.prepare_cached(&list_sql())?;
    let rows = select.query_map(params_from_iter(parameters), record)?;
    rows.collect()
}

/// A receipt of [`COLUMNS`].
pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<ReceiptRecord> {
    let bad = |column: usize| {
        move |error: InvalidId| {
            rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
        }
    };
    let name = |column: usize| row.get::<_, Option<Arc<str>>>(column);
    let key: Option<String> = row.get(3)?;
    let cost: Option<u64> = row.get(10)?;
    Ok(ReceiptRecord {
        account: AccountId::parse(row.get_ref(0)?.as_str()?).map_err(bad(0))?,
        request: RequestId::parse(row.get_ref(1)?.as_str()?).map_err(bad(1))?,
        client_request_id: name(2)?,
        key: key
            .map(|key| KeyId::parse(&key))
            .transpose()
            .map_err(bad(3))?,
        at_ms: row.get(4)?,
        model: row.get(5)?,
        provider: row.get(6)?,
        outcome: ReceiptRecord::outcome_named(row.get_ref(7)?.as_str()?),
        input_tokens: row.get(8)?,
        output_tokens: row.get(9)?,
        provider_cost: cost.map(MicroUsd::new),
        charge: MicroUsd::new(row.get(11)?),
        savings: MicroUsd::new(row.get(12)?),
        subsystem: name(13)?,
        session: name(14)?,
        prompt_cache: prompt_cache(row, 16)?,
        json: ReceiptText::from(row.get_ref(15)?.as_str()?),
        details: None,
    })
}

/// Figures of the prompt cache, in three columns from `first` on.
fn prompt_cache(row: &Row<'_>, first: usize) -> rusqlite::Result<PromptCacheFigures> {
    Ok(PromptCacheFigures {
        read_tokens: row.get(first)?,
        written_tokens: row.get(first + 1)?,
        saved: SignedMicroUsd::new(row.get(first + 2)?),
    })
}

/// Columns that [`record`] reads, of receipts `r`, their accounts `a` and their texts `t`.
pub(super) const COLUMNS: &str = "a.id, r.request, r.client_request, r.key, r.at_ms, r.model, r.provider, \
     r.outcome, r.input_tokens, r.output_tokens, \
     CASE WHEN NOT r.cost_unknown THEN r.provider_cost END, r.charge, r.savings, \
     r.subsystem, r.session, t.json, \
     r.cache_read_tokens, r.cache_written_tokens, r.cache_saved";

/// Parameters of [`COVERED`], with an end of the time that may be earlier than the filter's.
fn covered(filter: &ReceiptFilter, to_ms: u64) -> Vec<Value> {
    let name = |name: Option<&str>| name.map_or(Value::Null, |name| Value::Text(name.to_owned()));
    vec![
        number(filter.from_ms),
        number(to_ms),
        name(filter.account.as_ref().map(AccountId::as_str)),
        name(filter.key.as_ref().map(KeyId::as_str)),
        name(filter.model.as_deref()),
        name(filter.backend.as_deref()),
        name(filter.subsystem.as_deref()),
        name(filter.session.as_deref()),
        name(filter.outcome.as_deref()),
    ]
}

fn number(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(sql: &str) -> String {
        let connection = Connection::open_in_memory().unwrap();
        for step in [
            include_str!("migrations/0001.sql"),
            include_str!("migrations/0003.sql"),
            include_str!("migrations/0004.sql"),
        ] {
            connection.execute_batch(step).unwrap();
        }
        let mut explained = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let mut rows = explained.raw_query();
        let mut lines: Vec<String> = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            lines.push(row.get(3).unwrap());
        }
        lines.join("; ")
    }

    #[test]
    fn a_time_of_all_accounts_is_a_range_of_the_index_by_minute() {
        for sql in [sums_sql(false), list_sql()] {
            let plan = plan(&sql);
            let range = "SEARCH r USING INDEX receipts_by_minute (<expr>>? AND <expr><?)";
            assert!(plan.contains(range), "{plan}");
        }
    }

    #[test]
    fn the_newest_are_listed_without_sorting_the_rest() {
        let plan = plan(&list_sql());
        let sorted = "USE TEMP B-TREE FOR LAST 3 TERMS OF ORDER BY";
        assert!(plan.contains(sorted), "{plan}");
    }

    #[test]
    fn sums_of_one_account_look_at_no_receipt_of_another() {
        let plan = plan(&sums_sql(true));
        let own = "SEARCH r USING INDEX receipts_by_minute (<expr>=? AND account=?)";
        assert!(plan.contains(own), "{plan}");
    }
}
