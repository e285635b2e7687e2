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
}

#[derive(Debug)]
struct OpenGap {
    /// The nonce that the chain waits for.
    first: u64,
    /// The nonce that was next to be given out then: those before it are as old as the gap.
    end: u64,
    since: Instant,
}

impl NonceGaps {
    /// Forgets the gap: the chain waits for no unused nonce.
    pub(super) fn clear(&mut self) {
        self.open = None;
    }

    /// Notes that the chain waits for the nonce `first`, that no transaction uses it, and that `next`
    /// would be given out next. Once it has been so for 10 seconds, answers the nonces from `first`
    /// on that were given out so long ago.
    pub(super) fn overdue(&mut self, first: u64, next: u64, now: Instant) -> Option<Range<u64>> {
        match &self.open {
            Some(open) if open.first == first => {
                if now.duration_since(open.since) < GAP {
                    return None;
                }
                self.open.take().map(|open| open.first..open.end)
            }
            _ => {
                self.open = Some(OpenGap {
                    first,
                    end: next,
                    since: now,
                });
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_nonces_that_are_as_old_as_the_first_gap_are_overdue_with_it() {
        let (mut gaps, start) = (NonceGaps::default(), Instant::now());
        assert_eq!(gaps.overdue(4, 9, start), None);
        let early = start + GAP / 2;
        assert_eq!(gaps.overdue(4, 11, early), None);
        assert_eq!(gaps.overdue(4, 12, start + GAP), Some(4..9), "not 9 to 11");
        assert_eq!(gaps.overdue(4, 12, start + GAP), None, "it is filled now");
    }

    #[test]
    fn a_gap_that_ends_or_moves_begins_anew() {
        let (mut gaps, start) = (NonceGaps::default(), Instant::now());
        assert_eq!(gaps.overdue(4, 9, start), None);
        gaps.clear();
        assert_eq!(gaps.overdue(4, 9, start + GAP), None);
        assert_eq!(gaps.overdue(5, 9, start + 2 * GAP), None);
        assert_eq!(gaps.overdue(5, 9, start + 3 * GAP), Some(5..9));
    }
}
