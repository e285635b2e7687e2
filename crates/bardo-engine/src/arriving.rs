//! A provider's answer on its way in: what its head says of its body, and reading it whole.

use bardo_types::fault::{Fault, FaultClass};
use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use crate::failure::Failure;
use crate::snapshot::Deadlines;
use crate::source::Source;

/// A provider's whole answer may have this size.
pub(crate) const ANSWER_MAX: usize = 128 << 20;
pub(crate) const TOO_LARGE: &str = "the provider's answer is larger than 128 MiB";

/// A body on its way, with the time when its call began.
pub(crate) struct Arriving {
    pub(crate) source: Source,
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

/// Reads a body to its end. Some providers send a head at once and think then, so silence counts
/// from the first data on.
pub(crate) async fn read_whole(arriving: Arriving, deadlines: Deadlines) -> Result<Bytes, Failure> {
    let Arriving {
        mut source,
        started,
        ..
    } = arriving;
    let end = started + deadlines.total;
    let mut until = end;
    let late = |_| Failure::unknown(FaultClass::Timeout, "the answer did not arrive in time");
    let cut = |error| {
        tracing::debug!(%error, "answer cut");
        Failure::unknown(FaultClass::Connection, "the provider's answer was cut")
    };
    let mut whole = BytesMut::new();
    let mut first = Bytes::new();
    while let Some(data) = tokio::time::timeout_at(until, source.data())
        .await
        .map_err(late)?
    {
        let data = data.map_err(cut)?;
        until = end.min(Instant::now() + deadlines.idle);
        if first.is_empty() && whole.is_empty() {
            first = data;
            continue;
        }
        if whole.is_empty() {
            whole.extend_from_slice(&first);
        }
        whole.extend_from_slice(&data);
        if whole.len() > ANSWER_MAX {
            return Err(Failure::reported(Fault::new(
                FaultClass::Malformed,
                TOO_LARGE,
            )));
        }
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.freeze()
    })
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
