//! Debts of wallets, which their accounts pay as soon as they can.

use bardo_ledger::claims::{ClaimBook, ClaimQuery, ClaimRecord, ClaimStep, DebtEnd, StepBy};
use bardo_ledger::{End, Ledger, LedgerRefusal, Reserve, Settle, StoreError};
use bardo_types::clock::{Clock as _, SystemClock};

use super::charges;

/// Debts that are read at a time.
const AT_ONCE: u32 = 100;

/// How long money is held for a debt, if the process ends before it is charged.
const HELD_MS: u64 = 24 * 60 * 60 * 1_000;

/// Pays open debts from the balances of their accounts, each whole or not at all.
///
/// # Errors
/// When a store does not answer. It is safe to ask again: a charge is one by its request.
pub(super) async fn pay(claims: &ClaimBook, ledger: &dyn Ledger) -> Result<(), StoreError> {
    let mut query = ClaimQuery {
        only_debts: true,
        limit: AT_ONCE,
        ..ClaimQuery::default()
    };
    loop {
        let page = claims.store().claims(query.clone()).await?;
        for claim in &page {
            // One that cannot be paid now keeps no other waiting.
            if let Err(error) = pay_one(claims, ledger, claim).await {
                tracing::warn!(id = %claim.request, %error, "a debt is paid later");
            }
        }
        match page.last() {
            Some(last) if page.len() >= AT_ONCE as usize => query.below_no = Some(last.no),
            _ => return Ok(()),
        }
    }
}

async fn pay_one(
    claims: &ClaimBook,
    ledger: &dyn Ledger,
    claim: &ClaimRecord,
) -> Result<(), StoreError> {
    let debt = claim.debt();
    let now_ms = SystemClock.now_ms();
    let hold = Reserve {
        request: claim.request.clone(),
        account: claim.account.clone(),
        key: None,
        amount: debt,
        caps: Vec::new(),
        expires_at_ms: now_ms.saturating_add(HELD_MS),
        now_ms,
    };
    match ledger.reserve(hold).await? {
        // A process that ended before the debt did has held the money, or charged it.
        Ok(_) | Err(LedgerRefusal::Duplicate(_)) => {}
        Err(_) => return Ok(()),
    }
    let command = Settle {
        account: claim.account.clone(),
        request: claim.request.clone(),
        end: End::Capture(charges::charge(ledger, claim, debt).await?),
        record: None,
        now_ms,
    };
    let settled = ledger.settle(command).await?;
    if settled.shortfall.get() > 0 {
        tracing::warn!(id = %claim.request, "a debt was paid in part: its hold had expired, and its account was spent from");
    }
    let end = ClaimStep::EndDebt(DebtEnd::Paid {
        reference: claim.request.as_str().to_owned(),
    });
    let ended = claims
        .step(&claim.key, &StepBy::Operator, &end, now_ms)
        .await?;
    match ended {
        Ok(_) => tracing::info!(id = %claim.request, %debt, "a debt is paid"),
        Err(refusal) => {
            tracing::warn!(id = %claim.request, %refusal, "a debt is paid and stays open")
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
