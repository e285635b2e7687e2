//! The price of a backend.

use schemars::JsonSchema;
use serde::Deserialize;

/// A price in USD per million tokens, except where noted.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceConfig {
    /// Fresh prompt tokens.
    #[schemars(with = "f64")]
    pub input_per_million: serde_json::Number,
    /// Tokens of the answer.
    #[schemars(with = "f64")]
    pub output_per_million: serde_json::Number,
    /// Prompt tokens read from the provider's cache.
    #[schemars(with = "Option<f64>")]
    pub cache_read_per_million: Option<serde_json::Number>,
    /// Prompt tokens written to the provider's cache for 5 minutes, or its only duration.
    #[schemars(with = "Option<f64>")]
    pub cache_write_per_million: Option<serde_json::Number>,
    /// Prompt tokens written to the provider's cache for an hour.
    #[schemars(with = "Option<f64>")]
    pub cache_write_1h_per_million: Option<serde_json::Number>,
    /// Audio tokens of the prompt.
    #[schemars(with = "Option<f64>")]
    pub audio_input_per_million: Option<serde_json::Number>,
    /// Audio tokens of the completion.
    #[schemars(with = "Option<f64>")]
    pub audio_output_per_million: Option<serde_json::Number>,
    /// Tokens of reasoning.
    #[schemars(with = "Option<f64>")]
    pub reasoning_per_million: Option<serde_json::Number>,
    /// Price of a web search, in USD.
    #[schemars(with = "Option<f64>")]
    pub per_search: Option<serde_json::Number>,
    /// Price of a request of any size, in USD.
    #[schemars(with = "Option<f64>")]
    pub per_request: Option<serde_json::Number>,
}
