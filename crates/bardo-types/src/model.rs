//! What a model is, can do and costs: catalog data, never branches in code.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::feature::FeatureSet;
use crate::money::{MicroUsd, PricePerMillion};
use crate::privacy::SecurityClass;

mod multiple;
mod offers;

/// A wire format that the gateway speaks, as a client dialect, an upstream dialect, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI's Responses API.
    Responses,
    /// Anthropic's Messages API.
    Anthropic,
    /// Gemini `generateContent`; upstream only.
    Gemini,
    /// OpenAI legacy completions (`prompt`); client only, served as a chat.
    Completions,
}

impl Dialect {
    /// The name used in configuration, logs and headers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Completions => "completions",
        }
    }
}

/// The service that runs the endpoint. It decides the peculiarities within a dialect, such as the
/// place of the usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    /// OpenAI, at api.openai.com.
    OpenAi,
    /// Anthropic, at api.anthropic.com.
    Anthropic,
    /// Google's Gemini API.
    Google,
    /// DeepSeek, at api.deepseek.com.
    DeepSeek,
    /// An OpenAI-compatible server of the owner's own: Ollama, llama.cpp, vLLM, SGLang.
    Local,
    /// OpenRouter, at openrouter.ai.
    OpenRouter,
    /// Venice, at api.venice.ai.
    Venice,
    /// Bankr, at llm.bankr.bot.
    Bankr,
    /// blockrun.ai, paid by x402, and api.blockrun.ai, paid from an account.
    BlockRun,
    /// Another vendor's API in OpenAI format: Groq, Mistral, Together and the like.
    #[serde(rename = "openai_compatible")]
    Compatible,
}

impl Service {
    /// All of them, in their order.
    pub const ALL: [Self; 10] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Google,
        Self::DeepSeek,
        Self::Local,
        Self::OpenRouter,
        Self::Venice,
        Self::Bankr,
        Self::BlockRun,
        Self::Compatible,
    ];

    /// The lower-case name used in configuration, logs and headers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Google => "google",
            Self::DeepSeek => "deepseek",
            Self::Local => "local",
            Self::OpenRouter => "openrouter",
            Self::Venice => "venice",
            Self::Bankr => "bankr",
            Self::BlockRun => "blockrun",
            Self::Compatible => "openai_compatible",
        }
    }
}

/// How hard a model should think, over all dialects, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all.
    None,
    /// The least that still thinks.
    Minimal,
    /// Little thinking, `low`.
    Low,
    /// The usual amount of thinking, `medium`.
    Medium,
    /// Much thinking, `high`.
    High,
    /// Very much thinking, `xhigh`.
    Xhigh,
    /// All it can.
    Max,
}

impl Effort {
    /// The name on the wire (OpenAI and Anthropic spell them alike).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// Reads a wire name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [
            Self::None,
            Self::Minimal,
            Self::Low,
            Self::Medium,
            Self::High,
            Self::Xhigh,
            Self::Max,
        ]
        .into_iter()
        .find(|effort| effort.as_str() == name)
    }

    /// The effort that a thinking budget stands for.
    #[must_use]
    pub const fn of_budget(tokens: u64) -> Self {
        match tokens {
            0 => Self::None,
            1..=2_048 => Self::Low,
            2_049..=8_192 => Self::Medium,
            8_193..=24_576 => Self::High,
            _ => Self::Xhigh,
        }
    }
}

/// Which ways of thinking a model accepts, as Anthropic's `capabilities.thinking.types` lists
/// them; other families use the part that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ThinkingModes {
    /// `{"type":"adaptive"}`; effort decides.
    pub adaptive: bool,
    /// `{"type":"enabled","budget_tokens":n}`, or a numeric budget (Gemini 2.5).
    pub budget: bool,
    /// Thinking can be turned off.
    pub disabled: bool,
    /// Accepts the thinking mode `{"type":"between_tools"}`.
    pub between_tools: bool,
    /// The model thinks when the request says nothing about it.
    pub by_default: bool,
}

impl ThinkingModes {
    /// Whether the model can think at all.
    #[must_use]
    pub const fn any(self) -> bool {
        self.adaptive || self.budget || self.between_tools || self.by_default
    }
}

