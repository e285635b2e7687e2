//! Reasoning, the shape of the answer, streaming, and notes about the request.

use std::borrow::Cow;

use bardo_types::Losses;
use bardo_types::chat::{OutputFormat, ReasoningRequest, Role, ThinkingDisplay, ThinkingMode};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Effort};

use super::Job;
use super::pieces::plain_mark;
use crate::chat::tools::encode as tools;
use crate::codec::BadRequest;
use crate::json::Object;
use crate::kit::effort;
use crate::kit::tool_names::digest;
use crate::quirks::{AutomaticCache, EndUser, OutputLimit, ReasoningForm};

/// Longest id of an end user that OpenAI takes.
const END_USER_LIMIT: usize = 64;
/// Why a member is left out.
const UNKNOWN: &str = "the provider does not support this member";

/// Instructions in words for what the target cannot be asked by a member.
pub(super) fn notes(job: &Job<'_>, lost: &mut Losses) -> Vec<String> {
    let mut notes = Vec::new();
    let request = job.request;
    if let OutputFormat::JsonSchema { schema, .. } = &request.output
        && !takes_schema(job)
    {
        lost.lose(
            "json_schema",
            "the provider does not enforce a schema; the model was instructed",
        );
        notes.push(format!(
            "Answer with one JSON object that satisfies this JSON schema, and nothing else:\n{}",
            schema.as_str()
        ));
    }
    if request.output == OutputFormat::JsonObject && !job.target.capabilities.structured_output {
        lost.lose(
            "json_object",
            "the provider does not enforce JSON; the model was instructed",
        );
        notes.push("Answer with one JSON object and nothing else.".to_owned());
    }
    notes.extend(tools::note(job));
    notes
}

fn takes_schema(job: &Job<'_>) -> bool {
    job.target.capabilities.structured_output && job.quirks().json_schema
}

pub(super) fn write(
    job: &Job<'_>,
    lost: &mut Losses,
    object: &mut Object<'_>,
) -> Result<(), BadRequest> {
    write_limit(job, lost, object);
    write_n(job, object)?;
    write_reasoning(job, lost, object);
    write_format(job, object);
    write_notes(job, lost, object);
    if job.request.stream {
        object.set("stream", true);
        object.object("stream_options").set("include_usage", true);
    }
    Ok(())
}

fn write_limit(job: &Job<'_>, lost: &mut Losses, object: &mut Object<'_>) {
    let Some(mut limit) = job.request.max_output_tokens else {
        return;
    };
    let most = job.target.capabilities.max_output_tokens;
    if most > 0 && limit > most {
        lost.lose(
            "max_output_tokens",
            "the limit is above the output limit of the model, which was sent instead",
        );
        limit = most;
    }
    let by_model = job.target.capabilities.max_completion_tokens;
    let member = match job.quirks().output_limit {
        OutputLimit::MaxCompletionTokens => "max_completion_tokens",
        OutputLimit::ByModel if by_model => "max_completion_tokens",
        OutputLimit::ByModel | OutputLimit::MaxTokens => "max_tokens",
    };
    object.set(member, limit);
}

