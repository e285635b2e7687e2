//! Objects as they stand on the wire.

pub(super) mod answer;
pub(super) mod request;
