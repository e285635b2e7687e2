//! Who calls: the authenticator port and static keys from the configuration.

use bardo_engine::Principal;
use bardo_types::secret::Secret;
use http::header::{AUTHORIZATION, HeaderMap};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Why a caller was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// There is no credential.
    Missing,
    /// There is one, and it is wrong.
    Wrong,
    /// There are two, of different callers.
    Ambiguous,
    /// The listener is open to this machine only, and a web page of somewhere else calls.
    ForeignPage,
}

/// Establishes who calls. The first authenticator that recognizes a credential decides; one that
/// is recognized and wrong is refused, never skipped (C-152).
pub(crate) trait Authenticator: Send + Sync {
    /// `None` when the credential is not of this authenticator's kind.
    fn authenticate(&self, headers: &HeaderMap) -> Option<Result<Principal, Denied>>;
}

/// Keys from the configuration.
pub(crate) struct StaticKeys(Vec<(Principal, [u8; 32])>);

impl StaticKeys {
    pub(crate) fn new<'a>(keys: impl IntoIterator<Item = (Principal, &'a Secret)>) -> Self {
        Self(
            keys.into_iter()
                .map(|(owner, key)| (owner, digest(key.expose())))
                .collect(),
        )
    }
}

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

impl Authenticator for StaticKeys {
    fn authenticate(&self, headers: &HeaderMap) -> Option<Result<Principal, Denied>> {
        if self.0.is_empty() {
            return None;
        }
        let mut presented = credentials(headers).peekable();
        if presented.peek().is_none() {
            return Some(Err(Denied::Missing));
        }
        let mut caller: Option<&Principal> = None;
        // Each has to be good, and all of the same caller (C-152).
        for key in presented {
            match (self.caller(key), caller) {
                (None, _) => return Some(Err(Denied::Wrong)),
                (Some(other), Some(known)) if other != known => {
                    return Some(Err(Denied::Ambiguous));
                }
                (found, _) => caller = found,
            }
        }
        caller.map(|owner| Ok(owner.clone()))
    }
}

impl StaticKeys {
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

/// Without keys: whoever can reach the listener, which is then bound to loopback. A browser can be
/// made to call loopback by any page, so calls with a foreign `Origin` are turned away.
pub(crate) struct OpenLoopback;

impl Authenticator for OpenLoopback {
    fn authenticate(&self, headers: &HeaderMap) -> Option<Result<Principal, Denied>> {
        let origin = headers
            .get(http::header::ORIGIN)
            .and_then(|origin| origin.to_str().ok());
        let is_local = origin.is_none_or(|origin| {
            let host = origin.split_once("://").map_or("", |(_, rest)| rest);
            ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
                host.strip_prefix(local)
                    .is_some_and(|port| port.is_empty() || port.starts_with(':'))
            })
        });
        Some(if is_local {
            Principal::owner("local").map_err(|_| Denied::Wrong)
        } else {
            Err(Denied::ForeignPage)
        })
    }
}

/// `Authorization: Bearer` and `x-api-key`; Anthropic's SDKs send either, or both (reference sheet
/// `anthropic.md` §1).
fn credentials(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let bearer = headers
        .get_all(AUTHORIZATION)
        .into_iter()
        .filter_map(|value| {
            let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(key)
        });
    let plain = headers.get_all("x-api-key").into_iter();
    bearer
        .chain(plain.filter_map(|value| value.to_str().ok()))
        .map(str::trim)
        .filter(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|&(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn either_header_carries_the_key_and_a_wrong_one_is_refused() {
        let secret = Secret::new("bardo_sk_a_1234567890".into());
        let keys = StaticKeys::new([(Principal::owner("alice").unwrap(), &secret)]);
        let check =
            |pairs: &[(&'static str, &'static str)]| keys.authenticate(&headers(pairs)).unwrap();
        let alice = Ok(Principal::owner("alice").unwrap());
        assert_eq!(
            check(&[("authorization", "Bearer bardo_sk_a_1234567890")]),
            alice
        );
        assert_eq!(
            check(&[("authorization", "bearer  bardo_sk_a_1234567890")]),
            alice
        );
        assert_eq!(check(&[("x-api-key", "bardo_sk_a_1234567890")]), alice);
        assert_eq!(
            check(&[("x-api-key", "bardo_sk_a_1234567891")]),
            Err(Denied::Wrong)
        );
        assert_eq!(
            check(&[
                ("authorization", "Bearer wrong"),
                ("x-api-key", "bardo_sk_a_1234567890")
            ]),
            Err(Denied::Wrong)
        );
        assert_eq!(check(&[("authorization", "Bearer ")]), Err(Denied::Missing));
        assert_eq!(check(&[]), Err(Denied::Missing));
    }

    #[test]
    fn an_open_listener_turns_foreign_pages_away() {
        let check = |pairs: &[(&'static str, &'static str)]| {
            OpenLoopback.authenticate(&headers(pairs)).unwrap().is_ok()
        };
        assert!(check(&[]));
        for page in [
            "http://localhost:3000",
            "http://127.0.0.1",
            "http://[::1]:8080",
            "http://[::1]",
        ] {
            assert!(check(&[("origin", page)]), "{page}");
        }
        for page in [
            "https://evil.example",
            "null",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example:80",
        ] {
            assert!(!check(&[("origin", page)]), "{page}");
        }
    }
}
