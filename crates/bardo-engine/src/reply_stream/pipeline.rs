//! From the pieces of a source to the bytes of the caller: verbatim, passed through or transcoded.

use bardo_types::fault::Fault;
use tokio::time::Instant;

use super::closing::Closing;
use super::output::{Output, Progress};
use super::passthrough::Passthrough;
use super::transcode::Transcode;
use crate::answer_notes::AnswerNotes;
use crate::source::Piece;

/// The conversion of the pieces of an answer on their way to the caller.
pub(crate) enum Conversion {
    /// The bytes are those of an answer that a caller got before: nothing.
    Verbatim,
    /// The provider's events are handed on.
    Passthrough(Box<Passthrough>),
    /// The provider's events are translated.
    Transcode(Box<Transcode>),
}

/// From the pieces of a source to the bytes of the caller.
pub(super) struct AnswerPipeline {
    conversion: Conversion,
    pub(super) progress: Progress,
    pub(super) out: Output,
    pub(super) last_data: Instant,
}

impl AnswerPipeline {
    pub(super) fn new(conversion: Conversion, now: Instant) -> Self {
        Self {
            conversion,
            progress: Progress::default(),
            out: Output::default(),
            last_data: now,
        }
    }

    pub(super) fn take(&mut self, piece: Piece, notes: &mut dyn AnswerNotes) {
        let before = self.progress.events;
        let (progress, out) = (&mut self.progress, &mut self.out);
        match (&mut self.conversion, piece) {
            (Conversion::Passthrough(pass), Piece::Data(data)) => {
                pass.data(data, progress, out, notes);
            }
            (Conversion::Transcode(transcode), Piece::Data(data)) => {
                transcode.data(&data, progress, out, notes);
            }
            (Conversion::Transcode(transcode), Piece::Event(event)) => {
                transcode.event(*event, progress, out, notes);
            }
            (Conversion::Verbatim, Piece::Data(data)) => {
                progress.events += 1;
                progress.content = true;
                out.push(data);
            }
            // Only an encoder makes bytes of events.
            (Conversion::Verbatim | Conversion::Passthrough(_), Piece::Event(_)) => {}
        }
        if self.progress.events != before {
            self.last_data = Instant::now();
        }
    }

    /// The source is over; `whole`: its body ended as HTTP says that it does.
    pub(super) fn end(&mut self, whole: bool, notes: &mut dyn AnswerNotes) {
        let (progress, out) = (&mut self.progress, &mut self.out);
        match &mut self.conversion {
            Conversion::Verbatim => progress.done = true,
            Conversion::Passthrough(pass) => pass.end(whole, progress, out, notes),
            Conversion::Transcode(transcode) => transcode.end(whole, progress, out, notes),
        }
    }

    /// Writes the figures, the closing comment and the terminal event.
    pub(super) fn close(&mut self, closing: &Closing) {
        match &mut self.conversion {
            Conversion::Verbatim => {}
            Conversion::Passthrough(pass) => pass.close(closing, &mut self.out),
            Conversion::Transcode(transcode) => transcode.close(closing, &mut self.out),
        }
    }

    /// Writes the error event, after which nothing more comes.
    pub(super) fn fail(&mut self, fault: &Fault, request_id: &str) {
        match &mut self.conversion {
            Conversion::Verbatim => {}
            Conversion::Passthrough(pass) => pass.fail(fault, &mut self.out, request_id),
            Conversion::Transcode(transcode) => transcode.fail(fault, &mut self.out, request_id),
        }
    }
}
