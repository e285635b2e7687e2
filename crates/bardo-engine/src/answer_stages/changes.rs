//! The stages that change an answer.

use bardo_profile::{AnswerLift, SchemaCheck};
use bardo_types::chat::{ChatResponse, StreamEvent};
use bardo_wire::codec::DecodeContext;
use bardo_wire::textual::{self, EventFilter};

use super::stage::AnswerStage;
use crate::answer_notes::AnswerNotes;
use crate::schema;

/// Takes thinking and calls out of the text of models that write them there.
pub(super) struct Textual {
    filter: EventFilter,
    context: DecodeContext,
    changed: Vec<StreamEvent>,
}

impl Textual {
    /// A filter for the answer to the request of `context`.
    pub(super) fn new(context: &DecodeContext) -> Self {
        Self {
            filter: EventFilter::new(context),
            context: context.clone(),
            changed: Vec::new(),
        }
    }
}

impl AnswerStage for Textual {
    fn events(&mut self, events: &mut Vec<StreamEvent>, _notes: &mut dyn AnswerNotes) {
        for event in events.drain(..) {
            self.filter.push(event, &mut self.changed);
        }
        std::mem::swap(events, &mut self.changed);
    }

    fn whole(&mut self, answer: &mut ChatResponse, _notes: &mut dyn AnswerNotes) {
        *answer = textual::filter_response(std::mem::take(answer), &self.context);
    }
}

/// Turns the arguments of the tool that a model answers with into its answer.
pub(super) struct Lift {
    lift: AnswerLift,
    changed: Vec<StreamEvent>,
}

impl Lift {
    /// A stage for the answer that `lift` describes.
    pub(super) fn new(lift: &AnswerLift) -> Self {
        Self {
            lift: lift.clone(),
            changed: Vec::new(),
        }
    }
}

impl AnswerStage for Lift {
    fn events(&mut self, events: &mut Vec<StreamEvent>, _notes: &mut dyn AnswerNotes) {
        for event in events.drain(..) {
            self.lift.step(event, &mut self.changed);
        }
        std::mem::swap(events, &mut self.changed);
    }

    fn whole(&mut self, answer: &mut ChatResponse, _notes: &mut dyn AnswerNotes) {
        self.lift.whole(answer);
    }
}

/// Hands over the JSON of a checked answer without the words around it, where the model was told
/// its schema in words.
pub(super) struct Plain(pub(super) SchemaCheck);

impl AnswerStage for Plain {
    /// A checked answer is complete, so that it is never passed as events.
    fn events(&mut self, _events: &mut Vec<StreamEvent>, _notes: &mut dyn AnswerNotes) {}

    fn whole(&mut self, answer: &mut ChatResponse, _notes: &mut dyn AnswerNotes) {
        schema::plain(&self.0, answer);
    }
}

#[cfg(test)]
mod tests;
