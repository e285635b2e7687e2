//! What a caller may read of its own account: balance, usage, receipts.

pub(crate) mod caps;
mod flush;

use std::collections::BTreeMap;

use bardo_engine::{Payer, Principal, Snapshot};
use bardo_ledger::{
    Dimension, Funds, Group, ReceiptFilter, Receipts, StoreError, SumQuery, SumRow, Sums,
};
use bardo_types::money::MicroUsd;
use serde_json::{Map, Value, json};

pub(crate) use self::flush::{NO_BODY, flush_order};
use crate::error::Problem;
use crate::operator::{Operator, OperatorError, balance_json};
use crate::usage::{self, BadParameter, Days, Parameters, ReportBody};

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

/// `GET /v1/usage?from=2026-11-01&to=2026-11-20`, both days included; `by` or `group_by` names other
/// dimensions than day, model and backend.
pub(crate) async fn usage(
    operator: &Operator,
    principal: &Principal,
    (query, accept): (Option<&str>, Option<&str>),
    snapshot: &Snapshot,
) -> Result<ReportBody, Problem> {
    let refused = |error: BadParameter| Problem::bad_parameter(&error);
    let asked = asked(query, accept, operator.clock.now_ms()).map_err(refused)?;
    let (days, by) = (asked.days, asked.by);
    let filter = ReceiptFilter {
        account: Some(principal.account.clone()),
        ..days.filter()
    };
    let found = own_sums(operator, filter, &by).await?;
    let mut rows: BTreeMap<Group, OwnCost> = BTreeMap::new();
    let mut total = OwnCost::default();
    for SumRow { mut group, sums } in found {
        let cost = OwnCost::of(&group, sums, snapshot);
        if !by.contains(&Dimension::Backend) {
            group.backend = None;
        }
        rows.entry(group).or_default().add(&cost);
        total.add(&cost);
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_cached_key(|(group, _)| usage::place(group, &by));
    let rows = rows.iter().map(|(group, cost)| {
        let mut row = usage::labels(group, &by);
        cost.show(&mut row);
        row
    });
    let rows: Vec<Map<String, Value>> = rows.collect();
    let mut shown = Map::new();
    total.show(&mut shown);
    if asked.is_csv {
        let labels = usage::labels(&Group::default(), &by);
        let columns: Vec<String> = labels.keys().chain(shown.keys()).cloned().collect();
        return Ok(ReportBody::Csv(usage::csv(&columns, &rows)));
    }
    Ok(ReportBody::Json(json!({
        "object": "usage",
        "account": principal.account.as_str(),
        "from": days.from.to_string(),
        "to": days.to.to_string(),
        "currency": "USD",
        "total": shown,
        "data": rows,
    })))
}

/// Sums of an account. Beside the dimensions that are asked for they are split by backend, which tells
/// the costs that the owner of a direct key pays; sums by agent are not.
async fn own_sums(
    operator: &Operator,
    filter: ReceiptFilter,
    by: &[Dimension],
) -> Result<Vec<SumRow>, Problem> {
    if by.contains(&Dimension::Golem) {
        let found = usage::of_golems(operator, &filter, by).await;
        return found.map_err(|error| match error {
            OperatorError::Parameter(error) => Problem::bad_parameter(&error),
            other => store(StoreError::Unavailable(other.to_string())),
        });
    }
    operator.ledger.flush().await.map_err(store)?;
    let query = SumQuery {
        filter,
        by: by.iter().copied().chain([Dimension::Backend]).collect(),
        limit: u32::MAX,
    };
    operator.ledger.sums(query).await.map_err(store)
}

/// The parameters of a report of one account.
struct AskedUsage {
    days: Days,
    by: Vec<Dimension>,
    is_csv: bool,
}

fn asked(
    query: Option<&str>,
    accept: Option<&str>,
    now_ms: u64,
) -> Result<AskedUsage, BadParameter> {
    let mut parameters = Parameters::read(query)?;
    let days = Days::take(&mut parameters, now_ms)?;
    let usual = || vec![Dimension::Day, Dimension::Model, Dimension::Backend];
    Ok(AskedUsage {
        days,
        by: usage::grouping(&mut parameters)?.unwrap_or_else(usual),
        is_csv: usage::is_csv(&mut parameters, accept)?,
    })
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

/// Sums of receipts, and the part of their costs that the owner of a direct key pays.
#[derive(Default)]
struct OwnCost {
    sums: Sums,
    direct: MicroUsd,
}

impl OwnCost {
    /// The costs of a group of one backend.
    fn of(group: &Group, sums: Sums, snapshot: &Snapshot) -> Self {
        let is_direct = snapshot
            .endpoints
            .iter()
            .any(|one| Some(&one.name) == group.backend.as_ref() && one.direct);
        let direct = if is_direct {
            sums.provider_cost
        } else {
            MicroUsd::ZERO
        };
        Self { sums, direct }
    }

    fn add(&mut self, other: &Self) {
        self.sums.add(&other.sums);
        let direct = self.direct.checked_add(other.direct);
        self.direct = direct.unwrap_or(MicroUsd::MAX);
    }

    /// Adds the members of a row. Costs are those of the requests whose cost is known; the others
    /// are counted in `unpriced_requests`.
    fn show(&self, row: &mut Map<String, Value>) {
        let sums = &self.sums;
        usage::counts(sums, row);
        let provider_cost = sums.provider_cost.saturating_sub(self.direct);
        for (name, amount) in [
            ("provider_cost", usage::known(sums, provider_cost)),
            ("direct_cost", usage::known(sums, self.direct)),
            ("charge", json!(sums.charge.to_string())),
            ("savings", usage::known(sums, sums.savings)),
            ("cache_savings", usage::known(sums, sums.prompt_cache.saved)),
        ] {
            row.insert(name.to_owned(), amount);
        }
    }
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
