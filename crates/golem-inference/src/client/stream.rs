//! An answer that comes piece by piece.

use serde_json::Value;

use super::ClientError;
use super::http::Body;
use super::sse::{Lines, SseLine};
use crate::reply::{Reply, ReplyOrigin, TokenUsage};

/// A line longer than this is none of the gateway's.
const LINE_MAX: usize = 16 << 20;

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Text of the answer.
    Text(String),
    /// Text of the reasoning.
    Reasoning(String),
}

/// An answer under way. Dropping it tells the gateway that nobody listens; what was delivered
/// until then is charged.
#[derive(Debug)]
pub struct ReplyStream {
    body: Option<Body>,
    lines: Lines,
    reply: Reply,
    is_done: bool,
}

impl ReplyStream {
    pub(super) fn new(origin: ReplyOrigin, body: Body) -> Self {
        Self {
            body: Some(body),
            lines: Lines::default(),
            reply: Reply::empty(origin),
            is_done: false,
        }
    }

    /// Origin of the answer, as far as the head names it.
    #[must_use]
    pub const fn origin(&self) -> &ReplyOrigin {
        &self.reply.origin
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// When the answer breaks off.
    pub async fn next(&mut self) -> Result<Option<Delta>, ClientError> {
        loop {
            while let Some(line) = self.lines.next() {
                if let Some(delta) = self.take(&line)? {
                    return Ok(Some(delta));
                }
            }
            let Some(body) = &mut self.body else {
                return Ok(None);
            };
            match body.next().await? {
                Some(bytes) => self.lines.push(&bytes),
                None => self.body = None,
            }
            if self.lines.waiting() > LINE_MAX {
                return Err(ClientError::Malformed("a stream"));
            }
        }
    }

    /// The whole answer, once [`Self::next`] has given `None`.
    ///
    /// # Errors
    /// When the stream ended without its end.
    pub fn finish(self) -> Result<Reply, ClientError> {
        if self.is_done {
            Ok(self.reply)
        } else {
            Err(ClientError::Broken(
                "the stream ended before its last event".to_owned(),
            ))
        }
    }

    fn take(&mut self, line: &SseLine) -> Result<Option<Delta>, ClientError> {
        let data = match line {
            SseLine::Figures(figures) => {
                let figures = parse(figures)?;
                self.reply.origin.close_with(&figures);
                return Ok(None);
            }
            SseLine::Data(data) if data == "[DONE]" => {
                self.is_done = true;
                return Ok(None);
            }
            SseLine::Data(data) => parse(data)?,
        };
        if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
            let text = |name: &str| error.get(name).and_then(Value::as_str);
            return Err(ClientError::Interrupted {
                message: text("message")
                    .unwrap_or("the gateway gave no reason")
                    .into(),
                code: text("bardo_code").map(str::to_owned),
            });
        }
        if let Some(usage) = data.get("usage").and_then(TokenUsage::read) {
            self.reply.usage = Some(usage);
        }
        let Some(choice) = data.pointer("/choices/0") else {
            return Ok(None);
        };
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.reply.finish_reason = Some(reason.to_owned());
        }
        let Some(delta) = choice.get("delta") else {
            return Ok(None);
        };
        self.take_calls(delta);
        Ok(self.take_text(delta))
    }

    fn take_text(&mut self, delta: &Value) -> Option<Delta> {
        let text = |name: &str| {
            let text = delta.get(name).and_then(Value::as_str);
            text.filter(|text| !text.is_empty())
        };
        if let Some(thought) = text("reasoning_content").or_else(|| text("reasoning")) {
            self.reply
                .reasoning
                .get_or_insert_default()
                .push_str(thought);
            return Some(Delta::Reasoning(thought.to_owned()));
        }
        let said = text("content")?;
        self.reply.text.push_str(said);
        Some(Delta::Text(said.to_owned()))
    }

    /// Joins the pieces of each call by its index.
    fn take_calls(&mut self, delta: &Value) {
        let pieces = delta.get("tool_calls").and_then(Value::as_array);
        for piece in pieces.into_iter().flatten() {
            let index = piece.get("index").and_then(Value::as_u64);
            let known = self
                .reply
                .tool_calls
                .iter_mut()
                .find(|call| call.get("index").and_then(Value::as_u64) == index);
            let Some(call) = known else {
                self.reply.tool_calls.push(piece.clone());
                continue;
            };
            let more = piece.pointer("/function/arguments").and_then(Value::as_str);
            let held = call.pointer_mut("/function/arguments");
            if let (Some(more), Some(Value::String(held))) = (more, held) {
                held.push_str(more);
            }
        }
    }
}

fn parse(text: &str) -> Result<Value, ClientError> {
    serde_json::from_str(text).map_err(|_| ClientError::Malformed("an event of a stream"))
}
