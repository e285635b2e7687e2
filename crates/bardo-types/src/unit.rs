//! Numbers from 0 to 1.

/// A number from 0 to 1. Whoever has one need not check it again.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct UnitInterval(f64);

/// What a number came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Clamped {
    /// The number is in the range.
    Within(UnitInterval),
    /// The number is outside the range; this end is the nearest.
    Moved(UnitInterval),
    /// The value is not a finite number.
    NotFinite,
}

impl UnitInterval {
    /// The lower end, 0.
    pub const ZERO: Self = Self(0.0);
    /// The upper end, 1.
    pub const ONE: Self = Self(1.0);

    /// A number that lies within.
    #[must_use]
    pub fn new(number: f64) -> Option<Self> {
        match Self::clamped(number) {
            Clamped::Within(unit) => Some(unit),
            Clamped::Moved(_) | Clamped::NotFinite => None,
        }
    }

    /// A number, moved to the nearest end where it lies outside.
    #[must_use]
    pub fn clamped(number: f64) -> Clamped {
        if !number.is_finite() {
            Clamped::NotFinite
        } else if (0.0..=1.0).contains(&number) {
            // Without the sign of a negative zero.
            Clamped::Within(Self(number.abs()))
        } else {
            Clamped::Moved(Self(number.clamp(0.0, 1.0)))
        }
    }

    /// The number, from 0 to 1.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_outside_is_moved_to_the_nearest_end_and_what_is_no_number_is_none() {
        assert_eq!(
            UnitInterval::clamped(-3.0),
            Clamped::Moved(UnitInterval::ZERO)
        );
        assert_eq!(
            UnitInterval::clamped(1.01),
            Clamped::Moved(UnitInterval::ONE)
        );
        assert_eq!(
            UnitInterval::clamped(0.25),
            Clamped::Within(UnitInterval(0.25))
        );
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(UnitInterval::clamped(odd), Clamped::NotFinite);
            assert_eq!(UnitInterval::new(odd), None);
        }
        assert_eq!(UnitInterval::new(1.0), Some(UnitInterval::ONE));
        assert_eq!(UnitInterval::new(1.5), None);
    }
}
