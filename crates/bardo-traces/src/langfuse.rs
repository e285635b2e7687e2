//! Attributes that Langfuse reads before those of the conventions.

use bardo_types::calendar::rfc3339;
use bardo_types::receipt::{Attempt, Outcome, Receipt};
use serde_json::json;

use crate::attributes::{Attributes, usd};
use crate::names;
use crate::spans::operation;

/// What describes the trace as a whole.
pub(crate) fn of_trace(receipt: &Receipt, all: &mut Attributes) {
    let routing = receipt.routing.as_deref();
    let agent = routing.and_then(|routing| routing.golem_id.as_deref());
    let user = agent.unwrap_or(receipt.account.as_str());
    let tags = [
        Some(format!("cache:{}", receipt.cache)),
        Some(format!("mode:{}", receipt.mode.as_str())),
        (!receipt.degraded.is_empty()).then(|| "degraded".to_owned()),
    ];
    let name = receipt.subsystem.as_deref();
    all.text(names::LANGFUSE_TYPE, "span")
        .text(
            names::LANGFUSE_NAME,
            name.unwrap_or(operation(receipt.dialect)),
        )
        .text(names::LANGFUSE_USER, user)
        .some_text(names::LANGFUSE_SESSION, receipt.session.as_deref())
        .text(names::LANGFUSE_LEVEL, level(receipt.outcome))
        .texts(names::LANGFUSE_TAGS, tags.into_iter().flatten());
}

/// What describes one call of a model.
pub(crate) fn of_attempt(
    receipt: &Receipt,
    attempt: &Attempt,
    is_last: bool,
    all: &mut Attributes,
) {
    all.text(names::LANGFUSE_TYPE, "generation")
        .text(names::LANGFUSE_MODEL, &*receipt.model);
    if let Some(failure) = &attempt.failure {
        all.text(names::LANGFUSE_LEVEL, "ERROR")
            .text(names::LANGFUSE_STATUS, failure.class.as_str());
    }
    if !is_last {
        return;
    }
    if let Some(first) = receipt.timings.first_content {
        let since = u64::try_from(first.as_millis()).unwrap_or(u64::MAX);
        let at = receipt.received_at_ms.saturating_add(since);
        all.text(names::LANGFUSE_FIRST, rfc3339(at));
    }
    if let Some(usage) = &receipt.usage {
        // Langfuse adds these classes up, so each token is in one of them.
        let reasoning = usage.reasoning.unwrap_or(0).min(usage.output);
        let details = json!({
            "input": usage.fresh_input,
            "input_cached_tokens": usage.cache_read,
            "input_cache_creation": usage.cache_write(),
            "output": usage.output - reasoning,
            "output_reasoning_tokens": reasoning,
            "total": usage.total(),
        });
        all.text(names::LANGFUSE_USAGE, details.to_string());
    }
    if let Some(cost) = receipt.cost() {
        let details = json!({ "total": usd(cost) });
        all.text(names::LANGFUSE_COST, details.to_string());
    }
}

fn level(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Finished => "DEFAULT",
        Outcome::Aborted => "WARNING",
        Outcome::Failed | Outcome::Unknown => "ERROR",
    }
}
