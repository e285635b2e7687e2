//! A source with several readers.
//!
//! There is no task: the reader that is polled first polls the source for all of them. Readers that
//! join late replay from the start. The first reader may leave; the last one that leaves closes the
//! provider's connection. A failure reaches every reader, after the pieces before it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::{AnswerSource, Broken, Piece};

/// A source that several callers may read. Holding it keeps no connection open.
#[derive(Clone)]
pub(crate) struct SharedSource {
    inner: Arc<SharedInner>,
}

/// One reader of a shared source.
pub(crate) struct SharedReader {
    inner: Arc<SharedInner>,
    number: u64,
}

struct SharedInner {
    state: Mutex<SharedState>,
    waiting: Arc<WakerList>,
}

struct SharedState {
    /// `None` once it has ended, failed, or lost its last reader.
    source: Option<AnswerSource>,
    end: SourceEnd,
    /// The pieces from number `first` on.
    pieces: VecDeque<Piece>,
    first: usize,
    /// Bytes of data in `pieces`, and how many there may be.
    size: usize,
    limit: usize,
    /// The number of the next piece of each reader.
    readers: BTreeMap<u64, usize>,
    next_reader: u64,
}

enum SourceEnd {
    /// More may come.
    Open,
    /// The source ended by itself.
    Whole,
    /// The source failed.
    Broken(Broken),
    /// The last reader left before the end.
    Left,
}

/// The readers that wait for the source. The source wakes all of them, since the one that polled it
/// may be busy with a slow caller.
#[derive(Default)]
struct WakerList(Mutex<BTreeMap<u64, Waker>>);

impl WakerList {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for WakerList {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let all = std::mem::take(&mut *self.all());
        all.into_values().for_each(Waker::wake);
    }
}

#[cfg_attr(not(test), expect(dead_code, reason = "no stage shares an answer yet"))]
impl SharedSource {
    /// Shares a source with its first reader. `limit` is the number of bytes that are kept for late
    /// and slow readers; an answer beyond it can no longer be joined.
    pub(crate) fn new(source: AnswerSource, limit: usize) -> (Self, AnswerSource) {
        let state = SharedState {
            source: Some(source),
            end: SourceEnd::Open,
            pieces: VecDeque::new(),
            first: 0,
            size: 0,
            limit,
            readers: BTreeMap::from([(0, 0)]),
            next_reader: 1,
        };
        let inner = Arc::new(SharedInner {
            state: Mutex::new(state),
            waiting: Arc::default(),
        });
        let first = SharedReader {
            inner: Arc::clone(&inner),
            number: 0,
        };
        (Self { inner }, first.into())
    }

    /// One more reader, which gets the answer from its start. `None` where the start is gone, where
    /// the last reader left before the end, or where the source failed.
    pub(crate) fn join(&self) -> Option<AnswerSource> {
        let mut state = self.inner.state();
        if state.first > 0 || matches!(state.end, SourceEnd::Left | SourceEnd::Broken(_)) {
            return None;
        }
        let number = state.next_reader;
        state.next_reader += 1;
        state.readers.insert(number, 0);
        drop(state);
        let reader = SharedReader {
            inner: Arc::clone(&self.inner),
            number,
        };
        Some(reader.into())
    }
}

impl From<SharedReader> for AnswerSource {
    fn from(reader: SharedReader) -> Self {
        Self::of(super::SourceOrigin::Shared(reader))
    }
}

impl SharedInner {
    fn state(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedReader {
    /// The next piece; `None` when the answer is over.
    pub(super) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Piece, Broken>>> {
        let mut state = self.inner.state();
        loop {
            match state.next_of(self.number) {
                Next::Piece(piece) => return Poll::Ready(Some(Ok(piece))),
                Next::SourceEnd(None) => return Poll::Ready(None),
                Next::SourceEnd(Some(broken)) => return Poll::Ready(Some(Err(broken))),
                Next::Source => {}
            }
            // Registered first: what wakes between the poll and the registration must not be lost.
            self.inner
                .waiting
                .all()
                .insert(self.number, cx.waker().clone());
            let waker = Waker::from(Arc::clone(&self.inner.waiting));
            if !state.poll(&mut Context::from_waker(&waker)) {
                return Poll::Pending;
            }
            self.inner.waiting.wake_by_ref();
        }
    }
}

impl Drop for SharedReader {
    fn drop(&mut self) {
        let mut state = self.inner.state();
        state.readers.remove(&self.number);
        let source = if state.readers.is_empty() && matches!(state.end, SourceEnd::Open) {
            state.end = SourceEnd::Left;
            state.pieces.clear();
            state.source.take()
        } else {
            None
        };
        drop(state);
        // Its drop closes the connection, which needs no lock.
        drop(source);
        self.inner.waiting.all().remove(&self.number);
    }
}

enum Next {
    Piece(Piece),
    SourceEnd(Option<Broken>),
    /// The source has to be polled.
    Source,
}

impl SharedState {
    fn next_of(&mut self, number: u64) -> Next {
        let Some(at) = self.readers.get_mut(&number) else {
            return Next::SourceEnd(None);
        };
        let Some(place) = at.checked_sub(self.first) else {
            *at = usize::MAX;
            return Next::SourceEnd(Some(Broken::new("a reader fell behind the others")));
        };
        if let Some(piece) = self.pieces.get(place) {
            *at += 1;
            return Next::Piece(piece.clone());
        }
        if *at == usize::MAX {
            return Next::SourceEnd(None);
        }
        match &self.end {
            SourceEnd::Open => Next::Source,
            SourceEnd::Whole | SourceEnd::Left => Next::SourceEnd(None),
            SourceEnd::Broken(broken) => {
                let broken = broken.clone();
                *at = usize::MAX;
                Next::SourceEnd(Some(broken))
            }
        }
    }

    /// Polls the source once; says whether there is anything new.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(source) = &mut self.source else {
            return true;
        };
        match source.poll_next(cx) {
            Poll::Pending => return false,
            Poll::Ready(Some(Ok(piece))) => self.push(piece),
            Poll::Ready(Some(Err(broken))) => {
                self.end = SourceEnd::Broken(broken);
                self.source = None;
            }
            Poll::Ready(None) => {
                self.end = SourceEnd::Whole;
                self.source = None;
            }
        }
        true
    }

    fn push(&mut self, piece: Piece) {
        self.size += size(&piece);
        self.pieces.push_back(piece);
        // Beyond the limit the oldest go, and with them every reader that has not read them. The
        // newest stays, or nobody could read it.
        while self.size > self.limit && self.pieces.len() > 1 {
            let oldest = self.pieces.pop_front();
            self.size -= oldest.as_ref().map_or(0, size);
            self.first += 1;
        }
    }
}

/// What a piece counts towards the limit, in bytes.
fn size(piece: &Piece) -> usize {
    match piece {
        Piece::Data(data) => data.len(),
        Piece::Event(event) => event_size(event),
    }
}

fn event_size(event: &bardo_types::chat::StreamEvent) -> usize {
    use bardo_types::chat::StreamEvent;
    let words = match event {
        StreamEvent::Text { text, .. }
        | StreamEvent::Reasoning { text, .. }
        | StreamEvent::Refusal { text, .. } => text.len(),
        StreamEvent::ToolInput { fragment, .. } => fragment.len(),
        _ => 0,
    };
    size_of::<StreamEvent>() + words
}

#[cfg(test)]
mod tests;
