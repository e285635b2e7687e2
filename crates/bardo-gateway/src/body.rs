//! Reading a request's body within its limits: of one body, and of all bodies together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::edge::EdgeLimits;
use crate::error::Problem;

/// Room is set aside in steps of this, as the bytes come.
const STEP: usize = 64 << 10;

/// Bytes of all bodies that are being received or answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct BodyBudget(Arc<AtomicUsize>);

/// Room for one body; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    all: Arc<AtomicUsize>,
    limit: usize,
    held: usize,
}

impl BodyBudget {
    /// No room yet, within `limit` for all.
    pub(crate) fn room(&self, limit: usize) -> Room {
        Room {
            all: Arc::clone(&self.0),
            limit,
            held: 0,
        }
    }

    #[cfg(test)]
    fn held(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Room {
    /// Makes room for so many bytes of this body in all.
    fn reach(&mut self, bytes: usize) -> Result<(), Problem> {
        if bytes <= self.held {
            return Ok(());
        }
        let more = (bytes - self.held).next_multiple_of(STEP);
        let before = self.all.fetch_add(more, Ordering::Relaxed);
        self.held += more;
        if before.saturating_add(more) > self.limit {
            return Err(Problem::too_many_bodies());
        }
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.all.fetch_sub(self.held, Ordering::Relaxed);
    }
}

/// The length that a head announces.
pub(crate) fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Incoming,
    limit: usize,
    limits: &EdgeLimits,
    room: &mut Room,
) -> Result<Bytes, Problem> {
    check_encoding(headers)?;
    let announced = announced(headers);
    if announced.is_some_and(|length| length > limit) {
        return Err(Problem::body_too_large(limit));
    }
    let read = collect(body, announced.unwrap_or(0), limit, room);
    tokio::time::timeout(limits.read_timeout, read)
        .await
        .map_err(|_| Problem::read_timeout())?
}

/// Refuses a body that is compressed: the limits count bytes of JSON, and a relay could not edit it.
fn check_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    let encodings = headers.get_all(CONTENT_ENCODING).iter();
    for encoding in encodings {
        let encoding = String::from_utf8_lossy(encoding.as_bytes());
        let encoding = encoding.trim();
        if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
            return Err(Problem::unsupported_encoding(encoding));
        }
    }
    Ok(())
}

async fn collect(
    mut body: Incoming,
    announced: usize,
    limit: usize,
    room: &mut Room,
) -> Result<Bytes, Problem> {
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::broken_body())?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let length = first.len() + whole.len() + data.len();
        if length > limit {
            return Err(Problem::body_too_large(limit));
        }
        room.reach(length)?;
        if first.is_empty() && whole.is_empty() {
            first = data;
        } else {
            if whole.is_empty() {
                // What is only announced is no reason to set memory aside.
                whole.reserve(announced.min(4 * length).max(length));
                whole.extend_from_slice(&std::mem::take(&mut first));
            }
            whole.extend_from_slice(&data);
        }
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.freeze()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_bounded_for_all_bodies_together_and_given_back() {
        let budget = BodyBudget::default();
        let mut one = budget.room(4 * STEP);
        let mut other = budget.room(4 * STEP);
        assert!(one.reach(3 * STEP).is_ok());
        assert!(one.reach(2 * STEP).is_ok(), "that much is held already");
        assert!(other.reach(1).is_ok());
        assert_eq!(other.reach(STEP + 1).unwrap_err().code.status(), 503);
        drop(one);
        assert!(budget.room(4 * STEP).reach(STEP).is_ok());
        drop(other);
        assert_eq!(budget.held(), 0);
    }
}
