//! The ports to where keys are kept and where counters live.

use std::pin::Pin;

use bardo_types::ids::{AccountId, KeyId};

use crate::limit::{Admission, LimitRequest, Throttled};
use crate::record::{KeyRecord, Scopes};

/// The future that every method of a store returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

/// Why a store of keys did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The store is locked, full, slow or unreachable. This says nothing about any key.
    #[error("the key store is unavailable: {0}")]
    Unavailable(String),
    /// There is a key of that id.
    #[error("a key with the id `{0}` already exists")]
    Exists(KeyId),
    /// There is no key of that id.
    #[error("no key has the id `{0}`")]
    Unknown(KeyId),
    /// Another change came first.
    #[error("the key `{0}` was changed meanwhile; try again")]
    Changed(KeyId),
}

/// How a change of a key is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Amendment {
    /// Line for the audit log: what changed, and by whose word.
    pub note: String,
    /// Scopes that the change was decided on; the change is refused where the key has others by
    /// now. `None`: any.
    pub from: Option<Scopes>,
}

impl Amendment {
    /// A change that holds whatever the scopes are.
    #[must_use]
    pub fn noted(note: impl Into<String>) -> Self {
        Self {
            note: note.into(),
            from: None,
        }
    }
}

/// Where keys are kept.
pub trait KeyStore: Send + Sync {
    /// The key of that id.
    fn find<'a>(&'a self, id: &'a KeyId) -> BoxFuture<'a, Result<Option<KeyRecord>, KeyError>>;

    /// Keeps a new key.
    fn insert(&self, record: KeyRecord) -> BoxFuture<'_, Result<(), KeyError>>;

    /// Changes what may change of a key: name, scopes, tier, spread, expiry, revocation. A
    /// revocation is never taken back. The audit log gets the note.
    fn update(&self, record: KeyRecord, how: Amendment) -> BoxFuture<'_, Result<(), KeyError>>;

    /// Keys in the order of their making; of one account or of all.
    fn list<'a>(
        &'a self,
        account: Option<&'a AccountId>,
    ) -> BoxFuture<'a, Result<Vec<KeyRecord>, KeyError>>;

    /// A number that rises with every change to any key, also by another process. Cheap: it is
    /// read at every use of a verified key.
    fn revision(&self) -> u64;

    /// Whether there is any key at all.
    fn is_empty(&self) -> BoxFuture<'_, Result<bool, KeyError>>;
}

/// Where counters live: in this process, or shared by several.
pub trait LimitStore: Send + Sync {
    /// Lets a request in, or says when it can come.
    fn admit<'a>(
        &'a self,
        request: &'a LimitRequest,
    ) -> BoxFuture<'a, Result<Admission, Throttled>>;

    /// The refusal of a request that is certain to be refused, whatever its size. Takes nothing and
    /// does no I/O. `None`: [`Self::admit`] decides.
    fn refuses(&self, request: &LimitRequest) -> Option<Throttled> {
        let _ = request;
        None
    }

    /// Corrects the tokens that were taken on account to the number that were used.
    fn correct(&self, request: &LimitRequest, reserved: u64, used: u64, now_ms: u64);

    /// `local`, `shared`, or `degraded` where the shared counters are lost and each process grants
    /// its share.
    fn mode(&self) -> &'static str;
}
