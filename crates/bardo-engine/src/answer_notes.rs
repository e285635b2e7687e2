//! What an answer leaves in the record of its request as it passes.

use bardo_profile::SchemaCheck;
use bardo_types::usage::Usage;
use bardo_wire::codec::Observed;

use crate::meter::Meter;
use crate::record::RequestRecord;

/// Takes note of an answer as it passes.
pub(crate) trait AnswerNotes: Send {
    /// Notes what a relayed answer shows of its usage and model.
    fn observe(&mut self, seen: &Observed);

    /// Notes usage that the provider reports; later figures supersede earlier ones.
    fn count(&mut self, usage: &Usage);

    /// Notes whether the usage so far is final, given that the provider finished the answer or not.
    fn note_finished(&mut self, finished: bool);

    /// Notes the provider's name of the model that answers.
    fn answered_by(&mut self, model: &str);

    /// Notes whether an answer that was handed over unchecked matches its schema.
    fn matched(&mut self, check: &SchemaCheck, matches: bool);

    /// Notes the usage of an answer that no provider is called for, when one made it.
    fn saved(&mut self, usage: &Usage);

    /// The meter of an answer that is being made; `None` where nothing is counted.
    fn live_meter(&mut self) -> Option<&mut Meter>;
}

impl AnswerNotes for RequestRecord {
    fn observe(&mut self, seen: &Observed) {
        Self::observe(self, seen);
    }

    fn count(&mut self, usage: &Usage) {
        Self::count(self, usage);
    }

    fn note_finished(&mut self, finished: bool) {
        self.note_counted(finished && self.has_usage());
    }

    fn answered_by(&mut self, model: &str) {
        Self::answered_by(self, model);
    }

    fn matched(&mut self, check: &SchemaCheck, matches: bool) {
        self.schema(check, Some(matches), false);
    }

    fn saved(&mut self, usage: &Usage) {
        Self::saved(self, usage);
    }

    fn live_meter(&mut self) -> Option<&mut Meter> {
        Self::live_meter(self)
    }
}

/// The notes of an answer whose request is settled already: none are taken.
pub(crate) struct NoNotes;

impl AnswerNotes for NoNotes {
    fn observe(&mut self, _seen: &Observed) {}

    fn count(&mut self, _usage: &Usage) {}

    fn note_finished(&mut self, _finished: bool) {}

    fn answered_by(&mut self, _model: &str) {}

    fn matched(&mut self, _check: &SchemaCheck, _matches: bool) {}

    fn saved(&mut self, _usage: &Usage) {}

    fn live_meter(&mut self) -> Option<&mut Meter> {
        None
    }
}
