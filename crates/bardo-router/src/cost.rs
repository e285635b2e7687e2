//! Cost estimates of requests.

use bardo_types::feature::Feature;
use bardo_types::model::{ModelEntry, Price};
use bardo_types::money::{ExactCost, MicroUsd};

use crate::request::Facts;

/// The answer that is expected where its caller sets no limit, in tokens.
const USUAL_OUTPUT: u64 = 4_096;
/// The shortest limit to an answer that leaves it a chance to be one, in tokens.
const SHORTEST_OUTPUT: u64 = 256;

/// What the request is likely to cost: its prompt, and an answer as long as its limit, or as usual.
/// `None`: nobody said what it costs.
pub(crate) fn likely(entry: &ModelEntry, facts: &Facts) -> Option<MicroUsd> {
    let output = facts.max_output_tokens.unwrap_or(USUAL_OUTPUT);
    of(entry, facts, within(entry, output))
}

/// What keeps the request from costing more than `cap` there: `Ok(None)` nothing, `Ok(Some(n))` an
/// answer of `n` tokens at most, `Err(cost)` that it would be too short, or is asked for at length;
/// so much it could cost, where that is known.
pub(crate) fn capped(
    entry: &ModelEntry,
    facts: &Facts,
    cap: MicroUsd,
) -> Result<Option<u64>, Option<MicroUsd>> {
    let longest = within(entry, facts.max_output_tokens.unwrap_or(u64::MAX));
    let worst = of(entry, facts, longest);
    if worst.is_some_and(|worst| worst <= cap) {
        return Ok(None);
    }
    let Some(price) = entry.price.filter(|_| facts.max_output_tokens.is_none()) else {
        return Err(worst);
    };
    let price = price.for_prompt(facts.prompt_tokens);
    let prompt = of(entry, facts, 0).ok_or(worst)?;
    let left = u128::from(cap.saturating_sub(prompt).get()) * 1_000_000;
    let affordable = left.checked_div(u128::from(rate(&price))).unwrap_or(0);
    match u64::try_from(affordable) {
        Ok(tokens) if tokens >= SHORTEST_OUTPUT => Ok(Some(tokens)),
        _ => Err(worst),
    }
}

fn within(entry: &ModelEntry, output: u64) -> u64 {
    match entry.capabilities.max_output_tokens {
        0 => output,
        most => output.min(most),
    }
}

/// The dearer rate of an answer's tokens, in 10⁻⁶ USD per million.
fn rate(price: &Price) -> u64 {
    price
        .reasoning
        .map_or(price.output, |reasoning| reasoning.max(price.output))
        .micro()
}

fn of(entry: &ModelEntry, facts: &Facts, output: u64) -> Option<MicroUsd> {
    let price = entry.price?.for_prompt(facts.prompt_tokens);
    let searches = u64::from(facts.uses.has(Feature::WebSearch));
    ExactCost::ZERO
        .plus(price.input, facts.prompt_tokens)?
        .plus(price.output, output)?
        .plus_each(price.request.unwrap_or_default(), 1)?
        .plus_each(price.web_search.unwrap_or_default(), searches)?
        .charge()
}
