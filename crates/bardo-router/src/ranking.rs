//! The order in which candidates are asked: who satisfies what, along the owner's order or by
//! score.

use std::cmp::Ordering;
use std::collections::HashSet;

use bardo_types::backend::BackendName;
use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::intent::Intent;
use bardo_types::privacy::SecurityClass;

use crate::decision::Score;
use crate::filter::FilterResult;
use crate::pareto::Point;
use crate::policy::{Mode, Policy};
use crate::rated::RatedCandidate;
use crate::reason::{Reason, Reasons};
use crate::request::{HealthState, ObservedHealth, RouteRequest};
use crate::requirements::Requirements;
use crate::roster::BackendSpec;
use crate::score::{self, Weighing};
use crate::services::ServiceRole;

/// The most candidates that are handed over for one request.
const MOST_CHOICES: usize = 16;

/// A candidate in the ranking.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankedCandidate {
    /// Its place among the rated candidates.
    pub(crate) rated: usize,
    pub(crate) reasons: Reasons,
    pub(crate) features: FeatureSet,
    pub(crate) security: SecurityClass,
    pub(crate) max_output: Option<u64>,
    pub(crate) observed: ObservedHealth,
    pub(crate) score: Option<Score>,
    pub(crate) place: RankKey,
    /// Put in front of a seller that was chosen, as it has the same model with the owner's own key.
    pub(crate) leads: bool,
}

/// The sort key before any score; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct RankKey {
    pub(crate) is_down: bool,
    pub(crate) is_unkept: bool,
    /// Slower than twice what is asked.
    is_very_late: bool,
    pub(crate) lacking: u32,
    pub(crate) unmet: u32,
    /// Many requests to the backend fail.
    pub(crate) is_failing: bool,
    /// Slower than asked.
    pub(crate) is_late: bool,
    pub(crate) is_spare: bool,
    /// In the owner's order, where that decides.
    pub(crate) rank: usize,
    /// As `is_late`, where nothing was measured.
    pub(crate) expected_late: bool,
}

impl RankedCandidate {
    pub(crate) fn new(rated: usize, filtered: FilterResult) -> Self {
        Self {
            rated,
            reasons: filtered.reasons,
            features: filtered.features,
            security: filtered.security,
            max_output: filtered.max_output,
            observed: ObservedHealth::default(),
            score: None,
            place: RankKey::default(),
            leads: false,
        }
    }
}

/// Reasons that may be overlooked when no candidate is left, in this order.
const OVERLOOKED: [Reasons; 6] = {
    let effort = Reasons::of(Reason::Effort);
    let ceiling = effort.with(Reason::Ceiling);
    let roles = ceiling.with(Reason::NotPrivate).with(Reason::NotNative);
    let output = roles.with(Reason::Output);
    let context = output.with(Reason::Context);
    [Reasons::NONE, effort, ceiling, roles, output, context]
};

/// Reasons for which a floor of protection does not yield: price, quality, speed, features, order.
const NOT_WORTH_A_FLOOR: Reasons = OVERLOOKED[5]
    .minus(Reasons::of(Reason::Context))
    .with(Reason::Free)
    .with(Reason::Lacking)
    .with(Reason::Tier)
    .with(Reason::Cost)
    .with(Reason::Revenue)
    .with(Reason::Slow);

/// The walk over the offers for one request.
pub(crate) struct Ranking<'a> {
    pub(crate) request: &'a RouteRequest<'a>,
    pub(crate) requirements: &'a Requirements,
    pub(crate) policy: &'a Policy,
    pub(crate) backends: &'a [BackendSpec],
    pub(crate) rated_candidates: &'a [RatedCandidate],
    pub(crate) route: &'a [String],
    /// Whether the roles of services are enforced.
    pub(crate) roles: bool,
}

