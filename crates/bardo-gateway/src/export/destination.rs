//! One address that telemetry is posted to.

use std::sync::Arc;
use std::time::Duration;

use bardo_providers::BaseUrl;
use bardo_providers::transport::{Origin, Outgoing, SendError, Transport};
use bytes::Bytes;
use http::header::{HOST, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};

/// Bytes of an answer that are read.
const ANSWER_MAX: usize = 64 << 10;
const AGENT: &str = concat!("bardo-gateway/", env!("CARGO_PKG_VERSION"));

/// The result of posting one message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    /// The sink took it.
    Taken,
    /// A later sending may succeed: after this time, where the sink named one.
    Later(String, Option<Duration>),
    /// The sink refuses the message, and would refuse it again.
    Refused(String),
}

/// An address with the headers of its messages.
pub(crate) struct Destination {
    origin: Arc<Origin>,
    path: String,
    headers: HeaderMap,
    timeout: Duration,
}

impl Destination {
    /// An address. `path` is added to that of the address; `setting` names it in refusals.
    ///
    /// # Errors
    /// If the address is malformed.
    pub(crate) fn new(
        (setting, url): (&str, &str),
        path: &str,
        content_type: &'static str,
        timeout: Duration,
    ) -> Result<Self, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("`{setting}`: {error}");
        let base = BaseUrl::parse(url).map_err(|error| wrong(&error))?;
        let path = match format!("{}{path}", base.path) {
            empty if empty.is_empty() => "/".to_owned(),
            path => path,
        };
        let origin = Origin::new(&base, true);
        let host = HeaderValue::from_str(&origin.authority()).map_err(|error| wrong(&error))?;
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host);
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        headers.insert(
            http::header::CONTENT_TYPE,
            HeaderValue::from_static(content_type),
        );
        Ok(Self {
            origin,
            path: checked(path).map_err(|error| wrong(&error))?,
            headers,
            timeout,
        })
    }

    /// Adds a header to each message.
    ///
    /// # Errors
    /// If no header can have that name or value.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Result<Self, String> {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{name}` is not the name of a header"))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of `{name}` has characters that no header can have"))?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Posts one message and waits for the whole answer. `more` is added to the address.
    pub(crate) async fn post(&self, transport: &Transport, more: &str, body: Bytes) -> Posted {
        let exchange = self.exchange(transport, more, body);
        match tokio::time::timeout(self.timeout, exchange).await {
            Ok(posted) => posted,
            Err(_) => Posted::Later("no answer in time".to_owned(), None),
        }
    }

    async fn exchange(&self, transport: &Transport, more: &str, body: Bytes) -> Posted {
        let mut answer = transport
            .send(&self.origin, self.message(more, &body))
            .await;
        if let Err(SendError::Stale(_)) = answer {
            answer = transport
                .send(&self.origin, self.message(more, &body))
                .await;
        }
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Posted::Later(error.to_string(), None),
        };
        let status = answer.status();
        let after = answer
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        // The answer says nothing that is needed; it is read so that the connection can be used again.
        let _ = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
        let told = format!("status {}", status.as_u16());
        match status {
            status if status.is_success() => Posted::Taken,
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Posted::Later(told, after),
            _ => Posted::Refused(told),
        }
    }

    fn message(&self, more: &str, body: &Bytes) -> Outgoing {
        let mut request = Outgoing::new(Full::new(body.clone()));
        *request.method_mut() = Method::POST;
        // Made of a checked path and of ids.
        *request.uri_mut() = [&self.path, more].concat().parse().unwrap_or_default();
        request.headers_mut().clone_from(&self.headers);
        request
    }
}

/// A path that can be sent.
fn checked(path: String) -> Result<String, http::uri::InvalidUri> {
    path.parse::<Uri>().map(|_| path)
}
