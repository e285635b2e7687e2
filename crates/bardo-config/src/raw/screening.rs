//! Checks of what requests say.

use schemars::JsonSchema;
use serde::Deserialize;

/// Checks of what requests say, made before anything is held or sent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Screening {
    /// Phrases that no request may contain.
    #[serde(default)]
    pub refused_phrases: Vec<RefusedPhrasesConfig>,
}

/// Phrases that requests of some keys, or of every caller, may not contain.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefusedPhrasesConfig {
    /// The phrases. Letter case and runs of white space do not count.
    pub phrases: Vec<String>,
    /// Ids of the keys that the rule is for. Empty: every caller.
    #[serde(default)]
    pub keys: Vec<String>,
}
