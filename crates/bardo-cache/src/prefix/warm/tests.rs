use bardo_types::chat::CacheTtl;
use bardo_types::money::{ExactCost, PricePerMillion};

use super::*;

const MINUTE: Millis = 60_000;
const LIMITS: KeepaliveLimits = KeepaliveLimits {
    prefix_calls: 100,
    prefix_usd: MicroUsd::new(1_000_000),
    calls: 100,
    usd: MicroUsd::new(1_000_000),
};

/// Keepalive calls that cost $0.001 each.
fn warming(pings: u32) -> Warming {
    let cost = ExactCost::ZERO.plus(PricePerMillion::from_micro(1_000_000), 1_000);
    Warming {
        ttl: CacheTtl::OneHour,
        pings,
        ping_cost: cost.expect("a small number"),
        spent: ExactCost::ZERO,
        without: ExactCost::ZERO,
        with: ExactCost::ZERO,
        gaps: 8,
    }
}

fn kept(pings: u32) -> WarmTable<&'static str> {
    let mut table = WarmTable::new(2);
    table.keep(1, "a", warming(pings), 0);
    table
}

#[test]
fn a_call_is_due_a_minute_before_the_end_and_follows_its_last_use() {
    let mut table = kept(2);
    assert!(table.due(&LIMITS, 59 * MINUTE - 1).is_empty());
    let due = table.due(&LIMITS, 59 * MINUTE);
    assert_eq!((due.len(), due[0].what), (1, "a"));
    assert!(
        table.due(&LIMITS, 59 * MINUTE + 1).is_empty(),
        "it is under way"
    );
    table.ended(&due[0], true, None, 59 * MINUTE);
    assert!(table.due(&LIMITS, 117 * MINUTE).is_empty());
    let due = table.due(&LIMITS, 118 * MINUTE);
    assert_eq!(due.len(), 1);
    table.ended(&due[0], true, None, 118 * MINUTE);
    assert!(
        table.due(&LIMITS, 177 * MINUTE).is_empty(),
        "two in a row are enough"
    );
    assert_eq!(table.len(), 1, "it can still be read");
    assert!(table.due(&LIMITS, 178 * MINUTE).is_empty());
    assert!(table.is_empty());
}

#[test]
fn an_expired_entry_is_given_up_and_not_written_again() {
    let mut table = kept(2);
    assert!(table.due(&LIMITS, 60 * MINUTE).is_empty());
    assert!(table.is_empty());
}

#[test]
fn a_lost_entry_is_given_up_and_a_call_of_the_agent_begins_anew() {
    let mut table = kept(3);
    let due = table.due(&LIMITS, 59 * MINUTE);
    table.keep(1, "b", warming(3), 59 * MINUTE);
    table.ended(&due[0], true, None, 59 * MINUTE);
    assert_eq!(table.len(), 1, "the agent called meanwhile");
    let due = table.due(&LIMITS, 118 * MINUTE);
    assert_eq!(due[0].what, "b");
    table.ended(&due[0], false, None, 118 * MINUTE);
    assert!(table.is_empty());
    assert!(!table.has_room(1, MicroUsd::ZERO, &LIMITS, DAY_MS - 1));
    assert!(table.has_room(1, MicroUsd::ZERO, &LIMITS, DAY_MS));
    assert!(table.has_room(2, MicroUsd::ZERO, &LIMITS, DAY_MS - 1));
}

#[test]
fn calls_and_money_of_a_day_are_bounded_for_one_prefix_and_for_all() {
    let cost = warming(1).ping_charge();
    assert_eq!(cost, MicroUsd::new(1_000));
    let limits = [
        KeepaliveLimits {
            prefix_calls: 3,
            ..LIMITS
        },
        KeepaliveLimits {
            prefix_usd: MicroUsd::new(3_999),
            ..LIMITS
        },
        KeepaliveLimits { calls: 3, ..LIMITS },
        KeepaliveLimits {
            usd: MicroUsd::new(3_999),
            ..LIMITS
        },
    ];
    for limits in limits {
        let mut table = kept(100);
        let mut made = 0;
        for round in 1..20 {
            let now = round * 59 * MINUTE;
            for due in table.due(&limits, now) {
                made += 1;
                table.ended(&due, true, None, now);
            }
        }
        assert_eq!(made, 3, "{limits:?}");
        assert!(table.is_empty());
        assert!(!table.has_room(1, cost, &limits, DAY_MS - 1));
        assert!(table.has_room(1, cost, &limits, DAY_MS), "another day");
    }
}

#[test]
fn the_actual_cost_counts_in_place_of_the_expected_one() {
    let limits = KeepaliveLimits {
        usd: MicroUsd::new(21_000),
        ..LIMITS
    };
    let mut table = kept(100);
    let due = table.due(&limits, 59 * MINUTE);
    let actual = Some(MicroUsd::new(20_001));
    table.ended(&due[0], true, actual, 59 * MINUTE);
    assert!(table.due(&limits, 118 * MINUTE).is_empty());
}

#[test]
fn a_full_table_takes_no_other_prefix() {
    let mut table = kept(1);
    table.keep(2, "b", warming(1), 0);
    table.keep(3, "c", warming(1), 0);
    assert_eq!(table.len(), 2);
    assert!(!table.has_room(3, MicroUsd::ZERO, &LIMITS, 0));
    assert!(table.has_room(2, MicroUsd::ZERO, &LIMITS, 0));
}
