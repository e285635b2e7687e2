//! Sources as `annotations`, with offsets in characters of the whole text.

use bardo_types::chat::{Citation, CitationSource, Text};
use bardo_types::model::Dialect;

use crate::json::Array;

/// The annotations of all texts of a message, which are joined into one.
pub(in crate::chat) fn write_all(texts: &[&Text], out: &mut Array<'_>) {
    let mut start = 0;
    for text in texts {
        let end = start + count(&text.text);
        for citation in &text.citations {
            write(citation, start, end, out);
        }
        start = end;
    }
}

pub(in crate::chat) fn count(text: &str) -> u64 {
    text.chars().count() as u64
}

/// One annotation; what came as one goes out as it was. A source without a place of its own supports the text from `start` to `end`.
/// Sources without an address have no form in this dialect.
pub(in crate::chat) fn write(citation: &Citation, start: u64, end: u64, out: &mut Array<'_>) {
    if let Some((Dialect::Chat, raw)) = &citation.raw {
        return out.raw(raw.as_str());
    }
    let CitationSource::Url {
        url,
        title,
        start: own_start,
        end: own_end,
    } = &citation.source
    else {
        return;
    };
    let (start, end) = match (own_start, own_end) {
        (Some(start), Some(end)) => (*start, *end),
        _ => (start, end),
    };
    let mut annotation = out.object();
    annotation.set("type", "url_citation");
    annotation
        .object("url_citation")
        .set("url", url)
        .set("title", title)
        .set("start_index", start)
        .set("end_index", end);
}
