//! Chance that a seed repeats.

/// Numbers from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64, purpose: &str) -> Self {
        let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(purpose.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, mix))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to 1, without 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether an event of this probability happens.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high.saturating_sub(low) + 1)
    }

    /// A time from `low` to `high` milliseconds, all orders of magnitude alike.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times of a simulation"
    )]
    pub(super) fn gap_ms(&mut self, low: u64, high: u64) -> u64 {
        let (low, high) = (low.max(1) as f64, high.max(1) as f64);
        (low * (high / low).powf(self.unit())) as u64
    }

    pub(super) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        let last = all.len().saturating_sub(1) as u64;
        all[usize::try_from(self.range(0, last)).unwrap_or(0)]
    }

    /// A place from 0 to `count`, without `count`: the second is half as frequent as the first, the
    /// third a third (Zipf).
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    pub(super) fn zipf(&mut self, count: usize) -> usize {
        let weight = |place: usize| 1.0 / (place as f64 + 1.0);
        let mut rest = self.unit() * (0..count).map(weight).sum::<f64>();
        for place in 0..count {
            rest -= weight(place);
            if rest < 0.0 {
                return place;
            }
        }
        count.saturating_sub(1)
    }

    /// English-looking text of so many tokens, at four bytes each.
    pub(super) fn prose(&mut self, tokens: u64) -> String {
        let size = usize::try_from(tokens)
            .unwrap_or(usize::MAX)
            .saturating_mul(4);
        let mut text = String::with_capacity(size + 16);
        while text.len() < size {
            text.push_str(self.pick(WORDS));
            text.push(if self.chance(0.08) { '\n' } else { ' ' });
        }
        text.truncate(size);
        text
    }
}

const WORDS: &[&str] = &[
    "account", "after", "answer", "before", "branch", "build", "buffer", "change", "check",
    "close", "config", "count", "daily", "delete", "device", "error", "every", "field", "file",
    "first", "found", "function", "gateway", "handle", "header", "index", "input", "invoice",
    "items", "keep", "large", "level", "limit", "list", "locked", "market", "message", "missing",
    "module", "never", "number", "offset", "open", "order", "output", "parse", "path", "pool",
    "price", "queue", "range", "read", "record", "request", "result", "return", "route", "second",
    "session", "shared", "signal", "spread", "state", "store", "stream", "table", "test", "token",
    "update", "value", "vault", "window", "write", "yield",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_another_differs() {
        let draw = |seed| Dice::new(seed, "x").prose(50);
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_eq!(draw(1).len(), 200);
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut dice = Dice::new(7, "range");
        for _ in 0..1_000 {
            assert!((3..=5).contains(&dice.range(3, 5)));
            assert!((10..=1_000).contains(&dice.gap_ms(10, 1_000)));
            assert!(dice.zipf(4) < 4);
        }
    }
}
