//! From a caller's request to the bytes that one backend gets: relayed with single members edited,
//! or decoded and written in the backend's dialect.

use std::collections::HashSet;
use std::sync::Arc;

use bardo_profile::{AnswerLift, Applied, SchemaCheck, SchemaMode};
use bardo_providers::{Call, Endpoint, Operation};
use bardo_router::Candidate;
use bardo_types::Degradation;
use bardo_types::chat::{ChatRequest, ThinkingMode};
use bardo_types::model::{Dialect, Service, ToolFormat};
use bardo_types::privacy::SecurityClass;
use bardo_wire::codec::{DecodeContext, ReplyContext, Target};
use bardo_wire::json::scan;
use bardo_wire::splice::{Edit, splice};
use bardo_wire::{anthropic, chat, marks, responses, table, textual};
use bytes::Bytes;
use http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};

use crate::admitted::Admitted;
use crate::error::EngineError;
use crate::fit::{
    forces_a_tool, goes_on_from_here, holds_own_marks, refuse_threads, refuse_unseen_images,
};
use crate::memory::Memory;
use crate::received::Task;
use crate::setup::{self, Setting, Setup};
use crate::unseen::Accepted;

/// By this header simulated providers, and no others, learn the dialect of the caller.
const SANDBOX_FROM: HeaderName = HeaderName::from_static("x-bardo-sandbox-from");

/// A request as one backend gets it.
pub(crate) struct Shaped {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) dialect: Dialect,
    pub(crate) target: http::Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) degraded: Vec<Degradation>,
    pub(crate) mode: Mode,
    /// How the model was set up, where a profile says so.
    pub(crate) setup: Option<Box<Setup>>,
    /// When the backend took it.
    pub(crate) accepted: Accepted,
}

/// How the answer gets back to the caller.
#[derive(Clone)]
pub(crate) enum Mode {
    /// Byte for byte.
    Relay {
        /// The caller did not ask for the usage chunk that we asked for.
        hide_usage: bool,
    },
    /// Decoded and written in the caller's dialect.
    Translate(Box<Translation>),
}

/// What both codecs need to know.
#[derive(Clone)]
pub(crate) struct Translation {
    pub(crate) decode: DecodeContext,
    pub(crate) reply: ReplyContext,
    /// The model writes thinking or calls into its text.
    pub(crate) textual: bool,
    /// The answer comes as the arguments of a tool.
    pub(crate) lift: Option<AnswerLift>,
    /// What the profile holds the answer to.
    pub(crate) schema: Option<SchemaCheck>,
    /// How well what is remembered of the answer has to be kept.
    pub(crate) class: SecurityClass,
}

/// The caller's request in neutral form, decoded at most once.
#[derive(Default)]
pub(crate) struct Decoded(Option<Arc<ChatRequest>>);

impl Decoded {
    pub(crate) fn get(
        &mut self,
        admitted: &Admitted,
        memory: &Memory,
    ) -> Result<Arc<ChatRequest>, EngineError> {
        if let Some(request) = &self.0 {
            return Ok(Arc::clone(request));
        }
        let mut request = match (admitted.task, earlier_items(admitted, memory)?) {
            (_, Some(body)) => table::decode_request(admitted.dialect, &body)?,
            (_, None) if admitted.neutral.is_some() => admitted
                .neutral
                .as_deref()
                .cloned()
                .expect("asked just now"),
            (Task::CountTokens, None) if admitted.dialect == Dialect::Anthropic => {
                bardo_wire::anthropic::decode_count_request(&admitted.body)?
            }
            (_, None) => table::decode_request(admitted.dialect, &admitted.body)?,
        };
        request.extra.retain(|(name, _)| name != "bardo");
        memory.restore_calls(admitted.principal.account.as_str(), &mut request);
        let request = Arc::new(request);
        self.0 = Some(Arc::clone(&request));
        Ok(request)
    }
}

