//! Gaps between the calls that begin with the same prefix.

use bardo_types::chat::CacheTtl;

use super::Millis;

/// Gaps that are remembered of one prefix.
const WINDOW: usize = 16;
/// Fewest gaps that show whether calls are regular.
const PERIODIC_MIN: usize = 4;
/// Time that a call needs to reach the provider's cache: an entry this close to its end counts as
/// expired.
const MARGIN_MS: Millis = 10_000;

/// Time for which a provider keeps an entry after its last use, less the time of the way there.
pub(crate) const fn usable_ms(ttl: CacheTtl) -> Millis {
    let whole = match ttl {
        CacheTtl::FiveMinutes => 300_000,
        CacheTtl::OneHour => 3_600_000,
    };
    whole - MARGIN_MS
}

/// Numbers that a decision rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Evidence {
    /// Gaps that were observed.
    pub total: u32,
    /// Gaps short enough for an entry of five minutes.
    pub within_5m: u32,
    /// Gaps short enough for an entry of one hour, those of `within_5m` among them.
    pub within_1h: u32,
    /// The gaps are those of other prefixes of the same tenant and agent, because this prefix has
    /// none yet.
    pub pooled: bool,
}

impl Evidence {
    /// Calls that would have found an entry of that lifetime.
    #[must_use]
    pub const fn warm(&self, ttl: CacheTtl) -> u32 {
        match ttl {
            CacheTtl::FiveMinutes => self.within_5m,
            CacheTtl::OneHour => self.within_1h,
        }
    }
}

/// The last 16 gaps of one prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gaps {
    /// Lengths in milliseconds; those above 49 days count as 49 days.
    last: [u32; WINDOW],
    /// Gaps that were ever added.
    added: u32,
}

impl Gaps {
    /// Adds a gap; the oldest one makes room.
    pub fn add(&mut self, gap: Millis) {
        let place = self.added as usize % WINDOW;
        self.last[place] = u32::try_from(gap).unwrap_or(u32::MAX);
        // The window stays full and its places keep their order when the count starts again.
        self.added = match self.added.checked_add(1) {
            Some(more) => more,
            None => WINDOW as u32,
        };
    }

    /// Splits the gap that was added last in two, because there was a call within it: `before` is the
    /// time from its beginning to that call, `after` the time from there to its end.
    pub(super) fn split(&mut self, before: Millis, after: Millis) {
        if let Some(newest) = self.added.checked_sub(1) {
            self.last[newest as usize % WINDOW] = u32::try_from(before).unwrap_or(u32::MAX);
        }
        self.add(after);
    }

    /// Gaps in the window.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.added as usize).min(WINDOW)
    }

    /// No gap was added yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added == 0
    }

    /// The gaps of the window in milliseconds, in no order.
    pub(super) fn known(&self) -> impl Iterator<Item = Millis> {
        self.last[..self.len()].iter().copied().map(Millis::from)
    }

    /// Whether calls come regularly: of four gaps or more, three quarters differ from the median by
    /// a quarter of it at most.
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        let mut sorted: Vec<Millis> = self.known().collect();
        if sorted.len() < PERIODIC_MIN {
            return false;
        }
        sorted.sort_unstable();
        let median = sorted[sorted.len() / 2];
        let near = |gap: &&Millis| gap.abs_diff(median) <= median / 4;
        sorted.iter().filter(near).count() * 4 >= sorted.len() * 3
    }

    /// What the gaps of the window say.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        let known = &self.last[..self.len()];
        let within = |ttl| {
            let usable = usable_ms(ttl);
            let short = known.iter().filter(|gap| Millis::from(**gap) <= usable);
            u32::try_from(short.count()).unwrap_or(u32::MAX)
        };
        Evidence {
            total: u32::try_from(known.len()).unwrap_or(u32::MAX),
            within_5m: within(CacheTtl::FiveMinutes),
            within_1h: within(CacheTtl::OneHour),
            pooled: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sixteen_gaps_are_counted_by_lifetime() {
        let mut gaps = Gaps::default();
        assert_eq!(gaps.evidence(), Evidence::default());
        for _ in 0..100 {
            gaps.add(Millis::MAX);
        }
        for minutes in [1, 4, 6, 59, 61] {
            gaps.add(minutes * 60_000);
        }
        let said = gaps.evidence();
        assert_eq!((said.total, said.within_5m, said.within_1h), (16, 2, 4));
    }

    #[test]
    fn calls_are_periodic_when_three_quarters_of_their_gaps_are_alike() {
        let periodic = |minutes: &[u64]| {
            let mut gaps = Gaps::default();
            minutes.iter().for_each(|gap| gaps.add(gap * 60_000));
            gaps.is_periodic()
        };
        assert!(periodic(&[72, 72, 72, 72]));
        assert!(periodic(&[60, 72, 80, 300]));
        assert!(!periodic(&[72, 72, 72]), "too few");
        assert!(!periodic(&[72, 72, 300, 5]));
        assert!(!periodic(&[1, 10, 60, 300, 900]));
    }

    #[test]
    fn a_gap_as_long_as_the_lifetime_is_too_long() {
        let mut gaps = Gaps::default();
        gaps.add(300_000);
        gaps.add(289_999);
        gaps.add(3_600_000);
        let said = gaps.evidence();
        assert_eq!((said.within_5m, said.within_1h), (1, 2));
    }
}
