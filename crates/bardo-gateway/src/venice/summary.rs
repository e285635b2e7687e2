//! Sums over the latest calls of Venice of an account.

use std::collections::BTreeMap;
use std::sync::Arc;

use bardo_router::Roster;
use bardo_types::money::MicroUsd;
use serde_json::{Map, Value, json};

use super::record::{VeniceRecord, ratio};
use super::tier_of;

/// Names of the subsystems that dream begin with this.
const DREAM: &str = "dream";

/// The members of `GET /venice/status` that the calls of the account give.
pub(crate) fn status(records: &[Arc<VeniceRecord>], roster: &Roster) -> Map<String, Value> {
    let answered = || records.iter().filter(|record| record.is_answered());
    let spent = records.iter().filter_map(|record| record.cost());
    let members = json!({
        "activeModel": answered().next().map(|record| &*record.model),
        "privacyTierDistribution": tiers(answered(), roster),
        "cacheHitRates": cache_rates(records),
        "budget": budgets(records),
        "totalCostUsd": total(spent).to_string(),
        "callsWithUnknownCost": answered().filter(|record| record.cost().is_none()).count(),
        "lastTickId": records.iter().find_map(|record| record.tick()),
        "calls": records.len(),
    });
    match members {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// The share of each privacy tier.
fn tiers<'a>(
    records: impl Iterator<Item = &'a Arc<VeniceRecord>>,
    roster: &Roster,
) -> Map<String, Value> {
    let mut counts = BTreeMap::<&str, u64>::new();
    for record in records {
        *counts
            .entry(tier_of(roster, &record.model).unwrap_or("unknown"))
            .or_default() += 1;
    }
    let all = counts.values().sum();
    let share = |(tier, count): (&str, u64)| (tier.to_owned(), json!(ratio(count, all)));
    counts.into_iter().map(share).collect()
}

/// The part of the prompts that Venice read from its cache, by class.
pub(super) fn cache_rates(records: &[Arc<VeniceRecord>]) -> Value {
    let mut sums = BTreeMap::<&str, (u64, u64)>::new();
    for record in records.iter().filter(|record| record.is_answered()) {
        let (input, cached) = record.prompt();
        let sum = sums.entry(record.class()).or_default();
        *sum = (sum.0.saturating_add(input), sum.1.saturating_add(cached));
    }
    let rate =
        |(class, (input, cached)): (&str, _)| (class.to_owned(), json!(ratio(cached, input)));
    Value::Object(sums.into_iter().map(rate).collect())
}

/// The cost of each phase of dreams. The gateway sets no cap for a single phase.
fn budgets(records: &[Arc<VeniceRecord>]) -> Map<String, Value> {
    let mut sums = BTreeMap::<&str, MicroUsd>::new();
    for record in records
        .iter()
        .filter(|record| record.class().starts_with(DREAM))
    {
        let sum = sums.entry(record.class()).or_default();
        *sum = total([*sum].into_iter().chain(record.cost()));
    }
    let shown = |(phase, sum): (&str, MicroUsd)| {
        let budget = json!({ "consumed": sum.to_string(), "cap": null });
        (phase.to_owned(), budget)
    };
    sums.into_iter().map(shown).collect()
}

/// The data of the event `budget` of a call in a dream.
pub(super) fn dream_budget(records: &[Arc<VeniceRecord>], record: &VeniceRecord) -> Option<Value> {
    let phase = record.class();
    let phase = phase.starts_with(DREAM).then_some(phase)?;
    let same = records.iter().filter(|one| one.class() == phase);
    let consumed = total(same.filter_map(|one| one.cost()));
    Some(
        json!({ "phase": phase, "consumed": consumed.to_string(), "cap": null, "remaining": null }),
    )
}

fn total(amounts: impl Iterator<Item = MicroUsd>) -> MicroUsd {
    amounts.fold(MicroUsd::ZERO, |sum, amount| {
        sum.checked_add(amount).unwrap_or(MicroUsd::MAX)
    })
}
