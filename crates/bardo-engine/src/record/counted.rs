//! What a provider counts, as it is taken into the receipt.

use bardo_types::usage::Usage;
use bardo_wire::codec::Observed;

use super::RequestRecord;
use crate::meter::Meter;

impl RequestRecord {
    /// The provider's work is done, and counted as far as it counts. Of what is handed over from
    /// now on nothing is counted again.
    pub(crate) fn complete(&mut self, meter: Option<Meter>) {
        self.counted = self.receipt.usage.is_some();
        self.meter = meter;
        self.is_complete = true;
        // What it did unseen is in its figures.
        self.asked_of = None;
    }

    /// Counts what is handed over of an answer that is being made.
    pub(crate) fn live_meter(&mut self) -> Option<&mut Meter> {
        self.meter.as_mut().filter(|_| !self.is_complete)
    }

    /// Whether the provider has said its last word on the usage so far.
    pub(crate) fn note_counted(&mut self, counted: bool) {
        if !self.is_complete {
            self.counted = counted;
        }
    }

    pub(crate) fn observe(&mut self, seen: &Observed) {
        if self.is_complete {
            return;
        }
        if let Some(usage) = &seen.usage {
            if self.receipt.usage.as_ref() != Some(usage) {
                self.receipt.usage = Some(usage.clone());
            }
            self.counted = seen.finished || seen.terminal;
        }
        if let Some(model) = &seen.model {
            self.answered_by(model);
        }
    }

    pub(crate) fn count(&mut self, usage: &Usage) {
        if self.is_complete {
            return;
        }
        match &mut self.receipt.usage {
            Some(known) => known.supersede(usage),
            empty => *empty = Some(usage.clone()),
        }
    }

    /// Adds the usage of another attempt at the same backend.
    pub(crate) fn add(&mut self, usage: &Usage) {
        match &mut self.receipt.usage {
            Some(known) => known.add(usage),
            empty => *empty = Some(usage.clone()),
        }
        let again = self.receipt.attempts.last().cloned();
        self.receipt.attempts.extend(again);
    }

    pub(crate) fn answered_by(&mut self, model: &str) {
        if self.receipt.model_answered.as_deref() != Some(model) {
            self.receipt.model_answered = Some(model.into());
        }
    }
}
