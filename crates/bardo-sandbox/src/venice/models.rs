//! Venice's catalog: capabilities and prices per model, traits, compatibility names.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::chat::Counts;

static CATALOG: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/venice.json")).expect("checked by a test")
});

/// Names of other makers that the service maps to its own models.
const MAPPED: &[(&str, &str)] = &[
    ("gpt-4o", "zai-org-glm-5-2"),
    ("gpt-4o-mini", "llama-3.3-70b"),
    ("text-embedding-3-small", "text-embedding-bge-m3"),
];

/// One text model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row(&'static Value);

impl Row {
    pub(super) fn id(self) -> &'static str {
        self.0["id"].as_str().unwrap_or_default()
    }

    pub(super) fn name(self) -> &'static str {
        self.0["model_spec"]["name"].as_str().unwrap_or_default()
    }

    /// Whether a capability is set.
    pub(super) fn can(self, capability: &str) -> bool {
        self.0["model_spec"]["capabilities"][capability] == true
    }

    /// The effort values that the model takes.
    pub(super) fn efforts(self) -> Vec<&'static str> {
        let options = self.0["model_spec"]["capabilities"]["reasoningEffortOptions"].as_array();
        options
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// What a request costs in dollars.
    pub(super) fn cost(self, counts: &Counts) -> f64 {
        let pricing = &self.0["model_spec"]["pricing"];
        let price = |class: &str| {
            pricing[class]["usd"]
                .as_f64()
                .or(pricing["input"]["usd"].as_f64())
                .unwrap_or(0.0)
        };
        let plain = counts.input.saturating_sub(counts.cache_read);
        (plain as f64 * price("input")
            + counts.cache_read as f64 * price("cache_input")
            + counts.output as f64 * price("output"))
            / 1e6
    }
}

fn rows(kind: &str) -> &'static [Value] {
    CATALOG[kind].as_array().map_or(&[], Vec::as_slice)
}

/// Answers `GET /models`.
pub(super) fn list(kind: &str) -> Value {
    let data: Vec<&Value> = match kind {
        "all" => rows("text").iter().chain(rows("embedding")).collect(),
        kind => rows(kind).iter().collect(),
    };
    json!({ "object": "list", "type": kind, "data": data })
}

/// `GET /models/traits`: trait to id.
pub(super) fn traits() -> Value {
    let mut traits = Map::new();
    for row in rows("text") {
        for name in row["model_spec"]["traits"].as_array().into_iter().flatten() {
            traits.insert(
                name.as_str().unwrap_or_default().to_owned(),
                row["id"].clone(),
            );
        }
    }
    json!({ "object": "list", "type": "text", "data": traits })
}

/// Answers `GET /models/compatibility_mapping`.
pub(super) fn mapping() -> Value {
    let names = MAPPED
        .iter()
        .map(|(from, to)| ((*from).to_owned(), json!(to)));
    json!({ "object": "list", "type": "text", "data": names.collect::<Map<_, _>>() })
}

/// Finds a text model by id, trait or mapped name.
pub(super) fn find(name: &str) -> Option<Row> {
    let mapped = MAPPED
        .iter()
        .find(|(from, _)| *from == name)
        .map_or(name, |(_, to)| to);
    let matches = |row: &&Value| {
        row["id"] == mapped
            || row["model_spec"]["traits"]
                .as_array()
                .is_some_and(|all| all.contains(&json!(name)))
    };
    rows("text").iter().find(matches).map(Row)
}

/// The dimensions of an embedding model.
pub(super) fn embedding_dimensions(name: &str) -> Option<usize> {
    let mapped = MAPPED
        .iter()
        .find(|(from, _)| *from == name)
        .map_or(name, |(_, to)| to);
    let row = rows("embedding").iter().find(|row| row["id"] == mapped)?;
    usize::try_from(row["model_spec"]["embeddingDimensions"].as_u64()?).ok()
}

/// Moves `key=value&…` of a model name into `venice_parameters`.
pub(super) fn apply_suffix(body: &mut Value, suffix: &str) {
    for (key, value) in suffix.split('&').filter_map(|pair| pair.split_once('=')) {
        let value = match value {
            "true" => json!(true),
            "false" => json!(false),
            other => json!(other),
        };
        if !body["venice_parameters"].is_object() {
            body["venice_parameters"] = json!({});
        }
        body["venice_parameters"][key] = value;
    }
}
