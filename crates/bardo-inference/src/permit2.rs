//! What Permit2 may take of the wallet, against the payments by it that are on their way.
//!
//! Permit2 takes from one approval for all payments, and a permit replaces it. So a payment is
//! signed only where the approval is enough for it and for those on their way.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use bardo_x402::evm::{Address, U256};
use bardo_x402::payer::{ChosenOffer, Permit2Approval};
use bardo_x402::token::PaymentToken;

use crate::chain::WalletReader;
use crate::payer::{TIMEOUT_MAX_S, now_s};

/// How long a JSON-RPC server that failed is not asked again, so that requests do not wait for it.
const RPC_PAUSE: Duration = Duration::from_secs(15);

/// Why Permit2 may not take a payment.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApprovalRefusal {
    /// A permit is on its way. When it lands, the approval is known again.
    #[error("another payment with a permit is on its way")]
    Busy,
    #[error("{0}")]
    Missing(String),
}

/// A payment by Permit2 that may still be settled.
#[derive(Debug, Clone)]
pub(crate) struct Permit2Payment {
    pub(crate) nonce: U256,
    pub(crate) token: PaymentToken,
    pub(crate) payee: Address,
    pub(crate) amount: U256,
    /// Last second, in Unix time, at which it can settle.
    pub(crate) ends_s: u64,
    /// The newest block before it was signed.
    pub(crate) block: u64,
    has_permit: bool,
    refused: bool,
    /// Permit2 has taken it. How much is to be read from the chain.
    settled: bool,
}

/// Decides whether Permit2 may take a payment, one at a time.
pub(crate) struct Permit2Desk {
    pub(crate) chain: WalletReader,
    account: Address,
    deciding: tokio::sync::Mutex<()>,
    open: Mutex<Vec<Permit2Payment>>,
    failed: Mutex<Option<Instant>>,
}

impl Permit2Desk {
    /// A desk of this account, without payments on their way.
    pub(crate) fn new(chain: WalletReader, account: Address) -> Self {
        Self {
            chain,
            account,
            deciding: tokio::sync::Mutex::default(),
            open: Mutex::default(),
            failed: Mutex::default(),
        }
    }

    pub(crate) fn account(&self) -> Address {
        self.account
    }

    /// How Permit2 may take this payment, which is on its way from now on, unless the hold is dropped.
    /// A permit is signed where the seller sends it.
    ///
    /// # Errors
    /// When Permit2 may not take it, or nobody says so.
    pub(crate) async fn approve(
        &self,
        chosen: &ChosenOffer,
        nonce: U256,
    ) -> Result<(Permit2Approval, ApprovalHold<'_>), ApprovalRefusal> {
        let _turn = self.deciding.lock().await;
        let failed = *self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_some_and(|at| at.elapsed() < RPC_PAUSE) {
            let text = "the JSON-RPC server failed a moment ago";
            return Err(ApprovalRefusal::Missing(text.into()));
        }
        let read = self.read(chosen).await;
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        *failed = read.is_err().then(Instant::now);
        let (block, allowed, next_permit) =
            read.map_err(|error| ApprovalRefusal::Missing(format!("{error:#}")))?;
        let approval = self.decide(chosen, allowed, next_permit)?;
        self.open().push(Permit2Payment {
            nonce,
            token: chosen.token().clone(),
            payee: chosen.pay_to(),
            amount: U256::from(chosen.amount().get()),
            ends_s: now_s() + TIMEOUT_MAX_S,
            block,
            has_permit: approval != Permit2Approval::Standing,
            refused: false,
            settled: false,
        });
        Ok((approval, ApprovalHold { desk: self, nonce }))
    }

    /// The newest block, the approval, and the nonce of the next permit where the seller sends one.
    async fn read(&self, chosen: &ChosenOffer) -> anyhow::Result<(u64, U256, Option<U256>)> {
        let (token, chain) = (chosen.token(), &self.chain);
        if chain.chain_id().await? != token.network().chain_id() {
            return Err(anyhow!("the JSON-RPC server is on another network"));
        }
        for payment in self.on_their_way(token) {
            if chain.is_settled(self.account, payment.nonce).await? {
                self.change(payment.nonce, |payment| payment.settled = true);
            }
        }
        let block = chain.block().await?;
        let allowed = chain.permit2_allowance(token, self.account).await?;
        let next_permit = match chosen.sponsors_gas() {
            true => Some(chain.permit_nonce(token, self.account).await?),
            false => None,
        };
        Ok((block, allowed, next_permit))
    }

