//! Content parts of a message.

use bardo_types::chat::{
    Audio, CacheMark, Document, DocumentSource, Image, MediaSource, Part, ServerBlock, Text,
};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use serde_json::value::RawValue;

use super::{extra, raw};
use crate::chat::shapes::request::WirePart;
use crate::chat::tools::decode::object_of;
use crate::codec::BadRequest;
use crate::json::{Str, wire_object};
use crate::kit::openai::{InputAudio, media_source};

wire_object! {
    pub(in crate::chat) struct ImageUrl<'a> {
        "url" => url: Option<Str<'a>>,
        "detail" => detail: Option<Str<'a>>,
    }

    pub(in crate::chat) struct File<'a> {
        "file_id" => file_id: Option<Str<'a>>,
        "file_data" => file_data: Option<Str<'a>>,
        "filename" => filename: Option<Str<'a>>,
    }
}

/// One part; `path` makes its place for a refusal.
pub(super) fn read_part(part: WirePart<'_>, path: &dyn Fn() -> String) -> Result<Part, BadRequest> {
    let cache = raw(part.cache_control.or(part.prompt_cache_breakpoint)).map(CacheMark);
    let missing = |member: &str| {
        BadRequest::new(
            format!("{}.{member}", path()),
            format!("`{member}` is missing or has the wrong type for this content part"),
        )
    };
    match part.kind.as_deref() {
        Some("text" | "input_text" | "output_text") => Ok(Part::Text(Text {
            text: part.text.ok_or_else(|| missing("text"))?.into_string(),
            cache,
            ..Text::default()
        })),
        Some("refusal") => Ok(Part::Refusal(
            part.refusal
                .ok_or_else(|| missing("refusal"))?
                .into_string(),
        )),
        Some("image_url") => {
            let (url, detail) = part
                .image_url
                .and_then(read_image_url)
                .ok_or_else(|| missing("image_url"))?;
            Ok(Part::Image(Image {
                source: media_source(url),
                detail,
                cache,
            }))
        }
        Some("input_audio") => part
            .input_audio
            .and_then(read_audio)
            .map(Part::Audio)
            .ok_or_else(|| missing("input_audio")),
        Some("file") => part
            .file
            .and_then(|file| read_file(file, cache))
            .map(Part::Document)
            .ok_or_else(|| missing("file")),
        Some(_) => Ok(unknown(part)),
        None => Err(BadRequest::new(
            format!("{}.type", path()),
            "a content part has no `type`; use `text`, `image_url`, `input_audio` or `file`",
        )),
    }
}

fn read_image_url(raw: &RawValue) -> Option<(String, Option<String>)> {
    // Many clients send the bare URL.
    if let Ok(url) = serde_json::from_str::<Str<'_>>(raw.get()) {
        return Some((url.into_string(), None));
    }
    let image: ImageUrl<'_> = serde_json::from_str(raw.get()).ok()?;
    Some((image.url?.into_string(), image.detail.map(Str::into_string)))
}

fn read_audio(raw: &RawValue) -> Option<Audio> {
    let audio: InputAudio<'_> = serde_json::from_str(raw.get()).ok()?;
    Some(Audio {
        data: audio.data?.into_string(),
        format: audio.format?.into_string(),
        id: None,
    })
}

fn read_file(raw: &RawValue, cache: Option<CacheMark>) -> Option<Document> {
    let file: File<'_> = serde_json::from_str(raw.get()).ok()?;
    let source = match (file.file_id, file.file_data) {
        (Some(id), None) => MediaSource::File(id.into_string()),
        (_, Some(data)) => match media_source(data.into_string()) {
            // Bare base64 is taken for what it nearly always is.
            MediaSource::Url(data) if !data.contains("://") => MediaSource::Base64 {
                media_type: "application/pdf".into(),
                data,
            },
            source => source,
        },
        (None, None) => return None,
    };
    Some(Document {
        source: DocumentSource::Media(source),
        title: file.filename.map(Str::into_string),
        context: None,
        citations: false,
        cache,
    })
}

/// A part of a type that has no neutral meaning, put together again as it came.
fn unknown(part: WirePart<'_>) -> Part {
    let kind = part.kind.map(Str::into_string).unwrap_or_default();
    let mut members: Vec<(String, RawJson)> = vec![("type".into(), RawJson::string(&kind))];
    let text = |text: Option<Str<'_>>| text.map(|text| RawJson::string(&text));
    let known = [
        ("text", text(part.text)),
        ("refusal", text(part.refusal)),
        ("image_url", raw(part.image_url)),
        ("input_audio", raw(part.input_audio)),
        ("file", raw(part.file)),
        ("cache_control", raw(part.cache_control)),
        ("prompt_cache_breakpoint", raw(part.prompt_cache_breakpoint)),
    ];
    for (name, value) in known {
        if let Some(value) = value {
            members.push((name.into(), value));
        }
    }
    members.extend(extra(part.extra));
    Part::Server(ServerBlock {
        dialect: Dialect::Chat,
        kind,
        raw: object_of(&members),
    })
}
