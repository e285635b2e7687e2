//! What to configure where something is missing (`data/advice.toml`), and the words for it.

use std::sync::LazyLock;

use bardo_types::feature::{Feature, FeatureSet};
use serde::Deserialize;

use crate::decision::{Choice, RefusalKind};
use crate::filter::names_backend;
use crate::need::Need;
use crate::roster::BackendSpec;
use crate::words::{listed, spoken};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mend: Vec<Mend>,
}

/// A provider that has what is missing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mend {
    features: FeatureSet,
    provider: String,
    key: String,
    why: String,
}

fn table() -> &'static [Mend] {
    static TABLE: LazyLock<File> = LazyLock::new(|| {
        toml::from_str(include_str!("../data/advice.toml")).expect("the table is tested")
    });
    &TABLE.mend
}

/// The row that mends the most of what is missing, the first of these.
fn best(missing: FeatureSet) -> Option<&'static Mend> {
    let mends = |row: &Mend| missing.len() - missing.minus(row.features).len();
    table()
        .iter()
        .rev()
        .max_by_key(|row| mends(row))
        .filter(|row| mends(row) > 0)
}

fn is_configured(provider: &str, backends: &[BackendSpec]) -> bool {
    backends
        .iter()
        .any(|spec| names_backend(provider, &spec.name))
}

/// What would mend a refusal, in one or two sentences.
pub(crate) fn for_refusal(
    need: &Need,
    missing: &[String],
    backends: &[BackendSpec],
    kind: RefusalKind,
) -> String {
    let features: FeatureSet = missing
        .iter()
        .filter_map(|name| Feature::parse(name))
        .collect();
    let mut sentences = Vec::new();
    if let Some(row) = best(features) {
        sentences.push(if is_configured(&row.provider, backends) {
            configured(row, need)
        } else {
            format!("add `{}`: {}", row.key, row.why)
        });
    }
    let names = |name: &str| missing.iter().any(|known| known == name);
    if names("max_cost_usd") {
        sentences.push("allow more with `max_cost_usd`, or ask for fewer tokens".into());
    }
    if names("max_latency_ms") {
        sentences.push(
            "allow more time with `max_latency_ms`, or set `inference.strict_latency: false`"
                .into(),
        );
    }
    if names("context") {
        sentences.push("shorten the prompt, or add a backend whose models read more".into());
    }
    let floor = need.wish == need.class
        && need.class == bardo_types::privacy::SecurityClass::Private
        && need
            .subsystem
            .as_ref()
            .is_some_and(|row| row.floor >= need.class);
    if kind == RefusalKind::Privacy && floor {
        let part = need.part.as_deref().unwrap_or_default();
        sentences.push(format!(
            "`privacy.floors.{part}: standard` lowers its floor, and the hint `accept_degraded: true` \
             lets this request go without"
        ));
    } else if !need.accepts_degraded && features.iter().any(Feature::is_relaxable) {
        sentences.push("the hint `accept_degraded: true` lets this request go without".into());
    }
    if sentences.is_empty() {
        sentences.push(
            "add a backend (`providers.blockrun`, `providers.openrouter`), or ask for less".into(),
        );
    }
    sentences.join("; ")
}

/// What to do where the provider that has it is there already.
fn configured(row: &Mend, need: &Need) -> String {
    let part = need.part.as_deref().unwrap_or("<subsystem>");
    format!(
        "`{}` is configured, but none of its models has all of it: list another model there, or put \
         it first in `inference.routes.{part}`",
        row.provider
    )
}

/// What would give a choice what it lacks: a line each, with why.
pub(crate) fn for_choice(choice: &Choice, need: &Need, backends: &[BackendSpec]) -> Vec<String> {
    let mut missing: FeatureSet = choice.degraded.iter().copied().collect();
    let mut lines = Vec::new();
    while let Some(row) = best(missing) {
        let mended = missing.minus(missing.minus(row.features));
        let why = &row.why;
        lines.push(if is_configured(&row.provider, backends) {
            let part = need.part.as_deref().unwrap_or("<subsystem>");
            format!(
                "for {}: put `{}` first in `inference.routes.{part}`, if one of its models has it",
                spoken(mended),
                row.provider
            )
        } else {
            format!("for {}: add `{}` ({why})", spoken(mended), row.key)
        });
        let next = missing.minus(row.features);
        if next == missing {
            break;
        }
        missing = next;
    }
    lines
}

/// What the owner of an agent is told of an answer that lacks something, e.g. "Dream used
/// claude-sonnet-4-6 on blockrun: visible thinking and privacy unavailable; configure
/// `providers.venice.api_key`".
#[must_use]
pub fn owner_message(subsystem: &str, model: &str, backend: &str, degraded: &[Feature]) -> String {
    let mut part = subsystem.replace('_', " ");
    if let Some(first) = part.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let names: Vec<String> = degraded
        .iter()
        .map(|feature| feature.as_str().replace('_', " "))
        .collect();
    if names.is_empty() {
        return format!("{part} used {model} on {backend}");
    }
    let missing: FeatureSet = degraded.iter().copied().collect();
    let what = listed(&names);
    match best(missing).filter(|row| !names_backend(&row.provider, backend)) {
        Some(row) => format!(
            "{part} used {model} on {backend}: {what} unavailable; configure `{}`",
            row.key
        ),
        None => format!("{part} used {model} on {backend}: {what} unavailable"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_a_line_that_would_mend_it() {
        for feature in Feature::all() {
            assert!(best(FeatureSet::EMPTY.with(feature)).is_some(), "{feature}");
        }
        assert!(best(FeatureSet::EMPTY).is_none());
    }

    #[test]
    fn owners_are_told_in_words_and_with_the_key_that_mends_it() {
        assert_eq!(
            owner_message(
                "dream",
                "claude-sonnet-4-6",
                "blockrun",
                &[Feature::VisibleThinking, Feature::Privacy]
            ),
            "Dream used claude-sonnet-4-6 on blockrun: visible thinking and privacy unavailable; \
             configure `providers.venice.api_key`"
        );
        assert_eq!(
            owner_message("playbook", "m", "openrouter", &[Feature::PredictedOutputs]),
            "Playbook used m on openrouter: predicted outputs unavailable; configure \
             `providers.direct.keys`"
        );
        assert_eq!(
            owner_message("death_reflect", "m", "venice", &[Feature::VisibleThinking]),
            "Death reflect used m on venice: visible thinking unavailable"
        );
    }
}
