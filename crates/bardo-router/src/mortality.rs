//! Effect of vitality and revenue on the intent of an agent's calls.

use bardo_types::intent::Intent;
use bardo_types::money::MicroUsd;
use bardo_types::unit::UnitInterval;

/// The pressure above which quality falls by one level.
const LOWERS_QUALITY: f64 = 0.7;
/// Increase of the sensitivity to cost under full pressure or falling revenue.
const SENSITIZES: f64 = 0.3;

/// Bends an intent by how alive its agent is. Where nobody knows, nothing changes: a faulty sensor
/// must neither starve nor overspend.
pub(crate) fn apply_vitality(intent: &mut Intent, vitality: Option<UnitInterval>) {
    let Some(vitality) = vitality.map(UnitInterval::get) else {
        return;
    };
    let pressure = 1.0 - vitality;
    sensitize(intent, pressure * SENSITIZES);
    if pressure > LOWERS_QUALITY {
        intent.quality = intent.quality.lowered();
    }
}

fn sensitize(intent: &mut Intent, by: f64) {
    intent.cost_sensitivity = intent.cost_sensitivity.raised(by);
}

/// The ratio of an agent's revenue to its cost, in bands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Band {
    /// The revenue is more than twice the cost.
    Expanding,
    /// The revenue is above the cost, or unknown.
    Sustainable,
    /// The revenue is more than half of the cost.
    Pressured,
    /// The revenue is at most half of the cost, or zero after earlier revenue.
    Contracting,
    /// The agent has had no revenue yet.
    Bootstrapping,
}

impl Band {
    /// The band of a ratio of revenue to cost. Without revenue an agent starts up as long as it
    /// never had any; later its revenue has lapsed. What is no ratio counts as sustainable.
    #[must_use]
    pub fn of(ratio: Option<f64>, lifetime_revenue: Option<MicroUsd>) -> Self {
        match ratio {
            Some(ratio) if !ratio.is_finite() || ratio < 0.0 => Self::Sustainable,
            Some(ratio) if ratio > 2.0 => Self::Expanding,
            Some(ratio) if ratio > 1.0 => Self::Sustainable,
            Some(ratio) if ratio > 0.5 => Self::Pressured,
            Some(ratio) if ratio > 0.0 => Self::Contracting,
            Some(_) | None if lifetime_revenue == Some(MicroUsd::ZERO) => Self::Bootstrapping,
            Some(_) => Self::Contracting,
            None => Self::Sustainable,
        }
    }

    /// The ratio of what came in to what went out. Revenue without cost is above every band;
    /// neither is no ratio.
    #[must_use]
    pub fn ratio(revenue: MicroUsd, cost: MicroUsd) -> Option<f64> {
        match (revenue.get(), cost.get()) {
            (0, 0) => None,
            (_, 0) => Some(f64::MAX),
            #[expect(clippy::cast_precision_loss, reason = "a ratio of sums, not a sum")]
            (revenue, cost) => Some(revenue as f64 / cost as f64),
        }
    }

    /// The most that a call may cost of a balance, in a tenth of it at most half as much again; an
    /// agent that starts up has the fixed seed of a day.
    #[must_use]
    pub fn most(self, balance: Option<MicroUsd>) -> Option<MicroUsd> {
        let tenths_of_a_tenth = match self {
            Self::Bootstrapping => return Some(SEED_OF_A_DAY),
            Self::Expanding => 15,
            Self::Sustainable => 10,
            Self::Pressured => 7,
            Self::Contracting => 3,
        };
        let most = u128::from(balance?.get()) * tenths_of_a_tenth / 100;
        Some(MicroUsd::new(u64::try_from(most).unwrap_or(u64::MAX)))
    }
}

/// Highest cost of a day's calls of an agent without revenue.
pub const SEED_OF_A_DAY: MicroUsd = MicroUsd::new(100_000);

