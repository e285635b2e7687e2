//! What each service takes, refuses and calls by another name within a dialect: a row per service.
//! Encoders and decoders ask the row and know no service by name.

use bardo_types::model::Service;

/// The peculiarities of one service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quirks {
    /// Members of its own, which another service may refuse.
    pub(crate) own_members: &'static [&'static str],
    /// Members of OpenAI's dialect that not every service takes, each from a slot of the request.
    pub(crate) takes: &'static [&'static [&'static str]],
    /// Members that a body in Anthropic's dialect may carry beside that dialect's own.
    pub(crate) messages_members: &'static [&'static str],
    /// Whether content may be a list of text parts; elsewhere texts are joined.
    pub(crate) text_parts: bool,
    /// Results of tools are single strings, never lists of parts.
    pub(crate) string_results: bool,
    /// Templates of its models take one system message, at the start.
    pub(crate) one_system_message: bool,
    /// Models with reasoning want instructions under the role `developer`.
    pub(crate) developer_role: bool,
    /// Turns that only call tools have `content: null`; elsewhere an empty string.
    pub(crate) null_content: bool,
    /// Takes back refusals and sound of its earlier answers.
    pub(crate) own_answers: bool,
    /// Which files it takes.
    pub(crate) files: Files,
    /// Its prompt-cache marks on parts, messages and tools.
    pub(crate) cache_marks: CacheMarks,
    /// How it is asked to cache the whole prompt by itself.
    pub(crate) automatic_cache: AutomaticCache,
    /// Takes custom tools, and a choice among some of the tools.
    pub(crate) custom_tools: bool,
    /// Tools take a schema always and `strict` never.
    pub(crate) bare_tools: bool,
    /// Functions nest in a `function` object in the Responses dialect too.
    pub(crate) nested_functions: bool,
    /// Can be told to call one tool at a time.
    pub(crate) parallel_tool_calls: bool,
    /// Holds models to a JSON schema; elsewhere it is asked for in words.
    pub(crate) json_schema: bool,
    /// Refuses schemas that are not strict.
    pub(crate) strict_schema: bool,
    /// Gives several answers to one request.
    pub(crate) several_answers: bool,
    /// The name of the limit on output.
    pub(crate) output_limit: OutputLimit,
    /// How many stop texts it takes.
    pub(crate) stop_texts: usize,
    /// Ignores settings of sampling while a model thinks.
    pub(crate) thinks_unsampled: bool,
    /// How thinking is asked for.
    pub(crate) reasoning: ReasoningForm,
    /// Thinking of earlier turns in words.
    pub(crate) earlier_thinking: EarlierThinking,
    /// Wants `reasoning_content` with every turn that calls tools.
    pub(crate) demands_thinking: bool,
    /// Whether the service accepts `reasoning_details`.
    pub(crate) reasoning_details: bool,
    /// Has a member for Gemini's state of a message.
    pub(crate) thought_signature: bool,
    /// Passes Gemini's state of calls on.
    pub(crate) call_signatures: bool,
    /// Members with thinking that it refuses in a history. A service without such members passes
    /// on what it does not know.
    pub(crate) refused_thinking: &'static [&'static str],
    /// Where the id of the end user goes.
    pub(crate) end_user: EndUser,
    /// Has `venice_parameters`, with a prompt of the service that has to be switched off.
    pub(crate) venice_parameters: bool,
    /// Keeps no answers.
    pub(crate) forgetful: bool,
    /// Streams may close after the finish reason, without `[DONE]`.
    pub(crate) no_terminal: bool,
}

/// Files that a service takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// The service accepts no files.
    Never,
    /// Only inline data.
    Inline,
    /// Inline, or by an address.
    InlineOrUrl,
    /// Inline, or by the id of an upload.
    InlineOrId,
}

/// Prompt-cache marks by a service's own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheMarks {
    /// The service has no member for it.
    Unknown,
    /// The member `prompt_cache_breakpoint`.
    Breakpoint,
    /// The member `cache_control`.
    CacheControl,
}

/// How a service is asked to cache a prompt by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AutomaticCache {
    /// The service has no setting for it.
    Unknown,
    /// `cache_control` of the body.
    CacheControl,
    /// The member `prompt_cache: true`.
    PromptCache,
}

