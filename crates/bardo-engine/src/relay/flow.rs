use bardo_types::fault::Fault;
use tokio::time::Instant;

use super::output::{Output, Progress};
use super::passthrough::Passthrough;
use super::transcode::Transcode;
use crate::record::RequestRecord;
use crate::source::Piece;

/// One direction of work: relayed or translated.
pub(crate) enum Pipeline {
    Passthrough(Box<Passthrough>),
    Transcode(Box<Transcode>),
}

/// From the provider's bytes to the caller's.
pub(super) struct Flow {
    pump: Pipeline,
    pub(super) progress: Progress,
    pub(super) out: Output,
    pub(super) last_data: Instant,
}

impl Flow {
    pub(super) fn new(pump: Pipeline, now: Instant) -> Self {
        Self {
            pump,
            progress: Progress::default(),
            out: Output::default(),
            last_data: now,
        }
    }

    pub(super) fn take(&mut self, piece: Piece, record: &mut RequestRecord) {
        let before = self.progress.events;
        let (progress, out) = (&mut self.progress, &mut self.out);
        match (&mut self.pump, piece) {
            (Pipeline::Passthrough(pass), Piece::Data(data)) => {
                pass.data(data, progress, out, record)
            }
            (Pipeline::Transcode(translate), Piece::Data(data)) => {
                translate.data(&data, progress, out, record);
            }
            (Pipeline::Transcode(translate), Piece::Step(step)) => {
                translate.step(step, progress, out, record);
            }
            // A relay is made of bytes.
            (Pipeline::Passthrough(_), Piece::Step(_)) => {}
        }
        if self.progress.events != before {
            self.last_data = Instant::now();
        }
    }

    /// The provider closed; `whole`: its body ended as HTTP says that it does.
    pub(super) fn end(&mut self, whole: bool, record: &mut RequestRecord) {
        let (progress, out) = (&mut self.progress, &mut self.out);
        match &mut self.pump {
            Pipeline::Passthrough(pass) => pass.end(whole, progress, out, record),
            Pipeline::Transcode(translate) => translate.end(whole, progress, out, record),
        }
    }

    /// Writes the closing comment and the terminal event.
    pub(super) fn close(&mut self, figures: &str) {
        match &mut self.pump {
            Pipeline::Passthrough(pass) => pass.close(figures, &mut self.out),
            Pipeline::Transcode(translate) => translate.close(figures, &mut self.out),
        }
    }

    /// Writes the error event, after which nothing more comes.
    pub(super) fn fail(&mut self, fault: &Fault, request_id: &str) {
        match &mut self.pump {
            Pipeline::Passthrough(pass) => pass.fail(fault, &mut self.out, request_id),
            Pipeline::Transcode(translate) => translate.fail(fault, &mut self.out, request_id),
        }
    }
}
