//! The operators' listener: health, status, metrics, and the admin API.

pub(crate) mod backends;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arc_swap::ArcSwap;
use bardo_engine::{CircuitHealth, CircuitState};
use bardo_telemetry::{Gauges, Metrics};
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::model::Service;
use bardo_types::secret::Secret;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::admin;
use crate::admin::routes::{self, AdminOperation};
use crate::caches;
use crate::config::RawServer;
use crate::console::{self, Console};
use crate::edge::Edge;
use crate::openapi;
use crate::operator::Operator;
use crate::reply::ReplyBody;
use crate::unbilled;
use crate::usage::ReportBody;
use backends::{Backends, circuit_state};

/// The longest wait for the store when metrics are scraped.
const STORE_PATIENCE: Duration = Duration::from_millis(500);
/// The largest body of the admin API.
const BODY_MAX: usize = 64 << 10;

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const JSON: &str = "application/json";
const CSV: &str = "text/csv; charset=utf-8";

/// The longest wait for the store when the health is requested.
const READY_PATIENCE: Duration = Duration::from_millis(500);

/// The running configuration, also after a failed reload.
#[derive(Debug, Default, Clone)]
pub(crate) struct Status {
    /// The config file, if any.
    pub(crate) config_file: Option<String>,
    /// Short hash of the settings in force.
    pub(crate) config_hash: String,
    /// Each setting with its value and where it comes from; secrets are not shown.
    pub(crate) settings: Arc<Vec<(String, Value, String)>>,
    /// Unix milliseconds at which they were read.
    pub(crate) loaded_at_ms: u64,
    /// Settings that changed since the start and that only a restart brings into force.
    pub(crate) restart_required: Vec<&'static str>,
    /// Why the last reload was refused, if it was.
    pub(crate) reload_error: Option<String>,
    /// Backends whose list of models is live, and those whose last try failed.
    pub(crate) lists: Vec<(String, Result<usize, String>)>,
}

/// The operators' listener.
pub(crate) struct Ops {
    pub(crate) edge: Arc<Edge>,
    pub(crate) status: Arc<ArcSwap<Status>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) operator: Operator,
    /// Required unless it is empty.
    pub(crate) token: Secret,
    /// Lets its sender read, and change nothing. Empty: there is none.
    pub(crate) read_token: Secret,
    pub(crate) console: Console,
}

/// Serves the operators' listener for as long as the process runs.
pub(crate) async fn serve(listener: TcpListener, ops: Arc<Ops>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let ops = Arc::clone(&ops);
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let ops = Arc::clone(&ops);
                async move { Ok::<_, Infallible>(ops.respond(request).await) }
            });
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

type OpsReply = Response<Full<Bytes>>;

