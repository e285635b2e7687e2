//! A latency histogram with a fixed relative error, in the manner of HDR.

use std::time::Duration;

/// Each power of two is cut into this many buckets, which keeps every reported
/// value within 1/128 of the true one.
const STEPS: u64 = 128;
const STEPS_BITS: u32 = STEPS.trailing_zeros();

/// Counts of durations.
#[derive(Clone)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; bucket(u64::MAX) + 1],
            total: 0,
            max: 0,
        }
    }
}

impl Histogram {
    pub(crate) fn record(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(nanos)] += 1;
        self.total += 1;
        self.max = self.max.max(nanos);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.max = self.max.max(other.max);
    }

    pub(crate) fn count(&self) -> u64 {
        self.total
    }

    pub(crate) fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }

    /// The smallest recorded value that `share` (0 to 1) of the records do not
    /// exceed; zero when nothing was recorded.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let wanted = (share * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration::from_nanos(upper_bound(index).min(self.max));
            }
        }
        Duration::ZERO
    }
}

fn bucket(nanos: u64) -> usize {
    if nanos < STEPS {
        return nanos as usize;
    }
    let shift = nanos.ilog2() - STEPS_BITS;
    (u64::from(shift) * STEPS + (nanos >> shift)) as usize
}

fn upper_bound(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket;
    }
    let shift = bucket / STEPS - 1;
    let step = bucket - shift * STEPS;
    ((u128::from(step) + 1) << shift)
        .saturating_sub(1)
        .try_into()
        .unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_its_values_and_is_narrow() {
        let mut nanos = 1_u64;
        while nanos < u64::MAX / 3 {
            for value in [nanos - 1, nanos, nanos + 1] {
                let upper = upper_bound(bucket(value));
                assert!(upper >= value, "{value} above its bucket's {upper}");
                assert!(
                    upper - value <= value / 100 + 1,
                    "{value} reported as {upper}"
                );
            }
            nanos = nanos * 3 / 2 + 1;
        }
        assert_eq!(upper_bound(bucket(u64::MAX)), u64::MAX);
    }

    #[test]
    fn quantiles_of_a_thousand_values() {
        let mut histogram = Histogram::default();
        for micros in 1..=1000 {
            histogram.record(Duration::from_micros(micros));
        }
        for (share, micros) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0)] {
            let got = histogram.quantile(share).as_secs_f64() * 1e6;
            assert!((got / micros - 1.0).abs() < 0.01, "p{share}: {got}");
        }
        assert_eq!(histogram.quantile(1.0), Duration::from_millis(1));
        assert_eq!(histogram.max(), Duration::from_millis(1));
    }

    #[test]
    fn merging_adds_up() {
        let (mut a, mut b) = (Histogram::default(), Histogram::default());
        a.record(Duration::from_nanos(10));
        b.record(Duration::from_nanos(90));
        a.merge(&b);
        assert_eq!((a.count(), a.max()), (2, Duration::from_nanos(90)));
        assert_eq!(a.quantile(0.5), Duration::from_nanos(10));
    }

    #[test]
    fn an_empty_histogram_has_no_latency() {
        assert_eq!(Histogram::default().quantile(0.5), Duration::ZERO);
    }
}
