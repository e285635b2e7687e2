//! What a thought needs: pure data, attached by a subsystem or derived from a request.

use serde::{Deserialize, Serialize};

use crate::feature::Feature;
use crate::unit::UnitInterval;

/// How good the answer has to be. As a floor over the tiers of models: any, small, strong, frontier
/// (strong where cost matters), frontier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quality {
    /// Anything that answers, free models too.
    Minimum,
    /// A small model.
    Low,
    /// A strong model.
    Medium,
    /// A frontier model where cost does not matter much, else a strong one.
    High,
    /// A frontier model.
    Maximum,
}

impl Quality {
    /// All qualities, the lowest first.
    pub const ALL: [Self; 5] = [
        Self::Minimum,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Maximum,
    ];

    /// The name in configuration and explanations.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minimum => "minimum",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Maximum => "maximum",
        }
    }

    /// Reads a name, in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|quality| quality.as_str().eq_ignore_ascii_case(name))
    }

    /// One level less; `Low` and `Minimum` stay.
    #[must_use]
    pub const fn lowered(self) -> Self {
        match self {
            Self::Maximum => Self::High,
            Self::High => Self::Medium,
            Self::Medium | Self::Low => Self::Low,
            Self::Minimum => Self::Minimum,
        }
    }
}

/// The requirements and preferences of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// A model by name, where the caller insists on one.
    pub model: Option<String>,
    /// The required features, in order of weight.
    pub require: Vec<Feature>,
    /// The preferred features, in order of weight; missing ones are named in `degraded`.
    pub prefer: Vec<Feature>,
    /// How good it has to be.
    pub quality: Quality,
    /// How long the first byte of a stream, or a whole answer, may take; `None`: any time.
    pub max_latency_ms: Option<u64>,
    /// From 0, cost does not matter, to 1, nothing else does.
    pub cost_sensitivity: UnitInterval,
    /// Staked compute of Venice may pay.
    pub diem_available: bool,
    /// Little thinking is wanted; an effort, not a feature.
    pub low_effort: bool,
}

impl Default for Intent {
    /// The intent of a caller without hints: a strong model, no preferences, cost and quality in
    /// balance.
    fn default() -> Self {
        Self {
            model: None,
            require: Vec::new(),
            prefer: Vec::new(),
            quality: Quality::Medium,
            max_latency_ms: None,
            cost_sensitivity: UnitInterval::HALF,
            diem_available: false,
            low_effort: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Quality;

    #[test]
    fn quality_falls_one_level_and_not_below_low() {
        assert_eq!(Quality::Maximum.lowered(), Quality::High);
        assert_eq!(Quality::Medium.lowered(), Quality::Low);
        assert_eq!(Quality::Low.lowered(), Quality::Low);
        assert_eq!(Quality::Minimum.lowered(), Quality::Minimum);
        assert!(Quality::Minimum < Quality::Maximum);
        assert_eq!(Quality::parse("HIGH"), Some(Quality::High));
    }
}
