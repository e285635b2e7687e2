//! The books as a state machine, in memory.

/// The books in memory.
#[derive(Debug, Default)]
pub struct Book;