/// How a model writes its tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolFormat {
    /// In the dialect's own members, as OpenAI's models and most others do.
    #[default]
    #[serde(alias = "openai")]
    Native,
    /// As `<tool_call>{json}</tool_call>` in the text (Hermes, Qwen).
    #[serde(alias = "qwen")]
    Hermes,
    /// As `<tool_call><function=name><parameter=key>…` in the text (Qwen3-Coder).
    QwenXml,
    /// As `<function_calls><invoke name="…"><parameter name="…">…` in the text (older models of
    /// Anthropic).
    Anthropic,
    /// As bare JSON: the whole answer, or a fence of it, is `{"name":…,"arguments":…}`, a list of
    /// those, or `{"tool_calls":[…]}`.
    Json,
    /// The model has no tools.
    Unsupported,
}

impl ToolFormat {
    /// Whether calls have to be read out of the text.
    #[must_use]
    pub const fn is_textual(self) -> bool {
        match self {
            Self::Hermes | Self::QwenXml | Self::Anthropic | Self::Json => true,
            Self::Native | Self::Unsupported => false,
        }
    }
}

/// Where reasoning hides in an OpenAI-format answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningFormat {
    /// In `reasoning_content`, `reasoning` or `reasoning_details`.
    #[default]
    Member,
    /// Inline in the content between `<think>` tags, the opening one possibly missing.
    ThinkTags,
}

/// The abilities of a model. A model that no catalog names gets [`Capabilities::default`]: like the
/// newest of its family, so that new models work the day they appear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capabilities {
    /// Ways of thinking.
    pub thinking: ThinkingModes,
    /// Efforts the model accepts, rising; empty: it has no such knob.
    pub efforts: Vec<Effort>,
    /// Accepts `temperature`, `top_p`, `top_k` other than their defaults.
    pub sampling: bool,
    /// Refuses sampling other than the default while it thinks (Claude 4.x).
    pub thinking_fixes_sampling: bool,
    /// Takes `temperature` or `top_p`, not both.
    pub temperature_or_top_p: bool,
    /// The highest temperature, in thousandths.
    pub max_temperature_milli: u32,
    /// Accepts the setting `top_k`.
    pub top_k: bool,
    /// Accepts the setting `min_p`.
    pub min_p: bool,
    /// Accepts `frequency_penalty` and `presence_penalty`.
    pub penalties: bool,
    /// Accepts the setting `seed`.
    pub seed: bool,
    /// Accepts a JSON schema for the answer while it thinks.
    pub schema_while_thinking: bool,
    /// Accepts a JSON schema for the answer beside tools.
    pub schema_with_tools: bool,
    /// Accepts a tool choice that forces a call while it thinks.
    pub forced_tool_while_thinking: bool,
    /// Accepts texts that end the answer.
    pub stop: bool,
    /// Is told to think, or not to, by `/think` and `/no_think` in the text, where the service has
    /// no member for it (Qwen3 hybrids).
    pub soft_switch: bool,
    /// The features that it has wherever it is served (citations, compaction, …).
    pub features: FeatureSet,
    /// Accepts a tool choice that forces a call.
    pub forced_tool_choice: bool,
    /// Accepts `role: system` messages inside the conversation (Anthropic).
    pub mid_system: bool,
    /// Signatures bind the whole conversation before them (Anthropic "preserved thinking").
    pub bound_thinking: bool,
    /// Accepts a final assistant message to continue.
    pub prefill: bool,
    /// Accepts images in messages.
    pub images: bool,
    /// Accepts PDF documents.
    pub documents: bool,
    /// Accepts audio parts.
    pub audio: bool,
    /// Accepts a JSON schema for the answer.
    pub structured_output: bool,
    /// How tool calls are written.
    pub tool_format: ToolFormat,
    /// Where reasoning is written (OpenAI-format servers).
    pub reasoning_format: ReasoningFormat,
    /// Takes the limit as `max_completion_tokens` and refuses `max_tokens` (OpenAI reasoning
    /// models).
    pub max_completion_tokens: bool,
    /// Prompt caching is asked for with `cache_control` marks on blocks.
    pub cache_marks: bool,
    /// The fewest tokens of a prompt's beginning that the model's maker caches; 0: unknown. A mark
    /// on less has no effect.
    pub cache_minimum_tokens: u64,
    /// Largest prompt plus answer, in tokens; 0: unknown.
    pub context_tokens: u64,
    /// Largest answer, in tokens; 0: unknown.
    pub max_output_tokens: u64,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            thinking: ThinkingModes::default(),
            efforts: Vec::new(),
            sampling: true,
            thinking_fixes_sampling: false,
            temperature_or_top_p: false,
            max_temperature_milli: 2_000,
            top_k: true,
            min_p: true,
            penalties: true,
            seed: true,
            schema_while_thinking: true,
            schema_with_tools: true,
            forced_tool_while_thinking: true,
            stop: true,
            soft_switch: false,
            features: FeatureSet::EMPTY,
            forced_tool_choice: true,
            mid_system: false,
            bound_thinking: false,
            prefill: true,
            images: true,
            documents: true,
            audio: true,
            structured_output: true,
            tool_format: ToolFormat::Native,
            reasoning_format: ReasoningFormat::Member,
            max_completion_tokens: false,
            cache_marks: false,
            cache_minimum_tokens: 0,
            context_tokens: 0,
            max_output_tokens: 0,
        }
    }
}

