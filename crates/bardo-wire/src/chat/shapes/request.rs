//! The request as it stands on the wire.

use serde_json::value::RawValue;

use crate::json::{FilledList, Str, wire_object};
use crate::kit::openai::{ToolFunction, openai_body};
use crate::kit::text_or_list::{Listed, TextOrList};

openai_body! {
    /// The body of `POST /v1/chat/completions`, with the extensions of the services that share
    /// the dialect.
    pub(in crate::chat) struct ChatBody<'a> {
        "messages" => messages: Option<FilledList<WireMessage<'a>>>,
        "max_completion_tokens" => max_completion_tokens: Option<i64>,
        "logprobs" => logprobs: Option<bool>,
        "top_logprobs" => top_logprobs: Option<u8>,
        "tools" => tools: Option<Vec<WireTool<'a>>>,
        "tool_choice" => tool_choice: Option<&'a RawValue>,
        "parallel_tool_calls" => parallel_tool_calls: Option<bool>,
        "functions" => functions: Option<Vec<ToolFunction<'a>>>,
        "function_call" => function_call: Option<&'a RawValue>,
        "response_format" => response_format: Option<&'a RawValue>,
        "reasoning_effort" => reasoning_effort: Option<Str<'a>>,
        "reasoning" => reasoning: Option<WireReasoning<'a>>,
        "thinking" => thinking: Option<WireThinking<'a>>,
        "verbosity" => verbosity: Option<Str<'a>>,
        "modalities" => modalities: Option<&'a RawValue>,
        "audio" => audio: Option<&'a RawValue>,
        "prediction" => prediction: Option<&'a RawValue>,
        "service_tier" => service_tier: Option<Str<'a>>,
        "store" => store: Option<bool>,
        "metadata" => metadata: Option<&'a RawValue>,
        "prompt_cache_key" => prompt_cache_key: Option<Str<'a>>,
        "prompt_cache_options" => prompt_cache_options: Option<&'a RawValue>,
        "cache_control" => cache_control: Option<&'a RawValue>,
        "safety_identifier" => safety_identifier: Option<Str<'a>>,
    }
}

wire_object! {
    /// OpenRouter's and Venice's `reasoning`.
    pub(in crate::chat) struct WireReasoning<'a> {
        "effort" => effort: Option<Str<'a>>,
        "max_tokens" => max_tokens: Option<u64>,
        "enabled" => enabled: Option<bool>,
        "exclude" => exclude: Option<bool>,
        "summary" => summary: Option<Str<'a>>,
    }

    /// DeepSeek's and BlockRun's `thinking`.
    pub(in crate::chat) struct WireThinking<'a> {
        "type" => kind: Option<Str<'a>>,
        "budget_tokens" => budget_tokens: Option<u64>,
    }

    pub(in crate::chat) struct WireMessage<'a> {
        "role" => role: Option<Str<'a>>,
        "content" => content: Option<Content<'a>>,
        "name" => name: Option<Str<'a>>,
        "tool_calls" => tool_calls: Option<Vec<WireToolCall<'a>>>,
        "tool_call_id" => tool_call_id: Option<Str<'a>>,
        "function_call" => function_call: Option<CallFunction<'a>>,
        "refusal" => refusal: Option<Str<'a>>,
        "audio" => audio: Option<&'a RawValue>,
        "reasoning_content" => reasoning_content: Option<Str<'a>>,
        "reasoning" => reasoning: Option<&'a RawValue>,
        "reasoning_details" => reasoning_details: Option<Vec<&'a RawValue>>,
        "thought_signature" => thought_signature: Option<Str<'a>>,
        "cache_control" => cache_control: Option<&'a RawValue>,
    }

    pub(in crate::chat) struct WirePart<'a> {
        "type" => kind: Option<Str<'a>>,
        "text" => text: Option<Str<'a>>,
        "refusal" => refusal: Option<Str<'a>>,
        "image_url" => image_url: Option<&'a RawValue>,
        "input_audio" => input_audio: Option<&'a RawValue>,
        "file" => file: Option<&'a RawValue>,
        "cache_control" => cache_control: Option<&'a RawValue>,
        "prompt_cache_breakpoint" => prompt_cache_breakpoint: Option<&'a RawValue>,
    }

    pub(in crate::chat) struct WireToolCall<'a> {
        "id" => id: Option<Str<'a>>,
        "type" => kind: Option<Str<'a>>,
        "index" => index: Option<u64>,
        "function" => function: Option<CallFunction<'a>>,
        "custom" => custom: Option<CallCustom<'a>>,
        "extra_content" => extra_content: Option<&'a RawValue>,
    }

    pub(in crate::chat) struct CallFunction<'a> {
        "name" => name: Option<Str<'a>>,
        "arguments" => arguments: Option<Str<'a>>,
    }

    pub(in crate::chat) struct CallCustom<'a> {
        "name" => name: Option<Str<'a>>,
        "input" => input: Option<Str<'a>>,
    }

    pub(in crate::chat) struct WireTool<'a> {
        "type" => kind: Option<Str<'a>>,
        "function" => function: Option<ToolFunction<'a>>,
        "custom" => custom: Option<ToolCustom<'a>>,
        "cache_control" => cache_control: Option<&'a RawValue>,
    }

    pub(in crate::chat) struct ToolCustom<'a> {
        "name" => name: Option<Str<'a>>,
        "description" => description: Option<Str<'a>>,
        "format" => format: Option<&'a RawValue>,
    }
}

/// The content of a message.
pub(in crate::chat) type Content<'a> = TextOrList<'a, WirePart<'a>>;

impl Listed for WirePart<'_> {
    const NAME: &'static str = "content parts";
}
