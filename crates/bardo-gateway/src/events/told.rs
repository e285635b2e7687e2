//! What a receipt tells, as events. All of them derive from it, so no two places can disagree.

use bardo_types::calendar::rfc3339;
use bardo_types::feature::Feature;
use bardo_types::model::Tier;
use bardo_types::receipt::{DecisionVerification, Outcome, Receipt, Routing, VerificationResult};
use bardo_types::usage::Usage;
use serde_json::{Map, Value, json};

/// One event of a request, without the envelope.
type Told = (&'static str, Value);

/// The events of a request that is over, in the order in which things happened, each in its
/// envelope `{timestamp, golem_id?, request_id, sequence, tick?}`. The sequence counts the events of
/// the request; the first is [`started`].
pub(crate) fn told(receipt: &Receipt, owner_message: Option<&str>) -> Vec<(&'static str, String)> {
    let routing = receipt.routing.as_deref();
    let mut all = Vec::new();
    if let Some(routing) = routing {
        routed(receipt, routing, &mut all);
    }
    fallbacks(receipt, &mut all);
    for passed in &receipt.passed_over {
        let warning = passed.warning();
        let event = json!({ "subsystem": subsystem(receipt), "warning": warning });
        all.push(("routing.warning", event));
    }
    cached(receipt, &mut all);
    searched(receipt, &mut all);
    if let Some(routing) = routing {
        schema(receipt, routing, &mut all);
        for warning in &routing.warnings {
            all.push((
                "routing.warning",
                json!({ "subsystem": subsystem(receipt), "warning": warning }),
            ));
        }
        if let Some(message) = owner_message {
            all.push((
                "owner.message",
                json!({
                    "message": message,
                    "subsystem": subsystem(receipt),
                    "provider": &*receipt.backend,
                    "model": &*receipt.model,
                    "degraded": names(&routing.degraded),
                }),
            ));
        }
    }
    if let Some(verification) = receipt.verification.as_deref() {
        all.push(("inference.verification", verified(receipt, verification)));
    }
    tokens(receipt, &mut all);
    all.push(("inference.end", end(receipt)));
    let began = receipt.received_at_ms;
    let total = u64::try_from(receipt.timings.total.as_millis()).unwrap_or(u64::MAX);
    let enveloped = all
        .into_iter()
        .zip(2_u64..)
        .map(|((name, event), sequence)| {
            let at = began.saturating_add(total);
            (name, envelope(receipt, event, at, sequence))
        });
    enveloped.collect()
}

/// The name and the data of a request's first event, which is sent when a provider is first called.
pub(crate) fn started(receipt: &Receipt) -> (&'static str, String) {
    let began = receipt.received_at_ms;
    let event = start(receipt);
    ("inference.start", envelope(receipt, event, began, 1))
}

fn envelope(receipt: &Receipt, event: Value, at_ms: u64, sequence: u64) -> String {
    let routing = receipt.routing.as_deref();
    let mut whole = Map::new();
    whole.insert("timestamp".into(), json!(rfc3339(at_ms)));
    if let Some(golem) = routing.and_then(|routing| routing.golem_id.as_deref()) {
        whole.insert("golem_id".into(), json!(golem));
    }
    whole.insert("request_id".into(), json!(receipt.request_id.as_str()));
    whole.insert("sequence".into(), json!(sequence));
    if let Some(tick) = routing.and_then(|routing| routing.tick) {
        whole.insert("tick".into(), json!(tick));
    }
    if let Value::Object(members) = event {
        whole.extend(members);
    }
    Value::Object(whole).to_string()
}

fn names(features: &[Feature]) -> Vec<&'static str> {
    features.iter().map(|feature| feature.as_str()).collect()
}

/// The row of the table, else what the caller calls itself.
fn subsystem(receipt: &Receipt) -> Option<&str> {
    let row = receipt
        .routing
        .as_deref()
        .and_then(|routing| routing.subsystem.as_deref());
    row.or(receipt.subsystem.as_deref())
}