impl Ops {
    /// The listener's work over the engine and the stores.
    pub(crate) fn new(
        edge: &Arc<Edge>,
        status: &Arc<ArcSwap<Status>>,
        operator: Operator,
        server: &RawServer,
        console: Console,
    ) -> Self {
        let (token, read_token) = (&server.admin_token, &server.admin_read_token);
        Self {
            console,
            edge: Arc::clone(edge),
            status: Arc::clone(status),
            metrics: Arc::clone(&edge.metrics),
            operator,
            token: token.clone(),
            read_token: read_token.clone(),
        }
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<ReplyBody> {
        if console::owns(request.uri().path()) {
            return console::answer(self, request).await;
        }
        let (head, body) = self.answer(request).await.into_parts();
        // A body in memory is whole at once.
        let body = body.collect().await.map(|whole| whole.to_bytes());
        Response::from_parts(head, ReplyBody::Whole(body.unwrap_or_default()))
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        self.operator.clock.now_ms()
    }

    async fn answer(&self, request: Request<Incoming>) -> OpsReply {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        match path.as_str() {
            "/health/live" => return json_reply(StatusCode::OK, json!({ "status": "ok" })),
            "/health/ready" | "/health/readiness" | "/healthz" | "/health"
            | "/health/liveliness" => {
                return self.ready().await;
            }
            _ => {}
        }
        if let Some(refusal) = self.refusal(&head.method, &head.headers) {
            return refusal;
        }
        let page = routes::find(&Method::GET, &path).map(|(operation, _)| operation);
        match page {
            Some(AdminOperation::Status) => json_reply(StatusCode::OK, self.status()),
            Some(AdminOperation::OpenApi) => text_reply(openapi::whole().to_owned(), JSON),
            Some(AdminOperation::Metrics) => {
                let backends = Backends::of(&self.edge.engine);
                self.metrics.backends(&backends.gauges());
                self.metrics.caches(&caches::gauges(&self.edge.engine));
                self.metrics.funds(&self.operator.funds.gauges());
                self.metrics.show_prompt_caches(SystemClock.now_ms());
                self.show_sales().await;
                text_reply(self.metrics.encode(&self.gauges().await), OPENMETRICS)
            }
            _ if path.starts_with("/admin/") => self.admin(&head, &path, body).await,
            _ => json_reply(
                StatusCode::NOT_FOUND,
                json!({ "error": { "message": "unknown path; use GET /health/live, /health/ready, /status, /metrics, /openapi.json or /admin/…" } }),
            ),
        }
    }

    /// Refuses requests without the token. Without a token it refuses web pages of other origins,
    /// which can reach loopback by its address or by a name that resolves to it.
    fn refusal(&self, method: &Method, headers: &HeaderMap) -> Option<OpsReply> {
        let refuse = |status, message: &str| {
            Some(json_reply(
                status,
                json!({ "error": { "message": message } }),
            ))
        };
        if !self.token.is_empty() {
            let presented = headers
                .get(AUTHORIZATION)
                .and_then(|value| value.to_str().ok())
                .and_then(|text| text.strip_prefix("Bearer "))
                .map(|token| Secret::new(token.trim().to_owned()));
            let may_read =
                matches!(*method, Method::GET | Method::HEAD) && !self.read_token.is_empty();
            if presented
                .is_some_and(|token| token == self.token || may_read && token == self.read_token)
            {
                return None;
            }
            return refuse(
                StatusCode::UNAUTHORIZED,
                "send the admin token (`server.admin_token`) as `Authorization: Bearer TOKEN`",
            );
        }
        let named = |header: Option<&HeaderValue>| {
            header.and_then(|value| value.to_str().ok().map(str::to_owned))
        };
        let is_local = named(headers.get(HOST)).is_none_or(|host| is_loopback_name(&host))
            && named(headers.get(ORIGIN)).is_none_or(|origin| {
                origin
                    .split_once("://")
                    .is_some_and(|(_, host)| is_loopback_name(host))
            });
        if is_local {
            return None;
        }
        refuse(
            StatusCode::FORBIDDEN,
            "without `server.admin_token` the admin listener accepts only the hosts and origins localhost and 127.0.0.1",
        )
    }

    async fn admin(&self, head: &http::request::Parts, path: &str, body: Incoming) -> OpsReply {
        let is_json = head
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        // A form of a web page cannot send this type without a preflight request.
        if matches!(head.method, Method::POST | Method::PATCH) && !is_json {
            return json_reply(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                json!({ "error": { "message": "send `content-type: application/json`" } }),
            );
        }
        let Ok(body) = Limited::new(body, BODY_MAX).collect().await else {
            return json_reply(
                StatusCode::PAYLOAD_TOO_LARGE,
                json!({ "error": { "message": "the body is larger than 64 KiB or incomplete" } }),
            );
        };
        if let Some(reply) = self.report(head, path).await {
            return reply;
        }
        if let Err(error) = admin::no_parameters(head.uri.query()) {
            let (status, body) = admin::refused(&error);
            return json_reply(status, body);
        }
        match admin::answer(
            &self.operator,
            &self.edge.engine,
            &head.method,
            path,
            &body.to_bytes(),
        )
        .await
        {
            Some((status, mut value)) => {
                if value["key"].is_string()
                    && let Some(notice) = unbilled::of_key(&value, &self.unbilled())
                {
                    value["notices"] = json!([notice]);
                }
                json_reply(status, value)
            }
            None => json_reply(
                StatusCode::NOT_FOUND,
                json!({ "error": { "message": format!("unknown path {} {path}; see docs/operations.md", head.method) } }),
            ),
        }
    }

    /// Answers a report over all accounts; `None` for another path or method.
    async fn report(&self, head: &http::request::Parts, path: &str) -> Option<OpsReply> {
        if head.method != Method::GET {
            return None;
        }
        let (query, accept) = (head.uri.query(), head.headers.get(ACCEPT));
        let accept = accept.and_then(|value| value.to_str().ok());
        let shown = admin::reports::answer(&self.operator, path, query, accept).await?;
        Some(match shown {
            Ok(ReportBody::Json(body)) => json_reply(StatusCode::OK, body),
            Ok(ReportBody::Csv(text)) => text_reply(text, CSV),
            Err(error) => {
                let (status, body) = admin::refused(&error);
                json_reply(status, body)
            }
        })
    }

    /// The backends that are not billed, without local servers.
    pub(crate) fn unbilled(&self) -> Vec<String> {
        let snapshot = self.edge.engine.snapshot();
        let unbilled = snapshot
            .endpoints
            .iter()
            .filter(|endpoint| endpoint.direct && endpoint.service != Service::Local);
        unbilled.map(|endpoint| endpoint.name.clone()).collect()
    }

    /// Without the store, direct backends keep working, so a gateway that has once reached it stays
    /// ready.
    async fn ready(&self) -> OpsReply {
        let written = tokio::time::timeout(READY_PATIENCE, self.operator.ledger.flush());
        let store = match written.await {
            Ok(Ok(())) => "ok",
            Ok(Err(_)) | Err(_) => "unavailable",
        };
        if store == "ok" {
            self.edge.store_reached.store(true, Ordering::Relaxed);
        }
        let (code, word) = self.edge.readiness();
        let backends = Backends::of(&self.edge.engine);
        let (mode, down) = backends.mode();
        let body = json!({ "status": word, "store": store, "mode": mode, "down": down, "embedding": self.edge.embedding() });
        json_reply(code, body)
    }

    /// Whether the store can be written now.
    async fn is_store_up(&self) -> bool {
        let written = self.operator.ledger.flush();
        matches!(
            tokio::time::timeout(STORE_PATIENCE, written).await,
            Ok(Ok(()))
        )
    }

    /// Takes in where payments of callers are; a store that is slow leaves the last figures.
    async fn show_sales(&self) {
        if let Some(sale) = &self.edge.sale
            && let Ok(Ok(gauges)) = tokio::time::timeout(STORE_PATIENCE, sale.gauges()).await
        {
            self.metrics.sales(&gauges);
        }
    }

    async fn gauges(&self) -> Gauges {
        let health = self.edge.engine.circuits();
        let open = || {
            health
                .iter()
                .filter(|one| one.state != CircuitState::Closed)
        };
        Gauges {
            store_up: self.is_store_up().await,
            settlements_waiting: self.edge.engine.settlements_waiting(),
            records_dropped: self.operator.ledger.dropped(),
            reload_ok: self.status.load().reload_error.is_none(),
            breakers_open: open().count() as u64,
            breakers_asked_anyway: open().filter(|one| one.asked_anyway > 0).count() as u64,
        }
    }

    fn status(&self) -> Value {
        let status = self.status.load();
        let snapshot = self.edge.engine.snapshot();
        let lists: Vec<_> = status
            .lists
            .iter()
            .map(|(name, list)| json!({ "provider": name, "models": list.as_ref().ok(), "error": list.as_ref().err() }))
            .collect();
        let providers: Vec<_> = snapshot.remote().map(|endpoint| &endpoint.name).collect();
        let shared = self.edge.engine.shared();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "shared": shared.map(|shared| json!({ "mode": shared.mode() })),
            "payments": self.edge.sale.as_ref().map(|sale| sale.status()),
            "sandbox": snapshot.sandbox,
            "draining": self.edge.draining.load(Ordering::Relaxed),
            "config": { "file": status.config_file, "hash": status.config_hash, "reload_error": status.reload_error,
                "restart_required": status.restart_required },
            "providers": providers,
            "backends": Backends::of(&self.edge.engine).json(),
            "models": snapshot.roster().listed().len(),
            "lists": lists,
            "funds": self.operator.funds.json(),
            "circuits": self.edge.engine.circuits().iter().map(circuit).collect::<Vec<_>>(),
        })
    }
}

