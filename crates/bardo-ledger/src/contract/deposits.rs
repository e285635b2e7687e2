//! Money that comes in, and the postings of all that moves.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};

use bardo_types::money::MicroUsd;

use super::rig::{NOW_MS, Rig, capture, join_all, settled};
use crate::command::{Balance, Deposit, LedgerRefusal, Posting, PostingKind};

cases! {
    a_deposit_makes_the_account
    a_reference_is_one_deposit
    a_deposit_out_of_range_is_refused
    a_deposit_for_a_request_is_held_at_once
    a_repeated_deposit_for_a_request_holds_nothing
    nobody_else_gets_a_deposit_for_a_request
    the_lines_of_a_transfer_add_up_to_zero
    postings_are_paged_in_whole_transfers
    an_account_never_sees_anothers_postings
}

async fn a_deposit_makes_the_account(rig: Rig) {
    let before = rig.ledger.balance(&rig.account).await;
    assert_eq!(before.expect("the store works"), None);
    let after = rig.deposit(10_000_000, "operator:1").await;
    assert_eq!(after, rig.balance().await);
    assert_eq!(rig.stands().await, (10_000_000, 0, 0, 10_000_000));
    rig.deposit(5, "operator:2").await;
    assert_eq!(rig.stands().await, (10_000_005, 0, 0, 10_000_005));
    rig.verify().await;
}

async fn a_reference_is_one_deposit(rig: Rig) {
    rig.deposit(7, "operator:1").await;
    let again = rig.deposit(7, "operator:1").await;
    assert_eq!(again.deposited, MicroUsd::new(7));
    assert_eq!(rig.stands().await, (7, 0, 0, 7));
    assert_eq!(rig.postings(0, 100).await.len(), 2);
    rig.verify().await;
}

async fn a_deposit_out_of_range_is_refused(rig: Rig) {
    let most = MicroUsd::MAX.get();
    rig.deposit(most - 5, "operator:1").await;
    let command = Deposit {
        account: rig.account.clone(),
        amount: MicroUsd::new(6),
        reference: "operator:2".to_owned(),
        now_ms: NOW_MS,
    };
    let answer = rig.ledger.deposit(command).await.expect("the store works");
    assert_eq!(answer, Err(LedgerRefusal::Overflow));
    assert_eq!(rig.stands().await, (most - 5, 0, 0, most - 5));
    rig.deposit(5, "operator:2").await;
    assert_eq!(rig.stands().await, (most, 0, 0, most));
    rig.verify().await;
}

/// Puts `amount` in for request `number`.
async fn deposit_for(rig: &Rig, number: u64, amount: u64) -> Result<Balance, LedgerRefusal> {
    let command = Deposit {
        account: rig.account.clone(),
        amount: MicroUsd::new(amount),
        reference: format!("x402:{number}"),
        now_ms: NOW_MS,
    };
    let request = rig.request(number);
    let answer = rig.ledger.deposit_for(command, &request).await;
    answer.expect("the store works")
}

async fn a_deposit_for_a_request_is_held_at_once(rig: Rig) {
    let balance = deposit_for(&rig, 1, 100).await.expect("it is in range");
    assert_eq!(balance, rig.balance().await);
    assert_eq!(rig.stands().await, (100, 0, 100, 0));
    let other = rig.try_reserve(rig.reserve_command(2, 1)).await;
    assert!(
        matches!(other, Err(LedgerRefusal::Insufficient { .. })),
        "{other:?}"
    );
    assert_eq!(rig.end(1, capture(50, 10)).await, settled(60, 0, 40, false));
    // The account has money of its own too.
    deposit_for(&rig, 2, 7).await.expect("it is in range");
    assert_eq!(rig.stands().await, (107, 60, 7, 40));
    rig.reserve(3, 40).await;
    assert_eq!(rig.end(2, capture(7, 0)).await, settled(7, 0, 0, false));
    rig.verify().await;
}

async fn a_repeated_deposit_for_a_request_holds_nothing(rig: Rig) {
    rig.deposit(30, "operator:1").await;
    for _ in 0..2 {
        deposit_for(&rig, 1, 100).await.expect("it is in range");
        assert_eq!(rig.stands().await, (130, 0, 100, 30));
    }
    rig.end(1, capture(50, 10)).await;
    deposit_for(&rig, 1, 100).await.expect("it is in range");
    assert_eq!(rig.stands().await, (130, 60, 0, 70));
    assert_eq!(rig.end(1, capture(50, 10)).await, settled(60, 0, 70, true));
    let most = deposit_for(&rig, 2, MicroUsd::MAX.get()).await;
    assert_eq!(most, Err(LedgerRefusal::Overflow));
    assert_eq!(rig.stands().await, (130, 60, 0, 70));
    rig.verify().await;
}

