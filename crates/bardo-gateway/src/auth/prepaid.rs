//! Keys of the store: each spends an account's money, within its scopes.

use std::cell::RefCell;
use std::collections::HashMap;
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

/// Number of callers that a thread remembers; beyond it all are forgotten.
const REMEMBERED: usize = 1_024;

/// The caller with a key. A request clones the ids of its caller many times, and threads that clone
/// one id wait for each other. So each thread makes its own copies when it meets a record.
fn holder(record: &Arc<KeyRecord>) -> Principal {
    thread_local! {
        static MET: RefCell<HashMap<usize, (Arc<KeyRecord>, Principal)>> = RefCell::default();
    }
    MET.with_borrow_mut(|met| {
        // The record is kept, so its address stays its own.
        let address = Arc::as_ptr(record).addr();
        if let Some((_, known)) = met.get(&address) {
            return known.clone();
        }
        if met.len() >= REMEMBERED {
            met.clear();
        }
        let holder = Principal {
            account: record.account.unshared(),
            payer: Payer::Prepaid(Arc::new(PayerTerms::of_key(record))),
        };
        met.insert(address, (Arc::clone(record), holder.clone()));
        holder
    })
}
