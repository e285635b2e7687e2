//! Events inside the agent, as data with stable names. The gateway's events are in its own stream,
//! `GET /v1/events`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bardo_types::clock::Clock;
use bardo_types::money::MicroUsd;
use serde::{Serialize, Serializer};

use crate::heartbeat::{Beat, TickTier};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event")]
pub enum GolemEvent {
    /// A provider was registered.
    #[serde(rename = "provider.registered")]
    ProviderRegistered {
        /// Name of the provider.
        id: String,
        /// Where it is.
        endpoint: String,
        /// Rules that it enforces.
        middleware: Vec<&'static str>,
    },
    /// Somebody wanted a way around the gateway.
    #[serde(rename = "provider.bypass")]
    ProviderBypass {
        /// The other provider.
        id: String,
        /// Where it is.
        endpoint: String,
        /// Whether the owner allows it.
        allowed: bool,
    },
    /// A tick was weighed.
    #[serde(rename = "heartbeat.beat")]
    Heartbeat(Beat),
    /// A thought is about to be sent.
    #[serde(rename = "inference.start")]
    InferenceStart {
        /// The part of the agent that asks.
        subsystem: String,
        /// The model that is asked for.
        model: String,
        /// The tier of the tick, where the gate applies to this part.
        tier: Option<TickTier>,
    },
    /// A thought was not sent.
    #[serde(rename = "inference.skipped")]
    InferenceSkipped {
        /// The part of the agent that asked.
        subsystem: String,
        /// The reason for skipping it.
        reason: String,
    },
    /// A thought was answered.
    #[serde(rename = "inference.end")]
    InferenceEnd {
        /// The part of the agent that asked.
        subsystem: String,
        /// The model that answered.
        model: String,
        /// The backend that answered.
        provider: String,
        /// Tokens of the prompt.
        input_tokens: u64,
        /// Tokens of the answer.
        output_tokens: u64,
        /// Cost, if it is known yet.
        #[serde(serialize_with = "usd")]
        cost_usd: Option<MicroUsd>,
    },
    /// A thought was not answered.
    #[serde(rename = "inference.failed")]
    InferenceFailed {
        /// The part of the agent that asked.
        subsystem: String,
        /// The reason of the failure.
        message: String,
    },
    /// The model calls a tool.
    #[serde(rename = "tool:start")]
    ToolStart {
        /// The part of the agent that asked.
        subsystem: String,
        /// Id of the call.
        id: String,
        /// Name of the tool.
        tool: String,
    },
    /// A streamed answer is complete.
    #[serde(rename = "stream:end")]
    StreamEnd {
        /// The part of the agent that asked.
        subsystem: String,
        /// Id of the answer's receipt.
        request_id: String,
        /// The model that answered.
        model: String,
        /// The backend that answered.
        provider: String,
        /// Reason of the end, e.g. `stop` or `tool_calls`.
        finish_reason: Option<String>,
    },
    /// The session is over.
    #[serde(rename = "session.end")]
    SessionEnd {
        /// Calls that were answered.
        answered: u64,
        /// Calls that were not answered.
        failed: u64,
        /// Calls that an extension held back.
        skipped: u64,
        /// Tokens of all prompts.
        input_tokens: u64,
        /// Tokens of all answers.
        output_tokens: u64,
        /// Cost of the answers whose cost is known.
        #[serde(serialize_with = "decimal")]
        cost_usd: MicroUsd,
        /// Number of answers whose cost is not known.
        without_cost: u64,
    },
    /// The gateway chose.
    #[serde(rename = "provider.resolved")]
    ProviderResolved {
        /// The part of the agent that asked.
        subsystem: String,
        /// Name of the backend.
        provider: String,
        /// Name of the model.
        model: String,
        /// Names of the degraded features.
        degraded: Vec<String>,
    },
    /// Requested features of a call, and the available ones.
    #[serde(rename = "provider.feature_negotiated")]
    FeatureNegotiated {
        /// The part of the agent that asked.
        subsystem: String,
        /// Names of the requested features.
        requested: Vec<String>,
        /// Names of the available features.
        available: Vec<String>,
    },
    /// Parts of a profile could not be honored.
    #[serde(rename = "inference.profile_degraded")]
    InferenceProfileDegraded {
        /// The part of the agent that asked.
        subsystem: String,
        /// Name of the backend.
        provider: String,
        /// Names of the degraded settings.
        degraded: Vec<String>,
    },
    /// Reasoning came with an answer.
    #[serde(rename = "inference.reasoning_captured")]
    ReasoningCaptured {
        /// The part of the agent that asked.
        subsystem: String,
        /// Its tokens, where the provider counts them.
        reasoning_tokens: u64,
        /// Tokens of the rest of the answer.
        content_tokens: u64,
    },
    /// Tokens from a provider's cache.
    #[serde(rename = "inference.cache_stats")]
    InferenceCacheStats {
        /// The part of the agent that asked.
        subsystem: String,
        /// Tokens of the prompt from the cache.
        cached_tokens: u64,
        /// All tokens of the prompt.
        total_tokens: u64,
        /// Savings against the list price, if the gateway names them.
        #[serde(serialize_with = "usd")]
        savings_usd: Option<MicroUsd>,
    },
    /// Bankr's credit was looked at.
    #[serde(rename = "bankr.credit_check")]
    BankrCreditCheck {
        /// Balance of the account, in USD.
        #[serde(serialize_with = "decimal")]
        balance: MicroUsd,
        /// Below what something is done.
        #[serde(serialize_with = "decimal")]
        threshold: MicroUsd,
        /// `none`, `warn`, `topup`, `capped` or `wait`.
        action: &'static str,
    },
    /// Bankr's credit was topped up.
    #[serde(rename = "bankr.topup")]
    BankrTopup {
        /// By how much.
        #[serde(serialize_with = "decimal")]
        amount: MicroUsd,
        /// The token of the payment.
        token: String,
        /// Balance after the answer, in USD.
        #[serde(serialize_with = "usd")]
        new_balance: Option<MicroUsd>,
    },
    /// Something that the owner should know, in words.
    #[serde(rename = "owner.message")]
    Warning {
        /// Source of the message.
        extension: String,
        /// Text of the message.
        message: String,
    },
}

