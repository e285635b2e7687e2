//! Bankr's models: bare names with dots, prices per million tokens, privacy tiers.

use std::sync::LazyLock;

use serde_json::{Value, json};

/// Privacy tiers, weakest first.
pub(super) const TIERS: &[&str] = &["standard", "zdr", "private"];

static ROWS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/bankr.json")).expect("checked by a test")
});

/// One model with what its public row does not say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Model(&'static Value);

impl Model {
    pub(super) fn id(self) -> &'static str {
        self.0["row"]["id"].as_str().unwrap_or_default()
    }

    pub(super) fn owner(self) -> &'static str {
        self.0["row"]["owned_by"].as_str().unwrap_or_default()
    }

    pub(super) fn offers(self, tier: &str) -> bool {
        self.0["tiers"]
            .as_array()
            .is_some_and(|tiers| tiers.contains(&json!(tier)))
    }

    pub(super) fn reasons(self) -> bool {
        self.0["reasoning"] == true
    }

    pub(super) fn replacement(self) -> Option<&'static str> {
        self.0["replacement"].as_str()
    }

    /// A price in dollars per million tokens; classes without a price cost as much as input.
    pub(super) fn price(self, class: &str) -> f64 {
        let pricing = &self.0["row"]["pricing"];
        pricing[class]
            .as_f64()
            .or(pricing["input"].as_f64())
            .unwrap_or(0.0)
    }
}

/// The public rows.
pub(super) fn list() -> Value {
    let rows: Vec<&Value> = ROWS.iter().map(|entry| &entry["row"]).collect();
    json!({ "object": "list", "data": rows })
}

/// Splits a privacy suffix off a model name, and drops the `[1m]` that some clients add.
pub(super) fn split(asked: &str) -> (&str, Option<&str>) {
    let asked = asked.strip_suffix("[1m]").unwrap_or(asked);
    match asked.rsplit_once(':') {
        Some((id, tier)) if TIERS.contains(&tier) => (id, Some(tier)),
        _ => (asked, None),
    }
}

/// Finds a model; Anthropic's own spelling with dashes is accepted too.
pub(super) fn find(id: &str) -> Option<Model> {
    let named = |row: &&Value| {
        let known = row["row"]["id"].as_str().unwrap_or_default();
        known == id || (known.starts_with("claude") && known.replace('.', "-") == id)
    };
    ROWS.iter().find(named).map(Model)
}

/// What replaces a model that is gone.
pub(super) fn removed(id: &str) -> Option<&'static str> {
    match id {
        "claude-opus-4.1" => Some("claude-opus-4.8"),
        "gpt-5.1" => Some("gpt-5.2"),
        _ => None,
    }
}
