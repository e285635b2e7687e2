//! Streamed answers for callers; those of upstreams are read by the same machine as whole ones.

pub(super) mod encode;
