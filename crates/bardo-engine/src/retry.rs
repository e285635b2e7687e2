//! The budget and the times of retries. `docs/retries.md` gives the reasons.

mod window;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use bardo_types::ids::RequestId;
use tokio::time::Instant;

use window::RetryWindow;

/// The longest wait for one backend; what takes longer is for the caller to decide.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Full jitter between these, where the provider named no time.
const BACKOFF_MS: std::ops::RangeInclusive<u64> = 100..=800;
/// Largest random delay after a named time, so that waiting requests do not all come at once.
const SPREAD_MS_MAX: u64 = 250;

/// Retries of this process as a share of its requests over the last ten seconds.
///
/// There is no floor: under a total failure the upstream sees at most this share more than it is
/// sent anyway, at any rate of requests. Only the first failure of a backend after a quiet minute
/// is given in advance, and counted, so that a lone caller's one bad moment is bridged.
#[derive(Debug)]
pub(crate) struct RetryBudget(RetryWindow);

impl RetryBudget {
    pub(crate) fn new(now: Instant) -> Self {
        Self(RetryWindow::new(now))
    }

    /// A request has come.
    pub(crate) fn earn(&mut self, now: Instant) {
        let slot = self.0.now(now);
        slot.requests = slot.requests.saturating_add(1);
    }

    /// Whether one more retry is within the share, in thousandths; if so it is taken.
    pub(crate) fn spend(&mut self, now: Instant, permille: u32, in_advance: bool) -> bool {
        let (requests, retries) = self.0.sums(now);
        let within = (retries + 1) * 1000 <= requests * u64::from(permille);
        let granted = within || in_advance && permille > 0 && retries == 0;
        if granted {
            self.0.now(now).retries += 1;
        }
        granted
    }

    /// Counts retries that were made without a grant.
    pub(crate) fn note(&mut self, now: Instant, retries: u32) {
        let slot = self.0.now(now);
        slot.retries = slot.retries.saturating_add(retries);
    }
}

/// The wait before the same backend is called again.
pub(crate) fn pause(after: Option<Duration>, random: u64) -> Duration {
    match after {
        Some(after) => {
            let tenth = u64::try_from(after.as_millis() / 10).unwrap_or(u64::MAX);
            let spread = random % (tenth.min(SPREAD_MS_MAX) + 1);
            after + Duration::from_millis(spread)
        }
        None => {
            let span = BACKOFF_MS.end() - BACKOFF_MS.start() + 1;
            Duration::from_millis(BACKOFF_MS.start() + random % span)
        }
    }
}

/// A number for jitter: another for every request, because ids are never used twice, and the same
/// for the same, so that a simulation repeats.
pub(crate) fn chance(request: &RequestId) -> u64 {
    let mut hasher = DefaultHasher::new();
    request.as_str().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A provider that refuses everything for a minute, at a steady rate of requests.
    fn amplification(per_minute: u32, fresh: bool) -> f64 {
        let start = Instant::now();
        let mut budget = RetryBudget::new(start);
        let gap = SECOND * 60 / per_minute;
        let mut attempts = 0;
        for index in 0..per_minute {
            let now = start + gap * index;
            budget.earn(now);
            attempts += 1;
            if budget.spend(now, 200, fresh && index == 0) {
                attempts += 1;
            }
        }
        f64::from(attempts) / f64::from(per_minute)
    }

    #[test]
    fn a_failing_provider_sees_a_fifth_more_at_most_at_any_rate() {
        for per_minute in [5, 6, 10, 12, 30, 60, 90, 600, 6_000, 60_000] {
            for fresh in [false, true] {
                let factor = amplification(per_minute, fresh);
                assert!(factor <= 1.2, "{per_minute} per minute: {factor}");
            }
        }
        // And the share is really given.
        assert!(amplification(600, false) > 1.19);
        assert!(amplification(60, true) > 1.15);
    }

    #[test]
    fn a_lone_request_has_one_retry_in_advance_and_no_more() {
        let now = Instant::now();
        let mut budget = RetryBudget::new(now);
        budget.earn(now);
        assert!(!budget.spend(now, 200, false));
        assert!(budget.spend(now, 200, true));
        assert!(!budget.spend(now, 200, true));
        assert!(!budget.spend(now + SECOND * 5, 200, true));
        assert!(budget.spend(now + SECOND * 10, 200, true));
        assert!(!budget.spend(now + SECOND * 60, 0, true), "none at all");
    }

    #[test]
    fn what_was_earned_in_good_times_does_not_last() {
        let start = Instant::now();
        let mut budget = RetryBudget::new(start);
        for _ in 0..1_000 {
            budget.earn(start);
        }
        assert!(budget.spend(start + SECOND * 9, 200, false));
        assert!(!budget.spend(start + SECOND * 10, 200, false));
    }

    #[test]
    fn pauses_are_never_shorter_than_what_was_asked_for() {
        for random in [0, 1, 699, 700, 701, 12_345_678_901, u64::MAX] {
            let plain = pause(None, random).as_millis();
            assert!((100..=800).contains(&plain), "{plain}");
            for after in [Duration::ZERO, SECOND, SECOND * 3_600] {
                let told = pause(Some(after), random);
                assert!(told >= after);
                assert!(told <= after + Duration::from_millis(250));
            }
        }
        assert_eq!(pause(None, 0).as_millis(), 100);
        assert_eq!(pause(None, 700).as_millis(), 800);
        let chance = |id| chance(&RequestId::parse(id).unwrap());
        assert_ne!(chance("req_1"), chance("req_2"));
        assert_eq!(chance("req_1"), chance("req_1"));
    }
}
