//! The control surface under `/_sandbox`: journal, faults, reset, health.

use http::Method;
use serde_json::{Value, json};

use crate::fault::{Faults, Only};
use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::services::SERVICES;
use crate::world::World;

/// Answers a control request; `path` is the full path here.
pub(crate) fn handle(request: &Recorded, world: &World) -> Reply {
    let path = request.path.trim_end_matches('/');
    match (path, &request.method) {
        ("/_sandbox/health" | "/_sandbox", &Method::GET) => Reply::json(
            200,
            &json!({
                "status": "ok", "seed": world.seed,
                "services": SERVICES.iter().map(|service| service.name).collect::<Vec<_>>(),
            }),
        ),
        ("/_sandbox/journal", &Method::GET) => {
            let since = request
                .query_value("since")
                .and_then(|since| since.parse().ok());
            Reply::json(200, &world.journal.entries(since.unwrap_or(0)))
        }
        ("/_sandbox/journal", &Method::DELETE) => {
            world.journal.clear();
            Reply::json(200, &json!({ "cleared": true }))
        }
        ("/_sandbox/faults", &Method::POST) => queue(request, world),
        ("/_sandbox/faults", &Method::GET) => {
            Reply::json(200, &json!({ "queued": world.faults.queued() }))
        }
        ("/_sandbox/faults", &Method::DELETE) => {
            world.faults.clear();
            Reply::json(200, &json!({ "cleared": true }))
        }
        ("/_sandbox/reset", &Method::POST) => {
            world.reset();
            Reply::json(200, &json!({ "reset": true }))
        }
        _ => problem(404, "unknown control path"),
    }
}

/// The answer to a path that belongs to no service.
pub(crate) fn unknown_service(path: &str) -> Reply {
    problem(404, &format!("no service has the path {path}"))
}

fn queue(request: &Recorded, world: &World) -> Reply {
    let body = match request.json() {
        Ok(body) => body,
        Err(error) => return problem(400, &format!("the body is not valid JSON: {error}")),
    };
    let service = body
        .get("service")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(service) = SERVICES.iter().find(|known| known.name == service) else {
        return problem(400, &format!("unknown service {service:?}"));
    };
    let times = match body.get("times") {
        None => 1,
        Some(times) => match times.as_u64() {
            Some(times) => times,
            None => return problem(400, "`times` must be a whole number"),
        },
    };
    match Faults::parse(body.get("fault").unwrap_or(&Value::Null)) {
        Ok(faults) if !faults.is_empty() => {
            let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
            let only = Only {
                path: text("path"),
                header: text("header"),
            };
            world.faults.push(service.name, times, only, faults);
            Reply::json(200, &json!({ "queued": true }))
        }
        Ok(_) => problem(400, "`fault` is missing"),
        Err(error) => problem(400, &format!("`fault` is invalid: {error}")),
    }
}

fn problem(status: u16, message: &str) -> Reply {
    Reply::json(status, &json!({ "error": message }))
}
