//! A neutral conversation to a request body for an upstream.

mod items;

use bardo_types::Losses;
use bardo_types::chat::{
    ChatRequest, Message, OutputFormat, Part, ReasoningRequest, Role, ThinkingDisplay, ThinkingMode,
};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Effort};

use super::decode::{INCLUDE_LOGPROBS, INCLUDE_STATE};
use crate::codec::{BadRequest, Encoded, Target};
use crate::json::{Members, Object};
use crate::kit::size;
use crate::kit::tool_names::{NameRule, ToolNames};
use crate::quirks::Quirks;
use crate::responses::{ids, tools};

/// Why cache marks of another kind are left out.
pub(in crate::responses) const CACHE_MARKS: &str =
    "cache marks of this kind were removed; this provider caches prompts by itself";

/// The least `max_output_tokens` that OpenAI takes.
const LEAST_OUTPUT: u64 = 16;

/// Members of `extra` that are woven into a member written here.
const WOVEN: [&str; 4] = ["reasoning", "text", "include", "tool_choice"];

/// Writes a request for a Responses endpoint.
///
/// # Errors
/// When the request demands what the endpoint cannot do: several answers, a tool that another
/// provider runs, a file that another provider keeps.
pub fn encode_request(request: &ChatRequest, target: &Target) -> Result<Encoded, BadRequest> {
    if request.n.is_some_and(|n| n > 1) {
        return Err(BadRequest::new(
            "n",
            "this model gives one answer per request; remove `n`, or send one request for each answer",
        ));
    }
    let same = request.dialect == Dialect::Responses;
    let names = ToolNames::plan(request, NameRule::of(Dialect::Responses));
    let mut degraded = Losses::default();
    let mut out = Vec::with_capacity(size::of_request(request));
    let mut body = Object::new(&mut out);
    body.set("model", &target.model);
    let system = instructions(request, same);
    if !system.is_empty() {
        body.set("instructions", joined(system));
    }
    items::encode(
        request,
        system.len(),
        &names,
        body.key("input"),
        &mut degraded,
    )?;
    tools::encode(request, target, &names, &mut body, &mut degraded)?;
    limits(request, target, same, &mut body, &mut degraded);
    reasoning(request, target, same, &mut body, &mut degraded);
    text(request, same, &mut body);
    include(request, target, same, &mut body);
    identity(request, target, same, &mut body, &mut degraded);
    lost(request, &mut degraded);
    if same {
        for (key, raw) in &request.extra {
            if !WOVEN.contains(&key.as_str()) {
                body.foreign(key, raw.as_str());
            }
        }
    } else {
        for (key, _) in &request.extra {
            degraded.lose_field(key, "this API does not have this field");
        }
    }
    body.set("stream", request.stream);
    body.end();
    Ok(Encoded {
        body: out,
        degraded: degraded.into_list(),
        renamed_tools: names.into_renamed(),
    })
}

/// The leading system messages that become `instructions`. A message with more than words, or
/// with a mark on them, stays an item, and so does a developer message of a Responses caller.
fn instructions(request: &ChatRequest, same: bool) -> &[Message] {
    let plain = |message: &Message| {
        message.parts.iter().all(|part| match part {
            Part::Text(text) => !text.cache.as_ref().is_some_and(items::is_breakpoint),
            _ => false,
        }) && !(same && message.developer)
    };
    let leading = request.leading_system();
    let end = leading
        .iter()
        .position(|message| !plain(message))
        .unwrap_or(leading.len());
    &leading[..end]
}

fn joined(system: &[Message]) -> String {
    let texts: Vec<&str> = system
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n\n")
}

