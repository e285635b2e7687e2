//! The form of a stage.

use bardo_types::chat::{ChatResponse, StreamEvent};

use crate::answer_notes::AnswerNotes;

/// One stage of an answer. The events of a stream, passed one by one, make the same answer as the
/// whole one, passed at once.
pub(crate) trait AnswerStage: Send {
    /// Works on the next events of a stream, in place. Events that a stage holds back come with
    /// later ones, at the latest before [`StreamEvent::Done`], which comes once and last.
    fn events(&mut self, events: &mut Vec<StreamEvent>, notes: &mut dyn AnswerNotes);

    /// Works on a whole answer.
    fn whole(&mut self, answer: &mut ChatResponse, notes: &mut dyn AnswerNotes);
}

/// Runs once an answer is complete, with all of it; for what remembers or stores answers.
pub(crate) type OnComplete = Box<dyn FnOnce(&ChatResponse, &mut dyn AnswerNotes) + Send>;