impl Ranking<'_> {
    /// Puts those that may be asked in order, by their place among `seen`; the reasons of the
    /// others are complete when it returns. Empty: no candidate may answer.
    ///
    /// Where a floor may yield, those that meet it come first, whatever speaks for the others: it
    /// yields only where none of them can answer.
    pub(crate) fn order(&self, seen: &mut [RankedCandidate]) -> Vec<usize> {
        if self.requirements.class >= self.requirements.wish {
            return self.order_alike(seen);
        }
        let is_kept = |one: &RankedCandidate| one.security >= self.requirements.wish;
        let mut kept = seen.to_vec();
        for one in &mut kept {
            one.reasons = one.reasons.with_if(!is_kept(one), Reason::Security);
        }
        let mut first = self.order_alike(&mut kept);
        first.retain(|&at| !kept[at].reasons.has(Reason::Context) && !kept[at].place.is_down);
        if first.is_empty() {
            if kept
                .iter()
                .any(|one| is_kept(one) && self.is_only_unwelcome(one))
            {
                seen.copy_from_slice(&kept);
                return Vec::new();
            }
            return self.order_alike(seen);
        }
        let mut others = seen.to_vec();
        for one in &mut others {
            one.reasons = one.reasons.with_if(is_kept(one), Reason::NotAllowed);
        }
        let behind = self.order_alike(&mut others);
        let behind = behind.into_iter().filter(|&at| !others[at].place.is_down);
        first.truncate(MOST_CHOICES - 1);
        first.extend(behind);
        first.truncate(MOST_CHOICES);
        for (one, (kept, other)) in seen.iter_mut().zip(kept.into_iter().zip(others)) {
            *one = if is_kept(one) { kept } else { other };
        }
        first
    }

    /// Whether one could answer, and only its price, its quality or the like speak against it.
    fn is_only_unwelcome(&self, one: &RankedCandidate) -> bool {
        let candidate = &self.rated_candidates[one.rated].candidate;
        one.reasons.within(NOT_WORTH_A_FLOOR)
            && self.request.health.observe(candidate).state != HealthState::Down
    }

    fn order_alike(&self, seen: &mut [RankedCandidate]) -> Vec<usize> {
        let mut may: Vec<usize> = Vec::new();
        let of_a_pass = Reasons::of(Reason::Tier).with(Reason::Slow);
        for lacking in self.passes() {
            for one in seen.iter_mut() {
                one.reasons = one.reasons.minus(of_a_pass);
            }
            may = OVERLOOKED
                .iter()
                .map(|overlooked| overlooked.union(*lacking))
                .map(|overlooked| remaining(seen, overlooked))
                .find(|may| !may.is_empty())
                .unwrap_or_default();
            if may.is_empty() {
                continue;
            }
            self.keep_tier(seen, &mut may);
            self.look(seen, &may);
            if self.policy.strict_latency {
                let is_relaxed = !lacking.is_empty() || self.requirements.accepts_degraded;
                may.retain(|&at| {
                    let place = seen[at].place;
                    let is_late = place.is_very_late || place.is_late && !is_relaxed;
                    seen[at].reasons = seen[at].reasons.with_if(is_late, Reason::Slow);
                    !is_late
                });
            }
            if may.iter().any(|&at| !seen[at].place.is_down) {
                break;
            }
        }
        self.put_aside_down(seen, &mut may);
        self.rate(seen, &may);
        self.sort(seen, &mut may);
        self.lead_with_the_undominated(seen, &mut may);
        self.spread(seen, may)
    }

    /// Sets of missing features to accept, in order.
    fn passes(&self) -> &'static [Reasons] {
        const PASSES: [Reasons; 2] = [Reasons::NONE, Reasons::of(Reason::Lacking)];
        if self.requirements.gives_up {
            &PASSES
        } else {
            &PASSES[..1]
        }
    }

    /// Keeps those whose tier is the one that is needed, or the nearest below that anybody has.
    fn keep_tier(&self, seen: &mut [RankedCandidate], may: &mut Vec<usize>) {
        let tier = |at: usize, seen: &[RankedCandidate]| self.rated_candidates[seen[at].rated].tier;
        let best = may.iter().map(|&at| tier(at, seen)).max();
        let floor = best.map_or(self.requirements.tier, |best| {
            best.min(self.requirements.tier)
        });
        may.retain(|&at| {
            let is_below = tier(at, seen) < floor;
            seen[at].reasons = seen[at].reasons.with_if(is_below, Reason::Tier);
            !is_below
        });
    }

    /// Looks how each does and what it would miss.
    fn look(&self, seen: &mut [RankedCandidate], may: &[usize]) {
        let limit = self.requirements.intent.max_latency_ms;
        let wishes: FeatureSet = self.requirements.intent.prefer.iter().copied().collect();
        let ranks = self.ranks();
        for &at in may {
            let one = &mut seen[at];
            let rated = &self.rated_candidates[one.rated];
            one.observed = self.request.health.observe(&rated.candidate);
            let measured = one.observed.p90_ms.or(one.observed.p50_ms);
            let is_within = |factor: u64, takes: Option<u64>| match (takes, limit) {
                (Some(takes), Some(limit)) => takes <= limit.saturating_mul(factor),
                _ => true,
            };
            one.place = RankKey {
                is_down: one.observed.state == HealthState::Down,
                is_unkept: one.security < self.requirements.wish,
                is_very_late: !is_within(2, measured),
                is_failing: one.observed.state == HealthState::Degraded,
                is_late: !is_within(1, measured),
                lacking: self.requirements.should.minus(one.features).len(),
                unmet: wishes.minus(one.features).len(),
                is_spare: self.is_spare(rated)
                    && ranks[rated.candidate.backend] >= self.route.len(),
                rank: ranks[rated.candidate.backend],
                expected_late: measured.is_none() && !is_within(1, Some(rated.latency_prior)),
            };
        }
    }

    /// Whether somebody only helps out: the owner's machine for what others keep too, and staked
    /// compute for what need not be kept.
    fn is_spare(&self, rated: &RatedCandidate) -> bool {
        self.roles
            && match rated.service.role {
                ServiceRole::Spare => true,
                ServiceRole::Privacy => !self.requirements.is_private(),
                ServiceRole::General | ServiceRole::SelfFunding | ServiceRole::Direct => false,
            }
    }

    /// The place of each backend in the owner's order, where that decides before the score.
    fn ranks(&self) -> Vec<usize> {
        let general = |index: usize| match self.policy.mode {
            Mode::Ordered => index,
            Mode::Scored => 0,
        };
        let place = |(index, spec): (usize, &BackendSpec)| {
            let backend = BackendName::parse(&spec.name);
            self.route
                .iter()
                .position(|listed| backend.is_meant_by(listed))
                .unwrap_or(self.route.len() + general(index))
        };
        self.backends.iter().enumerate().map(place).collect()
    }

    /// Those that do not answer are asked where nobody else is left.
    fn put_aside_down(&self, seen: &mut [RankedCandidate], may: &mut Vec<usize>) {
        if may.iter().all(|&at| seen[at].place.is_down) {
            return;
        }
        may.retain(|&at| {
            let is_down = seen[at].place.is_down;
            seen[at].reasons = seen[at].reasons.with_if(is_down, Reason::Down);
            !is_down
        });
    }

    fn weighing(&self) -> (Weighing, bool) {
        let requirements = self.requirements;
        let privacy =
            score::wishes_privacy(&requirements.intent, requirements.class, requirements.wish);
        (
            Weighing::new(self.policy, &requirements.intent, privacy),
            privacy,
        )
    }

    fn rate(&self, seen: &mut [RankedCandidate], may: &[usize]) {
        let (weighing, _) = self.weighing();
        for &at in may {
            let one = &mut seen[at];
            let rated = &self.rated_candidates[one.rated];
            let blended = rated.blended_for(&self.request.facts);
            let score = weighing.rate((rated, blended), one.features, one.security, one.observed);
            one.score = Some(score);
        }
    }

    fn sort(&self, seen: &[RankedCandidate], may: &mut [usize]) {
        may.sort_unstable_by(|&a, &b| {
            let (a, b) = (&seen[a], &seen[b]);
            a.place.cmp(&b.place).then_with(|| self.compare(a, b))
        });
    }

    /// By price where only the cheapest will do, then by score, and ties by what is documented; the
    /// last word has a name, so that the order of no list matters.
    fn compare(&self, a: &RankedCandidate, b: &RankedCandidate) -> Ordering {
        let total = |one: &RankedCandidate| one.score.map_or(0.0, |score| score.total);
        let (x, y) = (
            &self.rated_candidates[a.rated],
            &self.rated_candidates[b.rated],
        );
        let facts = &self.request.facts;
        let by_price = x.blended_for(facts).cmp(&y.blended_for(facts));
        let first = if self.requirements.cheapest {
            by_price
        } else {
            Ordering::Equal
        };
        first
            .then_with(|| total(b).total_cmp(&total(a)))
            .then_with(|| x.service.tie.cmp(&y.service.tie))
            .then_with(|| y.quality.total_cmp(&x.quality))
            .then(by_price)
            .then_with(|| x.entry().id.cmp(&y.entry().id))
            .then_with(|| x.entry().upstream_id.cmp(&y.entry().upstream_id))
            .then_with(|| x.candidate.backend.cmp(&y.candidate.backend))
    }

    /// Whether the score alone puts one candidate before the other.
    fn is_tied(&self, a: &RankedCandidate, b: &RankedCandidate) -> bool {
        let price = |one: &RankedCandidate| {
            let rated = &self.rated_candidates[one.rated];
            rated.blended_for(&self.request.facts)
        };
        a.place == b.place
            && !a.leads
            && !b.leads
            && (!self.requirements.cheapest || price(a) == price(b))
    }

    /// For each candidate in the order the number of its group: within a group, the score alone
    /// decides.
    pub(crate) fn groups(&self, seen: &[RankedCandidate], order: &[usize]) -> Vec<usize> {
        let mut group = 0;
        let mut before: Option<&RankedCandidate> = None;
        let of_one = |&at: &usize| {
            let one = &seen[at];
            if before.is_some_and(|before| !self.is_tied(before, one)) {
                group += 1;
            }
            before = Some(one);
            group
        };
        order.iter().map(of_one).collect()
    }

    /// A clamped term can make the worse of two look alike; whoever is beaten in everything never
    /// leads those of its place.
    fn lead_with_the_undominated(&self, seen: &[RankedCandidate], may: &mut [usize]) {
        let Some(&first) = may.first() else { return };
        let (_, privacy) = self.weighing();
        let rivals = may
            .iter()
            .take_while(|&&at| seen[at].place == seen[first].place)
            .count();
        let is_beaten = |at: usize| {
            let point = self.point(&seen[at], privacy);
            may[..rivals]
                .iter()
                .any(|&other| self.point(&seen[other], privacy).dominates(&point))
        };
        if let Some(leader) = (0..rivals).find(|&index| !is_beaten(may[index])) {
            may[..=leader].rotate_right(1);
        }
    }

    pub(crate) fn point(&self, one: &RankedCandidate, with_privacy: bool) -> Point {
        let rated = &self.rated_candidates[one.rated];
        Point {
            cost: rated.blended_for(&self.request.facts),
            quality: rated.quality,
            latency_ms: score::latency_ms(rated, one.observed),
            privacy: if with_privacy { one.security as u8 } else { 0 },
        }
    }

    /// One model of each backend before the second of any, so that another backend is asked next;
    /// and behind the first nobody who keeps the request less well, as far as anybody cares.
    fn spread(&self, seen: &mut [RankedCandidate], may: Vec<usize>) -> Vec<usize> {
        let Some(&first) = may.first() else {
            return may;
        };
        let least = self.least_behind(seen[first].security);
        let (may, weaker): (Vec<usize>, Vec<usize>) =
            may.into_iter().partition(|&at| seen[at].security >= least);
        for at in weaker {
            seen[at].reasons = seen[at].reasons.with(Reason::Weaker);
        }
        let mut met = HashSet::new();
        let (mut order, others): (Vec<usize>, Vec<usize>) = may
            .into_iter()
            .partition(|&at| met.insert(self.rated_candidates[seen[at].rated].candidate.backend));
        order.extend(others);
        order.truncate(MOST_CHOICES);
        order
    }

    /// The least protection of whoever is asked behind the first.
    fn least_behind(&self, first: SecurityClass) -> SecurityClass {
        let requirements = self.requirements;
        if requirements.accepts_degraded {
            return requirements.class;
        }
        first
            .min(requirements.wish.max(preferred(&requirements.intent)))
            .max(requirements.class)
    }
}

/// The class that an intent prefers.
fn preferred(intent: &Intent) -> SecurityClass {
    let of = |feature: &Feature| match feature {
        Feature::E2ee => SecurityClass::E2ee,
        Feature::Tee => SecurityClass::Tee,
        Feature::Privacy => SecurityClass::Private,
        _ => SecurityClass::Standard,
    };
    intent.prefer.iter().map(of).max().unwrap_or_default()
}

/// Those against whom nothing speaks but what is overlooked.
fn remaining(seen: &[RankedCandidate], overlooked: Reasons) -> Vec<usize> {
    (0..seen.len())
        .filter(|&at| seen[at].reasons.within(overlooked))
        .collect()
}
