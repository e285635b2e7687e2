//! The neutral conversation: what all dialects have in common, and slots for what they have not.
//!
//! A dialect decodes into these types and encodes from them. State that only its maker can read
//! (signatures, encrypted reasoning) travels as [`Opaque`] and is never interpreted here.

mod event;
mod into_events;
mod message;
mod request;
mod response;
mod size;
mod tool;

pub use event::{Finish, StreamEvent};
pub use message::{
    Audio, CacheMark, Citation, CitationSource, Document, DocumentSource, Image, MediaSource,
    Message, Opaque, Part, Reasoning, Role, SearchResult, ServerBlock, Text,
};
pub use request::{
    CacheHints, CacheTtl, ChatRequest, Logprobs, MarkPlan, OutputFormat, ReasoningRequest,
    Sampling, ThinkingDisplay, ThinkingMode, Verbosity,
};
pub use response::{Assembler, ChatResponse, Choice};
pub use size::{IMAGE_BYTES, tokens_of_bytes};
pub use tool::{Tool, ToolCall, ToolChoice, ToolInput, ToolResult};
