//! The agent's state, as extensions see it.

use std::sync::Arc;

use bardo_types::phase::Phase;
use bardo_types::unit::UnitInterval;

use crate::heartbeat::TickTier;

/// Vitality, phase and revenue of the agent. It travels as hints; the gateway acts on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mortality {
    vitality: UnitInterval,
    phase: Phase,
    sustainability: Option<f64>,
}

impl Mortality {
    /// Vitality from 0 to 1. What is no number is neutral, 1, and what is beyond a bound is that
    /// bound: a broken sensor must not kill.
    #[must_use]
    pub fn new(vitality: f64) -> Self {
        let vitality = UnitInterval::nearest(vitality).unwrap_or(UnitInterval::ONE);
        Self {
            vitality,
            phase: Self::phase_of(vitality),
            sustainability: None,
        }
    }

    /// Sets the phase, instead of deriving it from the vitality.
    #[must_use]
    pub const fn in_phase(mut self, phase: Phase) -> Self {
        self.phase = phase;
        self
    }

    /// Sets the ratio of revenue to cost of the last thirty days. A ratio that is negative or not finite
    /// is ignored.
    #[must_use]
    pub fn earning(mut self, ratio: f64) -> Self {
        self.sustainability = (ratio.is_finite() && ratio >= 0.0).then_some(ratio);
        self
    }

    /// Vitality, from 0 (dead) to 1.
    #[must_use]
    pub const fn vitality(self) -> UnitInterval {
        self.vitality
    }

    /// Phase of the agent's life.
    #[must_use]
    pub const fn phase(self) -> Phase {
        self.phase
    }

    /// Revenue over cost, where it is known.
    #[must_use]
    pub const fn sustainability(self) -> Option<f64> {
        self.sustainability
    }

    fn phase_of(vitality: UnitInterval) -> Phase {
        match vitality.get() {
            v if v > 0.8 => Phase::Thriving,
            v if v > 0.5 => Phase::Stable,
            v if v > 0.3 => Phase::Conservation,
            v if v > 0.1 => Phase::Desperate,
            _ => Phase::Terminal,
        }
    }
}

impl Default for Mortality {
    fn default() -> Self {
        Self::new(1.0)
    }
}

/// The agent, as far as inference cares.
#[derive(Debug, Clone)]
pub struct GolemState {
    /// Id of the agent.
    pub golem_id: Arc<str>,
    /// Id of the session.
    pub session_id: Arc<str>,
    /// The number of the tick.
    pub tick: u64,
    /// Tier of the tick; `None` before the first.
    pub tier: Option<TickTier>,
    /// Vitality, phase and revenue.
    pub mortality: Mortality,
    /// The market's regime, where it is known.
    pub regime: Option<Arc<str>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_sensors_are_neutral_and_bounds_hold() {
        assert_eq!(Mortality::new(f64::NAN).vitality(), UnitInterval::ONE);
        assert_eq!(Mortality::new(7.0).vitality(), UnitInterval::ONE);
        assert_eq!(Mortality::new(-1.0).phase(), Phase::Terminal);
        assert_eq!(
            Mortality::new(0.5).earning(f64::INFINITY).sustainability(),
            None
        );
        assert_eq!(Mortality::new(0.5).earning(0.4).sustainability(), Some(0.4));
    }

    #[test]
    fn phases_follow_vitality_down() {
        let phases: Vec<Phase> = [1.0, 0.6, 0.4, 0.2, 0.0]
            .into_iter()
            .map(|vitality| Mortality::new(vitality).phase())
            .collect();
        assert_eq!(phases, Phase::ALL);
    }
}
