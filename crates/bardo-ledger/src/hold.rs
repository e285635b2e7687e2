//! How much to hold for a request, and when to hold more.
//!
//! A hold covers the worst that the request can cost at any backend that may answer it. Where the
//! caller set no limit to the answer, that worst case is the model's maximum and would lock up
//! far more than most answers cost, so a stream begins with a slice of it and holds more as it
//! flows, and a whole answer gets a limit that the account can bear.

mod prompt;
mod slices;

use bardo_types::model::Price;
use bardo_types::money::{BasisPoints, ExactCost, MicroUsd, PricePerMillion};

pub use self::prompt::prompt_tokens_upper;
pub use self::slices::Slices;

/// The output that a stream without a limit holds at first, and each time again, in tokens.
pub const SLICE_TOKENS: u64 = 4_096;
/// With less than this an answer without a limit is not begun, in tokens.
pub const MIN_SLICE_TOKENS: u64 = 256;
/// The part of an account that one whole answer without a limit holds at most.
const LARGEST_SHARE: u64 = 4;

/// One backend and model that may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldCandidate {
    /// Its rates, for a prompt of the size in question.
    pub price: Price,
    /// The addition to the price.
    pub spread: BasisPoints,
    /// The longest answer that it gives, in tokens.
    pub max_output: u64,
    /// Size of the context window in tokens, for prompt and answer together, where it is known: the
    /// backend refuses a longer prompt, which costs nothing.
    pub context_window: Option<u64>,
    /// The model reasons without showing it, so its usage is known only at the end.
    pub unseen: bool,
}

/// The properties of a request by which its hold is sized.
#[derive(Debug, Clone, Copy)]
pub struct HoldQuery<'a> {
    /// The prompt, rather too many than too few tokens; see [`prompt_tokens_upper`].
    pub prompt_tokens: u64,
    /// The limit to the answer that the request carries.
    pub max_tokens: Option<u64>,
    /// Whether that limit may be lowered to what the account can spend, because the caller did not
    /// write it.
    pub lowers: bool,
    /// How many searches the provider may run for it.
    pub searches: u64,
    /// Answered piece by piece.
    pub streamed: bool,
    /// All that may answer; the dearest counts.
    pub candidates: &'a [HoldCandidate],
    /// The amount that the account can spend.
    pub available: MicroUsd,
    /// The money is there for this request alone, which may take all of it.
    pub one_request: bool,
}

/// How much is held, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldPlan {
    /// Amount to reserve.
    pub amount: MicroUsd,
    /// The answer that it pays for, in tokens.
    pub output_tokens: u64,
    /// Whether that answer is all that can come.
    pub bound: Bound,
    /// The limit that has to be set for the caller, because the account bears no more: what the
    /// hold can grow to, in tokens. The caller is told.
    pub limit: Option<u64>,
}

/// The limit that keeps an answer within its hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The caller's own limit, or the model's.
    Own,
    /// The plan's own limit, all of which is held.
    Imposed,
    /// Hold more as it flows, see [`Slices`], up to the plan's limit where it has one.
    Growing,
}

/// The decision about the size of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizing {
    /// The account can bear this hold.
    Hold(HoldPlan),
    /// The account does not bear it.
    Short {
        /// The amount to hold.
        needed: MicroUsd,
        /// The amount that is available.
        available: MicroUsd,
        /// The limit to the answer with which it would fit; `None`: not even the prompt fits.
        max_tokens: Option<u64>,
    },
    /// The cost is out of range, or there is no candidate.
    OutOfRange,
}

impl HoldCandidate {
    /// The most that a prompt and an answer of so many tokens cost here, spread included.
    fn worst(&self, ask: &HoldQuery<'_>, output_tokens: u64) -> Option<MicroUsd> {
        let price = &self.price;
        let prompt = ask
            .prompt_tokens
            .min(self.context_window.unwrap_or(u64::MAX));
        ExactCost::ZERO
            .plus(dearest_input(price), prompt)?
            .plus(dearest_output(price), output_tokens.min(self.max_output))?
            .plus_each(price.request.unwrap_or_default(), 1)?
            .plus_each(price.web_search.unwrap_or_default(), ask.searches)?
            .charge_with(self.spread)
    }
}

/// Decides how much to hold.
#[must_use]
pub fn size(ask: &HoldQuery<'_>) -> Sizing {
    let Some(longest) = ask.candidates.iter().map(|one| one.max_output).max() else {
        return Sizing::OutOfRange;
    };
    match (ask.max_tokens, ask.streamed) {
        (Some(limit), _) => match limited(ask, limit.min(longest)) {
            Sizing::Short { .. } if ask.lowers => lowered(ask, limit.min(longest)),
            sizing => sizing,
        },
        (None, true) if ask.candidates.iter().all(|one| !one.unseen) => first_slice(ask, longest),
        (None, true) => whole(ask, longest, SLICE_TOKENS),
        (None, false) => whole(ask, longest, MIN_SLICE_TOKENS),
    }
}

