//! The scripts, what they are called with and what they answer.

use bardo_access::{Admission, LimitRequest, Remaining, Throttled};

use super::LimitClock;

/// Scripts count in doubles, which are exact up to 2⁵³, and in 1/60,000 of a unit: above this a
/// limit is as good as none.
const UNITS_MAX: u64 = 100_000_000_000;

/// A script that one call runs.
pub(super) trait ScriptCall {
    type Answer;
    /// Which of [`SCRIPTS`].
    const SCRIPT: usize;
    fn keys(&self) -> &[String; 2];
    fn arguments(&self) -> &[i64];
    /// `None` where the answer makes no sense.
    fn read(&self, answer: Answered) -> Option<Self::Answer>;
}

/// Every script, in the order that [`ScriptCall::SCRIPT`] counts them.
pub(super) const SCRIPTS: [&str; 2] = [include_str!("admit.lua"), include_str!("correct.lua")];

/// The answer of a script: numbers; empty where it tells nothing.
pub(super) type Answered = Vec<i64>;

/// Lets a request in.
pub(super) struct Admit {
    keys: [String; 2],
    arguments: [i64; 6],
    limits: [Option<u64>; 2],
}

impl Admit {
    /// `None` where there is nothing to ask.
    pub(super) fn of(request: &LimitRequest, clock: LimitClock) -> Option<Self> {
        let requests = request.requests_per_minute.map(u64::from);
        let tokens = request.tokens_per_minute;
        let allowance = request.allowance;
        if requests.is_none() && tokens.is_none() && allowance.is_none() {
            return None;
        }
        Some(Self {
            keys: keys(request),
            arguments: [
                now(clock, request.now_ms),
                limit(requests),
                limit(tokens),
                limit(allowance.map(|hour| hour.tokens)),
                allowance.is_some_and(|hour| hour.overage).into(),
                units(request.tokens),
            ],
            limits: [requests, tokens],
        })
    }
}

impl ScriptCall for Admit {
    type Answer = Result<Admission, Throttled>;
    const SCRIPT: usize = 0;

    fn keys(&self) -> &[String; 2] {
        &self.keys
    }

    fn arguments(&self) -> &[i64] {
        &self.arguments
    }

    fn read(&self, answer: Answered) -> Option<Self::Answer> {
        let answer: [i64; 8] = answer.try_into().ok()?;
        let [refused, wait, r_left, r_full, t_left, t_full, hour, taken] =
            answer.map(|number| u64::try_from(number).ok());
        let remaining = |limit: Option<u64>, left: Option<u64>, full: Option<u64>| {
            limit.map(|limit| Remaining {
                limit,
                remaining: left.unwrap_or(0),
                reset_ms: full.unwrap_or(0),
            })
        };
        let state = Admission {
            requests: remaining(self.limits[0], r_left, r_full),
            tokens: remaining(self.limits[1], t_left, t_full),
            allowance: hour,
            reserved_tokens: taken?,
        };
        let limit = match refused? {
            0 => return Some(Ok(state)),
            1 => "requests",
            2 => "tokens",
            3 => "allowance",
            _ => return None,
        };
        Some(Err(Throttled {
            limit,
            retry_after_ms: wait?,
            state,
        }))
    }
}

/// Corrects what was taken on account.
pub(super) struct Correct {
    keys: [String; 2],
    arguments: [i64; 6],
}

impl Correct {
    /// `None` where there is nothing to correct.
    pub(super) fn of(
        request: &LimitRequest,
        reserved: u64,
        used: u64,
        now_ms: u64,
        clock: LimitClock,
    ) -> Option<Self> {
        if request.tokens_per_minute.is_none() && request.allowance.is_none() {
            return None;
        }
        Some(Self {
            keys: keys(request),
            arguments: [
                now(clock, now_ms),
                limit(request.tokens_per_minute),
                i64::try_from(request.now_ms).unwrap_or(i64::MAX),
                units(reserved),
                units(used),
                request.allowance.is_some().into(),
            ],
        })
    }
}

impl ScriptCall for Correct {
    type Answer = ();
    const SCRIPT: usize = 1;

    fn keys(&self) -> &[String; 2] {
        &self.keys
    }

    fn arguments(&self) -> &[i64] {
        &self.arguments
    }

    fn read(&self, _answer: Answered) -> Option<()> {
        Some(())
    }
}

/// The braces keep an account's keys on one node of a cluster. No id holds a brace.
fn keys(request: &LimitRequest) -> [String; 2] {
    let account = &request.account;
    let rates = match &request.key {
        Some(key) => format!("bardo:{{{account}}}:rate:{key}"),
        None => format!("bardo:{{{account}}}:rate"),
    };
    let hour = match request.hour_of() {
        Some(key) => format!("bardo:{{{account}}}:hour:{key}"),
        None => format!("bardo:{{{account}}}:hour"),
    };
    [rates, hour]
}

fn now(clock: LimitClock, now_ms: u64) -> i64 {
    match clock {
        LimitClock::Server => -1,
        LimitClock::Request => i64::try_from(now_ms).unwrap_or(i64::MAX),
    }
}

fn limit(limit: Option<u64>) -> i64 {
    limit.map_or(-1, units)
}

fn units(number: u64) -> i64 {
    i64::try_from(number.min(UNITS_MAX)).unwrap_or(i64::MAX)
}
