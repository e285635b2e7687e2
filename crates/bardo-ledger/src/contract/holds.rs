//! Taking money out of reach.

use bardo_types::money::MicroUsd;

use super::rig::{HOLD_MS, NOW_MS, Rig, capture, join_all, settled};
use crate::command::{End, HoldState, HoldView, LedgerRefusal, Reservation};

cases! {
    a_hold_takes_money_out_of_reach
    a_refusal_names_what_is_needed_and_what_there_is
    an_account_that_is_not_there_is_named
    an_amount_out_of_range_is_refused
    a_request_is_held_once_for_ever
    an_id_belongs_to_its_account
    a_hold_grows_as_far_as_the_account
    only_an_open_hold_grows
    a_hold_expires_at_its_time
    a_hold_of_unknown_outcome_never_expires
    of_64_at_once_on_money_for_37_exactly_37_are_held
    growing_at_once_never_overdraws
}

async fn a_hold_takes_money_out_of_reach(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    let reservation = rig.reserve(1, 60).await;
    let expected = Reservation {
        held: MicroUsd::new(60),
        available: MicroUsd::new(40),
    };
    assert_eq!(reservation, expected);
    assert_eq!(rig.stands().await, (100, 0, 60, 40));
    let view = HoldView {
        request: rig.request(1),
        account: rig.account.clone(),
        amount: MicroUsd::new(60),
        state: HoldState::Open,
        created_at_ms: NOW_MS,
        expires_at_ms: NOW_MS + HOLD_MS,
    };
    assert_eq!(rig.holds().await, vec![view.clone()]);
    let persisted = rig.ledger.persist(&rig.account, &rig.request(1)).await;
    assert_eq!(persisted, Ok(()));
    let all = rig.ledger.holds(None).await.expect("the store works");
    assert!(all.contains(&view));
    rig.reserve(2, 40).await;
    assert_eq!(rig.stands().await, (100, 0, 100, 0));
    rig.reserve(3, 0).await;
    rig.verify().await;
}

async fn a_refusal_names_what_is_needed_and_what_there_is(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 70).await;
    let refused = rig.try_reserve(rig.reserve_command(2, 31)).await;
    let expected = LedgerRefusal::Insufficient {
        needed: MicroUsd::new(31),
        available: MicroUsd::new(30),
    };
    assert_eq!(refused, Err(expected));
    assert_eq!(rig.stands().await, (100, 0, 70, 30));
    // Nothing was held under this id, so it can be tried again.
    rig.reserve(2, 30).await;
    rig.verify().await;
}

async fn an_account_that_is_not_there_is_named(rig: Rig) {
    let refused = rig.try_reserve(rig.reserve_command(1, 0)).await;
    assert_eq!(refused, Err(LedgerRefusal::NoAccount(rig.account.clone())));
    assert_eq!(rig.holds().await, vec![]);
}

async fn an_amount_out_of_range_is_refused(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    for amount in [MicroUsd::MAX.get() + 1, u64::MAX] {
        let refused = rig.try_reserve(rig.reserve_command(1, amount)).await;
        assert_eq!(refused, Err(LedgerRefusal::Overflow));
    }
    let refused = rig
        .try_reserve(rig.reserve_command(1, MicroUsd::MAX.get()))
        .await;
    assert!(matches!(refused, Err(LedgerRefusal::Insufficient { .. })));
    rig.reserve(1, 1).await;
    for by in [u64::MAX, MicroUsd::MAX.get()] {
        assert!(rig.extend(1, by).await.is_err());
    }
    assert_eq!(rig.stands().await, (100, 0, 1, 99));
}

async fn a_request_is_held_once_for_ever(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    let duplicate = Err(LedgerRefusal::Duplicate(rig.request(1)));
    rig.reserve(1, 10).await;
    let again = rig.try_reserve(rig.reserve_command(1, 10)).await;
    assert_eq!(again, duplicate, "while it is open");
    rig.end(1, End::Unknown).await;
    let again = rig.try_reserve(rig.reserve_command(1, 10)).await;
    assert_eq!(again, duplicate, "while it is unknown");
    rig.end(1, capture(5, 1)).await;
    let again = rig.try_reserve(rig.reserve_command(1, 10)).await;
    assert_eq!(again, duplicate, "after it was captured");
    assert_eq!(rig.stands().await, (100, 6, 0, 94));
    rig.verify().await;
}

async fn an_id_belongs_to_its_account(rig: Rig) {
    let other = rig.other();
    rig.deposit(100, "operator:1").await;
    other.deposit(50, "operator:2").await;
    rig.reserve(1, 60).await;
    other.reserve(1, 20).await;
    rig.end(1, capture(30, 0)).await;
    assert_eq!(rig.stands().await, (100, 30, 0, 70));
    assert_eq!(other.stands().await, (50, 0, 20, 30));
    assert_eq!(other.holds().await.len(), 1);
    rig.verify().await;
}

