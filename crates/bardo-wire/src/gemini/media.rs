//! Pictures, files and sound as parts.

use std::borrow::Cow;
use std::fmt;

use bardo_types::Losses;
use bardo_types::chat::{
    Audio, ChatRequest, Document, DocumentSource, Image, MediaSource, SearchResult,
};
use bardo_types::model::{Capabilities, Dialect};

use crate::codec::BadRequest;
use crate::gemini::shapes::request::{Blob, FileData, Part, Plain};

/// Where a part is in the caller's body, for messages about it.
#[derive(Clone, Copy)]
pub(super) struct PartPath {
    list: &'static str,
    message: usize,
    part: usize,
    inner: Option<usize>,
}

impl PartPath {
    /// The place of a part behind `leading` system messages.
    pub(super) fn new(request: &ChatRequest, leading: usize, message: usize, part: usize) -> Self {
        let (list, outside) = match request.dialect {
            Dialect::Anthropic => ("messages", leading),
            Dialect::Responses => ("input", 0),
            Dialect::Gemini => ("contents", leading),
            Dialect::Chat | Dialect::Completions => ("messages", 0),
        };
        Self {
            list,
            message: message.saturating_sub(outside),
            part,
            inner: None,
        }
    }

    /// A part within this one.
    pub(super) fn inside(self, part: usize) -> Self {
        Self {
            inner: Some(part),
            ..self
        }
    }
}

impl fmt::Display for PartPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}].content[{}]", self.list, self.message, self.part)?;
        self.inner
            .map_or(Ok(()), |inner| write!(f, ".content[{inner}]"))
    }
}

/// The refusal of a part that cannot be sent.
fn refuse(place: PartPath, what: impl Into<String>) -> BadRequest {
    BadRequest::new(place.to_string(), what)
}

pub(super) fn image<'a>(
    image: &'a Image,
    place: PartPath,
    capabilities: &Capabilities,
) -> Result<Part<'a>, BadRequest> {
    if !capabilities.images {
        return Err(refuse(
            place,
            "this model does not accept images; remove the image or choose a model with vision",
        ));
    }
    media(&image.source, "image", place)
}

pub(super) fn audio<'a>(
    audio: &'a Audio,
    place: PartPath,
    capabilities: &Capabilities,
) -> Result<Part<'a>, BadRequest> {
    if !capabilities.audio {
        return Err(refuse(
            place,
            "this model does not accept audio; remove the audio or choose a model with audio input",
        ));
    }
    if audio.data.is_empty() {
        return Err(refuse(
            place,
            "this audio refers to an earlier answer of another provider; send its data instead",
        ));
    }
    Ok(Plain {
        inline_data: Some(Blob {
            mime_type: format!("audio/{}", audio.format).into(),
            data: &audio.data,
        }),
        ..Plain::default()
    }
    .into())
}

/// A document: what is told about it as words, then its content.
pub(super) fn document<'a>(
    document: &'a Document,
    place: PartPath,
    capabilities: &Capabilities,
    losses: &mut Losses,
    out: &mut Vec<Part<'a>>,
) -> Result<(), BadRequest> {
    if document.citations {
        losses.lose("citations", "Gemini cannot cite documents of the request");
    }
    let about = match (&document.title, &document.context) {
        (Some(title), Some(context)) => Some(format!("{title}\n{context}")),
        (Some(words), None) | (None, Some(words)) => Some(words.clone()),
        (None, None) => None,
    };
    match &document.source {
        DocumentSource::Text(text) => {
            out.push(Part::text(match about {
                Some(about) => Cow::Owned(format!("{about}\n\n{text}")),
                None => Cow::Borrowed(text.as_str()),
            }));
        }
        DocumentSource::Media(source) => {
            if !capabilities.documents {
                return Err(refuse(
                    place,
                    "this model does not accept documents; send their text or choose another model",
                ));
            }
            out.extend(about.map(Part::text));
            out.push(media(source, "document", place)?);
        }
        DocumentSource::Parts(parts) => {
            out.extend(about.map(Part::text));
            for part in parts {
                match part {
                    bardo_types::chat::Part::Text(text) => {
                        out.push(Part::text(text.text.as_str()));
                    }
                    bardo_types::chat::Part::Image(inner) => {
                        out.push(image(inner, place, capabilities)?);
                    }
                    _ => losses.lose("documents", "only text and images of documents are sent"),
                }
            }
        }
    }
    Ok(())
}

