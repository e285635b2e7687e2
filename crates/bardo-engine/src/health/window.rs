//! Outcomes and latencies of five minutes in a fixed amount of memory.

use std::time::Duration;

use tokio::time::Instant;

/// One slot of time; thirty of them are the five minutes that are looked at.
const SLOT: Duration = Duration::from_secs(10);
const SLOTS: u64 = 30;
/// Four buckets for each doubling from a millisecond to half an hour, so that what is read is at
/// most an eighth off.
const BUCKETS: usize = 80;

/// Below so many samples nothing is said of percentiles or shares.
pub const SAMPLES_MIN: u32 = 20;

/// Percentiles of the times that answers took; unknown below 20 answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Percentiles {
    /// Answers within five minutes.
    pub samples: u32,
    /// Half of them were quicker.
    pub p50_ms: Option<u64>,
    /// Nine of ten were quicker.
    pub p90_ms: Option<u64>,
    /// Nineteen of twenty were quicker.
    pub p95_ms: Option<u64>,
}

/// The counters of one slot, or the sums of all slots.
#[derive(Clone)]
struct SlotCounts<N> {
    successes: N,
    failures: N,
    /// Until the first content of streams, and until the end of whole answers.
    latencies: [[N; BUCKETS]; 2],
}

/// Number of a slot since the window began.
pub(super) type SlotIndex = u64;

/// A moment within a window, to count the outcomes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WindowMark {
    slot: SlotIndex,
    successes: u16,
    failures: u16,
}

/// The counters of five minutes. It keeps the sums, so that reading does not add up slots.
pub(super) struct OutcomeWindow {
    began: Instant,
    head: SlotIndex,
    slots: Box<[SlotCounts<u16>]>,
    sums: SlotCounts<u32>,
    /// The long-term averages of p90.
    usual: [Option<LongTermAverage>; 2],
}

/// A slowly moving average.
#[derive(Clone, Copy)]
struct LongTermAverage {
    ms: f64,
    slots: u32,
}

impl LongTermAverage {
    /// The average goes over about half an hour of slots.
    const SPAN: f64 = 180.0;

    fn add(&mut self, ms: u64) {
        self.slots = self.slots.saturating_add(1);
        #[expect(
            clippy::cast_precision_loss,
            reason = "milliseconds of a day fit exactly"
        )]
        let new = ms as f64;
        self.ms += (new - self.ms) / f64::from(self.slots).min(Self::SPAN);
    }
}

impl OutcomeWindow {
    pub(super) fn new(now: Instant) -> Self {
        let empty = SlotCounts {
            successes: 0,
            failures: 0,
            latencies: [[0; BUCKETS]; 2],
        };
        let all = SlotCounts {
            successes: 0,
            failures: 0,
            latencies: [[0; BUCKETS]; 2],
        };
        Self {
            began: now,
            head: 0,
            slots: vec![empty; usize::try_from(SLOTS).unwrap_or(1)].into_boxed_slice(),
            sums: all,
            usual: [None; 2],
        }
    }

