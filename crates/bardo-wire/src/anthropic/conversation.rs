//! The conversation as the provider takes it.

mod answers;
mod build;
mod marks;

use std::borrow::Cow;

use bardo_types::chat::{Document, DocumentSource, Image, Role, SearchResult, ToolCall, ToolInput};
use bardo_types::json::RawJson;
use bardo_types::model::Effort;
use serde::de::IgnoredAny;

use super::media;
use crate::json::{Array, Object};

pub(super) use build::build;
pub(super) use marks::sent_mark;

/// System prompt and turns, ready to be written.
#[derive(Debug, Default)]
pub(super) struct Conversation<'a> {
    pub(super) system: Vec<Sent<'a>>,
    pub(super) turns: Vec<Turn<'a>>,
    /// The effort that a system message within the conversation asked for, where the message
    /// itself could not carry it.
    pub(super) effort: Option<Effort>,
}

/// One message of the conversation.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) role: Role,
    pub(super) blocks: Vec<Sent<'a>>,
    pub(super) output_config: Option<&'a RawJson>,
}

/// One block with its cache mark.
#[derive(Debug)]
pub(super) struct Sent<'a> {
    pub(super) body: BlockBody<'a>,
    pub(super) cache: Option<Cow<'a, RawJson>>,
}

/// The content of a block.
#[derive(Debug)]
pub(super) enum BlockBody<'a> {
    Text {
        text: Cow<'a, str>,
        citations: Vec<&'a RawJson>,
    },
    Image(&'a Image),
    Document {
        document: &'a Document,
        /// Text that was hidden in base64.
        text: Option<String>,
        /// The blocks of a document made of blocks.
        parts: Vec<Sent<'a>>,
        cites: bool,
    },
    Search {
        result: &'a SearchResult,
        cites: bool,
    },
    Thinking {
        text: &'a str,
        signature: &'a str,
    },
    Redacted(&'a str),
    Call {
        id: Cow<'a, str>,
        name: &'a str,
        call: &'a ToolCall,
        /// Members of the call that this dialect wrote itself.
        extra: &'a [(String, RawJson)],
    },
    Result {
        id: Cow<'a, str>,
        parts: Vec<Sent<'a>>,
        is_error: bool,
    },
    Raw(&'a RawJson),
}

impl<'a> Sent<'a> {
    /// A text without citations or cache marks.
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            body: BlockBody::Text {
                text: text.into(),
                citations: Vec::new(),
            },
            cache: None,
        }
    }

    fn is_call(&self) -> bool {
        matches!(self.body, BlockBody::Call { .. })
    }

    fn is_thinking(&self) -> bool {
        matches!(
            self.body,
            BlockBody::Thinking { .. } | BlockBody::Redacted(_)
        )
    }

    /// Whether a cache mark may stand here.
    fn is_markable(&self) -> bool {
        !self.is_thinking() && !matches!(self.body, BlockBody::Raw(_))
    }
}

impl<'a> Turn<'a> {
    fn new(role: Role) -> Self {
        Self {
            role,
            blocks: Vec::new(),
            output_config: None,
        }
    }
}

impl<'a> Conversation<'a> {
    /// Whether any turn carries signed thinking.
    pub(super) fn is_signed(&self) -> bool {
        self.turns
            .iter()
            .any(|turn| turn.blocks.iter().any(Sent::is_thinking))
    }

    /// Whether the calls that the last turn answers came back without the thinking before them.
    pub(super) fn loop_lost_thinking(&self) -> bool {
        let mut first = None;
        for turn in self.turns.iter().rev() {
            match turn.role {
                Role::Assistant if turn.blocks.iter().any(Sent::is_call) => first = Some(turn),
                Role::User
                    if turn
                        .blocks
                        .iter()
                        .any(|block| matches!(block.body, BlockBody::Result { .. })) => {}
                Role::System => {}
                _ => break,
            }
        }
        first.is_some_and(|turn| !turn.blocks.first().is_some_and(Sent::is_thinking))
    }

    /// Adds an instruction of the gateway: after the system prompt, or, where signed thinking is
    /// bound to that prompt, at the end of the last user turn.
    pub(super) fn instruct(&mut self, instruction: String, is_bound: bool) {
        if is_bound
            && self.is_signed()
            && let Some(turn) = self.turns.iter_mut().rfind(|turn| turn.role == Role::User)
        {
            turn.blocks.push(Sent::text(instruction));
        } else {
            self.system.push(Sent::text(instruction));
        }
    }

