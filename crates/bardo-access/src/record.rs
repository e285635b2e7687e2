//! What is known of a key.

mod shape;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::{BasisPoints, MicroUsd};

use crate::cache_permission::CachePermission;
use crate::key::KeyKind;
use crate::limit::Allowance;
use crate::network::Network;
use crate::tier::KeyTier;

/// The restrictions of a key. Empty lists restrict nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes {
    /// Patterns of models. What a pattern names is known to the catalog of the caller.
    pub models: Vec<String>,
    /// Backends, as [`bardo_types::backend::BackendName::is_meant_by`] reads them.
    pub backends: Vec<String>,
    /// Networks that it may be used from.
    pub networks: Vec<Network>,
    /// Requests per minute; the tier's when absent.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute; the tier's when absent.
    pub tokens_per_minute: Option<u64>,
    /// Tokens per hour of this key; the tier's or the account's when absent.
    pub allowance: Option<Allowance>,
    /// Spending caps of the key.
    pub spend: SpendCaps,
    /// Caps per day (UTC) of subsystems and groups of subsystems, by their names.
    pub subsystem_caps: BTreeMap<String, MicroUsd>,
    /// Ranges in which the program that holds the key may move its own caps.
    pub ranges: CapRanges,
    /// Part of the gateway's cache in the requests of the key; `None`: as for all callers.
    pub cache: Option<CachePermission>,
}

/// Stored scopes that cannot be read. Such a key is unusable rather than unrestricted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the scopes of a key are invalid: {0}")]
pub struct InvalidScopes(String);

impl Scopes {
    /// The scopes as they are stored.
    #[must_use]
    pub fn to_json(&self) -> String {
        shape::write(self)
    }

    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    /// On anything that is not understood, unknown members too: a restriction that a newer version
    /// wrote must not be ignored.
    pub fn from_json(text: &str) -> Result<Self, InvalidScopes> {
        shape::read(text)
    }
}

/// The caps on spending, one for each window; `None` sets no cap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendCaps {
    /// Cap per session.
    pub session: Option<MicroUsd>,
    /// Per day (UTC).
    pub day: Option<MicroUsd>,
    /// Per month (UTC).
    pub month: Option<MicroUsd>,
    /// Cap over the lifetime of the key.
    pub total: Option<MicroUsd>,
}

/// Lowest and highest value of a cap, both allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapRange {
    /// The lowest cap.
    pub min: MicroUsd,
    /// The highest cap.
    pub max: MicroUsd,
}

impl CapRange {
    /// The range from `min` to `max`; `None` where `min` is above `max`.
    #[must_use]
    pub fn new(min: MicroUsd, max: MicroUsd) -> Option<Self> {
        (min <= max).then_some(Self { min, max })
    }

    /// Whether a cap lies in the range. No cap at all is above every range.
    #[must_use]
    pub fn holds(self, cap: Option<MicroUsd>) -> bool {
        cap.is_some_and(|cap| (self.min..=self.max).contains(&cap))
    }
}

/// Ranges that the owner of a key sets for its caps. A cap without a range is moved by the owner
/// alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CapRanges {
    /// Range of the cap per day (UTC).
    pub day: Option<CapRange>,
    /// Range of the cap per month (UTC).
    pub month: Option<CapRange>,
}

/// Whether a key can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// The key can be used.
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
    /// The account that pays for its requests.
    pub account: AccountId,
    /// The use that the key is made for.
    pub kind: KeyKind,
    /// A name for people.
    pub name: String,
    /// bcrypt of the secret part.
    pub hash: String,
    /// The restrictions of the key.
    pub scopes: Scopes,
    /// The product's tier, if any.
    pub tier: Option<KeyTier>,
    /// The addition to costs, where it differs from the tier's.
    pub spread: Option<BasisPoints>,
    /// Creation time, in Unix milliseconds.
    pub created_at_ms: u64,
    /// From this Unix millisecond on it is not taken any more.
    pub expires_at_ms: Option<u64>,
    /// From this Unix millisecond on it is not taken any more, because somebody took it back.
    pub revoked_at_ms: Option<u64>,
    /// The key that it replaced; of several rotations the first, whose spending it goes on with.
    pub replaces: Option<KeyId>,
}

impl KeyRecord {
    /// The key under whose name its spending is counted, so that a rotation is no fresh start.
    #[must_use]
    pub fn counted_as(&self) -> &KeyId {
        self.replaces.as_ref().unwrap_or(&self.id)
    }

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

/// A key that is restricted to nothing.
#[cfg(test)]
pub(crate) fn sample() -> KeyRecord {
    KeyRecord {
        id: KeyId::parse("k").expect("an id"),
        account: AccountId::parse("a").expect("an id"),
        kind: KeyKind::Spend,
        name: String::new(),
        hash: String::new(),
        scopes: Scopes::default(),
        tier: None,
        spread: None,
        created_at_ms: 0,
        expires_at_ms: None,
        revoked_at_ms: None,
        replaces: None,
    }
}
