//! What a receipt says of routing: what was needed, who was found, how it was set up.

use std::sync::Arc;

use bardo_profile::Applied;
use bardo_router::owner_message;
use bardo_types::hints::RouteHints;
use bardo_types::privacy::SecurityClass;
use bardo_types::receipt::{Routing, SentProfile};
use bardo_types::unit::UnitInterval;

use crate::call::Call;
use crate::leg::Leg;
use crate::routed::Routed;

/// The routing part of a receipt, for the attempt at a leg; `None` where the caller named a model
/// and gave no hints.
pub(crate) fn account(call: &Call, leg: &Leg) -> Option<Box<Routing>> {
    let routed = leg.routed.as_deref()?;
    let silent = RouteHints::default();
    let hints = call.hints().route.as_deref().unwrap_or(&silent);
    let (candidate, choice) = (&leg.candidate, leg.choice());
    let applied = leg.settings.applied();
    let requested = routed.intent.require.iter().chain(&routed.intent.prefer);
    let mut warnings: Vec<String> = routed.all_warnings().cloned().collect();
    if let Some(applied) = applied {
        warnings.extend(applied.warnings.iter().cloned());
    }
    Some(Box::new(Routing {
        subsystem: routed
            .subsystem
            .as_ref()
            .map(|row| row.name.as_str().into()),
        automatic: routed.automatic,
        quality: Some(routed.intent.quality),
        cost_sensitivity: Some(routed.intent.cost_sensitivity.get()),
        security_class: routed.security_class,
        security: choice.map_or(candidate.entry.security, |choice| choice.security),
        tee: choice.and_then(|choice| choice.tee),
        tier: candidate.entry.tier,
        requested: requested.copied().collect(),
        features: choice.map(|choice| choice.features).unwrap_or_default(),
        degraded: choice
            .map(|choice| choice.degraded.clone())
            .unwrap_or_default(),
        estimated_cost: choice.and_then(|choice| choice.estimated_cost),
        warnings,
        owner_message: owner_message_of(routed, leg),
        profile: applied.map(|applied| sent_profile(routed, applied)),
        schema: None,
        golem_id: hints.golem_id.clone(),
        tick: hints.tick,
        vitality: hints.vitality.map(UnitInterval::get),
        phase: hints.phase,
        sustainability: hints.sustainability,
    }))
}

/// The routing part of a receipt for an answer that no provider is called for: who asks, and what it
/// says of itself. `class` is how well the answer is kept. `None` where the caller named a model and
/// gave no hints.
pub(crate) fn account_of_found(call: &Call, class: SecurityClass) -> Option<Box<Routing>> {
    if !call.is_open() {
        return None;
    }
    let silent = RouteHints::default();
    let hints = call.hints().route.as_deref().unwrap_or(&silent);
    let named = hints.subsystem.as_deref();
    let row = named.and_then(|name| call.snapshot().router.subsystem(name));
    let floor = named.map(|name| call.snapshot().router.floor(name));
    Some(Box::new(Routing {
        subsystem: row.map(|row| row.name.as_str().into()),
        automatic: call.is_automatic(),
        security_class: hints.security_class.max(floor).unwrap_or_default(),
        security: class,
        warnings: hints.warnings.clone(),
        golem_id: hints.golem_id.clone(),
        tick: hints.tick,
        vitality: hints.vitality.map(UnitInterval::get),
        phase: hints.phase,
        sustainability: hints.sustainability,
        ..Routing::default()
    }))
}

/// The message for the agent's owner about features that the answer lacks; `None` where nothing was
/// lost.
fn owner_message_of(routed: &Routed, leg: &Leg) -> Option<Arc<str>> {
    let row = routed.subsystem.as_ref()?;
    let choice = leg.choice()?;
    if choice.degraded.is_empty() {
        return None;
    }
    let (model, backend) = (&leg.candidate.entry.id, &leg.endpoint.name);
    Some(owner_message(&row.name, model, backend, &choice.degraded).into())
}

fn sent_profile(routed: &Routed, applied: &Applied) -> SentProfile {
    let wanted = routed.wanted.as_ref();
    SentProfile {
        row: wanted
            .and_then(|wanted| wanted.row.as_deref())
            .map(Into::into),
        temperature: applied.temperature,
        effort: applied.effort,
        structured: applied.schema.is_some(),
        cached: wanted.is_some_and(|wanted| {
            wanted.profile.prompt_cache_key.is_some() || wanted.profile.cache_control == Some(true)
        }),
        degraded: applied.degraded.clone(),
    }
}
