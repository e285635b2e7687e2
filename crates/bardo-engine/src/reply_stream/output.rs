//! What comes of a stream: how far it is, and the bytes that are ready for its caller.

use bardo_types::fault::Fault;
use bardo_wire::codec::ErrorView;
use bytes::{Bytes, BytesMut};

/// The progress of a stream so far.
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

/// The error that ends a stream, for the encoder of the caller's dialect.
pub(super) fn error_view<'a>(fault: &'a Fault, request_id: &'a str) -> ErrorView<'a> {
    ErrorView {
        fault,
        status: status_of(fault),
        bardo_code: fault.error_code().as_str(),
        request_id,
    }
}

/// The status in the error that ends a stream. What a provider says of its own account (401, 403)
/// or of the gateway's request is no fault of the caller's, so it is at least 500 unless the gateway
/// itself ended the answer.
fn status_of(fault: &Fault) -> u16 {
    let status = fault.status.unwrap_or(502);
    if fault.own_code.is_some() {
        status
    } else {
        status.max(500)
    }
}
