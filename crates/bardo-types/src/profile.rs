//! How a call wants its model set up: every field is optional, and what is absent is left to the
//! provider.

use serde::{Deserialize, Serialize};

use crate::json::RawJson;
use crate::model::Effort;

/// Parameters of one call. Numbers are `f64`, so that 0.3 is written as 0.3.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InferenceProfile {
    /// 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Above 0, up to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// 1 and more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f64>,
    /// −2 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// −2 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// How hard to think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
    /// The reasoning is wanted with the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visible_thinking: Option<bool>,
    /// The form that the answer must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<ResponseSchema>,
    /// Most tokens of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// Requests that share it go to the same cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<String>,
    /// Stable parts of the prompt are marked for caching.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<bool>,
    /// The provider may search the web.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_search: Option<bool>,
    /// Only attested hardware will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tee_mode: Option<bool>,
    /// The likely answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_output: Option<String>,
    /// For repeatable answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// The form that an answer must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResponseSchema {
    /// The name that providers ask for.
    pub name: String,
    /// A JSON schema.
    pub schema: RawJson,
    /// Whether the answer must match the schema exactly.
    #[serde(default)]
    pub strict: bool,
}

impl InferenceProfile {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
