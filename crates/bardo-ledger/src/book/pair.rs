//! An account and a request as a key: found without making one, since a clone of an id that all
//! threads use is paid for by all of them.

use bardo_types::ids::{AccountId, RequestId};
use hashbrown::Equivalent;

/// As it is kept.
pub(super) type RequestKey = (AccountId, RequestId);

/// As it is looked up. It hashes like the tuple of both.
#[derive(Hash)]
pub(super) struct RequestKeyRef<'a>(pub(super) &'a AccountId, pub(super) &'a RequestId);

impl Equivalent<RequestKey> for RequestKeyRef<'_> {
    fn equivalent(&self, (account, request): &RequestKey) -> bool {
        self.1 == request && self.0 == account
    }
}
