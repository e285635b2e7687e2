//! Holding more while a stream flows.

use bardo_types::money::{ExactCost, MicroUsd};

use super::{HoldCandidate, MIN_SLICE_TOKENS, SLICE_TOKENS, dearest_output};

/// The part of a slice that is still to come when the next one is held, so that the answer to
/// that is there before it is needed.
const RESERVE: u64 = 4;

/// How a stream's hold grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slices {
    slice: MicroUsd,
    least: MicroUsd,
}

impl Slices {
    /// For a stream from this candidate; `None` on overflow.
    #[must_use]
    pub fn of(candidate: &HoldCandidate) -> Option<Self> {
        let cost = |tokens| {
            ExactCost::ZERO
                .plus(dearest_output(&candidate.price), tokens)?
                .charge_with(candidate.spread)
        };
        Some(Self {
            slice: cost(SLICE_TOKENS)?,
            least: cost(MIN_SLICE_TOKENS)?,
        })
    }

    /// How much more to hold, once what was delivered has come near to what is held; `None`: not
    /// yet. Where one slice does not reach beyond what was delivered, it is as many as do.
    #[must_use]
    pub fn next(&self, metered: MicroUsd, held: MicroUsd) -> Option<MicroUsd> {
        let near = MicroUsd::new(self.slice.get() / RESERVE);
        if self.slice == MicroUsd::ZERO || held.saturating_sub(metered) > near {
            return None;
        }
        let behind = metered.saturating_sub(held);
        behind.checked_add(self.slice)
    }

    /// The slice to try after [`Self::next`] was refused with so much available: all of it, unless
    /// that is too little to be worth while. With `None` the stream has to end once
    /// [`Self::is_spent`].
    #[must_use]
    pub fn last(&self, available: MicroUsd) -> Option<MicroUsd> {
        let last = available.min(self.slice);
        (last >= self.least && last > MicroUsd::ZERO).then_some(last)
    }

    /// Whether all that is held was delivered.
    #[must_use]
    pub fn is_spent(&self, metered: MicroUsd, held: MicroUsd) -> bool {
        self.slice > MicroUsd::ZERO && metered >= held
    }
}
