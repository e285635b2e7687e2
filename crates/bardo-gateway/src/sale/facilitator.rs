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

/// One of the calls of a facilitator, and how it is made.
struct FacilitatorCall {
    method: Method,
    path: &'static str,
    timeout: Duration,
    /// Whether a request may be sent again where an idle connection closed as it was sent: the
    /// facilitator may have got it.
    repeats: bool,
}

const SUPPORTED: FacilitatorCall = FacilitatorCall {
    method: Method::GET,
    path: "/supported",
    timeout: LOOK_TIMEOUT,
    repeats: true,
};
const VERIFY: FacilitatorCall = FacilitatorCall {
    method: Method::POST,
    path: "/verify",
    timeout: LOOK_TIMEOUT,
    repeats: true,
};
/// A refusal of the second request may mean that the first one was carried out, so only the settler
/// asks again.
const SETTLE: FacilitatorCall = FacilitatorCall {
    method: Method::POST,
    path: "/settle",
    timeout: SETTLE_TIMEOUT,
    repeats: false,
};

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
    async fn call(&self, call: &FacilitatorCall, body: Bytes) -> Option<(u16, Bytes)> {
        let path: Uri = format!("{}{}", self.path, call.path).parse().ok()?;
        let message = || {
            let mut request = Outgoing::new(Full::new(body.clone()));
            *request.method_mut() = call.method.clone();
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
            if let Err(SendError::Stale(_)) = answer
                && call.repeats
            {
                answer = self.transport.send(&self.origin, message()).await;
            }
            let answer = answer.ok()?;
            let status = answer.status().as_u16();
            let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
            Some((status, body.ok()?.to_bytes()))
        };
        tokio::time::timeout(call.timeout, exchange)
            .await
            .ok()
            .flatten()
    }

    /// Why a payment is refused; `Ok(None)` where it is not.
    ///
    /// # Errors
    /// When the facilitator gives no usable answer.
    pub(super) async fn refusal(&self, request: &str) -> Result<Option<String>, String> {
        let body = Bytes::copy_from_slice(request.as_bytes());
        let answer = self.call(&VERIFY, body).await;
        match answer.and_then(|(status, body)| VerifyAnswer::read(status, &body)) {
            Some(VerifyAnswer::Valid { .. }) => Ok(None),
            Some(VerifyAnswer::Invalid { reason, .. }) => Ok(Some(reason)),
            None => Err("the facilitator does not answer".to_owned()),
        }
    }

    /// Whether the facilitator settles `exact` on a network; `None` where it does not answer.
    pub(super) async fn settles(&self, network: EvmNetwork) -> Option<bool> {
        let answer = self.call(&SUPPORTED, Bytes::new());
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
            match self.call(&SETTLE, request.into()).await {
                Some((status, body)) => SettleAnswer::read(status, &body),
                None => SettleAnswer::Unknown,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Reads a request, and answers its line.
    fn receive(stream: &mut BufReader<TcpStream>) -> String {
        let (mut first, mut length) = (String::new(), 0);
        stream.read_line(&mut first).expect("a line");
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).expect("a header");
            if line.trim().is_empty() {
                break;
            }
            if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = number.trim().parse().expect("a number");
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).expect("a body");
        first
    }

    fn answer(stream: &mut BufReader<TcpStream>, body: &str) {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let written = stream.get_mut().write_all(text.as_bytes());
        written.expect("it is written");
    }

    /// A facilitator that closes its first connection at the second request, and refuses a
    /// settlement on the next one.
    fn closing() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        std::thread::spawn(move || {
            let (first, _) = listener.accept().expect("a connection");
            let mut first = BufReader::new(first);
            receive(&mut first);
            answer(&mut first, r#"{"isValid":true}"#);
            receive(&mut first);
            drop(first);
            let (second, _) = listener.accept().expect("a connection");
            let mut second = BufReader::new(second);
            let body = match receive(&mut second).contains("/settle") {
                true => {
                    r#"{"success":false,"errorReason":"invalid_exact_evm_nonce_already_used","transaction":"","network":"eip155:8453"}"#
                }
                false => r#"{"isValid":true}"#,
            };
            answer(&mut second, body);
        });
        format!("http://{address}")
    }

    fn facilitator() -> RemoteFacilitator {
        let base = BaseUrl::parse(&closing()).expect("an address");
        RemoteFacilitator {
            origin: Origin::new(&base, true),
            path: String::new(),
            host: HeaderValue::from_static("facilitator.example"),
            key: None,
            transport: Transport::new(Duration::from_secs(5)),
        }
    }

    #[tokio::test]
    async fn a_settlement_on_a_stale_connection_is_unknown_and_not_sent_again() {
        let facilitator = facilitator();
        assert_eq!(facilitator.refusal("{}").await, Ok(None));
        let answer = facilitator.settle(b"{}".to_vec()).await;
        assert_eq!(answer, SettleAnswer::Unknown);
        let answer = facilitator.settle(b"{}".to_vec()).await;
        assert!(matches!(answer, SettleAnswer::Refused { .. }), "{answer:?}");
    }

    #[tokio::test]
    async fn a_verification_on_a_stale_connection_is_sent_again() {
        let facilitator = facilitator();
        for _ in 0..2 {
            assert_eq!(facilitator.refusal("{}").await, Ok(None));
        }
    }
}
