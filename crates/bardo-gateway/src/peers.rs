//! What the gateways of one operator tell each other through the shared store: hints about the health
//! of backends, and events for readers of other gateways.
//!
//! Messages carry the name of their process, so that nobody takes its own. A store that does not
//! answer costs hints and events, never a request.

use std::sync::Arc;
use std::time::Duration;

use bardo_cache::shared::SharedValues;
use bardo_engine::{Engine, HealthHint};
use bardo_types::ids::AccountId;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::broadcast::error::TryRecvError;
use tokio::time::{Instant, MissedTickBehavior};

use crate::events::{Bus, BusEvent, BusReader, Event, static_name};

/// How often messages are sent and read.
const EVERY: Duration = Duration::from_millis(500);
/// How often a process says that it has readers of events.
const LISTENING_EVERY: Duration = Duration::from_secs(2);
/// For how long another process is believed to have readers.
const LISTENING_FOR: Duration = Duration::from_secs(6);
/// How often a hint is repeated while its reason lasts, for processes that start meanwhile.
const HINT_AGAIN: Duration = Duration::from_secs(5);
/// Events of one message at most, and messages of one turn.
const BATCH: usize = 500;
const BATCHES: usize = 8;

const HEALTH: &str = "health";
const EVENTS: &str = "events";

/// A message from one process to the others.
#[derive(Serialize, Deserialize)]
struct PeerMessage {
    /// The process that sent it.
    origin: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hints: Vec<PeerHint>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<PeerEvent>,
    /// Number of events that were lost because they were too many.
    #[serde(default)]
    lost: u64,
    /// Whether the process has readers of events.
    #[serde(default)]
    listens: bool,
}

#[derive(Serialize, Deserialize)]
struct PeerHint {
    backend: String,
    model: String,
    left_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct PeerEvent {
    account: String,
    name: String,
    json: String,
}

/// This process among those that share the store.
struct Peer {
    values: Arc<dyn SharedValues>,
    engine: Arc<Engine>,
    bus: Bus,
    origin: String,
    /// Hints that others know already, and until when.
    told: Vec<(String, String, Instant)>,
    /// Own events for other processes, while one of them has readers.
    outgoing: Option<BusReader>,
    said_listening: Option<Instant>,
    others_listen_until: Option<Instant>,
    read: [Option<u64>; 2],
}

/// Starts to exchange messages with the other processes, where state is shared.
pub(crate) fn start(engine: &Arc<Engine>, bus: &Bus, runtime: &Handle) {
    if let Some(values) = engine.shared() {
        runtime.spawn(exchange(
            Arc::clone(values),
            Arc::clone(engine),
            bus.clone(),
        ));
    }
}

/// Exchanges messages for as long as the process runs.
async fn exchange(values: Arc<dyn SharedValues>, engine: Arc<Engine>, bus: Bus) {
    let mut peer = Peer {
        values,
        engine,
        bus,
        origin: crate::request_id::fresh().to_string(),
        told: Vec::new(),
        outgoing: None,
        said_listening: None,
        others_listen_until: None,
        read: [None, None],
    };
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        peer.send_hints().await;
        peer.take(HEALTH).await;
        peer.send_events().await;
        peer.take(EVENTS).await;
    }
}

impl Peer {
    fn message(&self) -> PeerMessage {
        PeerMessage {
            origin: self.origin.clone(),
            hints: Vec::new(),
            events: Vec::new(),
            lost: 0,
            listens: false,
        }
    }

    async fn post(&self, channel: &'static str, message: &PeerMessage) -> bool {
        let message = serde_json::to_vec(message).unwrap_or_default();
        self.values.post(channel, &message).await.is_ok()
    }

