use crate::chat::{Message, Part, Role, Tool, ToolChoice};
use crate::json::RawJson;
use crate::model::{Dialect, Effort};

/// One request for an answer, free of any dialect.
///
/// Numbers that the wire writes as decimals are kept as JSON text, so that `1.0` stays `1.0`.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The dialect it was written in.
    pub dialect: Dialect,
    /// The model as the caller named it.
    pub model: String,
    /// System prompt and turns, in order.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<Tool>,
    /// Whether something must be called.
    pub tool_choice: Option<ToolChoice>,
    /// Whether several calls may come at once.
    pub parallel_tool_calls: Option<bool>,
    /// Limit of the answer in tokens.
    pub max_output_tokens: Option<u64>,
    /// How words are drawn.
    pub sampling: Sampling,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// How many answers; `None` means one.
    pub n: Option<u32>,
    /// Whether probabilities are wanted.
    pub logprobs: Option<Logprobs>,
    /// How to think.
    pub reasoning: ReasoningRequest,
    /// Shape of the answer.
    pub output: OutputFormat,
    /// How wordy the answer shall be.
    pub verbosity: Option<Verbosity>,
    /// Answer piece by piece.
    pub stream: bool,
    /// The caller wants usage at the end of the stream (OpenAI `stream_options.include_usage`;
    /// other dialects always send it).
    pub include_usage: bool,
    /// The end user (`metadata.user_id`, `safety_identifier`, `user`).
    pub end_user: Option<String>,
    /// Key-value notes of the caller (OpenAI `metadata`).
    pub metadata: Option<RawJson>,
    /// Latency class by the caller's dialect's name.
    pub service_tier: Option<String>,
    /// Expected answer (OpenAI `prediction`).
    pub prediction: Option<RawJson>,
    /// Output kinds beside text and their settings (OpenAI `modalities`, `audio`).
    pub modalities: Option<RawJson>,
    /// Settings of spoken answers; needs `audio` in `modalities`.
    pub audio: Option<RawJson>,
    /// Prompt-cache hints for the whole request.
    pub cache: CacheHints,
    /// Keep the answer for later reference (OpenAI `store`).
    pub store: Option<bool>,
    /// The provider may search the web for the answer, in its own way and at its price (Venice).
    pub web_search: Option<bool>,
    /// Members that have no neutral meaning, in order, as written. They reach an upstream of the
    /// same dialect and are named in `degraded` for any other.
    pub extra: Vec<(String, RawJson)>,
}

impl ChatRequest {
    /// An empty request for `model` in `dialect`.
    #[must_use]
    pub fn new(dialect: Dialect, model: impl Into<String>) -> Self {
        Self {
            dialect,
            model: model.into(),
            messages: Vec::new(),
            tools: Vec::new(),
            tool_choice: None,
            parallel_tool_calls: None,
            max_output_tokens: None,
            sampling: Sampling::default(),
            stop: Vec::new(),
            n: None,
            logprobs: None,
            reasoning: ReasoningRequest::default(),
            output: OutputFormat::Text,
            verbosity: None,
            stream: false,
            include_usage: false,
            end_user: None,
            metadata: None,
            service_tier: None,
            prediction: None,
            modalities: None,
            audio: None,
            cache: CacheHints::default(),
            store: None,
            web_search: None,
            extra: Vec::new(),
        }
    }

    /// The system messages before the first turn.
    #[must_use]
    pub fn leading_system(&self) -> &[Message] {
        let end = self
            .messages
            .iter()
            .position(|m| m.role != Role::System)
            .unwrap_or(self.messages.len());
        &self.messages[..end]
    }

    /// Everything after the leading system messages.
    #[must_use]
    pub fn turns(&self) -> &[Message] {
        &self.messages[self.leading_system().len()..]
    }

    /// The custom (free text) tool of that name, if the caller declared one.
    #[must_use]
    pub fn is_custom_tool(&self, called: &str) -> bool {
        self.tools
            .iter()
            .any(|tool| matches!(tool, Tool::Custom { name, .. } if name == called))
    }

    /// Whether any turn carries a part that `wanted` accepts, tool results included.
    #[must_use]
    pub fn any_part(&self, wanted: impl Fn(&Part) -> bool + Copy) -> bool {
        fn within(parts: &[Part], wanted: impl Fn(&Part) -> bool + Copy) -> bool {
            parts.iter().any(|part| {
                wanted(part)
                    || matches!(part, Part::ToolResult(result) if within(&result.parts, wanted))
            })
        }
        self.messages
            .iter()
            .any(|message| within(&message.parts, wanted))
    }
}

