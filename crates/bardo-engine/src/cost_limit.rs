//! The limit of a request's cost (`max_cost_usd`) for all that a leg can come to. The choice of a
//! backend does not know the text of a schema that a profile writes into the prompt, and counts one
//! answer and one search, so each leg is checked once more, when its settings are known.

use bardo_router::RoutedCandidate;
use bardo_types::chat::CacheTtl;
use bardo_types::model::Price;
use bardo_types::money::MicroUsd;
use bardo_types::usage::Usage;

use crate::decision;
use crate::error::EngineError;
use crate::memory::Memory;
use crate::price::write_lifetime;
use crate::prompt_cache::LegCache;
use crate::settings::{self, PlannedSettings, Subject};

/// The shortest limit of output that leaves an answer a chance, in tokens.
const SHORTEST_OUTPUT: u64 = 256;

/// Why the settings of a candidate cannot be planned.
pub(crate) enum CostLimitError {
    /// The limit of costs does not pay for the prompt and a short answer.
    TooLow {
        /// Tokens that the settings add to the prompt.
        added: u64,
    },
    /// The profile rules the model out.
    Unfit(EngineError),
}

impl From<EngineError> for CostLimitError {
    fn from(error: EngineError) -> Self {
        Self::Unfit(error)
    }
}

/// The prompt at its dearest: marks may write all of it into the provider's cache.
fn dearest_input(prompt: u64, kept: Option<CacheTtl>) -> Usage {
    let mut usage = Usage::default();
    match kept {
        None => usage.fresh_input = prompt,
        Some(CacheTtl::FiveMinutes) => usage.cache_write_5m = prompt,
        Some(CacheTtl::OneHour) => usage.cache_write_1h = prompt,
    }
    usage
}

/// Plans the settings of a candidate within the caller's limit of the cost, which `price` and at
/// most so many `searches` are compared with. `cache` is what is decided of the prompt cache there.
/// `None` as price: the candidate is not billed.
///
/// # Errors
/// When the profile rules the model out, or the limit does not pay for the prompt and a short
/// answer.
pub(crate) fn plan(
    subject: Subject<'_>,
    price: Option<&Price>,
    searches: u64,
    cache: Option<&LegCache>,
    memory: &Memory,
) -> Result<PlannedSettings, CostLimitError> {
    let planned = settings::plan(subject, memory)?;
    let call = subject.call;
    let most = call.hints().route.as_ref();
    let most = most.and_then(|route| route.max_cost_micro_usd);
    let (Some(most), Some(price), Some(choice)) = (most, price, subject.choice) else {
        return Ok(planned);
    };
    // A verification first compares the limit with the cost of both its requests (`two_plans.rs`).
    if decision::is_verified(call) && !call.is_part() {
        return Ok(planned);
    }
    let capabilities = &subject.candidate.entry.capabilities;
    let longest = match (planned.output, capabilities.max_output_tokens) {
        (Some(own), 0) => own,
        (Some(own), known) => own.min(known),
        (None, 0) => call.snapshot().billing.unknown_output,
        (None, known) => known,
    };
    let prompt = call.size().prompt.saturating_add(planned.added);
    let choices = call.size().choices;
    let kept = write_lifetime(call, subject.candidate, cache, memory);
    let read = dearest_input(prompt, kept);
    let pays = |output: u64| {
        let usage = Usage {
            output: output.saturating_mul(choices),
            // The dearer rate, as where the model thinks all the time.
            reasoning: Some(output.saturating_mul(choices)),
            web_searches: Some(searches),
            ..read.clone()
        };
        let cost = usage.cost(price).and_then(|cost| cost.charge());
        cost.is_some_and(|cost| cost <= MicroUsd::new(most))
    };
    if pays(longest) {
        return Ok(planned);
    }
    if call.size().output.is_some() || !pays(SHORTEST_OUTPUT) {
        return Err(CostLimitError::TooLow {
            added: planned.added,
        });
    }
    let (mut fits, mut exceeds) = (SHORTEST_OUTPUT, longest);
    while exceeds > fits + 1 {
        let middle = fits + (exceeds - fits) / 2;
        match pays(middle) {
            true => fits = middle,
            false => exceeds = middle,
        }
    }
    let choice = RoutedCandidate {
        max_output: Some(fits),
        ..choice.clone()
    };
    let subject = Subject {
        choice: Some(&choice),
        ..subject
    };
    Ok(settings::plan(subject, memory)?)
}
