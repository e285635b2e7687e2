//! Streamed answers of upstreams.

pub(super) mod decode;
