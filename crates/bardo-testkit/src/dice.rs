//! Chance that repeats: the same seed throws the same numbers, on every machine and in any order of
//! building.

/// A source of numbers (SplitMix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The numbers of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Numbers of their own for something that has a name and a number, whoever threw before.
    #[must_use]
    pub fn of(seed: u64, what: &str, number: u64) -> Self {
        let mut mixed = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in what.bytes() {
            mixed = (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut dice = Self(mixed);
        dice.throw();
        dice
    }

    /// A random number of 64 bits.
    pub fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: u64) -> u64 {
        self.throw() % end
    }

    /// An index into something of `len` things.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// Whether something of that chance happens.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.index(of.len())]
    }
}

/// The seeds of a suite: `short` of them, `long` when `BARDO_LONG=1`, and only the one of
/// `BARDO_SEED` when that is set.
///
/// # Panics
/// When `BARDO_SEED` is no number.
#[must_use]
pub fn seeds(short: u64, long: u64) -> Vec<u64> {
    match std::env::var("BARDO_SEED") {
        Ok(seed) => vec![seed.parse().expect("BARDO_SEED is a number")],
        Err(_) if is_long() => (0..long).collect(),
        Err(_) => (0..short).collect(),
    }
}

/// Whether the long versions of the suites are wanted.
#[must_use]
pub fn is_long() -> bool {
    std::env::var("BARDO_LONG").is_ok_and(|value| value == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same_numbers_and_another_name_others() {
        let twice = |name| {
            let mut dice = Dice::of(7, name, 3);
            [dice.throw(), dice.throw()]
        };
        assert_eq!(twice("a"), twice("a"));
        assert_ne!(twice("a"), twice("b"));
    }
}