async fn nobody_else_gets_a_deposit_for_a_request(rig: Rig) {
    type Try<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;
    const OTHERS: u64 = 20;
    for round in 0..10 {
        let first = 100 + round * (OTHERS + 1);
        let is_there = AtomicBool::new(false);
        let mut tries: Vec<Try<'_>> = vec![Box::pin(async {
            deposit_for(&rig, first, 5).await.expect("it is in range");
            is_there.store(true, Ordering::Relaxed);
            true
        })];
        for number in first + 1..=first + OTHERS {
            let command = rig.reserve_command(number, 1);
            let is_there = &is_there;
            let rig = &rig;
            // Each asks again and again while the deposit is on its way.
            tries.push(Box::pin(async move {
                loop {
                    let is_last = is_there.load(Ordering::Relaxed);
                    let answer = rig.ledger.reserve(command.clone()).await;
                    let got = answer.expect("the store works").is_ok();
                    if got || is_last {
                        return got;
                    }
                }
            }));
        }
        let answers = join_all(tries).await;
        assert_eq!(
            answers.iter().filter(|got| **got).count(),
            1,
            "round {round}"
        );
        assert_eq!(
            rig.end(first, capture(5, 0)).await.shortfall,
            MicroUsd::ZERO
        );
    }
    assert_eq!(rig.stands().await, (50, 50, 0, 0));
    rig.verify().await;
}

async fn the_lines_of_a_transfer_add_up_to_zero(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    rig.reserve(1, 100).await;
    rig.end(1, capture(50, 10)).await;
    rig.reserve(2, 100).await;
    rig.end(2, capture(7, 0)).await;
    let lines = rig.postings(0, 100).await;
    check_transfers(&lines);
    let of = |book: &str| -> i64 {
        let lines = lines.iter().filter(|line| line.book == book);
        lines.map(|line| line.amount).sum()
    };
    assert_eq!(of(&format!("customer:{}", rig.account)), 1_000 - 60 - 7);
    assert_eq!(of("provider:sim"), 57);
    assert_eq!(of("spread"), 10);
    let funding = lines
        .iter()
        .find(|line| line.book.starts_with("funding:"))
        .expect("a deposit comes from somewhere");
    assert_eq!(funding.amount, -1_000);
    assert_eq!(funding.kind, PostingKind::Deposit);
    assert_eq!(funding.reference, "operator:1");
    let charge = lines.iter().find(|line| line.book == "spread");
    let charge = charge.expect("the first request had a spread");
    assert_eq!(charge.kind, PostingKind::Charge);
    assert_eq!(charge.reference, rig.request(1).as_str());
    assert_eq!(charge.at_ms, NOW_MS);
    rig.verify().await;
}

async fn postings_are_paged_in_whole_transfers(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    for number in 0..7 {
        rig.reserve(number, 100).await;
        rig.end(number, capture(50, 10)).await;
    }
    let all = rig.postings(0, 1_000).await;
    assert_eq!(all.len(), 2 + 7 * 3);
    assert!(all.is_sorted_by_key(|line| line.transfer));
    for limit in [1, 2, 4, 5] {
        let (mut paged, mut after) = (Vec::new(), 0);
        loop {
            let page = rig.postings(after, limit).await;
            let Some(last) = page.last() else { break };
            check_transfers(&page);
            after = last.transfer;
            paged.extend(page);
        }
        assert_eq!(paged, all, "pages of {limit}");
    }
}

async fn an_account_never_sees_anothers_postings(rig: Rig) {
    let other = rig.other();
    rig.deposit(100, "operator:1").await;
    other.deposit(50, "operator:2").await;
    other.reserve(1, 40).await;
    other.end(1, capture(30, 5)).await;
    let lines = rig.postings(0, 100).await;
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line.reference == "operator:1"));
    assert_eq!(rig.stands().await, (100, 0, 0, 100));
    assert_eq!(other.stands().await, (50, 35, 0, 15));
}

fn check_transfers(lines: &[Posting]) {
    let mut sums: HashMap<u64, i64> = HashMap::new();
    for line in lines {
        *sums.entry(line.transfer).or_default() += line.amount;
    }
    assert!(!sums.is_empty());
    for (transfer, sum) in sums {
        assert_eq!(sum, 0, "transfer {transfer} of {lines:#?}");
    }
}
