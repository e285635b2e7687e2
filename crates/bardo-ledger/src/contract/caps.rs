//! Limits of spending over a window of time.

use std::sync::Arc;

use bardo_types::ids::KeyId;
use bardo_types::money::MicroUsd;

use super::rig::{HOLD_MS, NOW_MS, Rig, cap, capture, join_all, settled};
use crate::caps::{Cap, CapScope, CapWindow};
use crate::command::{End, LedgerRefusal, Reserve};

cases! {
    a_cap_counts_what_is_spent_and_held
    a_cap_of_zero_blocks
    each_cap_counts_for_itself
    a_cap_of_a_subsystem_counts_its_spending_alone
    a_delegation_is_spent_once_whoever_asks_by_it
    a_window_begins_anew
    a_hold_counts_where_it_was_made
    an_extension_keeps_to_the_caps
    what_ends_unspent_leaves_the_cap
    a_capture_above_the_hold_keeps_to_the_caps
    a_late_capture_counts_under_the_caps_of_its_hold
    a_refused_hold_counts_nowhere
    at_once_no_cap_is_exceeded
}

const DAY_MS: u64 = 86_400_000;

fn capped(rig: &Rig, number: u64, amount: u64, caps: Vec<Cap>) -> Reserve {
    Reserve {
        caps,
        ..rig.reserve_command(number, amount)
    }
}

fn at(now_ms: u64, command: Reserve) -> Reserve {
    Reserve {
        now_ms,
        expires_at_ms: now_ms + HOLD_MS,
        ..command
    }
}

fn key_day(rig: &Rig, limit: u64) -> Vec<Cap> {
    vec![cap(CapScope::Key(rig.key()), CapWindow::Day, limit)]
}

async fn a_cap_counts_what_is_spent_and_held(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    let reserve = |number, amount| capped(&rig, number, amount, key_day(&rig, 100));
    rig.try_reserve(reserve(1, 60)).await.expect("60 of 100");
    rig.end(1, capture(40, 10)).await;
    rig.try_reserve(reserve(2, 30)).await.expect("80 of 100");
    let refused = rig.try_reserve(reserve(3, 21)).await;
    let midnight_ms = 1_795_219_200_000; // 2026-11-21T00:00:00Z
    let expected = LedgerRefusal::Capped {
        scope: CapScope::Key(rig.key()),
        window: CapWindow::Day,
        limit: MicroUsd::new(100),
        used: MicroUsd::new(80),
        needed: MicroUsd::new(21),
        resets_at_ms: Some(midnight_ms),
    };
    assert_eq!(refused, Err(expected));
    rig.try_reserve(reserve(3, 20)).await.expect("100 of 100");
    rig.verify().await;
}

async fn a_cap_of_zero_blocks(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    for amount in [1, 0] {
        let refused = rig
            .try_reserve(capped(&rig, 1, amount, key_day(&rig, 0)))
            .await;
        assert!(
            matches!(refused, Err(LedgerRefusal::Capped { .. })),
            "{amount}"
        );
    }
}

async fn each_cap_counts_for_itself(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    let session = |name: &str| CapScope::Session(rig.account.clone(), Arc::from(name));
    let caps = |name: &str| {
        vec![
            cap(session(name), CapWindow::Total, 50),
            cap(
                CapScope::Account(rig.account.clone()),
                CapWindow::Month,
                120,
            ),
        ]
    };
    let reserve = |number, amount, name| capped(&rig, number, amount, caps(name));
    rig.try_reserve(reserve(1, 50, "a"))
        .await
        .expect("50 of 50");
    let refused = rig.try_reserve(reserve(2, 1, "a")).await;
    let Err(LedgerRefusal::Capped {
        scope,
        window,
        resets_at_ms,
        ..
    }) = refused
    else {
        unreachable!("the session has spent its cap: {refused:?}");
    };
    assert_eq!(scope, session("a"));
    assert_eq!((window, resets_at_ms), (CapWindow::Total, None));
    rig.try_reserve(reserve(3, 50, "b")).await.expect("another");
    let refused = rig.try_reserve(reserve(4, 30, "c")).await;
    let Err(LedgerRefusal::Capped { window, used, .. }) = refused else {
        unreachable!("the account has 20 left: {refused:?}");
    };
    assert_eq!((window, used.get()), (CapWindow::Month, 100));
    // The refused hold counts nowhere, not even under the cap that it kept to.
    rig.try_reserve(reserve(5, 20, "c"))
        .await
        .expect("20 of 20");
    // Another account's session of the same name is another session.
    let other = rig.other();
    other.deposit(100, "operator:2").await;
    let scope = CapScope::Session(other.account.clone(), Arc::from("a"));
    let command = capped(&other, 1, 50, vec![cap(scope, CapWindow::Total, 50)]);
    other.try_reserve(command).await.expect("its own");
    rig.verify().await;
}

