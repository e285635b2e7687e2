//! The gateway's API, typed: one thought and its answer, receipts, balance, usage.
//!
//! Nothing is sent twice: the gateway retries where that cannot be billed twice, and knows when.

mod error;
mod http;
mod sse;
mod stream;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use ::http::{Method, Request, header};
use bardo_types::secret::Secret;
use bytes::Bytes;
use http_body_util::Full;
use serde_json::Value;

pub use self::error::{ClientError, ErrorAnswer};
pub use self::http::GatewayAddress;
pub(crate) use self::http::Http;
pub use self::stream::{Delta, ReplyStream};
use crate::call::CallSpec;
use crate::partition::{self, Caps, KeyCaps};
use crate::receipt::{Balance, Receipt, UsageReport};
use crate::reply::{Reply, ReplyOrigin};

/// Something that will be there later.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The service that answers thoughts: the gateway, or a fake.
pub trait Inference: Send + Sync {
    /// Carries one thought. `on_text` hears the text of a streamed answer as it comes; the whole
    /// answer is returned in any case.
    fn chat<'a>(
        &'a self,
        call: &'a CallSpec,
        on_text: &'a mut (dyn FnMut(&str) + Send),
    ) -> Pending<'a, Result<Reply, ClientError>>;
}

/// A gateway to speak to.
#[derive(Debug)]
pub struct Client {
    http: Http,
    authorization: Option<Secret>,
}

impl Client {
    /// The longest that an answer may take, as at the gateway.
    pub const PATIENCE: Duration = Duration::from_mins(15);

    /// A client of the gateway at `endpoint`. Without a key it calls a gateway of this machine
    /// that has none either.
    #[must_use]
    pub fn new(endpoint: GatewayAddress, key: Option<&Secret>) -> Self {
        Self {
            http: Http::new(endpoint, Self::PATIENCE),
            authorization: key.map(|key| Secret::new(format!("Bearer {}", key.expose()))),
        }
    }

    /// Where it is.
    #[must_use]
    pub const fn endpoint(&self) -> &GatewayAddress {
        self.http.endpoint()
    }

    /// Asks for a whole answer, or collects a streamed one.
    ///
    /// # Errors
    /// When the gateway refuses, cannot be reached, or the answer breaks off.
    pub async fn ask(&self, call: &CallSpec) -> Result<Reply, ClientError> {
        self.chat(call, &mut |_| {}).await
    }

    /// Asks for an answer piece by piece, whatever the call says.
    ///
    /// # Errors
    /// When the gateway refuses or cannot be reached.
    pub async fn stream(&self, call: &CallSpec) -> Result<ReplyStream, ClientError> {
        let mut body = call.to_json();
        body["stream"] = true.into();
        body["stream_options"] = serde_json::json!({ "include_usage": true });
        let body = Bytes::from(body.to_string());
        let request = self.request(Method::POST, "/v1/chat/completions", body)?;
        let (head, body) = self.http.open(request).await?;
        if !head.status.is_success() {
            let text = body.collect().await?;
            return Err(ErrorAnswer::read(&head, &text).into());
        }
        Ok(ReplyStream::new(
            ReplyOrigin::from_headers(&head.headers),
            body,
        ))
    }

    /// Reads the receipt of a request, by [`ReplyOrigin::request_id`] or the caller's own id.
    ///
    /// # Errors
    /// When there is no such receipt, or the gateway cannot be reached.
    pub async fn receipt(&self, request_id: &str) -> Result<Receipt, ClientError> {
        let raw = self.fetch(&format!("/v1/receipts/{request_id}")).await?;
        Receipt::read(raw).ok_or(ClientError::Malformed("a receipt"))
    }

    /// Reads the balance of the key's account.
    ///
    /// # Errors
    /// When the key has no account, or the gateway cannot be reached.
    pub async fn balance(&self) -> Result<Balance, ClientError> {
        let raw = self.fetch("/v1/balance").await?;
        Balance::read(&raw).ok_or(ClientError::Malformed("a balance"))
    }

