//! What the protocol needs of an EVM chain: hashes, signatures, calldata, transactions.
//!
//! Start from [`Signer`] to sign, [`EvmSignature`] to verify, [`calls`] to ask a chain.

mod abi;
mod account;
pub mod calls;
mod revert;
mod signature;
mod signer;
mod transaction;
mod typed_data;

pub use alloy_primitives::{Address, B256, U256, keccak256};

pub use account::{AccountSignatureError, SigningAccount};
pub use revert::Revert;
pub use signature::{EvmSignature, SignatureError};
pub use signer::{InvalidSigningKey, Signer};
pub use transaction::{DynamicFeeTransaction, SignedTransaction};
pub use typed_data::SigningDomain;

pub(crate) use abi::{Calldata, Words};
