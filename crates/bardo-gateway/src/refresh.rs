//! The live lists of models, fetched in the background. The last good one is stored.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bardo_providers::transport::{Transport, UpstreamBody};
use bardo_providers::{Endpoint, ModelList};
use bardo_router::Catalog;
use bardo_telemetry::Metrics;
use bardo_types::model::{Dialect, Service};
use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use tokio::sync::Notify;

use crate::last_lists;

/// The largest list.
const LIST_MAX: usize = 64 << 20;
/// The time limit for a list.
const LIST_WAIT: Duration = Duration::from_secs(20);

/// An operator asked for new lists. One server runs in a process.
static ASKED: Notify = Notify::const_new();

/// Has the server fetch its lists now.
pub(crate) fn ask_for_lists() {
    ASKED.notify_one();
}

/// Waits until lists are due: at `time`, or when an operator asks for them.
pub(crate) async fn due(time: tokio::time::Instant) {
    tokio::select! {
        () = tokio::time::sleep_until(time) => {}
        () = ASKED.notified() => {}
    }
}

/// A backend's list of models, as fetched for the backends of one configuration.
pub(crate) struct Fetched {
    pub(crate) generation: u64,
    pub(crate) name: String,
    pub(crate) list: Result<ModelList, NoList>,
}

/// Why a backend has no live list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoList {
    /// Nothing answers at its address.
    Unreachable {
        /// The host and port.
        address: String,
        reason: String,
        /// The backend is a local server.
        is_local: bool,
    },
    /// The provider refused the API key with this status.
    KeyRefused(u16),
    /// Any other reason.
    Other(String),
}

impl std::fmt::Display for NoList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable {
                address,
                reason,
                is_local,
            } => {
                write!(f, "cannot reach {address}: {reason}")?;
                match is_local {
                    true => f.write_str(
                        ". Start the local server (for Ollama: ollama serve), or remove it from `providers`",
                    ),
                    false => Ok(()),
                }
            }
            Self::KeyRefused(status) => write!(
                f,
                "the provider refused the API key (status {status}). Check its `api_key` under `providers`"
            ),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

impl From<&str> for NoList {
    fn from(reason: &str) -> Self {
        Self::Other(reason.to_owned())
    }
}

impl NoList {
    /// Logs the reason. A key that is refused and a server that is down are the operator's to mend.
    pub(crate) fn log(&self, provider: &str) {
        match self {
            Self::KeyRefused(_) => tracing::error!(provider, "{self}"),
            Self::Unreachable { .. } => tracing::warn!(provider, "{self}"),
            Self::Other(_) => tracing::info!(
                provider,
                reason = %self,
                "cannot fetch the list of models; the last known list stays in use"
            ),
        }
    }
}

/// Fetches the list of models of one backend, and stores it.
pub(crate) async fn fetch(
    transport: &Transport,
    endpoint: &Arc<Endpoint>,
    catalog: &Arc<Catalog>,
    folder: PathBuf,
) -> Result<ModelList, NoList> {
    let (list, body) = read(transport, endpoint, catalog).await?;
    // The disk is slow.
    let endpoint = Arc::clone(endpoint);
    tokio::task::spawn_blocking(move || last_lists::keep(&folder, &endpoint, &body));
    Ok(list)
}

/// Fetches the list of models of one backend, with its text.
pub(crate) async fn read(
    transport: &Transport,
    endpoint: &Endpoint,
    catalog: &Catalog,
) -> Result<(ModelList, Bytes), NoList> {
    let path = endpoint.provider().list_path();
    let body = tokio::time::timeout(LIST_WAIT, get(transport, endpoint, path))
        .await
        .map_err(|_| "no answer within 20 seconds")??;
    let list = endpoint
        .provider()
        .parse_list(&body, catalog)
        .map_err(|error| NoList::Other(error.to_string()))?;
    Ok((list, body))
}

/// Logs the size of a list. Invalid rows are a mistake of the provider that may cost a model, so they
/// are a warning.
pub(crate) fn tell(metrics: &Metrics, provider: &str, list: &ModelList) {
    let (models, quarantined) = (list.models.len(), list.quarantined.len());
    tracing::debug!(provider, models, "list of models refreshed");
    metrics.listed(provider, models, quarantined);
    if let Some(first) = list.quarantined.first() {
        tracing::warn!(
            provider,
            quarantined,
            model = first.model,
            reason = first.reason,
            "skipped models with invalid rows in the list of the provider"
        );
    }
}

/// Requests the list. Its body is unread.
pub(crate) async fn ask(
    transport: &Transport,
    endpoint: &Endpoint,
) -> Result<Response<UpstreamBody>, NoList> {
    request(transport, endpoint, endpoint.provider().list_path()).await
}

/// Requests a path below the address of a backend, with its key.
pub(crate) async fn request(
    transport: &Transport,
    endpoint: &Endpoint,
    path: &str,
) -> Result<Response<UpstreamBody>, NoList> {
    let mut request = Request::new(Full::new(Bytes::new()));
    let path = format!("{}{path}", endpoint.base.path);
    *request.uri_mut() = path.parse().map_err(|_| "the address is invalid")?;
    let headers = request.headers_mut();
    headers.clone_from(endpoint.headers());
    headers.remove(CONTENT_TYPE);
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    endpoint.provider().complete(Dialect::Chat, headers);
    transport
        .send(&endpoint.origin, request)
        .await
        .map_err(|error| NoList::Unreachable {
            address: endpoint.origin.authority(),
            reason: chain(&error),
            is_local: endpoint.service == Service::Local,
        })
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

/// The body that a backend answers with at a path below its address.
pub(crate) async fn get(
    transport: &Transport,
    endpoint: &Endpoint,
    path: &str,
) -> Result<Bytes, NoList> {
    let response = request(transport, endpoint, path).await?;
    match response.status().as_u16() {
        200..=299 => {}
        status @ (401 | 403) => return Err(NoList::KeyRefused(status)),
        status => return Err(NoList::Other(format!("status {status}"))),
    }
    let mut body = response.into_body();
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| "the connection closed before the end of the list")?;
        if let Some(data) = frame.data_ref() {
            if whole.len() + data.len() > LIST_MAX {
                return Err("the list is too large".into());
            }
            whole.extend_from_slice(data);
        }
    }
    Ok(whole.freeze())
}
