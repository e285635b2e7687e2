//! What is done with an answer once it is complete.

use bardo_types::chat::{Assembler, ChatResponse, StreamEvent};

use super::stage::{AnswerStage, OnComplete};
use crate::answer_notes::AnswerNotes;

/// Assembles a stream, and shows the complete answer to its readers. An answer that fails is shown
/// to none.
pub(super) struct AtEnd {
    /// `None` once the stream is over.
    assembler: Option<Assembler>,
    readers: Vec<OnComplete>,
}

impl AtEnd {
    /// Shows the complete answer to `readers`, in order.
    pub(super) fn new(readers: impl IntoIterator<Item = OnComplete>) -> Self {
        Self {
            assembler: Some(Assembler::default()),
            readers: readers.into_iter().collect(),
        }
    }

    fn show(&mut self, answer: &ChatResponse, notes: &mut dyn AnswerNotes) {
        for reader in self.readers.drain(..) {
            reader(answer, notes);
        }
    }
}

impl AnswerStage for AtEnd {
    fn events(&mut self, events: &mut Vec<StreamEvent>, notes: &mut dyn AnswerNotes) {
        let Some(assembler) = &mut self.assembler else {
            return;
        };
        for event in &*events {
            assembler.push(event.clone());
        }
        if matches!(events.last(), Some(StreamEvent::Done))
            && let Some(Ok(answer)) = self.assembler.take().map(Assembler::finish)
        {
            self.show(&answer, notes);
        }
    }

    fn whole(&mut self, answer: &mut ChatResponse, notes: &mut dyn AnswerNotes) {
        self.show(answer, notes);
    }
}
