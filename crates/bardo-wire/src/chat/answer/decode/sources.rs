//! The sources of an answer, as annotations of its text or beside its choices.

use bardo_types::chat::{Citation, CitationSource};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::chat::shapes::answer::Chunk;
use crate::json::{Str, wire_object};

wire_object! {
    struct Annotation<'a> {
        "type" => kind: Option<Str<'a>>,
        "url_citation" => url_citation: Option<UrlCitation<'a>>,
    }

    struct UrlCitation<'a> {
        "url" => url: Option<Str<'a>>,
        "title" => title: Option<Str<'a>>,
        "content" => content: Option<Str<'a>>,
        "start_index" => start: Option<u64>,
        "end_index" => end: Option<u64>,
    }
}

/// A source as an annotation tells it; one of another type than a URL is known by its raw form
/// alone.
pub(super) fn annotated(raw: &RawValue) -> Option<Citation> {
    let annotation: Annotation<'_> = serde_json::from_str(raw.get()).ok()?;
    annotation.kind.as_ref()?;
    let own = Some((Dialect::Chat, RawJson::from(raw)));
    let Some((cited, url)) = annotation
        .url_citation
        .and_then(|mut cited| Some((cited.url.take()?, cited)))
        .map(|(url, cited)| (cited, url))
    else {
        return Some(Citation {
            source: CitationSource::Other,
            cited_text: None,
            raw: own,
        });
    };
    Some(Citation {
        source: CitationSource::Url {
            url: url.into_string(),
            title: cited.title.map(Str::into_string).unwrap_or_default(),
            start: cited.start,
            end: cited.end,
        },
        cited_text: cited.content.map(Str::into_string),
        raw: own,
    })
}

wire_object! {
    struct VeniceParameters<'a> {
        "web_search_citations" => citations: Option<Vec<VeniceCitation<'a>>>,
    }

    struct VeniceCitation<'a> {
        "title" => title: Option<Str<'a>>,
        "url" => url: Option<Str<'a>>,
        "content" => content: Option<Str<'a>>,
    }

    /// A result of Perplexity's search.
    struct SearchResult<'a> {
        "title" => title: Option<Str<'a>>,
        "url" => url: Option<Str<'a>>,
        ..
    }
}

/// The sources of a search that the service made for an answer, which name no place in the text.
pub(super) fn beside_the_choices(chunk: &Chunk<'_>) -> Vec<Citation> {
    let venice = chunk.venice_parameters.map(of_venice);
    let perplexity = || of_perplexity(chunk.search_results, chunk.citations);
    venice.unwrap_or_else(perplexity)
}

fn of_venice(raw: &RawValue) -> Vec<Citation> {
    let parameters: VeniceParameters<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    let cited = parameters.citations.unwrap_or_default().into_iter();
    cited
        .filter_map(|cited| {
            let content = cited.content.map(Str::into_string);
            Some(Citation {
                cited_text: content.filter(|text| !text.is_empty()),
                ..page(cited.url?, cited.title)
            })
        })
        .collect()
}

/// The results have titles; `citations`, which older answers have alone, are the same addresses.
fn of_perplexity(results: Option<&RawValue>, citations: Option<&RawValue>) -> Vec<Citation> {
    let results = results.map_or_else(Vec::new, list_of::<SearchResult<'_>>);
    let titled = results.into_iter();
    let titled: Vec<Citation> = titled
        .filter_map(|result| Some(page(result.url?, result.title)))
        .collect();
    if !titled.is_empty() {
        return titled;
    }
    let urls = citations.map_or_else(Vec::new, list_of::<Str<'_>>);
    urls.into_iter().map(|url| page(url, None)).collect()
}

/// A list as it stands on the wire; anything else counts as an empty one.
fn list_of<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Vec<T> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// A page as a source of the whole text.
fn page(url: Str<'_>, title: Option<Str<'_>>) -> Citation {
    Citation {
        source: CitationSource::Url {
            url: url.into_string(),
            title: title.map(Str::into_string).unwrap_or_default(),
            start: None,
            end: None,
        },
        cited_text: None,
        raw: None,
    }
}
