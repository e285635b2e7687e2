//! A receiver of alerts: a bounded queue, signed messages, and retries, apart from all other
//! receivers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bardo_providers::BaseUrl;
use bardo_providers::transport::{Origin, Outgoing, Transport};
use bardo_types::calendar::rfc3339;
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::secret::Secret;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use http::{HeaderName, Method, Uri};
use http_body_util::Full;
use ring::hmac;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::AlertEvent;
use super::book::AlertNotice;
use crate::config::WebhookConfig;

/// Messages that wait for one receiver; one more is dropped and counted.
const QUEUE: usize = 64;
/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause before the first retry; it doubles up to [`PAUSE_MAX`].
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(60);
const SIGNATURE: HeaderName = HeaderName::from_static("x-bardo-signature");
const DELIVERY: HeaderName = HeaderName::from_static("x-bardo-delivery");

/// Counts of the messages of one receiver.
#[derive(Default)]
struct DeliveryCounts {
    sent: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    retries: AtomicU64,
}

/// A receiver of alerts. Its messages are sent by a task of its own.
pub(super) struct Webhook {
    host: String,
    events: Vec<AlertEvent>,
    queue: mpsc::Sender<Arc<AlertNotice>>,
    figures: Arc<DeliveryCounts>,
}

/// Where messages go.
pub(super) struct WebhookAddress {
    origin: Arc<Origin>,
    path: Uri,
    host: HeaderValue,
}

/// Reads the address of a receiver. The text of a mistake does not have it: it may be a secret.
pub(super) fn address(config: &WebhookConfig) -> Result<WebhookAddress, String> {
    let url = config.url.expose();
    let (address, query) = match url.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (url, None),
    };
    let base = BaseUrl::parse(address).map_err(|error| error.reason.to_owned())?;
    let origin = Origin::new(&base, config.allow_private);
    let mut path = match base.path.is_empty() {
        true => "/".to_owned(),
        false => base.path.clone(),
    };
    if let Some(query) = query {
        path = format!("{path}?{query}");
    }
    let wrong = || "it has characters that no address can have".to_owned();
    Ok(WebhookAddress {
        host: HeaderValue::from_str(&origin.authority()).map_err(|_| wrong())?,
        path: path.parse().map_err(|_| wrong())?,
        origin,
    })
}

impl Webhook {
    /// A receiver, and the task that sends its messages.
    pub(super) fn start(
        config: &WebhookConfig,
        retry_for: Duration,
        transport: &Transport,
    ) -> Result<Self, String> {
        let address = address(config)?;
        let (queue, waiting) = mpsc::channel(QUEUE);
        let figures = Arc::new(DeliveryCounts::default());
        let host = address.origin.authority();
        let sender = WebhookSender {
            address,
            secret: config.secret.clone().filter(|secret| !secret.is_empty()),
            transport: transport.clone(),
            retry_for,
            figures: Arc::clone(&figures),
        };
        tokio::spawn(sender.run(waiting));
        Ok(Self {
            host,
            events: config.events.iter().copied().map(AlertEvent::of).collect(),
            queue,
            figures,
        })
    }

    /// Queues a message, if the receiver takes its kind. Never waits.
    pub(super) fn push(&self, notice: &Arc<AlertNotice>) {
        let is_taken = self.events.is_empty()
            || notice.event == AlertEvent::Test
            || self.events.contains(&notice.event);
        if is_taken && self.queue.try_send(Arc::clone(notice)).is_err() {
            let before = self.figures.dropped.fetch_add(1, Ordering::Relaxed);
            if before == 0 {
                tracing::warn!(
                    host = self.host,
                    "alerts are dropped: the queue of the webhook is full"
                );
            }
        }
    }

    /// Host and counts. The rest of the address may be a secret.
    pub(super) fn json(&self) -> Value {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let events: Vec<&str> = self.events.iter().map(|event| event.as_str()).collect();
        json!({
            "host": self.host,
            "events": events,
            "sent": count(&self.figures.sent),
            "failed": count(&self.figures.failed),
            "dropped": count(&self.figures.dropped),
            "retries": count(&self.figures.retries),
            "waiting": QUEUE - self.queue.capacity(),
        })
    }
}

/// Why a message was not taken.
enum DeliveryFailure {
    /// Another try may succeed.
    Later(String),
    /// The receiver will not take it.
    Final(String),
}

struct WebhookSender {
    address: WebhookAddress,
    secret: Option<Secret>,
    transport: Transport,
    retry_for: Duration,
    figures: Arc<DeliveryCounts>,
}

