//! The shape of answers, borrowed from the bytes.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::value::RawValue;

use crate::json::{self, Lenient, Str};

/// One `GenerateContentResponse`: a whole answer, or one event of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow)]
    pub(super) prompt_feedback: Option<PromptFeedback<'a>>,
    #[serde(borrow)]
    pub(super) usage_metadata: Option<Lenient<UsageMetadata<'a>>>,
    #[serde(borrow)]
    pub(super) model_version: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) response_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PromptFeedback<'a> {
    #[serde(borrow)]
    pub(super) block_reason: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) block_reason_message: Option<Str<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Candidate<'a> {
    pub(super) index: Option<Count>,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) finish_message: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) grounding_metadata: Option<Grounding<'a>>,
    #[serde(borrow)]
    pub(super) citation_metadata: Option<CitationMetadata<'a>>,
    #[serde(borrow)]
    pub(super) logprobs_result: Option<LogprobsResult<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<Vec<Part<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Str<'a>>,
    pub(super) thought: Option<bool>,
    #[serde(borrow)]
    pub(super) thought_signature: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionCall<'a>>,
    #[serde(borrow)]
    pub(super) executable_code: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) code_execution_result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_call: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_response: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) inline_data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) file_data: Option<&'a RawValue>,
}

impl<'a> Part<'a> {
    /// The member that makes this a part only Gemini understands, by name.
    pub(super) fn server_member(&self) -> Option<(&'static str, &'a RawValue)> {
        let kinds = [
            (self.executable_code, "executableCode"),
            (self.code_execution_result, "codeExecutionResult"),
            (self.tool_call, "toolCall"),
            (self.tool_response, "toolResponse"),
            (self.inline_data, "inlineData"),
            (self.file_data, "fileData"),
        ];
        kinds
            .into_iter()
            .find_map(|(value, kind)| value.map(|value| (kind, value)))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) partial_args: Option<Vec<PartialArg<'a>>>,
    pub(super) will_continue: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PartialArg<'a> {
    #[serde(borrow)]
    pub(super) json_path: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) string_value: Option<Str<'a>>,
    pub(super) number_value: Option<serde_json::Number>,
    pub(super) bool_value: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Grounding<'a> {
    #[serde(borrow)]
    pub(super) web_search_queries: Option<Vec<Str<'a>>>,
    #[serde(borrow)]
    pub(super) grounding_chunks: Option<Vec<GroundingChunk<'a>>>,
    #[serde(borrow)]
    pub(super) grounding_supports: Option<Vec<GroundingSupport<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GroundingChunk<'a> {
    #[serde(borrow)]
    pub(super) web: Option<Source<'a>>,
    #[serde(borrow)]
    pub(super) retrieved_context: Option<Source<'a>>,
    #[serde(borrow)]
    pub(super) maps: Option<Source<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Source<'a> {
    #[serde(borrow)]
    pub(super) uri: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) title: Option<Str<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GroundingSupport<'a> {
    #[serde(borrow)]
    pub(super) segment: Option<Segment<'a>>,
    pub(super) grounding_chunk_indices: Option<Vec<Count>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Segment<'a> {
    pub(super) part_index: Option<Count>,
    pub(super) start_index: Option<Count>,
    pub(super) end_index: Option<Count>,
    #[serde(borrow)]
    pub(super) text: Option<Str<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CitationMetadata<'a> {
    /// Called `citations` by newer versions of the API.
    #[serde(borrow, alias = "citations")]
    pub(super) citation_sources: Option<Vec<Recited<'a>>>,
}

/// A source that the answer repeats at length.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Recited<'a> {
    pub(super) start_index: Option<Count>,
    pub(super) end_index: Option<Count>,
    #[serde(borrow)]
    pub(super) uri: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) title: Option<Str<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LogprobsResult<'a> {
    #[serde(borrow)]
    pub(super) chosen_candidates: Option<Vec<TokenProbability<'a>>>,
    #[serde(borrow)]
    pub(super) top_candidates: Option<Vec<TopCandidates<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TopCandidates<'a> {
    #[serde(borrow)]
    pub(super) candidates: Option<Vec<TokenProbability<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TokenProbability<'a> {
    #[serde(borrow)]
    pub(super) token: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) log_probability: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct UsageMetadata<'a> {
    pub(super) prompt_token_count: json::Count,
    pub(super) cached_content_token_count: json::Count,
    pub(super) candidates_token_count: json::Count,
    pub(super) thoughts_token_count: json::Count,
    pub(super) tool_use_prompt_token_count: json::Count,
    pub(super) total_token_count: json::Count,
    #[serde(borrow)]
    pub(super) prompt_tokens_details: Lenient<Vec<ModalityCount<'a>>>,
    #[serde(borrow)]
    pub(super) cache_tokens_details: Lenient<Vec<ModalityCount<'a>>>,
    #[serde(borrow)]
    pub(super) candidates_tokens_details: Lenient<Vec<ModalityCount<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ModalityCount<'a> {
    #[serde(borrow)]
    pub(super) modality: Option<Str<'a>>,
    pub(super) token_count: json::Count,
}

/// A count; Google's JSON writes 64-bit ones as strings.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count(pub(super) u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;
        impl Visitor<'_> for CountVisitor {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count")
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Count, E> {
                Ok(Count(value))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Count, E> {
                Ok(Count(u64::try_from(value).unwrap_or(0)))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Count, E> {
                // A float cast saturates, so the odd `1e30` cannot wrap.
                Ok(Count(value as u64))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Count, E> {
                text.parse().map(Count).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(CountVisitor)
    }
}

/// JSON without the space between its tokens. Buffered answers are written for people to read,
/// events are not, and both have to give the same arguments.
pub(super) fn compact(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut in_string = false;
    let mut escaped = false;
    for c in json.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
        } else if c.is_ascii_whitespace() {
            continue;
        } else {
            in_string = c == '"';
        }
        text.push(c);
    }
    text
}
