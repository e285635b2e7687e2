//! A model is set up as the profile of its caller's subsystem wants it, once, after the backend is
//! chosen (C-002): by single edits where the request is relayed, in the neutral request where it is
//! translated.

use std::sync::Arc;

use bardo_profile::{Applied, Model, apply};
use bardo_providers::Endpoint;
use bardo_router::Candidate;
use bardo_types::Degradation;
use bardo_types::chat::ChatRequest;
use bardo_types::model::Dialect;
use bardo_wire::codec::Target;
use bardo_wire::settings::{TRANSLATE, settings_change};
use bardo_wire::splice::Edit;

use crate::admitted::Admitted;
use crate::error::EngineError;

/// How a model was set up, and which.
pub(crate) struct Setup {
    pub(crate) applied: Applied,
    pub(crate) candidate: Candidate,
}

/// How a request that could be relayed gets its profile.
pub(crate) enum Setting {
    /// By these edits; none where there is no profile.
    Edits(Vec<Edit>, Option<Applied>),
    /// Its words have to change too, so it is written anew.
    Translate,
}

fn model<'a>(
    admitted: &Admitted,
    candidate: &'a Candidate,
    endpoint: &Endpoint,
    dialect: Dialect,
) -> Model<'a> {
    let routed = admitted.routed.as_ref();
    let choice = routed.and_then(|routed| routed.choice(candidate));
    Model {
        security: choice.map_or(candidate.entry.security, |choice| choice.security),
        takes_sampling: dialect != Dialect::Anthropic || !asks_for_newest(admitted),
        capabilities: &candidate.entry.capabilities,
        service: endpoint.service,
        dialect,
        name: &candidate.entry.upstream_id,
    }
}

/// Whether the caller's own version of the Messages API travels on, and is one that refuses sampling.
fn asks_for_newest(admitted: &Admitted) -> bool {
    let version = admitted.forward.get("anthropic-version");
    admitted.dialect == Dialect::Anthropic
        && version.is_some_and(|version| version.as_bytes() > b"2023-06-01".as_slice())
}

/// The profile as edits of a relayed request.
pub(crate) fn by_edits(
    admitted: &Admitted,
    candidate: &Candidate,
    endpoint: &Endpoint,
) -> Result<Setting, EngineError> {
    let wanted = admitted
        .routed
        .as_ref()
        .and_then(|routed| routed.wanted.as_ref());
    let cap = cost_cap(admitted, candidate);
    if wanted.is_none() && cap.is_none() {
        return Ok(Setting::Edits(Vec::new(), None));
    }
    let target = Target {
        model: candidate.entry.upstream_id.clone(),
        service: endpoint.service,
        capabilities: Arc::new(candidate.entry.capabilities.clone()),
    };
    let model = model(admitted, candidate, endpoint, admitted.dialect);
    let mut applied = Applied::default();
    let changed = settings_change(admitted.dialect, &admitted.top(), &target, |request| {
        if let Some(wanted) = wanted {
            applied = apply(wanted, request, &model);
        }
        limit(cap, request, &mut applied);
    });
    refuse(&applied)?;
    match changed {
        Ok(_) if applied.touched_conversation => Ok(Setting::Translate),
        Ok(changed) if is_contested(admitted, endpoint, &changed.edits) => Ok(Setting::Translate),
        Ok(changed) => {
            applied.degraded.extend(changed.degraded);
            Ok(Setting::Edits(changed.edits, Some(applied)))
        }
        Err(error) if error.code == Some(TRANSLATE) => Ok(Setting::Translate),
        Err(error) => Err(error.into()),
    }
}

/// Whether the provider's own edits are about a member that a profile changes too; a member is
/// edited once.
fn is_contested(admitted: &Admitted, endpoint: &Endpoint, settings: &[Edit]) -> bool {
    let own = endpoint.provider().edits(admitted.dialect, &admitted.top());
    own.iter()
        .any(|own| settings.iter().any(|edit| edit.key() == own.key()))
}

/// The profile in a request that is written anew.
pub(crate) fn of_request(
    admitted: &Admitted,
    candidate: &Candidate,
    endpoint: &Endpoint,
    dialect: Dialect,
    request: &mut Arc<ChatRequest>,
) -> Result<Option<Applied>, EngineError> {
    let wanted = admitted
        .routed
        .as_ref()
        .and_then(|routed| routed.wanted.as_ref());
    let cap = cost_cap(admitted, candidate);
    if wanted.is_none() && cap.is_none() {
        return Ok(None);
    }
    let model = model(admitted, candidate, endpoint, dialect);
    let request = Arc::make_mut(request);
    let mut applied = match wanted {
        None => Applied::default(),
        Some(wanted) => apply(wanted, request, &model),
    };
    limit(cap, request, &mut applied);
    refuse(&applied)?;
    Ok(Some(applied))
}

/// The tokens of output that a cap on the cost of this call pays for at this candidate.
fn cost_cap(admitted: &Admitted, candidate: &Candidate) -> Option<u64> {
    admitted.routed.as_ref()?.choice(candidate)?.max_output
}

/// Keeps a call within the cap on its cost, and says so.
fn limit(cap: Option<u64>, request: &mut ChatRequest, applied: &mut Applied) {
    let Some(cap) = cap else { return };
    if request.max_output_tokens.is_none_or(|own| own > cap) {
        request.max_output_tokens = Some(cap);
        applied.degraded.push(Degradation::new(
            "max_tokens",
            "the cost limit of this call is enough for this many output tokens",
        ));
    }
}

/// A model that a profile rules out is not asked (C-067).
fn refuse(applied: &Applied) -> Result<(), EngineError> {
    match &applied.refused {
        None => Ok(()),
        Some(why) => Err(EngineError::Required {
            feature: why.feature.to_string(),
            detail: why.detail.to_string(),
        }),
    }
}

/// Tokens that a profile adds to the prompt, rather too many than too few: a schema that the model
/// is told in words, and the words around it.
pub(crate) fn added_tokens(admitted: &Admitted) -> u64 {
    const WORDS: u64 = 100;
    let wanted = admitted
        .routed
        .as_ref()
        .and_then(|routed| routed.wanted.as_ref());
    wanted.map_or(0, |wanted| {
        let schema = wanted.profile.response_schema.as_ref();
        // Three bytes or more are a token, and indentation is not here yet.
        WORDS + schema.map_or(0, |schema| schema.schema.as_str().len() as u64 / 2)
    })
}

/// Tokens of output that the profile allows at the candidate where it allows the most; `None`
/// where it sets no limit at one of them, or the caller set its own.
pub(crate) fn output_limit(admitted: &Admitted) -> Option<u64> {
    let routed = admitted.routed.as_ref()?;
    let mut most = 0;
    for candidate in &admitted.candidates {
        let endpoint = admitted.world.endpoint(candidate);
        let dialect = endpoint.dialect_for(admitted.dialect, &candidate.entry);
        // The settings alone, without the conversation.
        let mut request = ChatRequest::new(admitted.dialect, String::new());
        if let Some(neutral) = &admitted.neutral {
            request.max_output_tokens = neutral.max_output_tokens;
            request.reasoning = neutral.reasoning.clone();
        }
        let model = model(admitted, candidate, endpoint, dialect);
        let mut applied = match &routed.wanted {
            None => Applied::default(),
            Some(wanted) => apply(wanted, &mut request, &model),
        };
        limit(cost_cap(admitted, candidate), &mut request, &mut applied);
        most = most.max(request.max_output_tokens?);
    }
    Some(most)
}
