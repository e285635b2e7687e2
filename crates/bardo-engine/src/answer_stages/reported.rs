//! What the receipt learns of an answer as it passes.

use bardo_types::chat::{ChatResponse, StreamEvent};

use super::stage::AnswerStage;
use crate::answer_notes::AnswerNotes;

/// Notes the usage and the model that the provider reports, and meters what is handed over for a
/// provider that does not report.
#[derive(Default)]
pub(super) struct Reported {
    /// The provider said why an answer ended.
    finished: bool,
}

impl AnswerStage for Reported {
    fn events(&mut self, events: &mut Vec<StreamEvent>, notes: &mut dyn AnswerNotes) {
        for event in &*events {
            match event {
                StreamEvent::Start {
                    model: Some(model), ..
                } => notes.answered_by(model),
                StreamEvent::Usage(usage) => notes.count(usage),
                StreamEvent::Finish { .. } => self.finished = true,
                _ => {}
            }
            if let Some(meter) = notes.live_meter() {
                meter.step(event);
            }
        }
        notes.note_finished(self.finished);
    }

    fn whole(&mut self, answer: &mut ChatResponse, notes: &mut dyn AnswerNotes) {
        if let Some(usage) = &answer.usage {
            notes.count(usage);
        }
        if let Some(model) = &answer.model {
            notes.answered_by(model);
        }
    }
}