/// Length and sampling.
fn limits(
    request: &ChatRequest,
    target: &Target,
    same: bool,
    body: &mut Object<'_>,
    degraded: &mut Losses,
) {
    if let Some(limit) = request.max_output_tokens {
        let sent = if same { limit } else { limit.max(LEAST_OUTPUT) };
        if sent != limit {
            degraded.lose(
                "max_output_tokens",
                "this provider does not accept a limit below 16 tokens",
            );
        }
        body.set("max_output_tokens", sent);
    }
    for (key, value) in [
        ("temperature", &request.sampling.temperature),
        ("top_p", &request.sampling.top_p),
    ] {
        match value {
            Some(value) if same || target.capabilities.sampling => {
                body.raw(key, value.as_str());
            }
            Some(_) => degraded.lose(key, "this model does not support this sampling setting"),
            None => {}
        }
    }
    if let Some(top) = request.logprobs.and_then(|wanted| wanted.top) {
        body.set("top_logprobs", u64::from(top));
    }
}

/// The effort that another dialect's request amounts to.
fn wanted_effort(reasoning: &ReasoningRequest) -> Option<Effort> {
    match (reasoning.effort, reasoning.mode) {
        (_, Some(ThinkingMode::Disabled)) => Some(Effort::None),
        (Some(effort), _) => Some(effort),
        (None, Some(ThinkingMode::Budget(tokens))) => Some(Effort::of_budget(tokens)),
        (None, Some(ThinkingMode::Adaptive | ThinkingMode::BetweenTools) | None) => None,
    }
}

fn reasoning(
    request: &ChatRequest,
    target: &Target,
    same: bool,
    body: &mut Object<'_>,
    degraded: &mut Losses,
) {
    let wanted = wanted_effort(&request.reasoning);
    let effort = if same {
        wanted
    } else {
        wanted.and_then(|wanted| target.capabilities.nearest_effort(wanted))
    };
    // A model without the knob does not think either, so asking it not to loses nothing.
    if effort != wanted && !(effort.is_none() && wanted == Some(Effort::None)) {
        degraded.lose(
            "effort",
            "this model does not support the requested effort; the nearest supported effort was used",
        );
    }
    let shown = request.reasoning.display == Some(ThinkingDisplay::Summarized);
    let summary = match &request.reasoning.summary {
        Some(summary) => Some(summary.as_str()),
        None if shown && !same && thinks(target) => Some("auto"),
        None => None,
    };
    let rest = woven(request, same, "reasoning");
    if effort.is_none() && summary.is_none() && rest.is_none() {
        return;
    }
    let mut object = body.object("reasoning");
    object.set_some("effort", effort.map(Effort::as_str));
    object.set_some("summary", summary);
    weave(&mut object, rest);
    object.end();
}

fn text(request: &ChatRequest, same: bool, body: &mut Object<'_>) {
    let rest = woven(request, same, "text");
    if request.output == OutputFormat::Text && request.verbosity.is_none() && rest.is_none() {
        return;
    }
    let mut object = body.object("text");
    format(&request.output, &mut object);
    object.set_some("verbosity", request.verbosity.map(|level| level.as_str()));
    weave(&mut object, rest);
    object.end();
}

