//! Sells single requests to callers without an account, for payments by x402.
//!
//! An offer ([`SaleOffers`]) becomes a payment ([`PresentedPayment`]), which is verified and claimed
//! ([`Seller::claim`]) before the engine sees its request. The engine then holds and charges as for
//! any caller, against the claim in place of an account ([`ClaimedHolds`]). The settlement on the
//! chain follows from the claim alone, in this process or in another.
//!
//! What a chain knows comes through [`PaymentChain`]. Nothing here opens a connection.

mod admit;
mod claimed;
mod deposit;
mod identity;
mod offers;
mod payment;
mod port;
mod terms;
mod ticket;
mod view;

pub use admit::{AdmittedPayment, ComparedPayment, PaymentRejection, SaleRequest, Seller};
pub use claimed::ClaimedHolds;
pub use deposit::DepositRequest;
pub use identity::{
    AGENT_PROOF, AgentCaller, AgentLink, IdentityRejection, ProofUse, ProvenRequest,
};
pub use offers::{SaleOffers, with_reason};
pub use payment::{MalformedPayment, PresentedPayment};
pub use port::{ChainFuture, ChainUnknown, PayerFacts, PaymentChain};
pub use terms::{IdentityTerms, ReputationTier, SaleTerms};
pub use ticket::{PaidTicket, receipt_of};
pub use view::payment_view;
