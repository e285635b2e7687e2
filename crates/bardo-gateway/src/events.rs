//! What happens, as it happens: a bus of events, and `GET /v1/events` as one caller sees it.
//!
//! Events may be lost where a reader is slow; it is told how many. Nothing waits for a reader.

mod names;
mod owner;
mod told;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bardo_engine::HEARTBEAT;
use bardo_types::ids::AccountId;
use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, watch};

#[cfg(test)]
pub(crate) use self::names::NAMES;
pub(crate) use self::names::{Filter, static_name};
pub(crate) use self::owner::OwnerMessages;
#[cfg(test)]
pub(crate) use self::told::sample;
pub(crate) use self::told::{outcome, started, told};

/// Number of events that can wait for the slowest reader.
const BACKLOG: usize = 4_096;

/// An event of the feed.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    /// The account of the event; other accounts do not see it.
    pub(crate) account: AccountId,
    /// The kind of the event, e.g. `inference.completed`.
    pub(crate) name: &'static str,
    /// The event's data as JSON.
    pub(crate) json: Arc<str>,
}

/// An event on the bus.
#[derive(Debug, Clone)]
pub(crate) struct BusEvent {
    pub(crate) event: Event,
    /// Another gateway told it.
    pub(crate) is_foreign: bool,
}

/// Where events are told.
#[derive(Debug, Clone)]
pub(crate) struct Bus {
    events: broadcast::Sender<BusEvent>,
    closed: watch::Sender<bool>,
    /// Number of [`BusReader`]s. The channel has it too, behind a lock that each request would take.
    readers: Arc<AtomicUsize>,
}

/// The events of a bus from a moment on.
#[derive(Debug)]
pub(crate) struct BusReader {
    events: broadcast::Receiver<BusEvent>,
    readers: Arc<AtomicUsize>,
}

