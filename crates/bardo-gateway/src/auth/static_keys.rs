//! Keys from the configuration: the operator's own.

use std::net::IpAddr;

use bardo_access::Moment;
use bardo_engine::Principal;
use bardo_types::secret::Secret;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::{Authentication, Authenticator};

/// Keys from the configuration.
#[derive(Default)]
pub(crate) struct StaticKeys(Vec<(Principal, [u8; 32])>);

impl StaticKeys {
    pub(crate) fn new<'a>(keys: impl IntoIterator<Item = (Principal, &'a Secret)>) -> Self {
        Self(
            keys.into_iter()
                .map(|(owner, key)| (owner, digest(key.expose())))
                .collect(),
        )
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every key is compared, each in constant time, so that timing tells nothing.
    fn caller(&self, key: &str) -> Option<&Principal> {
        let presented = digest(key);
        let mut found = None;
        for (owner, known) in &self.0 {
            if bool::from(known.ct_eq(&presented)) {
                found = Some(owner);
            }
        }
        found
    }
}

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

impl Authenticator for StaticKeys {
    /// Returns `None` for an unknown credential, because it may still be a key of the store.
    fn authenticate(&self, credential: &str, _: IpAddr, _: Moment) -> Option<Authentication> {
        if self.is_empty() {
            return None;
        }
        self.caller(credential)
            .map(|owner| Authentication::Now(Ok(owner.clone())))
    }
}
