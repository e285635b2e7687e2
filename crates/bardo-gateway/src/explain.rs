//! Why a request is routed as it is: as JSON (`POST /v1/route/explain`), and as text (`route
//! explain`).

mod text;

use std::sync::Arc;

use bardo_engine::{Explained, ExplainedPromptCache, Received};
use bardo_profile::{Applied, SchemaMode, Wanted};
use bardo_router::{
    Considered, Explanation, Refusal, RefusalKind, RoutedCandidate, Score, Subsystems,
};
use bardo_types::Degradation;
use bardo_types::chat::CacheTtl;
use bardo_types::error_code::ErrorCode;
use bardo_types::feature::Feature;
use bardo_types::intent::{Intent, Quality};
use bardo_types::model::{Dialect, Effort, Tier};
use bardo_types::money::MicroUsd;
use bardo_types::privacy::TeeEvidence;
use bardo_types::subsystem::Subsystem;
use http::header::{ACCEPT, HeaderMap};
use serde_json::{Map, Value, json};

pub(crate) use self::text::words;
use crate::error::Problem;

/// A decision and its reasons.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// The model as the caller named it.
    pub(crate) model: &'a str,
    /// The row of the part of an agent that asks.
    pub(crate) subsystem: Option<&'a Subsystem>,
    /// The candidates and the outcome.
    pub(crate) explanation: &'a Explanation,
    /// The wanted settings of the model.
    pub(crate) wanted: Option<&'a Wanted>,
    /// The settings that the chosen model supports.
    pub(crate) applied: Option<&'a Applied>,
    /// The degradations of the answer.
    pub(crate) degraded: &'a [Degradation],
    /// The backends that come before the chosen one and cannot take the request.
    pub(crate) passed_over: &'a [String],
    /// The decisions about the provider's prompt cache.
    pub(crate) prompt_cache: &'a ExplainedPromptCache,
    /// The most that the caller's balance has to hold.
    pub(crate) hold: Option<MicroUsd>,
    /// Why the chosen backend could not be sent the request after all, with the stable code.
    pub(crate) refused: Option<(ErrorCode, &'a str)>,
}

impl<'a> View<'a> {
    fn first(&self) -> Option<&'a RoutedCandidate> {
        self.choices().first()
    }

    /// The backends to call, in their order; none if the key may not send the request.
    fn choices(&self) -> &'a [RoutedCandidate] {
        match &self.explanation.outcome {
            Ok(route) if self.denied().is_none() => &route.choices,
            _ => &[],
        }
    }

    /// Why the key may not send the request, although backends could serve it.
    fn denied(&self) -> Option<&'a str> {
        self.refused
            .filter(|(code, _)| *code == ErrorCode::KeyScope)
            .map(|(_, message)| message)
    }

    fn refusal(&self) -> Option<&'a Refusal> {
        self.explanation.outcome.as_ref().err()
    }

    /// The name of a choice's backend.
    fn backend(&self, choice: &RoutedCandidate) -> &'a str {
        let same = |seen: &&Considered| seen.candidate.backend == choice.candidate.backend;
        let seen = self.explanation.considered.iter().find(same);
        seen.map_or("", |seen| seen.backend.as_str())
    }

    fn warnings(&self) -> Vec<&'a str> {
        let route = self.explanation.outcome.as_ref().ok();
        let of_route = route.into_iter().flat_map(|route| &route.warnings);
        let of_profile = self.wanted.into_iter().flat_map(|wanted| &wanted.warnings);
        let of_model = self
            .applied
            .into_iter()
            .flat_map(|applied| &applied.warnings);
        let of_order = self.passed_over.iter();
        let all = of_order.chain(of_route).chain(of_profile).chain(of_model);
        all.map(String::as_str).collect()
    }
}

