//! The way to the seller.

use std::sync::Arc;
use std::time::Duration;

use bardo_providers::BaseUrl;
use bardo_providers::transport::{Origin, SendError, Transport, UpstreamBody};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body::Body;
use http_body_util::{BodyExt as _, Full, Limited};

/// Longest time to wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Longest answer that is read whole: offers, refusals, answers to translate.
const WHOLE_MAX: usize = 32 << 20;

/// A request that can be sent more than once.
#[derive(Clone)]
pub(crate) struct Message {
    pub(crate) method: Method,
    /// Path below the seller's base URL, with its query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SellerError {
    #[error("the endpoint cannot be reached: {0}")]
    Unreachable(#[source] SendError),
    #[error("the endpoint failed, or its connection, after the request was sent")]
    Cut,
    #[error("the endpoint did not answer within {0:?}; `--timeout` gives it longer")]
    Timeout(Duration),
    #[error("the settlement of the payment is pending")]
    Pending,
    #[error("the path of the request is no path")]
    Path,
}

/// An answer that was read whole.
pub(crate) struct WholeAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Connections to the server of one seller.
pub(crate) struct SellerLink {
    transport: Transport,
    origin: Arc<Origin>,
    base: BaseUrl,
    timeout: Duration,
}

impl SellerLink {
    /// The server at this address. An answer must begin within `timeout`.
    pub(crate) fn new(base: BaseUrl, timeout: Duration) -> Self {
        Self {
            transport: Transport::new(CONNECT_TIMEOUT),
            // The owner named the host, so a private address is what was meant.
            origin: Origin::new(&base, true),
            base,
            timeout,
        }
    }

    pub(crate) fn host(&self) -> &str {
        &self.base.host
    }

    /// Sends a request; the body of the answer is still on its way.
    ///
    /// # Errors
    /// See [`SellerError`].
    pub(crate) async fn send(
        &self,
        message: &Message,
    ) -> Result<Response<UpstreamBody>, SellerError> {
        let path = format!("{}{}", self.base.path, message.path);
        let path = if path.is_empty() { "/" } else { &path };
        let target: Uri = path.parse().map_err(|_| SellerError::Path)?;
        let mut request = Request::new(Full::new(message.body.clone()));
        *request.method_mut() = message.method.clone();
        *request.uri_mut() = target;
        *request.headers_mut() = message.headers.clone();
        let host =
            HeaderValue::from_str(&self.origin.authority()).map_err(|_| SellerError::Path)?;
        request.headers_mut().insert(HOST, host);
        let sent = self.transport.send(&self.origin, request);
        match tokio::time::timeout(self.timeout, sent).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(SendError::NotSent(error))) => {
                Err(SellerError::Unreachable(SendError::NotSent(error)))
            }
            Ok(Err(SendError::Unknown(_) | SendError::Stale(_))) => Err(SellerError::Cut),
            Err(_) => Err(SellerError::Timeout(self.timeout)),
        }
    }

    /// Reads an answer to its end.
    ///
    /// # Errors
    /// When it is cut, too slow or too long.
    pub(crate) async fn whole<B>(&self, answer: Response<B>) -> Result<WholeAnswer, SellerError>
    where
        B: Body<Data = Bytes, Error = hyper::Error>,
    {
        let (head, body) = answer.into_parts();
        let read = Limited::new(body, WHOLE_MAX).collect();
        let body = match tokio::time::timeout(self.timeout, read).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return Err(SellerError::Cut),
            Err(_) => return Err(SellerError::Timeout(self.timeout)),
        };
        Ok(WholeAnswer {
            status: head.status,
            headers: head.headers,
            body,
        })
    }
}

/// Headers that belong to one connection (RFC 9110, section 7.6.1), and those that this proxy sets.
const OWN: [&str; 16] = [
    "authorization",
    "x-api-key",
    "cookie",
    "host",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "accept-encoding",
    "origin",
    "referer",
];

/// The headers of a client that a seller gets: not the key of this proxy, and no payment.
pub(crate) fn forwarded(headers: &HeaderMap) -> HeaderMap {
    let is_payment = |name: &str| name.starts_with("payment-") || name.starts_with("x-payment");
    let kept = headers.iter().filter(|(name, _)| {
        let name = name.as_str();
        !OWN.contains(&name) && !is_payment(name) && name != CONTENT_LENGTH.as_str()
    });
    let mut forwarded = HeaderMap::new();
    for (name, value) in kept {
        forwarded.append(name.clone(), value.clone());
    }
    forwarded
}

/// The headers of an answer that a client gets.
pub(crate) fn returned(headers: &HeaderMap) -> HeaderMap {
    const HOP: [HeaderName; 5] = [
        http::header::CONNECTION,
        http::header::TRANSFER_ENCODING,
        http::header::TRAILER,
        http::header::UPGRADE,
        http::header::SET_COOKIE,
    ];
    let kept = headers
        .iter()
        .filter(|(name, _)| !HOP.contains(name) && name.as_str() != "keep-alive");
    let mut returned = HeaderMap::new();
    for (name, value) in kept {
        returned.append(name.clone(), value.clone());
    }
    returned
}
