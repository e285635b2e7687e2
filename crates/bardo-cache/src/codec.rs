//! Kept answers as bytes: compact, versioned, and safe to read from anywhere.
//!
//! In memory the bytes hold the events of an answer; a second level holds the whole entry.

mod bytes;
mod entry;
mod event;
mod flush;

pub use bytes::Corrupt;
pub use entry::{read_entry, write_entry};
pub use event::{read_events, write_events};
pub use flush::{read_flush, write_flush};

#[cfg(test)]
mod tests;
