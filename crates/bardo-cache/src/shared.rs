//! The port to short-lived values that several processes of one gateway share.
//!
//! A value has a [`SharedName`] and lives for a stated time. A process may claim a name: it holds
//! the name by a lease that it renews, and others see whether the holder is still alive. Stores keep
//! names as keyed digests and values encrypted; see [`crate::vault`].

use std::time::Duration;

use crate::second::{LevelFuture, LevelLosses, Loss};

/// Name of a shared value. Two names are the same where kind and parts are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SharedName {
    /// What the value is, a word of this program.
    pub kind: &'static str,
    /// Whose it is, and which of them.
    pub parts: Vec<String>,
}

impl SharedName {
    /// A name of these parts.
    #[must_use]
    pub fn new(kind: &'static str, parts: &[&str]) -> Self {
        Self {
            kind,
            parts: parts.iter().map(|&part| part.to_owned()).collect(),
        }
    }
}

/// The right to change a name that this process claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedLease {
    /// The name that is held.
    pub name: SharedName,
    /// Tells this claim from all others of the name.
    pub token: [u8; 16],
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedClaim {
    /// The name had no value, and is held now.
    Held(SharedLease),
    /// The name has a value.
    Taken {
        /// The value that another claim gave it.
        value: Vec<u8>,
        /// Whether the claimant still renews its lease.
        is_alive: bool,
    },
}

/// Messages of a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedPosts {
    /// The number of the last message.
    pub last: u64,
    /// The messages in their order, as far as they are still kept and readable.
    pub messages: Vec<Vec<u8>>,
}

/// Short-lived values that several processes share. Every call ends within the store's deadline.
pub trait SharedValues: Send + Sync {
    /// The value of a name; `None` where there is none.
    fn read<'a>(&'a self, name: &'a SharedName) -> LevelFuture<'a, Result<Option<Vec<u8>>, Loss>>;

    /// Keeps a value for a time, in place of another one.
    fn write<'a>(
        &'a self,
        name: &'a SharedName,
        value: &'a [u8],
        keep: Duration,
    ) -> LevelFuture<'a, Result<(), Loss>>;

    /// Keeps a value for a time where the name has none, and holds the name by a lease.
    fn claim<'a>(
        &'a self,
        name: &'a SharedName,
        value: &'a [u8],
        keep: Duration,
        lease: Duration,
    ) -> LevelFuture<'a, Result<SharedClaim, Loss>>;

    /// Renews a lease.
    fn renew<'a>(
        &'a self,
        held: &'a SharedLease,
        lease: Duration,
    ) -> LevelFuture<'a, Result<(), Loss>>;

    /// Changes the value of a claimed name, and renews its lease.
    fn change<'a>(
        &'a self,
        held: &'a SharedLease,
        value: &'a [u8],
        keep: Duration,
        lease: Duration,
    ) -> LevelFuture<'a, Result<(), Loss>>;

    /// Ends a claim: with the value that the name has from now on, or without one.
    fn end<'a>(
        &'a self,
        held: &'a SharedLease,
        value: Option<(&'a [u8], Duration)>,
    ) -> LevelFuture<'a, Result<(), Loss>>;

    /// Adds a message to a channel that every process can read for a while.
    fn post<'a>(
        &'a self,
        channel: &'static str,
        message: &'a [u8],
    ) -> LevelFuture<'a, Result<(), Loss>>;

    /// The messages of a channel after the one of number `after`; without it, the number of the last
    /// one alone.
    fn posts<'a>(
        &'a self,
        channel: &'static str,
        after: Option<u64>,
    ) -> LevelFuture<'a, Result<SharedPosts, Loss>>;

    /// What was lost so far.
    fn losses(&self) -> &LevelLosses;

    /// Whether the store answers: `up` or `down`.
    fn mode(&self) -> &'static str;
}