    /// Writes the messages.
    pub(super) fn write_turns(&self, messages: &mut Array<'_>) {
        for turn in &self.turns {
            messages.nest(|message| {
                message.set(
                    "role",
                    match turn.role {
                        Role::System => "system",
                        Role::User => "user",
                        Role::Assistant => "assistant",
                    },
                );
                write_blocks(&mut message.array("content"), &turn.blocks);
                message.set_some("output_config", turn.output_config);
            });
        }
    }
}

/// Writes a list of content blocks.
pub(super) fn write_blocks(array: &mut Array<'_>, blocks: &[Sent<'_>]) {
    for block in blocks {
        match &block.body {
            BlockBody::Raw(raw) => array.raw(raw.as_str()),
            body => array.nest(|object| {
                write_body(object, body);
                object.set_some("cache_control", block.cache.as_deref());
            }),
        }
    }
}

fn write_body(object: &mut Object<'_>, body: &BlockBody<'_>) {
    match body {
        BlockBody::Text { text, citations } => {
            object.set("type", "text");
            object.set("text", text);
            if !citations.is_empty() {
                object.set("citations", citations);
            }
        }
        BlockBody::Image(image) => {
            object.set("type", "image");
            object.nest("source", |source| {
                media::write_source(source, &image.source)
            });
        }
        BlockBody::Document {
            document,
            text,
            parts,
            cites,
        } => write_document(object, document, text.as_deref(), parts, *cites),
        BlockBody::Search { result, cites } => {
            object.set("type", "search_result");
            object.set("source", &result.source);
            object.set("title", &result.title);
            object.list("content", &result.content, |text, out| {
                Object::new(out).set("type", "text").set("text", &text.text);
            });
            write_cites(object, *cites);
        }
        BlockBody::Thinking { text, signature } => {
            object.set("type", "thinking");
            object.set("thinking", text);
            object.set("signature", signature);
        }
        BlockBody::Redacted(data) => {
            object.set("type", "redacted_thinking");
            object.set("data", data);
        }
        BlockBody::Call {
            id,
            name,
            call,
            extra,
        } => {
            object.set("type", "tool_use");
            object.set("id", id);
            object.set("name", name);
            write_input(object, &call.input);
            for (name, raw) in *extra {
                object.foreign(name, raw.as_str());
            }
        }
        BlockBody::Result {
            id,
            parts,
            is_error,
        } => write_result(object, id, parts, *is_error),
        BlockBody::Raw(_) => {}
    }
}

fn write_cites(object: &mut Object<'_>, cites: bool) {
    if cites {
        object.object("citations").set("enabled", true);
    }
}

fn write_document(
    object: &mut Object<'_>,
    document: &Document,
    text: Option<&str>,
    parts: &[Sent<'_>],
    cites: bool,
) {
    let plain = |source: &mut Object<'_>, text: &str| {
        source.set("type", "text");
        source.set("media_type", "text/plain");
        source.set("data", text);
    };
    object.set("type", "document");
    object.nest("source", |source| match (&document.source, text) {
        (_, Some(text)) => plain(source, text),
        (DocumentSource::Text(text), None) => plain(source, text),
        (DocumentSource::Media(media), None) => media::write_source(source, media),
        (DocumentSource::Parts(_), None) => {
            source.set("type", "content");
            write_blocks(&mut source.array("content"), parts);
        }
    });
    object.set_some("title", document.title.as_ref());
    object.set_some("context", document.context.as_ref());
    write_cites(object, cites);
}

fn write_result(object: &mut Object<'_>, id: &str, parts: &[Sent<'_>], is_error: bool) {
    object.set("type", "tool_result");
    object.set("tool_use_id", id);
    match parts {
        [] => {}
        [
            Sent {
                body: BlockBody::Text { text, citations },
                cache: None,
            },
        ] if citations.is_empty() => {
            object.set("content", text);
        }
        parts => write_blocks(&mut object.array("content"), parts),
    }
    if is_error {
        object.set("is_error", true);
    }
}

/// Writes a call's input, which has to be an object whatever the model once wrote.
fn write_input(object: &mut Object<'_>, input: &ToolInput) {
    match input {
        ToolInput::Text(text) => {
            object.object("input").set("input", text);
        }
        ToolInput::Json(json) => {
            let json = json.trim();
            if json.is_empty() {
                object.raw("input", "{}");
            } else if is_object(json) {
                object.raw("input", json);
            } else {
                object.object("input").set("input", json);
            }
        }
    }
}

/// Whether a call's input is sent as the model wrote it.
fn is_object(json: &str) -> bool {
    json.starts_with('{') && serde_json::from_str::<IgnoredAny>(json).is_ok()
}
