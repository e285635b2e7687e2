//! Who may do what: keys and their scopes, tiers, rate limits, allowances.
//!
//! How a key is written, what a record of one says, how buckets fill: pure, times are arguments.
//! [`Verifier`] tells who presents a key, with bcrypt on threads of its own and from memory after.
//! [`KeyStore`] is the port to where keys are kept, [`LimitStore`] the port to where counters
//! live. What this crate is not: a place where money is counted (`bardo-ledger`), sockets, files,
//! or HTTP. Start from [`KeyRecord`] and [`Verifier`].

mod cache_permission;
mod key;
mod limit;
mod network;
mod port;
mod record;
mod rights;
mod tier;
mod verifier;

pub use cache_permission::CachePermission;
pub use key::{InvalidKey, KeyKind, KeyMakingError, PresentedKey, hash_secret, verify_secret};
pub use limit::{
    Admission, Allowance, DefaultLimits, KeyLimits, LimitRequest, LocalLimits, Remaining, Throttled,
};
pub use network::{InvalidNetwork, Network};
pub use port::{Amendment, BoxFuture, KeyError, KeyStore, LimitStore};
pub use record::{CapRange, CapRanges, InvalidScopes, KeyRecord, KeyState, Scopes, SpendCaps};
pub use rights::{DelegatedSpending, PaidRequest, PayerTerms};
pub use tier::{KeyTier, TierRow, tiers};
pub use verifier::{
    Checked, KeyPresence, KeyRefusal, KeyVerdict, Moment, Presence, Verifier, VerifierSettings,
};
