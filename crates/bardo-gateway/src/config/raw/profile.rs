//! How the models of a subsystem are set up, by its owner.

use bardo_types::json::RawJson;
use bardo_types::model::Effort;
use bardo_types::profile::{InferenceProfile, ResponseSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};

/// What replaces the table's row, field by field; what is left out stays as it is there.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProfileConfig {
    /// 0 to 2.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub(crate) temperature: Option<f64>,
    /// Above 0, up to 1.
    #[schemars(range(max = 1.0))]
    pub(crate) top_p: Option<f64>,
    /// 1 and more.
    #[schemars(range(min = 1))]
    pub(crate) top_k: Option<u32>,
    /// 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) min_p: Option<f64>,
    /// -2 to 2.
    #[schemars(range(min = -2.0, max = 2.0))]
    pub(crate) frequency_penalty: Option<f64>,
    /// -2 to 2.
    #[schemars(range(min = -2.0, max = 2.0))]
    pub(crate) presence_penalty: Option<f64>,
    /// How hard to think: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
    pub(crate) reasoning_effort: Option<EffortName>,
    /// The reasoning is wanted with the answer.
    pub(crate) visible_thinking: Option<bool>,
    /// What the answer has to look like.
    pub(crate) response_schema: Option<SchemaConfig>,
    /// Most tokens of the answer.
    #[schemars(range(min = 1))]
    pub(crate) max_tokens: Option<u64>,
    /// Texts that end the answer.
    pub(crate) stop_sequences: Option<Vec<String>>,
    /// Requests that share it go to the same cache of the provider.
    pub(crate) prompt_cache_key: Option<String>,
    /// Stable parts of the prompt are marked for the provider's cache.
    pub(crate) cache_control: Option<bool>,
    /// The provider may search the web.
    pub(crate) web_search: Option<bool>,
    /// Only attested hardware will do.
    pub(crate) tee_mode: Option<bool>,
    /// The likely answer.
    pub(crate) predicted_output: Option<String>,
    /// For repeatable answers.
    pub(crate) seed: Option<u64>,
}

/// What an answer has to look like.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SchemaConfig {
    /// The name that providers ask for.
    pub(crate) name: String,
    /// A JSON schema.
    pub(crate) schema: serde_json::Value,
    /// Exactly.
    #[serde(default)]
    pub(crate) strict: bool,
}

/// An effort, in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EffortName(pub(crate) Effort);

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
    /// The same, as the rest of the program speaks of it.
    pub(crate) fn profile(&self) -> InferenceProfile {
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
                schema: RawJson::of(&schema.schema).expect("what was read as JSON is JSON"),
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
    pub(super) fn check(&self, place: &str) -> Result<(), String> {
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
                return Err(format!(
                    "`{place}.{key}` must be {least} to {most}, not {value}"
                ));
            }
        }
        if self.top_k == Some(0) || self.max_tokens == Some(0) {
            return Err(format!(
                "`{place}`: `top_k` and `max_tokens` must be at least 1"
            ));
        }
        Ok(())
    }
}
