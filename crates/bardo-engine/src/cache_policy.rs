//! What the owner says of stored answers.

use bardo_cache::scope::Scope;
use bardo_cache::store::Limits;

/// What the owner says of stored answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachePolicy {
    /// Answers are stored and served at all.
    pub enabled: bool,
    /// Identical requests at the same time share one call of a provider.
    pub single_flight: bool,
    /// A stored answer serves a caller that asked for a new one when no backend answers.
    pub last_resort: bool,
    /// Callers that share answers.
    pub scope: Scope,
    /// Answers of class `private` are kept too, encrypted and for a short time.
    pub keeps_private: bool,
    /// Largest body, in bytes, of a request that does not ask for the cache itself.
    pub unasked_bytes: usize,
    /// Budget of bytes and lifetimes.
    pub limits: Limits,
    /// Digest of all settings that can change an answer.
    pub revision: Vec<u8>,
}

impl Default for CachePolicy {
    /// No answer is stored.
    fn default() -> Self {
        Self {
            enabled: false,
            single_flight: true,
            last_resort: true,
            scope: Scope::default(),
            keeps_private: false,
            unasked_bytes: 32 << 10,
            limits: Limits::default(),
            revision: Vec::new(),
        }
    }
}
