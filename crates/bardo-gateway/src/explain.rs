//! Why a request would go where it would go: as JSON for programs (`POST /v1/route/explain`), and
//! in words for people (`route explain`).

mod offline;
mod text;

use bardo_engine::{EngineError, Explained};
use bardo_profile::{Applied, SchemaMode, Wanted};
use bardo_router::{Choice, Considered, Explanation, Refusal, RefusalKind, Score};
use bardo_types::Degradation;
use bardo_types::feature::Feature;
use bardo_types::intent::{Intent, Quality};
use bardo_types::model::{Dialect, Effort, Tier};
use http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::error::code_of_error;

pub(crate) use self::offline::{asked, explain_here};
pub(crate) use self::text::words;

/// A decision and all that led to it, whoever made it.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// The model as the caller named it.
    pub(crate) model: &'a str,
    /// Who was looked at, and what came out.
    pub(crate) explanation: &'a Explanation,
    /// How the model is to be set up.
    pub(crate) wanted: Option<&'a Wanted>,
    /// What of it the chosen model takes.
    pub(crate) applied: Option<&'a Applied>,
    /// What the answer would be said to lack.
    pub(crate) degraded: &'a [Degradation],
    /// Why the chosen backend could not be sent the request after all, with the stable code.
    pub(crate) refused: Option<(&'static str, &'a str)>,
}

/// The stable code and the words of an error that an explanation ends in.
pub(crate) fn problem(error: &EngineError) -> (&'static str, String) {
    (code_of_error(error), error.to_string())
}

/// Which dialect a body is in whose path does not say so: by the version header, then by members
/// that only one dialect has.
pub(crate) fn dialect_of(headers: &HeaderMap, body: &[u8]) -> Dialect {
    if headers.contains_key("anthropic-version") {
        return Dialect::Anthropic;
    }
    let Ok(top) = bardo_wire::json::scan(body) else {
        return Dialect::Chat;
    };
    let has = |member: &str| top.member(member).is_some();
    if has("messages") {
        let is_messages = ["system", "thinking", "stop_sequences", "output_config"];
        if is_messages.iter().any(|member| has(member)) {
            return Dialect::Anthropic;
        }
        return Dialect::Chat;
    }
    if has("input") {
        Dialect::Responses
    } else if has("prompt") {
        Dialect::Completions
    } else {
        Dialect::Chat
    }
}

impl<'a> View<'a> {
    /// What the engine explained.
    pub(crate) fn of(
        explained: &'a Explained,
        problem: Option<&'a (&'static str, String)>,
    ) -> Self {
        Self {
            model: &explained.model,
            explanation: &explained.explanation,
            wanted: explained.wanted.as_ref(),
            applied: explained.applied.as_ref(),
            degraded: &explained.degraded,
            refused: problem.map(|(code, words)| (*code, words.as_str())),
        }
    }

    fn first(&self) -> Option<&'a Choice> {
        let route = self.explanation.outcome.as_ref().ok()?;
        route.choices.first()
    }

    fn refusal(&self) -> Option<&'a Refusal> {
        self.explanation.outcome.as_ref().err()
    }

    /// The name of a choice's backend, as it was looked at.
    fn backend(&self, choice: &Choice) -> &'a str {
        let same = |seen: &&Considered| seen.candidate.backend == choice.candidate.backend;
        let seen = self.explanation.considered.iter().find(same);
        seen.map_or("", |seen| seen.backend.as_str())
    }

    fn warnings(&self) -> Vec<&'a str> {
        let route = self.explanation.outcome.as_ref().ok();
        let of_route = route.into_iter().flat_map(|route| &route.warnings);
        let of_profile = self.wanted.into_iter().flat_map(|wanted| &wanted.warnings);
        of_route.chain(of_profile).map(String::as_str).collect()
    }
}

/// The stable code of a refusal, as `error.bardo_code` and explanations show it.
pub(crate) const fn code(kind: RefusalKind) -> &'static str {
    match kind {
        RefusalKind::UnknownModel | RefusalKind::UnknownBackend => "model_not_found",
        RefusalKind::Privacy => "privacy_unavailable",
        RefusalKind::Unsatisfiable => "requirements_unsatisfiable",
        RefusalKind::NotAllowed => "no_route",
    }
}

/// The body of `POST /v1/route/explain` (decisions §11), with a few members more.
pub(crate) fn body(view: &View<'_>) -> Value {
    let explanation = view.explanation;
    let candidates: Vec<Value> = explanation
        .considered
        .iter()
        .enumerate()
        .map(|(index, seen)| candidate(seen, explanation.front.contains(&index)))
        .collect();
    json!({
        "model_requested": view.model,
        "resolution": resolution(view),
        "intent": intent(view),
        "profile": profile(view),
        "fallbacks": fallbacks(view),
        "candidates": candidates,
        "refusal": refusal(view),
        "advice": explanation.advice,
        "warnings": view.warnings(),
    })
}

fn names(features: &[Feature]) -> Vec<&'static str> {
    features.iter().map(|feature| feature.as_str()).collect()
}

fn resolution(view: &View<'_>) -> Value {
    let Some(choice) = view.first() else {
        return Value::Null;
    };
    // Beside features, what the model cannot be set up for.
    let mut degraded = names(&choice.degraded);
    for lost in view.degraded {
        if !degraded.contains(&&*lost.feature) {
            degraded.push(&lost.feature);
        }
    }
    let features: Vec<&str> = choice.features.iter().map(Feature::as_str).collect();
    json!({
        "backend": view.backend(choice),
        "model": choice.candidate.entry.id,
        "features": features,
        "degraded": degraded,
        "estimated_cost_usd": choice.estimated_cost.map(|cost| cost.to_string()),
        "tier": choice.candidate.entry.tier.map(Tier::as_str),
        "security_class": choice.security.as_str(),
    })
}

