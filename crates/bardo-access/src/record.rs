//! What is known of a key.

mod shape;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

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

/// Stored scopes that cannot be read. Such a key is unusable rather than unrestricted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the scopes of a key are invalid: {0}")]
pub struct InvalidScopes(String);

impl Scopes {
    /// Whether a model may be asked for: by the name that the caller wrote, or by the catalog's
    /// name for the same model.
    #[must_use]
    pub fn allows_model(&self, requested: &str, catalog: Option<&str>) -> bool {
        let is_named = |name: &str| self.models.iter().any(|pattern| matches(pattern, name));
        self.models.is_empty() || is_named(requested) || catalog.is_some_and(is_named)
    }

    /// Whether a backend may be used: by its name (`direct/openai`) or by the part before the `/`.
    #[must_use]
    pub fn allows_backend(&self, backend: &str) -> bool {
        names_backend(&self.backends, backend)
    }

    /// Whether the key may be used from an address.
    #[must_use]
    pub fn allows_address(&self, address: IpAddr) -> bool {
        self.networks.is_empty() || self.networks.iter().any(|known| known.contains(address))
    }

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

/// A trailing `*` matches any ending.
fn matches(pattern: &str, name: &str) -> bool {
    pattern
        .strip_suffix('*')
        .map_or(pattern == name, |start| name.starts_with(start))
}

/// Whether a list of backends names this one; an empty list names all.
pub(crate) fn names_backend(list: &[String], backend: &str) -> bool {
    // Several keys of one provider are told apart by `#2`; they are one backend to its callers.
    let name = backend.split_once('#').map_or(backend, |(name, _)| name);
    let head = name.split_once('/').map_or(name, |(head, _)| head);
    list.is_empty()
        || list
            .iter()
            .any(|known| [backend, name, head].contains(&known.as_str()))
}

/// What may be spent over each window; absent: as much as there is.
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
