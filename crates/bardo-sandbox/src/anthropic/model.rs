//! What each Claude model accepts, read from `data/anthropic_models.json`.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

/// One row of the model table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Model {
    pub(crate) id: String,
    pub(crate) display_name: String,
    pub(crate) created_at: String,
    pub(crate) line: String,
    pub(crate) lifecycle: String,
    pub(crate) max_input_tokens: u64,
    pub(crate) max_tokens: u64,
    pub(crate) thinking: Thinking,
    pub(crate) effort: Vec<String>,
    pub(crate) sampling: bool,
    pub(crate) forced_tool_choice: bool,
    pub(crate) system_role: bool,
    pub(crate) prefill: bool,
    pub(crate) prefix_bound: bool,
    pub(crate) structured_outputs: bool,
    pub(crate) cache_minimum_tokens: u64,
    pub(crate) aliases: Vec<String>,
}

/// Which values of `thinking` a model takes, and what it does without one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Thinking {
    pub(crate) types: Vec<String>,
    pub(crate) when_omitted: WhenOmitted,
    pub(crate) display: Display,
    /// Turning thinking off is refused above this effort.
    pub(crate) off_needs_effort_at_most: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WhenOmitted {
    Adaptive,
    Off,
}

/// Whether the thinking text is shown or only its signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Display {
    Summarized,
    Omitted,
}

static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/anthropic_models.json"))
        .expect("the embedded model table is valid, a test parses it")
});

/// Every model, newest first.
pub(crate) fn all() -> &'static [Model] {
    &MODELS
}

/// Finds a model by its id, its alias, or a reseller's spelling such as
/// `anthropic/claude-opus-5.5`.
pub(crate) fn find(id: &str) -> Option<&'static Model> {
    let id = id.strip_prefix("anthropic/").unwrap_or(id);
    let id = id.split(':').next().unwrap_or(id);
    let dashed = id.replace('.', "-");
    MODELS
        .iter()
        .find(|model| model.id == dashed || model.aliases.contains(&dashed))
}

/// The row for models of other makers, which a reseller serves through the same endpoint: it
/// takes whatever the protocol has.
pub(crate) fn foreign() -> &'static Model {
    &FOREIGN
}

static FOREIGN: LazyLock<Model> = LazyLock::new(|| Model {
    id: "foreign".to_owned(),
    display_name: String::new(),
    created_at: String::new(),
    line: String::new(),
    lifecycle: "active".to_owned(),
    max_input_tokens: 1_000_000,
    max_tokens: 1_000_000,
    thinking: Thinking {
        types: ["adaptive", "enabled", "disabled", "between_tools"]
            .map(str::to_owned)
            .into(),
        when_omitted: WhenOmitted::Off,
        display: Display::Summarized,
        off_needs_effort_at_most: None,
    },
    effort: ["low", "medium", "high", "xhigh", "max"]
        .map(str::to_owned)
        .into(),
    sampling: true,
    forced_tool_choice: true,
    system_role: true,
    prefill: true,
    prefix_bound: false,
    structured_outputs: true,
    cache_minimum_tokens: 1024,
    aliases: Vec::new(),
});

impl Model {
    pub(crate) fn takes_thinking(&self, kind: &str) -> bool {
        self.thinking.types.iter().any(|known| known == kind)
    }

    /// The row in the shape of `GET /v1/models`.
    pub(crate) fn info(&self) -> Value {
        let yes = |supported: bool| json!({"supported": supported});
        let effort = |level: &str| yes(self.effort.iter().any(|known| known == level));
        json!({
            "type": "model",
            "id": self.id,
            "display_name": self.display_name,
            "created_at": self.created_at,
            "lifecycle": self.lifecycle,
            "line": self.line,
            "max_input_tokens": self.max_input_tokens,
            "max_tokens": self.max_tokens,
            "deprecated_at": null,
            "retires_at": null,
            "capabilities": {
                "batch": yes(true),
                "citations": yes(true),
                "code_execution": yes(true),
                "context_management": {
                    "supported": true,
                    "clear_thinking_20251015": yes(true),
                    "clear_tool_uses_20250919": yes(true),
                    "compact_20260112": yes(!self.prefill),
                },
                "effort": {
                    "supported": !self.effort.is_empty(),
                    "low": effort("low"),
                    "medium": effort("medium"),
                    "high": effort("high"),
                    "xhigh": effort("xhigh"),
                    "max": effort("max"),
                },
                "image_input": yes(true),
                "pdf_input": yes(true),
                "server_tools": {
                    "supported": true,
                    "code_execution": yes(true),
                    "web_search": yes(true),
                },
                "structured_outputs": yes(self.structured_outputs),
                "thinking": {
                    "supported": true,
                    "types": {
                        "adaptive": yes(self.takes_thinking("adaptive")),
                        "between_tools": yes(self.takes_thinking("between_tools")),
                        "disabled": yes(self.takes_thinking("disabled")),
                        "enabled": yes(self.takes_thinking("enabled")),
                    },
                },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_spelling_of_a_model() {
        for spelling in [
            "claude-opus-5-5",
            "claude-opus-5.5",
            "anthropic/claude-opus-5.5",
            "anthropic/claude-opus-5.5:beta",
        ] {
            assert_eq!(
                find(spelling).map(|model| model.id.as_str()),
                Some("claude-opus-5-5"),
                "{spelling}"
            );
        }
        assert_eq!(
            find("claude-haiku-4-5").map(|model| model.id.as_str()),
            Some("claude-haiku-4-5-20251001")
        );
        assert!(find("claude-sonnet-4").is_none());
    }

    #[test]
    fn newer_families_never_take_a_budget() {
        for id in ["claude-opus-4-7", "claude-sonnet-5", "claude-haiku-5-5"] {
            assert!(!find(id).expect(id).takes_thinking("enabled"), "{id}");
        }
        assert!(
            find("claude-haiku-4-5")
                .expect("row")
                .takes_thinking("enabled")
        );
    }
}
