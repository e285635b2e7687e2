use bardo_types::money::PricePerMillion;

use super::*;
use crate::prefix::MarkReason;

const MINUTE: Millis = 60_000;
const FIVE: Option<CacheTtl> = Some(CacheTtl::FiveMinutes);
const HOUR: Option<CacheTtl> = Some(CacheTtl::OneHour);

fn request(pool: PrefixId, id: PrefixId, turns: u64) -> Sighting {
    let price = PricePerMillion::from_micro;
    Sighting {
        pool,
        stable: Stretch { id, tokens: 5_000 },
        turns: Stretch {
            id: id + 1_000_000,
            tokens: 5_000 + turns,
        },
        minimum: 1_024,
        rates: CacheRates {
            fresh: price(3_000_000),
            read: price(300_000),
            write_5m: Some(price(3_750_000)),
            write_1h: Some(price(6_000_000)),
            assumed: false,
        },
        followed: None,
        keepalive: None,
    }
}

/// Sends a request and answers the marks that it got.
fn send(tracker: &PrefixTracker, request: &Sighting, now: Millis) -> MarkPlan {
    let plan = tracker.decide(request, now).plan();
    tracker.record(request, plan, now, now);
    plan
}

/// Sends a request four times at once, and answers the marks of the last one. Each is answered after
/// two seconds.
fn send_four(tracker: &PrefixTracker, request: &Sighting, now: Millis) -> MarkPlan {
    let plans =
        [0, 1, 2, 3].map(|after| (now + after, tracker.decide(request, now + after).plan()));
    for (asked, plan) in plans {
        tracker.record(request, plan, asked, asked + 2_000);
    }
    plans[3].1
}

#[test]
fn calls_at_the_same_time_are_no_gaps() {
    let tracker = PrefixTracker::new(16);
    let call = request(1, 1, 100);
    let last = (0..20).map(|burst| send_four(&tracker, &call, burst * 120 * MINUTE));
    assert_eq!(last.last(), Some(MarkPlan::default()));
    // Nor do they say of new prompts that they come back.
    let tracker = PrefixTracker::new(1_000);
    for id in 0..20 {
        send_four(&tracker, &request(1, id, 100), id as u64 * 10 * MINUTE);
    }
    let next = tracker.decide(&request(1, 99, 100), 999 * MINUTE);
    assert_eq!(next.plan(), MarkPlan::default());

    let tracker = PrefixTracker::new(16);
    let last = (0..20).map(|burst| send_four(&tracker, &call, burst * 2 * MINUTE));
    assert_eq!(last.last(), Some(MarkPlan::USUAL));
}

#[test]
fn answers_that_are_recorded_in_another_order_give_the_true_gaps() {
    let evidence = |minutes: &[u64]| {
        let tracker = PrefixTracker::new(16);
        let call = request(1, 1, 100);
        for asked in minutes.iter().map(|at| at * MINUTE) {
            tracker.record(&call, MarkPlan::USUAL, asked, asked + 2_000);
        }
        let said = tracker.decide(&call, 110 * MINUTE).stable.evidence;
        (said.total, said.within_5m, said.within_1h)
    };
    assert_eq!(evidence(&[0, 100]), (2, 0, 1));
    assert_eq!(evidence(&[100, 0]), (2, 0, 1));
    assert_eq!(evidence(&[0, 50, 100]), (3, 0, 3));
    assert_eq!(evidence(&[0, 100, 50]), (3, 0, 3));
    assert_eq!(
        evidence(&[50, 100, 0]),
        (2, 0, 2),
        "too old to say anything"
    );
}

#[test]
fn a_heartbeat_each_72_minutes_stops_paying_for_writes() {
    let tracker = PrefixTracker::new(16);
    let beat = request(1, 1, 100);
    let plans: Vec<_> = (0..20)
        .map(|beats| send(&tracker, &beat, beats * 72 * MINUTE))
        .collect();
    assert_eq!(plans[0].stable, FIVE);
    assert!(plans[1..].iter().all(|plan| *plan == MarkPlan::default()));
}

