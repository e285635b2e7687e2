//! The socket under HTTP, with the two things a fault needs: short writes and a hard reset.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Switches that a reply may set on its own connection.
#[derive(Debug, Default)]
pub(crate) struct Switches {
    split_bytes: AtomicUsize,
    reset: AtomicBool,
}

impl Switches {
    /// Limits each TCP write to `bytes`; zero lifts the limit.
    pub(crate) fn split(&self, bytes: usize) {
        self.split_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Makes the connection end with a reset instead of an orderly close.
    pub(crate) fn reset(&self) {
        self.reset.store(true, Ordering::Relaxed);
    }
}

/// A TCP stream that obeys its [`Switches`].
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    switches: Arc<Switches>,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> (Self, Arc<Switches>) {
        let switches = Arc::new(Switches::default());
        (
            Self {
                stream,
                switches: Arc::clone(&switches),
            },
            switches,
        )
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.switches.reset.load(Ordering::Relaxed) {
            // Best effort: a socket that already failed needs no reset.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let limit = self.switches.split_bytes.load(Ordering::Relaxed);
        let bytes = if limit == 0 {
            bytes
        } else {
            &bytes[..bytes.len().min(limit)]
        };
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.switches.split_bytes.load(Ordering::Relaxed) == 0 {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        }
        let first = slices.iter().find(|slice| !slice.is_empty());
        self.poll_write(cx, first.map_or(&[], |slice| slice))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
