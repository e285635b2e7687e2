//! An explanation for the command line: without a server from the configuration, the catalog and
//! the lists of models that were kept last, or from a server that is asked.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bardo_engine::{Engine, EventSink, Explained, Hints, Principal, Received, Services, Task};
use bardo_providers::BaseUrl;
use bardo_providers::transport::{Origin, Transport};
use bardo_router::Catalog;
use bardo_types::fault::Fault;
use bardo_types::receipt::Receipt;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;

use crate::config::Loaded;
use crate::serve::runtime;
use crate::{assemble, last_lists, request_id};

/// Nobody is told, because nothing happens.
struct Silent;

impl EventSink for Silent {
    fn settled(&self, _receipt: &Receipt) {}

    fn attempt_failed(&self, _request_id: &str, _backend: &str, _fault: &Fault) {}
}

/// Explains where a gateway of this configuration would send the operator's request.
pub(crate) fn explain_here(
    loaded: &Loaded,
    folder: Option<&Path>,
    sandbox: bool,
    body: Bytes,
) -> Result<Explained, String> {
    let config = &loaded.config;
    let backends = assemble::backends(config).map_err(|reason| loaded.refuse(&reason))?;
    let catalog = Arc::new(Catalog::embedded());
    let lists = folder.map(|folder| last_lists::load(folder, &backends, &catalog));
    let lists = lists.unwrap_or_default();
    let world = assemble::world(config, &backends, &catalog, &lists, sandbox);
    let transport = Transport::new(config.upstream.connect_timeout.0);
    let engine = Engine::new(world, transport, Services::without_money(Arc::new(Silent)));
    let headers = HeaderMap::new();
    let received = Received {
        request_id: request_id::fresh(),
        client_request_id: None,
        task: Task::Generate,
        dialect: super::dialect_of(&headers, &body),
        body,
        forward: headers,
        hints: Hints::default(),
        principal: Principal::owner("local").map_err(|error| error.to_string())?,
    };
    engine.explain(received).map_err(|error| error.to_string())
}

/// Asks a running server for an explanation.
pub(crate) fn asked(url: &str, key: Option<&str>, body: String) -> Result<Value, String> {
    let base = BaseUrl::parse(url).map_err(|error| format!("--url: {error}"))?;
    let origin = Origin::new(&base, true);
    let path = format!("{}/v1/route/explain", base.path.trim_end_matches("/v1"));
    let mut request = Request::post(path).header(CONTENT_TYPE, "application/json");
    if let Some(key) = key {
        request = request.header(AUTHORIZATION, format!("Bearer {key}"));
    }
    let request = request
        .header(HOST, origin.authority().to_string())
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| error.to_string())?;
    runtime()?.block_on(async {
        let transport = Transport::new(Duration::from_secs(5));
        let answer = transport.send(&origin, request).await;
        let answer = answer.map_err(|error| format!("{url} does not answer: {error}"))?;
        let status = answer.status();
        let body = answer.into_body().collect().await;
        let body = body.map_err(|_| format!("{url} broke off"))?.to_bytes();
        let body: Value = serde_json::from_slice(&body)
            .map_err(|_| format!("{url} answered {status} and no JSON; is it a gateway?"))?;
        if status.is_success() {
            return Ok(body);
        }
        let words = body["error"]["message"]
            .as_str()
            .unwrap_or("no reason given");
        Err(format!("{status}: {words}"))
    })
}