/// Writes `format`, unless the answer is plain text.
pub(in crate::responses) fn format(output: &OutputFormat, object: &mut Object<'_>) {
    match output {
        OutputFormat::Text => {}
        OutputFormat::JsonObject => {
            object.raw("format", r#"{"type":"json_object"}"#);
        }
        OutputFormat::JsonSchema {
            name,
            description,
            schema,
            strict,
        } => {
            let mut format = object.object("format");
            format.set("type", "json_schema");
            format.set("name", name.as_deref().unwrap_or("answer"));
            format.set_some("description", description.as_deref());
            format.raw("schema", schema.as_str());
            if let Some(strict) = strict {
                format.set("strict", *strict);
            }
            format.end();
        }
    }
}

/// Whether the model has thinking whose state can be asked for.
fn thinks(target: &Target) -> bool {
    target.capabilities.thinking.any() || !target.capabilities.efforts.is_empty()
}

fn include(request: &ChatRequest, target: &Target, same: bool, body: &mut Object<'_>) {
    let mut wanted: Vec<String> = woven(request, same, "include")
        .and_then(|raw| raw.read().ok())
        .unwrap_or_default();
    if request.reasoning.encrypted || (!same && thinks(target)) {
        wanted.push(INCLUDE_STATE.to_owned());
    }
    if request.logprobs.is_some() {
        wanted.push(INCLUDE_LOGPROBS.to_owned());
    }
    if !wanted.is_empty() {
        body.set("include", &wanted);
    }
}

/// Who asks, how it is kept, and how it is cached.
fn identity(
    request: &ChatRequest,
    target: &Target,
    same: bool,
    body: &mut Object<'_>,
    degraded: &mut Losses,
) {
    let forgetful = Quirks::of(target.service).forgetful;
    if request.store == Some(true) && forgetful {
        degraded.lose("store", "this provider does not store answers");
    }
    let unasked = (!same || forgetful).then_some(false);
    let store = request.store.map(|store| store && !forgetful);
    body.set_some("store", store.or(unasked));
    body.set_some("metadata", request.metadata.as_ref());
    if let Some(tier) = request.service_tier.as_deref() {
        let tier = match (request.dialect, tier) {
            (Dialect::Anthropic, "standard_only") => "default",
            (_, tier) => tier,
        };
        body.set("service_tier", tier);
    }
    let user = request.end_user.as_deref().map(ids::key);
    body.set_some("safety_identifier", user.as_deref());
    let key = request.cache.key.as_deref().map(ids::key);
    body.set_some("prompt_cache_key", key.as_deref());
    body.set_some("prompt_cache_options", request.cache.options.as_ref());
}

/// Names what this API has no member for.
fn lost(request: &ChatRequest, degraded: &mut Losses) {
    const WHY: &str = "this API does not have this setting";
    let sampling = &request.sampling;
    let speech = request
        .modalities
        .as_ref()
        .is_some_and(|raw| raw.as_str().contains("audio"));
    let stop = !request.stop.is_empty();
    for (feature, asked) in [
        ("top_k", sampling.top_k.is_some()),
        ("min_p", sampling.min_p.is_some()),
        ("presence_penalty", sampling.presence_penalty.is_some()),
        ("frequency_penalty", sampling.frequency_penalty.is_some()),
        ("repetition_penalty", sampling.repetition_penalty.is_some()),
        ("seed", sampling.seed.is_some()),
        ("logit_bias", sampling.logit_bias.is_some()),
        ("stop", stop),
        ("prediction", request.prediction.is_some()),
        ("web_search", request.web_search == Some(true)),
        ("audio", speech || request.audio.is_some()),
    ] {
        if asked {
            degraded.lose(feature, WHY);
        }
    }
    if request.cache.automatic.is_some() {
        degraded.lose("cache_control", CACHE_MARKS);
    }
    let between = request.reasoning.mode == Some(ThinkingMode::BetweenTools);
    if between {
        degraded.lose("thinking_mode", WHY);
    }
    let later_effort = request
        .messages
        .iter()
        .any(|message| message.role == Role::System && message.output_config.is_some());
    if later_effort {
        degraded.lose(
            "output_config",
            "this API does not have settings within the conversation",
        );
    }
}

/// The rest of an object member, kept for the same dialect.
fn woven<'a>(request: &'a ChatRequest, same: bool, key: &str) -> Option<&'a RawJson> {
    let found = request.extra.iter().find(|(name, _)| name == key);
    found.filter(|_| same).map(|(_, raw)| raw)
}

/// Writes the members of an object that was kept.
pub(in crate::responses) fn weave(object: &mut Object<'_>, rest: Option<&RawJson>) {
    let Some(rest) = rest else { return };
    let members: Members<'_> = rest.read().unwrap_or_default();
    for (key, raw) in &members.extra {
        object.foreign(key, raw.get());
    }
}