/// For a request that builds on a stored response: the body with that response's items in front.
fn earlier_items(admitted: &Admitted, memory: &Memory) -> Result<Option<Vec<u8>>, EngineError> {
    if admitted.dialect != Dialect::Responses {
        return Ok(None);
    }
    let Some(id) = responses::previous_response_id(&admitted.top()) else {
        return Ok(None);
    };
    let items = memory
        .items(admitted.principal.account.as_str(), &id)
        .ok_or(EngineError::UnknownResponse(id))?;
    Ok(Some(responses::prepend_items(&admitted.body, &items)?))
}

pub(crate) fn shape(
    admitted: &Admitted,
    candidate: &Candidate,
    decoded: &mut Decoded,
    memory: &Memory,
) -> Result<Shaped, EngineError> {
    let endpoint = Arc::clone(&admitted.world.endpoints[candidate.backend]);
    let dialect = endpoint.dialect_for(admitted.dialect, &candidate.entry);
    let target = target(admitted, candidate, &endpoint, dialect)?;
    refuse_threads(admitted, &endpoint, dialect)?;
    let is_textual = textual::EventFilter::needed(&candidate.entry.capabilities);
    let is_relayed = dialect == admitted.dialect
        && !is_textual
        && !holds_own_marks(admitted, endpoint.service)
        && !goes_on_from_here(admitted, memory);
    let setting = if is_relayed {
        setup::by_edits(admitted, candidate, &endpoint)?
    } else {
        Setting::Translate
    };
    let (body, mut degraded, mode, applied) = match setting {
        Setting::Edits(edits, applied) => {
            let (body, degraded, mode) = relayed(admitted, candidate, &endpoint, edits);
            (body, degraded, mode, applied)
        }
        Setting::Translate => translated(admitted, candidate, &endpoint, dialect, decoded, memory)?,
    };
    degraded.extend(applied.iter().flat_map(|applied| applied.degraded.clone()));
    if let Some(routed) = &admitted.routed {
        let lost = routed.lost(candidate);
        degraded.splice(0..0, lost);
    }
    degraded.extend(admitted.unfunded.clone());
    if let Some((feature, detail)) = insisted_on(admitted, &degraded) {
        return Err(EngineError::Required { feature, detail });
    }
    let headers = headers(admitted, &endpoint, dialect);
    Ok(Shaped {
        endpoint,
        dialect,
        target,
        headers,
        body,
        degraded,
        mode,
        setup: applied.map(|applied| {
            Box::new(Setup {
                applied,
                candidate: candidate.clone(),
            })
        }),
        accepted: Accepted::default(),
    })
}

/// What was lost though the caller requires it, unless it takes a degraded answer too.
fn insisted_on(admitted: &Admitted, lost: &[Degradation]) -> Option<(String, String)> {
    let hints = &admitted.hints;
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
    let top = admitted.top();
    let member = top.members().iter().map(|member| top.name(member));
    let found = member.into_iter().find(|name| required.contains(&**name))?;
    Some(told(&found, &more.detail))
}

/// Where a backend takes such a request.
fn target(
    admitted: &Admitted,
    candidate: &Candidate,
    endpoint: &Endpoint,
    dialect: Dialect,
) -> Result<http::Uri, EngineError> {
    let call = Call {
        operation: Operation::Generate {
            stream: admitted.stream,
        },
        dialect,
        model: &candidate.entry.upstream_id,
    };
    endpoint
        .target(&call)
        .ok_or_else(|| EngineError::NoOperation {
            model: admitted.model.to_string(),
            operation: "answers",
        })
}

/// A request that asks the same backend to mend what it answered.
pub(crate) fn mended(
    admitted: &Admitted,
    candidate: &Candidate,
    request: ChatRequest,
) -> Result<Shaped, EngineError> {
    let endpoint = Arc::clone(&admitted.world.endpoints[candidate.backend]);
    let dialect = endpoint.dialect_for(admitted.dialect, &candidate.entry);
    let target = target(admitted, candidate, &endpoint, dialect)?;
    let (body, degraded, mode, _) =
        written_anew(admitted, candidate, &endpoint, dialect, Arc::new(request))?;
    Ok(Shaped {
        headers: headers(admitted, &endpoint, dialect),
        endpoint,
        dialect,
        target,
        body,
        degraded,
        mode,
        setup: None,
        accepted: Accepted::default(),
    })
}