    /// Takes out what has become older than the window.
    pub(super) fn advance(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.began).as_secs();
        let index = passed / SLOT.as_secs();
        // Threads may come with times in another order; the past is not reopened.
        if index <= self.head {
            return;
        }
        self.remember_usual();
        for back in 0..(index - self.head).min(SLOTS) {
            self.clear(index - back);
        }
        self.head = index;
    }

    fn clear(&mut self, index: u64) {
        let slot = &mut self.slots[place(index)];
        self.sums.successes -= u32::from(std::mem::take(&mut slot.successes));
        self.sums.failures -= u32::from(std::mem::take(&mut slot.failures));
        for (sums, counts) in self.sums.latencies.iter_mut().zip(&mut slot.latencies) {
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum -= u32::from(std::mem::take(count));
            }
        }
    }

    fn remember_usual(&mut self) {
        for streamed in [false, true] {
            if let Some(ms) = self.percentiles(streamed).p90_ms {
                self.usual[usize::from(streamed)]
                    .get_or_insert(LongTermAverage { ms: 0.0, slots: 0 })
                    .add(ms);
            }
        }
    }

    fn slot(&mut self) -> &mut SlotCounts<u16> {
        &mut self.slots[place(self.head)]
    }

    /// Number of the running slot.
    pub(super) fn slot_index(&self) -> SlotIndex {
        self.head
    }

    /// The moment of the last [`advance`](Self::advance).
    pub(super) fn mark(&self) -> WindowMark {
        let slot = &self.slots[place(self.head)];
        WindowMark {
            slot: self.head,
            successes: slot.successes,
            failures: slot.failures,
        }
    }

    /// Counts a success.
    pub(super) fn succeeded(&mut self) {
        let slot = self.slot();
        // A full slot stays as it is: the share of failures is known well enough by then.
        let Some(more) = slot.successes.checked_add(1) else {
            return;
        };
        slot.successes = more;
        self.sums.successes += 1;
    }

    /// Takes back a success of this slot, if the window still has it.
    pub(super) fn take_back_success(&mut self, index: SlotIndex) {
        if self.head.saturating_sub(index) >= SLOTS {
            return;
        }
        let slot = &mut self.slots[place(index)];
        if let Some(fewer) = slot.successes.checked_sub(1) {
            slot.successes = fewer;
            self.sums.successes -= 1;
        }
    }

    /// Counts a failure.
    pub(super) fn failed(&mut self) {
        let slot = self.slot();
        let Some(more) = slot.failures.checked_add(1) else {
            return;
        };
        slot.failures = more;
        self.sums.failures += 1;
    }

    /// Counts the time that an answer took.
    pub(super) fn took(&mut self, streamed: bool, took: Duration) {
        let (of, bucket) = (usize::from(streamed), bucket(took));
        let count = &mut self.slot().latencies[of][bucket];
        if let Some(more) = count.checked_add(1) {
            *count = more;
            self.sums.latencies[of][bucket] += 1;
        }
    }

    /// Successes and failures of the whole window.
    pub(super) fn totals(&self) -> (u32, u32) {
        (self.sums.successes, self.sums.failures)
    }

    /// Successes and failures after a moment, or of the whole window.
    pub(super) fn since(&self, mark: Option<WindowMark>) -> (u32, u32) {
        let Some(mark) = mark.filter(|mark| self.head.saturating_sub(mark.slot) < SLOTS) else {
            return self.totals();
        };
        let slots = (mark.slot..=self.head).map(|index| &self.slots[place(index)]);
        let (successes, failures) = slots.fold((0_u32, 0_u32), |(successes, failures), slot| {
            let more = (u32::from(slot.successes), u32::from(slot.failures));
            (successes + more.0, failures + more.1)
        });
        (
            successes.saturating_sub(mark.successes.into()),
            failures.saturating_sub(mark.failures.into()),
        )
    }

    pub(super) fn percentiles(&self, streamed: bool) -> Percentiles {
        let counts = &self.sums.latencies[usize::from(streamed)];
        let samples: u32 = counts.iter().sum();
        if samples < SAMPLES_MIN {
            return Percentiles {
                samples,
                ..Percentiles::default()
            };
        }
        let at = |percent: u64| {
            let rank = (u64::from(samples) * percent).div_ceil(100);
            let mut seen = 0;
            let found = counts.iter().position(|&count| {
                seen += u64::from(count);
                seen >= rank
            });
            found.map(middle)
        };
        Percentiles {
            samples,
            p50_ms: at(50),
            p90_ms: at(90),
            p95_ms: at(95),
        }
    }

    /// Whether answers take far longer than they usually do: three times as long and a second more,
    /// measured against at least the window's length of experience.
    pub(super) fn is_slow(&self) -> bool {
        [false, true].into_iter().any(|streamed| {
            let usual = self.usual[usize::from(streamed)];
            let now = self.percentiles(streamed).p90_ms;
            let (Some(usual), Some(now)) = (usual, now) else {
                return false;
            };
            #[expect(
                clippy::cast_precision_loss,
                reason = "milliseconds of a day fit exactly"
            )]
            let now = now as f64;
            u64::from(usual.slots) >= SLOTS && now > usual.ms * 3.0 && now > usual.ms + 1000.0
        })
    }
}

