//! The only way out to a provider: connections, pools, TLS, and where they may go.
//!
//! Each worker thread keeps its own idle connections, so a request never crosses threads. HTTP/1.1
//! with keep-alive, `TCP_NODELAY`, no redirects (they would carry prompt and key to another host),
//! no decompression (nothing is asked for). Deadlines beyond connecting belong to the caller.

mod connect;
mod head_limit;
mod pool;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response};

use connect::Line;
pub use connect::{ConnectError, Connecting, Connector, Io, Origin};
pub use pool::UpstreamBody;

/// A request on its way to a provider.
pub type Outgoing = Request<Full<Bytes>>;

/// Why there is no answer. The two kinds differ in what may be done next: repeat, or not.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// Nothing of the request reached the provider.
    #[error("could not connect")]
    NotSent(#[from] ConnectError),
    /// The request may have been received and billed; it must not be repeated blindly.
    #[error("the connection failed after the request was sent")]
    Unknown(#[source] hyper::Error),
    /// The connection had been idle and closed before any byte of an answer: most likely, the
    /// provider closed it as the request was sent.
    #[error("the idle connection closed as the request was sent")]
    Stale(#[source] hyper::Error),
}

/// Sends requests to providers.
#[derive(Debug, Clone)]
pub struct Transport {
    dialer: connect::Dialer,
    connect_timeout: Duration,
}

impl Transport {
    /// A transport that gives up connecting after `connect_timeout`.
    #[must_use]
    pub fn new(connect_timeout: Duration) -> Self {
        Self {
            dialer: connect::Dialer::Tcp(connect::tls_config()),
            connect_timeout,
        }
    }

    /// A transport over connections of another kind, e.g. in memory, so that a test owns time.
    #[must_use]
    pub fn with_connector(connect_timeout: Duration, connector: Arc<dyn Connector>) -> Self {
        Self {
            dialer: connect::Dialer::Other(connector),
            connect_timeout,
        }
    }

    /// Sends one request to `origin` and answers the response's head with its body still coming.
    ///
    /// Dropping the future, or the body before its end, closes the connection.
    ///
    /// # Errors
    /// See [`SendError`].
    pub async fn send(
        &self,
        origin: &Arc<Origin>,
        request: Outgoing,
    ) -> Result<Response<UpstreamBody>, SendError> {
        self.send_told(origin, request, || {}).await
    }

    /// As [`Self::send`]; calls `handed_over` each time the request goes to a connection that is
    /// there, so that whoever drops this future knows whether the provider may be at work.
    ///
    /// # Errors
    /// See [`SendError`].
    pub async fn send_told(
        &self,
        origin: &Arc<Origin>,
        request: Outgoing,
        handed_over: impl Fn(),
    ) -> Result<Response<UpstreamBody>, SendError> {
        let mut request = request;
        while let Some(line) = pool::take(origin) {
            handed_over();
            let head = line.head.clone();
            match Self::send_on(origin, line, request).await {
                Ok(response) => return Ok(response),
                // The idle connection had been closed by the other side before anything was
                // written: another one is as good.
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None if head.is_untouched() => {
                        return Err(SendError::Stale(error.into_error()));
                    }
                    None => return Err(SendError::Unknown(error.into_error())),
                },
            }
        }
        // On the heap: the future of every request has room for it, and few requests connect.
        let line = connect::connect(origin, &self.dialer, self.connect_timeout);
        let line = Box::pin(line).await?;
        handed_over();
        Self::send_on(origin, line, request)
            .await
            .map_err(|mut error| match error.take_message() {
                Some(_) => SendError::NotSent(ConnectError::Closed),
                None => SendError::Unknown(error.into_error()),
            })
    }

    async fn send_on(
        origin: &Arc<Origin>,
        mut line: Line,
        request: Outgoing,
    ) -> Result<Response<UpstreamBody>, hyper::client::conn::TrySendError<Outgoing>> {
        line.head.begin();
        let response = line.sender.try_send_request(request).await?;
        line.head.end();
        line.patience = pool::patience(origin, response.headers());
        Ok(response.map(|body| UpstreamBody::new(body, Arc::clone(origin), line)))
    }
}

#[cfg(test)]
mod tests;
