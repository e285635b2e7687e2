//! `GET /admin/payments` and what is below it: payments of callers, their wallets and debts.

use bardo_ledger::claims::{ClaimStage, ClaimTotals};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::receipts;
use crate::operator::payments::{
    PAYMENT_COLUMNS, PAYMENT_FILTERS, WALLET_COLUMNS, payment_filter, payment_row, wallet,
    wallet_row,
};
use crate::operator::{Operator, OperatorError};
use crate::usage::{self, BadParameter, Parameters, ReportBody};

/// Rows on a page, unless the query names a number.
const PAGE: u32 = 100;
/// Largest number of rows on a page.
const PAGE_MAX: u32 = 1_000;

/// The body of a request that writes a debt off.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteOff {
    /// Why; it is stored with the payment.
    pub(super) reason: String,
}

/// Answers `GET /admin/payments?stage=settled&limit=100`, the newest first.
pub(super) async fn list(
    operator: &Operator,
    parameters: Parameters,
    accept: Option<&str>,
) -> Result<ReportBody, OperatorError> {
    page(operator, parameters, accept, false).await
}

/// Answers `GET /admin/payments/debts`: payments that failed and are owed.
pub(super) async fn debts(
    operator: &Operator,
    parameters: Parameters,
    accept: Option<&str>,
) -> Result<ReportBody, OperatorError> {
    page(operator, parameters, accept, true).await
}

async fn page(
    operator: &Operator,
    mut parameters: Parameters,
    accept: Option<&str>,
    only_debts: bool,
) -> Result<ReportBody, OperatorError> {
    let is_csv = usage::is_csv(&mut parameters, accept)?;
    let limit = receipts::limit(&mut parameters, PAGE, PAGE_MAX)?;
    let below_no = parameters.take("cursor").map(|text| {
        let message = "`cursor` must be the `next` of the page before";
        text.parse()
            .map_err(|_| BadParameter::new("cursor", message))
    });
    let below_no = below_no.transpose()?;
    if only_debts && parameters.has(&["stage"]) {
        return Err(
            BadParameter::new("stage", "this list has one stage; use /admin/payments").into(),
        );
    }
    let mut query = payment_filter(&mut parameters, operator.clock.now_ms())?;
    parameters.finish(&format!("limit, cursor, format, {PAYMENT_FILTERS}"))?;
    query.only_debts |= only_debts;
    (query.limit, query.below_no) = (limit, below_no);
    let found = operator.payments(query).await?;
    let rows: Vec<_> = found.claims.iter().map(payment_row).collect();
    if is_csv {
        return Ok(csv(&PAYMENT_COLUMNS, &rows));
    }
    let totals = operator.payment_totals().await?;
    Ok(ReportBody::Json(json!({
        "object": "list",
        "currency": "USD",
        "totals": totals_json(&totals),
        "data": rows,
        "next": found.next.map(|no| no.to_string()),
    })))
}

/// Answers `GET /admin/payments/wallets`, in the order of their names.
pub(super) async fn wallets(
    operator: &Operator,
    mut parameters: Parameters,
    accept: Option<&str>,
) -> Result<ReportBody, OperatorError> {
    let is_csv = usage::is_csv(&mut parameters, accept)?;
    let limit = receipts::limit(&mut parameters, PAGE, PAGE_MAX)?;
    let after = wallet(&mut parameters, "after")?;
    parameters.finish("limit, after, format")?;
    let found = operator.wallets(after, limit).await?;
    let rows: Vec<_> = found.iter().map(wallet_row).collect();
    if is_csv {
        return Ok(csv(&WALLET_COLUMNS, &rows));
    }
    let last = found.last().filter(|_| found.len() >= limit as usize);
    Ok(ReportBody::Json(json!({
        "object": "list",
        "currency": "USD",
        "data": rows,
        "next": last.map(|last| last.wallet.to_string()),
    })))
}

/// Answers `GET /admin/payments/{id}`.
pub(super) async fn show(operator: &Operator, id: &str) -> Result<Value, OperatorError> {
    let claim = operator.payment(id).await?;
    Ok(Value::Object(payment_row(&claim)))
}

/// Answers `POST /admin/payments/debts/{id}/write_off`.
pub(super) async fn write_off(
    operator: &Operator,
    id: &str,
    order: &WriteOff,
) -> Result<Value, OperatorError> {
    let claim = operator.write_off(id, "admin API", &order.reason).await?;
    Ok(Value::Object(payment_row(&claim)))
}

fn csv(columns: &[&str], rows: &[Map<String, Value>]) -> ReportBody {
    let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
    ReportBody::Csv(usage::csv(&columns, rows))
}

fn totals_json(totals: &ClaimTotals) -> Value {
    let stages = ClaimStage::ALL.iter().map(|&stage| {
        let total = totals.of(stage);
        let shown = json!({ "payments": total.count, "amount_usd": total.amount.to_string() });
        (stage.as_str().to_owned(), shown)
    });
    json!({
        "settled_usd": totals.settled.to_string(),
        "booked_usd": totals.booked.to_string(),
        "exposure_usd": totals.exposure.to_string(),
        "debt_usd": totals.debt.to_string(),
        "wallets": totals.wallets,
        "stages": stages.collect::<Map<String, Value>>(),
    })
}
