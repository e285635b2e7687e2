//! Numbers from 0 to 1.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// A number from 0 to 1: vitality, sensitivity to cost, shares. It is checked once, when it is
/// made, and is ordered, because it is never NaN.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct UnitInterval(f64);

/// The number is outside the range, or is not finite.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NotUnitInterval {
    /// The number is below 0 or above 1.
    #[error("{number} is not between 0 and 1")]
    Outside {
        /// The number that is out of range.
        number: f64,
        /// The end of the range that is nearest.
        nearest: UnitInterval,
    },
    /// The value is an infinity or NaN.
    #[error("{0} is not a finite number")]
    NotFinite(f64),
}

impl UnitInterval {
    /// The lower end, 0.
    pub const ZERO: Self = Self(0.0);
    /// The middle, 0.5.
    pub const HALF: Self = Self(0.5);
    /// The upper end, 1.
    pub const ONE: Self = Self(1.0);

    /// A number from 0 to 1; `None` if it is outside or not finite.
    #[must_use]
    pub fn new(number: f64) -> Option<Self> {
        Self::try_from(number).ok()
    }

    /// The nearest number of the range; `None` for NaN.
    #[must_use]
    pub fn nearest(number: f64) -> Option<Self> {
        (!number.is_nan()).then(|| Self(number.clamp(0.0, 1.0).abs()))
    }

    /// The number, from 0 to 1.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The sum, at most 1. An addend below zero or NaN changes nothing.
    #[must_use]
    pub fn raised(self, by: f64) -> Self {
        // `max` answers the other number for NaN.
        Self((self.0 + by.max(0.0)).min(1.0))
    }
}

impl TryFrom<f64> for UnitInterval {
    type Error = NotUnitInterval;

    fn try_from(number: f64) -> Result<Self, NotUnitInterval> {
        if !number.is_finite() {
            Err(NotUnitInterval::NotFinite(number))
        } else if (0.0..=1.0).contains(&number) {
            // Without the sign of a negative zero.
            Ok(Self(number.abs()))
        } else {
            let nearest = Self(number.clamp(0.0, 1.0).abs());
            Err(NotUnitInterval::Outside { number, nearest })
        }
    }
}

impl From<UnitInterval> for f64 {
    fn from(unit: UnitInterval) -> Self {
        unit.0
    }
}

impl std::fmt::Display for UnitInterval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Eq for UnitInterval {}

impl PartialOrd for UnitInterval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for UnitInterval {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_outside_has_a_nearest_end_and_no_number_has_none() {
        for (number, nearest) in [(-3.0, UnitInterval::ZERO), (1.01, UnitInterval::ONE)] {
            assert_eq!(
                UnitInterval::try_from(number),
                Err(NotUnitInterval::Outside { number, nearest })
            );
            assert_eq!(UnitInterval::nearest(number), Some(nearest));
        }
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(matches!(
                UnitInterval::try_from(odd),
                Err(NotUnitInterval::NotFinite(_))
            ));
            assert_eq!(UnitInterval::new(odd), None);
        }
        assert_eq!(UnitInterval::nearest(f64::NAN), None);
        assert_eq!(UnitInterval::new(0.25), Some(UnitInterval(0.25)));
        assert_eq!(UnitInterval::new(1.0), Some(UnitInterval::ONE));
        assert_eq!(UnitInterval::new(1.5), None);
        assert_eq!(
            UnitInterval::new(-0.0).map(|zero| zero.get().to_bits()),
            Some(0)
        );
    }

    #[test]
    fn numbers_are_ordered_and_sums_stay_within() {
        let mut all = [UnitInterval::ONE, UnitInterval::ZERO, UnitInterval::HALF];
        all.sort();
        assert_eq!(
            all,
            [UnitInterval::ZERO, UnitInterval::HALF, UnitInterval::ONE]
        );
        assert_eq!(UnitInterval::HALF.raised(0.7), UnitInterval::ONE);
        for nothing in [0.0, -1.0, f64::NAN] {
            assert_eq!(UnitInterval::HALF.raised(nothing), UnitInterval::HALF);
        }
    }

    #[test]
    fn json_holds_the_number_and_is_checked() {
        assert_eq!(serde_json::to_string(&UnitInterval::HALF).unwrap(), "0.5");
        assert_eq!(
            serde_json::from_str::<UnitInterval>("1").unwrap(),
            UnitInterval::ONE
        );
        let refused = serde_json::from_str::<UnitInterval>("1.5").unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("1.5 is not between 0 and 1")
        );
    }
}