    /// Reads the usage of the key's account in the last 30 days.
    ///
    /// # Errors
    /// When the key has no account, or the gateway cannot be reached.
    pub async fn usage(&self) -> Result<UsageReport, ClientError> {
        let raw = self.fetch("/v1/usage").await?;
        UsageReport::read(&raw).ok_or(ClientError::Malformed("a report of usage"))
    }

    /// The caps of the key, and the ranges in which it may move them.
    ///
    /// # Errors
    /// When the key has no caps, or the gateway cannot be reached.
    pub async fn caps(&self) -> Result<KeyCaps, ClientError> {
        let raw = self.fetch("/v1/caps").await?;
        KeyCaps::read(&raw).ok_or(ClientError::Malformed("caps"))
    }

    /// Moves the caps of the key as near to `wanted` as its owner's ranges allow. Nothing is sent
    /// where no cap would change. The gateway takes one change a minute.
    ///
    /// # Errors
    /// When the gateway refuses or cannot be reached.
    pub async fn move_caps(&self, wanted: &Caps) -> Result<KeyCaps, ClientError> {
        let present = self.caps().await?;
        let [day, month] = wanted.within(&present);
        let moved = [
            day.filter(|_| day != present.day.cap),
            month.filter(|_| month != present.month.cap),
        ];
        if moved == [None, None] {
            return Ok(present);
        }
        let body = Bytes::from(partition::body(moved).to_string());
        let request = self.request(Method::POST, "/v1/caps", body)?;
        KeyCaps::read(&self.json(request).await?).ok_or(ClientError::Malformed("caps"))
    }

    /// Explains the gateway's choice for a call, in the gateway's JSON. No model is called and nothing is
    /// charged.
    ///
    /// # Errors
    /// When the gateway refuses or cannot be reached.
    pub async fn explain(&self, call: &CallSpec) -> Result<Value, ClientError> {
        let request = self.request(Method::POST, "/v1/route/explain", call.to_bytes())?;
        self.json(request).await
    }

    async fn fetch(&self, path: &str) -> Result<Value, ClientError> {
        let request = self.request(Method::GET, path, Bytes::new())?;
        self.json(request).await
    }

    async fn json(&self, request: Request<Full<Bytes>>) -> Result<Value, ClientError> {
        let (_, body) = self.whole(request).await?;
        serde_json::from_slice(&body).map_err(|_| ClientError::Malformed("JSON"))
    }

    /// The origin and body of an answer that is no refusal.
    async fn whole(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(ReplyOrigin, Bytes), ClientError> {
        let (head, body) = self.http.open(request).await?;
        let body = body.collect().await?;
        if head.status.is_success() {
            Ok((ReplyOrigin::from_headers(&head.headers), body))
        } else {
            Err(ErrorAnswer::read(&head, &body).into())
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut builder = self.http.builder(method, path);
        if let Some(authorization) = &self.authorization {
            let mut value = header::HeaderValue::from_str(authorization.expose())
                .map_err(|_| ClientError::Malformed("the key"))?;
            value.set_sensitive(true);
            builder = builder.header(header::AUTHORIZATION, value);
        }
        if !body.is_empty() {
            builder = builder.header(header::CONTENT_TYPE, "application/json");
        }
        builder
            .body(Full::new(body))
            .map_err(|_| ClientError::Malformed("the request"))
    }
}

impl Inference for Client {
    fn chat<'a>(
        &'a self,
        call: &'a CallSpec,
        on_text: &'a mut (dyn FnMut(&str) + Send),
    ) -> Pending<'a, Result<Reply, ClientError>> {
        Box::pin(async move {
            if !call.stream {
                let request =
                    self.request(Method::POST, "/v1/chat/completions", call.to_bytes())?;
                let (origin, body) = self.whole(request).await?;
                let body: Value = serde_json::from_slice(&body)
                    .map_err(|_| ClientError::Malformed("an answer"))?;
                return Reply::read(&body, origin).ok_or(ClientError::Malformed("an answer"));
            }
            let mut stream = self.stream(call).await?;
            while let Some(delta) = stream.next().await? {
                if let Delta::Text(text) = delta {
                    on_text(&text);
                }
            }
            stream.finish()
        })
    }
}
