//! The shape of answers, borrowed from the bytes.

use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;

use crate::json::{self, Lenient, Str};

/// One `GenerateContentResponse`: a whole answer, or one event of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct GenerateChunk<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow)]
    pub(in crate::gemini) prompt_feedback: Option<PromptFeedback<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) usage_metadata: Option<Lenient<UsageMetadata<'a>>>,
    #[serde(borrow)]
    pub(in crate::gemini) model_version: Option<Str<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) response_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct PromptFeedback<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) block_reason: Option<Str<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) block_reason_message: Option<Str<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct Candidate<'a> {
    pub(in crate::gemini) index: Option<Int64>,
    #[serde(borrow)]
    pub(in crate::gemini) content: Option<AnswerContent<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) finish_reason: Option<Str<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) finish_message: Option<Str<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) grounding_metadata: Option<Grounding<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) citation_metadata: Option<CitationMetadata<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) logprobs_result: Option<LogprobsResult<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::gemini) struct AnswerContent<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) parts: Option<Vec<AnswerPart<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct AnswerPart<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) text: Option<Str<'a>>,
    pub(in crate::gemini) thought: Option<bool>,
    #[serde(borrow)]
    pub(in crate::gemini) thought_signature: Option<Str<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) function_call: Option<AnswerFunctionCall<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) executable_code: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::gemini) code_execution_result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::gemini) tool_call: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::gemini) tool_response: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::gemini) inline_data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::gemini) file_data: Option<&'a RawValue>,
}

impl<'a> AnswerPart<'a> {
    /// The member that makes this a part only Gemini understands, by name.
    pub(in crate::gemini) fn server_member(&self) -> Option<(&'static str, &'a RawValue)> {
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
pub(in crate::gemini) struct AnswerFunctionCall<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) name: Option<Str<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) args: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::gemini) partial_args: Option<Vec<PartialArg<'a>>>,
    pub(in crate::gemini) will_continue: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct PartialArg<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) json_path: Option<Str<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) string_value: Option<Str<'a>>,
    pub(in crate::gemini) number_value: Option<serde_json::Number>,
    pub(in crate::gemini) bool_value: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct Grounding<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) web_search_queries: Option<Vec<Str<'a>>>,
    #[serde(borrow)]
    pub(in crate::gemini) grounding_chunks: Option<Vec<GroundingChunk<'a>>>,
    #[serde(borrow)]
    pub(in crate::gemini) grounding_supports: Option<Vec<GroundingSupport<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct GroundingChunk<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) web: Option<GroundingSource<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) retrieved_context: Option<GroundingSource<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) maps: Option<GroundingSource<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::gemini) struct GroundingSource<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) uri: Option<Str<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) title: Option<Str<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct GroundingSupport<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) segment: Option<Segment<'a>>,
    pub(in crate::gemini) grounding_chunk_indices: Option<Vec<Int64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct Segment<'a> {
    pub(in crate::gemini) part_index: Option<Int64>,
    pub(in crate::gemini) start_index: Option<Int64>,
    pub(in crate::gemini) end_index: Option<Int64>,
    #[serde(borrow)]
    pub(in crate::gemini) text: Option<Str<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct CitationMetadata<'a> {
    /// Called `citations` by newer versions of the API.
    #[serde(borrow, alias = "citations")]
    pub(in crate::gemini) citation_sources: Option<Vec<Recited<'a>>>,
}

/// A source that the answer repeats at length.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct Recited<'a> {
    pub(in crate::gemini) start_index: Option<Int64>,
    pub(in crate::gemini) end_index: Option<Int64>,
    #[serde(borrow)]
    pub(in crate::gemini) uri: Option<Str<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) title: Option<Str<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct LogprobsResult<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) chosen_candidates: Option<Vec<TokenProbability<'a>>>,
    #[serde(borrow)]
    pub(in crate::gemini) top_candidates: Option<Vec<TopCandidates<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::gemini) struct TopCandidates<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) candidates: Option<Vec<TokenProbability<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct TokenProbability<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) token: Option<Str<'a>>,
    #[serde(borrow)]
    pub(in crate::gemini) log_probability: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct UsageMetadata<'a> {
    pub(in crate::gemini) prompt_token_count: json::Count,
    pub(in crate::gemini) cached_content_token_count: json::Count,
    pub(in crate::gemini) candidates_token_count: json::Count,
    pub(in crate::gemini) thoughts_token_count: json::Count,
    pub(in crate::gemini) tool_use_prompt_token_count: json::Count,
    pub(in crate::gemini) total_token_count: json::Count,
    #[serde(borrow)]
    pub(in crate::gemini) prompt_tokens_details: Lenient<Vec<ModalityCount<'a>>>,
    #[serde(borrow)]
    pub(in crate::gemini) cache_tokens_details: Lenient<Vec<ModalityCount<'a>>>,
    #[serde(borrow)]
    pub(in crate::gemini) candidates_tokens_details: Lenient<Vec<ModalityCount<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::gemini) struct ModalityCount<'a> {
    #[serde(borrow)]
    pub(in crate::gemini) modality: Option<Str<'a>>,
    pub(in crate::gemini) token_count: json::Count,
}

/// A count; Google's JSON writes 64-bit ones as strings.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::gemini) struct Int64(pub(in crate::gemini) u64);

impl<'de> Deserialize<'de> for Int64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(json::Count::deserialize(deserializer)?.get()))
    }
}

/// JSON without the space between its tokens. Buffered answers are written for people to read,
/// events are not, and both have to give the same arguments.
pub(in crate::gemini) fn compact(json: &str) -> String {
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