async fn a_cap_of_a_subsystem_counts_its_spending_alone(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    let part = |name: &str| CapScope::Subsystem(rig.key(), Arc::from(name));
    let reserve = |number, amount, name: &str, limit| {
        let mut caps = key_day(&rig, 200);
        caps.push(cap(part(name), CapWindow::Day, limit));
        capped(&rig, number, amount, caps)
    };
    rig.try_reserve(reserve(1, 60, "dream_rem", 100))
        .await
        .expect("60 of 100");
    rig.end(1, capture(60, 0)).await;
    rig.try_reserve(reserve(2, 90, "dream_nrem", 100))
        .await
        .expect("another subsystem has its own cap");
    match rig.try_reserve(reserve(3, 41, "dream_rem", 100)).await {
        Err(LedgerRefusal::Capped {
            scope, limit, used, ..
        }) => {
            assert_eq!(scope, part("dream_rem"));
            assert_eq!((limit.get(), used.get()), (100, 60));
        }
        other => unreachable!("{other:?}"),
    }
    rig.try_reserve(reserve(3, 40, "dream_rem", 100))
        .await
        .expect("the rest of the cap");
    rig.end(3, End::Release).await;
    let all = rig.try_reserve(reserve(4, 51, "risk", 1_000)).await;
    assert!(all.is_err(), "150 of the key's 200 are used");
    rig.verify().await;
}

async fn a_delegation_is_spent_once_whoever_asks_by_it(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    let delegation = |name: &str| CapScope::Delegation(KeyId::parse(name).expect("an id"));
    let reserve = |number, amount, name: &str, at_ms| {
        let caps = vec![cap(delegation(name), CapWindow::Total, 100)];
        at(at_ms, capped(&rig, number, amount, caps))
    };
    rig.try_reserve(reserve(1, 60, "0x1:0x2", NOW_MS))
        .await
        .expect("60 of 100");
    rig.end(1, capture(60, 0)).await;
    // A month later it is the same.
    let later_ms = NOW_MS + 40 * DAY_MS;
    match rig.try_reserve(reserve(2, 41, "0x1:0x2", later_ms)).await {
        Err(LedgerRefusal::Capped { scope, used, .. }) => {
            assert_eq!((scope, used.get()), (delegation("0x1:0x2"), 60));
        }
        other => unreachable!("{other:?}"),
    }
    rig.try_reserve(reserve(2, 40, "0x1:0x2", later_ms))
        .await
        .expect("100 of 100");
    rig.try_reserve(reserve(3, 100, "0x1:0x3", later_ms))
        .await
        .expect("another delegation");
    rig.verify().await;
}

async fn a_window_begins_anew(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    let caps = || {
        vec![
            cap(CapScope::Key(rig.key()), CapWindow::Day, 100),
            cap(CapScope::Key(rig.key()), CapWindow::Month, 150),
        ]
    };
    let reserve = |number, amount, now_ms| at(now_ms, capped(&rig, number, amount, caps()));
    rig.try_reserve(reserve(1, 100, NOW_MS))
        .await
        .expect("a day's");
    rig.end(1, capture(100, 0)).await;
    assert!(rig.try_reserve(reserve(2, 1, NOW_MS)).await.is_err());
    let tomorrow_ms = NOW_MS + DAY_MS;
    rig.try_reserve(reserve(3, 50, tomorrow_ms))
        .await
        .expect("a new day");
    let refused = rig.try_reserve(reserve(4, 1, tomorrow_ms)).await;
    let Err(LedgerRefusal::Capped {
        window,
        resets_at_ms,
        ..
    }) = refused
    else {
        unreachable!("the month is spent: {refused:?}");
    };
    let december_ms = 1_796_083_200_000; // 2026-12-01T00:00:00Z
    assert_eq!(
        (window, resets_at_ms),
        (CapWindow::Month, Some(december_ms))
    );
    rig.try_reserve(reserve(5, 100, december_ms))
        .await
        .expect("a new month");
    // The clock steps back: the first day's counter goes on where it was.
    let refused = rig.try_reserve(reserve(6, 1, NOW_MS + 1)).await;
    assert!(matches!(
        refused,
        Err(LedgerRefusal::Capped { window: CapWindow::Day, used, .. }) if used.get() == 100
    ));
    rig.verify().await;
}

