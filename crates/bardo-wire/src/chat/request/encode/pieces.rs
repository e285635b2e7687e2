//! Content: what a part becomes here, and how several are written as one `content`.

use std::borrow::Cow;

use bardo_types::Losses;
use bardo_types::chat::{
    Audio, CacheMark, Document, DocumentSource, Image, MediaSource, Part, SearchResult,
};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use serde_json::{Map, Value};

use super::Job;
use crate::json::{Array, DataUrl, Object, write_text};
use crate::kit::openai::InputAudio;
use crate::quirks::{CacheMarks, Files};

/// One entry of `content`.
pub(super) enum Piece<'a> {
    Text(Cow<'a, str>, Option<&'a CacheMark>),
    Image(&'a Image),
    /// A file by name and content.
    File(&'a str, &'a MediaSource, Option<&'a CacheMark>),
    Audio(&'a Audio),
    Raw(&'a RawJson),
}

impl Piece<'_> {
    fn mark(&self) -> Option<&CacheMark> {
        match self {
            Self::Text(_, mark) | Self::File(_, _, mark) => *mark,
            Self::Image(image) => image.cache.as_ref(),
            Self::Audio(_) | Self::Raw(_) => None,
        }
    }
}

/// Appends what a part of a user or system message becomes.
pub(super) fn collect<'a>(
    job: &Job<'_>,
    part: &'a Part,
    lost: &mut Losses,
    out: &mut Vec<Piece<'a>>,
) {
    match part {
        Part::Text(text) => {
            out.push(Piece::Text(Cow::Borrowed(&text.text), text.cache.as_ref()));
        }
        Part::Image(image) => out.push(image_piece(job, image, lost)),
        Part::Document(document) => document_pieces(job, document, lost, out),
        Part::Audio(audio) if !audio.data.is_empty() => {
            if job.target.capabilities.audio {
                out.push(Piece::Audio(audio));
            } else {
                lost.lose(
                    "audio",
                    "the model does not accept audio; a note replaces it",
                );
                out.push(note("[audio omitted: the model does not accept audio]"));
            }
        }
        Part::SearchResult(found) => out.push(search_piece(found, lost)),
        Part::Refusal(words) => out.push(Piece::Text(Cow::Borrowed(words), None)),
        Part::Server(block) if block.dialect == Dialect::Chat => {
            out.push(Piece::Raw(&block.raw));
        }
        Part::Server(block) => lost.lose_field(
            &block.kind,
            "Chat Completions does not have this block; it was removed",
        ),
        Part::Audio(_) | Part::Reasoning(_) | Part::ToolCall(_) | Part::ToolResult(_) => {}
    }
}

fn note(text: &'static str) -> Piece<'static> {
    Piece::Text(Cow::Borrowed(text), None)
}

fn image_piece<'a>(job: &Job<'_>, image: &'a Image, lost: &mut Losses) -> Piece<'a> {
    if !job.target.capabilities.images {
        lost.lose(
            "images",
            "the model does not accept images; a note replaces them",
        );
        return note("[image omitted: the model does not accept images]");
    }
    match image.source {
        MediaSource::Base64 { .. } | MediaSource::Url(_) => Piece::Image(image),
        MediaSource::File(_) => {
            lost.lose(
                "image_file",
                "the image is a file of another provider; a note replaces it",
            );
            note("[image omitted: it is in another provider's file store]")
        }
    }
}

fn document_pieces<'a>(
    job: &Job<'_>,
    document: &'a Document,
    lost: &mut Losses,
    out: &mut Vec<Piece<'a>>,
) {
    if document.citations {
        lost.lose("citations", CITATIONS_LOST);
    }
    if let Some(context) = &document.context {
        out.push(Piece::Text(Cow::Borrowed(context), None));
    }
    let mark = document.cache.as_ref();
    let titled = |text: &'a str| match &document.title {
        Some(title) => Cow::Owned(format!("{title}\n\n{text}")),
        None => Cow::Borrowed(text),
    };
    match &document.source {
        DocumentSource::Text(text) => out.push(Piece::Text(titled(text), mark)),
        DocumentSource::Parts(parts) => {
            if let Some(title) = &document.title {
                out.push(Piece::Text(Cow::Borrowed(title), None));
            }
            for part in parts {
                collect(job, part, lost, out);
            }
        }
        DocumentSource::Media(source) if takes_file(job, source) => {
            let name = document.title.as_deref().unwrap_or("document.pdf");
            out.push(Piece::File(name, source, mark));
        }
        DocumentSource::Media(source) => {
            lost.lose(
                "documents",
                "the document cannot be sent to this provider; a note replaces it",
            );
            let name = document.title.as_deref().unwrap_or("document");
            let place = match source {
                MediaSource::Url(url) => format!(" at {url}"),
                _ => String::new(),
            };
            let text = format!("[document omitted: {name}{place}]");
            out.push(Piece::Text(Cow::Owned(text), mark));
        }
    }
}

fn takes_file(job: &Job<'_>, source: &MediaSource) -> bool {
    let files = job.quirks().files;
    if !job.target.capabilities.documents || files == Files::Never {
        return false;
    }
    match source {
        MediaSource::Base64 { .. } => true,
        MediaSource::Url(_) => files == Files::InlineOrUrl,
        MediaSource::File(_) => {
            files == Files::InlineOrId
                && matches!(job.request.dialect, Dialect::Chat | Dialect::Responses)
        }
    }
}

