//! What the codecs promise together, through their public table.

mod degraded;
mod usage_corpus;