fn limited(ask: &HoldQuery<'_>, limit: u64) -> Sizing {
    hold_or_short(ask, limit, Bound::Own)
}

/// A limit that the account does not bear whole and that no caller asked for: what is right for an
/// answer without a limit, up to this one. Such a limit has room for thinking, so even a whole
/// answer is worth more than a few tokens.
fn lowered(ask: &HoldQuery<'_>, limit: u64) -> Sizing {
    let is_seen = ask.candidates.iter().all(|one| !one.unseen);
    if ask.streamed && is_seen {
        first_slice(ask, limit)
    } else {
        whole(ask, limit, SLICE_TOKENS)
    }
}

fn first_slice(ask: &HoldQuery<'_>, longest: u64) -> Sizing {
    let most = longest.min(SLICE_TOKENS);
    let least = longest.min(MIN_SLICE_TOKENS);
    let bound = if most == longest {
        Bound::Own
    } else {
        Bound::Growing
    };
    let pays_for = affordable(ask, longest, ask.available);
    let sizing = match pays_for.map(|tokens| tokens.min(most)) {
        Some(tokens) if tokens == most => hold_or_short(ask, most, bound),
        Some(tokens) if tokens >= least => hold_or_short(ask, tokens, Bound::Growing),
        Some(_) | None => hold_or_short(ask, least, Bound::Growing),
    };
    match sizing {
        Sizing::Hold(plan) => Sizing::Hold(HoldPlan {
            limit: pays_for.filter(|tokens| *tokens < longest),
            ..plan
        }),
        other => other,
    }
}

/// All of it at once: what a share of the account pays for, but so many tokens where all of the
/// account pays for them.
fn whole(ask: &HoldQuery<'_>, longest: u64, worth: u64) -> Sizing {
    let least = affordable(ask, longest.min(worth), ask.available)
        .unwrap_or(0)
        .max(longest.min(MIN_SLICE_TOKENS));
    let part = if ask.one_request { 1 } else { LARGEST_SHARE };
    let share = MicroUsd::new(ask.available.get() / part);
    let tokens = affordable(ask, longest, share).unwrap_or(0).max(least);
    let bound = if tokens == longest {
        Bound::Own
    } else {
        Bound::Imposed
    };
    hold_or_short(ask, tokens, bound)
}

fn hold_or_short(ask: &HoldQuery<'_>, output_tokens: u64, bound: Bound) -> Sizing {
    match worst(ask, output_tokens) {
        None => Sizing::OutOfRange,
        Some(amount) if amount <= ask.available => Sizing::Hold(HoldPlan {
            amount,
            output_tokens,
            bound,
            limit: (bound == Bound::Imposed).then_some(output_tokens),
        }),
        Some(needed) => Sizing::Short {
            needed,
            available: ask.available,
            max_tokens: affordable(ask, output_tokens, ask.available).filter(|tokens| *tokens > 0),
        },
    }
}

/// The most at any candidate; `None` on overflow.
fn worst(ask: &HoldQuery<'_>, output_tokens: u64) -> Option<MicroUsd> {
    ask.candidates
        .iter()
        .try_fold(MicroUsd::ZERO, |most, candidate| {
            Some(most.max(candidate.worst(ask, output_tokens)?))
        })
}

/// The longest answer of at most `most` tokens that `money` pays for; `None`: not even an empty
/// one.
fn affordable(ask: &HoldQuery<'_>, most: u64, money: MicroUsd) -> Option<u64> {
    let pays = |tokens| worst(ask, tokens).is_some_and(|cost| cost <= money);
    if pays(most) {
        return Some(most);
    }
    if !pays(0) {
        return None;
    }
    let (mut fits, mut exceeds) = (0, most);
    while exceeds - fits > 1 {
        let middle = fits + (exceeds - fits) / 2;
        if pays(middle) {
            fits = middle;
        } else {
            exceeds = middle;
        }
    }
    Some(fits)
}

fn dearest_input(price: &Price) -> PricePerMillion {
    [
        price.cache_read,
        price.cache_write_5m,
        price.cache_write_1h,
        price.audio_input,
    ]
    .into_iter()
    .flatten()
    .fold(price.input, PricePerMillion::max)
}

fn dearest_output(price: &Price) -> PricePerMillion {
    [price.reasoning, price.audio_output]
        .into_iter()
        .flatten()
        .fold(price.output, PricePerMillion::max)
}

#[cfg(test)]
mod tests;
