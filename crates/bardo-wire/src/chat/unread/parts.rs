//! Members of content parts that the neutral part lacks.

use serde_json::value::RawValue;

use crate::chat::request::decode::content::{File, ImageUrl};
use crate::chat::request::decode::messages::{AudioId, ExtraContent};
use crate::chat::shapes::request::{Content, WirePart};
use crate::json::Str;
use crate::kit::openai::{InputAudio, has_media_parameters};

/// Whether a part in a list holds unread members.
pub(super) fn in_content(content: Option<&Content<'_>>) -> bool {
    match content {
        Some(Content::List(parts)) => parts.iter().any(in_part),
        Some(Content::Text(_)) | None => false,
    }
}

/// Of the sound of an earlier answer the id is read.
pub(super) fn in_sound_of_an_answer(raw: &RawValue) -> bool {
    let read = serde_json::from_str::<AudioId<'_>>(raw.get());
    !read.is_ok_and(|audio| audio.extra.is_empty())
}

/// Of what Gemini binds to a call the signature is read.
pub(super) fn in_content_of_a_call(raw: &RawValue) -> bool {
    let is_read = |content: ExtraContent<'_>| {
        content.extra.is_empty() && content.google.is_none_or(|google| google.extra.is_empty())
    };
    !serde_json::from_str(raw.get()).is_ok_and(is_read)
}

fn in_part(part: &WirePart<'_>) -> bool {
    let kind = part.kind.as_deref().unwrap_or_default();
    let slot = match kind {
        "text" | "input_text" | "output_text" => "text",
        "refusal" | "image_url" | "input_audio" | "file" => kind,
        // Kept as written.
        _ => return !part.extra.is_empty(),
    };
    let filled = [
        ("text", part.text.is_some()),
        ("refusal", part.refusal.is_some()),
        ("image_url", part.image_url.is_some()),
        ("input_audio", part.input_audio.is_some()),
        ("file", part.file.is_some()),
    ];
    !part.extra.is_empty()
        || filled
            .iter()
            .any(|(name, is_filled)| *is_filled && *name != slot)
        || part.image_url.is_some_and(in_image)
        || part.input_audio.is_some_and(in_audio)
        || part.file.is_some_and(in_file)
}

/// An image may also be a bare URL.
fn in_image(raw: &RawValue) -> bool {
    if let Ok(url) = serde_json::from_str::<Str<'_>>(raw.get()) {
        return has_media_parameters(&url);
    }
    let holds_more = |image: ImageUrl<'_>| {
        !image.extra.is_empty() || image.url.is_some_and(|url| has_media_parameters(&url))
    };
    serde_json::from_str(raw.get()).is_ok_and(holds_more)
}

fn in_audio(raw: &RawValue) -> bool {
    serde_json::from_str::<InputAudio<'_>>(raw.get()).is_ok_and(|audio| !audio.extra.is_empty())
}

/// Of an id and data, data is read.
fn in_file(raw: &RawValue) -> bool {
    let holds_more = |file: File<'_>| {
        !file.extra.is_empty()
            || file.file_id.is_some() && file.file_data.is_some()
            || file
                .file_data
                .is_some_and(|data| has_media_parameters(&data))
    };
    serde_json::from_str(raw.get()).is_ok_and(holds_more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(part: &str) -> bool {
        in_part(&serde_json::from_str(part).unwrap())
    }

    #[test]
    fn an_unread_member_of_a_part_is_seen() {
        for part in [
            r#"{"type":"text","text":"a","file":{"file_id":"f"}}"#,
            r#"{"type":"image_url","image_url":{"url":"https://a.example","zz":1}}"#,
            r#"{"type":"image_url","image_url":"https://a.example","text":"a"}"#,
            r#"{"type":"input_audio","input_audio":{"data":"a","format":"wav","zz":1}}"#,
            r#"{"type":"file","file":{"file_id":"f","file_data":"a"}}"#,
            r#"{"type":"file","file":{"file_id":"f","zz":1}}"#,
            r#"{"type":"file","file":{"file_data":"data:text/plain;charset=utf-8;base64,YQ=="}}"#,
            r#"{"type":"image_url","image_url":"data:image/svg+xml;charset=utf-8;base64,YQ=="}"#,
            r#"{"type":"image_url","image_url":{"url":"data:image/svg+xml;a=b;base64,YQ=="}}"#,
        ] {
            assert!(with(part), "{part}");
        }
        for part in [
            r#"{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}"#,
            r#"{"type":"image_url","image_url":{"url":"https://a.example","detail":"low"}}"#,
            r#"{"type":"image_url","image_url":"https://a.example"}"#,
            r#"{"type":"file","file":{"file_data":"a","filename":"f"}}"#,
            r#"{"type":"file","file":{"file_data":"data:text/plain;base64,YQ=="}}"#,
            r#"{"type":"image_url","image_url":"data:image/png;base64,YQ=="}"#,
            r#"{"type":"note","text":"a","file":{"zz":1}}"#,
        ] {
            assert!(!with(part), "{part}");
        }
    }
}
