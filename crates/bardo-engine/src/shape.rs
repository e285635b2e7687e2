//! From a caller's request to the bytes that one backend gets: relayed with single members edited,
//! or decoded and written in the backend's dialect.

use std::collections::HashSet;
use std::sync::Arc;

use bardo_profile::{AnswerLift, Applied, SchemaCheck, SchemaMode};
use bardo_providers::{self as providers, Endpoint, Operation};
use bardo_types::Degradation;
use bardo_types::chat::{ChatRequest, MarkPlan, ThinkingMode};
use bardo_types::model::{Dialect, Service, ToolFormat};
use bardo_types::privacy::SecurityClass;
use bardo_wire::codec::{DecodeContext, Encoded, ReplyContext, Target};
use bardo_wire::json::scan;
use bardo_wire::splice::{Edit, splice};
use bardo_wire::{anthropic, chat, marks, table, textual};
use bytes::Bytes;
use http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};

use crate::call::Call;
use crate::dear_members::{self, dear_members};
use crate::error::EngineError;
use crate::fit::{
    forces_a_tool, is_relayed, refuse_foreign_blocks_alone, refuse_lost_members,
    refuse_stored_content, refuse_stored_history, refuse_unseen_images,
};
use crate::leg::{Grant, Leg, Settings};
use crate::memory::Memory;
use crate::operation;
use crate::payments::Payments;
use crate::settings;
use crate::unseen::Accepted;

/// By this header simulated providers, and no others, learn the dialect of the caller.
const SANDBOX_FROM: HeaderName = HeaderName::from_static("x-bardo-sandbox-from");

/// A request as one backend gets it.
pub(crate) struct Shaped {
    pub(crate) dialect: Dialect,
    pub(crate) target: http::Uri,
    pub(crate) body: Bytes,
    pub(crate) degraded: Vec<Degradation>,
    pub(crate) mode: AnswerMode,
    /// The leg that it was rendered from.
    pub(crate) leg: Arc<Leg>,
    /// How far its hold lets the answer go.
    pub(crate) grant: Grant,
    /// When the backend took it.
    pub(crate) accepted: Accepted,
    /// The payments for the attempts with this body alone; `None` where its backend sells nothing per
    /// call.
    pub(crate) payments: Option<Payments>,
}

/// How the answer gets back to the caller.
#[derive(Clone)]
pub(crate) enum AnswerMode {
    /// Byte for byte.
    Relay {
        /// The caller did not ask for the usage chunk that we asked for.
        hide_usage: bool,
    },
    /// Decoded and written in the caller's dialect.
    Transcode(Box<Translation>),
}

/// The context of a translation, for the decoder and the encoder.
#[derive(Clone)]
pub(crate) struct Translation {
    pub(crate) decode: DecodeContext,
    pub(crate) reply: ReplyContext,
    /// The model writes thinking or calls into its text.
    pub(crate) textual: bool,
    /// The answer comes as the arguments of a tool.
    pub(crate) lift: Option<AnswerLift>,
    /// The schema that the profile holds the answer to.
    pub(crate) schema: Option<SchemaCheck>,
    /// How well what is remembered of the answer has to be kept.
    pub(crate) class: SecurityClass,
}

/// Renders a leg: the request as its backend gets it.
///
/// # Errors
/// When the backend cannot take the request, or would lose what the caller requires.
pub(crate) fn shape(
    call: &Call,
    leg: &Arc<Leg>,
    grant: Grant,
    said: &[Degradation],
    memory: &Memory,
) -> Result<Shaped, EngineError> {
    let target = target(call, leg)?;
    refuse_stored_history(call, &leg.endpoint, leg.dialect)?;
    refuse_stored_content(call, leg.dialect)?;
    refuse_lost_members(call, leg.dialect)?;
    let rendered = match &leg.settings {
        Settings::Edits(edits, _) => relayed(call, leg, grant, edits.clone()),
        Settings::Untouched if is_relayed(call, &leg.candidate, &leg.endpoint, leg.dialect) => {
            relayed(call, leg, grant, Vec::new())
        }
        Settings::Untouched => {
            let request = call.request_body().request(memory)?;
            translated(call, leg, grant, request, None)?
        }
        Settings::Rewritten(request, applied) => {
            translated(call, leg, grant, Arc::clone(request), Some(applied))?
        }
    };
    let Rendered {
        body,
        mut degraded,
        mode,
    } = rendered;
    let applied = leg.settings.applied();
    degraded.extend(applied.iter().flat_map(|applied| applied.degraded.clone()));
    degraded.splice(0..0, leg.lost());
    degraded.extend_from_slice(said);
    if let Some((feature, detail)) = insisted_on(call, &degraded) {
        return Err(EngineError::Required { feature, detail });
    }
    Ok(Shaped {
        dialect: leg.dialect,
        target,
        body,
        degraded,
        mode,
        leg: Arc::clone(leg),
        grant,
        accepted: Accepted::default(),
        payments: Payments::to(&leg.endpoint),
    })
}

