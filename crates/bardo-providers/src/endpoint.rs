//! One configured backend: a service, where it is, and the key for it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bardo_types::backend::BackendName;
use bardo_types::model::{Dialect, ModelEntry, Service};
use bardo_types::receipt::ProviderPayment;
use bardo_types::secret::Secret;
use http::Uri;
use http::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue, USER_AGENT};

use crate::compatible::compatible;
use crate::provider::{Operation, Provider, UpstreamCall, provider};
use crate::transport::Origin;

/// Name of the backend that answers in this process. It has no address.
pub const BUILT_IN: &str = "built-in";

/// A base URL, taken apart once. Only configuration makes one: no request can name an address.
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
#[error("{}", match url.as_str() {
    "" => "the URL is empty; write `http://host:port` or `https://host`".to_owned(),
    url => format!("`{url}` is not a base URL: {reason}"),
})]
pub struct InvalidUrl {
    /// The URL as configured.
    pub url: String,
    /// The rule that the address breaks.
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
        let uri: http::Uri = url.trim().parse().map_err(|_| invalid("it is not a URL"))?;
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
        let is_host_alone = authority.as_str().len() == authority.host().len();
        let port = match authority.port_u16() {
            Some(port) if port > 0 => port,
            None if is_host_alone && https => 443,
            None if is_host_alone => 80,
            _ => return Err(invalid("its port must be a number from 1 to 65535")),
        };
        Ok(Self {
            https,
            host,
            port,
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

/// The parts of an [`Endpoint`].
pub struct EndpointConfig {
    /// Its name, e.g. `openrouter` or `direct/openai`.
    pub name: String,
    /// The service that runs the endpoint.
    pub service: Service,
    /// Where it is.
    pub base: BaseUrl,
    /// The key for it, bound to this address alone.
    pub key: Secret,
    /// Its host name may resolve to a private address.
    pub allow_private: bool,
    /// The dialects it serves, where the owner knows better than the service's description.
    pub dialects: Option<Vec<Dialect>>,
    /// The owner of the key pays the bill; nothing is charged.
    pub direct: bool,
}

/// One configured backend. What every request to it has in common is made once.
pub struct Endpoint {
    /// Its name, e.g. `openrouter` or `direct/openai`.
    pub name: String,
    /// The service that runs the endpoint.
    pub service: Service,
    /// Where it is.
    pub base: BaseUrl,
    /// The key for it.
    pub key: Secret,
    /// Connections to it.
    pub origin: Arc<Origin>,
    /// The owner of the key pays the bill; nothing is charged.
    pub direct: bool,
    /// How the provider is paid.
    pub payment: ProviderPayment,
    provider: &'static dyn Provider,
    dialects: Option<Vec<Dialect>>,
    headers: HeaderMap,
    uris: Vec<(Operation, Dialect, Uri)>,
}

/// How a service is paid, unless the owner has another arrangement with it.
const fn usual_payment(service: Service, keyless: bool) -> ProviderPayment {
    match service {
        Service::BlockRun if keyless => ProviderPayment::X402,
        _ if keyless => ProviderPayment::Unpaid,
        Service::BlockRun | Service::OpenRouter | Service::Venice | Service::Bankr => {
            ProviderPayment::Prepaid
        }
        Service::OpenAi
        | Service::Anthropic
        | Service::Google
        | Service::DeepSeek
        | Service::Local
        | Service::Compatible => ProviderPayment::ApiKey,
    }
}

/// The vendor's name in that of its backend: `groq` of `direct/groq#2`.
fn vendor_of(name: &str) -> &str {
    let name = BackendName::parse(name);
    name.key_of().unwrap_or(name.plain())
}

impl Endpoint {
    /// Makes a backend.
    #[must_use]
    pub fn new(config: EndpointConfig) -> Self {
        let origin = Origin::new(&config.base, config.allow_private);
        let provider = match config.service {
            Service::Compatible => compatible(vendor_of(&config.name)),
            service => provider(service),
        };
        let mut headers = HeaderMap::with_capacity(12);
        if let Ok(host) = HeaderValue::from_str(&origin.authority()) {
            headers.insert(HOST, host);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("bardo-gateway/", env!("CARGO_PKG_VERSION"))),
        );
        provider.authorize(&config.key, &mut headers);
        let mut endpoint = Self {
            payment: usual_payment(config.service, config.key.is_empty()),
            name: config.name,
            service: config.service,
            base: config.base,
            key: config.key,
            origin,
            direct: config.direct,
            provider,
            dialects: config.dialects,
            headers,
            uris: Vec::new(),
        };
        if !provider.model_in_path() {
            endpoint.uris = endpoint.fixed_uris();
        }
        endpoint
    }

    fn fixed_uris(&self) -> Vec<(Operation, Dialect, Uri)> {
        let operations = [
            Operation::Generate { stream: true },
            Operation::Generate { stream: false },
            Operation::CountTokens,
            Operation::Embeddings,
        ];
        let mut uris = Vec::new();
        for operation in operations {
            for dialect in [Dialect::Chat, Dialect::Anthropic, Dialect::Responses] {
                let call = UpstreamCall {
                    operation,
                    dialect,
                    model: "",
                };
                uris.extend(self.uri(&call).map(|uri| (operation, dialect, uri)));
            }
        }
        uris
    }

    /// Makes the backend that answers in this process.
    #[must_use]
    pub fn built_in() -> Self {
        Self::new(EndpointConfig {
            name: BUILT_IN.to_owned(),
            service: Service::Local,
            base: BaseUrl {
                https: false,
                host: "built-in.invalid".to_owned(),
                port: 0,
                path: String::new(),
            },
            key: Secret::new(String::new()),
            allow_private: false,
            dialects: None,
            direct: false,
        })
    }

    /// Whether the backend answers in this process.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.name == BUILT_IN
    }

    /// The description of its service.
    #[must_use]
    pub fn provider(&self) -> &'static dyn Provider {
        self.provider
    }

