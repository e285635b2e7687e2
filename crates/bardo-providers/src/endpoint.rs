//! One configured backend: a service, where it is, and the key for it.

use std::sync::Arc;

use bardo_types::model::{Dialect, ModelEntry, Service};
use bardo_types::secret::Secret;

use crate::provider::{Call, Provider, provider};
use crate::transport::Origin;

/// A base URL, taken apart once. Only configuration makes one: no request can name an address
/// (quality P-37).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    /// TLS or not.
    pub https: bool,
    /// Host without brackets.
    pub host: String,
    /// Port, the scheme's default included.
    pub port: u16,
    /// Path without a slash at its end.
    pub path: String,
}

/// Why a URL in the configuration was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{url}` is no base URL: {reason}")]
pub struct InvalidUrl {
    /// As written.
    pub url: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl BaseUrl {
    /// Takes a base URL apart.
    ///
    /// # Errors
    /// Unless it is `http(s)://host[:port][/path]` without user, query or fragment.
    pub fn parse(url: &str) -> Result<Self, InvalidUrl> {
        let invalid = |reason| InvalidUrl {
            url: url.to_owned(),
            reason,
        };
        let uri: http::Uri = url
            .trim()
            .parse()
            .map_err(|_| invalid("it does not parse"))?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(invalid("it must begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| invalid("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(invalid("credentials belong in `api_key`"));
        }
        if uri.query().is_some() || url.contains('#') {
            return Err(invalid("it must have no query or fragment"));
        }
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        if host.is_empty() {
            return Err(invalid("it has no host"));
        }
        let port = authority.port_u16().unwrap_or(if https { 443 } else { 80 });
        Ok(Self {
            https,
            host,
            port,
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

/// One configured backend.
pub struct Endpoint {
    /// Its name, e.g. `openrouter` or `direct/openai`.
    pub name: String,
    /// Who runs it.
    pub service: Service,
    /// Where it is.
    pub base: BaseUrl,
    /// The key for it, bound to this address alone.
    pub key: Secret,
    /// Connections to it.
    pub origin: Arc<Origin>,
    /// The dialects it serves, where the owner knows better than the service's description.
    pub dialects: Option<Vec<Dialect>>,
    /// The owner of the key pays the bill; nothing is charged.
    pub direct: bool,
}

impl Endpoint {
    /// The description of its service.
    #[must_use]
    pub fn provider(&self) -> &'static dyn Provider {
        provider(self.service)
    }

    /// The dialect to speak to it for a caller who speaks `caller`'s.
    #[must_use]
    pub fn dialect_for(&self, caller: Dialect, model: &ModelEntry) -> Dialect {
        let served = match &self.dialects {
            Some(dialects) => dialects.as_slice(),
            None => self.provider().dialects(model),
        };
        if served.contains(&caller) {
            caller
        } else {
            served.first().copied().unwrap_or(Dialect::Chat)
        }
    }

    /// Path and query of a call; `None` where the service has no such operation.
    #[must_use]
    pub fn target(&self, call: &Call<'_>) -> Option<String> {
        Some(format!("{}{}", self.base.path, self.provider().path(call)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_taken_apart_or_refused() {
        let base = BaseUrl::parse("http://127.0.0.1:4010/api/v1/").unwrap();
        assert_eq!(
            base,
            BaseUrl {
                https: false,
                host: "127.0.0.1".into(),
                port: 4010,
                path: "/api/v1".into()
            }
        );
        assert_eq!(
            BaseUrl::parse("https://api.anthropic.com").unwrap().port,
            443
        );
        assert_eq!(BaseUrl::parse("http://[::1]:80").unwrap().host, "::1");
        for bad in [
            "",
            "api.openai.com/v1",
            "ftp://x",
            "https://user:pass@host/v1",
            "https://host/v1?key=1",
            "https:///v1",
        ] {
            assert!(BaseUrl::parse(bad).is_err(), "{bad}");
        }
    }
}
