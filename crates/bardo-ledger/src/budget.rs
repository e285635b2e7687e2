//! What a budget says to a request: go on, take a cheaper model, or wait (BUDGET-02, BUDGET-03).
//!
//! The caps themselves are kept by `reserve`, where nothing can come between looking and taking.
//! This decides with which limits to go there, and what to do once it refused.

use bardo_types::money::{BasisPoints, MicroUsd};

use crate::caps::{Cap, Window};
use crate::command::Refusal;

/// The share of a daily cap that is kept for protected subsystems, unless configured (C-165).
pub const RESERVED: BasisPoints = match BasisPoints::new(1_500) {
    Some(share) => share,
    None => BasisPoints::ZERO,
};

/// Whether a budget may be spent to its end, and what may be done about one that is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A protected subsystem: it has the reserved share to itself and is never downgraded.
    Protected,
    /// Anything else, where a cheaper model may answer.
    Flexible,
    /// Anything else, where none may.
    Strict,
}

/// How much of one cap is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapUse {
    /// The limit, as far as this request may go.
    pub limit: MicroUsd,
    /// What is spent and held.
    pub used: MicroUsd,
    /// Unix milliseconds at which it begins anew; `None`: never.
    pub resets_at_ms: Option<u64>,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetDecision {
    /// It fits.
    Allow,
    /// Find a model that fits into what is left, or block as [`blocked`] says.
    Downgrade {
        /// What is left under every cap.
        room: MicroUsd,
    },
    /// Refuse it.
    Block {
        /// After so long it would fit; `None`: waiting does not help.
        retry_after_ms: Option<u64>,
    },
}

impl CapUse {
    /// The use that a refusal tells of; `None` where it is about something else.
    #[must_use]
    pub fn of(refusal: &Refusal) -> Option<(Self, MicroUsd)> {
        match refusal {
            Refusal::Capped {
                limit,
                used,
                needed,
                resets_at_ms,
                ..
            } => Some((
                Self {
                    limit: *limit,
                    used: *used,
                    resets_at_ms: *resets_at_ms,
                },
                *needed,
            )),
            Refusal::Insufficient { .. }
            | Refusal::NoAccount(_)
            | Refusal::Duplicate(_)
            | Refusal::NoHold(_)
            | Refusal::Overflow => None,
        }
    }

    fn room(&self) -> MicroUsd {
        self.limit.saturating_sub(self.used)
    }

    fn fits(&self, needed: MicroUsd) -> bool {
        self.limit > MicroUsd::ZERO
            && self
                .used
                .checked_add(needed)
                .is_some_and(|sum| sum <= self.limit)
    }
}

/// The caps with which a request goes to `reserve`: of daily ones, all but the reserved share,
/// unless it is protected. Rounded so that the share is never smaller than it says.
#[must_use]
pub fn caps_for(caps: &[Cap], standing: Standing, reserved: BasisPoints) -> Vec<Cap> {
    let kept = 10_000_u32.saturating_sub(reserved.get());
    caps.iter()
        .map(|cap| {
            let keeps = cap.window == Window::Day && standing != Standing::Protected;
            let limit = if keeps {
                let share = u128::from(cap.limit.get()) * u128::from(kept) / 10_000;
                MicroUsd::new(u64::try_from(share).unwrap_or(u64::MAX))
            } else {
                cap.limit
            };
            Cap {
                limit,
                ..cap.clone()
            }
        })
        .collect()
}

/// Decides over a request that needs so much, under caps as [`caps_for`] gives them.
#[must_use]
pub fn decide(
    caps: &[CapUse],
    needed: MicroUsd,
    standing: Standing,
    now_ms: u64,
) -> BudgetDecision {
    if caps.iter().all(|cap| cap.fits(needed)) {
        return BudgetDecision::Allow;
    }
    let room = caps.iter().map(CapUse::room).min().unwrap_or_default();
    let is_closed = caps.iter().any(|cap| cap.limit == MicroUsd::ZERO);
    match standing {
        Standing::Flexible if !is_closed => BudgetDecision::Downgrade { room },
        Standing::Flexible | Standing::Strict | Standing::Protected => {
            blocked(caps, needed, now_ms)
        }
    }
}

/// Refuses a request for which no cheaper model was found: until the last of the caps that it
/// does not fit under begins anew, or for ever where it would not fit then either.
#[must_use]
pub fn blocked(caps: &[CapUse], needed: MicroUsd, now_ms: u64) -> BudgetDecision {
    let retry_after_ms = caps
        .iter()
        .filter(|cap| !cap.fits(needed))
        .map(|cap| {
            let anew = CapUse {
                used: MicroUsd::ZERO,
                ..*cap
            };
            let resets_at_ms = cap.resets_at_ms.filter(|_| anew.fits(needed))?;
            Some(resets_at_ms.saturating_sub(now_ms))
        })
        .reduce(|a, b| Some(a?.max(b?)))
        .flatten();
    BudgetDecision::Block { retry_after_ms }
}

/// Between what an agent may move its own cap (C-166). The ceiling is the owner's and absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapBounds {
    /// It cannot go below.
    pub floor: MicroUsd,
    /// It cannot go above, whatever the floor says.
    pub ceiling: MicroUsd,
}

impl CapBounds {
    /// The nearest that is allowed to what was asked for.
    #[must_use]
    pub fn admit(self, asked: MicroUsd) -> MicroUsd {
        asked.max(self.floor).min(self.ceiling)
    }
}

#[cfg(test)]
mod tests {
    use bardo_types::ids::KeyId;

    use super::*;
    use crate::caps::CapScope;

    const NOW_MS: u64 = 1_795_190_400_000;

