//! Who calls. Every credential that is present has to be good, and all have to be of one caller:
//! the first authenticator that recognizes a credential decides on it, and one that is wrong is
//! refused, never skipped.
//!
//! What is known is answered at once; only what a store or a computation has to be asked for is
//! answered by a future.

mod loopback;
mod prepaid;
mod privy;
mod static_keys;

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use bardo_access::{
    KeyError, KeyPresence, KeyRefusal, KeyStore, Moment, PayerTerms, Presence, PresentedKey,
    Verifier, VerifierSettings,
};
use bardo_engine::{Payer, Principal};
use bardo_types::clock::{Clock, SystemClock};
use http::header::{AUTHORIZATION, HeaderMap, HeaderName};

use self::loopback::{is_own_host, is_own_page};
use self::prepaid::PrepaidKeys;
pub(crate) use self::privy::Privy;
pub(crate) use self::static_keys::StaticKeys;

/// Why a caller was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// There is no credential.
    Missing,
    /// There is one, and it is wrong. Callers are told the same for this, an expired and a revoked
    /// one; the log tells them apart.
    Wrong,
    /// The key has expired.
    Expired,
    /// The key was revoked.
    Revoked,
    /// There are two, of different callers.
    Ambiguous,
    /// The listener is open to this machine only, and a web page of somewhere else calls.
    ForeignPage,
    /// The listener is open to this machine only, and is called by a name that is not its own: a
    /// page of that name may have been pointed here.
    ForeignHost,
    /// The key reads, and this spends.
    ReadOnly,
    /// The key may not be used from the caller's address.
    Network,
    /// Credentials cannot be verified right now: there are too many.
    Busy {
        /// When to come again.
        retry_after_ms: u64,
    },
    /// Credentials cannot be verified right now: whoever knows them does not answer.
    Unavailable {
        /// When to come again.
        retry_after_ms: u64,
    },
}

impl From<KeyRefusal> for Denied {
    fn from(refusal: KeyRefusal) -> Self {
        match refusal {
            KeyRefusal::Malformed | KeyRefusal::Wrong => Self::Wrong,
            KeyRefusal::Expired => Self::Expired,
            KeyRefusal::Revoked => Self::Revoked,
            KeyRefusal::Busy { retry_after_ms } => Self::Busy { retry_after_ms },
            KeyRefusal::Unavailable { retry_after_ms } => Self::Unavailable { retry_after_ms },
        }
    }
}

pub(crate) type AuthOutcome = Result<Principal, Denied>;

/// The result of an authentication, at once or after a check that takes time.
#[must_use]
pub(crate) enum Authentication {
    Now(AuthOutcome),
    Later(Pin<Box<dyn Future<Output = AuthOutcome> + Send>>),
}

impl Authentication {
    /// Waits for whoever will tell.
    pub(crate) async fn outcome(self) -> AuthOutcome {
        match self {
            Self::Now(outcome) => outcome,
            Self::Later(later) => later.await,
        }
    }
}

/// Recognizes one kind of credential.
pub(crate) trait Authenticator: Send + Sync {
    /// `None` when the credential is not of this authenticator's kind.
    fn authenticate(&self, credential: &str, from: IpAddr, now: Moment) -> Option<Authentication>;
}

/// The right that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Looking: models, balance, usage, receipts.
    Read,
    /// Having work done.
    Spend,
}

/// A request before its caller is known.
pub(crate) struct UnverifiedCall<'a> {
    pub(crate) headers: &'a HeaderMap,
    pub(crate) peer: IpAddr,
    pub(crate) access: Access,
}

/// The keys of a store: verified, and whether there are any. Outlives reloads, so that what was
/// verified stays known.
#[derive(Clone)]
pub(crate) struct StoredKeys {
    pub(crate) verifier: Arc<Verifier>,
    presence: Arc<Presence>,
}