impl Capabilities {
    /// Whether a mark behind so many tokens of a prompt can have an effect. Without a known minimum
    /// it can.
    #[must_use]
    pub const fn caches(&self, tokens: u64) -> bool {
        tokens >= self.cache_minimum_tokens
    }

    /// The accepted effort nearest to `wanted`: itself, else the next lower that thinks, else the
    /// lowest accepted; `None` when the model has no such setting.
    #[must_use]
    pub fn nearest_effort(&self, wanted: Effort) -> Option<Effort> {
        if self.efforts.contains(&wanted) {
            return Some(wanted);
        }
        let lower = self
            .efforts
            .iter()
            .copied()
            .filter(|&effort| effort < wanted && effort != Effort::None)
            .max();
        let higher = self
            .efforts
            .iter()
            .copied()
            .filter(|&effort| effort > wanted)
            .min();
        if wanted == Effort::None {
            higher
        } else {
            lower.or(higher)
        }
    }
}

/// List prices of a model at one backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Price {
    /// Per million fresh prompt tokens.
    pub input: PricePerMillion,
    /// Per million completion tokens, reasoning included.
    pub output: PricePerMillion,
    /// Per million prompt tokens read from cache.
    pub cache_read: Option<PricePerMillion>,
    /// Per million prompt tokens written to a 5-minute cache.
    pub cache_write_5m: Option<PricePerMillion>,
    /// Per million prompt tokens written to a one-hour cache.
    pub cache_write_1h: Option<PricePerMillion>,
    /// Per million audio tokens of the prompt.
    pub audio_input: Option<PricePerMillion>,
    /// Per million audio tokens of the completion.
    pub audio_output: Option<PricePerMillion>,
    /// Per million reasoning tokens, where they differ from other completion tokens.
    pub reasoning: Option<PricePerMillion>,
    /// Per search that the provider runs.
    pub web_search: Option<MicroUsd>,
    /// Per request, whatever its size.
    pub request: Option<MicroUsd>,
    /// The rates that replace these for the whole request where its prompt is long.
    pub long_context: Option<LongContext>,
}

/// Rates of a request whose prompt is long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LongContext {
    /// The rates apply to prompts of more tokens than this, cached ones included.
    pub above: u64,
    /// Price of a long prompt, as [`Price::input`].
    pub input: PricePerMillion,
    /// Price of the answer to a long prompt, as [`Price::output`].
    pub output: PricePerMillion,
    /// Price of cached tokens of a long prompt, as [`Price::cache_read`].
    pub cache_read: Option<PricePerMillion>,
    /// Price of writing a long prompt for five minutes, as [`Price::cache_write_5m`].
    pub cache_write_5m: Option<PricePerMillion>,
    /// Price of writing a long prompt for an hour, as [`Price::cache_write_1h`].
    pub cache_write_1h: Option<PricePerMillion>,
}

impl Price {
    /// Nothing is charged, whatever is sent and answered.
    #[must_use]
    pub fn is_free(&self) -> bool {
        let nothing = PricePerMillion::default();
        self.input == nothing
            && self.output == nothing
            && self.request.is_none_or(|fee| fee == MicroUsd::ZERO)
    }

    /// The rates for a prompt of so many tokens.
    #[must_use]
    pub fn for_prompt(&self, tokens: u64) -> Price {
        match self.long_context {
            Some(long) if tokens > long.above => Price {
                input: long.input,
                output: long.output,
                cache_read: long.cache_read,
                cache_write_5m: long.cache_write_5m,
                cache_write_1h: long.cache_write_1h,
                // Nobody lists these apart for long prompts; they do not become cheaper there.
                audio_input: self.audio_input.map(|price| price.max(long.input)),
                audio_output: self.audio_output.map(|price| price.max(long.output)),
                reasoning: self.reasoning.map(|price| price.max(long.output)),
                ..*self
            },
            _ => *self,
        }
    }

