//! Latencies over the recent past in a fixed amount of memory.

use std::time::Duration;

use tokio::time::Instant;

/// One slot of time; thirty of them are the five minutes that are looked at.
pub(super) const SLOT: Duration = Duration::from_secs(10);
const SLOTS: u64 = 30;
/// Four buckets for each doubling from a millisecond to half an hour, so that what is read is at
/// most an eighth off.
const BUCKETS: usize = 80;

/// Below so many samples nothing is said of percentiles or shares.
pub const SAMPLES_MIN: u32 = 20;

/// How long answers took, as far as enough of them came.
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

/// What is counted of one slot, or of all of them.
#[derive(Clone)]
struct Counts<N> {
    successes: N,
    failures: N,
    /// Until the first content of streams, and until the end of whole answers.
    latencies: [[N; BUCKETS]; 2],
}

/// What is counted of five minutes. The sums are kept, so that reading does not add up slots.
pub(super) struct Window {
    began: Instant,
    head: u64,
    slots: Box<[Counts<u16>]>,
    sums: Counts<u32>,
    /// What the ninth of ten answers took in the long run.
    usual: [Option<Usual>; 2],
}

/// A slowly moving average.
#[derive(Clone, Copy)]
struct Usual {
    ms: f64,
    slots: u32,
}

impl Usual {
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

impl Window {
    pub(super) fn new(now: Instant) -> Self {
        let empty = Counts {
            successes: 0,
            failures: 0,
            latencies: [[0; BUCKETS]; 2],
        };
        let all = Counts {
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
        let slot = &mut self.slots[usize::try_from(index % SLOTS).unwrap_or(0)];
        if slot.successes == 0 && slot.failures == 0 {
            return;
        }
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
                    .get_or_insert(Usual { ms: 0.0, slots: 0 })
                    .add(ms);
            }
        }
    }

    fn slot(&mut self) -> &mut Counts<u16> {
        &mut self.slots[usize::try_from(self.head % SLOTS).unwrap_or(0)]
    }

    /// An answer came, and took so long where that is known.
    pub(super) fn succeeded(&mut self, streamed: bool, took: Option<Duration>) {
        let slot = self.slot();
        // A slot that is full stays as it is: its shape is known well enough by then.
        let Some(more) = slot.successes.checked_add(1) else {
            return;
        };
        slot.successes = more;
        let bucket = took.map(bucket);
        let of = usize::from(streamed);
        if let Some(bucket) = bucket {
            slot.latencies[of][bucket] += 1;
            self.sums.latencies[of][bucket] += 1;
        }
        self.sums.successes += 1;
    }

    /// No answer came, or it broke off.
    pub(super) fn failed(&mut self) {
        let slot = self.slot();
        let Some(more) = slot.failures.checked_add(1) else {
            return;
        };
        slot.failures = more;
        self.sums.failures += 1;
    }

    /// Successes and failures.
    pub(super) fn totals(&self) -> (u32, u32) {
        (self.sums.successes, self.sums.failures)
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
        let mut window = Window::new(start);
        for second in 0..600_u64 {
            window.advance(start + Duration::from_secs(second));
            window.succeeded(second % 2 == 0, Some(Duration::from_millis(second)));
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
        let mut window = Window::new(start);
        for _ in 0..70_000 {
            window.succeeded(true, Some(Duration::from_millis(5)));
            window.failed();
        }
        assert_eq!(window.totals(), (65_535, 65_535));
        window.advance(start + Duration::from_secs(301));
        assert_eq!(window.totals(), (0, 0));
    }
}
