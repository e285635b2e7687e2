//! Requests: from callers, and for upstreams.

pub(super) mod decode;
pub(super) mod encode;
