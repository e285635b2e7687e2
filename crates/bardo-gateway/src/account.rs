//! What a caller may read of its own account: balance, usage, receipts.

pub(crate) mod caps;

use bardo_engine::{Payer, Principal, Snapshot};
use bardo_ledger::{Funds, Receipts, StoreError, UsageQuery, UsageRow};
use bardo_router::Roster;
use bardo_types::calendar::{DAY_MS, Date};
use bardo_types::money::MicroUsd;
use serde_json::{Value, json};

use crate::error::Problem;
use crate::operator::balance_json;

/// Without dates, usage covers so many days up to today.
const USUAL_DAYS: u64 = 30;
/// Largest number of days in a report of usage.
const DAYS_MAX: u64 = 400;

/// Answers `GET /v1/balance`.
pub(crate) async fn balance(funds: &dyn Funds, principal: &Principal) -> Result<Value, Problem> {
    let found = funds.balance(&principal.account).await.map_err(store)?;
    let mut shown = balance_json(&principal.account, &found.unwrap_or_default());
    shown["mode"] = match &principal.payer {
        Payer::Owner => json!("owner"),
        Payer::Prepaid(_) => json!("prepaid"),
    };
    Ok(shown)
}

/// `GET /v1/receipts/{id}`: by the id made here or by the caller's own.
pub(crate) async fn receipt(
    receipts: &dyn Receipts,
    principal: &Principal,
    id: &str,
) -> Result<String, Problem> {
    let look = || receipts.receipt(&principal.account, id);
    let found = match look().await.map_err(store)? {
        Some(found) => Some(found),
        // That of a request which moved no money is written a moment after its answer.
        None => {
            receipts.flush().await.map_err(store)?;
            look().await.map_err(store)?
        }
    };
    found.ok_or_else(|| Problem::receipt_not_found(id))
}

/// `GET /v1/usage?from=2026-11-01&to=2026-11-20`, both days included.
pub(crate) async fn usage(
    receipts: &dyn Receipts,
    principal: &Principal,
    query: Option<&str>,
    now_ms: u64,
    snapshot: &Snapshot,
) -> Result<Value, Problem> {
    let today = now_ms / DAY_MS;
    let date = |name: &'static str| -> Result<Option<u64>, Problem> {
        let Some(text) = parameter(query, name) else {
            return Ok(None);
        };
        let date = Date::parse(text).ok_or_else(|| Problem::bad_date(name))?;
        Ok(Some(date.days()))
    };
    let to = date("to")?.unwrap_or(today);
    let from = date("from")?.unwrap_or_else(|| to.saturating_sub(USUAL_DAYS - 1));
    if from > to || to - from >= DAYS_MAX {
        return Err(Problem::bad_date("from"));
    }
    receipts.flush().await.map_err(store)?;
    let rows = receipts
        .usage(UsageQuery {
            account: principal.account.clone(),
            key: None,
            from_ms: from * DAY_MS,
            to_ms: (to + 1) * DAY_MS,
        })
        .await
        .map_err(store)?;
    Ok(json!({
        "object": "usage",
        "account": principal.account.as_str(),
        "from": Date::of_days(from).to_string(),
        "to": Date::of_days(to).to_string(),
        "currency": "USD",
        "total": total(&rows, snapshot),
        "data": rows.iter().map(|one| row(one, snapshot)).collect::<Vec<_>>(),
    }))
}

fn store(error: StoreError) -> Problem {
    Problem::store_unavailable(&error)
}

pub(crate) fn parameter<'q>(query: Option<&'q str>, name: &str) -> Option<&'q str> {
    query?
        .split('&')
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        .filter(|value| !value.is_empty())
}

/// What a provider bills: to the gateway, or to the owner of a direct key.
fn costs(row: &UsageRow, snapshot: &Snapshot) -> (MicroUsd, MicroUsd) {
    let backend = snapshot
        .endpoints
        .iter()
        .find(|one| one.name == row.provider);
    if backend.is_some_and(|one| one.direct) {
        (MicroUsd::ZERO, row.provider_cost)
    } else {
        (row.provider_cost, MicroUsd::ZERO)
    }
}

/// Whether a row's cost is not known: tokens were counted, they came to nothing, and the model is
/// not free at that backend.
fn is_unpriced(row: &UsageRow, roster: &Roster) -> bool {
    let counted = row.input_tokens > 0 || row.output_tokens > 0;
    counted
        && row.provider_cost == MicroUsd::ZERO
        && row.charge == MicroUsd::ZERO
        && !roster.is_free_at(&row.provider, &row.model)
}

fn row(row: &UsageRow, snapshot: &Snapshot) -> Value {
    let is_known = !is_unpriced(row, snapshot.roster());
    let (provider_cost, direct_cost) = costs(row, snapshot);
    let known = |amount: MicroUsd| is_known.then(|| amount.to_string());
    json!({
        "date": Date::of_days(row.day).to_string(),
        "model": row.model,
        "provider": row.provider,
        "requests": row.requests,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "provider_cost": known(provider_cost),
        "direct_cost": known(direct_cost),
        "charge": row.charge.to_string(),
        "savings": known(row.savings),
    })
}

/// The sums, of costs over what is priced; `unpriced_requests` says how many are left out of them.
fn total(rows: &[UsageRow], snapshot: &Snapshot) -> Value {
    let sum = |of: fn(&UsageRow) -> u64| rows.iter().map(of).fold(0u64, u64::saturating_add);
    let usd = |of: &dyn Fn(&UsageRow) -> MicroUsd| {
        let micro = rows
            .iter()
            .map(|row| of(row).get())
            .fold(0, u64::saturating_add);
        MicroUsd::new(micro).to_string()
    };
    let unpriced = rows
        .iter()
        .filter(|row| is_unpriced(row, snapshot.roster()));
    let unpriced: u64 = unpriced.map(|row| row.requests).sum();
    let requests = sum(|row| row.requests);
    let is_known = requests == 0 || unpriced < requests;
    json!({
        "requests": requests,
        "unpriced_requests": unpriced,
        "input_tokens": sum(|row| row.input_tokens),
        "output_tokens": sum(|row| row.output_tokens),
        "provider_cost": is_known.then(|| usd(&|row| costs(row, snapshot).0)),
        "direct_cost": is_known.then(|| usd(&|row| costs(row, snapshot).1)),
        "charge": usd(&|row| row.charge),
        "savings": is_known.then(|| usd(&|row| row.savings)),
    })
}

#[cfg(test)]
mod tests {
    use super::parameter;

    #[test]
    fn parameters_are_found_by_their_whole_name() {
        assert_eq!(parameter(Some("from=1&to=2"), "to"), Some("2"));
        assert_eq!(parameter(Some("goto=1"), "to"), None);
        assert_eq!(parameter(Some("to="), "to"), None);
        assert_eq!(parameter(None, "to"), None);
    }
}
