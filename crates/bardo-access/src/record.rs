//! What is known of a key.

use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::{BasisPoints, MicroUsd};

use crate::key::KeyKind;
use crate::network::Network;
use crate::tier::Tier;

/// What a key is restricted to. Empty lists restrict nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes {
    /// Models by the catalog's name or as named; a trailing `*` matches any ending.
    pub models: Vec<String>,
    /// Backends, by name or by the name before its `/`.
    pub backends: Vec<String>,
    /// Networks that it may be used from.
    pub networks: Vec<Network>,
    /// Requests per minute; the tier's when absent.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute; the tier's when absent.
    pub tokens_per_minute: Option<u64>,
    /// What it may spend.
    pub spend: SpendCaps,
}

/// What may be spent over each window; absent: as much as there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendCaps {
    /// Per session.
    pub session: Option<MicroUsd>,
    /// Per day (UTC).
    pub day: Option<MicroUsd>,
    /// Per month (UTC).
    pub month: Option<MicroUsd>,
    /// In all.
    pub total: Option<MicroUsd>,
}

/// Whether a key can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// It can.
    Active,
    /// Its time is over.
    Expired,
    /// Somebody took it back.
    Revoked,
}

/// A key as it is kept. Nothing in here lets anybody use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its public part.
    pub id: KeyId,
    /// Whose money it spends.
    pub account: AccountId,
    /// What it is for.
    pub kind: KeyKind,
    /// A name for people.
    pub name: String,
    /// bcrypt of the secret part (AUTH-02).
    pub hash: String,
    /// What it is restricted to.
    pub scopes: Scopes,
    /// The product's tier, if any.
    pub tier: Option<Tier>,
    /// What is added to costs, where it differs from the tier's.
    pub spread: Option<BasisPoints>,
    /// Unix milliseconds.
    pub created_at_ms: u64,
    /// From this Unix millisecond on it is not taken any more.
    pub expires_at_ms: Option<u64>,
    /// From this Unix millisecond on it is not taken any more, because somebody took it back.
    pub revoked_at_ms: Option<u64>,
    /// The key that it replaced.
    pub replaces: Option<KeyId>,
}

impl KeyRecord {
    /// Whether it can be used at `now_ms`.
    #[must_use]
    pub fn state(&self, now_ms: u64) -> KeyState {
        let over = |end: Option<u64>| end.is_some_and(|end| now_ms >= end);
        if over(self.revoked_at_ms) {
            KeyState::Revoked
        } else if over(self.expires_at_ms) {
            KeyState::Expired
        } else {
            KeyState::Active
        }
    }
}