    /// The headers that every request to it has: host, type, agent, credentials.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
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

    /// Path and query of a call; `None` where the service has no such operation, or the model's
    /// name fits into no path.
    #[must_use]
    pub fn target(&self, call: &UpstreamCall<'_>) -> Option<Uri> {
        let fixed = self.uris.iter().find(|(operation, dialect, _)| {
            *operation == call.operation && *dialect == call.dialect
        });
        match fixed {
            Some((_, _, uri)) => Some(uri.clone()),
            None => self.uri(call),
        }
    }

    /// Where prefixes are stored on order: the collection, or one of them by its name such as
    /// `cachedContents/x`, with what follows it; `None` where the service stores none, or the name is
    /// not one of its names.
    #[must_use]
    pub fn stored_prefix(&self, name: Option<&str>, rest: &str) -> Option<Uri> {
        if self.service != Service::Google {
            return None;
        }
        let name = name.unwrap_or("cachedContents");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
        if !name.starts_with("cachedContents") || !name.chars().all(is_plain) {
            return None;
        }
        format!("{}/v1beta/{name}{rest}", self.base.path)
            .parse()
            .ok()
    }

    /// Whether another backend is the same service at the same address with the same key, whatever
    /// its other settings: what one has stored there, the other finds.
    #[must_use]
    pub fn is_same_place(&self, other: &Self) -> bool {
        self.service == other.service && self.base == other.base && self.key == other.key
    }

    fn uri(&self, call: &UpstreamCall<'_>) -> Option<Uri> {
        let path = format!("{}{}", self.base.path, self.provider().path(call)?);
        path.parse().ok()
    }
}

impl BaseUrl {
    /// Whether it is on this machine or in a private network, as far as the address itself says
    /// so. Another name may resolve to anything, so it is none.
    #[must_use]
    pub fn is_private(&self) -> bool {
        let host = self.host.to_ascii_lowercase();
        let host = host.trim_end_matches('.');
        match host.parse::<IpAddr>() {
            Ok(IpAddr::V4(v4)) => is_private_v4(v4),
            Ok(IpAddr::V6(v6)) => v6.to_ipv4_mapped().map_or_else(
                || {
                    v6.is_loopback()
                        || v6.is_unspecified()
                        || v6.is_unique_local()
                        || v6.is_unicast_link_local()
                },
                is_private_v4,
            ),
            Err(_) => host == "localhost" || host.ends_with(".localhost"),
        }
    }
}

fn is_private_v4(v4: Ipv4Addr) -> bool {
    // The unspecified address is this machine where something is connected to.
    v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_unspecified()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_told_from_public_ones_and_from_names() {
        for (host, private) in [
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("localhost", true),
            ("LOCALHOST.", true),
            ("models.localhost", true),
            ("10.1.2.3", true),
            ("172.31.0.1", true),
            ("192.168.1.2", true),
            ("[::1]", true),
            ("[fd00::1]", true),
            ("[::ffff:10.0.0.1]", true),
            ("172.32.0.1", false),
            ("8.8.8.8", false),
            ("100.64.0.1", false),
            ("[2606:4700::1]", false),
            ("[::ffff:8.8.8.8]", false),
            ("api.groq.com", false),
            ("localhost.example.com", false),
            ("10.0.0.1.example.com", false),
            ("ollama", false),
        ] {
            let base = BaseUrl::parse(&format!("https://{host}/v1")).unwrap();
            assert_eq!(base.is_private(), private, "{host}");
        }
    }

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
