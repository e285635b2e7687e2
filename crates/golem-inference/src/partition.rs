//! The part of an agent's credits that pays for inference, and the caps of its key that follow.
//!
//! The owner of the key sets the range of each cap at the gateway. An agent moves its caps within
//! that range: lower while it saves, higher while it earns more than it spends.

use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::phase::Phase;
use serde_json::{Value, json};

/// Days of a month, for the cap per day.
const DAYS: u64 = 30;

/// The division of an agent's credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// Share of the credits that pays for inference. Default: 60 %.
    pub inference: BasisPoints,
}

impl Default for Partition {
    fn default() -> Self {
        Self {
            inference: BasisPoints::new(6_000).unwrap_or(BasisPoints::ZERO),
        }
    }
}

impl Partition {
    /// Caps for credits of one month, rounded down. In the phases `conservation`, `desperate` and
    /// `terminal` the caps are a half, a quarter and a tenth; in `thriving` they are a fifth more.
    #[must_use]
    pub fn caps(&self, credits: MicroUsd, phase: Phase) -> Caps {
        let percent = match phase {
            Phase::Thriving => 120,
            Phase::Stable => 100,
            Phase::Conservation => 50,
            Phase::Desperate => 25,
            Phase::Terminal => 10,
        };
        let whole = u128::from(credits.get()) * u128::from(self.inference.get()) * percent;
        let month = u64::try_from(whole / (10_000 * 100)).unwrap_or(u64::MAX);
        let month = MicroUsd::new(month.min(MicroUsd::MAX.get()));
        Caps {
            day: MicroUsd::new(month.get() / DAYS),
            month,
        }
    }
}

/// Caps of spending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Cap per day (UTC).
    pub day: MicroUsd,
    /// Cap per month (UTC).
    pub month: MicroUsd,
}

impl Caps {
    /// The caps as near to these as the ranges of a key allow; `None` for a cap without a range.
    #[must_use]
    pub fn within(&self, key: &KeyCaps) -> [Option<MicroUsd>; 2] {
        let near =
            |cap: MicroUsd, of: &KeyCap| of.range.map(|(min, max)| cap.clamp(min, max.max(min)));
        [near(self.day, &key.day), near(self.month, &key.month)]
    }
}

/// A cap of a key at the gateway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyCap {
    /// The cap; `None`: no cap.
    pub cap: Option<MicroUsd>,
    /// Lowest and highest cap that the agent may set; `None`: it may set none.
    pub range: Option<(MicroUsd, MicroUsd)>,
}

/// The caps of a key at the gateway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyCaps {
    /// Cap per day (UTC).
    pub day: KeyCap,
    /// Cap per month (UTC).
    pub month: KeyCap,
}

impl KeyCaps {
    pub(crate) fn read(raw: &Value) -> Option<Self> {
        let window = |name: &str| {
            let window = raw.get(name)?;
            let amount = |name: &str| match window.get(name)? {
                Value::Null => Some(None),
                text => MicroUsd::from_usd(text.as_str()?).ok().map(Some),
            };
            Some(KeyCap {
                cap: amount("cap")?,
                range: amount("min")?.zip(amount("max")?),
            })
        };
        Some(Self {
            day: window("day")?,
            month: window("month")?,
        })
    }
}

/// The body that moves caps; a cap that is `None` stays.
pub(crate) fn body([day, month]: [Option<MicroUsd>; 2]) -> Value {
    let mut body = json!({});
    for (name, cap) in [("day", day), ("month", month)] {
        if let Some(cap) = cap {
            body[name] = json!(cap.to_string());
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> MicroUsd {
        MicroUsd::from_usd(text).unwrap()
    }

    #[test]
    fn fifty_usd_a_month_are_thirty_for_inference_and_one_a_day() {
        let caps = Partition::default().caps(usd("50"), Phase::Stable);
        assert_eq!((caps.month, caps.day), (usd("30"), usd("1")));
    }

    /// A stable agent that spends its cap each day stays within the cap of the month.
    #[test]
    fn thirty_days_at_the_daily_cap_are_within_the_month() {
        for credits in ["50", "0.01", "49.999999", "123456789.1"] {
            let caps = Partition::default().caps(usd(credits), Phase::Stable);
            let spent = (0..30).map(|_| caps.day.get()).sum::<u64>();
            assert!(spent <= caps.month.get(), "{credits}");
            assert!(caps.month.get() - spent < 30, "{credits}");
        }
    }

    #[test]
    fn an_agent_saves_in_bad_times_and_its_owners_range_is_absolute() {
        let day = |phase| Partition::default().caps(usd("50"), phase).day;
        let days = Phase::ALL.map(day);
        let expected = ["1.2", "1", "0.5", "0.25", "0.1"].map(usd);
        assert_eq!(days, expected);
        let range = KeyCap {
            cap: None,
            range: Some((usd("0.4"), usd("1.1"))),
        };
        let key = KeyCaps {
            day: range,
            month: KeyCap::default(),
        };
        let moved = |phase| Partition::default().caps(usd("50"), phase).within(&key);
        assert_eq!(moved(Phase::Thriving), [Some(usd("1.1")), None]);
        assert_eq!(moved(Phase::Conservation), [Some(usd("0.5")), None]);
        assert_eq!(moved(Phase::Terminal), [Some(usd("0.4")), None]);
    }
}
