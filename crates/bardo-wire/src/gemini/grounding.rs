//! Sources of an answer: byte offsets into parts become character offsets into the message.

use bardo_types::chat::{Citation, CitationSource};

use crate::gemini::shapes::answer::{CitationMetadata, Grounding, GroundingSource, Segment};
use crate::json::Count;

/// The sources of one candidate's text. Offsets can be resolved only when the text is complete, so
/// supports are kept until then.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// All visible text of the candidate so far.
    text: String,
    /// For each block of the candidate: where its text starts in `text`; `None` for blocks that
    /// are no text.
    blocks: Vec<Option<usize>>,
    chunks: Vec<(String, String)>,
    supports: Vec<Support>,
    queries: u64,
}

#[derive(Debug, PartialEq)]
struct Support {
    source: SupportSource,
    part: usize,
    start: usize,
    end: Option<usize>,
    text: Option<String>,
}

#[derive(Debug, PartialEq)]
enum SupportSource {
    Chunk(usize),
    Page { url: String, title: String },
}

impl Sources {
    /// Visible words of a new or the current block.
    pub(super) fn text(&mut self, words: &str, new_block: bool) {
        if new_block {
            self.blocks.push(Some(self.text.len()));
        }
        self.text.push_str(words);
    }

    /// A block of another kind began.
    pub(super) fn other_block(&mut self) {
        self.blocks.push(None);
    }

    /// The searches that were run.
    pub(super) fn queries(&self) -> u64 {
        self.queries
    }

    /// Takes grounding; later snapshots repeat earlier ones, and each support counts once.
    pub(super) fn ground(&mut self, grounding: &Grounding<'_>) {
        if let Some(queries) = &grounding.web_search_queries {
            self.queries = self.queries.max(queries.len() as u64);
        }
        if let Some(chunks) = &grounding.grounding_chunks
            && !chunks.is_empty()
        {
            self.chunks = chunks
                .iter()
                .map(|chunk| {
                    let source = [&chunk.web, &chunk.retrieved_context, &chunk.maps]
                        .into_iter()
                        .find_map(Option::as_ref);
                    source.map_or_else(Default::default, page)
                })
                .collect();
        }
        for support in grounding.grounding_supports.iter().flatten() {
            let segment = support.segment.as_ref();
            let count =
                |pick: fn(&Segment<'_>) -> Count| segment.and_then(|s| pick(s).0).map(index);
            for chunk in support.grounding_chunk_indices.iter().flatten() {
                self.keep(Support {
                    source: SupportSource::Chunk(index(chunk.get())),
                    part: count(|s| s.part_index).unwrap_or(0),
                    start: count(|s| s.start_index).unwrap_or(0),
                    end: count(|s| s.end_index),
                    text: segment.and_then(|s| s.text.as_deref()).map(str::to_owned),
                });
            }
        }
    }

    /// Takes sources that the answer recites.
    pub(super) fn recite(&mut self, metadata: &CitationMetadata<'_>) {
        for recited in metadata.all() {
            let Some(url) = recited.uri.as_deref() else {
                continue;
            };
            self.keep(Support {
                source: SupportSource::Page {
                    url: url.to_owned(),
                    title: recited.title.as_deref().unwrap_or_default().to_owned(),
                },
                part: 0,
                start: index(recited.start_index.get()),
                end: recited.end_index.0.map(index),
                text: None,
            });
        }
    }

    fn keep(&mut self, support: Support) {
        if !self.supports.contains(&support) {
            self.supports.push(support);
        }
    }

    /// The citations of the whole text, in the order they were told; empties the store.
    pub(super) fn citations(&mut self) -> Vec<Citation> {
        let supports = std::mem::take(&mut self.supports);
        supports
            .into_iter()
            .filter_map(|support| self.citation(support))
            .collect()
    }

    fn citation(&self, support: Support) -> Option<Citation> {
        let (url, title) = match &support.source {
            SupportSource::Chunk(place) => self.chunks.get(*place)?.clone(),
            SupportSource::Page { url, title } => (url.clone(), title.clone()),
        };
        if url.is_empty() {
            return None;
        }
        let range = self.byte_range(&support);
        let chars = |byte: usize| self.text[..byte].chars().count() as u64;
        Some(Citation {
            cited_text: support
                .text
                .or_else(|| range.clone().map(|range| self.text[range].to_owned())),
            source: CitationSource::Url {
                url,
                title,
                start: range.as_ref().map(|range| chars(range.start)),
                end: range.as_ref().map(|range| chars(range.end)),
            },
            raw: None,
        })
    }

    /// Where the supported words are. `partIndex` counts parts of one event in a stream and parts
    /// of the whole in a buffered answer, so the segment's own text decides where it is told.
    fn byte_range(&self, support: &Support) -> Option<std::ops::Range<usize>> {
        let first_text = self.blocks.iter().flatten().next().copied().unwrap_or(0);
        let base = self
            .blocks
            .get(support.part)
            .copied()
            .flatten()
            .unwrap_or(first_text);
        let end = support.end?;
        let fits = |base: usize| {
            let range = base.checked_add(support.start)?..base.checked_add(end)?;
            self.text.get(range.clone()).map(|_| range)
        };
        let Some(words) = support.text.as_deref().filter(|words| !words.is_empty()) else {
            return fits(base);
        };
        [base, 0]
            .into_iter()
            .filter_map(fits)
            .find(|range| &self.text[range.clone()] == words)
            .or_else(|| {
                self.text
                    .find(words)
                    .map(|start| start..start + words.len())
            })
            .or_else(|| fits(base))
    }
}

fn page(source: &GroundingSource<'_>) -> (String, String) {
    (
        source.uri.as_deref().unwrap_or_default().to_owned(),
        source.title.as_deref().unwrap_or_default().to_owned(),
    )
}

fn index(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
