//! Content blocks as callers and providers write them.

pub(super) mod unread;

use std::fmt;

use bardo_types::chat::{
    CacheMark, Document, DocumentSource, Image, MediaSource, Opaque, Part, Reasoning, SearchResult,
    ServerBlock, Text, ToolCall, ToolInput, ToolResult,
};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::citation;
use crate::codec::BadRequest;
use crate::envelope;
use crate::json::{Extra, Members, Str, wire_object};
use crate::kit::text_or_list::{Listed, TextOrList};

/// Content that is a string or a list of blocks.
pub(super) type Content<'a> = TextOrList<'a, Block<'a>>;

impl Listed for Block<'_> {
    const NAME: &'static str = "content blocks";
}

/// The block types that every dialect has a word for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum BlockKind {
    Text,
    Image,
    Document,
    SearchResult,
    Thinking,
    Redacted,
    ToolUse,
    ToolResult,
    /// Anything else is kept as written.
    #[default]
    Other,
}

impl BlockKind {
    fn parse(name: &str) -> Self {
        match name {
            "text" => Self::Text,
            "image" => Self::Image,
            "document" => Self::Document,
            "search_result" => Self::SearchResult,
            "thinking" => Self::Thinking,
            "redacted_thinking" => Self::Redacted,
            "tool_use" => Self::ToolUse,
            "tool_result" => Self::ToolResult,
            _ => Self::Other,
        }
    }
}

wire_object! {
    /// `source` of images and documents.
    pub(super) struct Source<'a> {
        "type" => kind: Option<Str<'a>>,
        "media_type" => media_type: Option<Str<'a>>,
        "data" => data: Option<Str<'a>>,
        "url" => url: Option<Str<'a>>,
        "file_id" => file_id: Option<Str<'a>>,
        "content" => content: Option<Content<'a>>,
    }
}

/// One content block; only the members of its type are set.
#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    pub(super) kind: BlockKind,
    pub(super) text: Option<Str<'a>>,
    pub(super) signature: Option<Str<'a>>,
    pub(super) id: Option<Str<'a>>,
    pub(super) name: Option<Str<'a>>,
    pub(super) input: Option<&'a RawValue>,
    citations: Option<&'a RawValue>,
    cache: Option<&'a RawValue>,
    content: Option<Content<'a>>,
    is_error: Option<bool>,
    source: Option<Source<'a>>,
    source_name: Option<Str<'a>>,
    title: Option<Str<'a>>,
    context: Option<Str<'a>>,
    /// Members without a place above; for [`BlockKind::Other`] the whole block, `type` included.
    pub(super) rest: Members<'a>,
}

impl<'a> Block<'a> {
    /// Takes the value of `key`, whose meaning depends on the block's type.
    fn take<'de: 'a, A: MapAccess<'de>>(
        &mut self,
        key: Str<'de>,
        map: &mut A,
    ) -> Result<(), A::Error> {
        match (self.kind, &*key) {
            (BlockKind::Other, _) => self.rest.extra.push((key, map.next_value()?)),
            (_, "cache_control") => self.cache = map.next_value()?,
            (BlockKind::Text, "text")
            | (BlockKind::Thinking, "thinking")
            | (BlockKind::Redacted, "data") => {
                self.text = map.next_value()?;
            }
            (BlockKind::Thinking, "signature") => self.signature = map.next_value()?,
            (BlockKind::Text | BlockKind::Document | BlockKind::SearchResult, "citations") => {
                self.citations = map.next_value()?;
            }
            (BlockKind::ToolUse, "id") | (BlockKind::ToolResult, "tool_use_id") => {
                self.id = map.next_value()?;
            }
            (BlockKind::ToolUse, "name") => self.name = map.next_value()?,
            (BlockKind::ToolUse, "input") => self.input = map.next_value()?,
            (BlockKind::ToolResult | BlockKind::SearchResult, "content") => {
                self.content = map.next_value()?
            }
            (BlockKind::ToolResult, "is_error") => self.is_error = map.next_value()?,
            (BlockKind::Image | BlockKind::Document, "source") => self.source = map.next_value()?,
            (BlockKind::SearchResult, "source") => self.source_name = map.next_value()?,
            (BlockKind::Document | BlockKind::SearchResult, "title") => {
                self.title = map.next_value()?
            }
            (BlockKind::Document, "context") => self.context = map.next_value()?,
            _ => self.rest.extra.push((key, map.next_value()?)),
        }
        Ok(())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Block<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BlockVisitor;
        impl<'de> Visitor<'de> for BlockVisitor {
            type Value = Block<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a content block")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut block = Block::default();
                let mut known = false;
                // Members that came before the type; mostly none.
                let mut early: Extra<'de> = Vec::new();
                while let Some(key) = map.next_key::<Str<'de>>()? {
                    if known {
                        block.take(key, &mut map)?;
                        continue;
                    }
                    let raw: &'de RawValue = map.next_value()?;
                    if &*key != "type" {
                        early.push((key, raw));
                        continue;
                    }
                    let name: Str<'de> =
                        serde_json::from_str(raw.get()).map_err(A::Error::custom)?;
                    known = true;
                    block.kind = BlockKind::parse(&name);
                    if block.kind == BlockKind::Other {
                        block.rest.extra.append(&mut early);
                        block.rest.extra.push((key, raw));
                    }
                    for (key, raw) in early.drain(..) {
                        block
                            .take(key, &mut Held(Some(raw)))
                            .map_err(A::Error::custom)?;
                    }
                }
                if known {
                    Ok(block)
                } else {
                    Err(A::Error::custom("a content block needs a `type`"))
                }
            }
        }
        deserializer.deserialize_map(BlockVisitor)
    }
}

