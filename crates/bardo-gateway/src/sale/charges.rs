//! The charge of an answer that a payment has settled, as the ledger books it.

use std::sync::Arc;

use bardo_ledger::claims::{ClaimRecord, ServiceStage};
use bardo_ledger::{Charge, End, Ledger, Settle, StoreError};
use bardo_types::money::MicroUsd;

/// The backend that is named where the receipt of a request is lost.
const UNKNOWN: &str = "unknown";

/// The charge of a settled claim, for booking; `None` while the answer is not over. Its parts are
/// those of the receipt; without one, all of it is the provider's.
///
/// # Errors
/// When the ledger does not answer.
pub(super) async fn capture(
    ledger: &dyn Ledger,
    claim: &ClaimRecord,
    now_ms: u64,
) -> Result<Option<Settle>, StoreError> {
    if claim.service != ServiceStage::Done {
        return Ok(None);
    }
    let total = claim.capture();
    let receipt = ledger
        .receipt(&claim.account, claim.request.as_str())
        .await?;
    let (provider, spread) = receipt.as_deref().and_then(parts).unwrap_or_default();
    let spread = spread.min(total);
    Ok(Some(Settle {
        account: claim.account.clone(),
        request: claim.request.clone(),
        end: End::Capture(Charge {
            provider: match provider.is_empty() {
                true => UNKNOWN.into(),
                false => Arc::from(provider),
            },
            provider_cost: total.saturating_sub(spread),
            spread,
        }),
        record: None,
        now_ms,
    }))
}

/// The backend and the gateway's part, of a receipt as JSON.
fn parts(receipt: &str) -> Option<(String, MicroUsd)> {
    let receipt: serde_json::Value = serde_json::from_str(receipt).ok()?;
    let spread = receipt["spread"].as_str().unwrap_or("0");
    let spread = MicroUsd::from_usd(spread).ok()?;
    Some((receipt["provider"].as_str()?.to_owned(), spread))
}
