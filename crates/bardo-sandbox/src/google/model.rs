//! The Gemini models, read from `data/google_models.json`.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

/// One row of the model table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    pub(super) id: String,
    display_name: String,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    /// From the third generation on, thought signatures are required.
    pub(super) generation: u32,
    pub(super) thinking_levels: Vec<String>,
    pub(super) thinking_budget: Option<Budget>,
    pub(super) embeds: bool,
}

/// Bounds of `thinkingBudget`; -1 leaves it to the model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Budget {
    pub(super) least: i64,
    pub(super) most: i64,
    pub(super) can_be_off: bool,
}

static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/google_models.json"))
        .expect("the embedded model table is valid, a test parses it")
});

pub(super) fn all() -> &'static [Model] {
    &MODELS
}

/// Finds a model by its id; previews and dated versions are the model itself.
pub(super) fn find(id: &str) -> Option<&'static Model> {
    let id = id.strip_prefix("models/").unwrap_or(id);
    let id = id.split("-preview").next().unwrap_or(id);
    let id = id.strip_suffix("-latest").unwrap_or(id);
    MODELS.iter().find(|model| model.id == id)
}

impl Model {
    /// Whether the model serves this method of the API.
    pub(super) fn serves(&self, method: &str) -> bool {
        match method {
            "embedContent" | "batchEmbedContents" => self.embeds,
            "countTokens" => true,
            _ => !self.embeds,
        }
    }

    pub(super) fn info(&self) -> Value {
        let methods: &[&str] = if self.embeds {
            &["embedContent", "countTokens", "batchEmbedContents"]
        } else {
            &["generateContent", "countTokens", "createCachedContent"]
        };
        let mut info = json!({
            "name": format!("models/{}", self.id),
            "version": "001",
            "displayName": self.display_name,
            "description": format!("{} in the sandbox", self.display_name),
            "inputTokenLimit": self.input_tokens,
            "outputTokenLimit": self.output_tokens,
            "supportedGenerationMethods": methods,
        });
        if !self.embeds {
            info["temperature"] = json!(1);
            info["topP"] = json!(0.95);
            info["topK"] = json!(64);
            info["maxTemperature"] = json!(2);
            info["thinking"] = json!(true);
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_ids_previews_and_resource_names() {
        for id in [
            "gemini-3-pro",
            "models/gemini-3-pro",
            "gemini-3-pro-preview-11-2026",
        ] {
            assert_eq!(
                find(id).map(|model| model.id.as_str()),
                Some("gemini-3-pro"),
                "{id}"
            );
        }
        assert!(find("gemini-1.5-pro").is_none());
    }
}
