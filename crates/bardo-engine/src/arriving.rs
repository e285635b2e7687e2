//! A provider's answer on its way in: what its head says of its body, and reading it whole.

use std::time::Duration;

use bardo_types::fault::{Fault, FaultClass};
use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use crate::failure::Failure;
use crate::snapshot::Deadlines;
use crate::source::AnswerSource;

/// A provider's whole answer may have this size.
pub(crate) const ANSWER_MAX: usize = 128 << 20;
pub(crate) const TOO_LARGE: &str = "the provider's answer is larger than 128 MiB";

/// The time that a provider gets after the terminal event to end its body, which keeps its connection.
pub(crate) const LINGER: Duration = Duration::from_millis(100);

/// A body on its way, with the time when its call began.
pub(crate) struct Arriving {
    pub(crate) source: AnswerSource,
    pub(crate) started: Instant,
    /// Its end is told apart from a connection that just closes.
    pub(crate) framed: bool,
}

/// Whether the head says where its body ends.
pub(crate) fn is_framed(head: &http::response::Parts) -> bool {
    head.version >= http::Version::HTTP_2
        || head.headers.contains_key(http::header::CONTENT_LENGTH)
        || head.headers.contains_key(http::header::TRANSFER_ENCODING)
}

/// Reads a body within its deadlines.
pub(crate) struct Intake {
    source: AnswerSource,
    /// When the answer has to be over.
    end: Instant,
    /// When the next bytes have to be there.
    until: Instant,
}

impl Intake {
    pub(crate) fn new(arriving: Arriving, deadlines: &Deadlines) -> Self {
        let end = arriving.started + deadlines.total;
        Self {
            source: arriving.source,
            end,
            until: end,
        }
    }

    /// Sets the time for what comes next, within that for all of it.
    pub(crate) fn expect_within(&mut self, time: Duration) {
        self.until = self.end.min(Instant::now() + time);
    }

    /// The next bytes; `None` when the body is over. `cut` is the message of the failure when it
    /// breaks off.
    ///
    /// # Errors
    /// When the body breaks off, or the bytes do not come in time. The outcome is unknown then.
    pub(crate) async fn next(&mut self, cut: &'static str) -> Result<Option<Bytes>, Failure> {
        let next = tokio::time::timeout_at(self.until, self.source.data()).await;
        let late = |_| Failure::unknown(FaultClass::Timeout, "the answer did not arrive in time");
        next.map_err(late)?.transpose().map_err(|error| {
            tracing::debug!(%error, "answer cut");
            Failure::unknown(FaultClass::Connection, cut)
        })
    }

    pub(crate) fn into_source(self) -> AnswerSource {
        self.source
    }
}

/// Reads a body to its end. Some providers send a head at once and think then, so silence counts
/// from the first data on.
pub(crate) async fn read_whole(arriving: Arriving, deadlines: Deadlines) -> Result<Bytes, Failure> {
    let mut intake = Intake::new(arriving, &deadlines);
    let mut whole = BytesMut::new();
    let mut first = Bytes::new();
    while let Some(data) = intake.next("the provider's answer was cut").await? {
        intake.expect_within(deadlines.idle);
        if first.is_empty() && whole.is_empty() {
            first = data;
            continue;
        }
        if whole.is_empty() {
            whole.extend_from_slice(&first);
        }
        whole.extend_from_slice(&data);
        if whole.len() > ANSWER_MAX {
            let fault = Fault::new(FaultClass::Malformed, TOO_LARGE);
            return Err(Failure::reported(fault));
        }
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.freeze()
    })
}

/// Gives the provider a moment to end its body, which keeps its connection.
pub(crate) async fn linger(mut source: AnswerSource) {
    let rest = async { while let Some(Ok(_)) = source.data().await {} };
    let _ = tokio::time::timeout(LINGER, rest).await;
}

/// Why an answer with such headers is none.
pub(crate) fn unreadable(headers: &http::HeaderMap) -> Option<Fault> {
    let is_compressed = headers
        .get(http::header::CONTENT_ENCODING)
        .is_some_and(|encoding| encoding != "identity");
    if is_compressed {
        return Some(Fault::new(
            FaultClass::Malformed,
            "the provider compressed its answer, although the request did not allow it",
        ));
    }
    let is_page = headers
        .get(http::header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    // Something before the provider speaks; no model has answered.
    is_page.then(|| Fault::new(FaultClass::Server, "the provider answered with a web page"))
}

pub(crate) fn is_page(headers: &http::HeaderMap) -> bool {
    headers
        .get(http::header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"))
}