/// The tiers of thought have names of their own: a small model's and the others'.
const fn thought(tier: Tier) -> &'static str {
    match tier {
        Tier::Small => "T1",
        Tier::Strong | Tier::Frontier => "T2",
    }
}

fn start(receipt: &Receipt) -> Value {
    let routing = receipt.routing.as_deref();
    json!({
        "model": &*receipt.model,
        "provider": &*receipt.backend,
        "tier": routing.and_then(|routing| routing.tier).map(thought),
        "subsystem": subsystem(receipt),
        "degraded": routing.map(|routing| names(&routing.degraded)).unwrap_or_default(),
    })
}

fn verified(receipt: &Receipt, verification: &DecisionVerification) -> Value {
    json!({
        "subsystem": subsystem(receipt),
        "model": &*receipt.model,
        "result": verification.result.as_str(),
        "disagree": verification.result == VerificationResult::Disagreed,
        "role": if verification.is_second { "second" } else { "first" },
        "delivered": verification.delivered,
        "other_request_id": verification.other.as_ref().map(|id| id.as_str()),
        "other_model": verification.other_model.as_deref(),
    })
}

fn routed(receipt: &Receipt, routing: &Routing, all: &mut Vec<Told>) {
    let features: Vec<&str> = routing.features.iter().map(Feature::as_str).collect();
    if !routing.requested.is_empty() {
        let mode = if routing.degraded.is_empty() {
            "full"
        } else {
            "degraded"
        };
        all.push((
            "provider.feature_negotiated",
            json!({
                "subsystem": subsystem(receipt),
                "requested": names(&routing.requested),
                "available": features,
                "mode": mode,
            }),
        ));
    }
    all.push((
        "provider.resolved",
        json!({
            "subsystem": subsystem(receipt),
            "provider": &*receipt.backend,
            "model": &*receipt.model,
            "features": features,
            "degraded": names(&routing.degraded),
            "security_class": routing.security.as_str(),
        }),
    ));
    let Some(profile) = &routing.profile else {
        return;
    };
    all.push((
        "inference.profile_applied",
        json!({
            "subsystem": subsystem(receipt),
            "profile": profile.row.as_deref(),
            "temperature": profile.temperature,
            "reasoning_effort": profile.effort.map(bardo_types::model::Effort::as_str),
            "structured": profile.structured,
            "cached": profile.cached,
        }),
    ));
    if !profile.degraded.is_empty() {
        let details: Vec<&str> = profile.degraded.iter().map(|lost| &*lost.detail).collect();
        let features: Vec<&str> = profile.degraded.iter().map(|lost| &*lost.feature).collect();
        all.push((
            "inference.profile_degraded",
            json!({ "subsystem": subsystem(receipt), "degraded": details, "features": features }),
        ));
    }
}

fn fallbacks(receipt: &Receipt, all: &mut Vec<Told>) {
    for pair in receipt.attempts.windows(2) {
        let [failed, next] = pair else {
            continue;
        };
        let is_elsewhere = failed.backend != next.backend || failed.model != next.model;
        if let (Some(failure), true) = (&failed.failure, is_elsewhere) {
            all.push((
                "inference.provider_fallback",
                json!({
                    "failed_provider": &*failed.backend,
                    "fallback_provider": &*next.backend,
                    "failed_model": &*failed.model,
                    "fallback_model": &*next.model,
                    "reason": failure.class.as_str(),
                    "status": failure.status,
                    "subsystem": subsystem(receipt),
                }),
            ));
        }
    }
}

/// Tells that the web was searched. What was searched for is not told.
fn searched(receipt: &Receipt, all: &mut Vec<Told>) {
    let usage = receipt.usage.as_ref();
    if let Some(searches) = usage
        .and_then(|usage| usage.web_searches)
        .filter(|&n| n > 0)
    {
        all.push((
            "inference.web_search_used",
            json!({ "subsystem": subsystem(receipt), "searches": searches }),
        ));
    }
}

