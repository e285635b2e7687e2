//! The port to a facilitator elsewhere, which sends settlements in place of an account of ours.

use bardo_x402::wire::SettleAnswer;

use crate::rpc::RpcFuture;
use crate::sender::ChainSender;

/// A facilitator elsewhere. What it says of a settlement is not believed: the chain is read for it.
pub trait Facilitator: Send + Sync {
    /// Asks to settle a payment, with a request that is the same each time.
    fn settle(&self, request: Vec<u8>) -> RpcFuture<'_, SettleAnswer>;
}

/// Who sends settlements.
pub enum SettlementSender {
    /// An account of ours, which pays the gas.
    Own(ChainSender),
    /// A facilitator elsewhere. It settles `exact` alone: any account may send such a payment, and
    /// its nonce on the chain says whether one did.
    Facilitator(std::sync::Arc<dyn Facilitator>),
}