/// A body in the form of its backend, what it lost, and how its answer gets back.
struct Rendered {
    body: Bytes,
    degraded: Vec<Degradation>,
    mode: AnswerMode,
}

/// The name and the message of a required feature that was lost; `None` where the request takes a
/// degraded answer.
fn insisted_on(call: &Call, lost: &[Degradation]) -> Option<(String, String)> {
    let hints = call.hints();
    let route = hints.route.as_ref();
    if route.is_some_and(|route| route.accept_degraded == Some(true)) {
        return None;
    }
    let required: HashSet<&str> = hints.require.iter().map(String::as_str).collect();
    let told = |name: &str, detail: &str| (name.to_owned(), detail.to_owned());
    if let Some(lost) = lost.iter().find(|lost| required.contains(&*lost.feature)) {
        return Some(told(&lost.feature, &lost.detail));
    }
    // Of very many lost members not all are named; one that is required may be among the others.
    let more = lost.iter().find(|lost| lost.feature.starts_with("more["))?;
    let top = call.top();
    let member = top.members().iter().map(|member| top.name(member));
    let found = member.into_iter().find(|name| required.contains(&**name))?;
    Some(told(&found, &more.detail))
}

/// Where a backend takes such a request.
fn target(call: &Call, leg: &Leg) -> Result<http::Uri, EngineError> {
    let operation = Operation::Generate {
        stream: call.stream(),
    };
    leg.endpoint
        .target(&providers::UpstreamCall {
            operation,
            dialect: leg.dialect,
            model: &leg.candidate.entry.upstream_id,
        })
        .ok_or_else(|| operation::unavailable(call, &leg.candidate, false))
}

/// A request that asks the same backend to mend what it answered.
///
/// # Errors
/// When it cannot be set up or written as the first request was.
pub(crate) fn mended(
    call: &Call,
    shaped: &Shaped,
    request: ChatRequest,
) -> Result<Shaped, EngineError> {
    let leg = &shaped.leg;
    let (request, applied) = settings::again(call, leg, request)?;
    let Rendered {
        body,
        degraded,
        mode,
    } = written_anew(call, leg, shaped.grant, Arc::new(request), applied.as_ref())?;
    Ok(Shaped {
        dialect: leg.dialect,
        target: shaped.target.clone(),
        body,
        degraded,
        mode,
        leg: Arc::clone(leg),
        grant: shaped.grant,
        accepted: Accepted::default(),
        payments: shaped.payments.clone(),
    })
}

