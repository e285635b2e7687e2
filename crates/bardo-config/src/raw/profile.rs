//! Model settings of a subsystem.

use bardo_types::json::RawJson;
use bardo_types::model::Effort;
use bardo_types::profile::{InferenceProfile, ResponseSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};

/// Overrides of a row of the table. Fields that are absent keep the value of the table.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileConfig {
    /// 0 to 2.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// Above 0, up to 1.
    #[schemars(range(max = 1.0))]
    pub top_p: Option<f64>,
    /// 1 and more.
    #[schemars(range(min = 1))]
    pub top_k: Option<u32>,
    /// 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_p: Option<f64>,
    /// -2 to 2.
    #[schemars(range(min = -2.0, max = 2.0))]
    pub frequency_penalty: Option<f64>,
    /// -2 to 2.
    #[schemars(range(min = -2.0, max = 2.0))]
    pub presence_penalty: Option<f64>,
    /// Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
    pub reasoning_effort: Option<EffortName>,
    /// Return the reasoning with the answer.
    pub visible_thinking: Option<bool>,
    /// Schema of the answer.
    pub response_schema: Option<SchemaConfig>,
    /// Token limit of the answer.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Texts that end the answer.
    pub stop_sequences: Option<Vec<String>>,
    /// Requests with the same key use the same prompt cache of the provider.
    pub prompt_cache_key: Option<String>,
    /// Mark stable parts of the prompt for the provider's cache.
    pub cache_control: Option<bool>,
    /// Allow the provider to search the web.
    pub web_search: Option<bool>,
    /// Require attested hardware.
    pub tee_mode: Option<bool>,
    /// Predicted text of the answer.
    pub predicted_output: Option<String>,
    /// Seed for repeatable answers.
    pub seed: Option<u64>,
}

/// Schema of an answer.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchemaConfig {
    /// Name of the schema.
    pub name: String,
    /// JSON schema of the answer.
    pub schema: serde_json::Value,
    /// Enforce the schema exactly.
    #[serde(default)]
    pub strict: bool,
}

/// An effort, in upper or lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffortName(pub Effort);

const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

impl<'de> Deserialize<'de> for EffortName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Effort::parse(&name.to_ascii_lowercase())
            .map(Self)
            .ok_or_else(|| {
                let known = EFFORTS.map(|known| format!("`{known}`"));
                D::Error::custom(format!(
                    "unknown variant `{name}`, expected one of {}",
                    known.join(", ")
                ))
            })
    }
}

impl JsonSchema for EffortName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Effort".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "enum": EFFORTS })
    }
}

impl ProfileConfig {
    /// This configuration as an [`InferenceProfile`].
    pub fn profile(&self) -> InferenceProfile {
        let Self {
            temperature,
            top_p,
            top_k,
            min_p,
            frequency_penalty,
            presence_penalty,
            reasoning_effort,
            visible_thinking,
            response_schema,
            max_tokens,
            stop_sequences,
            prompt_cache_key,
            cache_control,
            web_search,
            tee_mode,
            predicted_output,
            seed,
        } = self.clone();
        InferenceProfile {
            temperature,
            top_p,
            top_k,
            min_p,
            frequency_penalty,
            presence_penalty,
            reasoning_effort: reasoning_effort.map(|effort| effort.0),
            visible_thinking,
            response_schema: response_schema.map(|schema| ResponseSchema {
                name: schema.name,
                schema: RawJson::of(&schema.schema)
                    .expect("a value that was parsed as JSON is JSON"),
                strict: schema.strict,
            }),
            max_tokens,
            stop_sequences,
            prompt_cache_key,
            cache_control,
            web_search,
            tee_mode,
            predicted_output,
            seed,
        }
    }

    /// Checks the ranges; `place` is where it stands.
    pub(super) fn problems(&self, place: &str) -> Vec<String> {
        let mut problems = Vec::new();
        for (key, value, least, most) in [
            ("temperature", self.temperature, 0.0, 2.0),
            ("top_p", self.top_p, f64::MIN_POSITIVE, 1.0),
            ("min_p", self.min_p, 0.0, 1.0),
            ("frequency_penalty", self.frequency_penalty, -2.0, 2.0),
            ("presence_penalty", self.presence_penalty, -2.0, 2.0),
        ] {
            if let Some(value) = value
                && !(least..=most).contains(&value)
            {
                let least = if key == "top_p" {
                    "above 0".to_owned()
                } else {
                    format!("{least}")
                };
                problems.push(format!(
                    "`{place}.{key}` must be {least} to {most}, not {value}"
                ));
            }
        }
        for (key, count) in [
            ("top_k", self.top_k == Some(0)),
            ("max_tokens", self.max_tokens == Some(0)),
        ] {
            if count {
                problems.push(format!("`{place}.{key}` must be at least 1"));
            }
        }
        problems
    }
}
