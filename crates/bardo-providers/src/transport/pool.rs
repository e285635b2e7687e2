use std::cell::RefCell;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use tokio::time::Instant;

use super::Origin;

/// Idle connections kept per origin and thread; more are closed.
const IDLE_MAX: usize = 256;
/// Servers close idle connections after a minute or so. Leaving well before that keeps requests
/// from meeting a connection in the act of closing.
const IDLE_FOR: Duration = Duration::from_secs(30);

struct Idle {
    sender: SendRequest<Full<Bytes>>,
    since: Instant,
}

thread_local! {
    static IDLE: RefCell<HashMap<u64, Vec<Idle>>> = RefCell::new(HashMap::new());
}

/// An idle connection of this thread to `origin`, the most recently used first.
pub(super) fn take(origin: &Origin) -> Option<SendRequest<Full<Bytes>>> {
    IDLE.with_borrow_mut(|idle| {
        let connections = idle.get_mut(&origin.id())?;
        while let Some(connection) = connections.pop() {
            if connection.since.elapsed() > IDLE_FOR {
                // Those below are older still.
                connections.clear();
                return None;
            }
            if connection.sender.is_ready() {
                return Some(connection.sender);
            }
        }
        None
    })
}

fn give_back(origin: &Origin, sender: SendRequest<Full<Bytes>>) {
    if sender.is_closed() {
        return;
    }
    IDLE.with_borrow_mut(|idle| {
        let connections = idle.entry(origin.id()).or_default();
        if connections.len() < IDLE_MAX {
            connections.push(Idle {
                sender,
                since: Instant::now(),
            });
        }
    });
}

/// The body of a provider's answer. Read to its end, it frees the connection for the next
/// request; dropped before, it closes the connection, which tells the provider to stop.
#[derive(Debug)]
pub struct UpstreamBody {
    incoming: Incoming,
    lease: Option<(Arc<Origin>, SendRequest<Full<Bytes>>)>,
}

impl UpstreamBody {
    pub(super) fn new(
        incoming: Incoming,
        origin: Arc<Origin>,
        sender: SendRequest<Full<Bytes>>,
    ) -> Self {
        Self {
            incoming,
            lease: Some((origin, sender)),
        }
    }

    fn complete(&mut self) {
        if let Some((origin, sender)) = self.lease.take() {
            give_back(&origin, sender);
        }
    }
}

impl Body for UpstreamBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.incoming).poll_frame(cx));
        match &frame {
            None => self.complete(),
            Some(Ok(_)) if self.incoming.is_end_stream() => self.complete(),
            Some(Ok(_)) => {}
            Some(Err(_)) => self.lease = None,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
