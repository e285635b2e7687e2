//! Limits of spending over a window of time.

use std::sync::Arc;

use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::MicroUsd;

/// Whose spending a cap counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CapScope {
    /// Of one key.
    Key(KeyId),
    /// Of all keys of an account.
    Account(AccountId),
    /// Of one session of an account.
    Session(AccountId, Arc<str>),
}

/// Over which time a cap counts. Windows are of UTC, so that they are the same everywhere
/// (quality P-12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Window {
    /// From one midnight to the next.
    Day,
    /// From the first of a month to the first of the next.
    Month,
    /// For ever.
    Total,
}

/// A limit of spending: what is posted and held together never exceeds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cap {
    /// Whose spending.
    pub scope: CapScope,
    /// Over which time.
    pub window: Window,
    /// At most so much; 0 blocks.
    pub limit: MicroUsd,
}
