//! The chat dialect.
