use bardo_types::chat::{Citation, CitationSource};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use serde_json::value::RawValue;

use crate::json::{Str, object, wire_object};

wire_object! {
    struct CitationWire<'a> {
        "type" => kind: Option<Str<'a>>,
        "cited_text" => cited_text: Option<Str<'a>>,
        "url" => url: Option<Str<'a>>,
        "title" => title: Option<Str<'a>>,
        "source" => source: Option<Str<'a>>,
        "document_index" => document_index: Option<u64>,
        "document_title" => document_title: Option<Str<'a>>,
        "encrypted_index" => encrypted_index: Option<Str<'a>>,
    }
}

/// Reads one citation, keeping it as written for its own dialect.
pub(super) fn read(raw: &RawValue) -> Citation {
    let wire: CitationWire<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    let page = |url: String, title: Option<Str<'_>>| CitationSource::Url {
        url,
        title: title.map(Str::into_string).unwrap_or_default(),
        start: None,
        end: None,
    };
    let source = match wire.kind.as_deref() {
        Some("web_search_result_location") => match wire.url {
            Some(url) => page(url.into_string(), wire.title),
            None => CitationSource::Other,
        },
        Some("search_result_location") => match wire.source {
            Some(source) if source.starts_with("http") => page(source.into_string(), wire.title),
            _ => CitationSource::Other,
        },
        Some("char_location" | "page_location" | "content_block_location") => {
            CitationSource::Document {
                index: wire.document_index.unwrap_or(0),
                title: wire.document_title.map(Str::into_string),
            }
        }
        _ => CitationSource::Other,
    };
    Citation {
        source,
        cited_text: wire.cited_text.map(Str::into_string),
        raw: Some((Dialect::Anthropic, raw.into())),
    }
}

/// Says which characters of the message a web citation supports: those of its text block.
pub(super) fn place(citation: &mut Citation, from: u64, to: u64) {
    if let CitationSource::Url { start, end, .. } = &mut citation.source {
        *start = Some(from);
        *end = Some(to);
    }
}

/// The citation as an Anthropic caller reads it; `None` where it has no equivalent.
pub(super) fn to_wire(citation: &Citation) -> Option<RawJson> {
    if let Some((Dialect::Anthropic, raw)) = &citation.raw {
        return Some(raw.clone());
    }
    let cited_text = citation.cited_text.as_deref().unwrap_or_default();
    let mut out = Vec::new();
    match &citation.source {
        CitationSource::Url { url, title, .. } => object(&mut out, |wire| {
            wire.set("type", "web_search_result_location");
            wire.set("cited_text", cited_text);
            wire.set("url", url);
            wire.set("title", title);
            wire.set("encrypted_index", "");
        }),
        CitationSource::Document { index, title } => object(&mut out, |wire| {
            wire.set("type", "char_location");
            wire.set("cited_text", cited_text);
            wire.set("document_index", index);
            wire.set("document_title", title);
            wire.raw("start_char_index", "0");
            wire.raw("end_char_index", "0");
            wire.raw("file_id", "null");
        }),
        CitationSource::Other => return None,
    }
    RawJson::parse(String::from_utf8(out).ok()?).ok()
}

/// The citation as Anthropic itself wrote it; one that was made up for a caller has no state to
/// hand back and would be refused.
pub(super) fn to_replay(citation: &Citation) -> Option<&RawJson> {
    let Some((Dialect::Anthropic, raw)) = &citation.raw else {
        return None;
    };
    let wire: CitationWire<'_> = raw.read().ok()?;
    let hollow = wire.kind.as_deref() == Some("web_search_result_location")
        && wire
            .encrypted_index
            .as_deref()
            .unwrap_or_default()
            .is_empty();
    (!hollow).then_some(raw)
}
