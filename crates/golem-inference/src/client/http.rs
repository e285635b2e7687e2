//! Connections to one server: HTTP/1.1, kept open between calls, with TLS where its address says
//! so.

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::response::Parts;
use http::{Method, Request, header, request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::ClientError;

/// Connections that wait for their next call; more are closed.
const IDLE_MAX: usize = 16;
/// A whole answer that is longer is refused.
const BODY_MAX: usize = 64 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where a server is: scheme, host and port, and a path that comes before every other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
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

impl Endpoint {
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

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

type Sender = SendRequest<Full<Bytes>>;

/// The connections to one server.
#[derive(Debug)]
pub(crate) struct Http {
    endpoint: Endpoint,
    patience: Duration,
    idle: Arc<Mutex<Vec<Sender>>>,
}

impl Http {
    pub(crate) fn new(endpoint: Endpoint, patience: Duration) -> Self {
        Self {
            endpoint,
            patience,
            idle: Arc::default(),
        }
    }

    pub(crate) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// A request for a path of this server.
    pub(crate) fn builder(&self, method: Method, path: &str) -> request::Builder {
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.endpoint.prefix))
            .header(header::HOST, self.endpoint.authority())
            .header(
                header::USER_AGENT,
                concat!("golem-inference/", env!("CARGO_PKG_VERSION")),
            )
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn open(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(Parts, Body), ClientError> {
        let opened = tokio::time::timeout(self.patience, self.send(request)).await;
        let (response, sender) = opened.map_err(|_| ClientError::Timeout(self.patience))??;
        let (head, incoming) = response.into_parts();
        let body = Body {
            incoming,
            sender: Some(sender),
            idle: Arc::clone(&self.idle),
            patience: self.patience,
        };
        Ok((head, body))
    }

    /// Tries a connection that is open, else a new one. A request whose connection was closed
    /// before any of it was sent comes back and is sent on the new one; no other is sent again.
    async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(http::Response<Incoming>, Sender), ClientError> {
        while let Some(mut sender) = self.take_idle() {
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok((response, sender)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(ClientError::Broken(error.into_error().to_string())),
                },
            }
        }
        let mut sender = tokio::time::timeout(CONNECT_TIMEOUT, self.connect())
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|source| ClientError::Unreachable {
                endpoint: self.endpoint.to_string(),
                source,
            })?;
        let response = sender.send_request(request).await;
        let response = response.map_err(|error| ClientError::Broken(error.to_string()))?;
        Ok((response, sender))
    }

    fn take_idle(&self) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }

    async fn connect(&self) -> io::Result<Sender> {
        let Endpoint { host, port, .. } = &self.endpoint;
        let tcp = TcpStream::connect((host.as_str(), *port)).await?;
        tcp.set_nodelay(true)?;
        if !self.endpoint.https {
            return handshake(tcp).await;
        }
        let name = ServerName::try_from(host.clone())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let tls = tokio_rustls::TlsConnector::from(tls_config());
        handshake(tls.connect(name, tcp).await?).await
    }
}

async fn handshake<T>(io: T) -> io::Result<Sender>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = Builder::new()
        .handshake(TokioIo::new(io))
        .await
        .map_err(io::Error::other)?;
    // It ends with the connection; whoever waits for an answer sees why.
    drop(tokio::spawn(connection));
    Ok(sender)
}

fn tls_config() -> Arc<rustls::ClientConfig> {
    static CONFIG: OnceLock<Arc<rustls::ClientConfig>> = OnceLock::new();
    let build = || {
        let roots = rustls::RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports the default protocol versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Arc::new(config)
    };
    Arc::clone(CONFIG.get_or_init(build))
}

/// The body of an answer. Its connection waits for the next call once all of it was read, and is
/// closed where it was not.
#[derive(Debug)]
pub(crate) struct Body {
    incoming: Incoming,
    sender: Option<Sender>,
    idle: Arc<Mutex<Vec<Sender>>>,
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
                None => {
                    self.give_back();
                    return Ok(None);
                }
            }
        }
    }

    /// All of it.
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

    fn give_back(&mut self) {
        let Some(sender) = self.sender.take() else {
            return;
        };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(sender);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shown: &str) {
        assert_eq!(Endpoint::parse(text).unwrap().to_string(), shown);
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
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }
}
