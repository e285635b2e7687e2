//! With which caps a request goes to `reserve`: a share of a day is kept for what is protected.

use bardo_types::money::{BasisPoints, MicroUsd};

use crate::caps::{Cap, CapScope, CapWindow};

/// Whether a budget may be spent to its end, and what may be done about one that is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetStanding {
    /// A protected subsystem: it has the reserved share to itself and is never downgraded.
    Protected,
    /// Anything else, where a cheaper model may answer.
    Flexible,
    /// Anything else, where none may.
    Strict,
}

/// The caps with which a request goes to `reserve`: of daily ones, all but the reserved share,
/// unless it is protected. Rounded so that the share is never smaller than it says. A cap of a
/// subsystem is whole: the share is one of the key's day.
#[must_use]
pub fn caps_for(caps: &[Cap], standing: BudgetStanding, reserved: BasisPoints) -> Vec<Cap> {
    let kept = 10_000_u32.saturating_sub(reserved.get());
    caps.iter()
        .map(|cap| {
            let is_of_subsystem = matches!(cap.scope, CapScope::Subsystem(..));
            let keeps = cap.window == CapWindow::Day
                && standing != BudgetStanding::Protected
                && !is_of_subsystem;
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

#[cfg(test)]
mod tests {
    use bardo_types::ids::KeyId;

    use super::*;

    const RESERVED: BasisPoints = BasisPoints::new(1_500).unwrap();

    fn micro(amount: u64) -> MicroUsd {
        MicroUsd::new(amount)
    }

    #[test]
    fn protected_subsystems_have_the_reserved_share_of_a_day_to_themselves() {
        let cap = |window, limit| Cap {
            scope: CapScope::Key(KeyId::parse("key").unwrap()),
            window,
            limit: micro(limit),
        };
        let caps = [
            cap(CapWindow::Day, 1_000_000),
            cap(CapWindow::Month, 2_000_000),
            cap(CapWindow::Total, 3_000_000),
        ];
        let limits = |standing, reserved| -> Vec<u64> {
            let caps = caps_for(&caps, standing, reserved);
            caps.iter().map(|cap| cap.limit.get()).collect()
        };
        let whole = vec![1_000_000, 2_000_000, 3_000_000];
        assert_eq!(limits(BudgetStanding::Protected, RESERVED), whole);
        let less = vec![850_000, 2_000_000, 3_000_000];
        assert_eq!(limits(BudgetStanding::Flexible, RESERVED), less);
        assert_eq!(limits(BudgetStanding::Strict, RESERVED), less);
        assert_eq!(limits(BudgetStanding::Strict, BasisPoints::ZERO), whole);
        assert_eq!(limits(BudgetStanding::Strict, BasisPoints::MAX)[0], 0);
        let of_subsystem = Cap {
            scope: CapScope::Subsystem(KeyId::parse("key").unwrap(), "dream_rem".into()),
            ..cap(CapWindow::Day, 250_000)
        };
        let whole = caps_for(&[of_subsystem], BudgetStanding::Flexible, RESERVED);
        assert_eq!(whole[0].limit, micro(250_000));
        let odd = caps_for(&[cap(CapWindow::Day, 7)], BudgetStanding::Strict, RESERVED);
        assert_eq!(odd[0].limit, micro(5), "5.95 would reach into the share");
        let most = caps_for(
            &[cap(CapWindow::Day, MicroUsd::MAX.get())],
            BudgetStanding::Strict,
            BasisPoints::ZERO,
        );
        assert_eq!(most[0].limit, MicroUsd::MAX);
    }
}
