//! An account and a request as a key: found without making one, since a clone of an id that all
//! threads use is paid for by all of them.

use bardo_types::ids::{AccountId, RequestId};
use hashbrown::Equivalent;

/// As it is kept.
pub(super) type Pair = (AccountId, RequestId);

/// As it is looked up. It hashes like the tuple of both.
#[derive(Hash)]
pub(super) struct Named<'a>(pub(super) &'a AccountId, pub(super) &'a RequestId);

impl Equivalent<Pair> for Named<'_> {
    fn equivalent(&self, (account, request): &Pair) -> bool {
        self.1 == request && self.0 == account
    }
}
