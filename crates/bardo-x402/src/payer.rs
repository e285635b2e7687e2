//! The side that pays: reads the offers of a 402, takes one within its limits, signs it.
//!
//! Start from [`PaymentOffers::read`]; then [`PaymentOffers::choose`], then [`ChosenOffer::sign`].

mod offers;
mod sign;

pub use offers::{ChosenOffer, OfferRefusal, PayerLimits, PaymentOffers};
pub use sign::{PaymentHeader, Permit2Approval};
