//! Why nobody may answer, and what would mend it.

use bardo_types::privacy::SecurityClass;

use crate::advice;
use crate::decision::{Refusal, RefusalKind};
use crate::ranking::RankedCandidate;
use crate::rated::RatedCandidate;
use crate::reason::{Reason, Reasons};
use crate::requirements::Requirements;
use crate::roster::NoRoute;
use crate::words::Speaker;

/// The refusal of a name without a backend.
pub(crate) fn of_name(no_route: &NoRoute) -> Refusal {
    let (kind, missing, advice) = match no_route {
        NoRoute::UnknownModel { model, nearest, .. } => (
            RefusalKind::UnknownModel,
            model.clone(),
            nearest.as_ref().map_or_else(
                || "list the models with `GET /v1/models`".to_owned(),
                |nearest| format!("did you mean `{nearest}`?"),
            ),
        ),
        NoRoute::UnknownBackend { backend, nearest } => (
            RefusalKind::UnknownBackend,
            backend.clone(),
            nearest.as_ref().map_or_else(
                || "configure it under `providers`, or remove it from the model's name".to_owned(),
                |nearest| format!("did you mean `{nearest}`?"),
            ),
        ),
        NoRoute::UnknownPrefix { model, nearest, .. } => (
            RefusalKind::UnknownModel,
            model.clone(),
            nearest.as_ref().map_or_else(
                || "list the models with `GET /v1/models`".to_owned(),
                |nearest| format!("did you mean `{nearest}`?"),
            ),
        ),
    };
    Refusal {
        kind,
        class: SecurityClass::Standard,
        missing: vec![missing],
        lacks: Vec::new(),
        advice,
    }
}

/// The refusal of a name that this caller may not use.
pub(crate) fn not_allowed(model: &str, class: SecurityClass) -> Refusal {
    Refusal {
        kind: RefusalKind::NotAllowed,
        class,
        missing: vec![model.to_owned()],
        lacks: Vec::new(),
        advice: "the scopes or the tier of this key exclude every backend of the model, or the model has no price"
            .to_owned(),
    }
}

/// The refusal when the filter leaves no candidate.
pub(crate) fn of(
    speaker: Speaker<'_>,
    known: advice::RefusalContext<'_>,
    rated_candidates: &[RatedCandidate],
    seen: &[RankedCandidate],
) -> Refusal {
    let (requirements, backends) = (speaker.requirements, known.backends);
    let allowed: Vec<&RankedCandidate> = seen
        .iter()
        .filter(|one| !one.reasons.has(Reason::NotAllowed))
        .collect();
    if allowed.is_empty() && !seen.is_empty() {
        let model = requirements.intent.model.as_deref().unwrap_or("bardo/auto");
        return not_allowed(model, requirements.class);
    }
    let missing = missing(requirements, &allowed);
    let protects = |name: &String| ["privacy", "tee", "e2ee"].contains(&name.as_str());
    let kind = if is_about_privacy(&allowed) && missing.iter().any(protects) {
        RefusalKind::Privacy
    } else {
        RefusalKind::Unsatisfiable
    };
    let lacks = backends
        .iter()
        .enumerate()
        .filter_map(|(index, spec)| {
            let nearest = seen
                .iter()
                .filter(|one| rated_candidates[one.rated].candidate.backend == index)
                .min_by_key(|one| one.reasons.len())?;
            let words = speaker.reasons(&rated_candidates[nearest.rated], nearest);
            Some((spec.name.clone(), words.join("; ")))
        })
        .collect();
    let advice = advice::for_refusal(requirements, &missing, known, kind);
    Refusal {
        kind,
        class: requirements.class,
        missing,
        lacks,
        advice,
    }
}

/// Whether protection is what nobody offers, or what leaves out all who would do otherwise.
fn is_about_privacy(allowed: &[&RankedCandidate]) -> bool {
    let privacy = Reasons::of(Reason::Security).with(Reason::Unsealable);
    let is_left_out = |one: &&&RankedCandidate| !one.reasons.minus(privacy).is_empty();
    let nobody_keeps = allowed.iter().all(|one| one.reasons.has(Reason::Security));
    !allowed.is_empty() && (nobody_keeps || allowed.iter().any(|one| !is_left_out(&one)))
}

/// Missing features, by their names in hints.
fn missing(requirements: &Requirements, allowed: &[&RankedCandidate]) -> Vec<String> {
    let mut missing = Vec::new();
    // What alone keeps somebody from answering, or everybody.
    let keeps_out = |reason: Reason| {
        let alone = |one: &&RankedCandidate| one.reasons == Reasons::of(reason);
        !allowed.is_empty()
            && (allowed.iter().any(alone) || allowed.iter().all(|one| one.reasons.has(reason)))
    };
    let some = |reason: Reason| allowed.iter().any(|one| one.reasons.has(reason));
    if some(Reason::Security) && requirements.class > SecurityClass::Standard {
        missing.push(class_feature(requirements.class).to_owned());
    }
    let best = allowed
        .iter()
        .min_by_key(|one| requirements.must.minus(one.features).len());
    let lacking = best.map_or(requirements.must, |one| {
        requirements.must.minus(one.features)
    });
    missing.extend(lacking.iter().map(|feature| feature.as_str().to_owned()));
    for (reason, name) in [
        (Reason::Unsealable, "e2ee"),
        (Reason::Family, "model"),
        (Reason::Context, "context"),
        (Reason::Cost, "max_cost_usd"),
        (Reason::Slow, "max_latency_ms"),
    ] {
        if keeps_out(reason) && !missing.iter().any(|known| known == name) {
            missing.push(name.to_owned());
        }
    }
    if missing.is_empty() {
        let name = if requirements.cap.is_some() && some(Reason::Cost) {
            "max_cost_usd"
        } else {
            "model"
        };
        missing.push(name.to_owned());
    }
    missing
}

/// The feature that stands for a class.
pub(crate) fn class_feature(class: SecurityClass) -> &'static str {
    match class {
        SecurityClass::Standard | SecurityClass::Private => "privacy",
        SecurityClass::Tee => "tee",
        SecurityClass::E2ee => "e2ee",
    }
}
