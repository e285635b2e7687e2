//! Whole answers: from upstreams, and for callers.

pub(super) mod decode;
pub(super) mod encode;
