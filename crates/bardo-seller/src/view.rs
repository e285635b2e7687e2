//! A payment as its payer may read it.

use bardo_ledger::claims::{ClaimRecord, ClaimStage, ServiceStage};
use bardo_x402::token::EvmNetwork;
use serde_json::{Value, json};

/// What is known of a payment. Amounts are in USD as text; absent figures are null.
#[must_use]
pub fn payment_view(claim: &ClaimRecord) -> Value {
    let settlement = claim.settlement;
    let transaction = match settlement {
        Some(settlement) => Some(settlement.transaction),
        None => claim.sent(),
    };
    let is_charged = claim.service == ServiceStage::Done;
    json!({
        "id": claim.request.as_str(),
        "object": "payment",
        "status": status(claim),
        "answer": claim.service.as_str(),
        "scheme": claim.scheme.as_str(),
        "network": EvmNetwork::new(claim.key.chain_id).to_string(),
        "payer": claim.key.payer.to_string(),
        "account": claim.account.as_str(),
        "authorized_usd": claim.ceiling.to_string(),
        "charged_usd": is_charged.then(|| claim.used.to_string()),
        "settled_usd": settlement.map(|settlement| settlement.amount.to_string()),
        "booked_usd": claim.booked.map(|booked| booked.to_string()),
        "debt_usd": claim.debt().to_string(),
        "transaction": transaction.map(|hash| hash.to_string()),
        "block": settlement.map(|settlement| settlement.block),
        "reason": claim.reason,
        "created_at": claim.claimed_at_ms / 1_000,
        "expires_at": claim.deadline_s,
    })
}

/// One word for where a payment is.
fn status(claim: &ClaimRecord) -> &'static str {
    match claim.stage {
        ClaimStage::Claimed => "authorized",
        ClaimStage::Owed | ClaimStage::Settling => "settling",
        ClaimStage::Settled => "settled",
        ClaimStage::Failed => "failed",
        ClaimStage::Void => "not_charged",
    }
}
