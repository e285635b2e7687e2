use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Largest number of bytes before an answer's head is complete. Interim answers (1xx) and the first
/// bytes of the body count too.
const HEAD_MAX: usize = 1 << 20;
/// After so much in one go other connections of the thread have their turn.
const TURN_MAX: usize = 256 << 10;

/// How much may still be read before the head of the answer under way is there.
#[derive(Debug, Clone, Default)]
pub(super) struct HeadLimit(Arc<AtomicUsize>);

impl HeadLimit {
    /// A request goes out; its answer's head is awaited.
    pub(super) fn begin(&self) {
        self.0.store(HEAD_MAX, Ordering::Relaxed);
    }

    /// Whether not one byte of the awaited head has come.
    pub(super) fn is_untouched(&self) -> bool {
        self.0.load(Ordering::Relaxed) == HEAD_MAX
    }

    /// The head is there; what follows is bounded by whoever reads it.
    pub(super) fn end(&self) {
        self.0.store(usize::MAX, Ordering::Relaxed);
    }
}

/// A connection that fails when a head does not end, and that does not keep its thread to itself.
///
/// hyper bounds a single head, but skips interim answers for as long as they come, and as fast.
pub(super) struct HeadLimited<T> {
    inner: T,
    limit: HeadLimit,
    turn: usize,
}

impl<T> HeadLimited<T> {
    pub(super) fn new(inner: T, limit: HeadLimit) -> Self {
        Self {
            inner,
            limit,
            turn: 0,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for HeadLimited<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.turn >= TURN_MAX {
            self.turn = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if read.is_pending() {
            self.turn = 0;
        }
        ready!(read)?;
        let count = buffer.filled().len() - before;
        self.turn += count;
        let left = self.limit.0.load(Ordering::Relaxed);
        if left != usize::MAX {
            // Only this connection counts down, and the other side of it sets anew.
            let Some(left) = left.checked_sub(count) else {
                buffer.set_filled(before);
                let error = "the head of the answer is too long";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
            };
            self.limit.0.store(left, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for HeadLimited<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read_all(limit: &HeadLimit, bytes: usize) -> io::Result<usize> {
        let endless = tokio::io::repeat(b'x').take(bytes as u64);
        let mut seen = Vec::new();
        HeadLimited::new(endless, limit.clone())
            .read_to_end(&mut seen)
            .await
    }

    #[tokio::test]
    async fn a_head_has_a_limit_and_a_body_has_none() {
        let limit = HeadLimit::default();
        limit.begin();
        assert_eq!(read_all(&limit, HEAD_MAX).await.unwrap(), HEAD_MAX);
        assert!(read_all(&limit, 1).await.is_err());
        limit.begin();
        assert!(read_all(&limit, HEAD_MAX + 1).await.is_err());
        limit.end();
        assert_eq!(read_all(&limit, HEAD_MAX * 4).await.unwrap(), HEAD_MAX * 4);
    }

    #[test]
    fn others_have_their_turn() {
        let limit = HeadLimit::default();
        limit.end();
        let mut stream = HeadLimited::new(tokio::io::repeat(b'x'), limit);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut space = vec![0; TURN_MAX / 2];
        let mut turn = |stream: &mut HeadLimited<_>| {
            let mut buffer = ReadBuf::new(&mut space);
            Pin::new(stream).poll_read(&mut cx, &mut buffer).is_ready()
        };
        let turns: Vec<bool> = (0..7).map(|_| turn(&mut stream)).collect();
        assert_eq!(turns, [true, true, false, true, true, false, true]);
    }
}
