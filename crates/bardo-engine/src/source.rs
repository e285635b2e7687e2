//! Where an answer comes from: a provider that is writing it, or an answer that is there already.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bardo_providers::transport::UpstreamBody;
use bardo_types::chat::StreamEvent;
use bytes::Bytes;
use http_body::Body as _;

/// Why a source broke off.
pub(crate) type Broken = <UpstreamBody as http_body::Body>::Error;

/// Where an answer comes from: a provider that is writing it, or an answer that is there already.
/// Both take the same way to the caller, so that a replay has the grammar of a live answer.
pub(crate) enum Source {
    /// The body that a provider is writing.
    Upstream(UpstreamBody),
    /// An answer that is there, in the pieces in which it goes on.
    Kept(VecDeque<Piece>),
}

/// A piece of an answer on its way.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Bytes as the provider wrote them, cut anywhere.
    Data(Bytes),
    /// One neutral step, for an encoder.
    Step(StreamEvent),
}

impl Source {
    /// A source that replays a provider's bytes.
    pub(crate) fn of_bytes(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        Self::Kept(pieces.into_iter().map(Piece::Data).collect())
    }

    /// A source that replays neutral steps; only an encoder can take them.
    pub(crate) fn of_steps(steps: Vec<StreamEvent>) -> Self {
        Self::Kept(steps.into_iter().map(Piece::Step).collect())
    }

    /// The next piece; `None` when the answer is over.
    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Piece, Broken>>> {
        match self {
            Self::Kept(pieces) => Poll::Ready(pieces.pop_front().map(Ok)),
            Self::Upstream(body) => loop {
                let Some(frame) = std::task::ready!(Pin::new(&mut *body).poll_frame(cx)) else {
                    return Poll::Ready(None);
                };
                match frame.map(http_body::Frame::into_data) {
                    Ok(Ok(data)) => return Poll::Ready(Some(Ok(Piece::Data(data)))),
                    // Trailers say nothing to anybody.
                    Ok(Err(_)) => {}
                    Err(error) => return Poll::Ready(Some(Err(error))),
                }
            },
        }
    }

    /// The next bytes; `None` when the answer is over. Steps have none and are passed over.
    pub(crate) async fn data(&mut self) -> Option<Result<Bytes, Broken>> {
        loop {
            match std::future::poll_fn(|cx| self.poll_next(cx)).await? {
                Ok(Piece::Data(data)) => return Some(Ok(data)),
                Ok(Piece::Step(_)) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl From<UpstreamBody> for Source {
    fn from(body: UpstreamBody) -> Self {
        Self::Upstream(body)
    }
}
