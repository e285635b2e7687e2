//! The client of a remote facilitator, which checks payments and settles them.

use std::sync::Arc;
use std::time::Duration;

use bardo_chain::{Facilitator, RpcFuture};
use bardo_providers::BaseUrl;
use bardo_providers::transport::{Origin, Outgoing, SendError, Transport};
use bardo_types::secret::Secret;
use bardo_x402::token::EvmNetwork;
use bardo_x402::wire::{PaymentScheme, SettleAnswer, VerifyAnswer, X402Version, supported_kinds};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use http::{Method, Uri};
use http_body_util::{BodyExt as _, Full, Limited};

use crate::config::PaymentsConfig;

/// Longest time for the answer of `/verify` and `/supported`.
const LOOK_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for a settlement. If it comes later, the chain shows it.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(6);
/// Largest answer that is read, in bytes.
const ANSWER_MAX: usize = 256 << 10;
const AGENT: &str = concat!("bardo-gateway/", env!("CARGO_PKG_VERSION"));

/// A facilitator at its address.
pub(super) struct RemoteFacilitator {
    origin: Arc<Origin>,
    /// Path before `/verify` and the others.
    path: String,
    host: HeaderValue,
    key: Option<HeaderValue>,
    transport: Transport,
}

impl RemoteFacilitator {
    /// The facilitator of the settings; `None` where no facilitator is configured.
    ///
    /// # Errors
    /// What is wrong with the settings.
    pub(super) fn open(
        payments: &PaymentsConfig,
        transport: &Transport,
    ) -> Result<Option<Self>, String> {
        let Some(url) = payments.facilitator_url.as_deref() else {
            return Ok(None);
        };
        let wrong = |error: &dyn std::fmt::Display| format!("`payments.facilitator_url`: {error}");
        let base = BaseUrl::parse(url).map_err(|error| wrong(&error))?;
        let origin = Origin::new(&base, payments.rpc_allow_private);
        let host = HeaderValue::from_str(&origin.authority()).map_err(|error| wrong(&error))?;
        let key = payments.facilitator_key.as_ref().map(Secret::expose);
        let key = key.filter(|key| !key.is_empty()).map(|key| {
            let mut header = HeaderValue::from_str(&format!("Bearer {key}"))
                .map_err(|_| "`payments.facilitator_key` has characters that no header has")?;
            header.set_sensitive(true);
            Ok::<_, String>(header)
        });
        Ok(Some(Self {
            path: base.path.as_str().trim_end_matches('/').to_owned(),
            host,
            key: key.transpose()?,
            origin,
            transport: transport.clone(),
        }))
    }

    /// Host and port, as operators see it.
    pub(super) fn name(&self) -> String {
        self.origin.authority()
    }

    /// Status and body of an answer; `None` where there is none in time.
    async fn call(
        &self,
        method: Method,
        place: &str,
        body: Bytes,
        timeout: Duration,
    ) -> Option<(u16, Bytes)> {
        let path: Uri = format!("{}{place}", self.path).parse().ok()?;
        let message = || {
            let mut request = Outgoing::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = path.clone();
            let headers = request.headers_mut();
            headers.insert(HOST, self.host.clone());
            headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            if let Some(key) = &self.key {
                headers.insert(AUTHORIZATION, key.clone());
            }
            request
        };
        let exchange = async {
            let mut answer = self.transport.send(&self.origin, message()).await;
            if let Err(SendError::Stale(_)) = answer {
                answer = self.transport.send(&self.origin, message()).await;
            }
            let answer = answer.ok()?;
            let status = answer.status().as_u16();
            let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
            Some((status, body.ok()?.to_bytes()))
        };
        tokio::time::timeout(timeout, exchange).await.ok().flatten()
    }

    /// Why a payment is refused; `Ok(None)` where it is not.
    ///
    /// # Errors
    /// When the facilitator gives no usable answer.
    pub(super) async fn refusal(&self, request: &str) -> Result<Option<String>, String> {
        let body = Bytes::copy_from_slice(request.as_bytes());
        let answer = self.call(Method::POST, "/verify", body, LOOK_TIMEOUT).await;
        match answer.and_then(|(status, body)| VerifyAnswer::read(status, &body)) {
            Some(VerifyAnswer::Valid { .. }) => Ok(None),
            Some(VerifyAnswer::Invalid { reason, .. }) => Ok(Some(reason)),
            None => Err("the facilitator does not answer".to_owned()),
        }
    }

    /// Whether the facilitator settles `exact` on a network; `None` where it does not answer.
    pub(super) async fn settles(&self, network: EvmNetwork) -> Option<bool> {
        let answer = self.call(Method::GET, "/supported", Bytes::new(), LOOK_TIMEOUT);
        let (status, body) = answer.await?;
        let kinds = supported_kinds(&body).ok().filter(|_| status == 200)?;
        Some(kinds.iter().any(|kind| {
            kind.version == X402Version::V2
                && kind.scheme == PaymentScheme::Exact.name()
                && kind.network == network.to_string()
        }))
    }
}

impl Facilitator for RemoteFacilitator {
    fn settle(&self, request: Vec<u8>) -> RpcFuture<'_, SettleAnswer> {
        Box::pin(async move {
            let answer = self.call(Method::POST, "/settle", request.into(), SETTLE_TIMEOUT);
            match answer.await {
                Some((status, body)) => SettleAnswer::read(status, &body),
                None => SettleAnswer::Unknown,
            }
        })
    }
}