/// One value that was set aside, offered again as if it came from the map.
struct Held<'de>(Option<&'de RawValue>);

impl<'de> MapAccess<'de> for Held<'de> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        _: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        let text = self.0.take().map_or("null", RawValue::get);
        seed.deserialize(&mut serde_json::Deserializer::from_str(text))
    }
}

/// Where a block stands, for refusals.
#[derive(Clone, Copy)]
pub(super) enum BlockPlace<'p> {
    /// In the top-level `system`.
    System(usize),
    /// In a message.
    Message(usize, usize),
    /// Within another block's content.
    Within(&'p BlockPlace<'p>, usize),
    /// In an answer.
    Answer(usize),
}

impl fmt::Display for BlockPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(block) => write!(f, "system[{block}]"),
            Self::Message(message, block) => write!(f, "messages[{message}].content[{block}]"),
            Self::Within(outer, block) => write!(f, "{outer}.content[{block}]"),
            Self::Answer(block) => write!(f, "content[{block}]"),
        }
    }
}

fn missing(place: BlockPlace<'_>, member: &str) -> BadRequest {
    BadRequest::new(
        format!("{place}.{member}"),
        format!("{place}.{member} is required"),
    )
}

fn owned(text: Option<Str<'_>>) -> Option<String> {
    text.map(Str::into_string)
}

/// The mark of a `cache_control` member.
pub(super) fn mark(raw: Option<&RawValue>) -> Option<CacheMark> {
    raw.map(|raw| CacheMark(raw.into()))
}

