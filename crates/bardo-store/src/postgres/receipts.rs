//! Receipts on Postgres: one of them, some of them, and their sums.

use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::{
    FinalFigures, Group, LedgerFuture, ListQuery, PromptCacheFigures, ReceiptFilter, ReceiptRecord,
    Receipts, StoreError, SumQuery, SumRow, Sums,
};
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::money::SignedMicroUsd;
use tokio_postgres::Row;

use super::arguments::{Argument, Statement, number, short, text};
use super::rows::{amount, damaged, get, number as number_of};
use super::{PostgresStore, on};

/// Sums over all accounts may read many receipts.
const SUMS_MAX: Duration = Duration::from_secs(60);

const ONE: &str = "SELECT json, charge, spread, shortfall, balance FROM bardo.receipts
    WHERE account = $1 AND (request = $2 OR client_request = $2)
    ORDER BY request = $2 DESC, at_ms DESC LIMIT 1";

/// Sums of receipts; the filter is followed by the period, the names of the dimensions and the
/// limit.
const SUMS: &str = "SELECT at_ms / $10 * $10 AS starts_at_ms,
        CASE WHEN 'account' = ANY ($11) THEN account COLLATE \"C\" END AS by_account,
        CASE WHEN 'key' = ANY ($11) THEN key_id COLLATE \"C\" END AS by_key,
        CASE WHEN 'model' = ANY ($11) THEN model COLLATE \"C\" END AS by_model,
        CASE WHEN 'backend' = ANY ($11) THEN provider COLLATE \"C\" END AS by_backend,
        CASE WHEN 'subsystem' = ANY ($11) THEN subsystem COLLATE \"C\" END AS by_subsystem,
        CASE WHEN 'session' = ANY ($11) THEN session COLLATE \"C\" END AS by_session,
        count(*) AS requests,
        count(*) FILTER (WHERE outcome = 'failed') AS failed_requests,
        count(*) FILTER (WHERE provider_cost IS NULL) AS unpriced_requests,
        least(sum(input_tokens), 9223372036854775807)::bigint AS input_tokens,
        least(sum(output_tokens), 9223372036854775807)::bigint AS output_tokens,
        least(coalesce(sum(provider_cost), 0), 9223372036854775807)::bigint AS provider_cost,
        least(sum(charge), 9223372036854775807)::bigint AS charge,
        least(sum(savings), 9223372036854775807)::bigint AS savings,
        least(sum(cache_read_tokens), 9223372036854775807)::bigint AS cache_read_tokens,
        least(sum(cache_written_tokens), 9223372036854775807)::bigint AS cache_written_tokens,
        greatest(
            least(sum(cache_saved), 9223372036854775807), -9223372036854775807
        )::bigint AS cache_saved
    FROM bardo.receipts
    WHERE at_ms >= $1 AND at_ms < $2 AND ($3::text IS NULL OR account = $3)
        AND ($4::text IS NULL OR key_id = $4) AND ($5::text IS NULL OR model = $5)
        AND ($6::text IS NULL OR provider = $6) AND ($7::text IS NULL OR subsystem = $7)
        AND ($8::text IS NULL OR session = $8) AND ($9::text IS NULL OR outcome = $9)
    GROUP BY 1, 2, 3, 4, 5, 6, 7
    ORDER BY 1 NULLS FIRST, 2 NULLS FIRST, 3 NULLS FIRST, 4 NULLS FIRST, 5 NULLS FIRST,
        6 NULLS FIRST, 7 NULLS FIRST
    LIMIT $12";

/// Receipts one by one; the filter is followed by the last one of the page before and the limit.
const LIST: &str =
    "SELECT account, request, client_request, key_id, at_ms, model, provider, outcome,
        input_tokens, output_tokens, provider_cost, charge, savings, subsystem, session,
        cache_read_tokens, cache_written_tokens, cache_saved,
        json, spread, shortfall, balance
    FROM bardo.receipts
    WHERE at_ms >= $1 AND at_ms < $2 AND ($3::text IS NULL OR account = $3)
        AND ($4::text IS NULL OR key_id = $4) AND ($5::text IS NULL OR model = $5)
        AND ($6::text IS NULL OR provider = $6) AND ($7::text IS NULL OR subsystem = $7)
        AND ($8::text IS NULL OR session = $8) AND ($9::text IS NULL OR outcome = $9)
        AND ($10::bigint IS NULL
            OR (at_ms, request COLLATE \"C\", account COLLATE \"C\") < ($10, $11::text, $12::text))
    ORDER BY at_ms DESC, request COLLATE \"C\" DESC, account COLLATE \"C\" DESC LIMIT $13";

impl Receipts for PostgresStore {
    fn receipt<'a>(
        &'a self,
        account: &'a AccountId,
        id: &'a str,
    ) -> LedgerFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async move {
            let arguments = vec![text(account.as_str()), Argument::Text(Some(short(id)))];
            let rows = self.run(ONE, arguments).await?;
            rows.first().map(final_text).transpose()
        })
    }

    fn sums(&self, query: SumQuery) -> LedgerFuture<'_, Result<Vec<SumRow>, StoreError>> {
        Box::pin(async move {
            let mut arguments = covered(&query.filter, query.filter.to_ms);
            let period = query.period_ms().and_then(|ms| i64::try_from(ms).ok());
            let by: Vec<Option<String>> = query
                .by
                .iter()
                .map(|one| Some(one.as_str().to_owned()))
                .collect();
            arguments.extend([
                Argument::Number(period),
                Argument::Texts(Some(by)),
                number(query.limit.into()),
            ]);
            if query.filter.account.is_some() {
                return self.all(SUMS, arguments, sum).await;
            }
            let pool = Arc::clone(&self.pool);
            let rows = on(&self.thread, async move {
                pool.run_long(&Statement::new(SUMS, arguments), SUMS_MAX)
                    .await
            })
            .await?;
            rows.iter().map(sum).collect()
        })
    }

    fn list(&self, query: ListQuery) -> LedgerFuture<'_, Result<Vec<ReceiptRecord>, StoreError>> {
        Box::pin(async move {
            let last = query.after.as_ref();
            let to_ms = last.map_or(query.filter.to_ms, |last| {
                query.filter.to_ms.min(last.at_ms.saturating_add(1))
            });
            let mut arguments = covered(&query.filter, to_ms);
            arguments.extend([
                Argument::Number(last.and_then(|last| i64::try_from(last.at_ms).ok())),
                Argument::Text(last.map(|last| last.request.to_string())),
                Argument::Text(last.map(|last| last.account.to_string())),
                number(query.limit.into()),
            ]);
            self.all(LIST, arguments, record).await
        })
    }

    /// Says whether the database answers; receipts that wait are kept a moment later.
    fn flush(&self) -> LedgerFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.run("SELECT 1", Vec::new()).await.map(drop) })
    }

    fn dropped(&self) -> u64 {
        self.records.dropped()
    }
}