impl WebhookSender {
    async fn run(self, mut waiting: mpsc::Receiver<Arc<AlertNotice>>) {
        let mut number = 0_u64;
        while let Some(notice) = waiting.recv().await {
            number += 1;
            let delivery = format!("{}-{number}", notice.at_ms);
            let body = Bytes::from(message(&notice).to_string());
            match self.deliver(&delivery, &body).await {
                Ok(()) => self.figures.sent.fetch_add(1, Ordering::Relaxed),
                Err(reason) => {
                    let host = self.address.origin.authority();
                    let event = notice.event.as_str();
                    tracing::warn!(host, event, reason, "an alert was not delivered");
                    self.figures.failed.fetch_add(1, Ordering::Relaxed)
                }
            };
        }
    }

    /// Sends a message until it is taken or the time for it is over.
    async fn deliver(&self, delivery: &str, body: &Bytes) -> Result<(), String> {
        let end = tokio::time::Instant::now() + self.retry_for;
        let mut pause = PAUSE;
        loop {
            let sent = tokio::time::timeout(PATIENCE, self.send(delivery, body)).await;
            let reason = match sent {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(DeliveryFailure::Final(reason))) => return Err(reason),
                Ok(Err(DeliveryFailure::Later(reason))) => reason,
                Err(_) => "no answer within 10 seconds".to_owned(),
            };
            if tokio::time::Instant::now() + pause > end {
                return Err(reason);
            }
            self.figures.retries.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn send(&self, delivery: &str, body: &Bytes) -> Result<(), DeliveryFailure> {
        let mut request = Outgoing::new(Full::new(body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.path.clone();
        let headers = request.headers_mut();
        headers.insert(HOST, self.address.host.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static("bardo-gateway"));
        let insert = |headers: &mut http::HeaderMap, name, text: &str| {
            if let Ok(value) = HeaderValue::from_str(text) {
                headers.insert(name, value);
            }
        };
        insert(headers, DELIVERY, delivery);
        if let Some(secret) = &self.secret {
            let signature = signature(secret, SystemClock.now_ms() / 1_000, body);
            insert(headers, SIGNATURE, &signature);
        }
        let sent = self.transport.send(&self.address.origin, request).await;
        let answer = sent.map_err(|error| {
            let source = std::error::Error::source(&error);
            DeliveryFailure::Later(source.map_or_else(|| error.to_string(), ToString::to_string))
        })?;
        let status = answer.status();
        match status.as_u16() {
            200..=299 => Ok(()),
            408 | 425 | 429 | 500..=599 => {
                Err(DeliveryFailure::Later(format!("it answers {status}")))
            }
            _ => Err(DeliveryFailure::Final(format!("it answers {status}"))),
        }
    }
}

/// `t=<Unix seconds>,v1=<HMAC-SHA256 of "<seconds>.<body>" in hexadecimal digits>`.
fn signature(secret: &Secret, seconds: u64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    let mut context = hmac::Context::with_key(&key);
    context.update(format!("{seconds}.").as_bytes());
    context.update(body);
    let tag = context.sign();
    let hex: String = tag
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("t={seconds},v1={hex}")
}

/// A message as receivers get it. Chat services show `text`.
fn message(notice: &AlertNotice) -> Value {
    let prefix = match notice.status {
        "resolved" => "Resolved: ",
        "repeated" => "Still: ",
        _ => "",
    };
    json!({
        "text": format!("[bardo-gateway] {prefix}{}", notice.text),
        "event": notice.event.as_str(),
        "status": notice.status,
        "subject": notice.subject,
        "since": rfc3339(notice.since_ms),
        "at": rfc3339(notice.at_ms),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> WebhookConfig {
        WebhookConfig {
            url: Secret::new(url.to_owned()),
            secret: None,
            events: Vec::new(),
            allow_private: false,
        }
    }

    #[test]
    fn an_address_keeps_its_path_and_query_and_a_mistake_does_not_show_it() {
        let read = address(&config("https://hooks.example/a/b?sig=c"));
        let read = read.ok().map(|address| address.path.to_string());
        assert_eq!(read.as_deref(), Some("/a/b?sig=c"));
        for wrong in ["canary", "ftp://canary", "https://user:canary@host"] {
            let error = address(&config(wrong)).err().expect("it is refused");
            assert!(!error.contains("canary"), "{error}");
        }
    }

    #[test]
    fn a_signature_is_that_of_the_documented_text() {
        let signed = signature(&Secret::new("key".to_owned()), 7, b"body");
        // As `printf '7.body' | openssl dgst -sha256 -hmac key` prints it.
        let expected = "64089aa581edb495748bb7a47e979f6a761baedb9e06713d14122ec6b656948e";
        assert_eq!(signed, format!("t=7,v1={expected}"));
    }
}
