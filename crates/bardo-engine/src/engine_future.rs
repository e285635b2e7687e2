//! The future of what the engine does for others.

use std::pin::Pin;

/// Work of the engine. It is compiled here, with the optimization of this crate: an `async fn` would
/// be compiled by the crate that waits for it.
pub type EngineFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Boxes what `make` makes in its place on the heap. `Box::new` makes the value first, for which it
/// has to be dropped if there is no memory, and then copies all its bytes.
#[inline]
pub(crate) fn boxed<T>(make: impl FnOnce() -> T) -> Box<T> {
    Box::write(Box::new_uninit(), make())
}

/// [`boxed`] for a future: most of its bytes are room for what it does later. Where a future is
/// awaited without a box, `pin!` spares it two moves.
#[inline]
pub(crate) fn boxed_future<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::into_pin(boxed(make))
}
