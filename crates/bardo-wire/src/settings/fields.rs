//! Which members of a body each setting is written in.

use std::borrow::Cow;
use std::collections::HashSet;

use bardo_types::chat::ChatRequest;
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;

/// A member, or a member of a member, that a change touches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Path {
    pub(super) key: Cow<'static, str>,
    pub(super) within: Option<Cow<'static, str>>,
    /// The setting has a slot in the neutral request; otherwise it is a member kept as written.
    pub(super) of_slot: bool,
}

impl Path {
    fn of_slot(path: &'static str) -> Self {
        let (key, within) = match path.split_once('.') {
            Some((key, within)) => (key, Some(Cow::Borrowed(within))),
            None => (path, None),
        };
        Self {
            key: Cow::Borrowed(key),
            within,
            of_slot: true,
        }
    }

    /// The place of a member that is kept as written. Only Messages keeps members of members, by
    /// dotted names.
    fn of_extra(dialect: Dialect, name: &str) -> Self {
        let nested = name
            .split_once('.')
            .filter(|_| dialect == Dialect::Anthropic);
        let (key, within) = match nested {
            Some((key, within)) => (key, Some(Cow::Owned(within.to_owned()))),
            None => (name, None),
        };
        Self {
            key: Cow::Owned(key.to_owned()),
            within,
            of_slot: false,
        }
    }
}

/// One setting: whether two requests differ in it, and its members in each dialect.
struct Field {
    differs: fn(&ChatRequest, &ChatRequest) -> bool,
    chat: &'static [&'static str],
    responses: &'static [&'static str],
    messages: &'static [&'static str],
}

macro_rules! field {
    ($($slot:ident).+ ; $chat:expr, $responses:expr, $messages:expr) => {
        Field {
            differs: |a, b| a.$($slot).+ != b.$($slot).+,
            chat: &$chat,
            responses: &$responses,
            messages: &$messages,
        }
    };
}

const THINKING: [&str; 7] = [
    "reasoning_effort",
    "reasoning.effort",
    "reasoning.max_tokens",
    "reasoning.enabled",
    "thinking.type",
    "thinking.budget_tokens",
    "chat_template_kwargs.enable_thinking",
];

const FIELDS: &[Field] = &[
    field!(max_output_tokens; ["max_tokens", "max_completion_tokens"], ["max_output_tokens"], ["max_tokens"]),
    field!(sampling.temperature; ["temperature"], ["temperature"], ["temperature"]),
    field!(sampling.top_p; ["top_p"], ["top_p"], ["top_p"]),
    field!(sampling.top_k; ["top_k"], [], ["top_k"]),
    field!(sampling.min_p; ["min_p"], [], []),
    field!(sampling.presence_penalty; ["presence_penalty"], [], []),
    field!(sampling.frequency_penalty; ["frequency_penalty"], [], []),
    field!(sampling.repetition_penalty; ["repetition_penalty"], [], []),
    field!(sampling.seed; ["seed"], [], []),
    field!(sampling.logit_bias; ["logit_bias"], [], []),
    field!(stop; ["stop"], [], ["stop_sequences"]),
    field!(n; ["n"], [], []),
    field!(logprobs; ["logprobs", "top_logprobs"], ["top_logprobs", "include"], []),
    field!(reasoning.mode; THINKING, ["reasoning.effort"], ["thinking.type", "thinking.budget_tokens"]),
    field!(reasoning.effort; THINKING, ["reasoning.effort"], ["output_config.effort"]),
    field!(reasoning.display; ["reasoning.exclude"], [], ["thinking.display"]),
    field!(reasoning.summary; ["reasoning.summary"], ["reasoning.summary", "reasoning.generate_summary"], []),
    field!(reasoning.encrypted; [], ["include"], []),
    field!(output; ["response_format"], ["text.format"], ["output_config.format", "output_format"]),
    field!(verbosity; ["verbosity"], ["text.verbosity"], []),
    field!(stream; ["stream"], ["stream"], ["stream"]),
    field!(end_user; ["user", "safety_identifier"], ["safety_identifier"], ["metadata.user_id"]),
    field!(metadata; ["metadata"], ["metadata"], []),
    field!(service_tier; ["service_tier"], ["service_tier"], ["service_tier"]),
    field!(prediction; ["prediction"], [], []),
    field!(modalities; ["modalities"], [], []),
    field!(audio; ["audio"], [], []),
    field!(cache.key; ["prompt_cache_key"], ["prompt_cache_key"], []),
    field!(cache.options; ["prompt_cache_options"], ["prompt_cache_options"], []),
    field!(cache.automatic; ["cache_control", "prompt_cache"], [], ["cache_control"]),
    field!(store; ["store"], ["store"], []),
    field!(tool_choice; ["tool_choice"], ["tool_choice"], ["tool_choice.type", "tool_choice.name"]),
    field!(parallel_tool_calls; ["parallel_tool_calls"], ["parallel_tool_calls"], ["tool_choice.disable_parallel_tool_use"]),
];

