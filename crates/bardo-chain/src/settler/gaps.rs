//! Nonces that were given out and that no transaction uses. They hold up all later ones.

use std::ops::Range;
use std::time::Duration;

use tokio::time::Instant;

/// How long a nonce may be the next and unused before it is filled: a process that has just taken
/// it may still be signing.
const GAP: Duration = Duration::from_secs(10);

/// The first gap between the nonces of an account, since it was seen.
#[derive(Debug, Default)]
pub(super) struct NonceGaps {
    open: Option<OpenGap>,
    /// The nonce that a filled range began with last, and how often it was filled.
    filled: Option<(u64, u32)>,
}

#[derive(Debug)]
struct OpenGap {
    /// The nonce that the chain waits for.
    first: u64,
    /// The nonce that was next to be given out then: those before it are as old as the gap.
    end: u64,
    since: Instant,
}

/// Nonces to fill.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OverdueNonces {
    pub(super) nonces: Range<u64>,
    /// How often the first of them was filled before, and stayed in no block.
    pub(super) tries: u32,
}

impl NonceGaps {
    /// Forgets the gap: the chain waits for no unused nonce.
    pub(super) fn clear(&mut self) {
        self.open = None;
    }

    /// Notes that the chain waits for the nonce `first`, that no transaction uses it, and that `next`
    /// would be given out next. Once it has been so for 10 seconds, answers the nonces from `first`
    /// on that were given out so long ago.
    pub(super) fn overdue(&mut self, first: u64, next: u64, now: Instant) -> Option<OverdueNonces> {
        let mut open = match self.open.take() {
            Some(open) if open.first == first => open,
            _ => OpenGap {
                first,
                end: next,
                since: now,
            },
        };
        // One that is given back is young again.
        open.end = open.end.min(next);
        if now.duration_since(open.since) < GAP {
            self.open = Some(open);
            return None;
        }
        let tries = match self.filled {
            Some((nonce, times)) if nonce == first => times,
            _ => 0,
        };
        self.filled = Some((first, tries.saturating_add(1)));
        Some(OverdueNonces {
            nonces: open.first..open.end,
            tries,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overdue(nonces: Range<u64>, tries: u32) -> Option<OverdueNonces> {
        Some(OverdueNonces { nonces, tries })
    }

    #[test]
    fn all_nonces_that_are_as_old_as_the_first_gap_are_overdue_with_it() {
        let (mut gaps, start) = (NonceGaps::default(), Instant::now());
        assert_eq!(gaps.overdue(4, 9, start), None);
        let early = start + GAP / 2;
        assert_eq!(gaps.overdue(4, 11, early), None);
        let filled = gaps.overdue(4, 12, start + GAP);
        assert_eq!(filled, overdue(4..9, 0), "not 9 to 11");
        assert_eq!(gaps.overdue(4, 12, start + GAP), None, "it is filled now");
    }

    #[test]
    fn a_gap_that_ends_or_moves_begins_anew() {
        let (mut gaps, start) = (NonceGaps::default(), Instant::now());
        assert_eq!(gaps.overdue(4, 9, start), None);
        gaps.clear();
        assert_eq!(gaps.overdue(4, 9, start + GAP), None);
        assert_eq!(gaps.overdue(5, 9, start + 2 * GAP), None);
        assert_eq!(gaps.overdue(5, 9, start + 3 * GAP), overdue(5..9, 0));
    }

    #[test]
    fn a_nonce_that_stays_in_no_block_is_known_by_its_tries() {
        let (mut gaps, start) = (NonceGaps::default(), Instant::now());
        for tries in 0..3 {
            let since = start + GAP * 2 * tries;
            assert_eq!(gaps.overdue(4, 6, since), None);
            assert_eq!(gaps.overdue(4, 6, since + GAP), overdue(4..6, tries));
        }
        assert_eq!(gaps.overdue(5, 6, start + GAP * 7), None);
        let other = gaps.overdue(5, 6, start + GAP * 8);
        assert_eq!(other, overdue(5..6, 0));
    }

    #[test]
    fn a_nonce_that_is_given_back_and_taken_again_is_young() {
        let (mut gaps, start) = (NonceGaps::default(), Instant::now());
        assert_eq!(gaps.overdue(4, 9, start), None);
        assert_eq!(gaps.overdue(4, 8, start + GAP / 2), None);
        assert_eq!(gaps.overdue(4, 9, start + GAP), overdue(4..8, 0));
    }
}
