//! Keys of the store: each spends an account's money, within its scopes.

use std::net::IpAddr;
use std::sync::Arc;

use bardo_access::{Checked, KeyKind, KeyRecord, Moment, PayerTerms, Verifier};
use bardo_engine::{Payer, Principal};

use super::{AuthOutcome, Authentication, Authenticator, Denied};

/// Verifies every credential with the prefix of our keys, even where there is no store, so that a
/// failed key is never taken for another identity.
pub(super) struct PrepaidKeys(Option<Arc<Verifier>>);

impl PrepaidKeys {
    pub(super) const fn new(verifier: Option<Arc<Verifier>>) -> Self {
        Self(verifier)
    }
}

impl Authenticator for PrepaidKeys {
    fn authenticate(&self, credential: &str, from: IpAddr, now: Moment) -> Option<Authentication> {
        let kind = KeyKind::claimed_by(credential);
        kind.map(|_| match &self.0 {
            None => Authentication::Now(Err(Denied::Wrong)),
            Some(verifier) => match verifier.check(credential, from, now) {
                bardo_access::KeyVerdict::Verified(record) => {
                    Authentication::Now(Ok(holder(&record)))
                }
                bardo_access::KeyVerdict::Refused(refusal) => {
                    Authentication::Now(told(Err(refusal)))
                }
                bardo_access::KeyVerdict::Slow(later) => {
                    Authentication::Later(Box::pin(async move { told(later.await) }))
                }
            },
        })
    }
}

fn told(checked: Checked) -> AuthOutcome {
    match checked {
        Ok(record) => Ok(holder(&record)),
        Err(refusal) => Err(refusal.into()),
    }
}

/// The caller with a key. All its requests clone the id of its account many times, so each has its
/// own copy.
fn holder(record: &KeyRecord) -> Principal {
    Principal {
        account: record.account.unshared(),
        payer: Payer::Prepaid(Arc::new(PayerTerms::of_key(record))),
    }
}