/// An event with what all events have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Envelope {
    /// Time of the event, in Unix milliseconds.
    pub timestamp: u64,
    /// Id of the agent.
    #[serde(serialize_with = "name")]
    pub golem_id: Arc<str>,
    /// From 1, without a gap.
    pub sequence: u64,
    /// The number of the tick.
    pub tick: u64,
    /// The event itself.
    pub data: GolemEvent,
}

/// A sink of events. It must not block.
pub trait EventSink: Send + Sync {
    /// Receives an event.
    fn emit(&self, event: &Envelope);
}

/// A sink that drops all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silence;

impl EventSink for Silence {
    fn emit(&self, _: &Envelope) {}
}

/// Keeps all of them, for tests and small programs.
#[derive(Debug, Default)]
pub struct Recorded(Mutex<Vec<Envelope>>);

impl Recorded {
    /// Events until now.
    #[must_use]
    pub fn events(&self) -> Vec<Envelope> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The texts for the owner, in order.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let message = |event: Envelope| match event.data {
            GolemEvent::Warning { message, .. } => Some(message),
            _ => None,
        };
        self.events().into_iter().filter_map(message).collect()
    }
}

impl EventSink for Recorded {
    fn emit(&self, event: &Envelope) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.push(event.clone());
    }
}

/// The emitter of events for extensions.
#[derive(Clone)]
pub struct Events {
    sink: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    golem_id: Arc<str>,
    sequence: Arc<AtomicU64>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events")
            .field("golem_id", &self.golem_id)
            .finish_non_exhaustive()
    }
}

impl Events {
    /// Events of an agent.
    #[must_use]
    pub fn new(golem_id: Arc<str>, sink: Arc<dyn EventSink>, clock: Arc<dyn Clock>) -> Self {
        Self {
            sink,
            clock,
            golem_id,
            sequence: Arc::default(),
        }
    }

    /// Tells the sink.
    pub fn emit(&self, tick: u64, data: GolemEvent) {
        self.sink.emit(&Envelope {
            timestamp: self.now_ms(),
            golem_id: Arc::clone(&self.golem_id),
            sequence: self.sequence.fetch_add(1, Ordering::Relaxed) + 1,
            tick,
            data,
        });
    }

    /// The present time, in Unix milliseconds.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }
}

fn name<S: Serializer>(name: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name)
}

fn decimal<S: Serializer>(amount: &MicroUsd, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(amount)
}

fn usd<S: Serializer>(amount: &Option<MicroUsd>, serializer: S) -> Result<S::Ok, S::Error> {
    amount
        .map(|amount| amount.to_string())
        .serialize(serializer)
}

#[cfg(test)]
mod tests {
    use bardo_types::clock::SystemClock;

    use super::*;

    #[test]
    fn events_have_their_names_on_the_wire() {
        let sink = Arc::new(Recorded::default());
        let events = Events::new("golem-7".into(), sink.clone(), Arc::new(SystemClock));
        events.emit(
            3,
            GolemEvent::BankrTopup {
                amount: MicroUsd::new(25_000_000),
                token: "USDC".into(),
                new_balance: Some(MicroUsd::new(29_500_000)),
            },
        );
        events.emit(
            4,
            GolemEvent::Warning {
                extension: "x".into(),
                message: "look".into(),
            },
        );
        let heard = sink.events();
        assert_eq!((heard[0].sequence, heard[1].sequence), (1, 2));
        let mut json = serde_json::to_value(&heard[0]).unwrap();
        json["timestamp"] = 0.into();
        assert_eq!(
            json,
            serde_json::json!({
                "timestamp": 0, "golem_id": "golem-7", "sequence": 1, "tick": 3,
                "data": { "event": "bankr.topup", "amount": "25.000000", "token": "USDC",
                    "new_balance": "29.500000" },
            })
        );
        assert_eq!(sink.warnings(), ["look"]);
    }
}
