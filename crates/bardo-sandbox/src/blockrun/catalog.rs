//! BlockRun's catalog and its price formula.

use std::sync::LazyLock;

use serde_json::{Value, json};

static ROWS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/blockrun.json")).expect("checked by a test")
});

/// A model of the catalog.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row(&'static Value);

impl Row {
    pub(super) fn id(self) -> &'static str {
        self.0["id"].as_str().unwrap_or_default()
    }

    pub(super) fn name(self) -> &'static str {
        self.0["name"].as_str().unwrap_or_default()
    }

    pub(super) fn billing(self) -> &'static str {
        self.0["billing_mode"].as_str().unwrap_or_default()
    }

    pub(super) fn max_output(self) -> u64 {
        self.0["max_output"].as_u64().unwrap_or(8_192)
    }

    pub(super) fn has(self, category: &str) -> bool {
        self.0["categories"]
            .as_array()
            .is_some_and(|all| all.contains(&json!(category)))
    }

    /// A price in dollars per million tokens, above the long-context threshold if it is passed.
    fn price(self, name: &str, input_tokens: u64) -> f64 {
        let mut tiers = self.0["pricing"]["long_context"]
            .as_array()
            .into_iter()
            .flatten();
        let passed = |tier: &&Value| tier["threshold"].as_u64().is_some_and(|t| input_tokens > t);
        let tier = tiers.rfind(passed).unwrap_or(&self.0["pricing"]);
        tier[name].as_f64().unwrap_or(0.0)
    }
}

/// The catalog as the service lists it.
pub(super) fn list() -> Value {
    json!({ "object": "list", "data": *ROWS })
}

/// Finds a model. Plain Anthropic ids are mapped, and an old free id is redirected.
pub(super) fn find(id: &str) -> Option<Row> {
    let named = |id: &str| {
        ROWS.iter()
            .find(|row| row["id"] == id && row["billing_mode"] != "per_image")
            .map(Row)
    };
    if let Some(rest) = id.strip_prefix("claude-") {
        // Anthropic writes the minor version behind a dash.
        let dotted = match rest.rsplit_once('-') {
            Some((family, minor)) if minor.len() == 1 => format!("{family}.{minor}"),
            _ => rest.to_owned(),
        };
        return named(&format!("anthropic/claude-{dotted}"));
    }
    match id {
        "nvidia/gpt-oss-120b" => named("openai/gpt-oss-120b"),
        id => named(id),
    }
}

/// What the service says to an id it does not know.
pub(super) fn unknown(id: &str) -> String {
    let some: Vec<&str> = ROWS
        .iter()
        .take(5)
        .filter_map(|row| row["id"].as_str())
        .collect();
    format!("Unknown model: {id}. Try one of: {}", some.join(", "))
}

/// The output limit that a body asks for, in any of the three dialects.
pub(super) fn wanted_tokens(body: &Value) -> Option<u64> {
    ["max_completion_tokens", "max_tokens", "max_output_tokens"]
        .iter()
        .find_map(|name| body.get(name)?.as_u64())
        .filter(|wanted| *wanted > 0)
}

/// The price of a call in dollars, known before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quote {
    pub(super) micro_usd: u64,
    /// The most that the call can cost, by all of its output.
    pub(super) ceiling: u64,
    pub(super) input_tokens: u64,
    pub(super) max_tokens: u64,
}

/// A fixed quote: about two characters per token, a tenth of the output limit, a floor and a fee.
pub(super) fn quote(row: Row, body: &Value) -> Quote {
    let parts = ["messages", "input", "system", "instructions", "tools"];
    let characters: u64 = parts
        .iter()
        .filter_map(|name| body.get(name))
        .map(characters)
        .sum();
    let input_tokens = characters * 100 / 208 + 20;
    let default = row.max_output().min(8_192);
    let max_tokens = wanted_tokens(body).unwrap_or(default).min(row.max_output());
    let price = |part: f64| cost(row, input_tokens, part * max_tokens as f64);
    Quote {
        micro_usd: price(0.10),
        ceiling: price(1.0),
        input_tokens,
        max_tokens,
    }
}

/// The price of tokens in 10⁻⁶ USD, with the least amount and the fee.
pub(super) fn cost(row: Row, input_tokens: u64, output_tokens: f64) -> u64 {
    let micro_usd = if row.billing() == "flat" {
        row.price("flat", 0) * 1e6
    } else {
        // Dollars per million tokens are micro-dollars per token.
        let input = input_tokens as f64 * row.price("input", input_tokens);
        let output = output_tokens * row.price("output", input_tokens);
        (input + output).max(1_000.0) + 1_000.0
    };
    (micro_usd - 1e-6).ceil() as u64
}

/// Characters of every text inside.
fn characters(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.chars().count() as u64,
        Value::Array(items) => items.iter().map(characters).sum(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "role" | "type"))
            .map(|(_, field)| characters(field))
            .sum(),
        _ => 0,
    }
}
