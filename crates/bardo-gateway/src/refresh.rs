//! The live lists of models: fetched in the background, the last good one kept.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bardo_providers::transport::{Transport, UpstreamBody};
use bardo_providers::{Endpoint, ModelList};
use bardo_router::Catalog;
use bardo_telemetry::Metrics;
use bardo_types::model::Dialect;
use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};

use crate::last_lists;

/// A list may have this size.
const LIST_MAX: usize = 64 << 20;
/// And take so long.
const LIST_WAIT: Duration = Duration::from_secs(20);

/// A backend's list of models, as fetched for the backends of one configuration.
pub(crate) struct Fetched {
    pub(crate) generation: u64,
    pub(crate) name: String,
    pub(crate) list: Result<ModelList, String>,
}

/// Asks one backend for its models, and keeps what it says.
pub(crate) async fn fetch(
    transport: &Transport,
    endpoint: &Arc<Endpoint>,
    catalog: &Arc<Catalog>,
    folder: PathBuf,
) -> Result<ModelList, String> {
    let body = tokio::time::timeout(LIST_WAIT, get(transport, endpoint))
        .await
        .map_err(|_| "no answer in time")??;
    let list = endpoint
        .provider()
        .parse_list(&body, catalog)
        .map_err(|error| error.to_string())?;
    // Nobody waits for the disk.
    let endpoint = Arc::clone(endpoint);
    tokio::task::spawn_blocking(move || last_lists::keep(&folder, &endpoint, &body));
    Ok(list)
}

/// Says what a list came to. Rows that make no sense are a provider's mistake that may cost a
/// model, so they are told where somebody looks.
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
            "models are left out, because their rows in the list make no sense"
        );
    }
}

/// Asks for the list; it has not been read yet.
pub(crate) async fn ask(
    transport: &Transport,
    endpoint: &Endpoint,
) -> Result<Response<UpstreamBody>, String> {
    let mut request = Request::new(Full::new(Bytes::new()));
    let path = format!("{}{}", endpoint.base.path, endpoint.provider().list_path());
    *request.uri_mut() = path.parse().map_err(|_| "the path does not parse")?;
    let headers = request.headers_mut();
    headers.clone_from(endpoint.headers());
    headers.remove(CONTENT_TYPE);
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    endpoint.provider().complete(Dialect::Chat, headers);
    transport
        .send(&endpoint.origin, request)
        .await
        .map_err(|error| error.to_string())
}

async fn get(transport: &Transport, endpoint: &Endpoint) -> Result<Bytes, String> {
    let response = ask(transport, endpoint).await?;
    if !response.status().is_success() {
        return Err(format!("status {}", response.status().as_u16()));
    }
    let mut body = response.into_body();
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| "the list broke off")?;
        if let Some(data) = frame.data_ref() {
            if whole.len() + data.len() > LIST_MAX {
                return Err("the list is too large".into());
            }
            whole.extend_from_slice(data);
        }
    }
    Ok(whole.freeze())
}
