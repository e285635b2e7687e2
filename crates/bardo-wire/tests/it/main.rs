//! What the codecs promise together, through their public table.

#![expect(
    clippy::unwrap_used,
    reason = "a check that fails ends its test with what it saw"
)]

mod degraded;
mod usage_corpus;