impl StoredKeys {
    pub(crate) fn over(store: Arc<dyn KeyStore>) -> Self {
        let settings = VerifierSettings::default();
        Self {
            verifier: Arc::new(Verifier::new(Arc::clone(&store), settings, Instant::now())),
            presence: Arc::new(Presence::new(store)),
        }
    }

    /// Whether there is any.
    pub(crate) async fn exist(&self) -> Result<bool, KeyError> {
        match self.presence.keys() {
            KeyPresence::Some => Ok(true),
            KeyPresence::None => Ok(false),
            KeyPresence::Ask(later) => later.await,
        }
    }
}

/// The credentials and bounds that a [`Gatekeeper`] checks.
pub(crate) struct Credentials {
    pub(crate) fixed: StaticKeys,
    pub(crate) stored: Option<StoredKeys>,
    pub(crate) privy: Option<Privy>,
    /// Only this machine can reach the listener.
    pub(crate) is_loopback: bool,
    /// Requests are for sale, so that nobody is the owner for want of a key.
    pub(crate) sells: bool,
    /// Origins of web pages that may call (`server.cors.origins`).
    pub(crate) origins: Vec<String>,
}

/// Lets callers in, or not.
pub(crate) struct Gatekeeper {
    authenticators: Vec<Box<dyn Authenticator>>,
    open: AnonymousAccess,
    origins: Vec<String>,
    clock: Box<dyn Clock>,
}

/// Whether callers without a credential are let in.
#[derive(Clone)]
enum AnonymousAccess {
    Never,
    /// As long as there is no key in the store.
    WithoutKeys(Arc<Presence>),
    Always,
}

impl Gatekeeper {
    pub(crate) fn new(credentials: Credentials) -> Self {
        let Credentials {
            fixed,
            stored,
            privy,
            is_loopback,
            sells,
            origins,
        } = credentials;
        let open = match &stored {
            _ if sells || !is_loopback || !fixed.is_empty() || privy.is_some() => {
                AnonymousAccess::Never
            }
            Some(stored) => AnonymousAccess::WithoutKeys(Arc::clone(&stored.presence)),
            None => AnonymousAccess::Always,
        };
        // Keys of the configuration may look like those of the store, so they come first.
        let mut authenticators: Vec<Box<dyn Authenticator>> = vec![Box::new(fixed)];
        authenticators.push(Box::new(PrepaidKeys::new(
            stored.map(|stored| stored.verifier),
        )));
        if let Some(privy) = privy {
            authenticators.push(Box::new(privy));
        }
        Self {
            authenticators,
            open,
            origins,
            clock: Box::new(SystemClock),
        }
    }

    /// Authenticates the caller and checks that it may do what the request needs.
    pub(crate) fn admit(&self, call: &UnverifiedCall<'_>) -> Authentication {
        let now = Moment {
            unix_ms: self.clock.now_ms(),
            at: Instant::now(),
        };
        let bounds = Bounds {
            peer: call.peer,
            access: call.access,
        };
        let (mut first, mut others) = (None, Vec::new());
        let (mut previous, mut is_strange) = (None, false);
        for credential in credentials(call.headers) {
            // SDKs of Anthropic may send the same key in both headers.
            if previous.replace(credential) == Some(credential) {
                continue;
            }
            match self.recognize(credential, call.peer, now) {
                None => is_strange = true,
                verdict if first.is_none() => first = verdict,
                verdict => others.extend(verdict),
            }
        }
        match first {
            None if is_strange => self.unrecognized(call, Denied::Wrong),
            None => self.unrecognized(call, Denied::Missing),
            // Beside a credential that somebody here knows, one that nobody knows is wrong.
            Some(_) if is_strange => Authentication::Now(Err(Denied::Wrong)),
            Some(Authentication::Now(outcome)) if others.is_empty() => {
                Authentication::Now(bounds.check(outcome))
            }
            Some(first) => Authentication::Later(Box::pin(async move {
                bounds.check(all_of_one_caller(first, others).await)
            })),
        }
    }