async fn a_hold_grows_as_far_as_the_account(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 60).await;
    let grown = rig.extend(1, 30).await;
    let expected = Reservation {
        held: MicroUsd::new(90),
        available: MicroUsd::new(10),
    };
    assert_eq!(grown, Ok(expected));
    let refused = rig.extend(1, 11).await;
    let expected = LedgerRefusal::Insufficient {
        needed: MicroUsd::new(11),
        available: MicroUsd::new(10),
    };
    assert_eq!(refused, Err(expected));
    assert_eq!(rig.stands().await, (100, 0, 90, 10));
    assert_eq!(rig.end(1, capture(70, 5)).await, settled(75, 0, 25, false));
    rig.verify().await;
}

async fn only_an_open_hold_grows(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    let no_hold = |number| Err(LedgerRefusal::NoHold(rig.request(number)));
    assert_eq!(rig.extend(1, 1).await, no_hold(1), "never made");
    assert_eq!(rig.extend(1, 999).await, no_hold(1), "whatever there is");
    rig.reserve(2, 10).await;
    rig.end(2, capture(1, 0)).await;
    assert_eq!(rig.extend(2, 1).await, no_hold(2), "captured");
    rig.reserve(3, 10).await;
    rig.end(3, End::Unknown).await;
    assert_eq!(rig.extend(3, 1).await, no_hold(3), "unknown");
    rig.reserve(4, 10).await;
    rig.expire(NOW_MS + HOLD_MS).await;
    assert_eq!(rig.extend(4, 1).await, no_hold(4), "expired");
    assert_eq!(rig.stands().await, (100, 1, 10, 89));
    rig.verify().await;
}

async fn a_hold_expires_at_its_time(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 60).await;
    rig.expire(NOW_MS + HOLD_MS - 1).await;
    assert_eq!(rig.stands().await, (100, 0, 60, 40));
    assert!(rig.expire(NOW_MS + HOLD_MS).await >= 1);
    assert_eq!(rig.stands().await, (100, 0, 0, 100));
    assert_eq!(rig.holds().await, vec![]);
    assert_eq!(rig.expire(NOW_MS + HOLD_MS).await, 0, "once");
    assert_eq!(rig.stands().await, (100, 0, 0, 100));
    let again = rig.try_reserve(rig.reserve_command(1, 10)).await;
    assert_eq!(again, Err(LedgerRefusal::Duplicate(rig.request(1))));
    // It turns out to have been carried out after all: charged from what is available.
    assert_eq!(rig.end(1, capture(50, 5)).await, settled(55, 0, 45, false));
    assert_eq!(rig.end(1, capture(50, 5)).await, settled(55, 0, 45, true));
    rig.verify().await;
}

async fn a_hold_of_unknown_outcome_never_expires(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 60).await;
    assert_eq!(rig.end(1, End::Unknown).await, settled(0, 0, 40, false));
    rig.expire(u64::MAX / 4).await;
    assert_eq!(rig.stands().await, (100, 0, 60, 40));
    let holds = rig.holds().await;
    assert_eq!(holds.len(), 1);
    assert_eq!(holds[0].state, HoldState::Unknown);
    rig.verify().await;
}

async fn of_64_at_once_on_money_for_37_exactly_37_are_held(rig: Rig) {
    rig.deposit(37 * 1_000 + 999, "operator:1").await;
    let commands = (0..64).map(|number| rig.ledger.reserve(rig.reserve_command(number, 1_000)));
    let answers = join_all(commands.collect()).await;
    let mut held = Vec::new();
    for (number, answer) in (0..64).zip(answers) {
        match answer.expect("the store works") {
            Ok(_) => held.push(number),
            Err(refusal) => assert!(matches!(refusal, LedgerRefusal::Insufficient { .. })),
        }
    }
    assert_eq!(held.len(), 37);
    assert_eq!(rig.stands().await, (37_999, 0, 37_000, 999));
    let ends = held
        .iter()
        .map(|number| rig.end_beside_others(*number, capture(900, 100), None));
    for settled in join_all(ends.collect()).await {
        assert_eq!(settled.charged, MicroUsd::new(1_000));
    }
    assert_eq!(rig.stands().await, (37_999, 37_000, 0, 999));
    rig.verify().await;
}

async fn growing_at_once_never_overdraws(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    for number in 0..16 {
        rig.reserve(number, 10).await;
    }
    let requests: Vec<_> = (0..16).map(|number| rig.request(number)).collect();
    let by = MicroUsd::new(100);
    let commands = requests
        .iter()
        .map(|request| rig.ledger.extend(&rig.account, request, by, NOW_MS));
    let answers = join_all(commands.collect()).await;
    let grown = answers
        .into_iter()
        .filter(|answer| matches!(answer, Ok(Ok(_))))
        .count();
    assert_eq!(grown, 8);
    assert_eq!(rig.stands().await, (1_000, 0, 960, 40));
    rig.verify().await;
}
