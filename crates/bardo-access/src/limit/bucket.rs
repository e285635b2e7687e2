//! How limits fill and empty, in exact integers; the time is an argument.

use super::Remaining;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 3_600_000;

/// Threads read the clock before they take a lock, so a time may be a little older than the last
/// one. More than this is a clock that was set back.
const SET_BACK_MS: u64 = 1_000;

/// A bucket that holds one minute's worth and is filled at that rate.
///
/// Its level is counted in 1/60,000 of a unit, so a limit of `n` per minute adds exactly `n` per
/// millisecond and nothing is ever rounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TokenBucket {
    /// Below zero after more was used than was taken on account.
    level: i128,
    at_ms: u64,
}

impl TokenBucket {
    pub(super) fn full(limit: u64, now_ms: u64) -> Self {
        Self {
            level: capacity(limit),
            at_ms: now_ms,
        }
    }

    /// Lets time pass. A clock that was set back fills nothing and costs nothing.
    pub(super) fn fill(&mut self, limit: u64, now_ms: u64) {
        if let Some(passed) = now_ms.checked_sub(self.at_ms) {
            self.level += i128::from(passed) * i128::from(limit);
            self.at_ms = now_ms;
        } else if self.at_ms - now_ms > SET_BACK_MS {
            self.at_ms = now_ms;
        }
        self.level = self.level.min(capacity(limit));
    }

    /// Milliseconds until `amount` can be taken; 0 when it can be now.
    pub(super) fn wait_ms(&self, limit: u64, amount: u64) -> u64 {
        time_for(capacity(amount) - self.level, limit)
    }

    pub(super) fn take(&mut self, amount: u64) {
        self.level -= capacity(amount);
    }

    /// Puts right what was taken on account.
    pub(super) fn correct(&mut self, limit: u64, taken: u64, used: u64) {
        self.level = (self.level + capacity(taken) - capacity(used)).min(capacity(limit));
    }

    pub(super) fn is_full(&self, limit: u64) -> bool {
        self.level >= capacity(limit)
    }

    pub(super) fn remaining(&self, limit: u64) -> Remaining {
        let left = self.level.max(0) / i128::from(MINUTE_MS);
        Remaining {
            limit,
            remaining: u64::try_from(left).unwrap_or(u64::MAX),
            reset_ms: time_for(capacity(limit) - self.level, limit),
        }
    }
}

fn capacity(units: u64) -> i128 {
    i128::from(units) * i128::from(MINUTE_MS)
}

fn time_for(missing: i128, limit: u64) -> u64 {
    if missing <= 0 {
        return 0;
    }
    let rate = i128::from(limit.max(1));
    u64::try_from((missing + rate - 1) / rate).unwrap_or(u64::MAX)
}

/// The used part of an hour's allowance. Hours are those of the clock on the wall, in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hour {
    hour: u64,
    used: u64,
}

impl Hour {
    pub(super) const fn new(now_ms: u64) -> Self {
        Self {
            hour: now_ms / HOUR_MS,
            used: 0,
        }
    }

    /// Begins the next hour. A time of the hour before counts here: two threads on either side of
    /// the full hour must not reset each other's count.
    pub(super) fn turn(&mut self, now_ms: u64) {
        let hour = now_ms / HOUR_MS;
        if hour > self.hour || hour + 1 < self.hour {
            *self = Self::new(now_ms);
        }
    }

    pub(super) const fn left(&self, allowance: u64) -> u64 {
        allowance.saturating_sub(self.used)
    }

    pub(super) const fn take(&mut self, tokens: u64) {
        self.used = self.used.saturating_add(tokens);
    }

    /// Puts right what was taken at `taken_ms`, unless that hour is over.
    pub(super) const fn correct(&mut self, taken_ms: u64, taken: u64, used: u64) {
        // The hour before is where a thread at the boundary took from this one.
        let hour = taken_ms / HOUR_MS;
        if hour == self.hour {
            self.used = self.used.saturating_sub(taken).saturating_add(used);
        }
    }

    pub(super) const fn until_next_ms(&self, now_ms: u64) -> u64 {
        ((self.hour + 1) * HOUR_MS).saturating_sub(now_ms)
    }

