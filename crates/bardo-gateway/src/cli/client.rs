//! Requests of verbs to the admin listener of a running server.

use std::sync::Arc;
use std::time::Duration;

use bardo_providers::BaseUrl;
use bardo_providers::transport::{Origin, Transport};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, HOST, HeaderValue};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use serde_json::Value;

/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest answer.
const ANSWER_MAX: usize = 16 << 20;

/// Why a server gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The server refuses the token.
    Refused,
    /// Any other reason.
    Other(String),
}

/// A client of one admin listener.
pub(crate) struct AdminClient {
    transport: Transport,
    base: BaseUrl,
    origin: Arc<Origin>,
    bearer: Option<HeaderValue>,
}

impl AdminClient {
    /// A client for the server at an address.
    ///
    /// # Errors
    /// If the address is no URL, or the token no text for a header.
    pub(crate) fn new(url: &str, token: Option<&str>) -> Result<Self, String> {
        let base = BaseUrl::parse(url).map_err(|error| format!("{url}: {error}"))?;
        let bearer = token.map(|token| HeaderValue::from_str(&format!("Bearer {token}")));
        let mut bearer = bearer
            .transpose()
            .map_err(|_| "the token has characters that are not allowed in a header")?;
        if let Some(bearer) = &mut bearer {
            bearer.set_sensitive(true);
        }
        Ok(Self {
            transport: Transport::new(Duration::from_secs(2)),
            origin: Origin::new(&base, true),
            base,
            bearer,
        })
    }

    /// Reads JSON at a path.
    ///
    /// # Errors
    /// If the server does not answer, or answers with a refusal or something else.
    pub(crate) async fn json(&self, path: &str) -> Result<Value, NoAnswer> {
        let answer = tokio::time::timeout(PATIENCE, self.get(path)).await;
        let other = |reason: &str| NoAnswer::Other(reason.to_owned());
        let (status, body) = answer.map_err(|_| other("no answer within 5 seconds"))??;
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(NoAnswer::Refused),
            // The health of a server that stops is an answer.
            StatusCode::OK | StatusCode::SERVICE_UNAVAILABLE => {}
            status => return Err(NoAnswer::Other(format!("{path} answers {status}"))),
        }
        serde_json::from_slice(&body)
            .map_err(|_| other("the answer is no JSON; is this a gateway?"))
    }

    async fn get(&self, path: &str) -> Result<(StatusCode, Bytes), NoAnswer> {
        let mut request = Request::new(Full::new(Bytes::new()));
        let path = format!("{}{path}", self.base.path);
        *request.uri_mut() = path
            .parse()
            .map_err(|_| NoAnswer::Other(format!("{path} is no path")))?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Ok(host) = HeaderValue::from_str(&self.origin.authority()) {
            headers.insert(HOST, host);
        }
        if let Some(bearer) = &self.bearer {
            headers.insert(AUTHORIZATION, bearer.clone());
        }
        let response = self.transport.send(&self.origin, request).await;
        let response = response.map_err(|error| NoAnswer::Other(error.to_string()))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_MAX)
            .collect()
            .await;
        let body =
            body.map_err(|_| NoAnswer::Other("the answer is cut or too large".to_owned()))?;
        Ok((status, body.to_bytes()))
    }
}
