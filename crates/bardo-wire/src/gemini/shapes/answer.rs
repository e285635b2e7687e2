//! The shape of answers, borrowed from the bytes.

use serde_json::value::RawValue;

use crate::json::{Count, Lenient, Str, lenient_object, wire_object};

wire_object! {
    /// One `GenerateContentResponse`: a whole answer, or one event of a stream.
    pub(in crate::gemini) struct GenerateChunk<'a> {
        "candidates" => candidates: Option<Vec<Candidate<'a>>>,
        "promptFeedback" => prompt_feedback: Option<PromptFeedback<'a>>,
        "usageMetadata" => usage_metadata: Option<Lenient<UsageMetadata<'a>>>,
        "modelVersion" => model_version: Option<Str<'a>>,
        "responseId" => response_id: Option<Str<'a>>,
        "error" => error: Option<&'a RawValue>,
        ..
    }

    pub(in crate::gemini) struct PromptFeedback<'a> {
        "blockReason" => block_reason: Option<Str<'a>>,
        "blockReasonMessage" => block_reason_message: Option<Str<'a>>,
        ..
    }

    pub(in crate::gemini) struct Candidate<'a> {
        "index" => index: Count,
        "content" => content: Option<AnswerContent<'a>>,
        "finishReason" => finish_reason: Option<Str<'a>>,
        "finishMessage" => finish_message: Option<Str<'a>>,
        "groundingMetadata" => grounding_metadata: Option<Grounding<'a>>,
        "citationMetadata" => citation_metadata: Option<CitationMetadata<'a>>,
        "logprobsResult" => logprobs_result: Option<LogprobsResult<'a>>,
        ..
    }

    pub(in crate::gemini) struct AnswerContent<'a> {
        "parts" => parts: Option<Vec<AnswerPart<'a>>>,
        ..
    }

    pub(in crate::gemini) struct AnswerPart<'a> {
        "text" => text: Option<Str<'a>>,
        "thought" => thought: Option<bool>,
        "thoughtSignature" => thought_signature: Option<Str<'a>>,
        "functionCall" => function_call: Option<AnswerFunctionCall<'a>>,
        "executableCode" => executable_code: Option<&'a RawValue>,
        "codeExecutionResult" => code_execution_result: Option<&'a RawValue>,
        "toolCall" => tool_call: Option<&'a RawValue>,
        "toolResponse" => tool_response: Option<&'a RawValue>,
        "inlineData" => inline_data: Option<&'a RawValue>,
        "fileData" => file_data: Option<&'a RawValue>,
        ..
    }
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

wire_object! {
    pub(in crate::gemini) struct AnswerFunctionCall<'a> {
        "id" => id: Option<Str<'a>>,
        "name" => name: Option<Str<'a>>,
        "args" => args: Option<&'a RawValue>,
        "partialArgs" => partial_args: Option<Vec<PartialArg<'a>>>,
        "willContinue" => will_continue: Option<bool>,
        ..
    }

    pub(in crate::gemini) struct PartialArg<'a> {
        "jsonPath" => json_path: Option<Str<'a>>,
        "stringValue" => string_value: Option<Str<'a>>,
        "numberValue" => number_value: Option<serde_json::Number>,
        "boolValue" => bool_value: Option<bool>,
        ..
    }

    pub(in crate::gemini) struct Grounding<'a> {
        "webSearchQueries" => web_search_queries: Option<Vec<Str<'a>>>,
        "groundingChunks" => grounding_chunks: Option<Vec<GroundingChunk<'a>>>,
        "groundingSupports" => grounding_supports: Option<Vec<GroundingSupport<'a>>>,
        ..
    }

    pub(in crate::gemini) struct GroundingChunk<'a> {
        "web" => web: Option<GroundingSource<'a>>,
        "retrievedContext" => retrieved_context: Option<GroundingSource<'a>>,
        "maps" => maps: Option<GroundingSource<'a>>,
        ..
    }

    pub(in crate::gemini) struct GroundingSource<'a> {
        "uri" => uri: Option<Str<'a>>,
        "title" => title: Option<Str<'a>>,
        ..
    }

    pub(in crate::gemini) struct GroundingSupport<'a> {
        "segment" => segment: Option<Segment<'a>>,
        "groundingChunkIndices" => grounding_chunk_indices: Option<Vec<Count>>,
        ..
    }

    pub(in crate::gemini) struct Segment<'a> {
        "partIndex" => part_index: Count,
        "startIndex" => start_index: Count,
        "endIndex" => end_index: Count,
        "text" => text: Option<Str<'a>>,
        ..
    }

    pub(in crate::gemini) struct CitationMetadata<'a> {
        "citationSources" => citation_sources: Option<Vec<Recited<'a>>>,
        /// The name in newer versions of the API.
        "citations" => citations: Option<Vec<Recited<'a>>>,
        ..
    }

    /// A source that the answer repeats at length.
    pub(in crate::gemini) struct Recited<'a> {
        "startIndex" => start_index: Count,
        "endIndex" => end_index: Count,
        "uri" => uri: Option<Str<'a>>,
        "title" => title: Option<Str<'a>>,
        ..
    }

    pub(in crate::gemini) struct LogprobsResult<'a> {
        "chosenCandidates" => chosen_candidates: Option<Vec<TokenProbability<'a>>>,
        "topCandidates" => top_candidates: Option<Vec<TopCandidates<'a>>>,
        ..
    }

    pub(in crate::gemini) struct TopCandidates<'a> {
        "candidates" => candidates: Option<Vec<TokenProbability<'a>>>,
        ..
    }

    pub(in crate::gemini) struct TokenProbability<'a> {
        "token" => token: Option<Str<'a>>,
        "logProbability" => log_probability: Option<&'a RawValue>,
        ..
    }
}

lenient_object! {
    pub(in crate::gemini) struct UsageMetadata<'a> {
        "promptTokenCount" => prompt_token_count: u64,
        "cachedContentTokenCount" => cached_content_token_count: u64,
        "candidatesTokenCount" => candidates_token_count: u64,
        "thoughtsTokenCount" => thoughts_token_count: u64,
        "toolUsePromptTokenCount" => tool_use_prompt_token_count: u64,
        "totalTokenCount" => total_token_count: u64,
        "promptTokensDetails" => prompt_tokens_details: Vec<ModalityCount<'a>>,
        "cacheTokensDetails" => cache_tokens_details: Vec<ModalityCount<'a>>,
        "candidatesTokensDetails" => candidates_tokens_details: Vec<ModalityCount<'a>>,
    }

    pub(in crate::gemini) struct ModalityCount<'a> {
        "modality" => modality: Str<'a>,
        "tokenCount" => token_count: u64,
    }
}

impl<'a> CitationMetadata<'a> {
    /// The sources, under whichever name they came.
    pub(in crate::gemini) fn all(&self) -> impl Iterator<Item = &Recited<'a>> {
        self.citation_sources
            .iter()
            .chain(&self.citations)
            .flatten()
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
