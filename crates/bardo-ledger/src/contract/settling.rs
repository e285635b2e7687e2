//! Ending a hold.

use bardo_types::money::MicroUsd;

use super::rig::{HOLD_MS, NOW_MS, Rig, capture, join_all, settled};
use crate::command::{Charge, End};

cases! {
    a_capture_gives_the_rest_back
    a_release_gives_all_back
    a_release_without_waiting_gives_all_back
    an_end_sent_again_changes_nothing
    the_first_end_counts
    the_same_end_at_once_is_one_end
    an_unknown_outcome_is_captured_later
    an_unknown_outcome_is_released_later
    a_capture_above_the_hold_takes_what_is_available
    what_is_missing_is_the_operators_loss_and_the_provider_goes_first
    a_capture_without_a_hold_takes_what_is_available
    a_capture_without_an_account_takes_nothing
    a_charge_out_of_range_takes_no_more_than_there_is
    a_free_answer_ends_its_hold
}

async fn a_capture_gives_the_rest_back(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 60).await;
    assert_eq!(rig.end(1, capture(20, 4)).await, settled(24, 0, 76, false));
    assert_eq!(rig.stands().await, (100, 24, 0, 76));
    assert_eq!(rig.holds().await, vec![]);
    rig.verify().await;
}

async fn a_release_gives_all_back(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 60).await;
    assert_eq!(rig.end(1, End::Release).await, settled(0, 0, 100, false));
    assert_eq!(rig.stands().await, (100, 0, 0, 100));
    assert_eq!(rig.holds().await, vec![]);
    assert_eq!(rig.postings(0, 100).await.len(), 2, "the deposit alone");
    rig.verify().await;
}

async fn a_release_without_waiting_gives_all_back(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 60).await;
    rig.ledger.release(&rig.account, &rig.request(1), NOW_MS);
    // A later command of the same account is later: by then the money is there, or the hold
    // goes by its expiry.
    if rig.stands().await != (100, 0, 0, 100) {
        rig.expire(NOW_MS + HOLD_MS).await;
    }
    assert_eq!(rig.stands().await, (100, 0, 0, 100));
    rig.verify().await;
}

async fn an_end_sent_again_changes_nothing(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 60).await;
    rig.end(1, capture(20, 4)).await;
    rig.reserve(2, 10).await;
    for _ in 0..3 {
        assert_eq!(rig.end(1, capture(20, 4)).await, settled(24, 0, 66, true));
    }
    assert_eq!(rig.stands().await, (100, 24, 10, 66));
    assert_eq!(rig.postings(0, 100).await.len(), 2 + 3);
    rig.end(2, End::Release).await;
    assert_eq!(rig.end(2, End::Release).await, settled(0, 0, 76, true));
    assert_eq!(rig.stands().await, (100, 24, 0, 76));
    rig.verify().await;
}

async fn the_first_end_counts(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 60).await;
    rig.end(1, capture(20, 4)).await;
    assert_eq!(rig.end(1, capture(50, 9)).await.charged.get(), 24);
    assert_eq!(rig.end(1, End::Release).await.charged.get(), 24);
    assert_eq!(rig.end(1, End::Unknown).await.charged.get(), 24);
    assert_eq!(rig.stands().await, (100, 24, 0, 76));
    assert_eq!(rig.holds().await, vec![]);
    rig.reserve(2, 60).await;
    rig.end(2, End::Release).await;
    assert_eq!(rig.end(2, capture(50, 9)).await.charged, MicroUsd::ZERO);
    assert_eq!(rig.end(2, End::Unknown).await.charged, MicroUsd::ZERO);
    assert_eq!(rig.stands().await, (100, 24, 0, 76));
    assert_eq!(rig.holds().await, vec![]);
    rig.verify().await;
}

async fn the_same_end_at_once_is_one_end(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 60).await;
    let ends = (0..8).map(|_| rig.end_beside_others(1, capture(20, 4), None));
    let answers = join_all(ends.collect()).await;
    assert!(answers.iter().all(|settled| settled.charged.get() == 24));
    let first = answers.iter().filter(|settled| !settled.repeated).count();
    assert_eq!(first, 1);
    assert_eq!(rig.stands().await, (100, 24, 0, 76));
    rig.verify().await;
}

