//! JSON-RPC endpoints over the gateway's own connections.

use std::sync::Arc;
use std::time::Duration;

use bardo_chain::{RpcFuture, RpcTransport, RpcUnsent};
use bardo_providers::BaseUrl;
use bardo_providers::transport::{Origin, Outgoing, SendError, Transport};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use http::{Method, Uri};
use http_body_util::{BodyExt as _, Full, Limited};

/// Longest time for one message.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Largest answer: logs of many blocks.
const ANSWER_MAX: usize = 8 << 20;
const AGENT: &str = concat!("bardo-gateway/", env!("CARGO_PKG_VERSION"));

/// The endpoints of a chain.
pub(super) struct RpcEndpoints {
    endpoints: Vec<RpcEndpoint>,
    transport: Transport,
}

struct RpcEndpoint {
    origin: Arc<Origin>,
    /// Path with query; it may contain a key of the operator.
    path: Uri,
    host: HeaderValue,
    name: String,
}

impl RpcEndpoints {
    pub(super) fn new<'a>(
        urls: impl Iterator<Item = &'a str>,
        allow_private: bool,
        transport: Transport,
    ) -> Result<Self, String> {
        let endpoints = urls.enumerate().map(|(index, url)| {
            let wrong =
                |error: &dyn std::fmt::Display| format!("`payments.rpc_urls[{index}]`: {error}");
            let base = BaseUrl::parse(url).map_err(|error| wrong(&error))?;
            let origin = Origin::new(&base, allow_private);
            let path = match base.path.as_str() {
                "" => "/",
                path => path,
            };
            let authority = origin.authority();
            Ok(RpcEndpoint {
                path: path.parse().map_err(|error| wrong(&error))?,
                host: HeaderValue::from_str(&authority).map_err(|error| wrong(&error))?,
                name: authority,
                origin,
            })
        });
        Ok(Self {
            endpoints: endpoints.collect::<Result<_, String>>()?,
            transport,
        })
    }

    async fn exchange(&self, endpoint: &RpcEndpoint, body: Bytes) -> Result<Vec<u8>, RpcUnsent> {
        let message = || {
            let mut request = Outgoing::new(Full::new(body.clone()));
            *request.method_mut() = Method::POST;
            *request.uri_mut() = endpoint.path.clone();
            let headers = request.headers_mut();
            headers.insert(HOST, endpoint.host.clone());
            headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request
        };
        let mut answer = self.transport.send(&endpoint.origin, message()).await;
        if let Err(SendError::Stale(_)) = answer {
            answer = self.transport.send(&endpoint.origin, message()).await;
        }
        let answer = answer.map_err(|error| match error {
            SendError::NotSent(error) => RpcUnsent::NotSent(error.to_string()),
            error => RpcUnsent::Unknown(error.to_string()),
        })?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
        let body = body.map_err(|_| RpcUnsent::Unknown("the connection closed".to_owned()))?;
        // Some endpoints say what is wrong with a status of 4xx and an answer of JSON-RPC.
        if status.is_server_error() || status == http::StatusCode::TOO_MANY_REQUESTS {
            return Err(RpcUnsent::Unknown(format!("status {}", status.as_u16())));
        }
        Ok(body.to_bytes().to_vec())
    }
}

impl RpcTransport for RpcEndpoints {
    fn endpoints(&self) -> usize {
        self.endpoints.len()
    }

    fn name(&self, endpoint: usize) -> String {
        self.endpoints[endpoint].name.clone()
    }

    fn post(&self, endpoint: usize, body: Vec<u8>) -> RpcFuture<'_, Result<Vec<u8>, RpcUnsent>> {
        Box::pin(async move {
            let exchange = self.exchange(&self.endpoints[endpoint], body.into());
            let answered = tokio::time::timeout(TIMEOUT, exchange).await;
            answered.unwrap_or_else(|_| Err(RpcUnsent::Unknown("it took too long".to_owned())))
        })
    }
}