/// The caller's bytes with as few members changed as possible, each change listed in
/// `docs/relay.md`.
fn relayed(call: &Call, leg: &Leg, grant: Grant, settings: Vec<Edit>) -> Rendered {
    let (candidate, endpoint) = (&leg.candidate, &leg.endpoint);
    let top = call.top();
    // What a provider always wants is in the settings already where they touch the same member.
    let mut edits = settings;
    for edit in endpoint.provider().edits(call.dialect(), &top) {
        if edits.iter().all(|set| set.key() != edit.key()) {
            edits.push(edit);
        }
    }
    edits.extend(endpoint.provider().peculiarities(&top));
    let renames_limit = candidate.entry.capabilities.max_completion_tokens
        && endpoint.service == Service::OpenAi
        && call.dialect() == Dialect::Chat;
    if renames_limit && edits.iter().all(|edit| edit.key() != "max_tokens") {
        edits.extend(chat::limit_renamed(&top));
    }
    // OpenAI itself takes no marks at all.
    if !matches!(endpoint.service, Service::Anthropic | Service::OpenAi) {
        for edit in marks::without_scope(&top) {
            if edits.iter().all(|set| set.key() != edit.key()) {
                edits.push(edit);
            }
        }
    }
    if **call.model() != candidate.entry.upstream_id {
        edits.push(Edit::set_string("model", &candidate.entry.upstream_id));
    }
    if top.member("bardo").is_some() {
        edits.push(Edit::Remove { key: "bardo" });
    }
    let ask_for_usage = call.dialect() == Dialect::Chat
        && call.stream()
        && !call.include_usage()
        && endpoint.provider().usage_on_request();
    if ask_for_usage {
        edits.push(Edit::set(
            "stream_options",
            with_usage(top.get("stream_options")),
        ));
    }
    if let Some(edit) = preferences(leg, top.get("provider")) {
        edits.retain(|other| other.key() != edit.key());
        edits.push(edit);
    }
    let mut degraded = Vec::new();
    for key in dear_members(call, leg) {
        edits.retain(|other| other.key() != key);
        edits.push(Edit::Remove { key });
        degraded.push(dear_members::lost(key));
    }
    if let Some((cap, said)) = leg.output_cap(grant) {
        let key = match call.dialect() {
            Dialect::Chat
                if candidate.entry.capabilities.max_completion_tokens
                    && endpoint.service != Service::Compatible =>
            {
                "max_completion_tokens"
            }
            Dialect::Responses => "max_output_tokens",
            _ => "max_tokens",
        };
        edits.retain(|edit| edit.key() != key);
        edits.push(Edit::set(key, cap.to_string()));
        degraded.push(said);
        if call.dialect() == Dialect::Anthropic {
            anthropic::think_within(&top, &mut edits, cap);
        }
    }
    let body = if edits.is_empty() {
        call.body().clone()
    } else {
        splice(&top, &edits).into()
    };
    Rendered {
        body,
        degraded,
        mode: AnswerMode::Relay {
            hide_usage: ask_for_usage,
        },
    }
}

/// The edit that names OpenRouter the order of providers for a model that was chosen here and, for
/// a request that should stay private, excludes providers that keep prompts. The backend does not
/// count as private for that.
fn preferences(leg: &Leg, own: Option<&str>) -> Option<Edit> {
    if leg.endpoint.service != Service::OpenRouter {
        return None;
    }
    let routed = leg.routed.as_ref()?;
    let sort = leg.choice()?.sort;
    let is_floor = routed.wished_class >= SecurityClass::Private;
    if sort.is_none() && !is_floor {
        return None;
    }
    let own = own.and_then(|json| serde_json::from_str(json).ok());
    let mut members: serde_json::Map<String, serde_json::Value> = own.unwrap_or_default();
    if let Some(sort) = sort.filter(|_| !members.contains_key("order")) {
        members.entry("sort").or_insert_with(|| sort.into());
    }
    if is_floor {
        members.insert("data_collection".into(), "deny".into());
        members.insert("zdr".into(), true.into());
    }
    let json = serde_json::to_string(&members).expect("a map of JSON values always serializes");
    Some(Edit::set("provider", json))
}

fn with_usage(options: Option<&str>) -> String {
    let mut options: serde_json::Map<String, serde_json::Value> = options
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default();
    options.insert("include_usage".into(), true.into());
    serde_json::to_string(&options).expect("a map of JSON values always serializes")
}

fn translated(
    call: &Call,
    leg: &Leg,
    grant: Grant,
    mut request: Arc<ChatRequest>,
    applied: Option<&Applied>,
) -> Result<Rendered, EngineError> {
    let dear = dear_members(call, leg);
    if !dear.is_empty() {
        dear_members::without(Arc::make_mut(&mut request), &dear);
    }
    let mut rendered = written_anew(call, leg, grant, request, applied)?;
    let lost = dear.into_iter().map(dear_members::lost);
    rendered.degraded.extend(lost);
    // The same words, without what nobody knows: callers do not expect it where a relay is usual.
    if call.dialect() == Dialect::Chat && leg.dialect == Dialect::Chat {
        let left_out = chat::members_left_out(call.body());
        rendered.degraded.extend(left_out);
    }
    Ok(rendered)
}

