//! A decision with all that was looked at.

use crate::advice;
use crate::cost;
use crate::decision::{Considered, Explanation};
use crate::pareto::{self, Point};
use crate::request::{RouteRequest, State};
use crate::router::{Decision, Router};
use crate::score;
use crate::walk::Seen;
use crate::words::Speaker;

/// Puts a decision in words.
pub(crate) fn explain(
    router: &Router,
    request: &RouteRequest<'_>,
    decision: Decision<'_>,
) -> Explanation {
    let backends = router.roster().backends();
    let speaker = Speaker {
        need: &decision.need,
        facts: &request.facts,
    };
    // The chosen in order, then the others by what speaks against them, then by name.
    let mut others: Vec<usize> = (0..decision.seen.len())
        .filter(|at| !decision.order.contains(at))
        .collect();
    others.sort_by_key(|&at| {
        let one = &decision.seen[at];
        let offer = &decision.offers[one.offer];
        (
            one.reasons.len(),
            offer.candidate.backend,
            offer.entry().id.clone(),
            offer.entry().upstream_id.clone(),
        )
    });
    let considered = |(place, &at): (usize, &usize)| {
        let one = &decision.seen[at];
        let offer = &decision.offers[one.offer];
        let is_chosen = place < decision.order.len();
        let mut reasons = if is_chosen {
            Vec::new()
        } else {
            speaker.reasons(offer, one)
        };
        notes(&decision, one, is_chosen, &mut reasons);
        Considered {
            backend: backends[offer.candidate.backend].name.clone(),
            candidate: offer.candidate.clone(),
            eligible: is_chosen || one.reasons.is_empty(),
            reasons,
            features: one.features,
            security: one.security,
            tier: offer.entry().tier,
            score: one.score,
            estimated_cost: cost::likely(offer.entry(), &request.facts),
        }
    };
    let places: Vec<usize> = decision.order.iter().chain(&others).copied().collect();
    let considered: Vec<Considered> = places.iter().enumerate().map(considered).collect();
    let points: Vec<(usize, Point)> = places
        .iter()
        .enumerate()
        .filter(|(index, _)| considered[*index].eligible)
        .map(|(index, &at)| (index, point(&decision, &decision.seen[at])))
        .collect();
    let front = pareto::front(&points);
    let advice = match (&decision.refusal, decision.order.first()) {
        (Some(refusal), _) => vec![refusal.advice.clone()],
        (None, Some(&first)) => {
            let choice = decision.choice(first, request);
            advice::for_choice(&choice, &decision.need, backends)
        }
        (None, None) => Vec::new(),
    };
    let intent = decision.need.intent.clone();
    Explanation {
        outcome: decision.into_route(request),
        intent,
        considered,
        front,
        advice,
    }
}

fn point(decision: &Decision<'_>, one: &Seen) -> Point {
    let offer = &decision.offers[one.offer];
    Point {
        cost: offer.blended,
        quality: offer.quality,
        latency_ms: score::latency_ms(offer, one.observed),
        privacy: 0,
    }
}

/// What put one that may answer behind others.
fn notes(decision: &Decision<'_>, one: &Seen, is_chosen: bool, reasons: &mut Vec<String>) {
    if !is_chosen && !one.reasons.is_empty() {
        return;
    }
    let need = &decision.need;
    if is_chosen {
        if one.observed.state == State::Down {
            reasons.push("it does not answer at the moment, and nobody else is left".into());
        }
        if one.observed.state == State::Degraded {
            reasons.push("it fails more often than it should".into());
        }
        if one.place.is_late {
            reasons.push(format!(
                "it is slower than the {} ms that are asked for",
                need.intent.max_latency_ms.unwrap_or_default()
            ));
        }
        let offer = &decision.offers[one.offer];
        if decision.automatic && offer.tier < need.tier {
            reasons.push(format!(
                "nobody who may answer is of the tier that quality {} asks for",
                need.intent.quality.as_str()
            ));
        }
        if let Some(tokens) = one.max_output {
            reasons.push(format!(
                "its answer is bounded to {tokens} tokens, so that the request costs what it may"
            ));
        }
    } else {
        reasons.push("others were rated above it".into());
    }
}
