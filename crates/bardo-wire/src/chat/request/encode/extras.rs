//! Members without a neutral meaning, and what one service wants beside the dialect.

use bardo_types::Losses;
use bardo_types::chat::{OutputFormat, ThinkingMode};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Effort};
use serde_json::{Map, Value};

use super::Job;
use crate::chat::tools::decode::LEGACY_FUNCTIONS;
use crate::json::{Object, Serde};
use crate::quirks::EndUser;

pub(super) fn write(job: &Job<'_>, lost: &mut Losses, object: &mut Object<'_>) {
    for (name, value) in &job.request.extra {
        if name == LEGACY_FUNCTIONS || name == "bardo" {
            continue;
        }
        if job.request.dialect != Dialect::Chat {
            lost.lose_field(name, "Chat Completions does not have this member");
        } else if !job.quirks().knows(name) {
            lost.lose_field(name, "the provider does not support this member");
        } else if !is_written(job, name) {
            object.foreign(name, value.as_str());
        }
    }
    if job.quirks().venice_parameters {
        write_venice(job, object);
    } else if job.request.web_search == Some(true) {
        lost.lose(
            "web_search",
            "the provider does not search the web by itself",
        );
    }
}

/// Whether a member was or will be written from its slot, so that it must not come twice.
fn is_written(job: &Job<'_>, name: &str) -> bool {
    match name {
        "venice_parameters" => true,
        "chat_template_kwargs" => {
            job.request.reasoning.effort == Some(Effort::None)
                || job.request.reasoning.mode == Some(ThinkingMode::Disabled)
        }
        "tool_choice" => job.request.tools.is_empty(),
        "response_format" => job.request.output != OutputFormat::Text,
        "reasoning_effort" => {
            job.request.reasoning.effort.is_some() || job.request.reasoning.mode.is_some()
        }
        "user" => {
            job.quirks().end_user != EndUser::SafetyIdentifier && job.request.end_user.is_some()
        }
        "prompt_cache" => job.request.cache.automatic.is_some(),
        _ => false,
    }
}

/// Venice puts a prompt of its own before the caller's unless told not to, which changes answers
/// and breaks prompt caches.
fn write_venice(job: &Job<'_>, object: &mut Object<'_>) {
    let mut parameters: Map<String, Value> = job
        .request
        .extra
        .iter()
        .filter(|_| job.request.dialect == Dialect::Chat)
        .find(|(name, _)| name == "venice_parameters")
        .and_then(|(_, raw): &(String, RawJson)| raw.read().ok())
        .unwrap_or_default();
    parameters
        .entry("include_venice_system_prompt")
        .or_insert(Value::Bool(false));
    if let Some(search) = job.request.web_search {
        let word = if search { "on" } else { "off" };
        parameters
            .entry("enable_web_search")
            .or_insert_with(|| Value::from(word));
    }
    object.set("venice_parameters", Serde(&parameters));
}
