//! Answers of upstreams, streamed or whole: one machine reads both.

pub(super) mod decode;
