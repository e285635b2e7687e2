//! Cost estimates of requests.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bardo_types::feature::Feature;
use bardo_types::model::{Effort, ModelEntry, Price};
use bardo_types::money::{ExactCost, MicroUsd};

use crate::request::Facts;

/// The answer that is expected where its caller sets no limit, in tokens.
const USUAL_OUTPUT: u64 = 4_096;
/// The shortest limit to an answer that leaves it a chance to be one, in tokens.
const SHORTEST_OUTPUT: u64 = 256;

/// Estimates the cost of a request: its prompt, and an answer of its limit, or of the usual length
/// times the factor of its effort. `None` if the model has no price.
pub(crate) fn likely(entry: &ModelEntry, facts: &Facts) -> Option<MicroUsd> {
    let usual = || USUAL_OUTPUT * factor_permille(facts.effort) / 1_000;
    let output = facts.max_output_tokens.unwrap_or_else(usual);
    of(entry, facts, within(entry, output))
}

/// Finds the output limit that keeps the cost within `cap`: `Ok(None)` if none is needed, `Ok(Some(n))`
/// for `n` tokens.
///
/// # Errors
/// With the highest cost, if it is known, when the limit would be too short or the request has its
/// own.
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

/// Factor of an effort on the cost of an answer, in thousandths (`data/effort.toml`).
fn factor_permille(effort: Option<Effort>) -> u64 {
    static TABLE: LazyLock<BTreeMap<Effort, u64>> = LazyLock::new(|| {
        crate::data::read(include_str!("../data/effort.toml")).expect("the table is tested")
    });
    let factor = effort.and_then(|effort| TABLE.get(&effort));
    factor.copied().unwrap_or(1_000)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effort_has_a_factor_that_never_falls() {
        let all = [
            Effort::None,
            Effort::Minimal,
            Effort::Low,
            Effort::Medium,
            Effort::High,
            Effort::Xhigh,
            Effort::Max,
        ]
        .map(|effort| factor_permille(Some(effort)));
        assert_eq!(all, [1_000, 1_000, 1_200, 1_500, 2_000, 2_000, 4_000]);
        assert!(all.is_sorted());
        assert_eq!(factor_permille(None), 1_000);
    }
}