fn write_n(job: &Job<'_>, object: &mut Object<'_>) -> Result<(), BadRequest> {
    match job.request.n {
        Some(n) if n > 1 && !job.quirks().several_answers => Err(BadRequest::new(
            "n",
            "this provider gives one answer per request; remove `n` or choose another provider",
        )),
        Some(n) if n > 1 => {
            object.set("n", n);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// What the caller wants of thinking, all spellings considered; the last instruction inside the
/// conversation counts most.
fn wanted(job: &Job<'_>) -> ReasoningRequest {
    let mut wanted = job.request.reasoning.clone();
    let last = job
        .request
        .messages
        .iter()
        .rev()
        .filter(|message| message.role == Role::System)
        .find_map(|message| message.output_config.as_ref());
    wanted.effort = last.and_then(effort::of_config).or(wanted.effort);
    wanted
}

fn write_reasoning(job: &Job<'_>, lost: &mut Losses, object: &mut Object<'_>) {
    let wanted = wanted(job);
    let off = wanted.mode == Some(ThinkingMode::Disabled) || wanted.effort == Some(Effort::None);
    let effort = match (wanted.effort, wanted.mode) {
        _ if off => Some(Effort::None),
        (Some(effort), _) => Some(effort),
        (None, Some(ThinkingMode::Budget(budget))) => Some(Effort::of_budget(budget)),
        (None, _) => None,
    };
    match job.quirks().reasoning {
        ReasoningForm::Object => write_object(job, &wanted, effort, lost, object),
        ReasoningForm::EffortAndSwitch => write_switch(job, effort, lost, object),
        ReasoningForm::Thinking => write_thinking(&wanted, effort, object),
        ReasoningForm::TemplateSwitch => write_template_switch(job, effort, lost, object),
        ReasoningForm::Effort => {
            if let Some(effort) = nearest(job, effort, lost) {
                object.set("reasoning_effort", effort.as_str());
            }
        }
    }
}

/// The effort that the model takes for the one that is wanted.
fn nearest(job: &Job<'_>, effort: Option<Effort>, lost: &mut Losses) -> Option<Effort> {
    let wanted = effort?;
    let capabilities = &job.target.capabilities;
    let is_off = capabilities.thinking.disabled && !capabilities.thinking.by_default;
    if wanted == Effort::None && is_off && !capabilities.efforts.contains(&wanted) {
        // It does not think unless told to, and any effort would tell it to.
        return None;
    }
    let taken = capabilities.nearest_effort(wanted);
    // A model that does not think needs no telling not to.
    let honored = taken == Some(wanted)
        || (wanted == Effort::None && !capabilities.thinking.any() && taken.is_none());
    if !honored {
        lost.lose(
            "effort",
            "the model does not support this effort; the nearest supported effort was used, if any",
        );
    }
    taken
}

fn write_object(
    job: &Job<'_>,
    wanted: &ReasoningRequest,
    effort: Option<Effort>,
    lost: &mut Losses,
    object: &mut Object<'_>,
) {
    let capabilities = &job.target.capabilities;
    let budget = match wanted.mode {
        Some(ThinkingMode::Budget(budget)) if capabilities.thinking.budget => Some(budget),
        _ => None,
    };
    // Without a list of its efforts OpenRouter fits the effort to the model by itself, and it
    // switches off what can be switched off.
    let stops = effort == Some(Effort::None) && capabilities.thinking.disabled;
    let effort = if capabilities.efforts.is_empty() || stops {
        effort
    } else if budget.is_none() {
        nearest(job, effort, lost)
    } else {
        None
    };
    let adaptive = wanted.mode == Some(ThinkingMode::Adaptive);
    // In this dialect hidden thinking is left out whole; elsewhere its state is still wanted.
    let exclude =
        wanted.display == Some(ThinkingDisplay::Omitted) && job.request.dialect == Dialect::Chat;
    let is_silent =
        budget.is_none() && effort.is_none() && !adaptive && !exclude && wanted.summary.is_none();
    if is_silent {
        return;
    }
    let mut reasoning = object.object("reasoning");
    match (budget, effort) {
        (Some(budget), _) => {
            reasoning.set("max_tokens", budget);
        }
        (None, Some(Effort::None)) => {
            reasoning.set("enabled", false);
        }
        (None, Some(effort)) => {
            reasoning.set("effort", effort.as_str());
        }
        (None, None) if adaptive => {
            reasoning.set("enabled", true);
        }
        (None, None) => {}
    }
    reasoning
        .set_some("summary", wanted.summary.as_deref())
        .set_some("exclude", exclude.then_some(&true));
}

fn write_switch(job: &Job<'_>, effort: Option<Effort>, lost: &mut Losses, object: &mut Object<'_>) {
    let thinking = job.target.capabilities.thinking;
    let takes_none = job.target.capabilities.efforts.contains(&Effort::None);
    if effort == Some(Effort::None) && !takes_none && (thinking.disabled || !thinking.any()) {
        object.object("reasoning").set("enabled", false);
    } else if let Some(effort) = nearest(job, effort, lost) {
        object.set("reasoning_effort", effort.as_str());
    }
}

/// Models of this form think unless told not to, and know three efforts.
fn write_thinking(wanted: &ReasoningRequest, effort: Option<Effort>, object: &mut Object<'_>) {
    let Some(effort) = effort else {
        if wanted.mode.is_some() {
            object.object("thinking").set("type", "enabled");
        }
        return;
    };
    let (kind, name) = match effort {
        Effort::None => ("disabled", None),
        Effort::Minimal | Effort::Low => ("enabled", Some("low")),
        Effort::Medium | Effort::High | Effort::Xhigh => ("enabled", Some("high")),
        Effort::Max => ("enabled", Some("max")),
    };
    object.object("thinking").set("type", kind);
    object.set_some("reasoning_effort", name);
}

fn write_template_switch(
    job: &Job<'_>,
    effort: Option<Effort>,
    lost: &mut Losses,
    object: &mut Object<'_>,
) {
    let capabilities = &job.target.capabilities;
    if effort == Some(Effort::None) && capabilities.thinking.disabled {
        object
            .object("chat_template_kwargs")
            .set("enable_thinking", false);
    } else if let Some(effort) = nearest(job, effort, lost) {
        object.set("reasoning_effort", effort.as_str());
    }
}

fn write_format(job: &Job<'_>, object: &mut Object<'_>) {
    match &job.request.output {
        OutputFormat::Text => {}
        OutputFormat::JsonObject => {
            if job.target.capabilities.structured_output {
                object.object("response_format").set("type", "json_object");
            }
        }
        OutputFormat::JsonSchema { .. } if !takes_schema(job) => {
            if job.target.capabilities.structured_output {
                object.object("response_format").set("type", "json_object");
            }
        }
        OutputFormat::JsonSchema {
            name,
            description,
            schema,
            strict,
        } => {
            let mut format = object.object("response_format");
            format.set("type", "json_schema");
            let mut inner = format.object("json_schema");
            inner
                .set("name", schema_name(name.as_deref()))
                .set_some("description", description.as_deref())
                .raw("schema", schema.as_str());
            let strict = if job.quirks().strict_schema {
                Some(true)
            } else {
                *strict
            };
            inner.set_some("strict", strict.as_ref());
        }
    }
}

/// OpenAI wants a name of at most 64 plain characters.
fn schema_name(name: Option<&str>) -> String {
    let name: String = name
        .unwrap_or("response")
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-') {
                letter
            } else {
                '_'
            }
        })
        .take(64)
        .collect();
    if name.is_empty() {
        "response".into()
    } else {
        name
    }
}

