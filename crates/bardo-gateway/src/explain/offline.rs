//! An explanation without a server: from the configuration, the catalog, and the lists of models
//! that were kept last.

use std::path::Path;
use std::sync::Arc;

use bardo_engine::{Engine, EventSink, Explained, Hints, Principal, Received, Services, Task};
use bardo_providers::transport::Transport;
use bardo_router::Catalog;
use bardo_types::fault::Fault;
use bardo_types::receipt::Receipt;
use bytes::Bytes;
use http::HeaderMap;

use crate::config::Loaded;
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
    let catalog = Arc::new(assemble::catalog(config));
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