/// The member that limits the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputLimit {
    /// As the model has it.
    ByModel,
    /// The member `max_tokens`.
    MaxTokens,
    /// The member `max_completion_tokens`.
    MaxCompletionTokens,
}

/// The form in which thinking is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReasoningForm {
    /// The member `reasoning_effort`.
    Effort,
    /// `reasoning` with effort, budget and switch.
    Object,
    /// `reasoning_effort`, and `reasoning.enabled` to switch it off.
    EffortAndSwitch,
    /// `thinking.type`, and three efforts.
    Thinking,
    /// `reasoning_effort`, and a switch of the chat template.
    TemplateSwitch,
}

/// The member that carries the words of earlier thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlierThinking {
    /// The service has no member for it.
    Unknown,
    /// This one, whoever made the model.
    Every(&'static str),
    /// This one, unless the model's maker reads its own state and nothing else.
    OpenModels(&'static str),
}

/// Where the id of the end user goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndUser {
    /// The member `user`.
    User,
    /// The member `safety_identifier`.
    SafetyIdentifier,
    /// Nowhere: the service throws it away.
    Dropped,
}

/// Settings of sampling that OpenAI has too.
const SEEDS: &[&str] = &["seed", "logit_bias"];
/// Settings of sampling that open models have.
const DRAWS: &[&str] = &["top_k", "min_p", "repetition_penalty"];
/// Later members of OpenAI's dialect.
const HINTS: &[&str] = &[
    "metadata",
    "prediction",
    "audio",
    "modalities",
    "prompt_cache_key",
    "prompt_cache_options",
    "verbosity",
    "service_tier",
];

/// A service that passes OpenAI's dialect on to models of several makers.
const RESELLER: Quirks = Quirks {
    own_members: &[],
    takes: &[SEEDS],
    messages_members: &[],
    text_parts: false,
    string_results: false,
    one_system_message: false,
    developer_role: false,
    null_content: true,
    own_answers: false,
    files: Files::Inline,
    cache_marks: CacheMarks::Unknown,
    automatic_cache: AutomaticCache::Unknown,
    custom_tools: false,
    bare_tools: false,
    nested_functions: false,
    parallel_tool_calls: true,
    json_schema: true,
    strict_schema: false,
    several_answers: true,
    output_limit: OutputLimit::ByModel,
    stop_texts: 4,
    thinks_unsampled: false,
    reasoning: ReasoningForm::Effort,
    earlier_thinking: EarlierThinking::OpenModels("reasoning_content"),
    demands_thinking: false,
    reasoning_details: false,
    thought_signature: false,
    call_signatures: true,
    refused_thinking: &[],
    end_user: EndUser::User,
    venice_parameters: false,
    forgetful: false,
    no_terminal: false,
};

/// A service with the plain form of OpenAI's dialect and none of its later members.
const PLAIN: Quirks = Quirks {
    files: Files::Never,
    bare_tools: true,
    output_limit: OutputLimit::MaxTokens,
    earlier_thinking: EarlierThinking::Every("reasoning_content"),
    ..RESELLER
};

const OPENAI: Quirks = Quirks {
    own_members: &["moderation", "web_search_options", "prompt_cache_retention"],
    takes: &[SEEDS, HINTS, &["store"]],
    text_parts: true,
    developer_role: true,
    own_answers: true,
    files: Files::InlineOrId,
    cache_marks: CacheMarks::Breakpoint,
    custom_tools: true,
    earlier_thinking: EarlierThinking::Unknown,
    call_signatures: false,
    refused_thinking: &["reasoning_content", "reasoning_details"],
    end_user: EndUser::SafetyIdentifier,
    ..RESELLER
};

const ANTHROPIC: Quirks = Quirks {
    takes: &[],
    earlier_thinking: EarlierThinking::Unknown,
    ..RESELLER
};

const GOOGLE: Quirks = RESELLER;