/// Shows what the engine explained.
pub(crate) fn shown<T>(
    mut explained: Explained,
    subsystem: Option<&Subsystem>,
    show: impl FnOnce(&View<'_>) -> T,
) -> T {
    let refused = explained.refused.take().map(Problem::from);
    // If no backend is eligible, the router says so in more words.
    let refused = refused.filter(|_| explained.explanation.outcome.is_ok());
    show(&View {
        model: &explained.model,
        subsystem,
        explanation: &explained.explanation,
        wanted: explained.wanted.as_ref(),
        applied: explained.applied.as_ref(),
        degraded: &explained.degraded,
        passed_over: &explained.warnings,
        prompt_cache: &explained.prompt_cache,
        hold: explained.hold,
        refused: refused
            .as_ref()
            .map(|problem| (problem.code, &*problem.fault.message)),
    })
}

/// The width of a page of text, unless `COLUMNS` is set.
pub(crate) const WIDTH: usize = 100;

/// Whether the client accepts text rather than JSON.
pub(crate) fn wants_text(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.trim_start().starts_with("text/plain"))
}

/// The row of the part of an agent that asks, by the body or by a header.
pub(crate) fn subsystem(received: &Received) -> Option<Arc<Subsystem>> {
    let top = bardo_wire::json::scan(&received.body).ok();
    let hints = top.as_ref().and_then(|top| top.get("bardo"));
    let hints = hints.and_then(|json| serde_json::from_str::<Value>(json).ok());
    let by_body = hints.as_ref().and_then(|hints| hints["subsystem"].as_str());
    let name = by_body.or(received.hints.subsystem.as_deref())?;
    Subsystems::embedded().find(name).cloned()
}

/// The dialect of a body that came without a telling path.
pub(crate) fn dialect(body: &[u8], is_versioned: bool) -> Dialect {
    match bardo_wire::json::scan(body) {
        Ok(top) if !is_versioned && top.get("input").is_some() && top.get("messages").is_none() => {
            Dialect::Responses
        }
        Ok(top) => bardo_wire::chat::detect_completions_body(&top, is_versioned),
        Err(_) => Dialect::Chat,
    }
}

/// The stable code of a refusal, as `error.bardo_code` and explanations show it.
pub(crate) const fn code(kind: RefusalKind) -> ErrorCode {
    match kind {
        RefusalKind::UnknownModel | RefusalKind::UnknownBackend => ErrorCode::ModelNotFound,
        RefusalKind::Privacy => ErrorCode::PrivacyUnavailable,
        RefusalKind::Unsatisfiable => ErrorCode::RequirementsUnsatisfiable,
        RefusalKind::NotAllowed => ErrorCode::NoRoute,
    }
}

/// The body of `POST /v1/route/explain`, with a few members more.
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
        "prompt_cache": prompt_cache(view.prompt_cache),
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
    if choice.below_quality {
        degraded.push("quality");
    }
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
        "hold_usd": view.hold.map(|hold| hold.to_string()),
        "tier": choice.candidate.entry.tier.map(Tier::as_str),
        "security_class": choice.security.as_str(),
        "tee": choice.tee.map(TeeEvidence::as_str),
    })
}

/// The backends to call if the first one fails.
fn fallbacks(view: &View<'_>) -> Vec<Value> {
    let later = view.choices().iter().skip(1);
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
        "subsystem": view.subsystem.map(|row| &row.name),
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

/// The profile as it is sent. Settings that the model does not support are named in `changed`.
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

/// The marks that the gateway sets for the provider's prompt cache, with the figures behind them.
/// `marks` is null where the gateway decides none.
fn prompt_cache(seen: &ExplainedPromptCache) -> Value {
    let marks = seen.marks.map(|plan| {
        json!({
            "tools_and_system": plan.stable.map(CacheTtl::as_str),
            "conversation": plan.turns.map(CacheTtl::as_str),
        })
    });
    json!({ "marks": marks, "reason": seen.reason, "affinity": seen.affinity })
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
            "code": code(refusal.kind).as_str(),
            "missing": refusal.missing,
            "advice": refusal.advice,
            "lacks": lacks,
        });
    }
    match view.refused {
        Some((code, message)) => {
            json!({ "code": code.as_str(), "missing": [], "advice": message, "lacks": [] })
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
        // Where cost matters, `High` is met by a strong model, as in `bardo_types::intent::Quality`.
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