const CITATIONS_LOST: &str =
    "the sources are sent as text; Chat Completions does not support citations of them";

fn search_piece<'a>(found: &'a SearchResult, lost: &mut Losses) -> Piece<'a> {
    lost.lose("citations", CITATIONS_LOST);
    Piece::Text(Cow::Owned(search_text(found)), found.cache.as_ref())
}

pub(super) fn search_text(found: &SearchResult) -> String {
    let mut text = format!("{}\nSource: {}\n", found.title, found.source);
    for block in &found.content {
        text.push('\n');
        text.push_str(&block.text);
    }
    text
}

/// A mark with what services of this dialect know of it: its type and how long it lives. Whom a
/// cache is shared with (`scope`) is between a caller and Anthropic.
pub(super) fn plain_mark<'a>(mark: &'a RawJson, lost: &mut Losses) -> Cow<'a, str> {
    let members: Map<String, Value> = mark.read().unwrap_or_default();
    let is_known = |name: &String| matches!(name.as_str(), "type" | "ttl");
    if members.keys().all(is_known) {
        return Cow::Borrowed(mark.as_str());
    }
    lost.lose(
        "cache_control",
        "only the type and ttl of prompt-cache marks are sent",
    );
    let known: Map<String, Value> = members
        .into_iter()
        .filter(|(name, _)| is_known(name))
        .collect();
    Cow::Owned(Value::Object(known).to_string())
}

/// A prompt-cache mark as the target takes it: member and value.
pub(in crate::chat) fn cache_member<'a>(
    job: &Job<'_>,
    mark: &'a CacheMark,
    lost: &mut Losses,
) -> Option<(&'static str, Cow<'a, str>)> {
    let raw = mark.0.as_str();
    let is_breakpoint = raw.contains("\"mode\"");
    match job.quirks().cache_marks {
        CacheMarks::Breakpoint if is_breakpoint => Some(("prompt_cache_breakpoint", raw.into())),
        CacheMarks::Breakpoint if job.target.capabilities.cache_marks => {
            Some(("prompt_cache_breakpoint", "{\"mode\":\"explicit\"}".into()))
        }
        CacheMarks::CacheControl if is_breakpoint => {
            Some(("cache_control", "{\"type\":\"ephemeral\"}".into()))
        }
        CacheMarks::CacheControl => Some(("cache_control", plain_mark(&mark.0, lost))),
        _ => {
            lost.lose(
                "cache_control",
                "the provider does not support prompt-cache marks; it caches by its own rules",
            );
            None
        }
    }
}

/// Writes `content`: a string where one will do, else an array of parts. `joint` stands between
/// texts that become one.
pub(super) fn write(
    job: &Job<'_>,
    pieces: &[Piece<'_>],
    joint: &str,
    lost: &mut Losses,
    out: &mut Vec<u8>,
) {
    let is_text = pieces.iter().all(|piece| matches!(piece, Piece::Text(..)));
    let mut marked = false;
    for mark in pieces.iter().filter_map(Piece::mark) {
        marked |= cache_member(job, mark, lost).is_some();
    }
    if is_text && !marked {
        match pieces {
            [Piece::Text(text, _)] => return write_text(out, text),
            _ if !job.quirks().text_parts || joint.is_empty() => {
                return write_text(out, &joined(pieces, joint));
            }
            _ => {}
        }
    }
    let mut list = Array::new(out);
    for piece in pieces {
        write_piece(job, piece, lost, &mut list);
    }
}

pub(super) fn joined(pieces: &[Piece<'_>], joint: &str) -> String {
    let mut all = String::new();
    for piece in pieces {
        if let Piece::Text(text, _) = piece {
            if !all.is_empty() {
                all.push_str(joint);
            }
            all.push_str(text);
        }
    }
    all
}

fn write_piece(job: &Job<'_>, piece: &Piece<'_>, lost: &mut Losses, list: &mut Array<'_>) {
    if let Piece::Raw(raw) = piece {
        return list.raw(raw.as_str());
    }
    let mut part = list.object();
    match piece {
        Piece::Text(text, _) => {
            part.set("type", "text").set("text", &**text);
        }
        Piece::Image(image) => {
            part.set("type", "image_url");
            let mut inner = part.object("image_url");
            set_media(&mut inner, "url", &image.source);
            inner.set_some("detail", image.detail.as_deref());
        }
        Piece::File(name, source, _) => {
            part.set("type", "file");
            let mut inner = part.object("file");
            if let MediaSource::File(id) = source {
                inner.set("file_id", id);
            } else {
                inner.set("filename", *name);
                set_media(&mut inner, "file_data", source);
            }
        }
        Piece::Audio(audio) => InputAudio::write(audio, &mut part),
        Piece::Raw(_) => {}
    }
    if let Some((member, json)) = piece.mark().and_then(|mark| cache_member(job, mark, lost)) {
        part.raw(member, &json);
    }
}

fn set_media(object: &mut Object<'_>, member: &'static str, source: &MediaSource) {
    match source {
        MediaSource::Base64 { media_type, data } => {
            object.set(member, &DataUrl { media_type, data })
        }
        MediaSource::Url(url) | MediaSource::File(url) => object.set(member, url),
    };
}
