//! Advice about missing features (`data/advice.toml`), as sentences.

use std::sync::LazyLock;

use bardo_types::backend::BackendName;
use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::privacy::SecurityClass;
use serde::Deserialize;

use crate::decision::{RefusalKind, RoutedCandidate};
use crate::name::normalize;
use crate::rated::RatedCandidate;
use crate::requirements::{PROTECTION, Requirements};
use crate::roster::BackendSpec;
use crate::words::{listed, spoken};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AdviceFile {
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
    static TABLE: LazyLock<AdviceFile> = LazyLock::new(|| {
        crate::data::read(include_str!("../data/advice.toml")).expect("the table is tested")
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
        .any(|spec| BackendName::parse(&spec.name).is_meant_by(provider))
}

/// The backends and the model of a refusal, beside the requirements.
#[derive(Clone, Copy)]
pub(crate) struct RefusalContext<'a> {
    pub(crate) backends: &'a [BackendSpec],
    /// Every model of every backend.
    pub(crate) pool: &'a [RatedCandidate],
    /// Whether the request limits its output.
    pub(crate) limits_output: bool,
    /// The model that the caller named, in the request or in its hints.
    pub(crate) model: Option<&'a str>,
}

/// Advice that would avoid a refusal, in one or two sentences.
pub(crate) fn for_refusal(
    requirements: &Requirements,
    missing: &[String],
    known: RefusalContext<'_>,
    kind: RefusalKind,
) -> String {
    let features: FeatureSet = missing
        .iter()
        .filter_map(|name| Feature::parse(name))
        .collect();
    let mut sentences = Vec::new();
    if features.has(Feature::E2ee) && requirements.class == SecurityClass::E2ee {
        sentences.push(sealed(requirements).to_owned());
    } else if let Some(row) = best(features) {
        sentences.push(if is_configured(&row.provider, known.backends) {
            configured(row, requirements, known)
        } else if kind == RefusalKind::Privacy {
            format!("add `{}`", row.key)
        } else {
            format!("add `{}`: {}", row.key, row.why)
        });
    }
    let names = |name: &str| missing.iter().any(|known| known == name);
    if names("max_cost_usd") {
        let key = requirements.cap.map_or("max_cost_usd", |cap| cap.key);
        sentences.push(match known.limits_output {
            true => format!("raise `{key}`, or lower `max_tokens`"),
            false => format!("raise `{key}`"),
        });
    }
    if names("max_latency_ms") {
        sentences.push("raise `max_latency_ms`, or set `inference.strict_latency: false`".into());
    }
    if names("context") {
        sentences.push("shorten the prompt, or add a backend with a larger context".into());
    }
    let floor = requirements.wish == requirements.class
        && requirements.class == SecurityClass::Private
        && requirements
            .subsystem
            .as_ref()
            .is_some_and(|row| row.floor >= requirements.class);
    if kind == RefusalKind::Privacy && floor {
        let part = requirements.part.as_deref().unwrap_or_default();
        sentences.push(format!(
            "or set `privacy.floors.{part}: standard`, or send the hint `accept_degraded: true`"
        ));
    } else if !requirements.accepts_degraded && features.iter().any(Feature::is_relaxable) {
        sentences.push("or send the hint `accept_degraded: true`".into());
    }
    if kind == RefusalKind::Privacy
        && requirements.class == requirements.remembered
        && requirements.class > SecurityClass::Standard
    {
        let class = requirements.class.as_str();
        sentences.push(format!(
            "this request continues a conversation of class `{class}`"
        ));
    }
    if sentences.is_empty() {
        sentences.push(
            "add a backend (`providers.blockrun`, `providers.openrouter`), or require fewer features".into(),
        );
    }
    sentences.join("; ")
}

/// Advice for requests that only the caller and the model may read.
fn sealed(requirements: &Requirements) -> &'static str {
    if requirements.attested {
        "no provider proves class `e2ee` by attestation in this version; require `tee` instead"
    } else {
        "no hosted provider meets `e2ee` in this version; require `tee` instead, or add a local server with `trusted_local: true`"
    }
}

/// Whether an offer has the protection and the features that the request needs.
fn would_do(rated: &RatedCandidate, requirements: &Requirements) -> bool {
    let must = requirements.must.minus(PROTECTION);
    rated.security >= requirements.class && must.minus(rated.features).is_empty()
}

/// Advice when a configured provider has the feature.
fn configured(row: &Mend, requirements: &Requirements, known: RefusalContext<'_>) -> String {
    let provider = &row.provider;
    let of_provider = |rated: &&RatedCandidate| {
        BackendName::parse(&known.backends[rated.candidate.backend].name).is_meant_by(provider)
            && would_do(rated, requirements)
    };
    match known.model {
        Some(model) => {
            let wanted = normalize(model);
            let ids = known.pool.iter().filter(of_provider);
            let ids = ids.map(|rated| rated.entry().id.as_str());
            // The same model by the provider's own name for it.
            let alike = ids.filter(|id| normalize(id).contains(&wanted));
            let alike = alike.min_by_key(|id| (id.len(), *id));
            let any = known.pool.iter().any(|rated| would_do(rated, requirements));
            let instead = match (alike, any) {
                (Some(id), _) => format!("name `{id}`, or send `bardo/auto`"),
                (None, true) => "send `bardo/auto`, or name one of its models that can".to_owned(),
                (None, false) => "name another model".to_owned(),
            };
            format!(
                "`{provider}` is configured but cannot answer this request with `{model}`; {instead}"
            )
        }
        None => format!(
            "`{provider}` is configured but none of its models can answer this request; list one that can in its `models`"
        ),
    }
}

/// Advice for the missing features of a candidate: a line each, with its reason.
pub(crate) fn for_choice(
    choice: &RoutedCandidate,
    requirements: &Requirements,
    backends: &[BackendSpec],
) -> Vec<String> {
    let mut missing: FeatureSet = choice.degraded.iter().copied().collect();
    let mut lines = Vec::new();
    while let Some(row) = best(missing) {
        let mended = missing.minus(missing.minus(row.features));
        let why = &row.why;
        lines.push(if is_configured(&row.provider, backends) {
            match (requirements.intent.model.as_deref(), requirements.part.as_deref()) {
                (Some(_), _) => format!(
                    "for {}: name a model of `{}` that offers it",
                    spoken(mended),
                    row.provider
                ),
                (None, part) => format!(
                    "for {}: put `{}` first in `inference.routes.{}` if one of its models offers it",
                    spoken(mended),
                    row.provider,
                    part.unwrap_or("<subsystem>")
                ),
            }
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

/// Message to the owner of an agent about missing features of an answer, e.g. "Dream used
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
    let used = BackendName::parse(backend);
    match best(missing).filter(|row| !used.is_meant_by(&row.provider)) {
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
    use crate::rated::{NOT_BUILT, ON_TERMS};

    #[test]
    fn every_feature_has_a_line_that_would_mend_it() {
        for feature in Feature::all().filter(|feature| !NOT_BUILT.union(ON_TERMS).has(*feature)) {
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