/// The place of a slot in the ring.
fn place(index: SlotIndex) -> usize {
    usize::try_from(index % SLOTS).unwrap_or(0)
}

/// The bucket of a latency.
fn bucket(took: Duration) -> usize {
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    if ms < 4 {
        return usize::try_from(ms).unwrap_or(0);
    }
    let octave = u64::from(ms.ilog2());
    let quarter = (ms >> (octave - 2)) & 3;
    let index = (octave - 1) * 4 + quarter;
    usize::try_from(index)
        .unwrap_or(usize::MAX)
        .min(BUCKETS - 1)
}

/// The middle of a bucket, in milliseconds.
fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 4 {
        return bucket;
    }
    let octave = bucket / 4 + 1;
    let low = (4 + bucket % 4) << (octave - 2);
    low + (1 << (octave - 2)) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_is_read_within_an_eighth() {
        for ms in (0..2_000).chain((2_000..2_000_000).step_by(997)) {
            let read = middle(bucket(Duration::from_millis(ms)));
            assert!(read.abs_diff(ms) * 8 <= ms, "{ms} is read as {read}");
        }
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn what_is_older_than_five_minutes_is_forgotten_to_the_last_count() {
        let start = Instant::now();
        let mut window = OutcomeWindow::new(start);
        for second in 0..600_u64 {
            window.advance(start + Duration::from_secs(second));
            window.succeeded();
            window.took(second % 2 == 0, Duration::from_millis(second));
            window.failed();
        }
        assert_eq!(window.totals(), (300, 300));
        assert_eq!(window.percentiles(true).samples, 150);
        // The newest half of the latencies: 300 to 599 ms.
        let p50 = window.percentiles(false).p50_ms.unwrap();
        assert!((400..=500).contains(&p50), "{p50}");
        window.advance(start + Duration::from_secs(3_000));
        assert_eq!(window.totals(), (0, 0));
        assert!(window.sums.latencies.iter().flatten().all(|&sum| sum == 0));
        // A time that another thread took earlier is no harm.
        window.advance(start);
        window.failed();
        assert_eq!(window.totals(), (0, 1));
    }

    #[test]
    fn a_slot_that_is_full_neither_wraps_nor_miscounts() {
        let start = Instant::now();
        let mut window = OutcomeWindow::new(start);
        for _ in 0..70_000 {
            window.succeeded();
            window.took(true, Duration::from_millis(5));
            window.failed();
        }
        assert_eq!(window.totals(), (65_535, 65_535));
        window.advance(start + Duration::from_secs(301));
        assert_eq!(window.totals(), (0, 0));
    }
    #[test]
    fn outcomes_after_a_mark_are_counted_alone_while_the_window_has_it() {
        let start = Instant::now();
        let mut window = OutcomeWindow::new(start);
        window.failed();
        window.failed();
        let mark = window.mark();
        window.succeeded();
        window.advance(start + Duration::from_secs(20));
        window.failed();
        assert_eq!(window.since(Some(mark)), (1, 1));
        assert_eq!(window.since(None), (1, 3));
        window.advance(start + Duration::from_secs(305));
        assert_eq!(window.since(Some(mark)), (0, 1));
    }

    #[test]
    fn a_success_is_taken_back_from_its_own_slot_and_only_while_the_window_has_it() {
        let start = Instant::now();
        let mut window = OutcomeWindow::new(start);
        window.succeeded();
        let begun = window.slot_index();
        window.advance(start + Duration::from_secs(60));
        window.succeeded();
        window.take_back_success(begun);
        assert_eq!(window.totals(), (1, 0));
        window.take_back_success(begun);
        assert_eq!(window.totals(), (1, 0));
        window.advance(start + Duration::from_secs(300));
        assert_eq!(window.totals(), (1, 0));
        window.take_back_success(begun);
        assert_eq!(window.totals(), (1, 0));
    }
}
