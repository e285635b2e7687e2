//! Limits of spending over a window of time.

use std::sync::Arc;

use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::MicroUsd;

/// The spending that a cap counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CapScope {
    /// Spending of one key.
    Key(KeyId),
    /// Spending of all keys of an account.
    Account(AccountId),
    /// Spending of one session of an account.
    Session(AccountId, Arc<str>),
    /// Spending of one key for a subsystem or a group of subsystems, by its name.
    Subsystem(KeyId, Arc<str>),
    /// Spending by one delegation of an agent's owner, by the name under which it is counted.
    Delegation(KeyId),
}

/// Over which time a cap counts. Windows are of UTC, so that they are the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CapWindow {
    /// From one midnight to the next.
    Day,
    /// From the first of a month to the first of the next.
    Month,
    /// The lifetime of the key or account.
    Total,
}

const DAY_MS: u64 = 86_400_000;

impl CapWindow {
    /// When the window around `now_ms` began, and when the next one begins, in Unix milliseconds;
    /// `None`: never. A counter is known by its window's beginning, so a clock that steps back
    /// goes on counting in the earlier window and a clock that repeats an hour changes nothing.
    #[must_use]
    pub fn bounds(self, now_ms: u64) -> (u64, Option<u64>) {
        let day = now_ms / DAY_MS;
        match self {
            Self::Day => (day * DAY_MS, (day + 1).checked_mul(DAY_MS)),
            Self::Month => {
                let (year, month) = month_of(day);
                let (next_year, next_month) = if month == 12 {
                    (year + 1, 1)
                } else {
                    (year, month + 1)
                };
                (
                    first_day_of(year, month) * DAY_MS,
                    first_day_of(next_year, next_month).checked_mul(DAY_MS),
                )
            }
            Self::Total => (0, None),
        }
    }

    /// The name in listings and in stores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
            Self::Total => "total",
        }
    }
}

// Years are counted from March, so that the leap day is the last of its year and the lengths of
// months before it do not depend on it. 719,468 days lie between 0000-03-01 and 1970-01-01.
const EPOCH_DAYS: u64 = 719_468;
const DAYS_IN_400_YEARS: u64 = 146_097;

/// Year and month (1 to 12) of a day since 1970-01-01.
fn month_of(day: u64) -> (u64, u64) {
    let day = day + EPOCH_DAYS;
    let era = day / DAYS_IN_400_YEARS;
    let in_era = day % DAYS_IN_400_YEARS;
    let year = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * in_year + 2) / 153;
    let (month, carry) = if from_march < 10 {
        (from_march + 3, 0)
    } else {
        (from_march - 9, 1)
    };
    (era * 400 + year + carry, month)
}

/// Days from 1970-01-01 to the first of a month.
fn first_day_of(year: u64, month: u64) -> u64 {
    let (year, from_march) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, in_era) = (year / 400, year % 400);
    let days = in_era * 365 + in_era / 4 - in_era / 100 + (153 * from_march + 2) / 5;
    era * DAYS_IN_400_YEARS + days - EPOCH_DAYS
}

/// A limit of spending: what is posted and held together never exceeds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cap {
    /// The key, session or account whose spending is capped.
    pub scope: CapScope,
    /// Over which time.
    pub window: CapWindow,
    /// At most so much; 0 blocks.
    pub limit: MicroUsd,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The calendar as a child would count it: month by month from 1970.
    fn months() -> Vec<u64> {
        let mut starts = vec![0];
        for year in 1970..2500_u64 {
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            for length in [
                31,
                28 + u64::from(is_leap),
                31,
                30,
                31,
                30,
                31,
                31,
                30,
                31,
                30,
                31,
            ] {
                starts.push(starts[starts.len() - 1] + length * DAY_MS);
            }
        }
        starts
    }

    #[test]
    fn every_month_until_2500_begins_and_ends_where_a_calendar_says() {
        let months = months();
        for pair in months.windows(2) {
            let expected = (pair[0], Some(pair[1]));
            for now_ms in [pair[0], pair[0] + 1, pair[0] + 27 * DAY_MS, pair[1] - 1] {
                assert_eq!(CapWindow::Month.bounds(now_ms), expected, "{now_ms}");
            }
        }
        // 2028-02-29T12:00:00Z and 2026-11-20T16:00:00Z, from `date`.
        assert_eq!(
            CapWindow::Month.bounds(1_835_438_400_000),
            (1_832_976_000_000, Some(1_835_481_600_000))
        );
        assert_eq!(
            CapWindow::Day.bounds(1_795_190_400_000),
            (1_795_132_800_000, Some(1_795_219_200_000))
        );
        assert_eq!(CapWindow::Total.bounds(u64::MAX), (0, None));
    }

    proptest! {
        #[test]
        fn every_moment_is_in_exactly_one_window(now_ms in 0..u64::MAX, step in 0..100 * DAY_MS) {
            for window in [CapWindow::Day, CapWindow::Month] {
                let (start, end) = window.bounds(now_ms);
                prop_assert!(start <= now_ms);
                prop_assert!(end.is_none_or(|end| now_ms < end));
                if let Some(end) = end {
                    prop_assert_eq!(window.bounds(end).0, end);
                    prop_assert_eq!(window.bounds(end - 1).0, start);
                }
                // A clock that steps back is in the window it would have been in.
                let earlier = now_ms.saturating_sub(step);
                let (earlier_start, _) = window.bounds(earlier);
                prop_assert!(earlier_start <= start);
                prop_assert_eq!(earlier_start == start, earlier >= start);
                let day = now_ms / DAY_MS * DAY_MS;
                prop_assert!(window.bounds(day).0 == start);
            }
        }
    }
}
