//! The stage that notes an answer for the cache.

use std::sync::Arc;

use bardo_types::chat::{ChatResponse, StreamEvent};

use super::stage::AnswerStage;
use crate::answer_notes::AnswerNotes;
use crate::recording::Recording;

/// Notes the events of a stream as its caller gets them.
pub(super) struct RecordedEvents(pub(super) Arc<Recording>);

impl AnswerStage for RecordedEvents {
    fn events(&mut self, events: &mut Vec<StreamEvent>, _notes: &mut dyn AnswerNotes) {
        self.0.push(&mut events.clone());
    }

    /// A whole answer is noted once all stages have passed it.
    fn whole(&mut self, _answer: &mut ChatResponse, _notes: &mut dyn AnswerNotes) {}
}