    fn recognize(&self, credential: &str, from: IpAddr, now: Moment) -> Option<Authentication> {
        self.authenticators
            .iter()
            .find_map(|authenticator| authenticator.authenticate(credential, from, now))
    }

    /// There is nothing that anybody here could verify. Where no keys are, whoever can reach the
    /// listener is its owner, whatever an SDK insists on sending.
    fn unrecognized(&self, call: &UnverifiedCall<'_>, otherwise: Denied) -> Authentication {
        let owner = if !is_own_page(call.headers, &self.origins) {
            Err(Denied::ForeignPage)
        } else if !is_own_host(call.headers) {
            Err(Denied::ForeignHost)
        } else {
            Principal::owner("local").map_err(|_| otherwise)
        };
        match &self.open {
            AnonymousAccess::Never => Authentication::Now(Err(otherwise)),
            AnonymousAccess::Always => Authentication::Now(owner),
            AnonymousAccess::WithoutKeys(presence) => match presence.keys() {
                KeyPresence::Some => Authentication::Now(Err(otherwise)),
                KeyPresence::None => Authentication::Now(owner),
                KeyPresence::Ask(later) => Authentication::Later(Box::pin(async move {
                    match later.await {
                        Ok(true) => Err(otherwise),
                        Ok(false) => owner,
                        Err(_) => Err(Denied::Unavailable {
                            retry_after_ms: 1_000,
                        }),
                    }
                })),
            },
        }
    }
}

/// Each has to be good, and all of the same caller.
async fn all_of_one_caller(first: Authentication, others: Vec<Authentication>) -> AuthOutcome {
    let caller = first.outcome().await?;
    let mut is_ambiguous = false;
    for other in others {
        is_ambiguous |= other.outcome().await? != caller;
    }
    if is_ambiguous {
        Err(Denied::Ambiguous)
    } else {
        Ok(caller)
    }
}

/// The bounds that a key may have beside its scopes.
#[derive(Clone, Copy)]
struct Bounds {
    peer: IpAddr,
    access: Access,
}

/// Whether a caller under these terms may come from this address for this.
pub(crate) fn check_terms(terms: &PayerTerms, peer: IpAddr, access: Access) -> Result<(), Denied> {
    Bounds { peer, access }.check_terms(terms)
}

impl Bounds {
    fn check(self, outcome: AuthOutcome) -> AuthOutcome {
        if let Ok(Principal {
            payer: Payer::Prepaid(terms),
            ..
        }) = &outcome
        {
            self.check_terms(terms)?;
        }
        outcome
    }

    fn check_terms(self, terms: &PayerTerms) -> Result<(), Denied> {
        if !terms.may_call_from(self.peer) {
            Err(Denied::Network)
        } else if !terms.may_spend() && self.access == Access::Spend {
            Err(Denied::ReadOnly)
        } else {
            Ok(())
        }
    }
}

/// The public part of the key that a request presents, for logs; nothing of any other credential.
pub(crate) fn presented_id(headers: &HeaderMap) -> Option<String> {
    credentials(headers).find_map(|credential| match PresentedKey::parse(credential)? {
        Ok(key) => Some(key.id.to_string()),
        Err(_) => None,
    })
}

/// Whether a request presents a key of the form of the gateway's own, good or not.
pub(crate) fn presents_own_key(headers: &HeaderMap) -> bool {
    credentials(headers).any(|credential| credential.starts_with("bardo_"))
}

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// `Authorization: Bearer` and `x-api-key`; Anthropic's SDKs send either, or both.
fn credentials(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let bearer = headers
        .get_all(AUTHORIZATION)
        .into_iter()
        .filter_map(|value| {
            let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(key)
        });
    let plain = headers.get_all(X_API_KEY).into_iter();
    bearer
        .chain(plain.filter_map(|value| value.to_str().ok()))
        .map(str::trim)
        .filter(|key| !key.is_empty())
}

#[cfg(test)]
mod tests;
