//! Whether a request may have been carried out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A mark on a request that somebody watches: set once a provider may have the request, or its
/// caller an answer to it. Copies of the request share it.
#[derive(Clone, Default)]
pub(crate) struct SentMark(Option<Arc<AtomicBool>>);

impl SentMark {
    /// A mark that can be set.
    pub(crate) fn watched() -> Self {
        Self(Some(Arc::default()))
    }

    /// From here on, the request may have been carried out.
    pub(crate) fn set(&self) {
        if let Some(mark) = &self.0 {
            mark.store(true, Ordering::Release);
        }
    }

    /// Whether the request may have been carried out; false where nobody watches it.
    pub(crate) fn is_set(&self) -> bool {
        let mark = self.0.as_ref();
        mark.is_some_and(|mark| mark.load(Ordering::Acquire))
    }
}