/// Who is asked where the first does not answer.
fn fallbacks(view: &View<'_>) -> Vec<Value> {
    let route = view.explanation.outcome.as_ref().ok();
    let later = route
        .into_iter()
        .flat_map(|route| route.choices.iter().skip(1));
    later
        .map(|choice| {
            json!({
                "backend": view.backend(choice),
                "model": choice.candidate.entry.id,
                "degraded": names(&choice.degraded),
            })
        })
        .collect()
}

fn intent(view: &View<'_>) -> Value {
    let Intent {
        model,
        require,
        prefer,
        quality,
        max_latency_ms,
        cost_sensitivity,
        diem_available,
        low_effort,
    } = &view.explanation.intent;
    let route = view.explanation.outcome.as_ref().ok();
    json!({
        "subsystem": route.and_then(|route| route.subsystem.as_ref()).map(|row| &row.name),
        "automatic": route.map(|route| route.automatic),
        "model": model,
        "require": names(require),
        "prefer": names(prefer),
        "quality": quality.as_str(),
        "max_latency_ms": max_latency_ms,
        "cost_sensitivity": cost_sensitivity,
        "diem_available": diem_available,
        "low_effort": low_effort,
        "security_class": route.map(|route| route.security_class.as_str()),
    })
}

/// The profile as it is sent: what the model does not take is not in it, and named in `changed`.
fn profile(view: &View<'_>) -> Value {
    let Some(wanted) = view.wanted else {
        return Value::Null;
    };
    let mut sent = match serde_json::to_value(&wanted.profile) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    };
    if let Some(applied) = view.applied {
        for lost in &applied.degraded {
            sent.remove(&*lost.feature);
        }
        let temperature = applied.temperature.map(|value| json!(value));
        set(&mut sent, "temperature", temperature);
        let effort = applied.effort.map(|effort| json!(effort.as_str()));
        set(&mut sent, "reasoning_effort", effort);
        let schema = applied.schema.as_ref().map(|check| {
            let by = match check.mode {
                SchemaMode::Native => "native",
                SchemaMode::Tool => "tool",
                SchemaMode::Prompt => "prompt",
            };
            json!({ "name": check.schema.name, "mode": by })
        });
        set(&mut sent, "response_schema", schema);
    }
    let changed = view.applied.map_or(&[][..], |applied| &applied.degraded);
    let changed: Vec<Value> = changed
        .iter()
        .map(|lost| json!({ "feature": lost.feature, "detail": lost.detail }))
        .collect();
    sent.insert("row".into(), json!(wanted.row));
    sent.insert("locked".into(), json!(wanted.locked));
    sent.insert("changed".into(), json!(changed));
    Value::Object(sent)
}

fn set(members: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value {
        Some(value) => {
            members.insert(name.to_owned(), value);
        }
        None => {
            members.remove(name);
        }
    }
}

fn candidate(seen: &Considered, unbeaten: bool) -> Value {
    let features: Vec<&str> = seen.features.iter().map(Feature::as_str).collect();
    json!({
        "backend": seen.backend,
        "model": seen.candidate.entry.id,
        "eligible": seen.eligible,
        "reasons": seen.reasons,
        "score": seen.score.map(score),
        "estimated_cost_usd": seen.estimated_cost.map(|cost| cost.to_string()),
        "tier": seen.tier.map(Tier::as_str),
        "security_class": seen.security.as_str(),
        "features": features,
        "unbeaten": unbeaten,
    })
}

fn score(score: Score) -> Value {
    let Score {
        cost,
        quality,
        latency,
        privacy,
        features,
        total,
    } = score;
    // Four digits are more than the inputs are worth.
    let short = |term: f64| (term * 10_000.0).round() / 10_000.0;
    json!({
        "cost": short(cost),
        "quality": short(quality),
        "latency": short(latency),
        "privacy": short(privacy),
        "features": short(features),
        "total": short(total),
    })
}

fn refusal(view: &View<'_>) -> Value {
    if let Some(refusal) = view.refusal() {
        let lacks: Vec<Value> = refusal
            .lacks
            .iter()
            .map(|(backend, what)| json!({ "backend": backend, "lacks": what }))
            .collect();
        return json!({
            "code": code(refusal.kind),
            "missing": refusal.missing,
            "advice": refusal.advice,
            "lacks": lacks,
        });
    }
    match view.refused {
        Some((code, message)) => {
            json!({ "code": code, "missing": [], "advice": message, "lacks": [] })
        }
        None => Value::Null,
    }
}

/// The name of a quality in a sentence.
fn quality_words(quality: Quality, cost_sensitivity: f64) -> &'static str {
    match quality {
        Quality::Minimum => "any model, free ones too",
        Quality::Low => "a small model or better",
        Quality::Medium => "a strong model or better",
        // The floor of the table of qualities: decisions §11.
        Quality::High if cost_sensitivity <= 0.3 => "a frontier model",
        Quality::High => "a strong model or better, as cost matters",
        Quality::Maximum => "a frontier model",
    }
}

/// The name of an effort in a sentence.
fn effort_words(effort: Effort) -> String {
    match effort {
        Effort::None => "no thinking".to_owned(),
        other => format!("thinking {}", other.as_str()),
    }
}

#[cfg(test)]
mod tests;
