use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::head_limit::{HeadLimit, HeadLimited};
use crate::endpoint::BaseUrl;

/// A scheme, host and port that connections go to.
#[derive(Debug)]
pub struct Origin {
    id: u64,
    https: bool,
    host: String,
    port: u16,
    allow_private: bool,
}

impl Origin {
    /// The origin of a configured base URL.
    ///
    /// A host that the owner wrote as an address, or as `localhost`, is taken at its word. A name
    /// that resolves to a private address is refused, because DNS is not the owner's to trust,
    /// unless `allow_private` says that this name is meant to.
    #[must_use]
    pub fn new(base: &BaseUrl, allow_private: bool) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Arc::new(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            https: base.https,
            host: base.host.clone(),
            port: base.port,
            allow_private: allow_private
                || base.host == "localhost"
                || base.host.parse::<IpAddr>().is_ok(),
        })
    }

    /// Whether it is one of these hosts, reached by TLS.
    pub(super) fn is_any_of(&self, hosts: &[&str]) -> bool {
        self.https && hosts.contains(&self.host.as_str())
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    #[cfg(test)]
    pub(super) fn allows_private(&self) -> bool {
        self.allow_private
    }

    #[cfg(test)]
    pub(super) fn forbid_private(&mut self) {
        self.allow_private = false;
    }

    /// The `Host` header: host, and port where it is not the scheme's own.
    #[must_use]
    pub fn authority(&self) -> String {
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

/// Why there is no connection. Nothing was sent in any case.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The name has no address.
    #[error("the host name did not resolve")]
    Resolve(#[source] std::io::Error),
    /// The name resolves to an address inside somebody's network.
    #[error("the host name resolves to a private address; set `allow_private: true` to allow it")]
    Private,
    /// No address took the connection.
    #[error("the connection was refused or failed")]
    Tcp(#[source] std::io::Error),
    /// The TLS handshake failed.
    #[error("the TLS handshake failed")]
    Tls(#[source] std::io::Error),
    /// The HTTP handshake failed.
    #[error("the HTTP handshake failed")]
    Http(#[source] hyper::Error),
    /// The time limit for connecting has passed.
    #[error("connecting took longer than {0:?} (`upstream.connect_timeout`)")]
    Timeout(Duration),
    /// The connection closed before the request was written.
    #[error("the connection closed before the request was written")]
    Closed,
}

/// Bytes in both directions.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection that a [`Connector`] is opening.
pub type Connecting<'a> =
    Pin<Box<dyn std::future::Future<Output = std::io::Result<Box<dyn Io>>> + Send + 'a>>;

/// Opens connections in another way than over TCP. What it opens is spoken to without TLS,
/// whatever the origin's scheme; the deadline for connecting holds all the same.
pub trait Connector: std::fmt::Debug + Send + Sync {
    /// Opens a connection to `origin`.
    fn connect<'a>(&'a self, origin: &'a Origin) -> Connecting<'a>;
}

/// How connections are opened.
#[derive(Debug, Clone)]
pub(super) enum Dialer {
    /// Over TCP, with TLS where the origin wants it.
    Tcp(Arc<rustls::ClientConfig>),
    Other(Arc<dyn Connector>),
}

pub(super) fn tls_config() -> Arc<rustls::ClientConfig> {
    let roots = rustls::RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

pub(super) async fn connect(
    origin: &Origin,
    dialer: &Dialer,
    timeout: Duration,
) -> Result<Line, ConnectError> {
    tokio::time::timeout(timeout, open(origin, dialer))
        .await
        .map_err(|_| ConnectError::Timeout(timeout))?
}

async fn open(origin: &Origin, dialer: &Dialer) -> Result<Line, ConnectError> {
    let tls = match dialer {
        Dialer::Tcp(tls) => tls,
        Dialer::Other(connector) => {
            let io = connector.connect(origin).await.map_err(ConnectError::Tcp)?;
            return handshake(io).await;
        }
    };
    let tcp = open_tcp(origin).await?;
    if !origin.https {
        return handshake(tcp).await;
    }
    let invalid =
        |error| ConnectError::Tls(std::io::Error::new(std::io::ErrorKind::InvalidInput, error));
    let name = ServerName::try_from(origin.host.clone()).map_err(invalid)?;
    let session = tokio_rustls::TlsConnector::from(Arc::clone(tls))
        .connect(name, tcp)
        .await
        .map_err(ConnectError::Tls)?;
    handshake(session).await
}

async fn open_tcp(origin: &Origin) -> Result<TcpStream, ConnectError> {
    let addresses: Vec<SocketAddr> = match origin.host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, origin.port)],
        Err(_) => tokio::net::lookup_host((origin.host.as_str(), origin.port))
            .await
            .map_err(ConnectError::Resolve)?
            .collect(),
    };
    // One private address spoils the name: which one answers is not ours to choose later.
    if !origin.allow_private && addresses.iter().any(|address| is_private(address.ip())) {
        return Err(ConnectError::Private);
    }
    let stream = TcpStream::connect(&addresses[..])
        .await
        .map_err(ConnectError::Tcp)?;
    stream.set_nodelay(true).map_err(ConnectError::Tcp)?;
    Ok(stream)
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) sender: SendRequest<Full<Bytes>>,
    pub(super) head: HeadLimit,
    /// How long it may stay idle, as its last answer said.
    pub(super) patience: Duration,
}

async fn handshake<T>(io: T) -> Result<Line, ConnectError>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let head = HeadLimit::default();
    let (sender, connection) = Builder::new()
        .handshake(TokioIo::new(HeadLimited::new(io, head.clone())))
        .await
        .map_err(ConnectError::Http)?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "connection to a provider ended");
        }
    });
    Ok(Line {
        sender,
        head,
        patience: Duration::ZERO,
    })
}

/// Whether an address lies inside a network that outsiders cannot reach: loopback, private,
/// link-local (cloud metadata), shared, unspecified, multicast, or reserved.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_private_v4(v4),
        IpAddr::V6(v6) => v6
            .to_ipv4_mapped()
            .map_or_else(|| is_private_v6(v6), is_private_v4),
    }
}

fn is_private_v4(v4: Ipv4Addr) -> bool {
    let [a, b, ..] = v4.octets();
    v4.is_loopback()
        || v4.is_private()
        || v4.is_link_local()
        || v4.is_unspecified()
        || v4.is_broadcast()
        || v4.is_multicast()
        || v4.is_documentation()
        || a == 0
        || a == 100 && (64..128).contains(&b)
        || a == 192 && b == 0
        || a == 198 && (18..20).contains(&b)
        || a >= 240
}

fn is_private_v6(v6: Ipv6Addr) -> bool {
    let [a, b, ..] = v6.segments();
    v6.is_loopback()
        || v6.is_unspecified()
        || v6.is_multicast()
        || a & 0xfe00 == 0xfc00
        || a & 0xffc0 == 0xfe80
        || a == 0x2001 && b == 0xdb8
        // NAT64 and 6to4 wrap an IPv4 address that may be private.
        || a == 0x64 && b == 0xff9b
        || a == 0x2002
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_inside_networks_are_told_from_public_ones() {
        for inside in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
        ] {
            assert!(is_private(inside.parse().unwrap()), "{inside}");
        }
        for outside in [
            "1.1.1.1",
            "104.18.0.1",
            "2606:4700::1111",
            "100.128.0.1",
            "172.32.0.1",
        ] {
            assert!(!is_private(outside.parse().unwrap()), "{outside}");
        }
    }
}
