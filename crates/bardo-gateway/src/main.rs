//! The `bardo-gateway` binary.
fn main() {}
