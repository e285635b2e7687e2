//! Temperatures that move from call to call.

use serde::Deserialize;

/// A temperature as the table gives it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Temperature {
    /// One temperature for every call.
    Flat(f64),
    /// A schedule runs through it.
    Range {
        /// The lowest temperature.
        start: f64,
        /// The highest temperature.
        end: f64,
    },
}

impl Temperature {
    /// Where it stands when nobody says which call this is.
    #[must_use]
    pub const fn settled(self) -> f64 {
        match self {
            Self::Flat(value) => value,
            Self::Range { end, .. } => end,
        }
    }
}

/// A schedule of the temperature.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Schedule {
    /// In even steps from `from` to the row's own, over so many calls, and no further.
    Ramp {
        /// That of the first call.
        from: f64,
        /// Number of calls, if the caller does not name it.
        calls: u32,
    },
    /// From the row's own down to `low` along half a cosine, once per cycle, each cycle starting
    /// cooler by `reanneal`.
    Cosine {
        /// That of the last call of a cycle.
        low: f64,
        /// Factor of the start for each earlier cycle.
        reanneal: f64,
    },
}

/// Which call this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallPosition {
    /// Which call of its session or cycle, from 1.
    pub call: Option<u32>,
    /// Number of calls.
    pub calls: Option<u32>,
    /// Which cycle, from 0.
    pub cycle: Option<u32>,
}

impl Schedule {
    /// The temperature of a call whose settled one is `settled`.
    #[must_use]
    pub fn at(self, settled: f64, place: CallPosition) -> f64 {
        match self {
            Self::Ramp { from, calls } => {
                let Some(call) = place.call else {
                    return settled;
                };
                let last = place.calls.unwrap_or(calls).saturating_sub(1).max(1);
                let step = call.saturating_sub(1).min(last);
                from + (settled - from) * f64::from(step) / f64::from(last)
            }
            Self::Cosine { low, reanneal } => {
                let high = self::reanneal(place.cycle.unwrap_or(0), settled, reanneal).max(low);
                let step = place.call.unwrap_or(1).saturating_sub(1);
                dali_temperature(step, place.calls.unwrap_or(0).saturating_sub(1), high, low)
            }
        }
    }
}

/// The temperature of a step of a cycle that runs from `high` at step 0 to `low` at step `total`.
/// A cycle of one step or none stays at `high`, and steps past the end stay at `low`.
fn dali_temperature(step: u32, total: u32, high: f64, low: f64) -> f64 {
    if total <= 1 {
        return high;
    }
    let progress = f64::from(step.min(total)) / f64::from(total);
    low + (high - low) * (1.0 + (std::f64::consts::PI * progress).cos()) / 2.0
}

/// Start of a cycle: `high`, times `factor` for each earlier cycle.
#[must_use]
pub fn reanneal(cycle: u32, high: f64, factor: f64) -> f64 {
    high * factor.powi(i32::try_from(cycle).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-9, "{left} is not {right}");
    }

    #[test]
    fn the_cosine_has_its_ends_its_middle_and_no_holes() {
        near(dali_temperature(0, 10, 1.5, 0.3), 1.5);
        near(dali_temperature(5, 10, 1.5, 0.3), 0.9);
        near(dali_temperature(10, 10, 1.5, 0.3), 0.3);
        near(dali_temperature(99, 10, 1.5, 0.3), 0.3);
        near(dali_temperature(0, 0, 1.5, 0.3), 1.5);
        near(dali_temperature(7, 1, 1.5, 0.3), 1.5);
        let steps: Vec<f64> = (0..=20)
            .map(|s| dali_temperature(s, 20, 1.4, 0.4))
            .collect();
        assert!(steps.is_sorted_by(|a, b| a > b), "{steps:?}");
    }

    #[test]
    fn each_cycle_starts_cooler_and_never_below_its_end() {
        near(reanneal(0, 1.5, 0.95), 1.5);
        near(reanneal(2, 1.5, 0.95), 1.353_75);
        let cosine = Schedule::Cosine {
            low: 0.3,
            reanneal: 0.95,
        };
        let cycle = |cycle| CallPosition {
            cycle: Some(cycle),
            ..CallPosition::default()
        };
        near(cosine.at(1.5, CallPosition::default()), 1.5);
        near(cosine.at(1.5, cycle(1)), 1.425);
        near(cosine.at(1.5, cycle(u32::MAX)), 0.3);
    }

    #[test]
    fn a_ramp_arrives_and_stays() {
        let ramp = Schedule::Ramp {
            from: 0.7,
            calls: 4,
        };
        let at = |call, calls| {
            let place = CallPosition {
                call: Some(call),
                calls,
                cycle: None,
            };
            ramp.at(0.9, place)
        };
        for (call, wanted) in [(1, 0.7), (2, 0.7 + 0.2 / 3.0), (4, 0.9), (5, 0.9), (0, 0.7)] {
            near(at(call, None), wanted);
        }
        near(at(2, Some(3)), 0.8);
        near(at(1, Some(0)), 0.7);
        near(at(1, Some(1)), 0.7);
        near(ramp.at(0.9, CallPosition::default()), 0.9);
    }
}