#[test]
fn a_heartbeat_each_72_minutes_is_kept_warm_where_that_is_allowed() {
    let tracker = PrefixTracker::new(16);
    let terms = KeepaliveTerms {
        in_row: 5,
        output: PricePerMillion::from_micro(15_000_000),
    };
    let beat = Sighting {
        keepalive: Some(terms),
        ..request(1, 1, 100)
    };
    let mut decisions = Vec::new();
    for beats in 0..12 {
        let decision = tracker.decide(&beat, beats * 72 * MINUTE);
        let now = beats * 72 * MINUTE;
        tracker.record(&beat, decision.plan(), now, now);
        decisions.push(decision);
    }
    assert!(
        decisions[1..4]
            .iter()
            .all(|one| one.plan().stable.is_none())
    );
    for decision in &decisions[4..] {
        assert_eq!(decision.plan().stable, HOUR);
        assert_eq!(decision.stable.reason, MarkReason::KeptWarm);
        assert_eq!(decision.turns.warming, None, "conversations are not kept");
    }
    let said = decisions[11].to_string();
    assert!(
        said.contains("with at most 1 keepalive call between two calls"),
        "{said}"
    );
}

#[test]
fn new_conversations_behind_a_prompt_that_comes_back_late_are_not_marked_on_a_guess() {
    let tracker = PrefixTracker::new(64);
    let beat = |number: u128| Sighting {
        turns: Stretch {
            id: 1_000 + number,
            tokens: 5_100,
        },
        ..request(1, 1, 100)
    };
    let late: Vec<_> = (0..6)
        .map(|number| send(&tracker, &beat(number), number as u64 * 72 * MINUTE))
        .collect();
    assert_eq!((late[0].stable, late[0].turns), (FIVE, FIVE));
    assert!(late[1..].iter().all(|plan| *plan == MarkPlan::default()));
    // Behind a prompt that comes back soon a conversation may do so too.
    let tracker = PrefixTracker::new(64);
    for number in 0..6 {
        let plan = send(&tracker, &beat(number), number as u64 * MINUTE);
        assert_eq!((plan.stable, plan.turns), (FIVE, FIVE));
    }
}

#[test]
fn a_new_conversation_is_marked_where_further_calls_are_announced_and_not_for_the_last_one() {
    let tracker = PrefixTracker::new(64);
    // This caller's prompts never come back.
    for number in 0..20 {
        send(
            &tracker,
            &request(1, number, 100),
            number as u64 * 72 * MINUTE,
        );
    }
    let now = 21 * 72 * MINUTE;
    let decided = |id, followed| {
        let request = Sighting {
            followed,
            ..request(1, id, 100)
        };
        tracker.decide(&request, now)
    };
    assert_eq!(decided(50, None).plan(), MarkPlan::default());
    let announced = decided(50, Some(true));
    assert_eq!(announced.plan(), MarkPlan::USUAL);
    assert_eq!(announced.turns.reason, MarkReason::Announced);
    // Where nothing is known the last call of a series writes no conversation.
    let tracker = PrefixTracker::new(64);
    let last = Sighting {
        followed: Some(false),
        ..request(2, 1, 100)
    };
    let decision = tracker.decide(&last, 0);
    assert_eq!(
        (decision.plan().stable, decision.plan().turns),
        (FIVE, None)
    );
    assert_eq!(decision.turns.reason, MarkReason::LastCall);
    // A conversation that is in the cache is read to its end.
    tracker.record(&last, MarkPlan::USUAL, 0, 0);
    assert_eq!(tracker.decide(&last, MINUTE).plan().turns, FIVE);
}

