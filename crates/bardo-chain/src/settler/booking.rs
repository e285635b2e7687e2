//! What follows a settlement: confirmations, the books, and reorganizations of the chain.

use bardo_ledger::claims::{ClaimRecord, ClaimStage, ClaimStep, ServiceStage};
use bardo_ledger::{End, Settle};
use bardo_types::money::MicroUsd;

use super::{ClaimSettler, Stopped};

impl ClaimSettler {
    /// Whether the settlement of a claim is still on the chain, and what follows.
    pub(super) async fn confirm(
        &self,
        claim: &ClaimRecord,
        is_stale: bool,
        now_ms: u64,
    ) -> Result<Option<ClaimStep>, Stopped> {
        let Some(settlement) = claim.settlement else {
            return Ok(None);
        };
        if is_stale && claim.service == ServiceStage::Pending {
            let used = MicroUsd::ZERO;
            return Ok(Some(ClaimStep::Served { used }));
        }
        if is_stale && claim.service == ServiceStage::Started {
            return Ok(Some(self.ended(claim).await?));
        }
        if claim.booked.is_some() {
            return Ok(None);
        }
        let receipts = self.reader.receipts(&[settlement.transaction.0]).await?;
        let is_there = receipts
            .into_iter()
            .next()
            .flatten()
            .is_some_and(|receipt| receipt.succeeded && receipt.block == settlement.block);
        if !is_there {
            let transaction = settlement.transaction;
            tracing::warn!(id = %super::id(claim), %transaction, "the chain undid a settlement");
            return Ok(Some(ClaimStep::Unsettle { transaction }));
        }
        let head = self.reader.head().await?.number;
        let needed = settlement.block + self.terms.confirmations;
        if head < needed {
            let until_ms = now_ms + (needed - head) * self.terms.block_ms;
            let reason = "it waits for confirmations".to_owned();
            return Ok(Some(ClaimStep::Defer { until_ms, reason }));
        }
        Ok(None)
    }

    /// Books a settlement that has its confirmations, once what the answer cost is known.
    pub(super) async fn book_final(&self, claim: &ClaimRecord, now_ms: u64) -> Result<(), Stopped> {
        if claim.stage != ClaimStage::Settled || claim.booked.is_some() {
            return Ok(());
        }
        // The charge is part of the booking, so it has to be known.
        if claim.service != ServiceStage::Done {
            return Ok(());
        }
        let total = claim.capture();
        let charge = match total {
            MicroUsd::ZERO => None,
            total => Some(Settle {
                account: claim.account.clone(),
                request: claim.request.clone(),
                end: End::Capture(self.ends.charge(claim, total).await?),
                record: None,
                now_ms,
            }),
        };
        let _ = self
            .claims
            .book(&*self.ledger, claim, charge, now_ms)
            .await?;
        Ok(())
    }
}