/// Who asks, notes of the caller, latency class, storage and prompt-cache hints.
fn write_notes(job: &Job<'_>, lost: &mut Losses, object: &mut Object<'_>) {
    let request = job.request;
    let quirks = job.quirks();
    if let Some(user) = request.end_user.as_deref() {
        let user = if user.len() > END_USER_LIMIT {
            Cow::Owned(digest(user, 32))
        } else {
            Cow::Borrowed(user)
        };
        match quirks.end_user {
            EndUser::SafetyIdentifier => object.set("safety_identifier", &user),
            EndUser::Dropped => object,
            EndUser::User => object.set("user", &user),
        };
    }
    // Anthropic's `metadata` is another thing.
    let metadata = request.metadata.as_ref();
    let foreign = request.dialect == Dialect::Anthropic;
    if foreign && metadata.is_some() {
        lost.lose("metadata", UNKNOWN);
    }
    let modalities = request.modalities.as_ref();
    let key = request.cache.key.as_deref().map(RawJson::string);
    let verbosity = request
        .verbosity
        .map(|wordy| RawJson::string(wordy.as_str()));
    let tier = service_tier(request.service_tier.as_deref(), request.dialect);
    for (member, json) in [
        ("metadata", metadata.filter(|_| !foreign)),
        ("prediction", request.prediction.as_ref()),
        ("audio", request.audio.as_ref()),
        (
            "modalities",
            modalities.filter(|raw| raw.as_str() != "[\"text\"]"),
        ),
        ("prompt_cache_key", key.as_ref()),
        ("prompt_cache_options", request.cache.options.as_ref()),
        ("verbosity", verbosity.as_ref()),
        ("service_tier", tier.as_ref()),
    ] {
        match json {
            Some(json) if quirks.takes(member) => {
                object.set(member, json);
            }
            Some(_) => lost.lose(member, UNKNOWN),
            None => {}
        }
    }
    if quirks.takes("store") {
        object.set_some("store", request.store);
    } else if request.store == Some(true) {
        lost.lose("store", UNKNOWN);
    }
    if let Some(automatic) = &request.cache.automatic {
        match quirks.automatic_cache {
            AutomaticCache::CacheControl => {
                object.raw("cache_control", &plain_mark(automatic, lost));
            }
            AutomaticCache::PromptCache => {
                object.set("prompt_cache", true);
            }
            AutomaticCache::Unknown => lost.lose(
                "cache_control",
                "the provider does not support prompt-cache marks; it caches by its own rules",
            ),
        }
    }
}

/// The latency class by OpenAI's names; `auto` is what happens anyway.
fn service_tier(tier: Option<&str>, dialect: Dialect) -> Option<RawJson> {
    match (tier?, dialect) {
        ("auto", Dialect::Anthropic) => None,
        ("standard_only", _) => Some(RawJson::string("default")),
        (tier, _) => Some(RawJson::string(tier)),
    }
}
