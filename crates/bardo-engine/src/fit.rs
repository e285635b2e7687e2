//! What keeps a request from being relayed as it is, or from going to a backend at all.

use bardo_providers::Endpoint;
use bardo_router::Candidate;
use bardo_types::chat::{ChatRequest, Message, Part, Role, ToolChoice};
use bardo_types::model::{Dialect, Service};
use bardo_wire::codec::BadRequest;
use bardo_wire::{chat, envelope, responses};

use crate::admitted::Admitted;
use crate::error::EngineError;
use crate::memory::Memory;

/// Threads keep a conversation in Anthropic's own store; nobody else can go on from there. The
/// code makes its SDKs send the whole conversation instead.
pub(crate) fn refuse_threads(
    admitted: &Admitted,
    endpoint: &Endpoint,
    dialect: Dialect,
) -> Result<(), EngineError> {
    let keeps_threads = dialect == Dialect::Anthropic && endpoint.service == Service::Anthropic;
    let asks = admitted.dialect == Dialect::Anthropic
        && admitted
            .top()
            .get("thread")
            .is_some_and(|json| json != "null");
    if keeps_threads || !asks {
        return Ok(());
    }
    let message =
        "this model's provider stores no threads; remove `thread` and send the whole conversation";
    Err(BadRequest::new("thread", message)
        .with_code("thread_unsupported_request")
        .into())
}

/// Whether the history holds what the gateway put there and this provider must not see: state in
/// the gateway's own wrapping, or thinking in members that are not this provider's. Such a request
/// is read and written anew even where the dialects match.
pub(crate) fn holds_own_marks(admitted: &Admitted, service: Service) -> bool {
    let body = &admitted.body;
    match admitted.dialect {
        Dialect::Responses => responses::holds_own_marks(body),
        Dialect::Chat => chat::holds_foreign_thinking(body, service),
        _ => envelope::is_within(body),
    }
}

/// Whether the request builds on an answer that only the gateway stored.
pub(crate) fn goes_on_from_here(admitted: &Admitted, memory: &Memory) -> bool {
    admitted.dialect == Dialect::Responses
        && responses::previous_response_id(&admitted.top())
            .is_some_and(|id| memory.has_items(admitted.principal.account.as_str(), &id))
}

/// A model that cannot see must not answer as if nothing had been shown to it. What tools show is
/// not the caller's doing; there a note stands in for the image.
pub(crate) fn refuse_unseen_images(
    request: &ChatRequest,
    candidate: &Candidate,
) -> Result<(), BadRequest> {
    let shows = |message: &Message| {
        message.role == Role::User
            && message
                .parts
                .iter()
                .any(|part| matches!(part, Part::Image(_)))
    };
    if candidate.entry.capabilities.images || !request.messages.iter().any(shows) {
        return Ok(());
    }
    let param = if request.dialect == Dialect::Responses {
        "input"
    } else {
        "messages"
    };
    let model = &candidate.entry.id;
    Err(BadRequest::new(
        param,
        format!("`{model}` does not accept images; remove them, or choose a model with vision"),
    ))
}

pub(crate) fn forces_a_tool(request: &ChatRequest) -> bool {
    matches!(
        request.tool_choice,
        Some(
            ToolChoice::Required
                | ToolChoice::Named(_)
                | ToolChoice::Allowed { required: true, .. }
        )
    )
}
