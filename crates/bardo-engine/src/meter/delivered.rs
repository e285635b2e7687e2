use std::collections::BTreeMap;

use bardo_types::chat::StreamEvent;

use crate::tokenizer;

/// Text that was handed on: what is not counted yet, and the count of what is.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    /// Each place's text is counted by itself, as a model writes it.
    open: BTreeMap<Place, String>,
    /// Bytes in `open`.
    bytes: usize,
    tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Words,
    Reasoning(u32),
    Text(u32),
    Refusal(u32),
    Call(u32, u32),
    Server(u32),
}

impl Delivered {
    /// Adds words whose place nobody told.
    pub(super) fn words(&mut self, text: &str) {
        self.add(Place::Words, text);
    }

    /// Adds what a step says; the bytes of it.
    pub(super) fn step(&mut self, step: &StreamEvent) -> u64 {
        match step {
            StreamEvent::Reasoning { choice, text, .. } => {
                self.add(Place::Reasoning(*choice), text)
            }
            StreamEvent::Text { choice, text } => self.add(Place::Text(*choice), text),
            StreamEvent::Refusal { choice, text } => self.add(Place::Refusal(*choice), text),
            StreamEvent::ToolStart {
                choice, call, name, ..
            } => self.add(Place::Call(*choice, *call), name),
            StreamEvent::ToolInput {
                choice,
                call,
                fragment,
            } => self.add(Place::Call(*choice, *call), fragment),
            StreamEvent::Server { choice, block } if is_written(&block.kind) => {
                self.add(Place::Server(*choice), block.raw.as_str())
            }
            StreamEvent::Start { .. }
            | StreamEvent::ReasoningEnd { .. }
            | StreamEvent::TextEnd { .. }
            | StreamEvent::Citation { .. }
            | StreamEvent::ToolEnd { .. }
            | StreamEvent::Server { .. }
            | StreamEvent::Logprobs { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Finish { .. }
            | StreamEvent::Done
            | StreamEvent::Failed(_) => 0,
        }
    }

    fn add(&mut self, place: Place, text: &str) -> u64 {
        if !text.is_empty() {
            self.open.entry(place).or_default().push_str(text);
            self.bytes += text.len();
        }
        text.len() as u64
    }

    /// Counts what is there, but for the unfinished word at each place's end, once it is more than
    /// `max` bytes.
    pub(super) fn fold_above(&mut self, max: usize) {
        if self.bytes <= max {
            return;
        }
        for text in self.open.values_mut() {
            let end = settled(text);
            self.tokens += tokenizer::text_tokens(&text[..end]);
            text.drain(..end);
        }
        self.open.retain(|_, text| !text.is_empty());
        self.bytes = self.open.values().map(String::len).sum();
    }

    /// The tokens of everything.
    pub(super) fn count(self) -> u64 {
        let open = self.open.values().map(|text| tokenizer::text_tokens(text));
        self.tokens + open.sum::<u64>()
    }
}

/// Whether the model wrote a block of this kind, as it does calls of the provider's tools. Their
/// results, and state that nobody can read, are no output of its.
fn is_written(kind: &str) -> bool {
    kind.ends_with("_use") || kind.ends_with("_call") || kind == "executableCode"
}

/// A word longer than this is cut wherever it is.
const WORD_MAX: usize = 1_024;

/// How much of a text no later word can change: up to a space that follows a word and begins
/// another, because the tokenizer never joins words.
fn settled(text: &str) -> usize {
    let from = text.ceil_char_boundary(text.len().saturating_sub(WORD_MAX));
    let bytes = text.as_bytes();
    let is_gap = |at: usize| {
        bytes[at] == b' '
            && bytes[at - 1].is_ascii_alphanumeric()
            && bytes
                .get(at + 1)
                .is_some_and(|next| next.is_ascii_alphabetic())
    };
    (from.max(1)..text.len())
        .rev()
        .find(|&at| is_gap(at))
        .unwrap_or(from)
}
