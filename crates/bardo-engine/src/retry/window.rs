//! Requests and retries of the last ten seconds.

use std::time::Duration;

use tokio::time::Instant;

const SLOTS: usize = 10;
const SLOT: Duration = Duration::from_secs(1);

/// Requests and retries of one second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RetrySlot {
    pub(super) requests: u32,
    pub(super) retries: u32,
}

/// Requests and retries of the last ten seconds, the running one included.
#[derive(Debug)]
pub(super) struct RetryWindow {
    began: Instant,
    head: u64,
    slots: [RetrySlot; SLOTS],
}

impl RetryWindow {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            began: now,
            head: 0,
            slots: [RetrySlot::default(); SLOTS],
        }
    }

    /// The running slot.
    pub(super) fn now(&mut self, now: Instant) -> &mut RetrySlot {
        let passed = now.saturating_duration_since(self.began).as_nanos();
        let index = u64::try_from(passed / SLOT.as_nanos().max(1)).unwrap_or(u64::MAX);
        // Threads may come with times in another order; the past is not reopened.
        let behind = index.saturating_sub(self.head).min(SLOTS as u64);
        for back in 0..behind {
            self.slots[place(index - back)] = RetrySlot::default();
        }
        self.head = self.head.max(index);
        &mut self.slots[place(self.head)]
    }

    /// Requests and retries of the whole window.
    pub(super) fn sums(&mut self, now: Instant) -> (u64, u64) {
        self.now(now);
        self.slots.iter().fold((0, 0), |(requests, retries), slot| {
            (
                requests + u64::from(slot.requests),
                retries + u64::from(slot.retries),
            )
        })
    }
}

/// The place of a slot in the ring.
fn place(index: u64) -> usize {
    usize::try_from(index % SLOTS as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_leave_the_window_with_their_slot() {
        let start = Instant::now();
        let mut window = RetryWindow::new(start);
        for at in 0..10 {
            window.now(start + SLOT * at).requests += 1;
        }
        assert_eq!(window.sums(start + SLOT * 9), (10, 0));
        assert_eq!(window.sums(start + SLOT * 10), (9, 0));
        // A time that another thread took earlier counts for the running slot.
        window.now(start).retries += 1;
        assert_eq!(window.sums(start + SLOT * 18), (1, 1));
        assert_eq!(window.sums(start + SLOT * 19), (0, 1));
        assert_eq!(window.sums(start + SLOT * 20), (0, 0));
        assert_eq!(window.sums(start + SLOT * 1_000_000), (0, 0));
    }
}
