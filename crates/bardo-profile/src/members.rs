//! Which settings have a member in a request (`data/members.toml`), by dialect and service.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bardo_types::model::{Dialect, Effort, Service};
use serde::Deserialize;
use toml::{Table, Value};

/// Members that a request in one dialect to one service can have.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Members {
    /// The highest temperature, in thousandths.
    pub(crate) max_temperature_milli: u32,
    /// A temperature or `top_p`, not both.
    pub(crate) temperature_or_top_p: bool,
    pub(crate) top_k: bool,
    pub(crate) min_p: bool,
    pub(crate) penalties: bool,
    pub(crate) seed: bool,
    /// Number of stop texts.
    pub(crate) stop: usize,
    /// An effort, of models that list theirs.
    pub(crate) effort: bool,
    /// An effort, of any model that thinks.
    pub(crate) any_effort: bool,
    /// The lowest one that thinks and has a word.
    pub(crate) least_effort: Effort,
    /// Thinking can be switched off.
    pub(crate) off: bool,
    /// A number of thinking tokens.
    pub(crate) budget: bool,
    /// Sampling counts while the model thinks, where the model itself lets it.
    pub(crate) sampling_while_thinking: bool,
    pub(crate) schema: bool,
    /// A schema is for models alone whose names begin so.
    pub(crate) schema_only: Option<String>,
    pub(crate) json_object: bool,
    pub(crate) prompt_cache_key: bool,
    pub(crate) prediction: bool,
    pub(crate) web_search: bool,
    pub(crate) cache: Option<Marks>,
}

/// The side that marks parts for the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Marks {
    /// Marks on blocks.
    Caller,
    /// One member for the whole request.
    Request,
}

impl Default for Members {
    fn default() -> Self {
        Self {
            max_temperature_milli: 2_000,
            temperature_or_top_p: false,
            top_k: false,
            min_p: false,
            penalties: false,
            seed: false,
            stop: 0,
            effort: false,
            any_effort: false,
            least_effort: Effort::Minimal,
            off: false,
            budget: false,
            sampling_while_thinking: true,
            schema: false,
            schema_only: None,
            json_object: false,
            prompt_cache_key: false,
            prediction: false,
            web_search: false,
            cache: None,
        }
    }
}

impl Members {
    /// Those of a dialect as a service speaks it.
    pub(crate) fn of(dialect: Dialect, service: Service) -> &'static Self {
        static TABLES: LazyLock<BTreeMap<String, Spoken>> = LazyLock::new(|| {
            let text = include_str!("../data/members.toml");
            let tables: Table = text.parse().expect("the embedded table is tested");
            tables
                .iter()
                .map(|(name, table)| (name.clone(), Spoken::read(table)))
                .collect()
        });
        let dialect = match dialect {
            Dialect::Completions => Dialect::Chat,
            dialect => dialect,
        };
        let spoken = TABLES
            .get(dialect.as_str())
            .expect("every dialect has its table");
        spoken.by.get(service.as_str()).unwrap_or(&spoken.usual)
    }
}

/// One dialect: what most services take, and what some others do.
struct Spoken {
    usual: Members,
    by: BTreeMap<String, Members>,
}

impl Spoken {
    fn read(table: &Value) -> Self {
        let table = table.as_table().expect("a dialect is a table");
        let mut usual = table.clone();
        usual.retain(|_, value| !value.is_table());
        let read = |members: &Table| -> Members {
            Value::Table(members.clone())
                .try_into()
                .expect("the embedded table is tested")
        };
        let by = table.iter().filter_map(|(service, own)| {
            let mut members = usual.clone();
            members.extend(own.as_table()?.clone());
            Some((service.clone(), read(&members)))
        });
        Self {
            by: by.collect(),
            usual: read(&usual),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_and_service_has_its_members() {
        for service in Service::ALL {
            for dialect in [
                Dialect::Chat,
                Dialect::Completions,
                Dialect::Responses,
                Dialect::Anthropic,
                Dialect::Gemini,
            ] {
                assert!(
                    Members::of(dialect, service).effort,
                    "{dialect:?} {service:?}"
                );
            }
        }
        let text: Table = include_str!("../data/members.toml").parse().unwrap();
        let known = Service::ALL.map(Service::as_str);
        for (dialect, members) in &text {
            for (name, value) in members.as_table().unwrap() {
                assert!(
                    !value.is_table() || known.contains(&name.as_str()),
                    "{dialect}.{name}"
                );
            }
        }
    }
}