const DEEPSEEK: Quirks = Quirks {
    takes: &[],
    parallel_tool_calls: false,
    json_schema: false,
    several_answers: false,
    stop_texts: 16,
    thinks_unsampled: true,
    reasoning: ReasoningForm::Thinking,
    demands_thinking: true,
    call_signatures: false,
    refused_thinking: &["reasoning_details"],
    ..PLAIN
};

const LOCAL: Quirks = Quirks {
    own_members: &["chat_template_kwargs", "enable_thinking", "stop_token_ids"],
    takes: &[SEEDS, DRAWS],
    one_system_message: true,
    null_content: false,
    stop_texts: usize::MAX,
    reasoning: ReasoningForm::TemplateSwitch,
    no_terminal: true,
    ..PLAIN
};

const OPENROUTER: Quirks = Quirks {
    own_members: &[
        "provider",
        "models",
        "plugins",
        "route",
        "transforms",
        "session_id",
        "usage",
        "include_reasoning",
        "top_a",
        "trace",
        "debug",
        "web_search_options",
    ],
    takes: &[SEEDS, DRAWS, HINTS],
    messages_members: &["models", "provider", "plugins", "session_id", "trace"],
    text_parts: true,
    files: Files::InlineOrUrl,
    cache_marks: CacheMarks::CacheControl,
    automatic_cache: AutomaticCache::CacheControl,
    reasoning: ReasoningForm::Object,
    earlier_thinking: EarlierThinking::OpenModels("reasoning"),
    reasoning_details: true,
    ..RESELLER
};

const VENICE: Quirks = Quirks {
    own_members: &[
        "venice_parameters",
        "fallbacks",
        "min_temp",
        "max_temp",
        "stop_token_ids",
        "prompt_cache_retention",
    ],
    takes: &[SEEDS, DRAWS, &["prompt_cache_key", "verbosity"]],
    string_results: true,
    cache_marks: CacheMarks::CacheControl,
    nested_functions: true,
    strict_schema: true,
    output_limit: OutputLimit::MaxCompletionTokens,
    reasoning: ReasoningForm::EffortAndSwitch,
    reasoning_details: true,
    thought_signature: true,
    end_user: EndUser::Dropped,
    venice_parameters: true,
    forgetful: true,
    ..RESELLER
};

const BANKR: Quirks = Quirks {
    own_members: &["privacy"],
    ..RESELLER
};

const BLOCKRUN: Quirks = Quirks {
    own_members: &["prompt_cache", "search_parameters"],
    takes: &[SEEDS, &["verbosity"]],
    cache_marks: CacheMarks::CacheControl,
    automatic_cache: AutomaticCache::PromptCache,
    forgetful: true,
    ..RESELLER
};

impl Quirks {
    /// The row of a service.
    pub(crate) const fn of(service: Service) -> &'static Self {
        match service {
            Service::OpenAi => &OPENAI,
            Service::Anthropic => &ANTHROPIC,
            Service::Google => &GOOGLE,
            Service::DeepSeek => &DEEPSEEK,
            Service::Local => &LOCAL,
            Service::OpenRouter => &OPENROUTER,
            Service::Venice => &VENICE,
            Service::Bankr => &BANKR,
            Service::BlockRun => &BLOCKRUN,
            Service::Compatible => &PLAIN,
        }
    }

    /// Whether a member of OpenAI's dialect that not every service takes is taken.
    pub(crate) fn takes(&self, member: &str) -> bool {
        self.takes.iter().any(|group| group.contains(&member))
    }

    /// Whether a member without a neutral meaning may be sent: one that belongs to other services
    /// alone may not.
    pub(crate) fn knows(&self, member: &str) -> bool {
        self.own_members.contains(&member)
            || !Service::ALL
                .iter()
                .any(|service| Self::of(*service).own_members.contains(&member))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_one_service_is_unknown_to_the_others_and_any_other_member_is_known() {
        for service in Service::ALL {
            let row = Quirks::of(service);
            assert_eq!(row.knows("venice_parameters"), service == Service::Venice);
            assert!(row.knows("a_member_of_tomorrow"));
            for member in row.own_members {
                assert!(row.knows(member), "{member}");
                assert!(
                    !row.takes(member),
                    "{member} is in two lists of {service:?}"
                );
            }
        }
    }
}
