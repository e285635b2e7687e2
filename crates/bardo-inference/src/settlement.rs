//! How payments by Permit2 ended, as the chain says it.
//!
//! A seller of streams settles after the last piece, so no header can say what it took. Until the
//! chain does, the ceiling counts.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use bardo_types::money::MicroUsd;
use bardo_x402::evm::U256;
use bardo_x402::token::TokenAmount;

use crate::book::PaymentEnd;
use crate::payer::{CountedPayment, OfferPayer, now_s};
use crate::permit2::{Permit2Desk, Permit2Payment};
use crate::status::StatusLine;

/// Time before the first look at the chain; each next one comes after twice the time.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// Longest time between two looks.
const LAST_LOOK: Duration = Duration::from_secs(15);
/// Seconds after its deadline at which a payment that is not settled never will be, also where the
/// chain replaces its last blocks.
const EXPIRED_S: u64 = 60;
/// Seconds after its deadline at which a chain that says nothing is no longer asked.
const SILENT_S: u64 = 900;

/// Asks the chain for the end of a payment until it is known, and notes what was taken.
pub(crate) async fn watch(payer: Arc<OfferPayer>, status: Rc<StatusLine>, sent: CountedPayment) {
    let (Some(desk), Some(nonce)) = (&payer.permit2, sent.permit2) else {
        return;
    };
    let mut wait = FIRST_LOOK;
    loop {
        tokio::time::sleep(wait).await;
        wait = LAST_LOOK.min(wait * 2);
        // It was charged in full, or never sent.
        let Some(open) = desk.find(nonce) else {
            return;
        };
        // A server that fails is asked again.
        if let Ok(Some(taken)) = taken(desk, &open).await {
            payer.end(&sent, PaymentEnd::Charged(taken)).await;
            status.update();
            return;
        }
        if now_s() > open.ends_s.saturating_add(SILENT_S) {
            return desk.forget(nonce);
        }
    }
}

/// What a payment has cost; `None` while it can still be settled, or was and nothing says how.
async fn taken(desk: &Permit2Desk, open: &Permit2Payment) -> Result<Option<MicroUsd>> {
    // Time first: what is unused after its end stays unused.
    let end_s = open.ends_s.saturating_add(EXPIRED_S);
    let has_expired = now_s() > end_s && desk.chain.time_s().await? > end_s;
    if !desk.chain.is_settled(desk.account(), open.nonce).await? {
        return Ok(has_expired.then_some(MicroUsd::ZERO));
    }
    let moved = desk.chain.settled(desk.account(), open).await?;
    moved.map(usd).transpose()
}

fn usd(units: U256) -> Result<MicroUsd> {
    let units = u64::try_from(units).map_err(|_| anyhow!("an amount is above every ceiling"))?;
    Ok(TokenAmount::new(units).to_usd())
}
