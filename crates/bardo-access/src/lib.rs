//! Who may do what: keys and their scopes, tiers, rate limits, allowances.
//!
//! Pure: how a key is written, what a record of one says, how buckets fill. Times are arguments.
//! [`KeyStore`] is the port to where keys are kept, [`LimitStore`] the port to where counters
//! live. What this crate is not: a place where money is counted (`bardo-ledger`), or HTTP.

mod key;
mod limit;
mod network;
mod port;
mod record;
mod tier;

pub use key::{InvalidKey, KeyKind, PresentedKey};
pub use limit::{Admission, Allowance, LimitRequest, Remaining, Throttled};
pub use network::{InvalidNetwork, Network};
pub use port::{Future, KeyError, KeyStore, LimitStore};
pub use record::{KeyRecord, KeyState, Scopes, SpendCaps};
pub use tier::{Tier, TierRow, tiers};