impl Block<'_> {
    /// The neutral part that this block is.
    pub(super) fn into_part(self, place: BlockPlace<'_>) -> Result<Part, BadRequest> {
        Ok(match self.kind {
            BlockKind::Text => Part::Text(self.into_text(place)?),
            BlockKind::Image => Part::Image(Image {
                source: media(self.source.unwrap_or_default(), place)?,
                detail: None,
                cache: mark(self.cache),
            }),
            BlockKind::Document => Part::Document(self.into_document(place)?),
            BlockKind::SearchResult => Part::SearchResult(self.into_search_result(place)?),
            BlockKind::Thinking => Part::Reasoning(self.into_thinking()),
            BlockKind::Redacted => {
                let data = owned(self.text).ok_or_else(|| missing(place, "data"))?;
                Part::Reasoning(match envelope::open(&data) {
                    Some(opened) => Reasoning {
                        text: opened.text.unwrap_or_default(),
                        summary: false,
                        opaque: Some(opened.opaque),
                    },
                    None => Reasoning {
                        opaque: (!envelope::is_envelope(&data))
                            .then_some(Opaque::AnthropicRedacted(data)),
                        ..Reasoning::default()
                    },
                })
            }
            BlockKind::ToolUse => Part::ToolCall(self.into_call(place)?),
            BlockKind::ToolResult => Part::ToolResult(self.into_result(place)?),
            BlockKind::Other => Part::Server(self.into_server(None)),
        })
    }

    pub(super) fn into_text(self, place: BlockPlace<'_>) -> Result<Text, BadRequest> {
        let citations = match self.citations {
            Some(raw) => serde_json::from_str::<Vec<&RawValue>>(raw.get())
                .map_err(|_| {
                    BadRequest::new(
                        format!("{place}.citations"),
                        format!("{place}.citations must be a list"),
                    )
                })?
                .into_iter()
                .map(citation::read)
                .collect(),
            None => Vec::new(),
        };
        Ok(Text {
            text: owned(self.text).ok_or_else(|| missing(place, "text"))?,
            citations,
            cache: mark(self.cache),
            opaque: None,
        })
    }

    fn cites(&self) -> bool {
        self.citations
            .and_then(|raw| serde_json::from_str::<Members<'_>>(raw.get()).ok())
            .and_then(|members| members.get("enabled"))
            .is_some_and(|enabled| enabled.get() == "true")
    }

    fn into_document(self, place: BlockPlace<'_>) -> Result<Document, BadRequest> {
        let citations = self.cites();
        let mut source = self.source.unwrap_or_default();
        let source = match source.kind.as_deref() {
            Some("text") => DocumentSource::Text(
                owned(source.data).ok_or_else(|| missing(place, "source.data"))?,
            ),
            Some("content") => match source.content.take() {
                Some(content) => DocumentSource::Parts(parts(content, place)?),
                None => return Err(missing(place, "source.content")),
            },
            _ => DocumentSource::Media(media(source, place)?),
        };
        Ok(Document {
            source,
            title: owned(self.title),
            context: owned(self.context),
            citations,
            cache: mark(self.cache),
        })
    }

    fn into_search_result(self, place: BlockPlace<'_>) -> Result<SearchResult, BadRequest> {
        let citations = self.cites();
        let content = match self.content {
            Some(content) => parts(content, place)?
                .into_iter()
                .filter_map(|part| match part {
                    Part::Text(text) => Some(text),
                    _ => None,
                })
                .collect(),
            None => Vec::new(),
        };
        Ok(SearchResult {
            source: owned(self.source_name).ok_or_else(|| missing(place, "source"))?,
            title: owned(self.title).unwrap_or_default(),
            content,
            citations,
            cache: mark(self.cache),
        })
    }

    /// Thinking; an envelope in the signature is opened into the state of its maker.
    fn into_thinking(self) -> Reasoning {
        let text = owned(self.text).unwrap_or_default();
        let signature = owned(self.signature).unwrap_or_default();
        if envelope::is_envelope(&signature) {
            let opened = envelope::open(&signature);
            return Reasoning {
                text,
                summary: false,
                opaque: opened.map(|opened| opened.opaque),
            };
        }
        Reasoning {
            text,
            summary: false,
            opaque: (!signature.is_empty()).then_some(Opaque::AnthropicSignature(signature)),
        }
    }

    fn into_call(self, place: BlockPlace<'_>) -> Result<ToolCall, BadRequest> {
        Ok(ToolCall {
            id: owned(self.id).ok_or_else(|| missing(place, "id"))?,
            name: owned(self.name).ok_or_else(|| missing(place, "name"))?,
            input: ToolInput::Json(
                self.input
                    .map_or_else(|| "{}".to_owned(), |raw| raw.get().to_owned()),
            ),
            opaque: None,
            cache: mark(self.cache),
            extra: extra(self.rest.extra),
        })
    }

    fn into_result(self, place: BlockPlace<'_>) -> Result<ToolResult, BadRequest> {
        Ok(ToolResult {
            call_id: owned(self.id).ok_or_else(|| missing(place, "tool_use_id"))?,
            parts: match self.content {
                Some(content) => parts(content, place)?,
                None => Vec::new(),
            },
            is_error: self.is_error.unwrap_or(false),
            custom: false,
            cache: mark(self.cache),
        })
    }

    /// A block kept as written, with one member replaced where a stream brought it piecemeal.
    pub(super) fn into_server(self, replaced: Option<(&str, &str)>) -> ServerBlock {
        let kind = self
            .rest
            .get("type")
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        ServerBlock {
            dialect: Dialect::Anthropic,
            kind,
            raw: self.rest.to_raw(replaced),
        }
    }
}

/// Members kept for the same dialect.
pub(super) fn extra(rest: Extra<'_>) -> Vec<(String, RawJson)> {
    rest.into_iter()
        .map(|(key, raw)| (key.into_string(), raw.into()))
        .collect()
}

/// The parts of string-or-blocks content.
pub(super) fn parts(content: Content<'_>, place: BlockPlace<'_>) -> Result<Vec<Part>, BadRequest> {
    content.into_parts(|index, block| block.into_part(BlockPlace::Within(&place, index)))
}

fn media(source: Source<'_>, place: BlockPlace<'_>) -> Result<MediaSource, BadRequest> {
    match source.kind.as_deref() {
        Some("base64") => Ok(MediaSource::Base64 {
            media_type: owned(source.media_type)
                .ok_or_else(|| missing(place, "source.media_type"))?,
            data: owned(source.data).ok_or_else(|| missing(place, "source.data"))?,
        }),
        Some("url") => owned(source.url)
            .map(MediaSource::Url)
            .ok_or_else(|| missing(place, "source.url")),
        Some("file") => owned(source.file_id)
            .map(MediaSource::File)
            .ok_or_else(|| missing(place, "source.file_id")),
        _ => Err(BadRequest::new(
            format!("{place}.source.type"),
            format!(
                "{place}.source.type must be `base64`, `url` or `file` (documents also take `text` and `content`)"
            ),
        )),
    }
}
