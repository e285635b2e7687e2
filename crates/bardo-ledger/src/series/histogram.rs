//! Counts of durations in fixed buckets, which add up over time and over processes.

/// Number of buckets.
const BUCKETS: usize = 24;

/// Upper bounds of the buckets in milliseconds; the last bucket has no bound.
const BOUNDS_MS: [u64; BUCKETS - 1] = [
    1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500,
    10_000, 20_000, 30_000, 60_000, 120_000,
];

/// Counts of durations. A bucket has the durations up to its bound that are above the bound before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Histogram([i64; BUCKETS]);

impl Histogram {
    /// Number of counts.
    pub(super) const WIDTH: usize = BUCKETS;

    /// Counts as a store keeps them; missing ones are 0.
    pub(super) fn read(numbers: &[i64]) -> Self {
        let mut counts = [0; BUCKETS];
        for (count, number) in counts.iter_mut().zip(numbers) {
            *count = *number;
        }
        Self(counts)
    }

    /// Place of a duration.
    pub(super) fn bucket(ms: u64) -> usize {
        BOUNDS_MS.partition_point(|bound| *bound < ms)
    }

    /// Number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts().sum()
    }

    /// Upper bound in milliseconds and count of each bucket; the last one has no bound.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<u64>, u64)> + '_ {
        let bounds = BOUNDS_MS.iter().copied().map(Some).chain([None]);
        bounds.zip(self.counts())
    }

    /// The duration in milliseconds that so many of a thousand durations do not exceed, estimated
    /// within its bucket; `None` where there is none. Beyond the last bound it is that bound.
    #[must_use]
    pub fn quantile(&self, permille: u16) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let wanted = u128::from(count) * u128::from(permille.min(1_000));
        let rank = u64::try_from(wanted.div_ceil(1_000)).unwrap_or(u64::MAX);
        let rank = rank.max(1);
        let (mut below, mut lower) = (0_u64, 0_u64);
        for (upper, here) in self.buckets() {
            let Some(upper) = upper else {
                break;
            };
            if below + here >= rank {
                let within = u128::from(upper - lower) * u128::from(rank - below);
                let within = u64::try_from(within / u128::from(here)).unwrap_or(u64::MAX);
                return Some(lower + within);
            }
            below += here;
            lower = upper;
        }
        Some(lower)
    }

    fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.0
            .iter()
            .map(|count| u64::try_from(*count).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(durations: &[u64]) -> Histogram {
        let mut counts = [0; BUCKETS];
        for ms in durations {
            counts[Histogram::bucket(*ms)] += 1;
        }
        Histogram::read(&counts)
    }

    #[test]
    fn a_duration_counts_in_the_bucket_whose_bound_it_does_not_exceed() {
        for (ms, bound) in [(0, Some(1)), (1, Some(1)), (2, Some(2)), (150, Some(150))] {
            let found = of(&[ms]).buckets().find(|(_, count)| *count == 1);
            assert_eq!(found.map(|(bound, _)| bound), Some(bound), "{ms}");
        }
        let last = of(&[120_001]).buckets().last();
        assert_eq!(last, Some((None, 1)));
    }

    #[test]
    fn quantiles_lie_within_their_bucket_and_never_fall() {
        let durations: Vec<u64> = (1..=1_000).collect();
        let all = of(&durations);
        for (permille, exact) in [(500, 500), (950, 950), (990, 990)] {
            let found = all.quantile(permille).unwrap();
            let bucket = Histogram::bucket(exact);
            assert!(found <= BOUNDS_MS[bucket], "{permille}: {found}");
            assert!(found > BOUNDS_MS[bucket - 1], "{permille}: {found}");
        }
        let rising: Vec<_> = (0..=1_000).map(|permille| all.quantile(permille)).collect();
        assert!(rising.is_sorted());
        assert_eq!(Histogram::default().quantile(500), None);
        assert_eq!(of(&[500_000]).quantile(500), Some(120_000));
    }
}
