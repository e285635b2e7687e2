//! The table of profiles (`data/profiles.toml`) and its schemas.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bardo_types::json::RawJson;
use bardo_types::model::Effort;
use bardo_types::profile::{InferenceProfile, ResponseSchema};
use serde::Deserialize;

use crate::schedule::{Schedule, Temperature};

/// The files of `data/schemas`, by the name that rows and providers know them by.
const SCHEMAS: &[(&str, &str)] = &[
    (
        "capture_result",
        include_str!("../data/schemas/capture_result.json"),
    ),
    (
        "curator_evaluation",
        include_str!("../data/schemas/curator_evaluation.json"),
    ),
    (
        "daimon_appraisal",
        include_str!("../data/schemas/daimon_appraisal.json"),
    ),
    (
        "death_testament",
        include_str!("../data/schemas/death_testament.json"),
    ),
    (
        "dream_integration",
        include_str!("../data/schemas/dream_integration.json"),
    ),
    (
        "fragment_evaluation",
        include_str!("../data/schemas/fragment_evaluation.json"),
    ),
    (
        "heartbeat_decision",
        include_str!("../data/schemas/heartbeat_decision.json"),
    ),
    (
        "replay_analysis",
        include_str!("../data/schemas/replay_analysis.json"),
    ),
    (
        "risk_assessment",
        include_str!("../data/schemas/risk_assessment.json"),
    ),
    (
        "threat_assessment",
        include_str!("../data/schemas/threat_assessment.json"),
    ),
];

/// The profile of one subsystem.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileRow {
    /// The parameters; the temperature is the one that a schedule arrives at.
    pub profile: InferenceProfile,
    /// The temperature as the table gives it.
    pub temperature: Option<Temperature>,
    /// Schedule of the temperature from call to call.
    pub schedule: Option<Schedule>,
    /// Where a model takes either thinking or a temperature, it thinks.
    pub reasoning_first: bool,
    /// The document of the request whose text the answer will mostly repeat.
    pub predicts: Option<String>,
    /// Template of the prompt cache key: `{prefix}`, `{golem}`, `{subsystem}`, `{cycle}`.
    pub cache_key: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    temperature: Option<Temperature>,
    top_p: Option<f64>,
    top_k: Option<u32>,
    min_p: Option<f64>,
    reasoning_effort: Option<Effort>,
    #[serde(default)]
    reasoning_first: bool,
    visible_thinking: Option<bool>,
    schema: Option<String>,
    max_tokens: Option<u64>,
    prompt_cache_key: Option<String>,
    cache_control: Option<bool>,
    web_search: Option<bool>,
    tee_mode: Option<bool>,
    predicts: Option<String>,
    schedule: Option<Schedule>,
}

/// All rows, by name.
#[derive(Debug, Clone)]
pub struct ProfileTable {
    rows: BTreeMap<String, ProfileRow>,
}

/// Why a table of profiles was refused.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Not TOML, or members it should not have.
    #[error("profile data is malformed: {0}")]
    Malformed(#[from] toml::de::Error),
    /// A row names a schema that is not there.
    #[error("profile `{row}` names the unknown schema `{schema}`")]
    UnknownSchema {
        /// Name of the row.
        row: String,
        /// Name of the schema.
        schema: String,
    },
}

impl ProfileTable {
    /// The table of this binary.
    #[must_use]
    pub fn embedded() -> &'static Self {
        static TABLE: LazyLock<ProfileTable> = LazyLock::new(|| {
            ProfileTable::parse(include_str!("../data/profiles.toml"))
                .expect("the embedded profiles are tested")
        });
        &TABLE
    }

    /// Reads a table.
    ///
    /// # Errors
    /// See [`TableError`].
    pub fn parse(text: &str) -> Result<Self, TableError> {
        // In two steps: the parser of TOML is compiled once, and not for each kind of table.
        let written: BTreeMap<String, Written> = text.parse::<toml::Table>()?.try_into()?;
        let mut rows = BTreeMap::new();
        for (name, written) in written {
            let schema = match &written.schema {
                None => None,
                Some(schema) => {
                    let unknown = || TableError::UnknownSchema {
                        row: name.clone(),
                        schema: schema.clone(),
                    };
                    Some(named_schema(schema).ok_or_else(unknown)?)
                }
            };
            rows.insert(name, written.into_row(schema));
        }
        Ok(Self { rows })
    }

    /// The row of that name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&ProfileRow> {
        self.rows.get(name)
    }

    /// All rows, by name.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &ProfileRow)> {
        self.rows.iter().map(|(name, row)| (name.as_str(), row))
    }
}

/// The schema of that name, as providers are asked for it.
#[must_use]
pub fn named_schema(name: &str) -> Option<ResponseSchema> {
    let (name, text) = SCHEMAS.iter().find(|(known, _)| *known == name)?;
    // The file is for people; on the wire its white space would be paid for.
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    Some(ResponseSchema {
        name: (*name).to_owned(),
        schema: RawJson::of(&value).ok()?,
        strict: true,
    })
}

impl Written {
    fn into_row(self, response_schema: Option<ResponseSchema>) -> ProfileRow {
        ProfileRow {
            profile: InferenceProfile {
                temperature: self.temperature.map(Temperature::settled),
                top_p: self.top_p,
                top_k: self.top_k,
                min_p: self.min_p,
                reasoning_effort: self.reasoning_effort,
                visible_thinking: self.visible_thinking,
                response_schema,
                max_tokens: self.max_tokens,
                cache_control: self.cache_control,
                web_search: self.web_search,
                tee_mode: self.tee_mode,
                ..InferenceProfile::default()
            },
            temperature: self.temperature,
            schedule: self.schedule,
            reasoning_first: self.reasoning_first,
            predicts: self.predicts,
            cache_key: self.prompt_cache_key,
        }
    }
}