/// The caller's bytes with as few members changed as possible, each change listed in
/// `docs/relay.md`.
fn relayed(
    admitted: &Admitted,
    candidate: &Candidate,
    endpoint: &Endpoint,
    settings: Vec<Edit>,
) -> (Bytes, Vec<Degradation>, Mode) {
    let top = admitted.top();
    // What a provider always wants is in the settings already where they touch the same member.
    let mut edits = settings;
    for edit in endpoint.provider().edits(admitted.dialect, &top) {
        if edits.iter().all(|set| set.key() != edit.key()) {
            edits.push(edit);
        }
    }
    edits.extend(endpoint.provider().peculiarities(&top));
    let renames_limit = candidate.entry.capabilities.max_completion_tokens
        && endpoint.service == Service::OpenAi
        && admitted.dialect == Dialect::Chat;
    if renames_limit && edits.iter().all(|edit| edit.key() != "max_tokens") {
        edits.extend(chat::limit_renamed(&top));
    }
    if endpoint.service != Service::Anthropic {
        for edit in marks::without_scope(&top) {
            if edits.iter().all(|set| set.key() != edit.key()) {
                edits.push(edit);
            }
        }
    }
    if *admitted.model != candidate.entry.upstream_id {
        edits.push(Edit::set_string("model", &candidate.entry.upstream_id));
    }
    if top.member("bardo").is_some() {
        edits.push(Edit::Remove { key: "bardo" });
    }
    let ask_for_usage = admitted.dialect == Dialect::Chat
        && admitted.stream
        && !admitted.include_usage
        && endpoint.provider().usage_on_request();
    if ask_for_usage {
        edits.push(Edit::set(
            "stream_options",
            with_usage(top.get("stream_options")),
        ));
    }
    if let Some(edit) = preferences(admitted, candidate, endpoint, top.get("provider")) {
        edits.retain(|other| other.key() != edit.key());
        edits.push(edit);
    }
    let mut degraded = Vec::new();
    if let Some((cap, said)) = admitted.output_cap(candidate) {
        let key = match admitted.dialect {
            Dialect::Chat
                if candidate.entry.capabilities.max_completion_tokens
                    && endpoint.service != Service::Compatible =>
            {
                "max_completion_tokens"
            }
            Dialect::Responses => "max_output_tokens",
            _ => "max_tokens",
        };
        let own = edits.iter().find_map(|edit| match edit {
            Edit::Set { key: own, value } if *own == key => value.parse::<u64>().ok(),
            _ => None,
        });
        if own.is_none_or(|own| cap < own) {
            edits.retain(|edit| edit.key() != key);
            edits.push(Edit::set(key, cap.to_string()));
            degraded.push(said);
            if admitted.dialect == Dialect::Anthropic {
                anthropic::think_within(&top, &mut edits, cap);
            }
        }
    }
    let body = if edits.is_empty() {
        admitted.body.clone()
    } else {
        splice(&top, &edits).into()
    };
    (
        body,
        degraded,
        Mode::Relay {
            hide_usage: ask_for_usage,
        },
    )
}

