//! Tools and which of them must be called: from callers, and for upstreams.

pub(super) mod decode;
pub(super) mod encode;
