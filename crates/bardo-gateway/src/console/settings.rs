//! The configuration that is in force, and where each value comes from.

use std::sync::atomic::Ordering;

use bardo_console::pages::SettingsPage;
use bardo_console::parts::{Cell, Empty, FactList, PageTable, Tone};
use bardo_console::render;
use serde_json::Value;

use super::visit::{Shown, Visit, at};

/// Name of the layer of defaults.
const DEFAULT: &str = "default";

/// Shows the page.
pub(super) fn show(visit: &Visit<'_>) -> Shown {
    let status = visit.ops.status.load();
    let edge = &visit.ops.edge;
    let mut facts = FactList::default();
    facts.add("Version", Cell::text(env!("CARGO_PKG_VERSION")));
    let file = status.config_file.as_deref();
    facts.add(
        "File",
        Cell::maybe(file.or(Some("none: environment and defaults"))),
    );
    facts.add("Digest", Cell::code(&*status.config_hash));
    facts.add("Read", at(&Value::from(status.loaded_at_ms)));
    facts.add(
        "Last reload",
        match &status.reload_error {
            None => Cell::badge("in force", Tone::Good),
            Some(reason) => Cell::badge("refused", Tone::Bad).note(reason),
        },
    );
    facts.add(
        "Restart required for",
        Cell::maybe(Some(&*status.restart_required.join(", "))),
    );
    let draining = edge.draining.load(Ordering::Relaxed);
    facts.add(
        "State",
        Cell::text(if draining { "draining" } else { "serving" }),
    );
    facts.add(
        "Address for clients",
        Cell::code(format!("http://{}", visit.ops.console.listen)),
    );
    let read_only = if visit.ops.read_token.is_empty() {
        "not set"
    } else {
        "set"
    };
    facts.add("Read-only token", Cell::text(read_only));
    let wanted = visit.query.text("q").to_lowercase();
    let changed = visit.query.get("changed").is_some();
    let empty = Empty::new(
        "No setting matches",
        "Change the search, or show all settings.",
    )
    .link("All settings", "/console/settings");
    let mut settings = PageTable::new("Settings", &["Setting", "Value", "From"]).empty(empty);
    for (name, value, source) in status.settings.iter() {
        let is_default = source.starts_with(DEFAULT);
        if !name.to_lowercase().contains(&wanted) || changed && is_default {
            continue;
        }
        let shown = match value {
            Value::String(text) if text.is_empty() => Cell::text("empty"),
            Value::String(text) => Cell::code(text),
            other => Cell::code(other.to_string()),
        };
        let source = match is_default {
            true => Cell::text("default"),
            false => Cell::badge(source, Tone::Info),
        };
        settings.push(vec![Cell::code(name), shown, source]);
    }
    let shell = visit.shell("Settings", "settings");
    Shown::Html(render(&SettingsPage {
        shell: &shell,
        facts,
        query: visit.query.text("q"),
        changed,
        settings,
    }))
}
