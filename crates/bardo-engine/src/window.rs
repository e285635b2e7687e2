//! Two counters over the recent past.

use std::time::Duration;

use tokio::time::Instant;

const SLOTS: usize = 10;

/// Two counters over the last ten slots of time, the running one included.
#[derive(Debug)]
pub(crate) struct Window {
    slot: Duration,
    began: Instant,
    head: u64,
    counts: [(u32, u32); SLOTS],
}

impl Window {
    /// A window of ten times `slot`.
    pub(crate) fn new(slot: Duration, now: Instant) -> Self {
        Self {
            slot,
            began: now,
            head: 0,
            counts: [(0, 0); SLOTS],
        }
    }

    /// The running slot.
    pub(crate) fn now(&mut self, now: Instant) -> &mut (u32, u32) {
        let passed = now.saturating_duration_since(self.began).as_nanos();
        let index = u64::try_from(passed / self.slot.as_nanos().max(1)).unwrap_or(u64::MAX);
        // Threads may come with times in another order; the past is not reopened.
        let behind = index.saturating_sub(self.head).min(SLOTS as u64);
        for back in 0..behind {
            let at = (index - back) % SLOTS as u64;
            self.counts[usize::try_from(at).unwrap_or(0)] = (0, 0);
        }
        self.head = self.head.max(index);
        let at = self.head % SLOTS as u64;
        &mut self.counts[usize::try_from(at).unwrap_or(0)]
    }

    /// Both counters over the whole window.
    pub(crate) fn sums(&mut self, now: Instant) -> (u64, u64) {
        self.now(now);
        self.counts.iter().fold((0, 0), |(first, second), slot| {
            (first + u64::from(slot.0), second + u64::from(slot.1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_leave_the_window_with_their_slot() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut window = Window::new(second, start);
        for at in 0..10 {
            window.now(start + second * at).0 += 1;
        }
        assert_eq!(window.sums(start + second * 9), (10, 0));
        assert_eq!(window.sums(start + second * 10), (9, 0));
        // A time that another thread took earlier counts for the running slot.
        window.now(start).1 += 1;
        assert_eq!(window.sums(start + second * 18), (1, 1));
        assert_eq!(window.sums(start + second * 19), (0, 1));
        assert_eq!(window.sums(start + second * 20), (0, 0));
        assert_eq!(window.sums(start + second * 1_000_000), (0, 0));
    }
}
