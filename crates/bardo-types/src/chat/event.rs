use crate::chat::{Citation, Opaque, ServerBlock};
use crate::fault::Fault;
use crate::json::RawJson;
use crate::usage::Usage;

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finish {
    /// The answer is complete.
    Stop,
    /// A stop text came up.
    StopSequence,
    /// The limit in tokens was reached.
    Length,
    /// The context window was full.
    ContextWindow,
    /// Tools are called.
    ToolCalls,
    /// The model or a filter refused.
    Refusal,
    /// The provider paused a long turn; the caller may send it back to go on.
    Pause,
    /// The provider said nothing of why, or what is not known here. Callers are told of an ordinary
    /// end; nobody may take the answer for complete.
    Unknown,
}

/// One step of a streamed answer, free of any dialect.
///
/// Order within one choice: reasoning, text and calls come as they are made. Deltas that follow
/// one another and share their kind belong to one block; [`Self::ReasoningEnd`], [`Self::TextEnd`]
/// and [`Self::ToolEnd`] close it early where the dialect told so.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The answer begins. Sent once.
    Start {
        /// The provider's id.
        id: Option<String>,
        /// The model that answers, by the provider's name.
        model: Option<String>,
        /// Creation time, in Unix seconds.
        created: Option<u64>,
        /// The service tier used.
        service_tier: Option<String>,
    },
    /// A piece of thinking.
    Reasoning {
        /// Which answer (0 unless `n` > 1).
        choice: u32,
        /// The text of this piece.
        text: String,
        /// Whether the text is a summary of the thinking.
        summary: bool,
    },
    /// The thinking block is over; its state, if any.
    ReasoningEnd {
        /// Index of the answer.
        choice: u32,
        /// State to hand back. May come without any text before it.
        opaque: Option<Opaque>,
    },
    /// A piece of text.
    Text {
        /// Index of the answer.
        choice: u32,
        /// The text of this piece.
        text: String,
    },
    /// The text block is over; the next words start a new one.
    TextEnd {
        /// Index of the answer.
        choice: u32,
        /// State bound to the text (Gemini).
        opaque: Option<Opaque>,
    },
    /// A source for the current text block.
    Citation {
        /// Index of the answer.
        choice: u32,
        /// The cited source.
        citation: Citation,
    },
    /// More of a refusal in words.
    Refusal {
        /// Index of the answer.
        choice: u32,
        /// The text of this piece.
        text: String,
    },
    /// A call begins.
    ToolStart {
        /// Index of the answer.
        choice: u32,
        /// Counts calls of this choice from 0.
        call: u32,
        /// Pairs call and result; made up by the decoder where the provider gives none.
        id: String,
        /// Name of the tool.
        name: String,
        /// The input is free text, not JSON.
        custom: bool,
        /// State bound to the call (Gemini).
        opaque: Option<Opaque>,
    },
    /// More of a call's input. Calls may interleave.
    ToolInput {
        /// Index of the answer.
        choice: u32,
        /// Index of the call.
        call: u32,
        /// A fragment of JSON text (or of free text).
        fragment: String,
    },
    /// A call's input is complete.
    ToolEnd {
        /// Index of the answer.
        choice: u32,
        /// Index of the call.
        call: u32,
    },
    /// A whole block that only its own dialect understands.
    Server {
        /// Index of the answer.
        choice: u32,
        /// The provider's block.
        block: ServerBlock,
    },
    /// Token probabilities as OpenAI writes them, for the text that comes next. Where none comes
    /// any more, they are those of the text before.
    Logprobs {
        /// Index of the answer.
        choice: u32,
        /// The `logprobs` object.
        raw: RawJson,
    },
    /// The usage so far: a snapshot that replaces earlier ones.
    Usage(Usage),
    /// One choice is complete.
    Finish {
        /// Index of the answer.
        choice: u32,
        /// The finish reason.
        reason: Finish,
        /// The stop text that came up.
        stop_sequence: Option<String>,
        /// Details of a refusal, as Anthropic writes `stop_details`.
        details: Option<RawJson>,
    },
    /// The stream ended as its protocol demands. Nothing follows.
    Done,
    /// The stream failed. Nothing follows, and no clean ending may be shown.
    Failed(Fault),
}