    fn decide(
        &self,
        chosen: &ChosenOffer,
        allowed: U256,
        next_permit: Option<U256>,
    ) -> Result<Permit2Approval, ApprovalRefusal> {
        let others = self.on_their_way(chosen.token());
        if others.iter().any(|payment| payment.has_permit) {
            return Err(ApprovalRefusal::Busy);
        }
        let needed = others
            .iter()
            .fold(U256::from(chosen.amount().get()), |sum, payment| {
                sum.saturating_add(payment.amount)
            });
        if allowed >= needed {
            return Ok(Permit2Approval::Standing);
        }
        match next_permit {
            // A permit would replace the approval that the others need.
            Some(_) if !others.is_empty() => Err(ApprovalRefusal::Busy),
            Some(nonce) => Ok(Permit2Approval::Permit { nonce }),
            None => {
                let text =
                    "Permit2 has no approval for this amount, and the endpoint sends no permit";
                Err(ApprovalRefusal::Missing(text.into()))
            }
        }
    }

    fn on_their_way(&self, token: &PaymentToken) -> Vec<Permit2Payment> {
        let now_s = now_s();
        let is_counted = |payment: &&Permit2Payment| {
            let is_over = payment.refused || payment.settled;
            payment.token == *token && payment.ends_s >= now_s && !is_over
        };
        self.open().iter().filter(is_counted).cloned().collect()
    }

    /// Notes that the seller refused a payment, or has it again. One that is refused takes no room
    /// from others.
    pub(crate) fn refused(&self, nonce: U256, refused: bool) {
        self.change(nonce, |payment| payment.refused = refused);
    }

    fn change(&self, nonce: U256, change: impl FnOnce(&mut Permit2Payment)) {
        let mut open = self.open();
        if let Some(payment) = open.iter_mut().find(|payment| payment.nonce == nonce) {
            change(payment);
        }
    }

    /// Lets go of a payment whose end is known, or that was never sent.
    pub(crate) fn forget(&self, nonce: U256) {
        self.open().retain(|payment| payment.nonce != nonce);
    }

    /// A payment whose end is not known yet.
    pub(crate) fn find(&self, nonce: U256) -> Option<Permit2Payment> {
        let open = self.open();
        open.iter().find(|payment| payment.nonce == nonce).cloned()
    }

    fn open(&self) -> MutexGuard<'_, Vec<Permit2Payment>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room for a payment that is not sent yet. Dropped, for example because the client left, it gives
/// the room back.
pub(crate) struct ApprovalHold<'a> {
    desk: &'a Permit2Desk,
    nonce: U256,
}

impl ApprovalHold<'_> {
    /// The payment is about to be sent, and can settle until this second in Unix time.
    pub(crate) fn keep(self, ends_s: u64) {
        self.desk
            .change(self.nonce, |payment| payment.ends_s = ends_s);
        std::mem::forget(self);
    }
}

impl Drop for ApprovalHold<'_> {
    fn drop(&mut self) {
        self.desk.forget(self.nonce);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payment_that_is_not_sent_gives_its_room_back() {
        let chain = WalletReader::new("http://127.0.0.1:9").unwrap();
        let desk = Permit2Desk::new(chain, Address::ZERO);
        for (nonce, is_sent) in [(1, true), (2, false)] {
            let nonce = U256::from(nonce);
            desk.open().push(Permit2Payment {
                nonce,
                token: PaymentToken::usdc_on_base(),
                payee: Address::ZERO,
                amount: U256::from(1),
                ends_s: 0,
                block: 1,
                has_permit: true,
                refused: false,
                settled: false,
            });
            let hold = ApprovalHold { desk: &desk, nonce };
            if is_sent {
                hold.keep(u64::MAX);
            } else {
                drop(hold);
            }
            assert_eq!(desk.find(nonce).is_some(), is_sent);
        }
        let token = PaymentToken::usdc_on_base();
        assert_eq!(desk.on_their_way(&token).len(), 1);
        desk.refused(U256::from(1), true);
        assert!(desk.on_their_way(&token).is_empty());
    }
}
