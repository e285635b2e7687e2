//! Images and documents on their way to the provider.

use std::fmt;

use bardo_types::Losses;
use bardo_types::chat::{Document, DocumentSource, Image, MediaSource};
use bardo_types::model::{Capabilities, Dialect};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::codec::BadRequest;
use crate::json::Object;

/// The picture formats the API takes.
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Where a part stands in the caller's messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartPlace {
    pub(super) message: usize,
    pub(super) part: usize,
}

impl fmt::Display for PartPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "messages[{}].content[{}]", self.message, self.part)
    }
}

/// The refusal of a part that cannot be sent.
pub(super) fn refuse(place: PartPlace, what: impl fmt::Display) -> BadRequest {
    BadRequest::new(place.to_string(), format!("{place}: {what}"))
}

fn check_source(source: &MediaSource, from: Dialect, place: PartPlace) -> Result<(), BadRequest> {
    match source {
        MediaSource::Url(url) if !url.starts_with("http") => Err(refuse(
            place,
            "this provider reads only http and https URLs; send the data inline",
        )),
        MediaSource::File(_) if from != Dialect::Anthropic => Err(refuse(
            place,
            "this provider cannot read a file of another provider; send the data inline",
        )),
        _ => Ok(()),
    }
}

/// Checks that a picture can be sent.
pub(super) fn check_image(
    image: &Image,
    from: Dialect,
    caps: &Capabilities,
    place: PartPlace,
    lost: &mut Losses,
) -> Result<(), BadRequest> {
    if !caps.images {
        return Err(refuse(place, "this model does not accept images"));
    }
    if let MediaSource::Base64 { media_type, .. } = &image.source
        && !IMAGE_TYPES.contains(&normal_type(media_type))
    {
        return Err(refuse(
            place,
            format_args!("images must be JPEG, PNG, GIF or WebP, not `{media_type}`"),
        ));
    }
    if image
        .detail
        .as_deref()
        .is_some_and(|detail| detail != "auto")
    {
        lost.lose("image_detail", "the model chooses the resolution itself");
    }
    check_source(&image.source, from, place)
}

fn normal_type(media_type: &str) -> &str {
    if media_type == "image/jpg" {
        "image/jpeg"
    } else {
        media_type
    }
}

/// The form in which a document is sent, once checked: text that hides in base64 comes out as text.
pub(super) fn check_document(
    document: &Document,
    from: Dialect,
    caps: &Capabilities,
    place: PartPlace,
) -> Result<Option<String>, BadRequest> {
    let DocumentSource::Media(source) = &document.source else {
        return Ok(None);
    };
    if let MediaSource::Base64 { media_type, data } = source
        && media_type.starts_with("text/")
    {
        return STANDARD
            .decode(data)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .map(Some)
            .ok_or_else(|| refuse(place, "the document is not base64 of UTF-8 text"));
    }
    if !caps.documents {
        return Err(refuse(place, "this model does not accept documents"));
    }
    if let MediaSource::Base64 { media_type, .. } = source
        && media_type != "application/pdf"
    {
        return Err(refuse(
            place,
            format_args!("documents must be PDF or text, not `{media_type}`"),
        ));
    }
    check_source(source, from, place)?;
    Ok(None)
}

/// Writes the members of a `source` object.
pub(super) fn write_source(object: &mut Object<'_>, source: &MediaSource) {
    match source {
        MediaSource::Base64 { media_type, data } => {
            object.set("type", "base64");
            object.set("media_type", normal_type(media_type));
            object.set("data", data);
        }
        MediaSource::Url(url) => {
            object.set("type", "url");
            object.set("url", url);
        }
        MediaSource::File(id) => {
            object.set("type", "file");
            object.set("file_id", id);
        }
    }
}
