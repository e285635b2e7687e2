//! `GET /admin/usage` and `GET /admin/receipts`: receipts of all accounts.

use bardo_ledger::ReceiptFilter;
use bardo_ledger::series::ReceiptSearch;
use bardo_types::calendar::rfc3339;
use bardo_types::money::MicroUsd;
use serde_json::{Map, Value, json};

use crate::operator::{FoundReceipt, Operator, OperatorError};
use crate::usage::{self, BadParameter, Days, Parameters, ReportBody};

/// Receipts on a page, unless the query names a number.
const PAGE: u32 = 100;
/// Largest number of receipts on a page.
const PAGE_MAX: u32 = 1_000;
const FILTERS: &str = "since, from, to, account, key, model, backend, subsystem, session, outcome";
const LAYERS: [&str; 4] = ["hash", "semantic", "miss", "bypass"];

/// Answers `GET /admin/usage?by=key,day&from=2026-11-01&to=2026-11-20`.
pub(crate) async fn sums(
    operator: &Operator,
    mut parameters: Parameters,
    accept: Option<&str>,
) -> Result<ReportBody, OperatorError> {
    let by = usage::grouping(&mut parameters)?;
    let by = by.unwrap_or_else(|| vec![bardo_ledger::Dimension::Key]);
    let is_csv = usage::is_csv(&mut parameters, accept)?;
    let (days, filter) = covered(operator, &mut parameters)?;
    parameters.finish(&format!("by, format, {FILTERS}"))?;
    let report = operator.usage(filter, &by).await?;
    if is_csv {
        return Ok(ReportBody::Csv(usage::csv(&report.columns, &report.rows)));
    }
    let by: Vec<&str> = by.iter().map(|dimension| dimension.as_str()).collect();
    Ok(ReportBody::Json(json!({
        "object": "usage",
        "by": by,
        "from": days.from.to_string(),
        "to": days.to.to_string(),
        "currency": "USD",
        "total": report.total,
        "data": report.rows,
    })))
}

/// Answers `GET /admin/receipts?key=…&limit=100`, the latest first.
pub(crate) async fn list(
    operator: &Operator,
    mut parameters: Parameters,
    accept: Option<&str>,
) -> Result<ReportBody, OperatorError> {
    let cursor = parameters.take("cursor");
    let is_csv = usage::is_csv(&mut parameters, accept)?;
    let (days, search) = search(operator, &mut parameters)?;
    let known = format!("limit, cursor, format, golem, cache, min_cost, request, {FILTERS}");
    parameters.finish(&known)?;
    let page = operator.search(search, cursor.as_deref()).await?;
    if is_csv {
        let rows: Vec<_> = page.receipts.iter().map(row).collect();
        let columns: Vec<String> = COLUMNS.iter().map(|name| (*name).to_owned()).collect();
        return Ok(ReportBody::Csv(usage::csv(&columns, &rows)));
    }
    let receipts: Vec<Value> = page.receipts.iter().map(FoundReceipt::json).collect();
    Ok(ReportBody::Json(json!({
        "object": "list",
        "from": days.from.to_string(),
        "to": days.to.to_string(),
        "data": receipts,
        "next": page.next,
        "is_partial": page.is_partial,
    })))
}

/// Reads the filters of a search and its `limit`.
pub(crate) fn search(
    operator: &Operator,
    parameters: &mut Parameters,
) -> Result<(Days, ReceiptSearch), BadParameter> {
    let limit = limit(parameters, PAGE, PAGE_MAX)?;
    let layer = parameters.take("cache");
    if layer
        .as_ref()
        .is_some_and(|name| !LAYERS.contains(&&**name))
    {
        let message = format!("`cache` must be one of {}", LAYERS.join(", "));
        return Err(BadParameter::new("cache", message));
    }
    let min_cost = parameters.take("min_cost").map(|text| {
        let message = "`min_cost` must be an amount in USD, such as 0.05";
        MicroUsd::from_usd(&text).map_err(|_| BadParameter::new("min_cost", message))
    });
    let (golem, request_prefix) = (parameters.take("golem"), parameters.take("request"));
    let min_cost = min_cost.transpose()?;
    let (days, filter) = covered(operator, parameters)?;
    let search = ReceiptSearch {
        filter,
        golem,
        layer,
        min_cost,
        request_prefix,
        after: None,
        limit,
    };
    Ok((days, search))
}

/// Reads the parameter `limit`, from 1 to `most`.
pub(super) fn limit(
    parameters: &mut Parameters,
    usual: u32,
    most: u32,
) -> Result<u32, BadParameter> {
    let Some(text) = parameters.take("limit") else {
        return Ok(usual);
    };
    let limit = text.parse().ok().filter(|limit| (1..=most).contains(limit));
    limit.ok_or_else(|| {
        let message = format!("`limit` must be a number from 1 to {most}");
        BadParameter::new("limit", message)
    })
}

fn covered(
    operator: &Operator,
    parameters: &mut Parameters,
) -> Result<(Days, ReceiptFilter), BadParameter> {
    let (days, mut filter) = usage::covered(parameters, operator.clock.now_ms())?;
    usage::names(parameters, &mut filter)?;
    Ok((days, filter))
}

/// Columns of receipts as comma-separated values.
const COLUMNS: [&str; 17] = [
    "created",
    "request_id",
    "account",
    "key",
    "model",
    "provider",
    "outcome",
    "cache",
    "golem",
    "subsystem",
    "session",
    "input_tokens",
    "output_tokens",
    "cost",
    "charge",
    "savings",
    "duration_ms",
];

fn row(found: &FoundReceipt) -> Map<String, Value> {
    use bardo_ledger::series::Figure::{Cost, DurationMs};
    let FoundReceipt { record, facts } = found;
    let values = [
        json!(rfc3339(record.at_ms)),
        json!(record.request.as_str()),
        json!(record.account.as_str()),
        json!(record.key.as_ref().map(ToString::to_string)),
        json!(&*record.model),
        json!(&*record.provider),
        json!(record.outcome),
        json!(facts.layer),
        json!(facts.golem),
        json!(record.subsystem.as_deref()),
        json!(record.session.as_deref()),
        json!(record.input_tokens),
        json!(record.output_tokens),
        json!(facts.figures.usd(Cost).to_string()),
        json!(record.charge.to_string()),
        json!(record.savings.to_string()),
        json!(facts.figures.get(DurationMs)),
    ];
    let names = COLUMNS.iter().map(|name| (*name).to_owned());
    names.zip(values).collect()
}
