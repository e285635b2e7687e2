//! A decision with all that was looked at.

use bardo_types::feature::FeatureSet;

use crate::advice;
use crate::cost;
use crate::decision::{Considered, Explanation};
use crate::pareto::{self, Point};
use crate::ranking::RankedCandidate;
use crate::request::{HealthState, RouteRequest};
use crate::resolution::RouteResolution;
use crate::router::Router;
use crate::score;
use crate::words::{Speaker, spoken};

/// Puts a decision in words.
pub(crate) fn explain(
    router: &Router,
    request: &RouteRequest<'_>,
    decision: RouteResolution<'_>,
) -> Explanation {
    let backends = router.roster().backends();
    let speaker = Speaker {
        requirements: &decision.requirements,
        request,
    };
    // The chosen in order, then the others by what speaks against them, then by name.
    let mut others: Vec<usize> = (0..decision.seen.len())
        .filter(|at| !decision.order.contains(at))
        .collect();
    others.sort_by_key(|&at| {
        let one = &decision.seen[at];
        let rated = &decision.rated_candidates[one.rated];
        (
            one.reasons.len(),
            rated.candidate.backend,
            rated.entry().id.clone(),
            rated.entry().upstream_id.clone(),
        )
    });
    let considered = |(place, &at): (usize, &usize)| {
        let one = &decision.seen[at];
        let rated = &decision.rated_candidates[one.rated];
        let is_chosen = place < decision.order.len();
        let mut reasons = if is_chosen {
            Vec::new()
        } else {
            speaker.reasons(rated, one)
        };
        notes(&decision, one, is_chosen, &mut reasons);
        if is_chosen && place > 0 && decision.automatic {
            let first = &decision.seen[decision.order[0]];
            reasons.insert(0, behind(&decision, first, one));
        }
        Considered {
            backend: backends[rated.candidate.backend].name.clone(),
            candidate: rated.candidate.clone(),
            eligible: is_chosen || one.reasons.is_empty(),
            reasons,
            features: one.features,
            security: one.security,
            tier: rated.entry().tier,
            score: one.score,
            estimated_cost: cost::likely(rated.entry(), &request.facts),
        }
    };
    let places: Vec<usize> = decision.order.iter().chain(&others).copied().collect();
    let considered: Vec<Considered> = places.iter().enumerate().map(considered).collect();
    let points: Vec<(usize, Point)> = places
        .iter()
        .enumerate()
        .filter(|(index, _)| considered[*index].eligible)
        .map(|(index, &at)| (index, point(&decision, &decision.seen[at], request)))
        .collect();
    let front = pareto::front(&points);
    let advice = match (&decision.refusal, decision.order.first()) {
        (Some(refusal), _) => vec![refusal.advice.clone()],
        (None, Some(&first)) => {
            let choice = decision.choice(first, request);
            advice::for_choice(&choice, &decision.requirements, backends)
        }
        (None, None) => Vec::new(),
    };
    let intent = decision.requirements.intent.clone();
    Explanation {
        outcome: decision.into_route(request),
        intent,
        considered,
        front,
        advice,
    }
}

fn point(
    decision: &RouteResolution<'_>,
    one: &RankedCandidate,
    request: &RouteRequest<'_>,
) -> Point {
    let rated = &decision.rated_candidates[one.rated];
    Point {
        cost: rated.blended_for(&request.facts),
        quality: rated.quality,
        latency_ms: score::latency_ms(rated, one.observed),
        privacy: 0,
    }
}

/// Reasons for the rank of a candidate.
fn notes(
    decision: &RouteResolution<'_>,
    one: &RankedCandidate,
    is_chosen: bool,
    reasons: &mut Vec<String>,
) {
    if !is_chosen && !one.reasons.is_empty() {
        return;
    }
    let requirements = &decision.requirements;
    if is_chosen {
        if one.observed.state == HealthState::Down {
            reasons.push("unavailable at the moment, and no other backend is left".into());
        }
        if one.observed.state == HealthState::Degraded {
            reasons.push("many of its requests fail".into());
        }
        if one.place.is_late {
            reasons.push(format!(
                "slower than the {} ms requested",
                requirements.intent.max_latency_ms.unwrap_or_default()
            ));
        }
        let rated = &decision.rated_candidates[one.rated];
        if decision.automatic && rated.tier < requirements.tier {
            reasons.push(format!(
                "no allowed model reaches quality `{}`",
                requirements.intent.quality.as_str()
            ));
        }
        if let Some(tokens) = one.max_output {
            reasons.push(format!("the cost limit allows {tokens} tokens of answer"));
        }
    } else {
        reasons.push("scored below the others".into());
    }
}

/// Why one that is asked later is asked later.
fn behind(
    decision: &RouteResolution<'_>,
    first: &RankedCandidate,
    one: &RankedCandidate,
) -> String {
    let requirements = &decision.requirements;
    let wishes: FeatureSet = requirements.intent.prefer.iter().copied().collect();
    let wished = requirements.should.union(wishes);
    let lacks = wished
        .minus(one.features)
        .minus(wished.minus(first.features));
    let (place, of_first) = (one.place, first.place);
    if place.is_unkept && !of_first.is_unkept {
        return "tried later: its class is below the class of the first choice".into();
    }
    if (place.lacking, place.unmet) > (of_first.lacking, of_first.unmet) && !lacks.is_empty() {
        return format!(
            "tried later: it lacks {}, which the first choice has",
            spoken(lacks)
        );
    }
    if place.is_failing && !of_first.is_failing {
        return "tried later: many of its requests fail".into();
    }
    if place.is_late && !of_first.is_late || place.expected_late && !of_first.expected_late {
        return "tried later: it is slower than the first choice".into();
    }
    if place.is_spare && !of_first.is_spare {
        return "tried later: it is only a fallback for such requests".into();
    }
    if place.rank > of_first.rank {
        return "tried later: it comes later in the configured order".into();
    }
    let total = |one: &RankedCandidate| one.score.map_or(0.0, |score| score.total);
    if requirements.cheapest {
        return "tried later: it costs more than the first choice".into();
    }
    if total(one) < total(first) {
        return "tried later: its score is below the score of the first choice".into();
    }
    "tried later: its score equals the score of the first choice, whose backend comes first in ties"
        .into()
}
