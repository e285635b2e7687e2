//! The part of an agent (a *Golem*) that speaks to the gateway: the heartbeat decides **when**
//! a model is asked, the extensions say **what** each thought needs, the client carries it, and
//! what came back is recorded.
//!
//! It deliberately does not choose backends, hold provider keys, apply profiles or retry: the
//! gateway does each of these once, for everybody. What travels are hints.
//!
//! Start from [`Runtime`] for an agent, from [`Client`] for the gateway's API alone, and from
//! [`day`] for a whole life, which `bardo-gateway demo` plays. `docs/golem.md` tells it in order.
//!
//! ```
//! use golem_inference::heartbeat::{Heartbeat, ProbeReading, Severity, TickTier};
//!
//! let mut heart = Heartbeat::default();
//! let calm = [ProbeReading::quiet("price"), ProbeReading::quiet("gas")];
//! assert_eq!(heart.observe(&calm).tier, TickTier::T0); // no model is asked
//!
//! let loud = [ProbeReading::quiet("gas"), ProbeReading::new("price", Severity::Critical)];
//! assert_eq!(heart.observe(&loud).tier, TickTier::T2);
//! ```

pub mod adapter;
pub mod bankr;
pub mod call;
pub mod client;
pub mod day;
pub mod event;
pub mod extension;
pub mod heartbeat;
pub mod hints;
pub mod negotiator;
pub mod partition;
pub mod receipt;
pub mod reply;
pub mod router;
pub mod runtime;
pub mod session;
pub mod state;

pub use bardo_types::secret::Secret;
pub use call::{CallSpec, Message};
pub use client::{Client, ClientError, ErrorAnswer};
pub use extension::{Extension, Extensions};
pub use hints::Hints;
pub use reply::Reply;
pub use runtime::{CallError, Runtime};
