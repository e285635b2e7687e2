//! EVM chains as the gateway needs them: reads that decide about money, transactions of one account,
//! and the settlement of claims.
//!
//! [`ChainReader`] asks several JSON-RPC endpoints and takes what enough of them agree on.
//! [`ChainSender`] signs transactions of one account. [`ClaimSettler`] takes claims from what is owed to
//! what is booked; each step is durable before the next, so another process can go on at any point.
//! An endpoint that does not answer has said nothing: that is [`ReadError::Unknown`], never a no.

mod facilitator;
mod head;
mod hex;
mod payer;
mod reader;
mod receipt;
mod rpc;
mod sender;
mod settler;
mod view;
mod watcher;

pub use facilitator::{Facilitator, SettlementSender};
pub use head::ChainHead;
pub use payer::PayerReads;
pub use reader::{ChainReader, EndpointState, ReadError, ReaderTerms};
pub use receipt::{ChainReceipt, TokenTransfer, UsedAuthorization};
pub use rpc::{RpcFuture, RpcTransport, RpcUnsent};
pub use sender::{ChainSender, SenderTerms, TransactionError};
pub use settler::{ClaimSettler, RequestEnds, SettledCounts, SettlerTerms};
pub use watcher::{TransferWatcher, WatchError, WatcherTerms};
