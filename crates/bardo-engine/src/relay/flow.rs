use bardo_types::fault::Fault;
use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use super::pass::Pass;
use super::translate::Translate;
use crate::tab::Tab;

/// One direction of work: relayed or translated.
pub(crate) enum Pump {
    Pass(Box<Pass>),
    Translate(Box<Translate>),
}

/// What has become of the stream so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Events with content or control, not pings or comments.
    pub(super) events: u64,
    /// The caller has something to read that no other provider may repeat.
    pub(super) content: bool,
    /// The terminal event is there; it is written when the figures are.
    pub(super) done: bool,
    /// The provider failed; nothing was written of it.
    pub(super) fault: Option<Fault>,
}

/// Bytes ready for the caller. One slice is handed on as it is; several are joined.
#[derive(Default)]
pub(super) struct Output {
    first: Bytes,
    rest: BytesMut,
}

impl Output {
    pub(super) fn push(&mut self, bytes: Bytes) {
        if bytes.is_empty() {
        } else if self.first.is_empty() && self.rest.is_empty() {
            self.first = bytes;
        } else {
            self.buffer().extend_from_slice(&bytes);
        }
    }

    /// The buffer behind everything pushed so far.
    pub(super) fn buffer(&mut self) -> &mut BytesMut {
        if !self.first.is_empty() {
            let first = std::mem::take(&mut self.first);
            self.rest.extend_from_slice(&first);
        }
        &mut self.rest
    }

    pub(super) fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    pub(super) fn take(&mut self) -> Bytes {
        if self.first.is_empty() {
            self.rest.split().freeze()
        } else {
            std::mem::take(&mut self.first)
        }
    }
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

    pub(super) fn take(&mut self, frame: http_body::Frame<Bytes>, tab: &mut Tab) {
        let Ok(data) = frame.into_data() else { return };
        let before = self.progress.events;
        let (progress, out) = (&mut self.progress, &mut self.out);
        match &mut self.pump {
            Pump::Pass(pass) => pass.data(data, progress, out, tab),
            Pump::Translate(translate) => translate.data(&data, progress, out, tab),
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
