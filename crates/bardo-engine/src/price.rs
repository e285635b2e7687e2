//! What a backend's model costs a request, and what is added to it for its caller.

use bardo_profile::longest_mark;
use bardo_router::Candidate;
use bardo_types::chat::{CacheTtl, MarkPlan};
use bardo_types::model::Price;
use bardo_types::money::{BasisPoints, MicroUsd};

use crate::call::Call;
use crate::memory::Memory;
use crate::prompt_cache::LegCache;
use crate::received::{Payer, Principal};
use crate::snapshot::Snapshot;

/// The fee of a search where no list says it.
pub(crate) const USUAL_SEARCH_FEE: MicroUsd = MicroUsd::new(10_000);

/// The addition to costs for a caller: the spread of its terms, of its tier, or of the
/// configuration.
pub(crate) fn rate(principal: &Principal, snapshot: &Snapshot) -> BasisPoints {
    match &principal.payer {
        Payer::Owner => BasisPoints::ZERO,
        Payer::Prepaid(terms) => terms.spread_or(snapshot.billing.spread),
    }
}

/// The prices of a candidate, with a fee where the provider may search; `None` where it must not be
/// billed.
pub(crate) fn of(snapshot: &Snapshot, candidate: &Candidate, searches: bool) -> Option<Price> {
    let mut price = snapshot.price(candidate)?;
    if searches {
        price.web_search.get_or_insert(USUAL_SEARCH_FEE);
    }
    Some(price)
}

/// The longest lifetime for which a candidate's provider may be asked to keep the prompt, by marks
/// of the caller or of the gateway; `None`: there are no marks that it takes.
pub(crate) fn write_lifetime(
    call: &Call,
    candidate: &Candidate,
    cache: Option<&LegCache>,
    memory: &Memory,
) -> Option<CacheTtl> {
    if !candidate.entry.capabilities.cache_marks {
        return None;
    }
    let MarkPlan { stable, turns } = cache.and_then(LegCache::known_plan).unwrap_or_default();
    let own = call.request_body().neutral(memory);
    let own = own.and_then(|request| longest_mark(request));
    stable.max(turns).max(own)
}