    /// Tells the others of open circuits and pauses that they do not know of.
    async fn send_hints(&mut self) {
        let now = Instant::now();
        self.told.retain(|(_, _, until)| *until > now);
        let told = &self.told;
        let is_new = |hint: &HealthHint| {
            let mut told = told.iter();
            !told.any(|(backend, model, _)| *backend == hint.backend && *model == hint.model)
        };
        let hints = self.engine.health_hints().into_iter();
        let hints: Vec<HealthHint> = hints.filter(is_new).collect();
        if hints.is_empty() {
            return;
        }
        let written = hints.iter().map(|hint| PeerHint {
            backend: hint.backend.clone(),
            model: hint.model.clone(),
            left_ms: u64::try_from(hint.left.as_millis()).unwrap_or(u64::MAX),
        });
        let message = PeerMessage {
            hints: written.collect(),
            ..self.message()
        };
        if self.post(HEALTH, &message).await {
            let told = hints
                .into_iter()
                .map(|hint| (hint.backend, hint.model, now + HINT_AGAIN));
            self.told.extend(told);
        }
    }

    /// Sends own events where another process has readers, and says whether this one has.
    async fn send_events(&mut self) {
        let now = Instant::now();
        let is_due = self
            .said_listening
            .is_none_or(|said| now.duration_since(said) >= LISTENING_EVERY);
        if self.listens() && is_due {
            let listening = PeerMessage {
                listens: true,
                ..self.message()
            };
            if self.post(EVENTS, &listening).await {
                self.said_listening = Some(now);
            }
        }
        if self.others_listen_until.is_none_or(|until| until <= now) {
            self.outgoing = None;
            return;
        }
        for _ in 0..BATCHES {
            let message = self.next_batch();
            if message.events.is_empty() && message.lost == 0 {
                return;
            }
            let _ = self.post(EVENTS, &message).await;
        }
    }

    /// Whether this process has readers of its own.
    fn listens(&self) -> bool {
        self.bus.readers() > usize::from(self.outgoing.is_some())
    }

    fn next_batch(&mut self) -> PeerMessage {
        let mut message = self.message();
        let bus = &self.bus;
        let outgoing = self.outgoing.get_or_insert_with(|| bus.tap());
        while message.events.len() < BATCH {
            match outgoing.try_recv() {
                // What came from another process is known there.
                Ok(told) if told.is_foreign => {}
                Ok(BusEvent { event, .. }) => message.events.push(PeerEvent {
                    account: event.account.to_string(),
                    name: event.name.to_owned(),
                    json: event.json.to_string(),
                }),
                Err(TryRecvError::Lagged(lost)) => message.lost += lost,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        message
    }

    /// Takes what the others have sent on a channel since it was read last.
    async fn take(&mut self, channel: &'static str) {
        let place = usize::from(channel == EVENTS);
        let Ok(posts) = self.values.posts(channel, self.read[place]).await else {
            return;
        };
        // A store that lost its memory begins again at zero.
        self.read[place] = Some(posts.last);
        for message in &posts.messages {
            let Ok(message) = serde_json::from_slice::<PeerMessage>(message) else {
                continue;
            };
            if message.origin != self.origin {
                self.took(message);
            }
        }
    }

    fn took(&mut self, message: PeerMessage) {
        if message.listens {
            self.others_listen_until = Some(Instant::now() + LISTENING_FOR);
            // From now on, not from the next turn.
            let bus = &self.bus;
            self.outgoing.get_or_insert_with(|| bus.tap());
        }
        for hint in message.hints {
            self.engine.take_health_hint(&HealthHint {
                backend: hint.backend,
                model: hint.model,
                left: Duration::from_millis(hint.left_ms),
            });
        }
        if !self.listens() {
            return;
        }
        for event in message.events {
            let (Ok(account), Some(name)) =
                (AccountId::parse(&event.account), static_name(&event.name))
            else {
                continue;
            };
            let json = event.json.into();
            self.bus.tell_foreign(Event {
                account,
                name,
                json,
            });
        }
        if message.lost > 0 {
            tracing::warn!(
                lost = message.lost,
                "another gateway lost events because they were too many"
            );
        }
    }
}
