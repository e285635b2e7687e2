//! `import litellm`: a configuration of LiteLLM's proxy as one of this gateway, with every difference
//! named.

mod backends;
mod decimal;
mod homes;
mod keys;
mod known;
mod models;
mod settings;
mod write;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::config;

pub(crate) use self::keys::{VirtualKey, virtual_keys};
use self::models::Deployments;
use self::settings::ImportedSettings;

/// Address that stands for a variable that is not set, so that the rest can be checked.
const PLACEHOLDER_URL: &str = "https://placeholder.example";
/// Secret that stands for a variable that is not set.
const PLACEHOLDER_KEY: &str = "a-placeholder-of-sufficient-length";

/// What becomes of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The setting has another form or another effect here.
    Changed,
    /// Nothing here corresponds to the setting.
    Omitted,
}

impl Fate {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Omitted => "omitted",
        }
    }
}

/// A difference between the file that was read and the one that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImportDifference {
    /// Place in LiteLLM's file, such as `router_settings.routing_strategy`.
    pub(crate) place: String,
    /// What becomes of the setting.
    pub(crate) fate: Fate,
    /// Reason, and what to do.
    pub(crate) reason: String,
}

impl ImportDifference {
    pub(crate) fn json(&self) -> Value {
        json!({ "place": self.place, "fate": self.fate.as_str(), "reason": self.reason })
    }
}

/// Collects differences and the variables that the new file refers to.
#[derive(Debug, Default)]
struct ImportFindings {
    differences: Vec<ImportDifference>,
    /// Variables, and whether each holds an address.
    variables: BTreeMap<String, bool>,
}

impl ImportFindings {
    fn changed(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        self.add(place.into(), Fate::Changed, reason.into());
    }

    fn omitted(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        self.add(place.into(), Fate::Omitted, reason.into());
    }

    fn add(&mut self, place: String, fate: Fate, reason: String) {
        let difference = ImportDifference {
            place,
            fate,
            reason,
        };
        if !self.differences.contains(&difference) {
            self.differences.push(difference);
        }
    }

    /// The reference to a variable with a secret.
    fn secret(&mut self, name: &str) -> String {
        self.variables.entry(name.to_owned()).or_insert(false);
        format!("env:{name}")
    }

    /// A variable with an address.
    fn address(&mut self, name: &str) {
        self.variables.insert(name.to_owned(), true);
    }
}

/// A configuration that was read from LiteLLM's.
#[derive(Debug)]
pub(crate) struct Imported {
    /// The new configuration as YAML.
    pub(crate) text: String,
    /// Names of models that clients can send.
    pub(crate) models: Vec<String>,
    /// Number of entries of `model_list` that have no counterpart.
    pub(crate) skipped: usize,
    /// Every difference, in the order of the file.
    pub(crate) differences: Vec<ImportDifference>,
    /// Variables that the new file refers to and that are not set.
    pub(crate) unset: Vec<String>,
}

/// Reads a configuration of LiteLLM's proxy. `sells` demands charges for every backend, as for
/// keys with budgets.
///
/// # Errors
/// If the text is no such configuration, or if nothing of it can be used.
pub(crate) fn litellm(
    text: &str,
    sells: bool,
    environment: &[(String, String)],
) -> Result<Imported, String> {
    let file: Value =
        serde_saphyr::from_str(text).map_err(|error| format!("the file is not YAML: {error}"))?;
    let sections = file
        .as_object()
        .ok_or("the file is not a configuration of LiteLLM: it must be a table")?;
    let list = sections.get("model_list").and_then(Value::as_array).ok_or(
        "the file has no list `model_list`. If the models are in LiteLLM's database, write them into \
         the file first",
    )?;
    let mut found = ImportFindings::default();
    let empty = Map::new();
    let general = object(sections, "general_settings").unwrap_or(&empty);
    let bills = sells || general.contains_key("master_key") || general.contains_key("database_url");
    let mut deployments = Deployments::read(list, &mut found);
    if deployments.names.is_empty() {
        let reasons: Vec<String> = found
            .differences
            .iter()
            .map(|one| one.reason.clone())
            .collect();
        return Err(format!(
            "no entry of `model_list` can be used here: {}",
            reasons.join("; ")
        ));
    }
    let settings = ImportedSettings::read(sections, &mut deployments, environment, &mut found);
    other_sections(sections, &mut found);
    if bills {
        found.changed(
            "budgets",
            "every backend is written with `bill: true`, so that budgets stop requests. A key of \
             `keys create` needs a deposit before its first request, and no charged key gets a model \
             without a known price: `bardo-gateway models list --unpriced` lists those",
        );
    }
    let text = write::yaml(&deployments, &settings, bills, &found.differences);
    check(&text, &found.variables, environment)?;
    let is_set = |name: &String| environment.iter().any(|(known, _)| known == name);
    let unset = found.variables.into_keys().filter(|name| !is_set(name));
    Ok(Imported {
        text,
        models: deployments
            .names
            .iter()
            .map(|named| named.name.clone())
            .collect(),
        skipped: deployments.skipped,
        differences: found.differences,
        unset: unset.collect(),
    })
}

/// Checks the written file as `check` does, with placeholders for variables that are not set.
fn check(
    text: &str,
    variables: &BTreeMap<String, bool>,
    environment: &[(String, String)],
) -> Result<(), String> {
    let mut environment = environment.to_vec();
    for (name, is_address) in variables {
        if !environment.iter().any(|(known, _)| known == name) {
            let value = match is_address {
                true => PLACEHOLDER_URL,
                false => PLACEHOLDER_KEY,
            };
            environment.push((name.clone(), value.to_owned()));
        }
    }
    let loaded = config::of_text(text, &environment)
        .map_err(|error| format!("the converted file is not valid: {error}"))?;
    crate::assemble::backends(&loaded.config)
        .map(drop)
        .map_err(|error| format!("the converted file is not valid: {error}"))
}

/// Names sections that are no counterpart of any here.
fn other_sections(sections: &Map<String, Value>, found: &mut ImportFindings) {
    for (name, value) in sections {
        match name.as_str() {
            "model_list" | "litellm_settings" | "router_settings" | "general_settings" => {}
            "environment_variables" => {
                let names = value.as_object().into_iter().flat_map(Map::keys);
                let names: Vec<&str> = names.map(String::as_str).collect();
                found.omitted(
                    "environment_variables",
                    format!(
                        "set these variables where the gateway starts: {}",
                        names.join(", ")
                    ),
                );
            }
            "include" => found.omitted(
                "include",
                "other files are not read; put their entries into this file and import it again",
            ),
            "guardrails" => found.omitted(
                "guardrails",
                "`screening.refused_phrases` refuses phrases; there are no other guardrails",
            ),
            "mcp_servers" | "mcp_tools" => {
                found.omitted(
                    name,
                    "the gateway does not serve MCP; connect clients to MCP servers",
                );
            }
            _ => found.omitted(name, "there is no counterpart"),
        }
    }
}

/// A section that is a table.
fn object<'v>(sections: &'v Map<String, Value>, name: &str) -> Option<&'v Map<String, Value>> {
    sections.get(name).and_then(Value::as_object)
}

/// A text or a number as text.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The name of a variable in `os.environ/NAME`.
fn variable(text: &str) -> Option<&str> {
    text.strip_prefix("os.environ/").map(str::trim)
}

#[cfg(test)]
mod tests;
