//! Models, their prices and backends.

use bardo_console::format::{count, encoded, short};
use bardo_console::pages::ModelsPage;
use bardo_console::parts::{Cell, Empty, FormChoice, PageTable};
use bardo_console::render;
use bardo_router::Roster;
use bardo_types::model::{ModelEntry, Price, Tier};
use bardo_types::money::PricePerMillion;
use serde_json::{Value, json};

use super::visit::{Shown, Visit};

/// Number of models on the page; more are found by the search.
const SHOWN_MAX: usize = 300;

fn dollars(price: PricePerMillion) -> String {
    let micro = price.micro();
    let text = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
    let text = text.trim_end_matches('0');
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    format!("${whole}.{part:0<2}")
}

fn shown(price: Option<&Price>, of: fn(&Price) -> Option<PricePerMillion>) -> String {
    price.and_then(of).map_or_else(|| "–".to_owned(), dollars)
}

/// The abilities of a model in words.
fn abilities(entry: &ModelEntry) -> String {
    let has = &entry.capabilities;
    let all = [
        (has.images, "images"),
        (has.documents, "documents"),
        (has.structured_output, "schemas"),
        (has.thinking.any(), "thinking"),
        (entry.embeddings, "embeddings"),
    ];
    let words: Vec<&str> = all
        .iter()
        .filter(|(yes, _)| *yes)
        .map(|(_, word)| *word)
        .collect();
    words.join(", ")
}

/// A model with what the first of its backends takes for it.
struct ListedModel<'a> {
    entry: &'a ModelEntry,
    backends: Vec<&'a str>,
    input: String,
    cached: String,
    output: String,
}

impl ListedModel<'_> {
    fn cells(&self) -> Vec<Cell> {
        let id = &self.entry.id;
        let context = self.entry.capabilities.context_tokens;
        vec![
            Cell::text(id)
                .link(format!("/console/requests?since=30d&model={}", encoded(id)))
                .note(abilities(self.entry)),
            Cell::maybe(self.entry.tier.map(Tier::as_str)),
            Cell::text(self.backends.join(", ")),
            Cell::text(&self.input),
            Cell::text(&self.cached),
            Cell::text(&self.output),
            Cell::text(if context == 0 {
                "–".to_owned()
            } else {
                short(context)
            }),
        ]
    }

    fn json(&self) -> Value {
        let entry = self.entry;
        let plain = |price: &str| price.trim_start_matches('$').to_owned();
        json!({
            "id": entry.id,
            "vendor": entry.vendor,
            "tier": entry.tier.map(Tier::as_str),
            "backends": self.backends,
            "input_usd_per_million": plain(&self.input),
            "cached_usd_per_million": plain(&self.cached),
            "output_usd_per_million": plain(&self.output),
            "context_tokens": entry.capabilities.context_tokens,
            "max_output_tokens": entry.capabilities.max_output_tokens,
            "abilities": abilities(entry),
        })
    }
}

const COLUMNS: [&str; 10] = [
    "id",
    "vendor",
    "tier",
    "backends",
    "input_usd_per_million",
    "cached_usd_per_million",
    "output_usd_per_million",
    "context_tokens",
    "max_output_tokens",
    "abilities",
];

/// The models that the query asks for.
fn found<'a>(visit: &Visit<'_>, roster: &'a Roster) -> Vec<ListedModel<'a>> {
    let wanted = visit.query.text("q").to_lowercase();
    let backend = visit.query.text("backend");
    let unpriced = visit.query.get("price") == Some("none");
    let mut found = Vec::new();
    for entry in roster.shown() {
        let is_meant = entry.id.to_lowercase().contains(&wanted) || entry.vendor.contains(&wanted);
        if !is_meant {
            continue;
        }
        let candidates = roster.resolve(&entry.id).unwrap_or_default();
        let backends: Vec<&str> = candidates
            .iter()
            .filter_map(|one| roster.backends().get(one.backend))
            .map(|one| one.name.as_str())
            .collect();
        // The price of the first backend is the one that a request pays.
        let price = candidates.first().and_then(|one| one.entry.price);
        let is_there = backend.is_empty() || backends.contains(&&*backend);
        if !is_there || unpriced && price.is_some() {
            continue;
        }
        found.push(ListedModel {
            entry,
            backends,
            input: shown(price.as_ref(), |price| Some(price.input)),
            cached: shown(price.as_ref(), |price| price.cache_read),
            output: shown(price.as_ref(), |price| Some(price.output)),
        });
    }
    found
}

/// Answers the list as a file.
pub(super) fn file(visit: &Visit<'_>, kind: &str) -> Shown {
    let snapshot = visit.ops.edge.engine.snapshot();
    let rows = found(visit, snapshot.roster());
    let rows = rows.iter().map(ListedModel::json).collect();
    super::export::file("models", kind, &COLUMNS, rows)
}

/// Shows the list page.
pub(super) fn list(visit: &Visit<'_>) -> Shown {
    let snapshot = visit.ops.edge.engine.snapshot();
    let found = found(visit, snapshot.roster());
    let backend = visit.query.text("backend");
    let empty = Empty::new(
        "No model matches",
        "Change the search, or refresh the lists of models.",
    )
    .link("All models", "/console/models");
    let headings = [
        "Model",
        "Tier*",
        "Backends*",
        "#Input / M",
        "#Cached / M*",
        "#Output / M",
        "#Context*",
    ];
    let query = format!(
        "q={}&backend={}",
        encoded(&visit.query.text("q")),
        encoded(&backend)
    );
    let mut models = PageTable::new("Models", &headings)
        .empty(empty)
        .export("CSV", format!("/console/models.csv?{query}"))
        .export("JSON", format!("/console/models.json?{query}"));
    models.rows = found
        .iter()
        .take(SHOWN_MAX)
        .map(ListedModel::cells)
        .collect();
    let mut backends = vec![FormChoice {
        value: String::new(),
        label: "all backends".to_owned(),
        chosen: backend.is_empty(),
    }];
    let names = snapshot.remote().map(|one| one.name.as_str());
    backends.extend(FormChoice::list(names, &backend));
    let total = count(found.len() as u64);
    let shell = visit.shell("Models", "models");
    Shown::Html(render(&ModelsPage {
        shell: &shell,
        shown: match found.len() > SHOWN_MAX {
            true => format!("{SHOWN_MAX} of {total}"),
            false => format!("{total} models"),
        },
        query: visit.query.text("q"),
        backends,
        models,
    }))
}
