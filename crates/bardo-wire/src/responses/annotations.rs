//! Annotations of output text, and citations.
//!
//! A neutral citation counts characters within the message's whole text, an annotation within
//! its own part; `before` is the number of characters in the parts before.

use bardo_types::chat::{Citation, CitationSource};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;

use crate::json::{Str, kept_object, wire_object};

wire_object! {
    /// Any kind of annotation.
    struct Annotation<'a> {
        "type" => kind: Option<Str<'a>>,
        "url" => url: Option<Str<'a>>,
        "title" => title: Option<Str<'a>>,
        "start_index" => start_index: Option<u64>,
        "end_index" => end_index: Option<u64>,
        "filename" => filename: Option<Str<'a>>,
        "index" => index: Option<u64>,
    }
}

/// An annotation as a citation.
pub(super) fn read(raw: RawJson, before: u64) -> Citation {
    let annotation: Annotation<'_> = raw.read().unwrap_or_default();
    let shifted = |offset: Option<u64>| offset.map(|offset| offset.saturating_add(before));
    let source = match annotation.kind.as_deref() {
        Some("url_citation") => CitationSource::Url {
            url: annotation.url.map(Str::into_string).unwrap_or_default(),
            title: annotation.title.map(Str::into_string).unwrap_or_default(),
            start: shifted(annotation.start_index),
            end: shifted(annotation.end_index),
        },
        _ => CitationSource::Other,
    };
    Citation {
        source,
        cited_text: None,
        raw: Some((Dialect::Responses, raw)),
    }
}

/// A citation as an annotation of a part with `length` characters; `None` where only another
/// dialect could say what is cited.
pub(super) fn write(citation: &Citation, before: u64, length: u64) -> Option<RawJson> {
    if let Some((Dialect::Responses, raw)) = &citation.raw {
        return Some(raw.clone());
    }
    match &citation.source {
        CitationSource::Url {
            url,
            title,
            start,
            end,
        } => {
            let within = |offset: &Option<u64>, default: u64| {
                offset.map_or(default, |offset| offset.saturating_sub(before).min(length))
            };
            Some(kept_object(|object| {
                object.set("type", "url_citation");
                object.set("start_index", within(start, 0));
                object.set("end_index", within(end, length));
                object.set("url", url);
                object.set("title", title);
            }))
        }
        CitationSource::Document { index, title } => Some(kept_object(|object| {
            let name = title.clone().unwrap_or_else(|| format!("document {index}"));
            object.set("type", "file_citation");
            object.set("file_id", format!("document_{index}"));
            object.set("filename", &name);
            object.set("index", *index);
        })),
        CitationSource::Other => None,
    }
}