async fn an_unknown_outcome_is_captured_later(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 60).await;
    assert_eq!(rig.end(1, End::Unknown).await, settled(0, 0, 40, false));
    assert_eq!(rig.end(1, End::Unknown).await, settled(0, 0, 40, true));
    assert_eq!(rig.stands().await, (100, 0, 60, 40));
    assert_eq!(rig.end(1, capture(30, 6)).await, settled(36, 0, 64, false));
    assert_eq!(rig.end(1, capture(30, 6)).await, settled(36, 0, 64, true));
    assert_eq!(rig.holds().await, vec![]);
    rig.verify().await;
}

async fn an_unknown_outcome_is_released_later(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 60).await;
    rig.end(1, End::Unknown).await;
    assert_eq!(rig.end(1, End::Release).await, settled(0, 0, 100, false));
    assert_eq!(rig.end(1, End::Release).await, settled(0, 0, 100, true));
    assert_eq!(rig.stands().await, (100, 0, 0, 100));
    rig.verify().await;
}

async fn a_capture_above_the_hold_takes_what_is_available(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 20).await;
    rig.reserve(2, 30).await;
    assert_eq!(rig.end(1, capture(50, 10)).await, settled(60, 0, 10, false));
    assert_eq!(rig.stands().await, (100, 60, 30, 10));
    rig.verify().await;
}

async fn what_is_missing_is_the_operators_loss_and_the_provider_goes_first(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 20).await;
    rig.reserve(2, 30).await;
    // 70 are within reach; the other request's hold is not.
    assert_eq!(rig.end(1, capture(65, 13)).await, settled(70, 8, 0, false));
    assert_eq!(rig.end(1, capture(65, 13)).await, settled(70, 8, 0, true));
    assert_eq!(rig.stands().await, (100, 70, 30, 0));
    assert_eq!(rig.end(2, capture(45, 9)).await, settled(30, 24, 0, false));
    let lines = rig.postings(0, 100).await;
    let of = |book: &str| -> i64 {
        let lines = lines.iter().filter(|line| line.book == book);
        lines.map(|line| line.amount).sum()
    };
    assert_eq!(of("provider:sim"), 65 + 30);
    assert_eq!(of("spread"), 5);
    rig.verify().await;
}

async fn a_capture_without_a_hold_takes_what_is_available(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    assert_eq!(rig.end(1, capture(30, 6)).await, settled(36, 0, 64, false));
    assert_eq!(rig.end(1, capture(30, 6)).await, settled(36, 0, 64, true));
    assert_eq!(rig.end(2, capture(60, 12)).await, settled(64, 8, 0, false));
    assert_eq!(rig.stands().await, (100, 100, 0, 0));
    rig.verify().await;
}

async fn a_capture_without_an_account_takes_nothing(rig: Rig) {
    let settled_without = rig.end(1, capture(30, 6)).await;
    assert_eq!(settled_without, settled(0, 36, 0, false));
    assert_eq!(rig.postings(0, 100).await, vec![]);
    rig.verify().await;
}

async fn a_charge_out_of_range_takes_no_more_than_there_is(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 20).await;
    let most = MicroUsd::MAX;
    let end = End::Capture(Charge {
        provider: "sim".into(),
        provider_cost: most,
        spread: most,
    });
    let settled = rig.end(1, end).await;
    assert_eq!(settled.charged, MicroUsd::new(100));
    assert!(settled.shortfall > MicroUsd::ZERO);
    assert_eq!(rig.stands().await, (100, 100, 0, 0));
    rig.verify().await;
}

async fn a_free_answer_ends_its_hold(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 20).await;
    assert_eq!(rig.end(1, capture(0, 0)).await, settled(0, 0, 100, false));
    assert_eq!(rig.end(1, capture(5, 0)).await, settled(0, 0, 100, true));
    assert_eq!(rig.holds().await, vec![]);
    rig.verify().await;
}
