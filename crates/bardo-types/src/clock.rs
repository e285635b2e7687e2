//! What time it is, as a port, so that tests own it.

use std::time::{SystemTime, UNIX_EPOCH};

/// The wall clock. It may step; nothing that measures a duration uses it.
pub trait Clock: Send + Sync {
    /// The present time, in Unix milliseconds.
    fn now_ms(&self) -> u64;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| {
                u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
            })
    }
}
