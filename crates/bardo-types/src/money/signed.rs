//! Differences of amounts, which may be below zero.

use std::fmt;

use super::MicroUsd;

/// A difference of two amounts in 10⁻⁶ USD. Its size is at most that of [`MicroUsd::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SignedMicroUsd(i64);

impl SignedMicroUsd {
    /// The difference of equal amounts.
    pub const ZERO: Self = Self(0);

    /// A difference of this many 10⁻⁶ USD; one beyond the range is cut to its end.
    #[must_use]
    pub const fn new(micro: i64) -> Self {
        Self(if micro == i64::MIN { -i64::MAX } else { micro })
    }

    /// `from` less `less`.
    #[must_use]
    pub fn difference(from: MicroUsd, less: MicroUsd) -> Self {
        let signed = |amount: MicroUsd| i64::try_from(amount.get()).unwrap_or(i64::MAX);
        // Both are at least 0, so the difference is within the range.
        Self(signed(from) - signed(less))
    }

    /// The number of 10⁻⁶ USD.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The sum, cut to the end of the range.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self::new(self.0.saturating_add(other.0))
    }

    /// The part above zero.
    #[must_use]
    pub fn gain(self) -> MicroUsd {
        MicroUsd::new(self.0.max(0).unsigned_abs())
    }

    /// The part below zero, as an amount.
    #[must_use]
    pub fn loss(self) -> MicroUsd {
        MicroUsd::new(self.0.min(0).unsigned_abs())
    }
}

impl fmt::Display for SignedMicroUsd {
    /// Decimal USD with six digits, with a minus sign below zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}", MicroUsd::new(self.0.unsigned_abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_signed_shown_and_stays_within_its_range() {
        let amount = MicroUsd::new;
        let less = SignedMicroUsd::difference(amount(2), amount(1_000_005));
        assert_eq!(
            (less.get(), less.to_string()),
            (-1_000_003, "-1.000003".to_owned())
        );
        assert_eq!((less.gain(), less.loss()), (amount(0), amount(1_000_003)));
        let more = SignedMicroUsd::difference(amount(7), amount(2));
        assert_eq!(
            (more.to_string(), more.gain()),
            ("0.000005".to_owned(), amount(5))
        );
        assert_eq!(SignedMicroUsd::ZERO.to_string(), "0.000000");
        let least = SignedMicroUsd::new(i64::MIN);
        assert_eq!(least.saturating_add(less), least);
        assert_eq!(least.loss(), MicroUsd::MAX);
    }
}