/// The first nine arguments of a query, with an end of the time that may be earlier than the
/// filter's.
pub(super) fn covered(filter: &ReceiptFilter, to_ms: u64) -> Vec<Argument> {
    let name = |name: Option<&str>| Argument::Text(name.map(short));
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

fn sum(row: &Row) -> Result<SumRow, StoreError> {
    let starts_at_ms: Option<i64> = get(row, "starts_at_ms")?;
    Ok(SumRow {
        group: Group {
            starts_at_ms: starts_at_ms
                .map(u64::try_from)
                .transpose()
                .map_err(|error| damaged(&error))?,
            account: get(row, "by_account")?,
            key: get(row, "by_key")?,
            model: get(row, "by_model")?,
            backend: get(row, "by_backend")?,
            subsystem: get(row, "by_subsystem")?,
            session: get(row, "by_session")?,
            golem: None,
        },
        sums: Sums {
            requests: number_of(row, "requests")?,
            failed_requests: number_of(row, "failed_requests")?,
            unpriced_requests: number_of(row, "unpriced_requests")?,
            input_tokens: number_of(row, "input_tokens")?,
            output_tokens: number_of(row, "output_tokens")?,
            provider_cost: amount(row, "provider_cost")?,
            charge: amount(row, "charge")?,
            savings: amount(row, "savings")?,
            prompt_cache: prompt_cache(row)?,
        },
    })
}

pub(super) fn record(row: &Row) -> Result<ReceiptRecord, StoreError> {
    let name = |column: &str| -> Result<Option<Arc<str>>, StoreError> {
        Ok(get::<Option<&str>>(row, column)?.map(Arc::from))
    };
    let key: Option<&str> = get(row, "key_id")?;
    let provider_cost = match get::<Option<i64>>(row, "provider_cost")? {
        None => None,
        Some(_) => Some(amount(row, "provider_cost")?),
    };
    Ok(ReceiptRecord {
        account: AccountId::parse(get(row, "account")?).map_err(|error| damaged(&error))?,
        request: RequestId::parse(get(row, "request")?).map_err(|error| damaged(&error))?,
        client_request_id: name("client_request")?,
        key: key
            .map(KeyId::parse)
            .transpose()
            .map_err(|error| damaged(&error))?,
        at_ms: number_of(row, "at_ms")?,
        model: get::<&str>(row, "model")?.into(),
        provider: get::<&str>(row, "provider")?.into(),
        outcome: ReceiptRecord::outcome_named(get(row, "outcome")?),
        input_tokens: number_of(row, "input_tokens")?,
        output_tokens: number_of(row, "output_tokens")?,
        provider_cost,
        charge: amount(row, "charge")?,
        savings: amount(row, "savings")?,
        subsystem: name("subsystem")?,
        session: name("session")?,
        prompt_cache: prompt_cache(row)?,
        json: final_text(row)?.into(),
        details: None,
    })
}

fn prompt_cache(row: &Row) -> Result<PromptCacheFigures, StoreError> {
    Ok(PromptCacheFigures {
        read_tokens: number_of(row, "cache_read_tokens")?,
        written_tokens: number_of(row, "cache_written_tokens")?,
        saved: SignedMicroUsd::new(get(row, "cache_saved")?),
    })
}

/// A receipt's text, with what settling came to.
fn final_text(row: &Row) -> Result<String, StoreError> {
    let json: String = get(row, "json")?;
    if get::<Option<i64>>(row, "spread")?.is_none() {
        return Ok(json);
    }
    let figures = FinalFigures {
        spread: amount(row, "spread")?,
        charge: amount(row, "charge")?,
        shortfall: amount(row, "shortfall")?,
        balance: Some(amount(row, "balance")?),
    };
    Ok(figures.put_into(&json).unwrap_or(json))
}
