use crate::chat::{CacheMark, Opaque, Part};
use crate::json::RawJson;
use crate::model::Dialect;

/// Something the model may call.
#[derive(Debug, Clone, PartialEq)]
pub enum Tool {
    /// A function with a JSON schema.
    Function {
        /// Name of the tool.
        name: String,
        /// The purpose of the tool, in words for the model.
        description: Option<String>,
        /// JSON schema of its arguments; `None`: it takes none.
        schema: Option<RawJson>,
        /// Arguments must satisfy the schema.
        strict: Option<bool>,
        /// Prompt-cache mark after this tool.
        cache: Option<CacheMark>,
        /// Members of the definition that other dialects lack (`input_examples`,
        /// `eager_input_streaming`, …), kept for the same dialect.
        extra: Vec<(String, RawJson)>,
    },
    /// A tool that takes free text (OpenAI `custom`).
    Custom {
        /// Name of the tool.
        name: String,
        /// The purpose of the tool, in words for the model.
        description: Option<String>,
        /// Grammar of its input, as written.
        format: Option<RawJson>,
    },
    /// A tool that the provider runs (`web_search_20250305`, `code_interpreter`, …), as written.
    Server {
        /// The dialect it belongs to.
        dialect: Dialect,
        /// The tool's `type`.
        kind: String,
        /// Its name, where it has one.
        name: Option<String>,
        /// The whole definition.
        raw: RawJson,
    },
}

impl Tool {
    /// The name the model calls it by, where it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Function { name, .. } | Self::Custom { name, .. } => Some(name),
            Self::Server { name, .. } => name.as_deref(),
        }
    }
}

/// Which tool the model must, may or must not call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// The model calls no tools.
    None,
    /// At least one call.
    Required,
    /// The model must call this tool.
    Named(String),
    /// Only these tools (OpenAI `allowed_tools`).
    Allowed {
        /// At least one of them must be called.
        required: bool,
        /// Names of the tools.
        names: Vec<String>,
    },
}

impl ToolChoice {
    /// Whether the model is left no way around a call.
    #[must_use]
    pub const fn forces(&self) -> bool {
        matches!(
            self,
            Self::Required | Self::Named(_) | Self::Allowed { required: true, .. }
        )
    }
}

/// The input of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolInput {
    /// JSON text as the model wrote it. Empty means no arguments; it may be invalid where the
    /// model was cut off, so it is text until somebody needs an object.
    Json(String),
    /// Free text for a custom tool.
    Text(String),
}

impl ToolInput {
    /// The arguments as JSON: `{}` when empty, `None` when the text is not a JSON object.
    #[must_use]
    pub fn as_object(&self) -> Option<RawJson> {
        match self {
            Self::Json(text) if text.trim().is_empty() => Some(RawJson::empty_object()),
            Self::Json(text) if text.trim_start().starts_with('{') => {
                RawJson::parse(text.trim()).ok()
            }
            Self::Json(_) => None,
            Self::Text(text) => RawJson::of(&serde_json::json!({ "input": text })).ok(),
        }
    }
}

/// A call of a tool by the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Pairs it with its result.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// The input of the call.
    pub input: ToolInput,
    /// State of the provider bound to the call (Gemini `thoughtSignature`).
    pub opaque: Option<Opaque>,
    /// Prompt-cache mark after this block.
    pub cache: Option<CacheMark>,
    /// Members other dialects lack (`caller`, `toolset_name`, the Responses item `id`).
    pub extra: Vec<(String, RawJson)>,
}

impl ToolCall {
    /// A call with nothing but id, name and JSON arguments.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            input: ToolInput::Json(arguments.into()),
            opaque: None,
            cache: None,
            extra: Vec::new(),
        }
    }
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: String,
    /// Text, images, documents, search results.
    pub parts: Vec<Part>,
    /// The tool failed.
    pub is_error: bool,
    /// The call was to a custom (free text) tool.
    pub custom: bool,
    /// Prompt-cache mark after this block.
    pub cache: Option<CacheMark>,
}
