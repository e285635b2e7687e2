//! The payment protocol x402, for those who sell and for those who pay: versions 1 and 2, the
//! schemes `exact` and `upto` on EVM chains.
//!
//! Nothing here does I/O or reads a clock: what a chain knows and what time it is are arguments.
//! Sources: the x402 specifications <https://github.com/x402-foundation/x402>, ERC-3009, ERC-2612,
//! ERC-1271, EIP-712, EIP-1559, and Permit2 <https://github.com/Uniswap/permit2>.

//!
//! # A payment from offer to settlement
//!
//! ```
//! use bardo_x402::evm::{B256, Signer, SigningAccount, U256};
//! use bardo_x402::payer::{PayerLimits, PaymentOffers, Permit2Approval};
//! use bardo_x402::token::{PaymentToken, TokenAmount};
//! use bardo_x402::verify::{CheckedPayment, PayerState, PaymentWindow};
//! use bardo_x402::wire::{
//!     OfferedRequirement, PaymentPayload, PaymentRequired, PaymentResource, PaymentScheme,
//!     TransferMethod, X402Version,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The seller offers. `header` goes into PAYMENT-REQUIRED of its 402.
//! let requirement = OfferedRequirement {
//!     method: TransferMethod::Exact,
//!     token: PaymentToken::usdc_on_base(),
//!     amount: TokenAmount::new(120_000),
//!     pay_to: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC".parse()?,
//!     max_timeout_s: 300,
//!     quote: None,
//!     details: serde_json::Map::new(),
//! };
//! let offer = PaymentRequired {
//!     error: "Payment required".into(),
//!     resource: PaymentResource {
//!         url: "https://gateway.example/v1/chat/completions".into(),
//!         description: "a chat".into(),
//!         mime_type: "application/json".into(),
//!     },
//!     accepts: vec![requirement.clone()],
//!     sponsors_gas: false,
//! };
//! let header = offer.header();
//!
//! // The payer takes the offer within its limits, and signs it.
//! let limits = PayerLimits {
//!     tokens: vec![PaymentToken::usdc_on_base()],
//!     schemes: vec![PaymentScheme::Exact],
//!     most: TokenAmount::new(999_999),
//!     most_timeout_s: 600,
//! };
//! let signer = Signer::from_bytes([7; 32])?;
//! let (nonce, now_s) = (B256::repeat_byte(1), 1_800_000_000); // take 32 random bytes instead
//! let chosen = PaymentOffers::read(Some(header.as_bytes()), b"")?.choose(&limits)?;
//! let signed = chosen.sign(&signer, nonce, Permit2Approval::Standing, now_s);
//!
//! // The seller verifies the payment with what the chain says of the payer, and settles it.
//! let payment = PaymentPayload::from_header(X402Version::V2, signed.value.as_bytes())?;
//! let window = PaymentWindow { least_s: 120, most_s: 3_600 };
//! let checked = CheckedPayment::check(payment, &requirement, window, now_s)?;
//! let state = PayerState {
//!     nonce_used: false,
//!     balance: U256::from(1_000_000),
//!     permit2_allowance: U256::ZERO,
//!     permit_nonce: U256::ZERO,
//! };
//! let verified = checked.verify(&SigningAccount::Key, &state)?;
//! assert_eq!(verified.claim(), signed.claim);
//! let call = verified.settlement(TokenAmount::new(120_000)).expect("it is the price");
//! assert_eq!(call.to, PaymentToken::usdc_on_base().address());
//! # Ok(())
//! # }
//! ```

pub mod authorization;
pub mod evm;
pub mod identity;
pub mod payer;
pub mod quote;
pub mod refusal;
pub mod token;
pub mod verify;
pub mod wire;
