//! Whole answers of upstreams.

pub(super) mod decode;