/// `localhost`, `127.0.0.1` or `[::1]`, with or without a port.
pub(crate) fn is_loopback_name(host: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
        host.strip_prefix(local).is_some_and(|port| {
            port.is_empty()
                || port
                    .strip_prefix(':')
                    .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        })
    })
}

fn json_reply(status: StatusCode, body: Value) -> OpsReply {
    let mut reply = Response::new(Full::new(Bytes::from(body.to_string())));
    *reply.status_mut() = status;
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

fn text_reply(text: String, kind: &'static str) -> OpsReply {
    let mut reply = Response::new(Full::new(Bytes::from(text)));
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

/// A backend that has failed of late with a model.
fn circuit(health: &CircuitHealth) -> serde_json::Value {
    let state = circuit_state(health.state);
    let ms = |wait: Option<Duration>| wait.map(|wait| u64::try_from(wait.as_millis()).ok());
    json!({
        "provider": &*health.backend,
        "model": &*health.model,
        "state": state,
        "degraded": health.degraded,
        "failures_in_a_row": health.failures_in_a_row,
        "successes": health.successes,
        "failures": health.failures,
        "asked_anyway": health.asked_anyway,
        "retry_in_ms": ms(health.retry_in),
        "paused_for_ms": ms(health.paused_for),
        "hinted": health.hinted,
    })
}

#[cfg(test)]
mod tests {
    use super::is_loopback_name;

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for name in ["localhost", "127.0.0.1:8403", "[::1]:8403", "localhost:1"] {
            assert!(is_loopback_name(name), "{name}");
        }
        for name in [
            "localhost.evil.example",
            "127.0.0.1.evil.example:8403",
            "evil.example",
            "localhost:80@evil",
            "",
        ] {
            assert!(!is_loopback_name(name), "{name}");
        }
    }
}
