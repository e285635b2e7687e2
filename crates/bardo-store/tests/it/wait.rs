//! Waiting for something that another thread or process does.

use std::thread::park_timeout;
use std::time::{Duration, Instant};

/// Looks again and again until the condition holds; fails when it never does.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "{what} never came true");
        park_timeout(Duration::from_millis(5));
    }
}
