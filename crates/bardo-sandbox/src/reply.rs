//! What a service answers, before any fault and before any socket.

use bytes::Bytes;
use serde_json::Value;

use crate::fault::Faults;

/// Header names and values in the order in which they are sent.
pub(crate) type Headers = Vec<(String, String)>;

/// No stream is slowed down to take longer than this.
const VISIBLE_MS_MAX: u64 = 4_000;

/// An answer: status, headers, and either one body or the pieces of an event stream.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) content: Content,
    /// Faults that the conversation's script asked for.
    pub(crate) faults: Faults,
}

/// The two kinds of body.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Whole(Bytes),
    Stream(Vec<Piece>),
}

/// One event's bytes, with the blank line that ends it.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) bytes: Bytes,
    /// How long to wait before this piece.
    pub(crate) delay_ms: u64,
    pub(crate) part: Part,
}

/// What a piece is for in its stream, so that faults can aim without knowing the dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Preamble before any content: a role chunk, `message_start`, `response.created`.
    Open,
    /// Something the model said.
    Content,
    /// The end of the answer: finish reason, usage.
    Close,
    /// The terminal marker: `[DONE]`, `message_stop`, `response.completed`.
    Done,
    /// A comment or a ping; never counted as an event.
    Comment,
}

impl Reply {
    /// A JSON answer.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::whole(status, "application/json", Bytes::from(body.to_string()))
    }

    /// A body of any media type.
    pub(crate) fn whole(status: u16, media_type: &str, body: Bytes) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), media_type.to_owned())],
            content: Content::Whole(body),
            faults: Faults::default(),
        }
    }

    /// An event stream.
    pub(crate) fn stream(pieces: Vec<Piece>) -> Self {
        Self {
            status: 200,
            headers: vec![
                (
                    "content-type".to_owned(),
                    "text/event-stream; charset=utf-8".to_owned(),
                ),
                ("cache-control".to_owned(), "no-cache".to_owned()),
            ],
            content: Content::Stream(pieces),
            faults: Faults::default(),
        }
    }

    /// Adds a header, keeping any other of the same name.
    pub(crate) fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Replaces a header, or adds it.
    pub(crate) fn set_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers
            .retain(|(held, _)| !held.eq_ignore_ascii_case(name));
        self.with_header(name, value)
    }

    /// Attaches the script's faults.
    pub(crate) fn with_faults(mut self, faults: &Faults) -> Self {
        self.faults = faults.clone();
        self
    }

    /// Waits `delay_ms` before every piece that carries content.
    pub(crate) fn paced(mut self, delay_ms: u64) -> Self {
        if let Content::Stream(pieces) = &mut self.content {
            for piece in pieces
                .iter_mut()
                .filter(|piece| piece.part == Part::Content)
            {
                piece.delay_ms += delay_ms;
            }
        }
        self
    }

    /// Gives a stream that has no pace of its own one that can be seen, and keeps it short.
    pub(crate) fn visible(self, pace_ms: u64) -> Self {
        let Content::Stream(pieces) = &self.content else {
            return self;
        };
        let content = pieces.iter().filter(|piece| piece.part == Part::Content);
        let count = content.clone().count() as u64;
        if count == 0 || content.into_iter().any(|piece| piece.delay_ms > 0) {
            return self;
        }
        self.paced(pace_ms.min(VISIBLE_MS_MAX / count))
    }

    /// The first value of a header.
    #[cfg(test)]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(held, _)| held.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body of a whole reply as JSON; `Null` for a stream.
    #[cfg(test)]
    pub(crate) fn body(&self) -> Value {
        match &self.content {
            Content::Whole(body) => serde_json::from_slice(body).unwrap_or(Value::Null),
            Content::Stream(_) => Value::Null,
        }
    }

    /// The JSON of every `data:` line of a stream, in order; `[DONE]` is left out.
    #[cfg(test)]
    pub(crate) fn events(&self) -> Vec<Value> {
        let Content::Stream(pieces) = &self.content else {
            return Vec::new();
        };
        let text: String = pieces
            .iter()
            .map(|piece| String::from_utf8_lossy(&piece.bytes).into_owned())
            .collect();
        text.lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter_map(|data| serde_json::from_str(data).ok())
            .collect()
    }
}

impl Piece {
    /// A piece of raw bytes.
    pub(crate) fn raw(part: Part, bytes: impl Into<Bytes>) -> Self {
        Self {
            bytes: bytes.into(),
            delay_ms: 0,
            part,
        }
    }

    /// `data: {json}` with no event name.
    pub(crate) fn data(part: Part, data: &Value) -> Self {
        Self::raw(part, format!("data: {data}\n\n"))
    }

    /// `event: name` and `data: {json}`.
    pub(crate) fn event(part: Part, name: &str, data: &Value) -> Self {
        Self::raw(part, format!("event: {name}\ndata: {data}\n\n"))
    }

    /// The `data: [DONE]` marker of the chat completions family.
    pub(crate) fn done() -> Self {
        Self::raw(Part::Done, "data: [DONE]\n\n")
    }

    /// A comment line, which clients must ignore.
    pub(crate) fn comment(text: &str) -> Self {
        Self::raw(Part::Comment, format!(": {text}\n\n"))
    }

    /// Whether a client would count this as an event.
    pub(crate) fn is_event(&self) -> bool {
        self.part != Part::Comment
    }
}
