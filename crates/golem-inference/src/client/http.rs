//! Connections to one server: HTTP/1.1, kept open between calls, with TLS where its address says
//! so.

use std::error::Error;
use std::time::Duration;
use std::{fmt, io};

use bytes::Bytes;
use http::response::Parts;
use http::{Method, Request, header, request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring;

use super::ClientError;

/// Idle connections that are kept for the next call; more are closed.
const IDLE_MAX: usize = 16;
/// A whole answer that is longer is refused.
const BODY_MAX: usize = 64 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where a server is: scheme, host and port, and a path that comes before every other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayAddress {
    https: bool,
    host: String,
    port: u16,
    /// Without a slash at its end.
    prefix: String,
}

/// An address that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address; write it like http://127.0.0.1:8402")]
pub struct InvalidEndpoint(String);

impl GatewayAddress {
    /// Reads `http://host[:port][/path]`, or with `https`. A trailing `/v1` is dropped, because
    /// OpenAI's clients write it and every path here has its own.
    ///
    /// # Errors
    /// When it is no such address, or has a user, a query or a fragment.
    pub fn parse(text: &str) -> Result<Self, InvalidEndpoint> {
        let invalid = || InvalidEndpoint(text.to_owned());
        let uri: http::Uri = text.trim().parse().map_err(|_| invalid())?;
        let https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(invalid()),
        };
        let authority = uri.authority().ok_or_else(invalid)?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(invalid());
        }
        let host = authority.host().trim_matches(['[', ']']);
        if host.is_empty() {
            return Err(invalid());
        }
        let path = uri.path().trim_end_matches('/');
        Ok(Self {
            https,
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(if https { 443 } else { 80 }),
            prefix: path.strip_suffix("/v1").unwrap_or(path).to_owned(),
        })
    }

    fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        match (self.https, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

impl std::fmt::Display for GatewayAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

type ConnectionPool = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The connections to one server.
pub(crate) struct Http {
    endpoint: GatewayAddress,
    patience: Duration,
    pool: ConnectionPool,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl Http {
    /// The connections to `endpoint`. `patience` bounds the wait for the head of an answer, and
    /// for each piece of its body.
    pub(crate) fn new(endpoint: GatewayAddress, patience: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(ring::default_provider())
            .expect("ring supports the default protocol versions")
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let pool = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(IDLE_MAX)
            .build(connector);
        Self {
            endpoint,
            patience,
            pool,
        }
    }

    pub(crate) const fn endpoint(&self) -> &GatewayAddress {
        &self.endpoint
    }

    /// A request for a path of this server.
    pub(crate) fn builder(&self, method: Method, path: &str) -> request::Builder {
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.endpoint))
            .header(
                header::USER_AGENT,
                concat!("golem-inference/", env!("CARGO_PKG_VERSION")),
            )
    }

    /// Sends a request and waits for the head of the answer. A request whose connection was
    /// closed before any of it was sent goes out again on another; no other is sent twice.
    pub(crate) async fn open(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(Parts, Body), ClientError> {
        let response = tokio::time::timeout(self.patience, self.pool.request(request))
            .await
            .map_err(|_| ClientError::Timeout(self.patience))?
            .map_err(|error| self.unanswered(&error))?;
        let (head, incoming) = response.into_parts();
        let body = Body {
            incoming,
            patience: self.patience,
        };
        Ok((head, body))
    }

    fn unanswered(&self, error: &legacy::Error) -> ClientError {
        let cause = deepest(error);
        if error.is_connect() {
            ClientError::Unreachable {
                endpoint: self.endpoint.to_string(),
                source: io::Error::other(cause),
            }
        } else {
            ClientError::Broken(cause)
        }
    }
}

/// The words of the innermost cause: the outer ones only say that a request failed.
fn deepest(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// The body of an answer. Its connection serves the next call once all of it was read, and is
/// closed where it was not.
#[derive(Debug)]
pub(crate) struct Body {
    incoming: Incoming,
    patience: Duration,
}

impl Body {
    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            let frame = tokio::time::timeout(self.patience, self.incoming.frame());
            let frame = frame
                .await
                .map_err(|_| ClientError::Timeout(self.patience))?;
            match frame {
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                Some(Err(error)) => return Err(ClientError::Broken(error.to_string())),
                None => return Ok(None),
            }
        }
    }

    /// The whole body.
    pub(crate) async fn collect(mut self) -> Result<Bytes, ClientError> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            if whole.len() + bytes.len() > BODY_MAX {
                return Err(ClientError::Malformed("an answer of more than 64 MiB"));
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shown: &str) {
        assert_eq!(GatewayAddress::parse(text).unwrap().to_string(), shown);
    }

    #[test]
    fn addresses_are_read_as_people_write_them() {
        check("http://127.0.0.1:8402", "http://127.0.0.1:8402");
        check("http://127.0.0.1:8402/v1/", "http://127.0.0.1:8402");
        check("https://bardo.example.com", "https://bardo.example.com");
        check("https://api.bankr.bot/llm", "https://api.bankr.bot/llm");
        check("http://[::1]:8402/", "http://[::1]:8402");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "127.0.0.1:8402",
            "ftp://x",
            "http://u:p@x",
            "http://x/?key=1",
            "http://",
        ] {
            assert!(GatewayAddress::parse(text).is_err(), "{text}");
        }
    }
}
