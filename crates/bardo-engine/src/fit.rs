//! Reasons against relaying a request as it is, or against a backend.

use bardo_providers::Endpoint;
use bardo_router::Candidate;
use bardo_types::chat::{ChatRequest, Message, Part, Role, ToolChoice};
use bardo_types::model::{Dialect, Service};
use bardo_wire::codec::BadRequest;
use bardo_wire::{chat, envelope, responses, textual};

use crate::call::Call;
use crate::received::Payer;

/// Threads are stored at Anthropic and conversations at OpenAI; another provider would answer
/// without their items. The code of a refused thread makes Anthropic's SDKs send the whole
/// conversation instead.
pub(crate) fn refuse_stored_history(
    call: &Call,
    endpoint: &Endpoint,
    dialect: Dialect,
) -> Result<(), BadRequest> {
    let (member, keeper) = match call.dialect() {
        Dialect::Anthropic => ("thread", Service::Anthropic),
        Dialect::Responses => ("conversation", Service::OpenAi),
        Dialect::Chat | Dialect::Completions | Dialect::Gemini => return Ok(()),
    };
    let is_kept = dialect == call.dialect() && endpoint.service == keeper
        || call.request_body().goes_on_from_here();
    if is_kept || call.top().get(member).is_none_or(|json| json == "null") {
        return Ok(());
    }
    Err(if keeper == Service::Anthropic {
        let message = "this model's provider stores no threads; remove `thread` and send the whole conversation";
        BadRequest::new(member, message).with_code("thread_unsupported_request")
    } else {
        let message = "this model's provider does not store conversations; remove `conversation` and send its items in `input`, or continue with `previous_response_id`";
        BadRequest::new(member, message)
    })
}

/// What Gemini has stored belongs to the key at Google, and its name is all that it takes to ask
/// about it. A caller that pays has no way to store anything there, so the name is another's.
pub(crate) fn refuse_stored_content(call: &Call, dialect: Dialect) -> Result<(), BadRequest> {
    if dialect != Dialect::Gemini || matches!(call.principal().payer, Payer::Owner) {
        return Ok(());
    }
    let top = call.top();
    let is_named = |member: &&str| top.get(member).is_some_and(|json| json != "null");
    let Some(member) = ["cachedContent", "cached_content"]
        .into_iter()
        .find(is_named)
    else {
        return Ok(());
    };
    let message = format!(
        "`{member}` names content that is stored with the gateway's own key at Google, which callers that pay may \
        not use; remove it and send the content itself"
    );
    Err(BadRequest::new(member, message))
}

/// Types of tools that Responses has beside functions; a date or `_preview` may follow a name.
const RESPONSES_TOOLS: [&str; 14] = [
    "function",
    "custom",
    "namespace",
    "web_search",
    "file_search",
    "code_interpreter",
    "image_generation",
    "mcp",
    "computer",
    "shell",
    "local_shell",
    "apply_patch",
    "tool_search",
    "programmatic_tool_calling",
];

/// What a translation would leave out of a Responses request although the answer depends on it: a
/// tool of a type that nobody here knows, and work in the background. A caller that takes a degraded
/// answer gets one.
pub(crate) fn refuse_lost_members(call: &Call, dialect: Dialect) -> Result<(), BadRequest> {
    let hints = call.hints().route.as_ref();
    let accepts = hints.is_some_and(|hints| hints.accept_degraded == Some(true));
    if accepts || call.dialect() != Dialect::Responses || dialect == Dialect::Responses {
        return Ok(());
    }
    const TAKEN: &str = "or send the hint `accept_degraded: true` to get an answer without it";
    let top = call.top();
    if top.get("background") == Some("true") {
        let message = format!(
            "this model's provider does not answer in the background; remove `background`, {TAKEN}"
        );
        return Err(BadRequest::new("background", message));
    }
    let Some((index, kind)) = top.get("tools").and_then(unknown_tool) else {
        return Ok(());
    };
    let param = format!("tools[{index}].type");
    let kind: String = kind.chars().take(64).collect();
    let message = format!(
        "`{param}` is `{kind}`, an unknown type of tool that cannot be translated for this model; use `function`, \
        `custom` or `mcp`, remove the tool, {TAKEN}"
    );
    Err(BadRequest::new(param, message))
}

/// The place and the type of the first tool whose type is unknown.
fn unknown_tool(tools: &str) -> Option<(usize, String)> {
    #[derive(serde::Deserialize)]
    struct ToolType {
        #[serde(rename = "type", default)]
        kind: Option<String>,
    }
    let tools: Vec<ToolType> = serde_json::from_str(tools).ok()?;
    let is_known = |kind: &str| {
        RESPONSES_TOOLS.iter().any(|known| {
            let rest = kind.strip_prefix(known);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        })
    };
    let kinds = tools.into_iter().map(|tool| tool.kind).enumerate();
    kinds
        .filter_map(|(index, kind)| Some((index, kind?)))
        .find(|(_, kind)| !is_known(kind))
}

/// Whether the history holds what the gateway put there and this provider must not see: state in
/// the gateway's own wrapping, or thinking in members that are not this provider's. Such a request
/// is read and written anew even where the dialects match.
pub(crate) fn holds_own_marks(call: &Call, service: Service) -> bool {
    let body = call.body();
    match call.dialect() {
        Dialect::Responses => responses::holds_own_marks(body),
        Dialect::Chat => chat::holds_foreign_thinking(body, service),
        _ => envelope::is_within(body),
    }
}

/// Whether a candidate gets the caller's bytes, with single members edited.
pub(crate) fn is_relayed(
    call: &Call,
    candidate: &Candidate,
    endpoint: &Endpoint,
    dialect: Dialect,
) -> bool {
    dialect == call.dialect()
        && !textual::EventFilter::needed(&candidate.entry.capabilities)
        && !call.request_body().goes_on_from_here()
        && !call.request_body().is_changed()
        && !holds_own_marks(call, endpoint.service)
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

/// Refuses a request of which another dialect keeps nothing: its turns have only blocks that one
/// dialect understands, or blocks whose type nobody knows.
pub(crate) fn refuse_foreign_blocks_alone(
    request: &ChatRequest,
    dialect: Dialect,
) -> Result<(), BadRequest> {
    let turns = || {
        request
            .messages
            .iter()
            .filter(|turn| turn.role != Role::System)
    };
    let foreign = |part: &Part| match part {
        Part::Server(block) if block.dialect != dialect => Some(block.kind.clone()),
        _ => None,
    };
    let is_left = |turn: &Message| turn.parts.iter().any(|part| foreign(part).is_none());
    if turns().any(is_left) {
        return Ok(());
    }
    let first = turns().enumerate().find_map(|(turn, message)| {
        let mut kinds = message.parts.iter().map(foreign).enumerate();
        kinds.find_map(|(part, kind)| Some((turn, part, kind?)))
    });
    let Some((turn, part, kind)) = first.filter(|_| request.dialect == Dialect::Anthropic) else {
        return Ok(());
    };
    let param = format!("messages[{turn}].content[{part}].type");
    let message = format!(
        "`{param}` is `{kind}`, which cannot be translated for this model, and the request has no other content; send a part of type `text`, `image` or `document`"
    );
    Err(BadRequest::new(param, message))
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
