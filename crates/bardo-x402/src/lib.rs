//! The payment protocol x402, for those who sell and for those who pay: versions 1 and 2, the
//! schemes `exact` and `upto` on EVM chains.
//!
//! Nothing here does I/O or reads a clock: what a chain knows and what time it is are arguments.
//! Sources: the x402 specifications <https://github.com/x402-foundation/x402>, ERC-3009, ERC-2612,
//! ERC-1271, EIP-712, EIP-1559, and Permit2 <https://github.com/Uniswap/permit2>.

pub mod authorization;
pub mod evm;
pub mod identity;
pub mod payer;
pub mod quote;
pub mod refusal;
pub mod token;
pub mod verify;
pub mod wire;
