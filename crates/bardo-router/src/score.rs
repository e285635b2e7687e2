//! The score of candidates.

use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::intent::Intent;
use bardo_types::privacy::SecurityClass;

use crate::decision::Score;
use crate::policy::{Policy, Weights};
use crate::rated::RatedCandidate;
use crate::request::ObservedHealth;

/// The weights and limits of one request's score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighing {
    cost: f64,
    quality: f64,
    latency: f64,
    features: f64,
    privacy: f64,
    max_cost: f64,
    max_latency: Option<f64>,
    wishes: FeatureSet,
}

/// The weights at a sensitivity to cost, not yet divided by their sum.
fn interpolated(weights: &Weights, sensitivity: f64) -> [f64; 5] {
    let at = |(from, to): (f64, f64)| {
        let weight = from + (to - from) * sensitivity;
        if weight.is_finite() {
            weight.max(0.0)
        } else {
            0.0
        }
    };
    [
        at(weights.cost),
        at(weights.quality),
        at(weights.latency),
        at(weights.features),
        at(weights.privacy),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "a rating, and exact below 2^53")]
const fn float(number: u64) -> f64 {
    number as f64
}

impl Weighing {
    /// For a request that needs `intent`; protection counts where it is wished for and more than
    /// what is required of all.
    pub(crate) fn new(policy: &Policy, intent: &Intent, wishes_privacy: bool) -> Self {
        let sensitivity = intent.cost_sensitivity.get();
        let mut weights = interpolated(&policy.weights, sensitivity);
        if !wishes_privacy {
            weights[4] = 0.0;
        }
        let mut sum: f64 = weights.iter().sum();
        if sum <= 0.0 || !sum.is_finite() {
            weights = interpolated(&Weights::default(), sensitivity);
            if !wishes_privacy {
                weights[4] = 0.0;
            }
            sum = weights.iter().sum();
        }
        let [cost, quality, latency, features, privacy] = weights.map(|weight| weight / sum);
        Self {
            cost,
            quality,
            latency,
            features,
            privacy,
            max_cost: float(policy.max_cost.get().max(1)),
            max_latency: intent.max_latency_ms.map(|limit| float(limit.max(1))),
            wishes: intent.prefer.iter().copied().collect(),
        }
    }

    /// Rates one. Every term lies between 0 and 1, whatever the candidate says of itself.
    pub(crate) fn rate(
        &self,
        (rated, blended): (&RatedCandidate, u64),
        features: FeatureSet,
        security: SecurityClass,
        seen: ObservedHealth,
    ) -> Score {
        let clamped = |term: f64| {
            if term.is_nan() {
                0.0
            } else {
                term.clamp(0.0, 1.0)
            }
        };
        let cost = match blended {
            u64::MAX => 0.0,
            blended => clamped(1.0 - float(blended) / self.max_cost),
        };
        let quality = clamped(rated.quality);
        let latency = match self.max_latency {
            None => 1.0,
            Some(limit) => clamped(1.0 - float(latency_ms(rated, seen)) / limit),
        };
        let met = self.wishes.minus(self.wishes.minus(features)).len();
        let features = match self.wishes.len() {
            0 => 1.0,
            wished => f64::from(met) / f64::from(wished),
        };
        let privacy = match security {
            SecurityClass::Standard => 0.0,
            SecurityClass::Private => 0.8,
            SecurityClass::Tee => 0.9,
            SecurityClass::E2ee => 1.0,
        };
        let total = self.cost * cost
            + self.quality * quality
            + self.latency * latency
            + self.features * features
            + self.privacy * privacy;
        Score {
            cost,
            quality,
            latency,
            privacy,
            features,
            total,
        }
    }
}

/// Latency of a candidate: measured, else typical for its tier.
pub(crate) fn latency_ms(rated: &RatedCandidate, seen: ObservedHealth) -> u64 {
    seen.p90_ms.or(seen.p50_ms).unwrap_or(rated.latency_prior)
}

/// Whether a request that needs `intent` wishes for more protection than it requires.
pub(crate) fn wishes_privacy(intent: &Intent, class: SecurityClass, wish: SecurityClass) -> bool {
    let preferred = intent.prefer.contains(&Feature::Privacy) && class < SecurityClass::Private
        || intent.prefer.contains(&Feature::Tee) && class < SecurityClass::Tee
        || intent.prefer.contains(&Feature::E2ee) && class < SecurityClass::E2ee;
    preferred || class < wish
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_weights_add_up_to_the_documented_sums() {
        for (sensitivity, expected, sum) in [
            (0.0, [0.25, 0.40, 0.15, 0.20], 1.0),
            (0.3, [0.355, 0.34, 0.15, 0.17], 1.015),
            (0.5, [0.425, 0.30, 0.15, 0.15], 1.025),
            (1.0, [0.60, 0.20, 0.15, 0.10], 1.05),
        ] {
            let weights = interpolated(&Weights::default(), sensitivity);
            for (weight, expected) in weights.iter().zip(expected) {
                assert!((weight - expected).abs() < 1e-12, "{sensitivity}");
            }
            let four: f64 = weights[..4].iter().sum();
            assert!((four - sum).abs() < 1e-12, "{sensitivity}: {four}");
        }
    }

    #[test]
    fn weights_that_are_no_numbers_are_the_usual_ones() {
        let policy = Policy {
            weights: Weights {
                cost: (f64::NAN, 1.0),
                quality: (-3.0, -1.0),
                latency: (0.0, 0.0),
                features: (0.0, 0.0),
                privacy: (f64::INFINITY, 0.0),
            },
            ..Policy::default()
        };
        let odd = Weighing::new(&policy, &Intent::default(), false);
        let usual = Weighing::new(&Policy::default(), &Intent::default(), false);
        assert!(
            (odd.cost - usual.cost).abs() < 1e-12 && (odd.quality - usual.quality).abs() < 1e-12
        );
    }
}