pub(super) fn search_result(result: &SearchResult, losses: &mut Losses) -> String {
    if result.citations {
        losses.lose(
            "citations",
            "Gemini cannot cite search results of the request",
        );
    }
    let mut text = format!("{}\n{}\n", result.title, result.source);
    for block in &result.content {
        text.push('\n');
        text.push_str(&block.text);
    }
    text
}

fn media<'a>(source: &'a MediaSource, what: &str, place: PartPath) -> Result<Part<'a>, BadRequest> {
    match source {
        MediaSource::Base64 { media_type, data } => Ok(inline(media_type.as_str(), data)),
        MediaSource::Url(url) => {
            if let Some(data) = url.strip_prefix("data:") {
                return data_url(data, what, place);
            }
            if is_provider_uri(url) {
                Ok(file(url.as_str().into(), mime_of(url)))
            } else {
                Err(refuse(
                    place,
                    format!(
                        "Gemini cannot fetch this {what} from the web; send it as base64 data, \
                         or as a gs://, YouTube or Gemini file URI"
                    ),
                ))
            }
        }
        MediaSource::File(id) => match id.strip_prefix("files/") {
            Some(_) => Ok(file(
                format!("https://generativelanguage.googleapis.com/v1beta/{id}").into(),
                None,
            )),
            None => Err(refuse(
                place,
                format!(
                    "this {what} is a file of another provider, which Gemini cannot read; send it \
                     as base64 data"
                ),
            )),
        },
    }
}

fn data_url<'a>(rest: &'a str, what: &str, place: PartPath) -> Result<Part<'a>, BadRequest> {
    let refused = || {
        refuse(
            place,
            format!("this {what} must be a data URL like data:<type>;base64,<data>"),
        )
    };
    let (head, data) = rest.split_once(',').ok_or_else(refused)?;
    let head = head.strip_suffix(";base64").ok_or_else(refused)?;
    let mime = head.split(';').next().unwrap_or_default();
    if mime.is_empty() {
        return Err(refused());
    }
    Ok(inline(mime, data))
}

fn inline<'a>(mime: &'a str, data: &'a str) -> Part<'a> {
    Plain {
        inline_data: Some(Blob {
            mime_type: mime.into(),
            data,
        }),
        ..Plain::default()
    }
    .into()
}

fn file<'a>(uri: Cow<'a, str>, mime_type: Option<&'static str>) -> Part<'a> {
    Plain {
        file_data: Some(FileData {
            mime_type,
            file_uri: uri,
        }),
        ..Plain::default()
    }
    .into()
}

/// Addresses that Gemini itself can read.
fn is_provider_uri(url: &str) -> bool {
    let host = |host: &str| {
        url.strip_prefix("https://")
            .and_then(|rest| rest.strip_prefix(host))
            .is_some_and(|rest| rest.starts_with('/'))
    };
    url.starts_with("gs://")
        || host("generativelanguage.googleapis.com") && url.contains("/files/")
        || host("www.youtube.com")
        || host("youtube.com")
        || host("youtu.be")
}

fn mime_of(uri: &str) -> Option<&'static str> {
    let (_, extension) = uri.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "heic" => "image/heic",
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "html" => "text/html",
        "mp4" => "video/mp4",
        "mov" => "video/quicktime",
        "mp3" => "audio/mp3",
        "wav" => "audio/wav",
        _ => return None,
    })
}