    /// Whether nothing in it matters any more.
    pub(super) const fn is_over(&self, now_ms: u64) -> bool {
        now_ms / HOUR_MS > self.hour
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Asks for `amount` at each step of time; answers what was given and when.
    fn drive(limit: u64, steps: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut now = 1_000_000;
        let mut bucket = TokenBucket::full(limit, now);
        let mut given = Vec::new();
        for &(step, amount) in steps {
            now += step;
            bucket.fill(limit, now);
            if bucket.wait_ms(limit, amount) == 0 {
                bucket.take(amount);
                given.push((now, amount));
            }
        }
        given
    }

    proptest! {
        #[test]
        fn no_minute_gives_more_than_the_limit_and_one_burst(
            limit in 1u64..500,
            steps in prop::collection::vec((0u64..5_000, 1u64..50), 1..300),
        ) {
            let given = drive(limit, &steps);
            for (index, &(start, _)) in given.iter().enumerate() {
                let in_window: u64 = given[index..]
                    .iter()
                    .take_while(|(at, _)| *at < start + MINUTE_MS)
                    .map(|(_, amount)| amount)
                    .sum();
                prop_assert!(in_window <= 2 * limit, "{in_window} of {limit}");
            }
        }

        #[test]
        fn waiting_as_long_as_told_is_enough_and_one_less_is_not(
            limit in 1u64..10_000,
            taken in 0u64..20_000,
            amount in 1u64..10_000,
        ) {
            let amount = amount.min(limit);
            let mut bucket = TokenBucket::full(limit, 0);
            bucket.take(taken);
            let wait = bucket.wait_ms(limit, amount);
            let mut early = bucket.clone();
            bucket.fill(limit, wait);
            prop_assert_eq!(bucket.wait_ms(limit, amount), 0);
            if wait > 0 {
                early.fill(limit, wait - 1);
                prop_assert!(early.wait_ms(limit, amount) > 0);
            }
        }

        #[test]
        fn a_correction_leaves_what_the_true_number_would_have_left(
            limit in 1u64..1_000_000,
            taken in 0u64..1_000_000,
            used in 0u64..2_000_000,
            pause in 0u64..1_000,
        ) {
            let mut corrected = TokenBucket::full(limit, 0);
            corrected.take(taken.max(used));
            corrected.fill(limit, pause);
            corrected.correct(limit, taken.max(used), used);
            let mut exact = TokenBucket::full(limit, 0);
            exact.take(used);
            exact.fill(limit, pause);
            prop_assert_eq!(corrected, exact);
        }

        #[test]
        fn a_clock_that_goes_back_and_forth_gives_nothing_away(
            limit in 1u64..500,
            times in prop::collection::vec(0u64..SET_BACK_MS, 1..200),
        ) {
            let mut bucket = TokenBucket::full(limit, 1_000);
            bucket.take(limit);
            for time in times {
                bucket.fill(limit, 1_000 + time);
            }
            // However the reads were ordered, at most the whole span has passed once.
            prop_assert!(bucket.level <= i128::from(SET_BACK_MS) * i128::from(limit));
        }
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_stop_the_filling() {
        let mut bucket = TokenBucket::full(60, 100 * HOUR_MS);
        bucket.take(60);
        bucket.fill(60, HOUR_MS);
        assert_eq!(bucket.remaining(60).remaining, 0);
        bucket.fill(60, HOUR_MS + 2_000);
        assert_eq!(bucket.remaining(60).remaining, 2);
    }

    #[test]
    fn the_allowance_begins_anew_with_the_hour() {
        let mut hour = Hour::new(HOUR_MS - 1);
        hour.take(30);
        assert_eq!((hour.left(50), hour.until_next_ms(HOUR_MS - 1)), (20, 1));
        hour.turn(HOUR_MS);
        assert_eq!((hour.left(50), hour.until_next_ms(HOUR_MS)), (50, HOUR_MS));
        hour.take(10);
        // A thread that read the clock just before the full hour.
        hour.turn(HOUR_MS - 1);
        assert_eq!(hour.left(50), 40);
        // What was taken in the hour before is over with that hour.
        hour.correct(HOUR_MS - 1, 30, 0);
        assert_eq!(hour.left(50), 40);
        hour.correct(HOUR_MS, 10, 7);
        assert_eq!(hour.left(50), 43);
    }
}
