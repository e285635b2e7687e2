//! Tokens of Privy: `Bearer privy_<jwt>`. Their holder draws on the prepaid account of its subject.

mod key_set;
mod source;
mod token;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use bardo_access::{Moment, PayerTerms};
use bardo_engine::{Payer, Principal};
use bardo_providers::transport::Transport;
use bardo_types::ids::{AccountId, KeyId};
use sha2::{Digest as _, Sha256};

use self::key_set::KeySet;
use self::source::{FetchedKeySet, KeySetAddress, KeySetSource, KeySetStatus};
use self::token::{Claims, Expected, TokenError, verify};
use super::{Authentication, Authenticator, Denied};
use crate::config::PrivyConfig;

const PREFIX: &str = "privy_";
/// Tokens whose signature was verified and is not verified again before they end.
const REMEMBERED: usize = 20_000;

/// Verifies tokens of one application.
pub(crate) struct Privy(Arc<PrivyInner>);

struct PrivyInner {
    expected: Expected,
    source: KeySetSource,
    verified: RwLock<HashMap<[u8; 32], VerifiedToken>>,
}

struct VerifiedToken {
    caller: Principal,
    until_ms: u64,
    /// The set of keys that verified it: with another, it is verified again.
    by: Arc<FetchedKeySet>,
}

impl Privy {
    /// Takes the settings of an application. A file of keys is read here and now.
    pub(crate) fn new(
        config: &PrivyConfig,
        transport: Transport,
        now: Instant,
    ) -> Result<Self, String> {
        let source = match &config.jwks_file {
            Some(file) => {
                let refuse =
                    |reason: String| format!("`auth.privy.jwks_file` {}: {reason}", file.display());
                let text = std::fs::read(file).map_err(|error| refuse(error.to_string()))?;
                KeySetSource::pinned(KeySet::parse(&text).map_err(refuse)?, now)
            }
            None => {
                let url = config.jwks_url.clone().unwrap_or_else(|| {
                    format!(
                        "https://auth.privy.io/api/v1/apps/{}/jwks.json",
                        config.app_id
                    )
                });
                let published = KeySetAddress::new(&url, transport)
                    .map_err(|reason| format!("`auth.privy.jwks_url`: {reason}"))?;
                KeySetSource::published(published)
            }
        };
        let or_usual =
            |own: &Option<String>, usual: &str| own.clone().unwrap_or_else(|| usual.to_owned());
        let expected = Expected {
            issuer: or_usual(&config.issuer, "privy.io"),
            audience: or_usual(&config.audience, &config.app_id),
        };
        Ok(Self(Arc::new(PrivyInner {
            expected,
            source,
            verified: RwLock::default(),
        })))
    }
}

impl Authenticator for Privy {
    fn authenticate(&self, credential: &str, _: IpAddr, now: Moment) -> Option<Authentication> {
        let token = credential.strip_prefix(PREFIX)?;
        let standing = self.0.source.standing(now.at);
        if let KeySetStatus::Good(held) = &standing {
            match self.0.verify(token, held, now) {
                // There may be a key of that name by now.
                Err(TokenError::UnknownKey) => {}
                other => return Some(Authentication::Now(other.map_err(wrong))),
            }
        }
        let (inner, token) = (Arc::clone(&self.0), token.to_owned());
        Some(Authentication::Later(Box::pin(async move {
            inner.source.refresh(now.at).await;
            match inner.source.standing(now.at) {
                KeySetStatus::Good(held) | KeySetStatus::Old(held) => {
                    inner.verify(&token, &held, now).map_err(wrong)
                }
                KeySetStatus::Nothing => Err(Denied::Unavailable {
                    retry_after_ms: 3_000,
                }),
            }
        })))
    }
}

fn wrong(error: TokenError) -> Denied {
    tracing::debug!(?error, "a Privy token was refused");
    Denied::Wrong
}

impl PrivyInner {
    fn verify(
        &self,
        token: &str,
        held: &Arc<FetchedKeySet>,
        now: Moment,
    ) -> Result<Principal, TokenError> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        {
            let verified = self.verified.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = verified.get(&digest)
                && known.until_ms > now.unix_ms
                && Arc::ptr_eq(&known.by, held)
            {
                return Ok(known.caller.clone());
            }
        }
        let claims = verify(token, &held.keys, &self.expected, now.unix_ms)?;
        let caller = holder(&claims);
        let mut verified = self
            .verified
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if verified.len() >= REMEMBERED {
            verified
                .retain(|_, known| known.until_ms > now.unix_ms && Arc::ptr_eq(&known.by, held));
            if verified.len() >= REMEMBERED {
                // It only saves work.
                verified.clear();
            }
        }
        let known = VerifiedToken {
            caller: caller.clone(),
            until_ms: claims.until_ms,
            by: Arc::clone(held),
        };
        verified.insert(digest, known);
        Ok(caller)
    }
}

/// The account of a subject, with a key that stands for its tokens. Subjects are ids such as
/// `did:privy:…`; one that is not takes the digest's name, in a space of its own.
fn holder(claims: &Claims) -> Principal {
    let subject = &claims.subject;
    let plain = format!("privy:{subject}");
    let name = if AccountId::parse(&plain).is_ok() {
        plain
    } else {
        let digest = Sha256::digest(subject.as_bytes());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("privy-sha256:{hex}")
    };
    const PLAIN: &str = "a name of plain characters and bounded length is an id";
    let account = AccountId::parse(&name).expect(PLAIN);
    let id = KeyId::parse(&name).expect(PLAIN);
    let terms = PayerTerms {
        // Usage is shown by this name.
        key: Some(id.clone()),
        ..PayerTerms::without_key(id)
    };
    Principal {
        account,
        payer: Payer::Prepaid(Arc::new(terms)),
    }
}

#[cfg(test)]
mod tests;
