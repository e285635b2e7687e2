//! Where an answer comes from: a provider that is writing it, an answer that is there already, or
//! an answer that several callers share; and the channel between its bytes and their reader.

mod channel;

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bardo_providers::transport::UpstreamBody;
use bardo_types::chat::StreamEvent;
use bytes::Bytes;
use http_body::Body as _;

pub(crate) use channel::Channel;

/// Why a source broke off. Every reader of a shared source gets a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken(Arc<str>);

impl Broken {
    /// A reason, for logs.
    pub(crate) fn new(reason: &str) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where an answer comes from. Every kind takes the same way to the caller, so that a replay has
/// the grammar of a live answer.
pub(crate) struct AnswerSource {
    origin: SourceOrigin,
    channel: Channel,
    ended: bool,
}

enum SourceOrigin {
    /// The body that a provider is writing.
    Upstream(UpstreamBody),
    /// An answer that is there, in the pieces in which it goes on.
    Kept(VecDeque<Piece>),
    /// The answer to an identical request.
    Shared(Box<dyn PieceSource>),
}

/// A piece of an answer on its way.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// Bytes as the provider wrote them, cut anywhere.
    Data(Bytes),
    /// One neutral event, for an encoder; boxed, since every chunk of a stream is a piece.
    Event(Box<StreamEvent>),
}

/// Pieces that come from elsewhere in the engine.
pub(crate) trait PieceSource: Send {
    /// The next piece; `None` when the answer is over.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Piece, Broken>>>;
}

impl AnswerSource {
    fn of(origin: SourceOrigin) -> Self {
        Self {
            origin,
            channel: Channel::Plain,
            ended: false,
        }
    }

    /// A source that replays bytes in these pieces.
    pub(crate) fn of_bytes(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        Self::of(SourceOrigin::Kept(
            pieces.into_iter().map(Piece::Data).collect(),
        ))
    }

    /// A source that replays neutral events; only an encoder can take them.
    pub(crate) fn of_events(events: Vec<StreamEvent>) -> Self {
        Self::of(SourceOrigin::Kept(
            events
                .into_iter()
                .map(|event| Piece::Event(Box::new(event)))
                .collect(),
        ))
    }

    /// A source that reads the answer to an identical request.
    pub(crate) fn shared(source: impl PieceSource + 'static) -> Self {
        Self::of(SourceOrigin::Shared(Box::new(source)))
    }

    /// The source behind a channel that opens its bytes.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "no provider seals its answers yet")
    )]
    pub(crate) fn through(self, channel: Channel) -> Self {
        Self { channel, ..self }
    }

    /// The next piece; `None` when the answer is over.
    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Piece, Broken>>> {
        loop {
            if self.ended {
                return Poll::Ready(None);
            }
            let opened = match std::task::ready!(self.origin.poll_next(cx)) {
                Some(Ok(Piece::Data(data))) => self.channel.open(data),
                Some(other) => return Poll::Ready(Some(other)),
                None => {
                    self.ended = true;
                    self.channel.end()
                }
            };
            match opened {
                // The channel waits for more.
                Ok(data) if data.is_empty() => {}
                Ok(data) => return Poll::Ready(Some(Ok(Piece::Data(data)))),
                Err(broken) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(broken)));
                }
            }
        }
    }

    /// The next bytes; `None` when the answer is over. Events have none and are passed over.
    pub(crate) async fn data(&mut self) -> Option<Result<Bytes, Broken>> {
        loop {
            match std::future::poll_fn(|cx| self.poll_next(cx)).await? {
                Ok(Piece::Data(data)) => return Some(Ok(data)),
                Ok(Piece::Event(_)) => {}
                Err(broken) => return Some(Err(broken)),
            }
        }
    }
}

impl SourceOrigin {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Piece, Broken>>> {
        match self {
            Self::Kept(pieces) => Poll::Ready(pieces.pop_front().map(Ok)),
            Self::Shared(source) => source.poll_next(cx),
            Self::Upstream(body) => loop {
                let Some(frame) = std::task::ready!(Pin::new(&mut *body).poll_frame(cx)) else {
                    return Poll::Ready(None);
                };
                match frame.map(http_body::Frame::into_data) {
                    Ok(Ok(data)) => return Poll::Ready(Some(Ok(Piece::Data(data)))),
                    // Trailers have no meaning in any dialect.
                    Ok(Err(_)) => {}
                    Err(error) => {
                        return Poll::Ready(Some(Err(Broken::new(&error.to_string()))));
                    }
                }
            },
        }
    }
}

impl From<UpstreamBody> for AnswerSource {
    fn from(body: UpstreamBody) -> Self {
        Self::of(SourceOrigin::Upstream(body))
    }
}
