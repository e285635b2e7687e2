//! What a caller was handed, counted where the provider does not tell: streams that were left, cut
//! or ended without their usage.
//!
//! While an answer flows a [`Meter`] only remembers it; decoding and counting wait until somebody
//! asks, which for nearly all answers is never. Memory is bounded: beyond [`KEPT_MAX`] the events
//! become text, beyond [`TEXT_MAX`] the text becomes a number.

mod delivered;
mod skim;

use std::sync::Arc;

use bardo_types::chat::{ChatRequest, StreamEvent};
use bardo_types::model::{Capabilities, Dialect, Service};
use bardo_types::usage::Usage;
use bardo_wire::codec::{DecodeContext, Target};
use bytes::Bytes;

use crate::events::EventReader;
use crate::tokenizer;
use delivered::Delivered;

/// Number of bytes of events that are stored unread.
const KEPT_MAX: usize = 64 << 10;
/// Number of bytes of text that are stored uncounted.
const TEXT_MAX: usize = 64 << 10;

/// Counts what one caller was handed of one answer.
pub struct Meter {
    dialect: Dialect,
    /// Events as they were handed on, not looked at yet.
    kept: Vec<u8>,
    /// There once events had to be folded.
    reader: Option<Box<Reader>>,
    delivered: Delivered,
    /// Bytes of content, by a quick look.
    skimmed: u64,
    /// Number of bytes of `kept` that `skimmed` includes. They are read only on demand.
    looked: usize,
}

/// Reads kept events; lives from one fold to the next, since an event may be cut by it.
struct Reader {
    events: EventReader,
    read: Vec<StreamEvent>,
}

impl Meter {
    /// A meter for an answer that comes in `dialect`.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            kept: Vec::new(),
            reader: None,
            delivered: Delivered::default(),
            skimmed: 0,
            looked: 0,
        }
    }

    /// Notes bytes of the stream that the caller was handed. They may be cut anywhere.
    pub fn keep(&mut self, bytes: Bytes) {
        self.kept.extend_from_slice(&bytes);
        if self.kept.len() > KEPT_MAX {
            self.fold();
        }
    }

    /// Notes words that the caller was handed by another way than [`Self::keep`].
    pub fn text(&mut self, text: &str) {
        self.skimmed = self.skimmed.saturating_add(text.len() as u64);
        self.delivered.words(text);
        self.delivered.fold_above(TEXT_MAX);
    }

    /// Notes a neutral step that the caller was handed, whatever it became in its dialect.
    pub fn step(&mut self, step: &StreamEvent) {
        let bytes = self.delivered.step(step);
        self.skimmed = self.skimmed.saturating_add(bytes);
        self.delivered.fold_above(TEXT_MAX);
    }

    /// About how many bytes of content the caller was handed, at next to no cost.
    #[must_use]
    pub fn estimate_bytes(&mut self) -> u64 {
        self.skim();
        self.skimmed
    }

    /// Counts all of it: words, thinking and calls, by the public tokenizer.
    ///
    /// Takes time in proportion to the length, and the tokenizer loads at the first use, so this
    /// is nothing for a thread that serves others.
    fn delivered_tokens(mut self) -> u64 {
        self.fold();
        if let Some(mut reader) = self.reader.take() {
            reader.finish(&mut self.delivered);
        }
        self.delivered.count()
    }

    /// The usage to charge for: the provider's report where it is complete, else our count of the
    /// prompt and of the delivered output in place of the missing members. The flag tells whether
    /// anything was counted here.
    ///
    /// `complete` says that the provider told why the answer ended, so that its counts are its
    /// last. Before that they may be of any moment, and more may have been delivered since.
    #[must_use]
    pub fn reckon(
        self,
        reported: Option<Usage>,
        complete: bool,
        prompt: impl FnOnce() -> u64,
    ) -> (Usage, bool) {
        let mut usage = reported.unwrap_or_default();
        let mut estimated = false;
        if usage.prompt() == 0 {
            usage.fresh_input = prompt();
            estimated = true;
        }
        if !complete || usage.output == 0 {
            let delivered = self.delivered_tokens();
            estimated |= !complete || delivered > 0;
            usage.output = usage.output.max(delivered);
        }
        (usage, estimated)
    }

    /// Looks at what nobody has looked at yet.
    fn skim(&mut self) {
        let fresh = &self.kept[self.looked..];
        self.skimmed = self
            .skimmed
            .saturating_add(skim::content_bytes(self.dialect, fresh));
        self.looked = self.kept.len();
    }

    /// Turns kept events into text.
    fn fold(&mut self) {
        if self.kept.is_empty() {
            return;
        }
        self.skim();
        let reader = self
            .reader
            .get_or_insert_with(|| Box::new(Reader::new(self.dialect)));
        reader.read(&self.kept, &mut self.delivered);
        self.kept.clear();
        self.looked = 0;
        self.delivered.fold_above(TEXT_MAX);
    }
}

impl Reader {
    fn new(dialect: Dialect) -> Self {
        Self {
            events: EventReader::new(dialect, context(dialect)),
            read: Vec::new(),
        }
    }

    fn read(&mut self, bytes: &[u8], delivered: &mut Delivered) {
        // An event beyond the limit was never handed on, so there is nothing to count.
        self.events.read(bytes, &mut self.read);
        self.count(delivered);
    }

    fn finish(&mut self, delivered: &mut Delivered) {
        self.events.end(false, &mut self.read);
        self.count(delivered);
    }

    fn count(&mut self, delivered: &mut Delivered) {
        for event in self.read.drain(..) {
            delivered.step(&event);
        }
    }
}

/// Nothing in a request changes how much an answer says.
fn context(dialect: Dialect) -> DecodeContext {
    DecodeContext {
        target: Target {
            model: String::new(),
            service: Service::Local,
            capabilities: Arc::new(Capabilities::default()),
        },
        request: Arc::new(ChatRequest::new(dialect, "")),
        renamed_tools: Vec::new(),
        id_seed: String::new(),
    }
}

/// The tokens of a prompt, for answers that do not tell. Loads the tokenizer at the first use.
#[must_use]
pub fn prompt_tokens(request: &ChatRequest) -> u64 {
    tokenizer::estimate(request)
}

#[cfg(test)]
mod tests;