fn cached(receipt: &Receipt, all: &mut Vec<Told>) {
    if let "hash" | "semantic" = &*receipt.cache {
        all.push((
            "inference.cache_hit",
            json!({
                "cache_type": &*receipt.cache,
                "savings_usd": receipt.savings().map(|savings| savings.to_string()),
                "age_s": receipt.cache_age.map(|age| age.as_secs()),
                "similarity": receipt.cache_similarity.map(|likeness| f64::from(likeness) / 1_000.0),
            }),
        ));
    }
    let Some(usage) = &receipt.usage else {
        return;
    };
    if usage.cache_read > 0 || usage.cache_write() > 0 {
        all.push((
            "inference.cache_stats",
            json!({
                "subsystem": subsystem(receipt),
                "cached_tokens": usage.cache_read,
                "written_tokens": usage.cache_write(),
                "total_tokens": usage.prompt(),
                "savings_usd": receipt.amounts.cache_savings.map(|saved| saved.to_string()),
            }),
        ));
    }
    if let Some(reasoning) = usage.reasoning.filter(|&tokens| tokens > 0) {
        all.push((
            "inference.reasoning_captured",
            json!({
                "subsystem": subsystem(receipt),
                "reasoning_tokens": reasoning,
                "content_tokens": usage.output.saturating_sub(reasoning),
            }),
        ));
    }
}

fn schema(receipt: &Receipt, routing: &Routing, all: &mut Vec<Told>) {
    let Some(schema) = &routing.schema else {
        return;
    };
    if schema.mode == "prompt" {
        all.push((
            "inference.schema_fallback",
            json!({ "subsystem": subsystem(receipt), "schema_name": &*schema.name, "mode": schema.mode }),
        ));
    }
    if let Some(valid) = schema.valid {
        all.push((
            "inference.schema_validated",
            json!({
                "subsystem": subsystem(receipt),
                "schema_name": &*schema.name,
                "valid": valid,
                "repaired": schema.repaired,
            }),
        ));
    }
}

/// The tokens of an answer, reasoning apart from the rest; the counts add up to its output.
fn tokens(receipt: &Receipt, all: &mut Vec<Told>) {
    let Some(usage) = &receipt.usage else {
        return;
    };
    let reasoning = usage.reasoning.unwrap_or(0).min(usage.output);
    let counts = [(reasoning, true), (usage.output - reasoning, false)];
    for (count, is_reasoning) in counts.into_iter().filter(|(count, _)| *count > 0) {
        all.push((
            "inference.token",
            json!({
                "subsystem": subsystem(receipt),
                "token_count": count,
                "is_reasoning": is_reasoning,
            }),
        ));
    }
}

fn end(receipt: &Receipt) -> Value {
    let usage = receipt.usage.as_ref();
    let prompt = usage.map_or(0, Usage::prompt);
    // Thousandths, without floats that no figure here is worth.
    let hit_rate = usage
        .filter(|_| prompt > 0)
        .map(|usage| usage.cache_read.saturating_mul(1_000) / prompt);
    json!({
        "model": &*receipt.model,
        "provider": &*receipt.backend,
        "subsystem": subsystem(receipt),
        "status": receipt.outcome.as_str(),
        "input_tokens": usage.map(Usage::prompt),
        "output_tokens": usage.map(|usage| usage.output),
        "cost_usd": receipt.cost_text(),
        "latency_ms": u64::try_from(receipt.timings.total.as_millis()).unwrap_or(u64::MAX),
        "cache_hit_rate": hit_rate.map(|thousandths| {
            #[expect(clippy::cast_precision_loss, reason = "at most a thousand")]
            let rate = thousandths as f64 / 1_000.0;
            rate
        }),
    })
}

/// The event that carries the whole receipt.
pub(crate) const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Finished => "inference.completed",
        Outcome::Aborted => "inference.aborted",
        Outcome::Failed => "inference.failed",
        Outcome::Unknown => "inference.unknown",
    }
}

#[cfg(test)]
mod sample;
#[cfg(test)]
pub(crate) use self::sample::sample;

#[cfg(test)]
mod tests;
