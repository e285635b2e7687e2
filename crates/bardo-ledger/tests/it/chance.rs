//! Chance that can be repeated: a seed gives the same choices for ever.

/// The random number generator SplitMix64.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of 0 to `bound`, without `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True in this many of a hundred calls.
    pub(crate) fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let index = usize::try_from(self.below(from.len() as u64)).expect("small");
        &from[index]
    }

    /// A number of up to `bits` bits, small ones as likely as large ones.
    pub(crate) fn scale(&mut self, bits: u64) -> u64 {
        let width = self.below(bits + 1);
        if width == 0 {
            0
        } else {
            self.next() >> (64 - width)
        }
    }
}

/// Whether the long runs were asked for (`BARDO_LONG=1`).
pub(crate) fn long() -> bool {
    std::env::var("BARDO_LONG").is_ok_and(|value| value == "1")
}

/// The one seed that was asked for (`BARDO_SEED=…`).
pub(crate) fn only_seed() -> Option<u64> {
    let seed = std::env::var("BARDO_SEED").ok()?;
    Some(seed.parse().expect("BARDO_SEED is a number"))
}

/// Tells, where a test fails, how to repeat it.
pub(crate) struct Replay(pub(crate) u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to repeat it: BARDO_SEED={}", self.0);
        }
    }
}
