//! `GET /admin/usage` and `GET /admin/receipts`: receipts of all accounts.

use bardo_ledger::ReceiptFilter;
use serde_json::{Value, json};

use crate::operator::{Operator, OperatorError};
use crate::usage::{self, BadParameter, Days, Parameters};

/// Receipts on a page, unless the query names a number.
const PAGE: u32 = 100;
/// Largest number of receipts on a page.
const PAGE_MAX: u32 = 1_000;
const FILTERS: &str = "since, from, to, account, key, model, backend, subsystem, session, outcome";

/// Body of an answer.
pub(crate) enum ReceiptsBody {
    Json(Value),
    Csv(String),
}

/// Answers `GET /admin/usage?by=key,day&from=2026-11-01&to=2026-11-20`.
pub(crate) async fn sums(
    operator: &Operator,
    query: Option<&str>,
    accept: Option<&str>,
) -> Result<ReceiptsBody, OperatorError> {
    let mut parameters = Parameters::read(query)?;
    let by = parameters.take("by");
    let by = usage::dimensions(by.as_deref().unwrap_or("key"))?;
    let is_csv = match parameters.take("format").as_deref() {
        None => accept.is_some_and(|accept| accept.contains("text/csv")),
        Some("json") => false,
        Some("csv") => true,
        Some(_) => return Err(BadParameter::new("format", "`format` must be json or csv").into()),
    };
    let (days, filter) = covered(operator, &mut parameters)?;
    parameters.finish(&format!("by, format, {FILTERS}"))?;
    let report = operator.usage(filter, &by).await?;
    if is_csv {
        return Ok(ReceiptsBody::Csv(usage::csv(&report.columns, &report.rows)));
    }
    let by: Vec<&str> = by.iter().map(|dimension| dimension.as_str()).collect();
    Ok(ReceiptsBody::Json(json!({
        "object": "usage",
        "by": by,
        "from": days.from.to_string(),
        "to": days.to.to_string(),
        "currency": "USD",
        "total": report.total,
        "data": report.rows,
    })))
}

/// Answers `GET /admin/receipts?key=…&limit=100`, newest first.
pub(crate) async fn list(
    operator: &Operator,
    query: Option<&str>,
) -> Result<ReceiptsBody, OperatorError> {
    let mut parameters = Parameters::read(query)?;
    let limit = match parameters.take("limit") {
        None => PAGE,
        Some(text) => text
            .parse()
            .ok()
            .filter(|limit| (1..=PAGE_MAX).contains(limit))
            .ok_or_else(|| {
                let message = format!("`limit` must be a number from 1 to {PAGE_MAX}");
                BadParameter::new("limit", message)
            })?,
    };
    let cursor = parameters.take("cursor");
    let (days, filter) = covered(operator, &mut parameters)?;
    parameters.finish(&format!("limit, cursor, {FILTERS}"))?;
    let page = operator.receipts(filter, cursor.as_deref(), limit).await?;
    Ok(ReceiptsBody::Json(json!({
        "object": "list",
        "from": days.from.to_string(),
        "to": days.to.to_string(),
        "data": page.receipts,
        "next": page.next,
    })))
}

fn covered(
    operator: &Operator,
    parameters: &mut Parameters,
) -> Result<(Days, ReceiptFilter), BadParameter> {
    let (days, mut filter) = usage::covered(parameters, operator.clock.now_ms())?;
    usage::names(parameters, &mut filter)?;
    Ok((days, filter))
}
