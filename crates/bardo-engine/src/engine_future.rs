//! The future of what the engine does for others.

use std::pin::Pin;

/// Work of the engine. It is compiled here, with the optimization of this crate: an `async fn` would
/// be compiled by the crate that waits for it.
pub type EngineFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