fn written_anew(
    call: &Call,
    leg: &Leg,
    grant: Grant,
    mut request: Arc<ChatRequest>,
    applied: Option<&Applied>,
) -> Result<Rendered, EngineError> {
    let (candidate, endpoint, dialect) = (&leg.candidate, &leg.endpoint, leg.dialect);
    let cap = leg.output_cap(grant);
    if let Some((cap, _)) = &cap {
        let request = Arc::make_mut(&mut request);
        request.max_output_tokens = Some(*cap);
        if let Some(ThinkingMode::Budget(tokens)) = &mut request.reasoning.mode {
            // As much is left for the answer.
            *tokens = (*tokens).min(cap / 2);
        }
    }
    let capabilities = &candidate.entry.capabilities;
    let target = Target {
        model: candidate.entry.upstream_id.clone(),
        service: endpoint.service,
        capabilities: Arc::clone(capabilities),
    };
    table::check_parts(&request, dialect)?;
    refuse_unseen_images(&request, candidate)?;
    refuse_foreign_blocks_alone(&request, dialect)?;
    let mut encoded = encoded(dialect, &request, &target, leg.marks())?;
    encoded.degraded.extend(cap.map(|(_, said)| said));
    let id_seed = call
        .request_id()
        .as_str()
        .trim_start_matches("req_")
        .to_owned();
    let schema = applied.and_then(|applied| applied.schema.as_ref());
    let translation = Translation {
        lift: schema
            .filter(|check| check.mode == SchemaMode::Tool)
            .map(AnswerLift::new),
        schema: schema.cloned(),
        class: leg.effective_class(),
        textual: textual::EventFilter::needed(capabilities),
        decode: DecodeContext {
            target,
            request: Arc::clone(&request),
            renamed_tools: encoded.renamed_tools,
            id_seed: id_seed.clone(),
        },
        reply: ReplyContext {
            request,
            id_seed,
            created: unix_now(),
            model: candidate.entry.id.clone(),
            original: None,
        },
    };
    let mut body: Bytes = as_the_vendor_wants(endpoint, encoded.body).into();
    // A long body is scanned once more only for the service that has preferences.
    if endpoint.service == Service::OpenRouter
        && let Ok(top) = scan(&body)
        && let Some(edit) = preferences(leg, top.get("provider"))
    {
        body = splice(&top, &[edit]).into();
    }
    Ok(Rendered {
        body,
        degraded: encoded.degraded,
        mode: AnswerMode::Transcode(Box::new(translation)),
    })
}

/// A request in the backend's dialect, with calls of tools as text where the model makes them so.
fn encoded(
    dialect: Dialect,
    request: &ChatRequest,
    target: &Target,
    marks: MarkPlan,
) -> Result<Encoded, EngineError> {
    let format = target.capabilities.tool_format;
    if matches!(format, ToolFormat::Native) {
        return Ok(table::encode_marked(dialect, request, target, marks)?);
    }
    let lowered = textual::lower(request, format);
    let mut encoded = table::encode_marked(dialect, &lowered, target, marks)?;
    if forces_a_tool(request) {
        encoded.degraded.push(Degradation::new(
            "forced_tool_choice",
            "the model calls tools in its text, so the choice is only an instruction",
        ));
    }
    Ok(encoded)
}

/// A body of ours without what the vendor refuses, and with its own names for the rest.
fn as_the_vendor_wants(endpoint: &Endpoint, body: Vec<u8>) -> Vec<u8> {
    if endpoint.service != Service::Compatible {
        return body;
    }
    let Ok(top) = scan(&body) else {
        return body;
    };
    let edits = endpoint.provider().peculiarities(&top);
    if edits.is_empty() {
        return body;
    }
    splice(&top, &edits)
}

pub(crate) fn unix_now() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// The headers of the outgoing request: the caller's that are on the allow-list, and our own.
pub(crate) fn headers(call: &Call, endpoint: &Endpoint, dialect: Dialect) -> HeaderMap {
    let mut headers = endpoint.headers().clone();
    let accept = if call.stream() {
        "text/event-stream"
    } else {
        "application/json"
    };
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    // Version and betas of the caller mean something only to Anthropic's own format.
    let same = dialect == call.dialect();
    for (name, value) in call.forward() {
        let anthropic_only = name.as_str().starts_with("anthropic-");
        if !anthropic_only || same && dialect == Dialect::Anthropic {
            headers.append(name, value.clone());
        }
    }
    // Simulated providers say in their answers what came in at the front. Nobody else is told.
    if call.snapshot().sandbox {
        let asked = HeaderValue::from_static(call.dialect().as_str());
        headers.insert(SANDBOX_FROM, asked);
    }
    endpoint.provider().complete(dialect, &mut headers);
    headers
}
