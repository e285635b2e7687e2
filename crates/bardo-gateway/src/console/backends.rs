//! States of backends for pages.

use bardo_console::format::{count, encoded, ms};
use bardo_console::parts::{Cell, Empty, PageTable, Tone};
use serde_json::Value;

use super::visit::Visit;
use crate::ops::backends::Backends;

/// The tone of a state's name.
pub(super) fn tone(state: &str) -> Tone {
    match state {
        "healthy" | "closed" | "active" | "finished" | "answered" => Tone::Good,
        "degraded" | "half_open" | "expired" | "aborted" => Tone::Warn,
        "down" | "open" | "revoked" | "failed" | "unknown_outcome" => Tone::Bad,
        _ => Tone::Plain,
    }
}

/// The backends as `/status` shows them.
pub(super) fn all(visit: &Visit<'_>) -> Vec<Value> {
    match Backends::of(&visit.ops.edge.engine).json() {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    }
}

/// A time in milliseconds, or a dash.
pub(super) fn time(value: &Value) -> Cell {
    Cell::text(value.as_u64().map_or_else(|| "–".to_owned(), ms))
}

/// The largest figure of a backend's models.
fn worst(backend: &Value, name: &str) -> Option<u64> {
    let models = backend["models"].as_array()?;
    models
        .iter()
        .filter_map(|model| model["first_token"][name].as_u64())
        .max()
}

/// The backends in a line each.
pub(super) fn short_table(visit: &Visit<'_>) -> PageTable {
    let empty = Empty::new(
        "No provider",
        "Add a provider to the configuration; it is read again at once.",
    )
    .link("Settings", "/console/settings");
    let mut table = PageTable::new(
        "Providers",
        &["Provider", "State", "#Models in use", "#First token p95*"],
    )
    .empty(empty);
    for backend in all(visit) {
        let name = backend["provider"].as_str().unwrap_or_default();
        let state = backend["state"].as_str().unwrap_or_default();
        let models = backend["models"].as_array().map_or(0, Vec::len);
        table.push(vec![
            Cell::text(name).link(format!("/console/providers/{}", encoded(name))),
            Cell::badge(state, tone(state)),
            Cell::text(count(models as u64)),
            Cell::text(worst(&backend, "p95_ms").map_or_else(|| "–".to_owned(), ms)),
        ]);
    }
    table
}