#[test]
fn calls_each_quarter_of_an_hour_get_marks_of_an_hour() {
    let tracker = PrefixTracker::new(16);
    let call = request(1, 1, 100);
    let plans: Vec<_> = (0..20)
        .map(|calls| send(&tracker, &call, calls * 15 * MINUTE))
        .collect();
    assert!(plans[2..].iter().all(|plan| plan.stable == HOUR));
}

#[test]
fn a_conversation_of_quick_turns_is_marked_all_along() {
    let tracker = PrefixTracker::new(16);
    for turn in 0..30 {
        let plan = send(&tracker, &request(1, 1, turn * 400), turn * MINUTE);
        assert_eq!((plan.stable, plan.turns), (FIVE, FIVE), "turn {turn}");
    }
}

#[test]
fn marks_change_seldom_when_gaps_vary() {
    let tracker = PrefixTracker::new(16);
    let call = request(1, 1, 100);
    let (mut now, mut last, mut changes) = (0, None, 0);
    for number in 0..200_u64 {
        now += (1 + number * 7 % 12) * MINUTE;
        let plan = send(&tracker, &call, now).stable;
        changes += u32::from(last != Some(plan));
        last = Some(plan);
    }
    assert!(changes <= 4, "{changes} changes");
    assert_eq!(last, Some(HOUR));
}

#[test]
fn a_caller_whose_prompts_never_come_back_pays_no_more_premiums() {
    let tracker = PrefixTracker::new(1_000);
    let plans: Vec<_> = (0..30)
        .map(|id| send(&tracker, &request(1, id, 100), id as u64 * 10 * MINUTE))
        .collect();
    assert!(plans[..8].iter().all(|plan| plan.stable == FIVE));
    assert!(plans[9..].iter().all(|plan| *plan == MarkPlan::default()));
    // Another caller's habits are its own.
    assert_eq!(send(&tracker, &request(2, 77, 100), 0).stable, FIVE);
    let said = tracker.decide(&request(1, 99, 100), 999 * MINUTE);
    assert!(said.to_string().contains("other prompts of this caller"));
}

#[test]
fn prompts_that_may_still_come_back_do_not_count_as_lost() {
    let tracker = PrefixTracker::new(1_000);
    for id in 0..100 {
        let plan = send(&tracker, &request(1, id, 100), id as u64);
        assert_eq!(plan.stable, FIVE);
    }
}

#[test]
fn a_longer_mark_never_stands_behind_a_shorter_one() {
    let choices = [None, FIVE, HOUR];
    let tracker = PrefixTracker::new(1);
    let base = tracker.decide(&request(1, 1, 0), 0);
    for stable in choices {
        for turns in choices {
            let mut decision = base;
            decision.stable.ttl = stable;
            decision.turns.ttl = turns;
            let plan = decision.plan();
            assert!(
                plan.stable.is_none() || plan.turns <= plan.stable,
                "{plan:?}"
            );
        }
    }
}

#[test]
fn a_clock_that_stands_still_or_an_answer_out_of_order_does_no_harm() {
    let tracker = PrefixTracker::new(4);
    let call = request(1, 1, 100);
    for now in [10 * MINUTE, 0, Millis::MAX, 5, Millis::MAX] {
        send(&tracker, &call, now);
    }
    // Ten minutes, until the end of time, and none.
    assert_eq!(tracker.decide(&call, 0).stable.evidence.total, 3);
}

#[test]
fn memory_is_bounded() {
    let tracker = PrefixTracker::new(100);
    for id in 0..10_000 {
        send(&tracker, &request(id, id, 1), id as u64);
    }
    assert!(tracker.len() <= 200);
}

#[test]
fn deciding_remembers_nothing() {
    let tracker = PrefixTracker::new(4);
    let call = request(1, 1, 100);
    assert_eq!(tracker.decide(&call, 0), tracker.decide(&call, 0));
    assert!(tracker.is_empty());
    assert_eq!(
        tracker.decide(&call, 0).stable.reason,
        MarkReason::FirstGuess
    );
}