async fn a_hold_counts_where_it_was_made(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    let reserve =
        |number, amount, now_ms| at(now_ms, capped(&rig, number, amount, key_day(&rig, 100)));
    rig.try_reserve(reserve(1, 80, NOW_MS))
        .await
        .expect("today");
    let tomorrow_ms = NOW_MS + DAY_MS;
    rig.ledger
        .extend(
            &rig.account,
            &rig.request(1),
            MicroUsd::new(10),
            tomorrow_ms,
        )
        .await
        .expect("the store works")
        .expect("90 of today's 100");
    let settle = crate::command::Settle {
        account: rig.account.clone(),
        request: rig.request(1),
        end: capture(70, 0),
        record: None,
        now_ms: tomorrow_ms,
    };
    rig.ledger.settle(settle).await.expect("the store works");
    rig.try_reserve(reserve(2, 100, tomorrow_ms))
        .await
        .expect("all of tomorrow's");
    rig.try_reserve(reserve(3, 30, NOW_MS))
        .await
        .expect("the rest of today's");
    assert!(rig.try_reserve(reserve(4, 1, NOW_MS)).await.is_err());
    rig.verify().await;
}

async fn an_extension_keeps_to_the_caps(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    rig.try_reserve(capped(&rig, 1, 60, key_day(&rig, 100)))
        .await
        .expect("60 of 100");
    rig.extend(1, 40).await.expect("100 of 100");
    let refused = rig.extend(1, 1).await;
    let Err(LedgerRefusal::Capped { used, needed, .. }) = refused else {
        unreachable!("the cap is reached: {refused:?}");
    };
    assert_eq!((used.get(), needed.get()), (100, 1));
    assert_eq!(rig.stands().await, (1_000, 0, 100, 900));
    rig.verify().await;
}

async fn what_ends_unspent_leaves_the_cap(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    let reserve = |number| capped(&rig, number, 100, key_day(&rig, 100));
    rig.try_reserve(reserve(1)).await.expect("all of it");
    rig.end(1, End::Release).await;
    rig.try_reserve(reserve(2)).await.expect("after a release");
    rig.expire(NOW_MS + HOLD_MS).await;
    rig.try_reserve(reserve(3)).await.expect("after an expiry");
    rig.end(3, End::Unknown).await;
    assert!(
        rig.try_reserve(reserve(4)).await.is_err(),
        "unknown is held"
    );
    rig.end(3, End::Release).await;
    rig.try_reserve(reserve(4))
        .await
        .expect("after reconciling");
    rig.end(4, capture(30, 0)).await;
    assert!(rig.try_reserve(reserve(5)).await.is_err(), "30 are spent");
    rig.verify().await;
}

async fn a_capture_above_the_hold_keeps_to_the_caps(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    let reserve = |number, amount| capped(&rig, number, amount, key_day(&rig, 100));
    rig.try_reserve(reserve(1, 40)).await.expect("40 of 100");
    rig.try_reserve(reserve(2, 50)).await.expect("90 of 100");
    // The cap leaves 10 beyond the hold; the rest is the operator's loss.
    assert_eq!(
        rig.end(1, capture(60, 5)).await,
        settled(50, 15, 900, false)
    );
    assert_eq!(rig.stands().await, (1_000, 50, 50, 900));
    rig.verify().await;
}

async fn a_late_capture_counts_under_the_caps_of_its_hold(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    let reserve = |number, amount| capped(&rig, number, amount, key_day(&rig, 100));
    rig.try_reserve(reserve(1, 60)).await.expect("60 of 100");
    rig.expire(NOW_MS + HOLD_MS).await;
    assert_eq!(rig.end(1, capture(50, 0)).await, settled(50, 0, 950, false));
    assert!(rig.try_reserve(reserve(2, 51)).await.is_err());
    rig.try_reserve(reserve(2, 50))
        .await
        .expect("the other half");
    rig.verify().await;
}

async fn a_refused_hold_counts_nowhere(rig: Rig) {
    rig.deposit(50, "operator:1").await;
    let reserve = |number, amount| capped(&rig, number, amount, key_day(&rig, 100));
    assert!(rig.try_reserve(reserve(1, 60)).await.is_err());
    rig.deposit(1_000, "operator:2").await;
    rig.try_reserve(reserve(1, 100))
        .await
        .expect("none of the cap is used");
    let again = rig.try_reserve(reserve(1, 1)).await;
    assert_eq!(again, Err(LedgerRefusal::Duplicate(rig.request(1))));
    rig.verify().await;
}

async fn at_once_no_cap_is_exceeded(rig: Rig) {
    rig.deposit(1_000_000, "operator:1").await;
    let commands = (0..64).map(|number| {
        let command = capped(&rig, number, 1_000, key_day(&rig, 37_999));
        rig.ledger.reserve(command)
    });
    let answers = join_all(commands.collect()).await;
    let held = answers
        .iter()
        .filter(|answer| matches!(answer, Ok(Ok(_))))
        .count();
    assert_eq!(held, 37);
    assert_eq!(rig.stands().await.2, 37_000);
    rig.verify().await;
}
