//! The charge of an answer that a payment has settled, as the ledger books it.

use std::sync::Arc;

use bardo_ledger::claims::{ClaimRecord, ServiceStage};
use bardo_ledger::{Charge, End, Ledger, Settle, StoreError};
use bardo_types::money::MicroUsd;
use serde_json::Value;

/// The backend that is named where the receipt of a request is lost.
const UNKNOWN: &str = "unknown";

/// The command that charges a settled claim; `None` while its answer is not over, or where nothing
/// is charged.
///
/// # Errors
/// When the ledger does not answer.
pub(super) async fn capture(
    ledger: &dyn Ledger,
    claim: &ClaimRecord,
    now_ms: u64,
) -> Result<Option<Settle>, StoreError> {
    let total = claim.capture();
    if claim.service != ServiceStage::Done || total == MicroUsd::ZERO {
        return Ok(None);
    }
    Ok(Some(Settle {
        account: claim.account.clone(),
        request: claim.request.clone(),
        end: End::Capture(charge(ledger, claim, total).await?),
        record: None,
        now_ms,
    }))
}

/// The parts of the charge of a claim, by its receipt; without one, all of it is the provider's.
///
/// # Errors
/// When the ledger does not answer.
pub(super) async fn charge(
    ledger: &dyn Ledger,
    claim: &ClaimRecord,
    total: MicroUsd,
) -> Result<Charge, StoreError> {
    let receipt = receipt(ledger, claim).await?;
    let text = |name: &str| receipt.as_ref().and_then(|receipt| receipt[name].as_str());
    let spread = text("spread").and_then(|spread| MicroUsd::from_usd(spread).ok());
    let spread = spread.unwrap_or_default().min(total);
    Ok(Charge {
        provider: Arc::from(text("provider").unwrap_or(UNKNOWN)),
        provider_cost: total.saturating_sub(spread),
        spread,
    })
}

/// What the receipt of a claim's request says that it cost; `None` without a receipt.
///
/// # Errors
/// When the ledger does not answer.
pub(super) async fn used(
    ledger: &dyn Ledger,
    claim: &ClaimRecord,
) -> Result<Option<MicroUsd>, StoreError> {
    let receipt = receipt(ledger, claim).await?;
    let cost = receipt
        .as_ref()
        .and_then(|receipt| receipt["cost"].as_str());
    Ok(cost.and_then(|cost| MicroUsd::from_usd(cost).ok()))
}

async fn receipt(ledger: &dyn Ledger, claim: &ClaimRecord) -> Result<Option<Value>, StoreError> {
    let (account, request) = (&claim.account, claim.request.as_str());
    let receipt = ledger.receipt(account, request).await?;
    Ok(receipt.and_then(|receipt| serde_json::from_str(&receipt).ok()))
}