    fn micro(amount: u64) -> MicroUsd {
        MicroUsd::new(amount)
    }

    fn used(limit: u64, used: u64, resets_in_ms: Option<u64>) -> CapUse {
        CapUse {
            limit: micro(limit),
            used: micro(used),
            resets_at_ms: resets_in_ms.map(|ms| NOW_MS + ms),
        }
    }

    #[track_caller]
    fn check(caps: &[CapUse], needed: u64, standing: Standing, expected: BudgetDecision) {
        let decision = decide(caps, micro(needed), standing, NOW_MS);
        assert_eq!(decision, expected, "{caps:?} {needed} {standing:?}");
    }

    fn block(retry_after_ms: Option<u64>) -> BudgetDecision {
        BudgetDecision::Block { retry_after_ms }
    }

    fn downgrade(room: u64) -> BudgetDecision {
        BudgetDecision::Downgrade { room: micro(room) }
    }

    #[test]
    fn the_decision_over_each_dimension() {
        let (session, day, month) = (None, Some(1_000), Some(9_000));
        for resets in [session, day, month] {
            let roomy = [used(100, 40, resets)];
            let tight = [used(100, 90, resets)];
            for standing in [Standing::Protected, Standing::Flexible, Standing::Strict] {
                check(&[], 10, standing, BudgetDecision::Allow);
                check(&roomy, 60, standing, BudgetDecision::Allow);
            }
            check(&tight, 11, Standing::Flexible, downgrade(10));
            check(&tight, 11, Standing::Strict, block(resets));
            check(&tight, 11, Standing::Protected, block(resets));
            // It would not fit into a new window either.
            check(&tight, 101, Standing::Strict, block(None));
        }
    }

    #[test]
    fn the_tightest_cap_decides_and_the_last_reset_counts() {
        let caps = [
            used(100, 90, Some(1_000)),
            used(500, 497, Some(9_000)),
            used(1_000, 0, None),
        ];
        check(&caps, 3, Standing::Strict, BudgetDecision::Allow);
        check(&caps, 10, Standing::Flexible, downgrade(3));
        check(&caps, 10, Standing::Strict, block(Some(9_000)));
        check(&caps, 11, Standing::Strict, block(Some(9_000)));
        let spent = [used(100, 90, Some(1_000)), used(50, 50, None)];
        check(&spent, 11, Standing::Strict, block(None));
    }

    #[test]
    fn a_cap_of_zero_blocks_and_a_spent_one_lets_free_models_through() {
        let closed = [used(0, 0, Some(1_000))];
        check(&closed, 0, Standing::Flexible, block(None));
        let spent = [used(100, 100, Some(1_000))];
        check(&spent, 1, Standing::Flexible, downgrade(0));
        check(&spent, 0, Standing::Strict, BudgetDecision::Allow);
    }

    #[test]
    fn a_clock_behind_or_ahead_does_not_wrap() {
        let caps = [used(100, 100, Some(1_000))];
        let late = decide(&caps, micro(1), Standing::Strict, u64::MAX);
        assert_eq!(late, block(Some(0)));
    }

    #[test]
    fn protected_subsystems_have_the_reserved_share_of_a_day_to_themselves() {
        let cap = |window, limit| Cap {
            scope: CapScope::Key(KeyId::parse("key").unwrap()),
            window,
            limit: micro(limit),
        };
        let caps = [
            cap(Window::Day, 1_000_000),
            cap(Window::Month, 2_000_000),
            cap(Window::Total, 3_000_000),
        ];
        let limits = |standing, reserved| -> Vec<u64> {
            let caps = caps_for(&caps, standing, reserved);
            caps.iter().map(|cap| cap.limit.get()).collect()
        };
        let whole = vec![1_000_000, 2_000_000, 3_000_000];
        assert_eq!(limits(Standing::Protected, RESERVED), whole);
        let less = vec![850_000, 2_000_000, 3_000_000];
        assert_eq!(limits(Standing::Flexible, RESERVED), less);
        assert_eq!(limits(Standing::Strict, RESERVED), less);
        assert_eq!(limits(Standing::Strict, BasisPoints::ZERO), whole);
        assert_eq!(limits(Standing::Strict, BasisPoints::MAX)[0], 0);
        let odd = caps_for(&[cap(Window::Day, 7)], Standing::Strict, RESERVED);
        assert_eq!(odd[0].limit, micro(5), "5.95 would reach into the share");
        let most = caps_for(
            &[cap(Window::Day, MicroUsd::MAX.get())],
            Standing::Strict,
            BasisPoints::ZERO,
        );
        assert_eq!(most[0].limit, MicroUsd::MAX);
    }

    #[test]
    fn the_owners_ceiling_is_absolute() {
        let bounds = CapBounds {
            floor: micro(10),
            ceiling: micro(100),
        };
        for (asked, given) in [(0, 10), (10, 10), (50, 50), (100, 100), (u64::MAX, 100)] {
            assert_eq!(bounds.admit(micro(asked)), micro(given));
        }
        let crossed = CapBounds {
            floor: micro(200),
            ceiling: micro(100),
        };
        assert_eq!(crossed.admit(micro(150)), micro(100));
    }

    #[test]
    fn a_refusal_tells_what_a_decision_needs() {
        let refusal = Refusal::Capped {
            scope: CapScope::Key(KeyId::parse("key").unwrap()),
            window: Window::Day,
            limit: micro(100),
            used: micro(90),
            needed: micro(11),
            resets_at_ms: Some(NOW_MS + 5),
        };
        let expected = (used(100, 90, Some(5)), micro(11));
        assert_eq!(CapUse::of(&refusal), Some(expected));
        assert_eq!(CapUse::of(&Refusal::Overflow), None);
    }
}