/// Members beside those of [`FIELDS`] that are known to be settings.
const OTHERS: [&str; 42] = [
    "background",
    "chat_template_kwargs",
    "container",
    "context_management",
    "debug",
    "enable_thinking",
    "fallbacks",
    "include",
    "include_reasoning",
    "inference_geo",
    "max_temp",
    "max_tool_calls",
    "mcp_servers",
    "min_temp",
    "min_tokens",
    "models",
    "moderation",
    "output_config",
    "output_format",
    "plugins",
    "previous_response_id",
    "privacy",
    "prompt_cache",
    "prompt_cache_retention",
    "provider",
    "reasoning",
    "route",
    "search_parameters",
    "session_id",
    "speed",
    "stop_token_ids",
    "stream_options",
    "text",
    "thinking",
    "tool_choice",
    "top_a",
    "trace",
    "transforms",
    "truncation",
    "usage",
    "venice_parameters",
    "web_search_options",
];

/// The name as [`Edit`](crate::splice::Edit) wants it; `None` for a member that is no setting.
pub(super) fn member_name(key: &str) -> Option<&'static str> {
    let of_fields = FIELDS
        .iter()
        .flat_map(|field| [field.chat, field.responses, field.messages])
        .flatten()
        .copied();
    of_fields.chain(OTHERS).find(|name| *name == key)
}

fn as_text((name, value): &(String, RawJson)) -> (&str, &str) {
    (name, value.as_str())
}

/// The members that a change touches, whether or not the target takes them.
pub(super) fn touched(dialect: Dialect, before: &ChatRequest, after: &ChatRequest) -> Vec<Path> {
    let mut paths: Vec<Path> = Vec::new();
    let mut known = HashSet::new();
    let mut add = |path: Path| {
        if known.insert(path.clone()) {
            paths.push(path);
        }
    };
    for field in FIELDS {
        if (field.differs)(before, after) {
            let members = match dialect {
                Dialect::Responses => field.responses,
                Dialect::Anthropic => field.messages,
                Dialect::Chat | Dialect::Completions | Dialect::Gemini => field.chat,
            };
            members
                .iter()
                .copied()
                .map(Path::of_slot)
                .for_each(&mut add);
        }
    }
    let changed = |from: &[(String, RawJson)], to: &[(String, RawJson)]| -> Vec<String> {
        let to: HashSet<(&str, &str)> = to.iter().map(as_text).collect();
        let gone = from.iter().filter(|entry| !to.contains(&as_text(entry)));
        gone.map(|(name, _)| name.clone()).collect()
    };
    for name in changed(&before.extra, &after.extra)
        .into_iter()
        .chain(changed(&after.extra, &before.extra))
    {
        add(Path::of_extra(dialect, &name));
    }
    paths
}
