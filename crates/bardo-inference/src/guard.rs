//! Who may use the proxy: whoever has its token, and calls it by its own name.

use bardo_keystore::hex;
use bardo_types::secret::Secret;
use http::HeaderMap;
use http::header::{AUTHORIZATION, HOST};

use crate::refusal::ProxyRefusal;

/// The token of a proxy, and the port that it listens on.
pub(crate) struct ProxyGuard {
    token: Secret,
    port: u16,
}

impl ProxyGuard {
    /// A guard with a new random token.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub(crate) fn new(port: u16) -> Result<Self, getrandom::Error> {
        let mut random = [0; 24];
        getrandom::fill(&mut random)?;
        let token = Secret::new(format!("bardo-local-{}", hex(&random)));
        Ok(Self { token, port })
    }

    /// The token, for the tool alone.
    pub(crate) fn token(&self) -> &Secret {
        &self.token
    }

    /// Checks the name by which a request calls the proxy. A web page whose own name was pointed to
    /// this machine calls by that name (DNS rebinding).
    ///
    /// # Errors
    /// When it is another one.
    pub(crate) fn check_host(&self, headers: &HeaderMap) -> Result<(), ProxyRefusal> {
        let named = headers.get(HOST).and_then(|host| host.to_str().ok());
        let known = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port));
        match named {
            Some(host) if known.iter().any(|known| known.eq_ignore_ascii_case(host)) => Ok(()),
            _ => Err(ProxyRefusal::ForeignHost),
        }
    }

    /// Checks the key of a request: `Authorization: Bearer`, or `x-api-key`. Each one that is there
    /// must be the token.
    ///
    /// # Errors
    /// When there is none, or a wrong one.
    pub(crate) fn check_token(&self, headers: &HeaderMap) -> Result<(), ProxyRefusal> {
        let text = |name: &str| {
            headers
                .get(name)
                .map(|value| value.to_str().unwrap_or_default())
        };
        let bearer = text(AUTHORIZATION.as_str()).map(|value| {
            let (scheme, token) = value.split_once(' ').unwrap_or_default();
            if scheme.eq_ignore_ascii_case("bearer") {
                token
            } else {
                ""
            }
        });
        let given: Vec<&str> = [bearer, text("x-api-key")].into_iter().flatten().collect();
        let is_ours = |given: &&str| Secret::new((*given).to_owned()) == self.token;
        if given.is_empty() || !given.iter().all(is_ours) {
            return Err(ProxyRefusal::WrongToken);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, String)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()));
        pairs.collect()
    }

    #[test]
    fn only_its_own_names_are_taken() {
        let guard = ProxyGuard::new(8411).unwrap();
        for (host, taken) in [
            ("127.0.0.1:8411", true),
            ("LOCALHOST:8411", true),
            ("127.0.0.1", false),
            ("127.0.0.1:80", false),
            ("evil.example:8411", false),
            ("127.0.0.1.evil.example:8411", false),
        ] {
            let checked = guard.check_host(&headers(&[("host", host.to_owned())]));
            assert_eq!(checked.is_ok(), taken, "{host}");
        }
        assert!(guard.check_host(&HeaderMap::new()).is_err());
    }

    #[test]
    fn only_its_own_token_is_taken() {
        let guard = ProxyGuard::new(1).unwrap();
        let ours = guard.token().expose().to_owned();
        let other = ProxyGuard::new(1).unwrap().token().expose().to_owned();
        assert_ne!(ours, other);
        for (pairs, taken) in [
            (vec![("authorization", format!("Bearer {ours}"))], true),
            (vec![("authorization", format!("bearer {ours}"))], true),
            (vec![("x-api-key", ours.clone())], true),
            (vec![], false),
            (vec![("x-api-key", other.clone())], false),
            (vec![("authorization", format!("Basic {ours}"))], false),
            (vec![("authorization", ours.clone())], false),
            (
                vec![
                    ("authorization", format!("Bearer {ours}")),
                    ("x-api-key", other),
                ],
                false,
            ),
        ] {
            assert_eq!(
                guard.check_token(&headers(&pairs)).is_ok(),
                taken,
                "{pairs:?}"
            );
        }
    }
}
