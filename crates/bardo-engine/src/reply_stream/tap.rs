//! What notes the content of a stream that goes on as it came.

use std::sync::Arc;

use bardo_types::chat::StreamEvent;
use bardo_types::model::Dialect;
use bardo_wire::codec::DecodeContext;

use crate::events::EventReader;
use crate::recording::Recording;

/// Reads a relayed stream beside its relay, for a recording.
pub(crate) struct Tap {
    reader: EventReader,
    events: Vec<StreamEvent>,
    recording: Arc<Recording>,
}

impl Tap {
    /// A tap on a stream in `dialect`.
    pub(crate) fn new(dialect: Dialect, context: DecodeContext, recording: Arc<Recording>) -> Self {
        Self {
            reader: EventReader::new(dialect, context),
            events: Vec::new(),
            recording,
        }
    }

    /// Notes the next bytes.
    pub(super) fn data(&mut self, bytes: &[u8]) {
        self.reader.read(bytes, &mut self.events);
        self.note();
    }

    /// Notes the end of the body; `whole`: as HTTP says that it ends.
    pub(super) fn end(&mut self, whole: bool) {
        self.reader.end(whole, &mut self.events);
        self.note();
    }

    fn note(&mut self) {
        self.recording.push(&mut self.events);
    }
}
