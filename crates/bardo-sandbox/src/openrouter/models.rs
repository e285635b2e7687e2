//! The catalog of OpenRouter.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::chat::Counts;

static ROWS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/openrouter.json")).expect("checked by a test")
});

/// The catalog as the service lists it.
pub(super) fn rows() -> &'static [Value] {
    &ROWS
}

/// The row of a model id; a variant suffix finds the plain model.
pub(super) fn find(id: &str) -> Option<&'static Value> {
    let named = |id: &str| ROWS.iter().find(|row| row["id"] == id);
    named(id).or_else(|| named(id.split(':').next().unwrap_or(id)))
}

/// The part before the slash.
pub(super) fn author(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

/// Whether a row supports a parameter.
pub(super) fn supports(row: &Value, parameter: &str) -> bool {
    row["supported_parameters"]
        .as_array()
        .is_some_and(|all| all.contains(&json!(parameter)))
}

/// What a request costs in dollars, prompt and completion apart. `body` says how long the prompt is
/// kept.
pub(super) fn cost(row: &Value, counts: &Counts, body: &Value) -> (f64, f64) {
    let price = |name: &str| {
        let text = row["pricing"][name].as_str().unwrap_or("0");
        text.parse::<f64>().unwrap_or(0.0).max(0.0)
    };
    let plain = counts
        .input
        .saturating_sub(counts.cache_read + counts.cache_written);
    let cached = match price("input_cache_read") {
        0.0 => price("prompt"),
        price => price,
    };
    let is_for_an_hour = body.to_string().contains(r#""ttl":"1h""#);
    let written = match (price("input_cache_write"), price("input_cache_write_1h")) {
        (_, hour) if is_for_an_hour && hour > 0.0 => hour,
        (0.0, _) => price("prompt"),
        (price, _) => price,
    };
    let prompt = plain as f64 * price("prompt")
        + counts.cache_read as f64 * cached
        + counts.cache_written as f64 * written;
    (prompt, counts.output as f64 * price("completion"))
}
