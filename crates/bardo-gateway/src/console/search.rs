//! What the command palette finds beside pages: keys, models and backends.

use bardo_console::format::encoded;
use serde_json::{Value, json};

use super::visit::{PageResult, Shown, Visit};

/// Number of finds of each kind.
const FOUND_MAX: usize = 5;

/// Answers `GET /console/search?q=…`.
pub(super) async fn find(visit: &Visit<'_>) -> PageResult {
    let wanted = visit.query.text("q").to_lowercase();
    let mut found = Vec::new();
    if wanted.starts_with("req_") {
        let href = format!("/console/requests/{}", encoded(&wanted));
        found.push(json!({ "label": wanted, "href": href, "kind": "request" }));
    }
    let is_meant = |text: &str| text.to_lowercase().contains(&wanted);
    // Without the store the other kinds are still found.
    let keys = visit.ops.operator.list_keys(None).await.unwrap_or_default();
    let text = |key: &Value, name: &str| key[name].as_str().unwrap_or_default().to_owned();
    let keys = keys.iter().filter(|key| {
        ["id", "name", "account"]
            .iter()
            .any(|name| is_meant(&text(key, name)))
    });
    for key in keys.take(FOUND_MAX) {
        let (id, name) = (text(key, "id"), text(key, "name"));
        let label = if name.is_empty() {
            id.clone()
        } else {
            format!("{name} ({id})")
        };
        let href = format!("/console/keys/{}", encoded(&id));
        found.push(json!({ "label": label, "href": href, "kind": "key" }));
    }
    let snapshot = visit.ops.edge.engine.snapshot();
    let models = snapshot
        .roster()
        .shown()
        .filter(|model| is_meant(&model.id));
    for model in models.take(FOUND_MAX) {
        let href = format!("/console/models?q={}", encoded(&model.id));
        found.push(json!({ "label": model.id, "href": href, "kind": "model" }));
    }
    let backends = snapshot.remote().filter(|one| is_meant(&one.name));
    for backend in backends.take(FOUND_MAX) {
        let href = format!("/console/providers/{}", encoded(&backend.name));
        found.push(json!({ "label": backend.name, "href": href, "kind": "provider" }));
    }
    Ok(Shown::Json(json!({ "found": found })))
}
