//! A client that calls the simulated provider without the gateway.

use std::sync::Arc;

use bardo_providers::Endpoint;
use bardo_providers::transport::Transport;
use bardo_types::model::{Price, Service};
use bardo_types::usage::Usage;
use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;

use super::body::{self, ClientMarks};
use super::rig::{SimulatedBackend, SimulationRig};
use super::workload::SimulatedCall;

/// Sends a call, and reads what the provider counted.
///
/// # Errors
/// When the provider refuses it, or does not answer.
pub(super) async fn send(
    rig: &SimulationRig,
    call: &SimulatedCall,
    marks: ClientMarks,
) -> Result<(Usage, Price), String> {
    let SimulatedBackend {
        endpoint, price, ..
    } = rig.backend(&call.model)?;
    let is_messages = endpoint.service == Service::Anthropic;
    let (path, body) = match is_messages {
        true => ("/v1/messages", body::messages(call, marks)),
        false => ("/chat/completions", body::chat(call)),
    };
    let answer = post(&rig.transport, &endpoint, path, body.to_string().into()).await?;
    let usage = &answer["usage"];
    let usage = match is_messages {
        true => of_messages(usage),
        false => of_chat(usage),
    };
    Ok((usage, price))
}

async fn post(
    transport: &Transport,
    endpoint: &Arc<Endpoint>,
    path: &str,
    body: Bytes,
) -> Result<Value, String> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = format!("{}{path}", endpoint.base.path)
        .parse()
        .map_err(|_| "the address of the provider is malformed")?;
    request.headers_mut().clone_from(endpoint.headers());
    let version = HeaderValue::from_static("2023-06-01");
    request.headers_mut().insert("anthropic-version", version);
    let answer = transport.send(&endpoint.origin, request).await;
    let answer = answer.map_err(|error| error.to_string())?;
    let status = answer.status();
    let bytes = answer.into_body().collect().await;
    let bytes = bytes.map_err(|error| error.to_string())?.to_bytes();
    if !status.is_success() {
        return Err(format!("{status}: {}", String::from_utf8_lossy(&bytes)));
    }
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

fn of_messages(usage: &Value) -> Usage {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    Usage {
        fresh_input: count("/input_tokens"),
        cache_read: count("/cache_read_input_tokens"),
        cache_write_5m: count("/cache_creation/ephemeral_5m_input_tokens"),
        cache_write_1h: count("/cache_creation/ephemeral_1h_input_tokens"),
        output: count("/output_tokens"),
        ..Usage::default()
    }
}

fn of_chat(usage: &Value) -> Usage {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let read = count("/prompt_tokens_details/cached_tokens");
    let written = count("/prompt_tokens_details/cache_write_tokens");
    Usage {
        fresh_input: count("/prompt_tokens").saturating_sub(read + written),
        cache_read: read,
        cache_write_5m: written,
        output: count("/completion_tokens"),
        ..Usage::default()
    }
}
