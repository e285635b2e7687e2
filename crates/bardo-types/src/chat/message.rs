use crate::chat::{ToolCall, ToolResult};
use crate::json::RawJson;
use crate::model::Dialect;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions from the application (`system` or `developer`).
    System,
    /// The person, and the results of tools.
    User,
    /// The model's answers.
    Assistant,
}

/// One turn. Leading [`Role::System`] messages are the system prompt; later ones are
/// instructions given in mid-conversation.
///
/// Tool results are [`Part::ToolResult`] in a [`Role::User`] message, as Anthropic has them; a
/// decoder joins neighboring OpenAI `role: tool` messages into one such message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Author of the message.
    pub role: Role,
    /// The content, in order.
    pub parts: Vec<Part>,
    /// The speaker's name (OpenAI `name`).
    pub name: Option<String>,
    /// Whether a system message was marked `developer` (OpenAI).
    pub developer: bool,
    /// Settings for the next turn that ride on a system message (Anthropic `output_config`).
    pub output_config: Option<RawJson>,
}

impl Message {
    /// A message of `role` with `parts` and nothing else.
    #[must_use]
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self {
            role,
            parts,
            name: None,
            developer: false,
            output_config: None,
        }
    }

    /// All text of the message, joined without separators.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| {
                if let Part::Text(text) = part {
                    Some(text.text.as_str())
                } else {
                    None
                }
            })
            .collect()
    }
}

/// One piece of content.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// A text part.
    Text(Text),
    /// An image part.
    Image(Image),
    /// A file to read.
    Document(Document),
    /// An audio part.
    Audio(Audio),
    /// A search result handed in by the caller (Anthropic `search_result`).
    SearchResult(SearchResult),
    /// Thinking of the model.
    Reasoning(Reasoning),
    /// A call of a tool by the model.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
    /// A refusal in words (OpenAI `refusal`).
    Refusal(String),
    /// A block that only its own dialect understands: server tools, compaction, containers.
    Server(ServerBlock),
}

/// Words, with what marks them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Text {
    /// The text itself.
    pub text: String,
    /// Sources the words rest on.
    pub citations: Vec<Citation>,
    /// Prompt-cache mark after this block.
    pub cache: Option<CacheMark>,
    /// State of the provider bound to this text (Gemini `thoughtSignature` on a text part).
    pub opaque: Option<Opaque>,
}

impl Text {
    /// A text without citations or cache marks.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl From<Text> for Part {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

/// A wish that the provider cache the prompt up to here (Anthropic `cache_control`, OpenAI
/// `prompt_cache_breakpoint`), as written.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheMark(pub RawJson);

/// Where bytes come from.
#[derive(Debug, Clone, PartialEq)]
pub enum MediaSource {
    /// Inline, base64 as written, with its MIME type.
    Base64 {
        /// Media type, e.g. `image/png`.
        media_type: String,
        /// The bytes as base64.
        data: String,
    },
    /// An http(s) or provider URI.
    Url(String),
    /// An id of a file uploaded to the provider before.
    File(String),
}

/// An image in a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// The bytes or where they are.
    pub source: MediaSource,
    /// OpenAI's member `detail`.
    pub detail: Option<String>,
    /// Prompt-cache mark after this block.
    pub cache: Option<CacheMark>,
}

/// The source of a document's content.
#[derive(Debug, Clone, PartialEq)]
pub enum DocumentSource {
    /// A file, mostly a PDF.
    Media(MediaSource),
    /// A plain text.
    Text(String),
    /// Content blocks (Anthropic `source.type = content`).
    Parts(Vec<Part>),
}

/// A file to read.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The content or where it is.
    pub source: DocumentSource,
    /// Title or file name.
    pub title: Option<String>,
    /// Words about the document that may not be cited (Anthropic `context`).
    pub context: Option<String>,
    /// The answer shall cite it.
    pub citations: bool,
    /// Prompt-cache mark after this block.
    pub cache: Option<CacheMark>,
}

/// Audio in a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Audio {
    /// Base64 text; empty when `id` refers to earlier output.
    pub data: String,
    /// `wav`, `mp3`, …
    pub format: String,
    /// The id of audio that the model made earlier (OpenAI assistant `audio.id`).
    pub id: Option<String>,
}

/// A search result handed in by the caller.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// Where it was found.
    pub source: String,
    /// Title of the result.
    pub title: String,
    /// Its text blocks.
    pub content: Vec<Text>,
    /// The answer shall cite it.
    pub citations: bool,
    /// Prompt-cache mark after this block.
    pub cache: Option<CacheMark>,
}

/// A source that words of an answer rest on.
#[derive(Debug, Clone, PartialEq)]
pub struct Citation {
    /// The cited source.
    pub source: CitationSource,
    /// The cited words, where given.
    pub cited_text: Option<String>,
    /// The citation as its own dialect wrote it, replayed in that dialect.
    pub raw: Option<(Dialect, RawJson)>,
}

/// The target of a citation.
#[derive(Debug, Clone, PartialEq)]
pub enum CitationSource {
    /// A page on the web. Offsets count Unicode scalar values within the message's whole text.
    Url {
        /// URL of the page.
        url: String,
        /// Title, possibly empty.
        title: String,
        /// First character of the words it supports.
        start: Option<u64>,
        /// One past the last character.
        end: Option<u64>,
    },
    /// A document of the request, by its place.
    Document {
        /// Index among the request's documents.
        index: u64,
        /// Title of the source.
        title: Option<String>,
    },
    /// Something only the raw form tells.
    Other,
}

/// Thinking of the model: text that may be shown, and state that only its maker reads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reasoning {
    /// The thinking, or a summary of it; may be empty while `opaque` is not (Anthropic `display:
    /// omitted`), and must be kept then.
    pub text: String,
    /// The text is a summary, not the thinking itself.
    pub summary: bool,
    /// State to hand back unchanged.
    pub opaque: Option<Opaque>,
}

/// Provider state that must come back unchanged, tagged with who can read it.
#[derive(Debug, Clone, PartialEq)]
pub enum Opaque {
    /// The `signature` of an Anthropic `thinking` block.
    AnthropicSignature(String),
    /// The `data` of an Anthropic `redacted_thinking` block.
    AnthropicRedacted(String),
    /// A whole OpenAI Responses `reasoning` item as JSON (with `encrypted_content`).
    OpenAiReasoning(RawJson),
    /// A Gemini `thoughtSignature`, base64 as written.
    GeminiSignature(String),
    /// DeepSeek-style `reasoning_content` that has to be echoed on tool turns; the text itself is
    /// the state.
    ReasoningContent,
    /// An entry of OpenRouter `reasoning_details` in a format we do not map, as written.
    ReasoningDetail(RawJson),
}

/// A block that only one dialect understands, kept as written.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerBlock {
    /// The dialect it belongs to.
    pub dialect: Dialect,
    /// Its `type`, e.g. `server_tool_use`, `web_search_tool_result`, `compaction`.
    pub kind: String,
    /// The whole block.
    pub raw: RawJson,
}

impl ServerBlock {
    /// The kind of a block that ends a message of an answer of the Responses API.
    pub const MESSAGE_END: &'static str = "message";

    /// Whether the block is no content: it ends a message that has a `phase`, or that another one
    /// follows. Dialects whose answers are one message have no place for it.
    #[must_use]
    pub fn ends_message(&self) -> bool {
        self.dialect == Dialect::Responses && self.kind == Self::MESSAGE_END
    }
}
