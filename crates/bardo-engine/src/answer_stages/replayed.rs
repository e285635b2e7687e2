//! The stage of an answer that no provider is called for.

use bardo_types::chat::{ChatResponse, StreamEvent};

use super::stage::AnswerStage;
use crate::answer_notes::AnswerNotes;

/// Gives an answer an id of its own, and notes the usage that it saves.
pub(super) struct Replayed;

impl AnswerStage for Replayed {
    fn events(&mut self, events: &mut Vec<StreamEvent>, notes: &mut dyn AnswerNotes) {
        for event in events {
            match event {
                StreamEvent::Start { id, created, .. } => (*id, *created) = (None, None),
                StreamEvent::Usage(usage) => notes.saved(usage),
                _ => {}
            }
        }
    }

    fn whole(&mut self, answer: &mut ChatResponse, notes: &mut dyn AnswerNotes) {
        (answer.id, answer.created) = (None, None);
        if let Some(usage) = &answer.usage {
            notes.saved(usage);
        }
    }
}
