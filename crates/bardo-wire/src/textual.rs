//! Thinking and tool calls that a model writes into its text.
//!
//! Open models on plain servers think between `<think>` tags and call tools between
//! `<tool_call>` tags, in `<invoke>` blocks or as bare JSON. [`lower()`] writes a request for such a model, and [`EventFilter`] turns
//! what it says back into steps like those of any other model. Any cut of a stream gives the
//! same steps.

mod calls;
mod fences;
mod filter;
mod invoke;
mod loose;
mod lower;
mod notation;
mod objects;
mod splitter;
mod think;
mod words;
mod xml;

pub use calls::CallPiece;
pub use filter::{EventFilter, filter_response};
pub use lower::lower;
pub use splitter::CallSplitter;
pub use think::{Opener, ThinkPiece, ThinkSplitter};

/// How a text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The model was done.
    Complete,
    /// The model was cut off.
    Cut,
}

#[cfg(test)]
mod tests;
