//! The Pareto front of candidates.

/// The dimensions of the comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// Less is better.
    pub(crate) cost: u64,
    /// More is better.
    pub(crate) quality: f64,
    /// Less is better.
    pub(crate) latency_ms: u64,
    /// More is better.
    pub(crate) privacy: u8,
}

impl Point {
    /// Whether it is nowhere worse and somewhere better.
    pub(crate) fn dominates(&self, other: &Self) -> bool {
        self.cost <= other.cost
            && self.quality >= other.quality
            && self.latency_ms <= other.latency_ms
            && self.privacy >= other.privacy
            && self != other
    }
}

/// The indices of those that no other dominates.
pub(crate) fn front(points: &[(usize, Point)]) -> Vec<usize> {
    points
        .iter()
        .filter(|(_, point)| !points.iter().any(|(_, other)| other.dominates(point)))
        .map(|(index, _)| *index)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_holds_trades_and_no_losses() {
        let point = |cost, quality, latency_ms| Point {
            cost,
            quality,
            latency_ms,
            privacy: 0,
        };
        let points = [
            (0, point(1, 0.2, 100)),
            (1, point(5, 0.9, 300)),
            (2, point(5, 0.8, 300)),
            (3, point(2, 0.1, 100)),
            (4, point(9, 0.1, 50)),
            (5, point(1, 0.2, 100)),
        ];
        assert_eq!(front(&points), [0, 1, 4, 5]);
    }
}