impl BusReader {
    fn of(bus: &Bus) -> Self {
        bus.readers.fetch_add(1, Ordering::Relaxed);
        Self {
            events: bus.events.subscribe(),
            readers: Arc::clone(&bus.readers),
        }
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// When events were lost, or the bus is gone.
    pub(crate) async fn recv(&mut self) -> Result<BusEvent, RecvError> {
        self.events.recv().await
    }

    /// The next event, if it is there.
    ///
    /// # Errors
    /// When there is none, events were lost, or the bus is gone.
    pub(crate) fn try_recv(&mut self) -> Result<BusEvent, TryRecvError> {
        self.events.try_recv()
    }
}

impl Drop for BusReader {
    fn drop(&mut self) {
        self.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for Bus {
    fn default() -> Self {
        Self {
            events: broadcast::channel(BACKLOG).0,
            closed: watch::channel(false).0,
            readers: Arc::default(),
        }
    }
}

impl Bus {
    /// Whether anybody listens; if not, an event need not be written.
    pub(crate) fn is_heard(&self) -> bool {
        self.readers() > 0
    }

    /// Tells an event to whoever listens.
    pub(crate) fn tell(&self, event: Event) {
        self.send(event, false);
    }

    /// Tells an event of another gateway.
    pub(crate) fn tell_foreign(&self, event: Event) {
        self.send(event, true);
    }

    fn send(&self, event: Event, is_foreign: bool) {
        // Nobody may be there any more.
        let _ = self.events.send(BusEvent { event, is_foreign });
    }

    /// Number of readers, taps included.
    pub(crate) fn readers(&self) -> usize {
        self.readers.load(Ordering::Relaxed)
    }

    /// All events from now on, as they are.
    pub(crate) fn tap(&self) -> BusReader {
        BusReader::of(self)
    }

    /// Ends every reader's stream: a process that waits for them would never end.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
    }

    /// The events of one account from now on that the reader wants, as server-sent events.
    pub(crate) fn follow(&self, account: AccountId, filter: Filter, heartbeat: Duration) -> Feed {
        self.feed(heartbeat, "events.lost", move |event| {
            let is_wanted = event.account == account && filter.takes(event.name);
            is_wanted.then(|| (event.name, event.json.to_string()))
        })
    }

    /// What `show` makes of the events of all accounts from now on, for operators.
    pub(crate) fn follow_all(
        &self,
        heartbeat: Duration,
        show: fn(&Event) -> Option<(&'static str, String)>,
    ) -> Feed {
        self.feed(heartbeat, "lost", show)
    }

    /// Server-sent events with the name and the data that `show` makes of each event.
    fn feed(
        &self,
        heartbeat: Duration,
        lost_name: &'static str,
        show: impl Fn(&Event) -> Option<(&'static str, String)> + Send + 'static,
    ) -> Feed {
        let receiver = self.tap();
        let closed = self.closed.subscribe();
        let first = Some(Bytes::from_static(b": connected\n\n"));
        let next = futures_util::stream::unfold(
            ((receiver, closed), show, first),
            move |((mut receiver, mut closed), show, first)| async move {
                if let Some(bytes) = first {
                    return Some((bytes, ((receiver, closed), show, None)));
                }
                loop {
                    let next = tokio::select! {
                        biased;
                        next = tokio::time::timeout(heartbeat, receiver.recv()) => next,
                        _ = closed.wait_for(|closed| *closed) => return None,
                    };
                    let bytes = match next {
                        Err(_) => HEARTBEAT,
                        Ok(Ok(told)) => match show(&told.event) {
                            Some((name, data)) => format!("event: {name}\ndata: {data}\n\n").into(),
                            None => continue,
                        },
                        Ok(Err(RecvError::Lagged(lost))) => {
                            format!("event: {lost_name}\ndata: {{\"lost\":{lost}}}\n\n").into()
                        }
                        Ok(Err(RecvError::Closed)) => return None,
                    };
                    return Some((bytes, ((receiver, closed), show, None)));
                }
            },
        );
        Feed::of(next)
    }
}

/// Events written as server-sent events.
pub(crate) struct Feed(Pin<Box<dyn Stream<Item = Bytes> + Send>>);

impl Feed {
    /// A feed of events that are written already.
    pub(crate) fn of(events: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self(Box::pin(events))
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.0.as_mut().poll_next(cx)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_caller_sees_its_own_events_alone() {
        let bus = Bus::default();
        assert!(!bus.is_heard());
        let account = |name| AccountId::parse(name).unwrap();
        let mut feed = bus
            .follow(account("a"), Filter::default(), Duration::from_secs(15))
            .0;
        let tell = |name, json: &str| {
            bus.tell(Event {
                account: account(name),
                name: "inference.completed",
                json: json.into(),
            });
        };
        let only = Filter::parse(Some("owner:message")).unwrap();
        let mut picky = bus.follow(account("a"), only, Duration::from_secs(15)).0;
        tell("b", "1");
        tell("a", "2");
        assert_eq!(feed.next().await.unwrap(), ": connected\n\n");
        assert_eq!(
            feed.next().await.unwrap(),
            "event: inference.completed\ndata: 2\n\n"
        );
        assert_eq!(feed.next().await.unwrap(), ": heartbeat\n\n");
        assert_eq!(picky.next().await.unwrap(), ": connected\n\n");
        assert_eq!(picky.next().await.unwrap(), ": heartbeat\n\n");
        drop(picky);
        for _ in 0..BACKLOG + 5 {
            tell("a", "3");
        }
        assert_eq!(
            feed.next().await.unwrap(),
            "event: events.lost\ndata: {\"lost\":5}\n\n"
        );
        assert_eq!(bus.readers(), 1);
        drop(feed);
        assert!(!bus.is_heard());
    }

    #[tokio::test(start_paused = true)]
    async fn a_bus_that_closes_ends_its_readers_after_what_they_have_not_read() {
        let bus = Bus::default();
        let account = AccountId::parse("a").unwrap();
        let mut feed = bus
            .follow(account.clone(), Filter::default(), Duration::from_secs(15))
            .0;
        bus.tell(Event {
            account: account.clone(),
            name: "inference.completed",
            json: "1".into(),
        });
        bus.close();
        assert_eq!(feed.next().await.unwrap(), ": connected\n\n");
        assert!(feed.next().await.unwrap().ends_with(b"data: 1\n\n"));
        assert_eq!(feed.next().await, None);
        let mut late = bus
            .follow(account, Filter::default(), Duration::from_secs(15))
            .0;
        late.next().await;
        assert_eq!(late.next().await, None);
    }
}
