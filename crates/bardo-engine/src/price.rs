//! What a backend's model costs a request, and what is added to it for its caller.

use bardo_router::Candidate;
use bardo_types::chat::{CacheTtl, MarkPlan};
use bardo_types::model::{Dialect, Price, Service};
use bardo_types::money::{BasisPoints, ExactCost, MicroUsd};
use bardo_types::usage::Usage;

use crate::call::Call;
use crate::memory::Memory;
use crate::prompt_cache::LegCache;
use crate::received::{Payer, Principal};
use crate::request_size::micro_usd;
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

/// The prices of a candidate that is called in `dialect`, with a fee where the provider may search;
/// `None` where it must not be billed.
pub(crate) fn of(
    call: &Call,
    candidate: &Candidate,
    dialect: Dialect,
    searches: bool,
) -> Option<Price> {
    let snapshot = call.snapshot();
    let mut price = snapshot.price(candidate)?;
    if searches {
        price.web_search.get_or_insert(USUAL_SEARCH_FEE);
    }
    match snapshot.endpoint(candidate).service {
        Service::Anthropic if stays_in_region(call, dialect) => price.tokens_times(11, 10),
        _ => Some(price),
    }
}

/// Whether Anthropic is asked to work in one region, where each token costs 1.1 times its price:
/// <https://platform.claude.com/docs/en/about-claude/pricing>, "Data residency pricing". Requests of
/// other dialects lose the member.
fn stays_in_region(call: &Call, dialect: Dialect) -> bool {
    if (call.dialect(), dialect) != (Dialect::Anthropic, Dialect::Anthropic) {
        return false;
    }
    let top = call.top();
    match top.get("inference_geo") {
        None | Some("null") => false,
        Some(_) => top.string("inference_geo").as_deref() != Some("global"),
    }
}

/// Whether the usage of a service counts writes into its cache without their lifetimes. OpenRouter
/// and Venice do in Chat Completions, and so do services in front of them.
pub(crate) fn tells_no_lifetime(service: Service, dialect: Dialect) -> bool {
    use Service::{Bankr, BlockRun, OpenRouter, Venice};
    matches!(dialect, Dialect::Chat | Dialect::Responses)
        && matches!(service, OpenRouter | Venice | BlockRun | Bankr)
}

/// A usage with all of its writes counted as writes for an hour; `None` where there are none, where
/// they are told apart, or where the provider's own charge is nearer to that of writes for five
/// minutes.
pub(crate) fn for_an_hour(usage: &Usage, price: &Price) -> Option<Usage> {
    if usage.cache_write_1h > 0 || usage.cache_write_5m == 0 {
        return None;
    }
    let kept = Usage {
        cache_write_5m: 0,
        cache_write_1h: usage.cache_write_5m,
        ..usage.clone()
    };
    let told = usage.provider_cost_usd.as_deref().and_then(micro_usd);
    let Some(told) = told.filter(|_| usage.byok_fee.is_none()) else {
        return Some(kept);
    };
    let distance = |usage: &Usage| {
        let cost = usage.cost(price).and_then(ExactCost::charge);
        cost.map_or(u64::MAX, |cost| cost.get().abs_diff(told))
    };
    (distance(&kept) <= distance(usage)).then_some(kept)
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
    stable
        .max(turns)
        .max(call.request_body().longest_mark(memory))
}

#[cfg(test)]
mod tests {
    use bardo_types::money::PricePerMillion;

    use super::*;

    #[test]
    fn writes_of_unknown_lifetime_are_for_an_hour_unless_the_provider_charges_less() {
        let of = |usd: u64| PricePerMillion::from_micro(usd * 1_000_000);
        let price = Price {
            cache_write_5m: Some(of(5)),
            cache_write_1h: Some(of(8)),
            input: of(4),
            output: of(20),
            ..Price::default()
        };
        let written = |told: Option<&str>| Usage {
            fresh_input: 10,
            cache_write_5m: 10_000,
            output: 10,
            provider_cost_usd: told.map(Into::into),
            ..Usage::default()
        };
        let hour = |usage: &Usage| for_an_hour(usage, &price).map(|usage| usage.cache_write_1h);
        assert_eq!(hour(&written(None)), Some(10_000));
        assert_eq!(hour(&written(Some("0.0803"))), Some(10_000));
        assert_eq!(hour(&written(Some("0.0503"))), None);
        // What tells only the fee of a reseller says nothing of the writes.
        let fee = Usage {
            byok_fee: Some(MicroUsd::new(2_500)),
            ..written(Some("0.0025"))
        };
        assert_eq!(hour(&fee), Some(10_000));
        let told_apart = Usage {
            cache_write_1h: 1,
            ..written(None)
        };
        assert_eq!(hour(&told_apart), None);
        assert_eq!(hour(&Usage::default()), None);
    }
}
