//! What is added to a backend's cost (PAY-08…10, C-160, decisions §11).

use bardo_types::money::BasisPoints;

/// How far an on-chain identity is trusted, by its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reputation {
    /// Below 50, or no identity.
    None,
    /// From 50.
    Basic,
    /// From 200.
    Verified,
    /// From 500.
    Trusted,
    /// From 1,000.
    Sovereign,
}

/// The score from which a reputation begins, and the spread of an account without a tier.
const REPUTATIONS: [(u64, Reputation, BasisPoints); 5] = [
    (0, Reputation::None, percent(20)),
    (50, Reputation::Basic, percent(18)),
    (200, Reputation::Verified, percent(15)),
    (500, Reputation::Trusted, percent(12)),
    (1_000, Reputation::Sovereign, percent(8)),
];

/// What a tier takes, and whether reputation lowers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// No tier: the configured default, or what the reputation table says where that is less.
    Untiered(BasisPoints),
    /// The same for everybody of the tier.
    Fixed(BasisPoints),
    /// Lowered in the proportion in which the reputation table lowers its first row, so that a
    /// reputation is never a penalty.
    Discounted(BasisPoints),
}

impl Markup {
    /// No tier, nothing configured (`inference.spread_pct = 20`).
    pub const UNTIERED: Self = Self::Untiered(percent(20));
    /// The free tier.
    pub const FREE: Self = Self::Fixed(percent(25));
    /// The tier for people.
    pub const PRO: Self = Self::Fixed(percent(15));
    /// The tier for agents.
    pub const GOLEM: Self = Self::Discounted(percent(10));
}

impl Reputation {
    /// The reputation of a score.
    #[must_use]
    pub fn of_score(score: u64) -> Self {
        REPUTATIONS
            .iter()
            .rev()
            .find(|(from, ..)| score >= *from)
            .map_or(Self::None, |(_, reputation, _)| *reputation)
    }

    fn spread(self) -> BasisPoints {
        REPUTATIONS
            .iter()
            .find(|(_, reputation, _)| *reputation == self)
            .map_or(REPUTATIONS[0].2, |(.., spread)| *spread)
    }
}

/// The spread that is charged; never above the one that was quoted, where one was. What a
/// proportion leaves over goes to the payer.
#[must_use]
pub fn effective_spread(
    markup: Markup,
    reputation: Reputation,
    quoted: Option<BasisPoints>,
) -> BasisPoints {
    let spread = match markup {
        Markup::Untiered(default) if reputation == Reputation::None => default,
        Markup::Untiered(default) => default.min(reputation.spread()),
        Markup::Fixed(rate) => rate,
        Markup::Discounted(rate) => {
            let share = u64::from(rate.get()) * u64::from(reputation.spread().get());
            let first = u64::from(Reputation::None.spread().get());
            u32::try_from(share / first)
                .ok()
                .and_then(BasisPoints::new)
                .unwrap_or(rate)
        }
    };
    quoted.map_or(spread, |quoted| spread.min(quoted))
}

const fn percent(percent: u32) -> BasisPoints {
    match BasisPoints::new(percent * 100) {
        Some(points) => points,
        None => BasisPoints::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCORES: [u64; 5] = [49, 50, 200, 500, 1_000];

    #[test]
    fn every_cell_of_the_table() {
        let rows = [
            (Markup::UNTIERED, [2_000, 1_800, 1_500, 1_200, 800]),
            (Markup::GOLEM, [1_000, 900, 750, 600, 400]),
            (Markup::FREE, [2_500; 5]),
            (Markup::PRO, [1_500; 5]),
        ];
        for (markup, spreads) in rows {
            for (score, expected) in SCORES.into_iter().zip(spreads) {
                let spread = effective_spread(markup, Reputation::of_score(score), None);
                assert_eq!(spread.get(), expected, "{markup:?} at {score}");
            }
        }
    }

    #[test]
    fn a_reputation_begins_at_its_score() {
        let reputations = [
            (0, Reputation::None),
            (49, Reputation::None),
            (50, Reputation::Basic),
            (199, Reputation::Basic),
            (200, Reputation::Verified),
            (499, Reputation::Verified),
            (500, Reputation::Trusted),
            (999, Reputation::Trusted),
            (1_000, Reputation::Sovereign),
            (u64::MAX, Reputation::Sovereign),
        ];
        for (score, expected) in reputations {
            assert_eq!(Reputation::of_score(score), expected, "{score}");
        }
    }

    #[test]
    fn the_configured_default_is_what_strangers_pay_and_nobody_pays_more() {
        let untiered = |points, score| {
            let markup = Markup::Untiered(BasisPoints::new(points).unwrap());
            effective_spread(markup, Reputation::of_score(score), None).get()
        };
        assert_eq!(
            SCORES.map(|s| untiered(3_000, s)),
            [3_000, 1_800, 1_500, 1_200, 800]
        );
        assert_eq!(
            SCORES.map(|s| untiered(1_300, s)),
            [1_300, 1_300, 1_300, 1_200, 800]
        );
        assert_eq!(SCORES.map(|s| untiered(0, s)), [0; 5]);
    }

    #[test]
    fn never_above_the_quote() {
        for (quoted, expected) in [(2_000, 1_500), (1_500, 1_500), (900, 900), (0, 0)] {
            let quoted = BasisPoints::new(quoted);
            let spread = effective_spread(Markup::PRO, Reputation::None, quoted);
            assert_eq!(spread.get(), expected);
        }
    }

    #[test]
    fn odd_proportions_are_rounded_for_the_payer() {
        let markup = Markup::Discounted(BasisPoints::new(333).unwrap());
        // 333 × 18 / 20 = 299.7
        let spread = effective_spread(markup, Reputation::Basic, None);
        assert_eq!(spread.get(), 299);
        let most = effective_spread(Markup::Discounted(BasisPoints::MAX), Reputation::None, None);
        assert_eq!(most, BasisPoints::MAX);
    }
}
