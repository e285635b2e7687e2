//! Whether a model can do what a request is for: answers, or embeddings.

use std::cmp::Reverse;

use bardo_router::Candidate;

use crate::call::Call;
use crate::entitle::may_use;
use crate::error::EngineError;
use crate::received::Task;

/// Number of models that a refusal names.
const NAMED: usize = 3;

/// Refuses a model that is known to do something else than the request asks for. A model that
/// nobody described is not refused.
///
/// # Errors
/// When a chat is for a model of embeddings, or the other way round. The error names models of the
/// other kind that the caller may use.
pub(crate) fn check(call: &Call, candidate: &Candidate) -> Result<(), EngineError> {
    let embeddings = match call.task() {
        Task::Generate => false,
        Task::Embeddings => true,
        Task::CountTokens => return Ok(()),
    };
    let snapshot = call.snapshot();
    let is_able = embeddings || !snapshot.endpoint(candidate).is_built_in();
    if is_able && snapshot.roster().may_serve(candidate, embeddings) {
        return Ok(());
    }
    Err(unavailable(call, candidate, embeddings))
}

/// The refusal of a model that does not do what the request is for.
pub(crate) fn unavailable(call: &Call, candidate: &Candidate, embeddings: bool) -> EngineError {
    EngineError::NoOperation {
        model: call.model().to_string(),
        operation: if embeddings { "embeddings" } else { "answers" },
        able: able(call, &candidate.entry.vendor, embeddings),
    }
}

/// Models that do it and that the caller may use: of the same maker first, the best first.
fn able(call: &Call, vendor: &str, embeddings: bool) -> Vec<String> {
    let (principal, snapshot) = (call.principal(), call.snapshot());
    let roster = snapshot.roster();
    let mut models: Vec<_> = roster.listed().iter().collect();
    models.retain(|entry| entry.embeddings == embeddings);
    models.sort_by_key(|entry| (entry.vendor != vendor, Reverse(entry.rating)));
    let is_allowed = |id: &str| {
        let candidates = roster.resolve(id).unwrap_or_default();
        let mut candidates = candidates.iter();
        candidates.any(|candidate| may_use(principal, snapshot, id, candidate))
    };
    let ids = models.into_iter().map(|entry| entry.id.as_str());
    ids.filter(|id| is_allowed(id))
        .take(NAMED)
        .map(str::to_owned)
        .collect()
}
