//! The request as it stands on the wire.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::{Str, wire_object};

wire_object! {
    /// The body of `POST /v1/chat/completions`, with the extensions of the services that share
    /// the dialect.
    pub(super) struct Body<'a> {
        "model" => model: Option<Str<'a>>,
        "messages" => messages: Option<Vec<WireMessage<'a>>>,
        "max_completion_tokens" => max_completion_tokens: Option<i64>,
        "max_tokens" => max_tokens: Option<i64>,
        "n" => n: Option<u32>,
        "stream" => stream: Option<bool>,
        "stream_options" => stream_options: Option<StreamOptions<'a>>,
        "temperature" => temperature: Option<&'a RawValue>,
        "top_p" => top_p: Option<&'a RawValue>,
        "top_k" => top_k: Option<&'a RawValue>,
        "min_p" => min_p: Option<&'a RawValue>,
        "presence_penalty" => presence_penalty: Option<&'a RawValue>,
        "frequency_penalty" => frequency_penalty: Option<&'a RawValue>,
        "repetition_penalty" => repetition_penalty: Option<&'a RawValue>,
        "seed" => seed: Option<&'a RawValue>,
        "logit_bias" => logit_bias: Option<&'a RawValue>,
        "logprobs" => logprobs: Option<bool>,
        "top_logprobs" => top_logprobs: Option<u8>,
        "stop" => stop: StringOrList,
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
        "user" => user: Option<Str<'a>>,
    }
}

wire_object! {
    pub(super) struct StreamOptions<'a> {
        "include_usage" => include_usage: Option<bool>,
    }
}

wire_object! {
    /// OpenRouter's and Venice's `reasoning`.
    pub(super) struct WireReasoning<'a> {
        "effort" => effort: Option<Str<'a>>,
        "max_tokens" => max_tokens: Option<u64>,
        "enabled" => enabled: Option<bool>,
        "exclude" => exclude: Option<bool>,
        "summary" => summary: Option<Str<'a>>,
    }
}

wire_object! {
    /// DeepSeek's and BlockRun's `thinking`.
    pub(super) struct WireThinking<'a> {
        "type" => kind: Option<Str<'a>>,
        "budget_tokens" => budget_tokens: Option<u64>,
    }
}

wire_object! {
    pub(super) struct WireMessage<'a> {
        "role" => role: Option<Str<'a>>,
        "content" => content: Content<'a>,
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
}

wire_object! {
    pub(super) struct WirePart<'a> {
        "type" => kind: Option<Str<'a>>,
        "text" => text: Option<Str<'a>>,
        "refusal" => refusal: Option<Str<'a>>,
        "image_url" => image_url: Option<&'a RawValue>,
        "input_audio" => input_audio: Option<&'a RawValue>,
        "file" => file: Option<&'a RawValue>,
        "cache_control" => cache_control: Option<&'a RawValue>,
        "prompt_cache_breakpoint" => prompt_cache_breakpoint: Option<&'a RawValue>,
    }
}

wire_object! {
    pub(super) struct WireToolCall<'a> {
        "id" => id: Option<Str<'a>>,
        "type" => kind: Option<Str<'a>>,
        "index" => index: Option<u64>,
        "function" => function: Option<CallFunction<'a>>,
        "custom" => custom: Option<CallCustom<'a>>,
        "extra_content" => extra_content: Option<&'a RawValue>,
    }
}

wire_object! {
    pub(super) struct CallFunction<'a> {
        "name" => name: Option<Str<'a>>,
        "arguments" => arguments: Option<Str<'a>>,
    }
}

wire_object! {
    pub(super) struct CallCustom<'a> {
        "name" => name: Option<Str<'a>>,
        "input" => input: Option<Str<'a>>,
    }
}

wire_object! {
    pub(super) struct WireTool<'a> {
        "type" => kind: Option<Str<'a>>,
        "function" => function: Option<ToolFunction<'a>>,
        "custom" => custom: Option<ToolCustom<'a>>,
        "cache_control" => cache_control: Option<&'a RawValue>,
    }
}

wire_object! {
    pub(super) struct ToolFunction<'a> {
        "name" => name: Option<Str<'a>>,
        "description" => description: Option<Str<'a>>,
        "parameters" => parameters: Option<&'a RawValue>,
        "strict" => strict: Option<bool>,
    }
}

wire_object! {
    pub(super) struct ToolCustom<'a> {
        "name" => name: Option<Str<'a>>,
        "description" => description: Option<Str<'a>>,
        "format" => format: Option<&'a RawValue>,
    }
}

/// Message content: nothing, a string, or parts.
#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    Absent,
    Text(Cow<'a, str>),
    Parts(Vec<WirePart<'a>>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;
        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of content parts")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_unit<E>(self) -> Result<Content<'de>, E> {
                Ok(Content::Absent)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content<'de>, A::Error> {
                let mut parts = Vec::with_capacity(seq.size_hint().unwrap_or(2));
                while let Some(part) = seq.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
        }
        deserializer.deserialize_any(ContentVisitor)
    }
}

/// `stop`, and the prompt of legacy completions: a string, a list of strings, or nothing.
#[derive(Debug, Default)]
pub(super) struct StringOrList(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for StringOrList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor;
        impl<'de> Visitor<'de> for ListVisitor {
            type Value = StringOrList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of strings")
            }
            fn visit_str<E>(self, text: &str) -> Result<StringOrList, E> {
                Ok(StringOrList(vec![text.to_owned()]))
            }
            fn visit_unit<E>(self) -> Result<StringOrList, E> {
                Ok(StringOrList::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<StringOrList, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = seq.next_element()? {
                    texts.push(text);
                }
                Ok(StringOrList(texts))
            }
        }
        deserializer.deserialize_any(ListVisitor)
    }
}
