use bardo_types::money::PricePerMillion;

use super::*;
use crate::prefix::StorageRates;

const MINUTE: Millis = 60_000;
const CASE: StorageCase = StorageCase {
    rates: StorageRates {
        input: PricePerMillion::from_micro(500_000),
        read: PricePerMillion::from_micro(50_000),
        hour: PricePerMillion::from_micro(100_000),
    },
    tokens: 10_000,
    minimum: 4_096,
};
const LIMITS: KeepaliveLimits = KeepaliveLimits {
    prefix_calls: 10,
    prefix_usd: MicroUsd::new(1_000_000),
    calls: 10,
    usd: MicroUsd::new(1_000_000),
};

type Table = StoredTable<&'static str>;

/// Calls each ten minutes until the prefix is to be created; answers when.
fn due(table: &mut Table, id: PrefixId, limits: &KeepaliveLimits) -> Option<(Millis, StoragePlan)> {
    (0..12).find_map(|call| {
        let now = 10 * MINUTE * call;
        match table.seen(id, &CASE, limits, now) {
            StorageStep::Create(plan) => Some((now, plan)),
            StorageStep::None => None,
            StorageStep::Extend(..) => panic!("nothing is stored"),
        }
    })
}

#[test]
fn it_is_created_once_used_until_its_end_and_extended_while_calls_come() {
    let mut table = Table::new(8);
    let (now, plan) = due(&mut table, 1, &LIMITS).expect("it pays");
    assert_eq!((now, plan.ttl_s), (40 * MINUTE, 3_600));
    for _ in 0..50 {
        assert_eq!(table.seen(1, &CASE, &LIMITS, now), StorageStep::None);
    }
    assert_eq!(table.usable(1, now), None);
    let expires = now + 60 * MINUTE;
    let spent = (plan.cost, plan.cost);
    assert_eq!(table.created(1, "a", 10_000, expires, spent), Ok(()));
    assert_eq!(table.usable(1, now), Some("a"));
    assert_eq!(table.usable(2, now), None, "another prefix");
    assert_eq!(table.usable(1, expires - MINUTE), None);
    let early = table.seen(1, &CASE, &LIMITS, now + 10 * MINUTE);
    assert_eq!(early, StorageStep::None, "more than half is left");
    let mut at = now + 10 * MINUTE;
    let step = loop {
        at += 10 * MINUTE;
        match table.seen(1, &CASE, &LIMITS, at) {
            StorageStep::None => assert!(at < expires),
            step => break step,
        }
    };
    let StorageStep::Extend("a", plan) = step else {
        panic!("{step:?}");
    };
    // The fee is for the time that is added: half an hour and ten minutes.
    assert!(plan.fee < MicroUsd::new(1_000) && plan.cost == plan.fee);
    assert_eq!(table.seen(1, &CASE, &LIMITS, at), StorageStep::None);
    table.extended(1, Some(at + 60 * MINUTE), plan.fee, false);
    assert_eq!(table.usable(1, expires), Some("a"));
    assert_eq!(table.len_at(expires), 1);
    assert_eq!(table.take(|what| *what == "a"), ["a"]);
    assert_eq!(table.usable(1, expires), None);
}

#[test]
fn the_money_and_the_calls_of_a_day_are_bounded_for_one_prefix_and_for_all() {
    let poor = KeepaliveLimits {
        prefix_usd: MicroUsd::new(5_999),
        ..LIMITS
    };
    assert_eq!(due(&mut Table::new(8), 1, &poor), None);
    let enough = KeepaliveLimits {
        prefix_usd: MicroUsd::new(6_000),
        ..LIMITS
    };
    assert!(due(&mut Table::new(8), 1, &enough).is_some());
    let once = KeepaliveLimits { calls: 1, ..LIMITS };
    let mut table = Table::new(8);
    assert!(due(&mut table, 1, &once).is_some());
    assert_eq!(due(&mut table, 2, &once), None);
}

#[test]
fn a_refusal_costs_nothing_and_an_unknown_outcome_counts_until_its_time_is_over() {
    let enough_for_one = KeepaliveLimits {
        usd: MicroUsd::new(6_000),
        ..LIMITS
    };
    let mut table = Table::new(8);
    let (_, plan) = due(&mut table, 1, &enough_for_one).expect("it pays");
    table.not_created(1, plan.cost, false);
    assert_eq!(due(&mut table, 1, &enough_for_one), None, "refused today");
    assert!(due(&mut table, 2, &enough_for_one).is_some(), "not spent");

    let mut table = Table::new(8);
    let (now, plan) = due(&mut table, 1, &enough_for_one).expect("it pays");
    table.not_created(1, plan.cost, true);
    assert_eq!(table.usable(1, now), None);
    assert_eq!(due(&mut table, 2, &enough_for_one), None, "it is spent");
    // On the next day as well, as long as it may exist.
    let late = now + plan.ttl_s * 1_000 - 1;
    assert_eq!(table.seen(1, &CASE, &LIMITS, late), StorageStep::None);
}

#[test]
fn what_the_provider_lost_is_not_created_again_on_that_day() {
    let mut table = Table::new(8);
    let (now, plan) = due(&mut table, 1, &LIMITS).expect("it pays");
    let expires = now + 60 * MINUTE;
    let spent = (plan.cost, plan.cost);
    assert_eq!(table.created(1, "a", 10_000, expires, spent), Ok(()));
    assert!(!table.lost(1, &"b"));
    assert_eq!(table.usable(1, now), Some("a"), "another one");
    assert!(table.lost(1, &"a"));
    assert!(!table.lost(1, &"a"), "once");
    assert_eq!(table.usable(1, now), None);
    assert_eq!(due(&mut table, 1, &LIMITS), None);
    // What comes back after that is handed back to be deleted.
    assert_eq!(table.created(1, "c", 10_000, expires, spent), Err("c"));
}

#[test]
fn prompts_that_the_provider_caches_by_itself_are_not_stored() {
    let mut table = Table::new(8);
    let _ = table.seen(1, &CASE, &LIMITS, 0);
    table.read_without(1, 9_500);
    assert_eq!(due(&mut table, 1, &LIMITS), None);
}

#[test]
fn a_full_table_forgets_what_is_not_stored() {
    let mut table = Table::new(2);
    let (now, plan) = due(&mut table, 1, &LIMITS).expect("it pays");
    let spent = (plan.cost, plan.cost);
    let expires = now + 60 * MINUTE;
    assert_eq!(table.created(1, "a", 10_000, expires, spent), Ok(()));
    for id in 2..10 {
        let _ = table.seen(id, &CASE, &LIMITS, now);
    }
    assert_eq!(table.usable(1, now), Some("a"));
    assert_eq!(table.entries.len(), 2);
}

#[test]
fn prompts_that_were_called_once_do_not_push_out_those_that_come_back() {
    let mut table = Table::new(4);
    for now in [0, 10 * MINUTE] {
        let _ = table.seen(1, &CASE, &LIMITS, now);
    }
    for id in 2..100 {
        let now = 10 * MINUTE + id as u64;
        let _ = table.seen(id, &CASE, &LIMITS, now);
    }
    assert!(table.entries.contains_key(&1));
    assert_eq!(table.entries.len(), 4);
}