    /// The rate of cache reads: listed, else that of fresh input, which it never exceeds.
    #[must_use]
    pub fn cache_read_or_more(&self) -> PricePerMillion {
        self.cache_read.unwrap_or(self.input)
    }

    /// The rate of cache writes for 5 minutes: listed, else 1.25 times that of fresh input, the
    /// dearest that is known (Anthropic's). `None` on overflow.
    #[must_use]
    pub fn cache_write_5m_or_more(&self) -> Option<PricePerMillion> {
        match self.cache_write_5m {
            Some(listed) => Some(listed),
            None => self.input.times(5, 4),
        }
    }

    /// The rate of cache writes for an hour: listed, else twice that of fresh input and not less
    /// than that of shorter writes. `None` on overflow.
    #[must_use]
    pub fn cache_write_1h_or_more(&self) -> Option<PricePerMillion> {
        match self.cache_write_1h {
            Some(listed) => Some(listed),
            None => Some(self.input.times(2, 1)?.max(self.cache_write_5m_or_more()?)),
        }
    }
}

/// The tier of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Cheap and quick.
    Small,
    /// The usual workhorse.
    Strong,
    /// The best there is.
    Frontier,
}

impl Tier {
    /// The name in configuration, explanations and receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Strong => "strong",
            Self::Frontier => "frontier",
        }
    }

    /// Reads a name, in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Small, Self::Strong, Self::Frontier]
            .into_iter()
            .find(|tier| tier.as_str().eq_ignore_ascii_case(name))
    }
}

/// One model as one backend serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelEntry {
    /// The name this gateway lists it under, e.g. `claude-opus-5-5`.
    pub id: String,
    /// The name the backend wants, e.g. `anthropic/claude-opus-5.5`.
    pub upstream_id: String,
    /// A name for people.
    pub display_name: String,
    /// The maker of the model, e.g. `anthropic`.
    pub vendor: String,
    /// The tier, where known.
    pub tier: Option<Tier>,
    /// The abilities of the model.
    pub capabilities: Arc<Capabilities>,
    /// The price at the backend; `None` where it is unknown, so that the model must not be billed.
    pub price: Option<Price>,
    /// Unix seconds of its creation, 0 where unknown.
    pub created: u64,
    /// Whether it makes embeddings instead of answers.
    pub embeddings: bool,
    /// How good it is, by the dated table of the catalog, 0 to 100; 0: nobody rated it.
    pub rating: u8,
    /// The protection at the backend: the most that its operator can learn and keep.
    pub security: SecurityClass,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_effort_never_rises_unless_it_must() {
        let with = |efforts: &[Effort]| Capabilities {
            efforts: efforts.to_vec(),
            ..Capabilities::default()
        };
        let claude = with(&[Effort::Low, Effort::Medium, Effort::High]);
        assert_eq!(claude.nearest_effort(Effort::Max), Some(Effort::High));
        assert_eq!(claude.nearest_effort(Effort::Minimal), Some(Effort::Low));
        assert_eq!(claude.nearest_effort(Effort::None), Some(Effort::Low));
        assert_eq!(
            with(&[Effort::None, Effort::High]).nearest_effort(Effort::Low),
            Some(Effort::High)
        );
        assert_eq!(with(&[]).nearest_effort(Effort::Low), None);
    }

    #[test]
    fn only_what_costs_nothing_at_all_is_free() {
        assert!(Price::default().is_free());
        let flat = Price {
            request: Some(MicroUsd::new(1)),
            ..Price::default()
        };
        assert!(!flat.is_free());
        let answers = Price {
            output: PricePerMillion::from_micro(1),
            ..Price::default()
        };
        assert!(!answers.is_free());
    }

    #[test]
    fn budgets_map_to_efforts_at_the_documented_edges() {
        assert_eq!(Effort::of_budget(2_048), Effort::Low);
        assert_eq!(Effort::of_budget(2_049), Effort::Medium);
        assert_eq!(Effort::of_budget(8_193), Effort::High);
        assert_eq!(Effort::of_budget(24_577), Effort::Xhigh);
    }
}
