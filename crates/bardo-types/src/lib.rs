//! The vocabulary every other crate speaks.
//!
//! Types only: no I/O, no async, no HTTP. A conversation in here ([`chat::ChatRequest`],
//! [`chat::StreamEvent`], [`chat::ChatResponse`]) is *neutral*: every dialect that a client or a
//! provider speaks maps to it and back. What a dialect cannot hold is named in a
//! [`Degradation`], never dropped in silence.
//!
//! Start from [`chat::ChatRequest`] for conversations and [`model::ModelEntry`] for the catalog.

pub mod backend;
pub mod calendar;
pub mod chat;
pub mod clock;
pub mod error_code;
pub mod fault;
pub mod feature;
pub mod hints;
pub mod ids;
pub mod intent;
pub mod json;
pub mod model;
pub mod money;
pub mod near;
pub mod phase;
pub mod privacy;
pub mod profile;
pub mod receipt;
pub mod secret;
pub mod subsystem;
pub mod unit;
pub mod usage;

mod degradation;

pub use degradation::{Degradation, Losses};
