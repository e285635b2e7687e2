//! Refusals of requests beyond a rate limit or an allowance, as HTTP.

use bardo_access::Throttled;
use bardo_types::calendar::rfc3339;
use bardo_types::error_code::ErrorCode;

use super::Problem;

/// SDKs wait this long by themselves; longer waits are left to a person.
const PATIENCE_MS: u64 = 60_000;
const MINUTE_MS: u64 = 60_000;

impl Problem {
    /// A limit per minute is reached, which `message` names, or the allowance per hour, checked at
    /// `at_ms`.
    pub(super) fn beyond_limit(
        throttled: Throttled,
        allowance: Option<u64>,
        at_ms: u64,
        message: &str,
    ) -> Self {
        match allowance.filter(|_| throttled.limit == "allowance") {
            Some(tokens) => Self::allowance_used_up(throttled, tokens, at_ms),
            None => {
                let message = limit_reached(&throttled).unwrap_or_else(|| message.to_owned());
                Self::rate_limited(throttled, &message)
            }
        }
    }

    /// A limit per minute is reached; `message` names it.
    pub(super) fn rate_limited(throttled: Throttled, message: &str) -> Self {
        let message = format!("{message}; try again in {} s", seconds(&throttled));
        Self::throttled(throttled, message)
    }

    /// The allowance of `tokens` per hour was used up when it was checked at `at_ms`.
    fn allowance_used_up(throttled: Throttled, tokens: u64, at_ms: u64) -> Self {
        let begins = clock_time(at_ms.saturating_add(throttled.retry_after_ms));
        let message = format!(
            "the allowance of {tokens} tokens per hour is used up; it begins again at {begins} UTC, in {} s",
            seconds(&throttled)
        );
        Self::throttled(throttled, message)
    }

    fn throttled(throttled: Throttled, message: String) -> Self {
        let wait_ms = throttled.retry_after_ms;
        let mut problem = Self::new(ErrorCode::RateLimited, message).retry_after(wait_ms);
        problem.should_retry = (wait_ms > PATIENCE_MS).then_some(false);
        problem.limits = Some(Box::new(throttled.state));
        problem
    }
}

/// The limit per minute that is reached, with its number and its scope; `None` if the state does
/// not have it.
fn limit_reached(throttled: &Throttled) -> Option<String> {
    let (of, scope) = match throttled.limit {
        "requests" => (throttled.state.requests, "rpm"),
        "tokens" => (throttled.state.tokens, "tpm"),
        _ => return None,
    };
    let limit = of?.limit;
    Some(format!(
        "the rate limit of this key is reached: {limit} {} per minute (`{scope}={limit}`)",
        throttled.limit
    ))
}

fn seconds(throttled: &Throttled) -> u64 {
    throttled.retry_after_ms.div_ceil(1_000).max(1)
}

/// The time of day in UTC, such as `13:00`, to the nearest minute: the clock that counts the hour
/// may differ a little from the one that was read.
fn clock_time(unix_ms: u64) -> String {
    let minutes = unix_ms.saturating_add(MINUTE_MS / 2) / MINUTE_MS;
    let whole = rfc3339(minutes * MINUTE_MS);
    whole.get(11..16).unwrap_or(&whole).to_owned()
}

#[cfg(test)]
mod tests {
    use bardo_access::{Admission, Remaining};

    use super::*;

    #[test]
    fn a_limit_per_minute_is_told_with_its_number_and_its_scope() {
        for (limit, scope) in [("requests", "rpm=2"), ("tokens", "tpm=2")] {
            let left = Some(Remaining {
                limit: 2,
                remaining: 0,
                reset_ms: 100,
            });
            let throttled = Throttled {
                limit,
                retry_after_ms: 11_500,
                state: Admission {
                    requests: left,
                    tokens: left,
                    ..Admission::default()
                },
            };
            let problem = Problem::beyond_limit(throttled, None, 0, "");
            assert_eq!(
                problem.fault.message,
                format!(
                    "the rate limit of this key is reached: 2 {limit} per minute (`{scope}`); try again in 12 s"
                )
            );
        }
    }

    #[test]
    fn a_used_up_allowance_names_its_tokens_and_the_hour_of_its_next_begin() {
        // 2026-11-22T12:23:01.500Z
        let at_ms = 1_795_350_181_500;
        let throttled = Throttled {
            limit: "allowance",
            retry_after_ms: 2_218_500,
            state: Admission::default(),
        };
        let problem = Problem::allowance_used_up(throttled, 150, at_ms);
        assert_eq!(
            problem.fault.message,
            "the allowance of 150 tokens per hour is used up; it begins again at 13:00 UTC, in 2219 s"
        );
        assert_eq!(problem.should_retry, Some(false));
    }
}
