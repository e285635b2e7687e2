//! Prompt caches of providers: which marks pay, and which endpoint is warm.
//!
//! A provider keeps the beginning of a prompt and charges less for reading it again; some charge
//! more for writing it. Both are worth it only where the next call comes soon enough. So the gaps
//! between calls are observed per prefix ([`PrefixTracker`]) and priced ([`decide`]).
//!
//! Nothing in here reads a clock, a prompt or a price list. Times are milliseconds of a clock that
//! never runs backwards, prefixes are 128-bit digests made by the caller.

mod affinity;
mod gaps;
mod keepalive;
mod policy;
mod storage;
mod stored;
mod tracker;
mod warm;

pub use affinity::{Affinity, AffinityTable, Warmth};
pub use gaps::{Evidence, Gaps};
pub use keepalive::{KeepaliveTerms, Warming};
pub use policy::{CacheRates, MarkCase, MarkReason, Verdict, decide};
pub use storage::{StorageCase, StoragePlan, StorageRates};
pub use stored::{StorageStep, StoredTable};
pub use tracker::{MarkDecision, PrefixTracker, Sighting, Stretch};
pub use warm::{DueCall, KeepaliveLimits, WarmTable};

/// Milliseconds of a clock that never runs backwards.
pub type Millis = u64;

/// Digest of a prefix together with the tenant, the agent or session, and the model that it belongs
/// to. Two tenants never share one.
pub type PrefixId = u128;