/// Bends an intent by the band; whether only the cheapest model without thinking will do.
pub(crate) fn apply_band(intent: &mut Intent, band: Band) -> bool {
    match band {
        Band::Expanding | Band::Sustainable | Band::Bootstrapping => false,
        Band::Pressured => {
            sensitize(intent, SENSITIZES);
            false
        }
        Band::Contracting => {
            intent.cost_sensitivity = UnitInterval::ONE;
            intent.quality = intent.quality.min(bardo_types::intent::Quality::Low);
            intent.low_effort = true;
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use bardo_types::intent::Quality;

    use super::*;

    #[track_caller]
    fn pressed(quality: Quality, sensitivity: f64, vitality: f64) -> (Quality, f64) {
        let mut intent = Intent {
            quality,
            cost_sensitivity: UnitInterval::new(sensitivity).unwrap(),
            ..Intent::default()
        };
        apply_vitality(&mut intent, UnitInterval::new(vitality));
        (intent.quality, intent.cost_sensitivity.get())
    }

    #[test]
    fn pressure_raises_the_sensitivity_and_lowers_quality_strictly_above_its_bound() {
        assert_eq!(pressed(Quality::High, 0.5, 1.0), (Quality::High, 0.5));
        assert_eq!(pressed(Quality::High, 0.5, 0.3).0, Quality::High);
        assert!((pressed(Quality::High, 0.5, 0.3).1 - 0.71).abs() < 1e-12);
        assert_eq!(pressed(Quality::High, 0.5, 0.29).0, Quality::Medium);
        assert_eq!(pressed(Quality::Maximum, 0.9, 0.0), (Quality::High, 1.0));
        assert_eq!(pressed(Quality::Low, 0.0, 0.0), (Quality::Low, 0.3));
        assert_eq!(pressed(Quality::Minimum, 0.0, 0.0).0, Quality::Minimum);
    }

    #[test]
    fn an_unknown_vitality_changes_nothing() {
        let mut intent = Intent::default();
        apply_vitality(&mut intent, None);
        assert_eq!(intent, Intent::default());
    }

    #[test]
    fn bands_have_their_exact_edges() {
        let known = Some(MicroUsd::new(1));
        for (ratio, band) in [
            (2.01, Band::Expanding),
            (2.0, Band::Sustainable),
            (1.01, Band::Sustainable),
            (1.0, Band::Pressured),
            (0.51, Band::Pressured),
            (0.5, Band::Contracting),
            (0.01, Band::Contracting),
            (0.0, Band::Contracting),
            (f64::NAN, Band::Sustainable),
            (f64::INFINITY, Band::Sustainable),
            (-1.0, Band::Sustainable),
        ] {
            assert_eq!(Band::of(Some(ratio), known), band, "{ratio}");
        }
        assert_eq!(Band::of(None, None), Band::Sustainable);
        assert_eq!(Band::of(None, Some(MicroUsd::ZERO)), Band::Bootstrapping);
        assert_eq!(
            Band::of(Some(0.0), Some(MicroUsd::ZERO)),
            Band::Bootstrapping
        );
        let free = Band::ratio(MicroUsd::new(5), MicroUsd::ZERO);
        assert_eq!(Band::of(free, known), Band::Expanding);
        assert_eq!(Band::ratio(MicroUsd::ZERO, MicroUsd::ZERO), None);
    }

    #[test]
    fn budgets_are_a_tenth_of_the_balance_times_the_band() {
        let balance = Some(MicroUsd::new(1_000_000));
        for (band, most) in [
            (Band::Expanding, 150_000),
            (Band::Sustainable, 100_000),
            (Band::Pressured, 70_000),
            (Band::Contracting, 30_000),
            (Band::Bootstrapping, 100_000),
        ] {
            assert_eq!(band.most(balance), Some(MicroUsd::new(most)), "{band:?}");
        }
        assert_eq!(Band::Sustainable.most(None), None);
    }
}
