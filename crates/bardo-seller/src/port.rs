//! The port to a chain: what it knows of a payer, and the settlement of claims.

use std::pin::Pin;
use std::time::Duration;

use bardo_ledger::claims::{AuthorizationKey, ClaimRecord};
use bardo_x402::evm::{Address, SigningAccount};
use bardo_x402::verify::{CheckedPayment, PayerState};

/// The future that every method of a chain returns.
pub type ChainFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The chain, or the store of claims, did not answer. That is no refusal: a payment may still be
/// good, and a settlement may still happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChainUnknown(pub String);

/// The state of a payer, as a chain shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayerFacts {
    /// How the payer signs.
    pub account: SigningAccount,
    /// Its money and nonces.
    pub state: PayerState,
}

/// A chain on which payments are verified and settled.
pub trait PaymentChain: Send + Sync {
    /// What the chain says of the payer, at most some seconds old.
    fn payer<'a>(
        &'a self,
        payment: &'a CheckedPayment,
    ) -> ChainFuture<'a, Result<PayerFacts, ChainUnknown>>;

    /// How an account signs: as a key, or as a contract that answers to this call (ERC-1271).
    fn account(
        &self,
        account: Address,
        signature_call: Vec<u8>,
    ) -> ChainFuture<'_, Result<SigningAccount, ChainUnknown>>;

    /// What contracts return to calls at one block; `None` for a call that reverts.
    fn views(
        &self,
        calls: Vec<(Address, Vec<u8>)>,
    ) -> ChainFuture<'_, Result<Vec<Option<Vec<u8>>>, ChainUnknown>>;

    /// Settles a claim that is due, and answers the claim as it is when the chain has decided, or
    /// when `wait` has passed. The settlement goes on after that.
    fn settle<'a>(
        &'a self,
        key: &'a AuthorizationKey,
        wait: Duration,
    ) -> ChainFuture<'a, Result<Option<ClaimRecord>, ChainUnknown>>;

    /// Why a facilitator elsewhere, which is to settle a payment, refuses it; `None` where it does
    /// not, or where the gateway settles.
    fn refusal<'a>(
        &'a self,
        request: &'a str,
    ) -> ChainFuture<'a, Result<Option<String>, ChainUnknown>> {
        let _ = request;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The endpoints of the chain, each with the reason why it is not believed, if there is one.
    fn endpoints(&self) -> Vec<(String, Option<String>)>;

    /// The newest block whose transfers to the gateway are known; `None` before it is known.
    fn transfers_block(&self) -> Option<u64>;

    /// Takes all claims that are due one step further. It is called again and again.
    fn settle_due(&self) -> ChainFuture<'_, Result<(), ChainUnknown>>;
}
