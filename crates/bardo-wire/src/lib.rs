//! Dialects and framing: bytes to neutral conversations ([`bardo_types::chat`]) and back.
//!
//! Pure functions and small state machines; nothing here opens a socket, knows an HTTP status of
//! our own or reads a clock. Every dialect module offers the same handful of functions; the table
//! in [`codec`] names them once for the engine.
//!
//! What this crate deliberately is not: a repairer of same-dialect traffic. Those bytes are
//! relayed; [`splice`] edits single members in place.

mod behind;
mod bounded;
pub mod codec;
pub mod content_form;
pub mod embeddings;
pub mod envelope;
mod error_in_200;
pub mod headers;
pub mod json;
mod kit;
pub mod marks;
mod quirks;
pub mod receipt;
pub mod settings;
pub mod splice;
pub mod sse;
pub mod table;

pub mod anthropic;
pub mod chat;
pub mod gemini;
pub mod responses;
pub mod textual;