/// What OpenRouter is told beside the request: in which order to ask the providers of a model that
/// was chosen here, and, where the request should be kept private, to leave out those that keep what
/// they read. It is never private for that.
fn preferences(
    admitted: &Admitted,
    candidate: &Candidate,
    endpoint: &Endpoint,
    own: Option<&str>,
) -> Option<Edit> {
    if endpoint.service != Service::OpenRouter {
        return None;
    }
    let routed = admitted.routed.as_ref()?;
    let sort = routed.choice(candidate)?.sort;
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

/// A body in another form, what it lost, how its answer gets back, what the profile came to.
type Translated = (Bytes, Vec<Degradation>, Mode, Option<Applied>);

fn translated(
    admitted: &Admitted,
    candidate: &Candidate,
    endpoint: &Endpoint,
    dialect: Dialect,
    decoded: &mut Decoded,
    memory: &Memory,
) -> Result<Translated, EngineError> {
    let request = decoded.get(admitted, memory)?;
    let mut translated = written_anew(admitted, candidate, endpoint, dialect, request)?;
    // The same words, without what nobody knows: callers do not expect it where a relay is usual.
    if admitted.dialect == Dialect::Chat && dialect == Dialect::Chat {
        translated.1.extend(chat::members_left_out(&admitted.body));
    }
    Ok(translated)
}

fn written_anew(
    admitted: &Admitted,
    candidate: &Candidate,
    endpoint: &Endpoint,
    dialect: Dialect,
    mut request: Arc<ChatRequest>,
) -> Result<Translated, EngineError> {
    let applied = setup::of_request(admitted, candidate, endpoint, dialect, &mut request)?;
    let own = request.max_output_tokens;
    let cap = admitted.output_cap(candidate);
    let cap = cap.filter(|(cap, _)| own.is_none_or(|own| *cap < own));
    if let Some((cap, _)) = &cap {
        let request = Arc::make_mut(&mut request);
        request.max_output_tokens = Some(*cap);
        if let Some(ThinkingMode::Budget(tokens)) = &mut request.reasoning.mode {
            // As much is left for the answer.
            *tokens = (*tokens).min(cap / 2);
        }
    }
    let capabilities = Arc::new(candidate.entry.capabilities.clone());
    let target = Target {
        model: candidate.entry.upstream_id.clone(),
        service: endpoint.service,
        capabilities: Arc::clone(&capabilities),
    };
    refuse_unseen_images(&request, candidate)?;
    let mut encoded = if matches!(capabilities.tool_format, ToolFormat::Native) {
        table::encode_request(dialect, &request, &target)?
    } else {
        let lowered = textual::lower(&request, capabilities.tool_format);
        let mut encoded = table::encode_request(dialect, &lowered, &target)?;
        if forces_a_tool(&request) {
            encoded.degraded.push(Degradation::new(
                "forced_tool_choice",
                "the model calls tools in its text, so the choice is only an instruction",
            ));
        }
        encoded
    };
    encoded.degraded.extend(cap.map(|(_, said)| said));
    let id_seed = admitted
        .request_id
        .as_str()
        .trim_start_matches("req_")
        .to_owned();
    let schema = applied.as_ref().and_then(|applied| applied.schema.as_ref());
    let translation = Translation {
        lift: schema
            .filter(|check| check.mode == SchemaMode::Tool)
            .map(AnswerLift::new),
        schema: schema.cloned(),
        class: admitted.effective_class(candidate),
        textual: textual::EventFilter::needed(&capabilities),
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
        },
    };
    let mut body: Bytes = as_the_vendor_wants(endpoint, encoded.body).into();
    if let Ok(top) = scan(&body)
        && let Some(edit) = preferences(admitted, candidate, endpoint, top.get("provider"))
    {
        body = splice(&top, &[edit]).into();
    }
    Ok((
        body,
        encoded.degraded,
        Mode::Translate(Box::new(translation)),
        applied,
    ))
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

/// What travels on: an allow-list of the caller's headers, and ours (quality P-40).
pub(crate) fn headers(admitted: &Admitted, endpoint: &Endpoint, dialect: Dialect) -> HeaderMap {
    let mut headers = endpoint.headers().clone();
    let accept = if admitted.stream {
        "text/event-stream"
    } else {
        "application/json"
    };
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    // Version and betas of the caller mean something only to Anthropic's own format.
    let same = dialect == admitted.dialect;
    for (name, value) in &admitted.forward {
        let anthropic_only = name.as_str().starts_with("anthropic-");
        if !anthropic_only || same && dialect == Dialect::Anthropic {
            headers.append(name, value.clone());
        }
    }
    // Simulated providers say in their answers what came in at the front. Nobody else is told.
    if admitted.world.sandbox {
        let asked = HeaderValue::from_static(admitted.dialect.as_str());
        headers.insert(SANDBOX_FROM, asked);
    }
    endpoint.provider().complete(dialect, &mut headers);
    headers
}
