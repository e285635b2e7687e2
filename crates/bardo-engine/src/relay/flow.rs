use bardo_types::fault::Fault;
use tokio::time::Instant;

use super::output::{Output, Progress};
use super::pass::Pass;
use super::translate::Translate;
use crate::source::Piece;
use crate::tab::Tab;

/// One direction of work: relayed or translated.
pub(crate) enum Pump {
    Pass(Box<Pass>),
    Translate(Box<Translate>),
}

/// From the provider's bytes to the caller's.
pub(super) struct Flow {
    pump: Pump,
    pub(super) progress: Progress,
    pub(super) out: Output,
    pub(super) last_data: Instant,
}

impl Flow {
    pub(super) fn new(pump: Pump, now: Instant) -> Self {
        Self {
            pump,
            progress: Progress::default(),
            out: Output::default(),
            last_data: now,
        }
    }

    pub(super) fn take(&mut self, piece: Piece, tab: &mut Tab) {
        let before = self.progress.events;
        let (progress, out) = (&mut self.progress, &mut self.out);
        match (&mut self.pump, piece) {
            (Pump::Pass(pass), Piece::Data(data)) => pass.data(data, progress, out, tab),
            (Pump::Translate(translate), Piece::Data(data)) => {
                translate.data(&data, progress, out, tab);
            }
            (Pump::Translate(translate), Piece::Step(step)) => {
                translate.step(step, progress, out, tab);
            }
            // A relay is made of bytes.
            (Pump::Pass(_), Piece::Step(_)) => {}
        }
        if self.progress.events != before {
            self.last_data = Instant::now();
        }
    }

    /// The provider closed; `whole`: its body ended as HTTP says that it does.
    pub(super) fn end(&mut self, whole: bool, tab: &mut Tab) {
        let (progress, out) = (&mut self.progress, &mut self.out);
        match &mut self.pump {
            Pump::Pass(pass) => pass.end(whole, progress, out, tab),
            Pump::Translate(translate) => translate.end(whole, progress, out, tab),
        }
    }

    /// Writes the closing comment and the terminal event.
    pub(super) fn close(&mut self, figures: &str) {
        match &mut self.pump {
            Pump::Pass(pass) => pass.close(figures, &mut self.out),
            Pump::Translate(translate) => translate.close(figures, &mut self.out),
        }
    }

    /// Writes the error event, after which nothing more comes.
    pub(super) fn fail(&mut self, fault: &Fault, request_id: &str) {
        match &mut self.pump {
            Pump::Pass(pass) => pass.fail(fault, &mut self.out, request_id),
            Pump::Translate(translate) => translate.fail(fault, &mut self.out, request_id),
        }
    }
}
