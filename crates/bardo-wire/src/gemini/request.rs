//! Requests for upstreams.

pub(super) mod encode;
