//! What a translated answer passes between its decoder and its encoder, streamed or whole.
//!
//! A new stage is an [`AnswerStage`] and a line in [`AnswerStages::live`] or one of its neighbours.

mod at_end;
mod changes;
mod recorded;
mod replayed;
mod reported;
mod stage;

use std::sync::Arc;

use bardo_profile::SchemaCheck;
use bardo_types::chat::{ChatResponse, StreamEvent};

use crate::answer_notes::AnswerNotes;
use crate::recording::Recording;
use crate::schema;
use crate::shape::Translation;

use at_end::AtEnd;
use changes::{Lift, Plain, Textual};
use recorded::RecordedEvents;
use replayed::Replayed;
use reported::Reported;
pub(crate) use stage::{AnswerStage, OnComplete};

/// All stages of one answer, in order.
#[derive(Default)]
pub(crate) struct AnswerStages(Vec<Box<dyn AnswerStage>>);

impl AnswerStages {
    /// The stages of an answer that is handed over as it comes.
    pub(crate) fn live(translation: &Translation, keep: OnComplete) -> Self {
        let mut stages = Self::before_check(translation);
        stages.add(Reported::default());
        let note = translation.schema.clone().map(note_schema);
        stages.add(AtEnd::new(note.into_iter().chain([keep])));
        stages
    }

    /// The stages of an answer that is checked before anything of it is handed over: calls and
    /// thinking are taken out of the text first, then the arguments of an answering tool become the
    /// answer.
    pub(crate) fn before_check(translation: &Translation) -> Self {
        let mut stages = Self::default();
        if translation.textual {
            stages.add(Textual::new(&translation.decode));
        }
        if let Some(lift) = &translation.lift {
            stages.add(Lift::new(lift));
        }
        stages
    }

    /// The remaining stages of an answer that was checked.
    pub(crate) fn once_checked(check: &SchemaCheck, keep: OnComplete) -> Self {
        let mut stages = Self::default();
        stages.add(Plain(check.clone()));
        stages.add(AtEnd::new([keep]));
        stages
    }

    /// The stages of an answer that no provider is called for.
    pub(crate) fn replayed(keep: Option<OnComplete>) -> Self {
        let mut stages = Self::default();
        stages.add(Replayed);
        if keep.is_some() {
            stages.add(AtEnd::new(keep));
        }
        stages
    }

    /// The stages with one behind them that notes the events for the cache.
    pub(crate) fn recorded(mut self, recording: Option<Arc<Recording>>) -> Self {
        if let Some(recording) = recording {
            self.add(RecordedEvents(recording));
        }
        self
    }

    /// Adds a stage behind the others.
    fn add(&mut self, stage: impl AnswerStage + 'static) {
        self.0.push(Box::new(stage));
    }

    /// Passes the next events of a stream, in place.
    pub(crate) fn events(&mut self, events: &mut Vec<StreamEvent>, notes: &mut dyn AnswerNotes) {
        for stage in &mut self.0 {
            stage.events(events, notes);
        }
    }

    /// Passes a whole answer.
    pub(crate) fn whole(mut self, answer: &mut ChatResponse, notes: &mut dyn AnswerNotes) {
        for stage in &mut self.0 {
            stage.whole(answer, notes);
        }
    }
}

/// Notes in the receipt whether an answer that is handed over unchecked matches its schema.
fn note_schema(check: SchemaCheck) -> OnComplete {
    Box::new(move |answer, notes| schema::note(&check, answer, notes))
}
