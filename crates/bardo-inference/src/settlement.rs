//! How payments ended, as the chain says it.
//!
//! What a seller says of a payment proves nothing: it can settle what it refused, and more than its
//! receipt names. Until the chain speaks, the most that a payment can cost counts.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use bardo_types::money::MicroUsd;
use bardo_x402::evm::{B256, U256};
use bardo_x402::token::TokenAmount;

use crate::book::PaymentEnd;
use crate::payer::{CountedPayment, OfferPayer, now_s};
use crate::permit2::{Permit2Desk, Permit2Payment};
use crate::status::StatusLine;

/// Time before the first look at a payment; each next one comes after twice the time.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// Longest time between two looks.
const LAST_LOOK: Duration = Duration::from_secs(15);
/// Seconds of the chain after the deadline of a payment at which one that is not settled never will
/// be, also where the chain replaces its last blocks.
const EXPIRED_S: u64 = 60;
/// Seconds after its deadline at which a chain that says nothing is no longer asked.
const SILENT_S: u64 = 900;

/// Asks the chain for the end of a payment until it is known, and notes what was charged. Answers this
/// amount; `None` where something else said it first, or the chain never does.
pub(crate) async fn watch(
    payer: Arc<OfferPayer>,
    status: Rc<StatusLine>,
    sent: CountedPayment,
) -> Option<MicroUsd> {
    let desk = payer.permit2.as_deref()?;
    let mut wait = FIRST_LOOK;
    loop {
        tokio::time::sleep(wait).await;
        wait = LAST_LOOK.min(wait * 2);
        if !payer.book.is_open(&sent.nonce) {
            return None;
        }
        let charged = match sent.permit2 {
            Some(nonce) => taken(desk, &desk.find(nonce)?).await,
            None => moved(desk, &sent).await,
        };
        // A server that fails is asked again.
        if let Ok(Some(charged)) = charged {
            // An answer was faster.
            if !payer.book.is_open(&sent.nonce) {
                return None;
            }
            payer.end(&sent, PaymentEnd::Charged(charged)).await;
            status.update();
            return Some(charged);
        }
        if now_s() > sent.ends_s.saturating_add(SILENT_S) {
            if let Some(nonce) = sent.permit2 {
                desk.forget(nonce);
            }
            return None;
        }
    }
}

/// What a payment by Permit2 has cost; `None` while it can still be settled, or was and nothing says
/// how.
async fn taken(desk: &Permit2Desk, open: &Permit2Payment) -> Result<Option<MicroUsd>> {
    // Time first: what is unused after its end stays unused.
    let has_expired = has_expired(desk, open.ends_s).await;
    if !desk.chain.is_settled(desk.account(), open.nonce).await? {
        return Ok(has_expired?.then_some(MicroUsd::ZERO));
    }
    let moved = desk.chain.settled(desk.account(), open).await?;
    moved.map(usd).transpose()
}

/// What a payment that the token itself moves has cost; `None` while it can still be moved.
async fn moved(desk: &Permit2Desk, sent: &CountedPayment) -> Result<Option<MicroUsd>> {
    if !has_expired(desk, sent.ends_s).await? {
        return Ok(None);
    }
    let nonce: B256 = sent.nonce.parse().context("read a nonce of the book")?;
    let is_moved = desk.chain.is_moved(&sent.token, desk.account(), nonce);
    Ok(Some(match is_moved.await? {
        true => sent.amount,
        false => MicroUsd::ZERO,
    }))
}

/// Whether a payment with this deadline can no longer be settled, by the time of the chain. The chain
/// is asked after the deadline alone.
async fn has_expired(desk: &Permit2Desk, ends_s: u64) -> Result<bool> {
    let end_s = ends_s.saturating_add(EXPIRED_S);
    Ok(now_s() > ends_s && desk.chain.time_s().await? > end_s)
}

fn usd(units: U256) -> Result<MicroUsd> {
    let units = u64::try_from(units).map_err(|_| anyhow!("an amount is above every ceiling"))?;
    Ok(TokenAmount::new(units).to_usd())
}
