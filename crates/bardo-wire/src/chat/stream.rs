//! Streamed answers: from upstreams, and for callers.

pub(super) mod chunks;
pub(super) mod decode;
pub(super) mod encode;
mod halves;