/// How words are drawn. Values are JSON numbers as written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sampling {
    /// 0–2 in OpenAI and Gemini, 0–1 in Anthropic.
    pub temperature: Option<RawJson>,
    /// Nucleus sampling, 0 to 1.
    pub top_p: Option<RawJson>,
    /// Number of candidate tokens to sample from.
    pub top_k: Option<RawJson>,
    /// Least probability relative to the best candidate.
    pub min_p: Option<RawJson>,
    /// Presence penalty, −2 to 2.
    pub presence_penalty: Option<RawJson>,
    /// Frequency penalty, −2 to 2.
    pub frequency_penalty: Option<RawJson>,
    /// Around 1 (open models).
    pub repetition_penalty: Option<RawJson>,
    /// For repeatable answers.
    pub seed: Option<RawJson>,
    /// Token id → bias.
    pub logit_bias: Option<RawJson>,
}

/// Whether token probabilities are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logprobs {
    /// Number of alternatives per token, 0–20.
    pub top: Option<u8>,
}

/// Anthropic's `thinking.type`, or what another dialect's members amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingMode {
    /// The model decides how long; effort steers.
    Adaptive,
    /// Up to so many tokens.
    Budget(u64),
    /// Thinking is off.
    Disabled,
    /// Only between tool calls.
    BetweenTools,
}

/// How thinking is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingDisplay {
    /// As a summary.
    Summarized,
    /// Not at all; only the state comes.
    Omitted,
}

/// How to think.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReasoningRequest {
    /// The explicit mode, if any.
    pub mode: Option<ThinkingMode>,
    /// Effort of the thinking.
    pub effort: Option<Effort>,
    /// How it is shown.
    pub display: Option<ThinkingDisplay>,
    /// OpenAI Responses `reasoning.summary` as written (`auto`, `concise`, `detailed`).
    pub summary: Option<String>,
    /// The caller wants encrypted state it can hand back (`include:
    /// ["reasoning.encrypted_content"]`).
    pub encrypted: bool,
}

/// Shape of the answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum OutputFormat {
    /// Free text, without a fixed shape.
    #[default]
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that satisfies a schema.
    JsonSchema {
        /// OpenAI wants a name; Anthropic and Gemini have none.
        name: Option<String>,
        /// The purpose of the schema, in words for the model.
        description: Option<String>,
        /// The JSON schema.
        schema: RawJson,
        /// Must satisfy it exactly.
        strict: Option<bool>,
    },
}

/// OpenAI's setting `verbosity`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbosity {
    /// Short answers, `low`.
    Low,
    /// Answers of usual length, `medium`.
    Medium,
    /// Long answers, `high`.
    High,
}

impl Verbosity {
    /// The wire name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Prompt-cache hints for the whole request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CacheHints {
    /// OpenAI, Venice and OpenRouter `prompt_cache_key`.
    pub key: Option<String>,
    /// OpenAI `prompt_cache_options`, as written.
    pub options: Option<RawJson>,
    /// Top-level `cache_control` (Anthropic, OpenRouter), as written.
    pub automatic: Option<RawJson>,
}

/// Lifetime of an entry of a provider's prompt cache, counted from its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CacheTtl {
    /// Five minutes: the usual lifetime.
    FiveMinutes,
    /// One hour, for a dearer write.
    OneHour,
}

/// Cache marks decided for one request. A provider refuses a longer lifetime behind a shorter one,
/// so `turns` is never longer than `stable` where both are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MarkPlan {
    /// Marks behind the tools and behind the system prompt.
    pub stable: Option<CacheTtl>,
    /// Marks behind the last two turns of the user.
    pub turns: Option<CacheTtl>,
}

impl CacheTtl {
    /// Name in providers' requests and in explanations.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::OneHour => "1h",
        }
    }

    /// The lifetime of a mark as a caller wrote it, e.g. `{"type":"ephemeral","ttl":"1h"}`: an hour
    /// also stands for the longer ones of other providers, and five minutes for all the rest.
    #[must_use]
    pub fn of_mark(mark: &RawJson) -> Self {
        match ["\"1h\"", "\"12h\"", "\"24h\""]
            .iter()
            .any(|long| mark.as_str().contains(long))
        {
            true => Self::OneHour,
            false => Self::FiveMinutes,
        }
    }

    /// A `cache_control` mark of this lifetime.
    #[must_use]
    pub fn mark(self) -> RawJson {
        let mark = match self {
            Self::FiveMinutes => r#"{"type":"ephemeral"}"#,
            Self::OneHour => r#"{"type":"ephemeral","ttl":"1h"}"#,
        };
        RawJson::parse(mark).expect("a literal is JSON")
    }
}

impl MarkPlan {
    /// Marks of five minutes everywhere: the plan where nothing is known of a prompt.
    pub const USUAL: Self = Self {
        stable: Some(CacheTtl::FiveMinutes),
        turns: Some(CacheTtl::FiveMinutes),
    };
}
