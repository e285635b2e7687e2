use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hashbrown::HashMap;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Instant;

use super::Origin;
use super::connect::Line;

/// Idle connections kept per origin and thread; more are closed.
const IDLE_MAX: usize = 256;
/// How long a connection stays idle at a server that does not say: many close after 5 s, local ones
/// above all. Leaving before that keeps requests from meeting a connection in the act of closing.
const IDLE_FOR: Duration = Duration::from_secs(4);
/// Time that a connection stays idle at services that keep connections for a minute or longer.
const IDLE_AT_KNOWN: Duration = Duration::from_secs(30);
const KNOWN: [&str; 8] = [
    "api.openai.com",
    "api.anthropic.com",
    "generativelanguage.googleapis.com",
    "api.deepseek.com",
    "openrouter.ai",
    "api.venice.ai",
    "llm.bankr.bot",
    "blockrun.ai",
];
/// A connection is left this long before the server said that it closes it.
const MARGIN: Duration = Duration::from_secs(1);

/// How long a connection may stay idle after an answer with these headers.
pub(super) fn patience(origin: &Origin, headers: &HeaderMap) -> Duration {
    let said = headers
        .get_all("keep-alive")
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|part| {
            let (name, value) = part.split_once('=')?;
            let seconds: u64 = value.trim().parse().ok()?;
            name.trim()
                .eq_ignore_ascii_case("timeout")
                .then(|| Duration::from_secs(seconds).saturating_sub(MARGIN))
        });
    let usual = if origin.is_any_of(&KNOWN) {
        IDLE_AT_KNOWN
    } else {
        IDLE_FOR
    };
    said.map_or(usual, |said| said.min(IDLE_AT_KNOWN))
}

struct Idle {
    line: Line,
    since: Instant,
}

thread_local! {
    static IDLE: RefCell<HashMap<u64, Vec<Idle>>> = RefCell::new(HashMap::new());
}

/// An idle connection of this thread to `origin`, the most recently used first.
pub(super) fn take(origin: &Origin) -> Option<Line> {
    IDLE.with_borrow_mut(|idle| {
        let connections = idle.get_mut(&origin.id())?;
        while let Some(connection) = connections.pop() {
            let is_young = connection.since.elapsed() < connection.line.patience;
            if is_young && connection.line.sender.is_ready() {
                return Some(connection.line);
            }
        }
        None
    })
}

fn give_back(origin: &Origin, line: Line) {
    if line.sender.is_closed() || line.patience.is_zero() {
        return;
    }
    IDLE.with_borrow_mut(|idle| {
        let connections = idle.entry(origin.id()).or_default();
        // What has been idle for too long is not to be found behind younger ones for ever.
        if connections.len() >= IDLE_MAX {
            connections.retain(|idle| idle.since.elapsed() < idle.line.patience);
        }
        if connections.len() < IDLE_MAX {
            connections.push(Idle {
                line,
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
    lease: Option<(Arc<Origin>, Line)>,
}

impl UpstreamBody {
    pub(super) fn new(incoming: Incoming, origin: Arc<Origin>, line: Line) -> Self {
        Self {
            incoming,
            lease: Some((origin, line)),
        }
    }

    fn complete(&mut self) {
        if let Some((origin, line)) = self.lease.take() {
            give_back(&origin, line);
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
