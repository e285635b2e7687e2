//! Latencies of a run: an HDR histogram that speaks in durations.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Significant decimal digits that every reported value keeps.
const DIGITS: u8 = 3;

/// Counts of durations, each kept to three significant digits.
#[derive(Clone)]
pub(crate) struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Self {
        Self(Histogram::new(DIGITS).expect("three digits are within 0 to 5"))
    }
}

impl Latencies {
    pub(crate) fn record(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.0
            .record(nanos)
            .expect("a histogram that resizes itself takes every value");
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.0
            .add(&other.0)
            .expect("a histogram that resizes itself takes every value");
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    pub(crate) fn max(&self) -> Duration {
        Duration::from_nanos(self.0.max())
    }

    /// The smallest recorded value that `share` (0 to 1) of the records do not exceed; zero when
    /// nothing was recorded.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.0.value_at_quantile(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_thousand_values_keep_two_digits() {
        let mut latencies = Latencies::default();
        for micros in 1..=1000 {
            latencies.record(Duration::from_micros(micros));
        }
        for (share, micros) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (1.0, 1000.0)] {
            let got = latencies.quantile(share).as_secs_f64() * 1e6;
            assert!((got / micros - 1.0).abs() < 0.01, "p{share}: {got}");
        }
    }

    #[test]
    fn merging_adds_up() {
        let (mut a, mut b) = (Latencies::default(), Latencies::default());
        a.record(Duration::from_nanos(10));
        b.record(Duration::from_secs(90));
        a.merge(&b);
        assert_eq!(a.count(), 2);
        assert!(a.max() >= Duration::from_secs(90));
        assert_eq!(a.quantile(0.5), Duration::from_nanos(10));
    }

    #[test]
    fn an_empty_run_has_no_latency() {
        assert_eq!(Latencies::default().quantile(0.5), Duration::ZERO);
    }
}
