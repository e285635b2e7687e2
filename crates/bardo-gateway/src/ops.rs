//! The operators' listener: health and status.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arc_swap::ArcSwap;
use bardo_engine::{CircuitHealth, CircuitState};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::TcpListener;

use crate::edge::Edge;

/// What is running: shown truthfully, also after a failed reload (quality P-32).
#[derive(Debug, Default, Clone)]
pub(crate) struct Status {
    /// The config file, if any.
    pub(crate) config_file: Option<String>,
    /// Short hash of the settings in force.
    pub(crate) config_hash: String,
    /// Why the last reload was refused, if it was.
    pub(crate) reload_error: Option<String>,
    /// Backends whose list of models is live, and those whose last try failed.
    pub(crate) lists: Vec<(String, Result<usize, String>)>,
}

/// Serves the operators' listener for as long as the process runs.
pub(crate) async fn serve(listener: TcpListener, edge: Arc<Edge>, status: Arc<ArcSwap<Status>>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let (edge, status) = (Arc::clone(&edge), Arc::clone(&status));
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let reply = answer(&request, &edge, &status.load());
                async move { Ok::<_, Infallible>(reply) }
            });
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

fn answer(request: &Request<Incoming>, edge: &Edge, status: &Status) -> Response<Full<Bytes>> {
    let draining = edge.draining.load(Ordering::Relaxed);
    let (code, body) = match request.uri().path() {
        "/health/live" => (StatusCode::OK, json!({ "status": "ok" })),
        "/health/ready" | "/healthz" | "/health" | "/health/liveliness" => {
            let code = if draining {
                StatusCode::SERVICE_UNAVAILABLE
            } else {
                StatusCode::OK
            };
            (
                code,
                json!({ "status": if draining { "draining" } else { "ok" } }),
            )
        }
        "/status" => {
            let world = edge.engine.world();
            let lists: Vec<_> = status
                .lists
                .iter()
                .map(|(name, list)| json!({ "provider": name, "models": list.as_ref().ok(), "error": list.as_ref().err() }))
                .collect();
            let providers: Vec<_> = world
                .endpoints
                .iter()
                .map(|endpoint| &endpoint.name)
                .collect();
            let body = json!({
                "version": env!("CARGO_PKG_VERSION"),
                "sandbox": world.sandbox,
                "draining": draining,
                "config": { "file": status.config_file, "hash": status.config_hash, "reload_error": status.reload_error },
                "providers": providers,
                "models": world.roster.listed().len(),
                "lists": lists,
                "circuits": edge.engine.health().iter().map(circuit).collect::<Vec<_>>(),
            });
            (StatusCode::OK, body)
        }
        _ => (
            StatusCode::NOT_FOUND,
            json!({ "error": "there is GET /health/live, /health/ready and /status" }),
        ),
    };
    let mut reply = Response::new(Full::new(Bytes::from(body.to_string())));
    *reply.status_mut() = code;
    reply.headers_mut().insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    reply
}

/// A backend that has failed of late with a model.
fn circuit(health: &CircuitHealth) -> serde_json::Value {
    let state = match health.state {
        CircuitState::Closed => "closed",
        CircuitState::HalfOpen => "half_open",
        CircuitState::Open => "open",
    };
    let ms = |wait: Option<Duration>| wait.map(|wait| u64::try_from(wait.as_millis()).ok());
    json!({
        "provider": health.backend,
        "model": health.model,
        "state": state,
        "degraded": health.degraded,
        "failures_in_a_row": health.failures_in_a_row,
        "successes": health.successes,
        "failures": health.failures,
        "retry_in_ms": ms(health.retry_in),
        "paused_for_ms": ms(health.paused_for),
    })
}
