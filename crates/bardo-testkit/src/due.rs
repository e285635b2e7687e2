//! What a caller owes by the written rule (docs/money.md), reckoned from what it read and what the
//! providers wrote down, with none of the gateway's own arithmetic.

use crate::answer::UsageStyle;
use crate::client::Ending;
use crate::upstream::Call;
use crate::world::{End, Visit};

/// Micro-USD per token of [`crate::world::price`], times ten.
const INPUT: u128 = 20;
const OUTPUT: u128 = 100;
/// A prompt of [`crate::client::Wish`] has so many tokens at least and at most, whoever counts.
const PROMPT: (u64, u64) = (5, 90);
/// The public tokenizer makes so many tokens more of an answer's first words than there are pieces.
const SURPLUS: u64 = 8;
/// The limit of output of a wish that names none.
const LIMIT: u64 = 4_096;

/// An amount in micro-USD between two bounds, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The lower bound.
    pub least: u64,
    /// The upper bound.
    pub most: u64,
    /// Whether money stays held because nobody knows what the provider did.
    pub unknown: Unknown,
}

/// Whether an outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// The outcome is known.
    No,
    /// The caller left before it was told.
    Maybe,
    /// The outcome is unknown, and the caller got the error that says so.
    Yes,
}

impl Due {
    const NOTHING: Self = Self {
        least: 0,
        most: 0,
        unknown: Unknown::No,
    };

    const fn between(least: u64, most: u64) -> Self {
        Self {
            least,
            most,
            unknown: Unknown::No,
        }
    }

    /// Whether an amount is what is owed.
    #[must_use]
    pub const fn includes(&self, amount: u64) -> bool {
        self.least <= amount && amount <= self.most
    }
}

/// Cost and spread, rounded up once.
#[must_use]
pub fn charge(input: u64, output: u64, spread_basis_points: u32) -> u64 {
    let tenths = u128::from(input) * INPUT + u128::from(output) * OUTPUT;
    let scaled = tenths * u128::from(10_000 + spread_basis_points);
    u64::try_from(scaled.div_ceil(100_000)).unwrap_or(u64::MAX)
}

/// The amount due for a visit, from the calls that were made for it.
#[must_use]
pub fn of(visit: &Visit, calls: &[&Call], spread: u32) -> Due {
    let taken = calls.iter().find(|call| call.billed_input.is_some());
    let Some(call) = taken else {
        return Due::NOTHING;
    };
    let input = call.billed_input.unwrap_or(0);
    let reports = call.usage != UsageStyle::Missing;
    let prompt = (PROMPT.0.min(input), PROMPT.1.max(input));
    let full = call.tokens;
    match &visit.end {
        End::Whole | End::Stream(Ending::Clean) if reports => {
            let exact = charge(input, full, spread);
            Due::between(exact, exact)
        }
        End::Whole | End::Stream(Ending::Clean) => Due::between(
            charge(prompt.0, full, spread),
            charge(prompt.1, full + SURPLUS, spread),
        ),
        End::Refused { unknown: true, .. } => Due {
            unknown: Unknown::Yes,
            ..Due::NOTHING
        },
        End::Refused { .. } => Due::NOTHING,
        End::Left if !visit.wish.stream => {
            // The provider's time counts, at the speed it was seen to have: never above the limit.
            let limit = visit.wish.max_tokens.unwrap_or(LIMIT);
            let made = limit.max(call.billed_output) + SURPLUS;
            Due {
                unknown: Unknown::Maybe,
                ..Due::between(0, charge(prompt.1, made, spread))
            }
        }
        End::Left | End::Stream(_) if visit.text.is_empty() => {
            // What has been reported may be charged; what nobody read need not.
            let made = full.min(call.billed_output) + SURPLUS;
            let unknown = match visit.end {
                End::Left => Unknown::Maybe,
                _ => Unknown::No,
            };
            Due {
                unknown,
                ..Due::between(0, charge(prompt.1, made, spread))
            }
        }
        End::Left | End::Stream(_) => {
            let read = call.pieces_in(&visit.text);
            let made = call.billed_output.max(read) + SURPLUS;
            Due::between(
                charge(prompt.0, read, spread),
                charge(prompt.1, made, spread),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_is_rounded_up_once() {
        // 43 × 2 + 17 × 10 = 256 micro-USD, and a fifth of it.
        assert_eq!(charge(43, 17, 2_000), 308);
        assert_eq!(charge(1, 0, 0), 2);
        assert_eq!(charge(1, 0, 1), 3);
        assert_eq!(charge(0, 0, 2_000), 0);
    }
}
