//! What becomes of a claim on the chain.

use super::super::rig::NOW_MS;
use super::rig::{ClaimRig, STALE_MS};
use crate::claims::{
    ClaimChange, ClaimOrder, ClaimQuery, ClaimRefusal, ClaimScheme, ClaimStage, ClaimStep,
    ClaimView, DebtEnd, ServiceStage, StepBy, StepRefusal, audit_claims,
};
use crate::port::Ledger;
use bardo_types::money::MicroUsd;

pub(super) async fn settle_first_is_served_after_it(rig: ClaimRig) {
    let mut command = rig.command(1, 100);
    command.order = ClaimOrder::SettleFirst;
    rig.claimed(&command).await;
    let early = rig.step(1, &rig.by(1), ClaimStep::Serve).await;
    assert!(matches!(early, Err(StepRefusal::OutOfOrder { .. })));
    let lease = rig.lease(1).await;
    let sent = rig.stepped(1, &lease, rig.send(1)).await;
    assert_eq!(sent.amount, MicroUsd::new(100));
    let early = rig.step(1, &rig.by(1), ClaimStep::Serve).await;
    assert!(matches!(early, Err(StepRefusal::OutOfOrder { .. })));
    let released = rig.step(1, &rig.by(1), ClaimStep::Release).await;
    assert!(matches!(released, Err(StepRefusal::OutOfOrder { .. })));
    let settled = rig.stepped(1, &lease, rig.settle(1, 100)).await;
    let ledger: &dyn Ledger = &*rig.ledger;
    let booked = rig.book.book(ledger, &settled, None, NOW_MS).await;
    let booked = booked.expect("the stores work").expect("it is settled");
    assert_eq!(booked.and_then(|claim| claim.due_at_ms), Some(STALE_MS));
    rig.stepped(1, &rig.by(1), ClaimStep::Serve).await;
    let used = MicroUsd::new(40);
    let done = rig.stepped(1, &rig.by(1), ClaimStep::Served { used }).await;
    assert_eq!(
        (done.stage, done.service),
        (ClaimStage::Settled, ServiceStage::Done)
    );
    assert_eq!((done.due_at_ms, done.capture().get()), (None, 40));
    assert_eq!(rig.stands().await, (100, 0, 100));
    rig.audit().await;
}

pub(super) async fn a_failed_settlement_is_a_debt_that_blocks(rig: ClaimRig) {
    rig.served(1, 100, 60).await;
    let lease = rig.lease(1).await;
    rig.stepped(1, &lease, rig.send(1)).await;
    let reason = "insufficient_funds".to_owned();
    rig.stepped(1, &lease, ClaimStep::Fail { reason }).await;
    assert_eq!(rig.figures().await, (0, 0, 60, 0, 0, 0));
    let debt = MicroUsd::new(60);
    let refused = Err(ClaimRefusal::InDebt { debt });
    assert_eq!(rig.claim(&rig.command(2, 1)).await, refused);
    let mut deposit = rig.command(9, 1);
    deposit.order = ClaimOrder::SettleFirst;
    deposit.terms.admits_debtors = true;
    rig.claimed(&deposit).await;
    let released = rig.step(9, &rig.by(9), ClaimStep::Release).await;
    assert_eq!(released, Ok(None));
    let debts = ClaimQuery {
        wallet: Some(rig.wallet()),
        only_debts: true,
        limit: 10,
        ..ClaimQuery::default()
    };
    let listed = rig.book.store().claims(debts.clone()).await;
    assert_eq!(listed.expect("the store works").len(), 1);
    let end = DebtEnd::WrittenOff {
        reason: "operator: too small".to_owned(),
    };
    rig.stepped(1, &StepBy::Operator, ClaimStep::EndDebt(end))
        .await;
    let end = DebtEnd::Paid {
        reference: "operator:1".to_owned(),
    };
    let second = rig
        .step(1, &StepBy::Operator, ClaimStep::EndDebt(end))
        .await;
    assert!(matches!(second, Err(StepRefusal::OutOfOrder { .. })));
    assert_eq!(rig.figures().await, (0, 0, 0, 0, 0, 0));
    let listed = rig.book.store().claims(debts).await;
    assert!(listed.expect("the store works").is_empty());
    rig.claimed(&rig.command(2, 1)).await;
    rig.audit().await;
}

pub(super) async fn a_late_settlement_ends_the_debt(rig: ClaimRig) {
    let paid = DebtEnd::Paid {
        reference: "operator:1".to_owned(),
    };
    let written_off = DebtEnd::WrittenOff {
        reason: "operator: too small".to_owned(),
    };
    // Only who paid the debt otherwise gets the settled money as credit.
    for (number, end, credit) in [(1, None, 0), (2, Some(written_off), 0), (3, Some(paid), 60)] {
        rig.served(number, 100, 60).await;
        let lease = rig.lease(number).await;
        rig.stepped(number, &lease, rig.send(number)).await;
        let reason = "gone".to_owned();
        rig.stepped(number, &lease, ClaimStep::Fail { reason })
            .await;
        if let Some(end) = end {
            let step = ClaimStep::EndDebt(end);
            rig.stepped(number, &StepBy::Operator, step).await;
        }
        let settled = rig.stepped(number, &lease, rig.settle(number, 60)).await;
        let count = u64::from(number);
        let before = (0, 0, 0, count, 60 * count, 60 * (count - 1));
        assert_eq!(rig.figures().await, before);
        rig.book(&settled).await;
        assert_eq!(rig.stands().await.2, credit);
    }
    rig.audit().await;
}

pub(super) async fn a_reorganization_undoes_a_settlement(rig: ClaimRig) {
    rig.served(1, 100, 60).await;
    let lease = rig.lease(1).await;
    rig.stepped(1, &lease, rig.send(1)).await;
    rig.stepped(1, &lease, rig.settle(1, 60)).await;
    let transaction = rig.transaction(1).hash;
    rig.stepped(1, &lease, ClaimStep::Unsettle { transaction })
        .await;
    assert_eq!(rig.figures().await, (1, 100, 0, 0, 0, 0));
    rig.stepped(1, &lease, rig.send(2)).await;
    let settled = rig.stepped(1, &lease, rig.settle(2, 60)).await;
    rig.book(&settled).await;
    let transaction = rig.transaction(2).hash;
    rig.stepped(1, &lease, ClaimStep::Unsettle { transaction })
        .await;
    let ledger: &dyn Ledger = &*rig.ledger;
    let problems = audit_claims(rig.book.store(), ledger).await;
    let problems = problems.expect("the stores work");
    assert!(
        problems.iter().any(|each| each.contains("has booked")),
        "{problems:?}"
    );
    // What was booked stays booked, also where the chain then pays another amount.
    rig.stepped(1, &lease, rig.settle(2, 50)).await;
    let claim = rig.stepped(1, &lease, ClaimStep::Book).await;
    assert_eq!(claim.booked, Some(MicroUsd::new(60)));
    rig.stepped(1, &lease, ClaimStep::Unsettle { transaction })
        .await;
    rig.stepped(1, &lease, rig.settle(1, 60)).await;
    assert_eq!(rig.figures().await, (0, 0, 0, 1, 60, 60));
    rig.audit().await;
}

pub(super) async fn due_claims_go_to_one_settler(rig: ClaimRig) {
    // Other cases leave claims that are due much later than this.
    let now_ms = 1_000;
    let mut keys = Vec::new();
    for number in 1..=3 {
        let mut command = rig.command(number, 10);
        (command.now_ms, command.stale_at_ms) = (1, 1_000 - u64::from(number));
        rig.claimed(&command).await;
        keys.push(command.key);
    }
    let store = rig.book.store();
    let lease = |owner, now_ms, limit| async move {
        let leased = store.lease_due(owner, now_ms, now_ms + 100, limit).await;
        leased.expect("the store works")
    };
    let first = lease("a", now_ms, 2).await;
    assert_eq!(
        first.iter().map(|claim| claim.key).collect::<Vec<_>>(),
        [keys[2], keys[1]]
    );
    let second = lease("b", now_ms, 10).await;
    assert_eq!(
        second.iter().map(|claim| claim.key).collect::<Vec<_>>(),
        [keys[0]]
    );
    assert_eq!(second[0].lease_owner, "b");
    assert!(lease("c", now_ms, 10).await.is_empty());
    // The leases end; whoever had one has lost it.
    let third = lease("c", now_ms + 100, 10).await;
    assert_eq!(third.len(), 3);
    let stale = StepBy::Lease(first[0].lease_no);
    let refused = rig.step(3, &stale, ClaimStep::Release).await;
    assert_eq!(refused, Err(StepRefusal::LeaseLost));
    for claim in third {
        let by = StepBy::Lease(claim.lease_no);
        let released = rig
            .book
            .step(&claim.key, &by, &ClaimStep::Release, now_ms)
            .await;
        assert_eq!(released.expect("the store works"), Ok(None));
    }
    rig.audit().await;
}

pub(super) async fn a_row_comes_back_as_it_was(rig: ClaimRig) {
    rig.served(1, 100, 60).await;
    let lease = rig.lease(1).await;
    rig.stepped(1, &lease, rig.send(1)).await;
    let defer = ClaimStep::Defer {
        until_ms: NOW_MS + 9,
        reason: "slow; äöü / 'quoted' \"twice\"".to_owned(),
    };
    rig.stepped(1, &lease, defer).await;
    rig.stepped(1, &lease, rig.send(2)).await;
    let mut settled = rig.stepped(1, &lease, rig.settle(2, 60)).await;
    let view = rig.book.store().view(&rig.key(1)).await;
    let found = view.expect("the store works").claim.expect("it is there");
    assert!(found.no > 0);
    settled.no = found.no;
    settled.version = found.version;
    assert!(found == settled, "{found:?}");
    assert_eq!(found.payload, [0, 255, 1]);
    assert_eq!(found.quote, "quote 1");
    assert_eq!(found.transactions[1].raw, [2, 2]);
}

pub(super) async fn a_change_of_rows_that_changed_is_refused(rig: ClaimRig) {
    rig.claimed(&rig.command(1, 10)).await;
    let store = rig.book.store();
    let view = async |number| store.view(&rig.key(number)).await.expect("the store works");
    let change = |view: &ClaimView, is_removed| ClaimChange {
        wallet: view.wallet.clone(),
        claim: view.claim.clone().expect("it is there"),
        is_removed,
    };
    let commit = async |change| store.commit(change).await.expect("the store works");
    // The wallet has changed.
    let before = view(1).await;
    rig.claimed(&rig.command(2, 10)).await;
    assert!(!commit(change(&before, false)).await);
    assert!(!commit(change(&before, true)).await);
    // The claim has changed, and the wallet has gone on.
    rig.lease(1).await;
    let mut mixed = change(&before, true);
    mixed.wallet = view(2).await.wallet;
    assert!(!commit(mixed).await);
    // The claim was made meanwhile.
    let mut second = change(&view(1).await, false);
    second.claim.version = 0;
    assert!(!commit(second).await);
    assert_eq!(rig.figures().await, (2, 20, 0, 0, 0, 0));
    assert!(commit(change(&view(1).await, false)).await);
    rig.audit().await;
}

/// Anybody who has seen an exact authorization may send it.
pub(super) async fn a_payment_sent_by_another_waits_for_the_answer(rig: ClaimRig) {
    let mut command = rig.command(1, 100);
    command.scheme = ClaimScheme::Exact;
    rig.claimed(&command).await;
    rig.stepped(1, &rig.by(1), ClaimStep::Serve).await;
    let lease = rig.lease(1).await;
    rig.stepped(1, &lease, rig.settle(1, 100)).await;
    let early = rig.step(1, &lease, ClaimStep::Book).await;
    assert!(matches!(early, Err(StepRefusal::OutOfOrder { .. })));
    let used = MicroUsd::new(30);
    let done = rig.stepped(1, &rig.by(1), ClaimStep::Served { used }).await;
    assert_eq!(done.stage, ClaimStage::Settled);
    let lease = rig.lease(1).await;
    let done = rig.stepped(1, &lease, rig.settle(1, 100)).await;
    rig.book(&done).await;
    assert_eq!(rig.stands().await, (100, 30, 70));
    rig.audit().await;
}

pub(super) async fn claims_are_listed_in_pages(rig: ClaimRig) {
    for number in 1..=3 {
        let mut command = rig.command(number, 10);
        command.now_ms = NOW_MS + u64::from(number);
        rig.claimed(&command).await;
    }
    let all = ClaimQuery {
        account: Some(rig.wallet().account()),
        stage: Some(ClaimStage::Claimed),
        limit: 2,
        ..ClaimQuery::default()
    };
    let list = |query| async {
        rig.book
            .store()
            .claims(query)
            .await
            .expect("the store works")
    };
    let page = list(all.clone()).await;
    let keys: Vec<_> = page.iter().map(|claim| claim.key).collect();
    assert_eq!(keys, [rig.key(3), rig.key(2)]);
    let mut next = all.clone();
    next.below_no = page.last().map(|claim| claim.no);
    let page = list(next).await;
    assert_eq!(
        page.iter().map(|claim| claim.key).collect::<Vec<_>>(),
        [rig.key(1)]
    );
    let mut times = all.clone();
    (times.since_ms, times.before_ms) = (Some(NOW_MS + 2), Some(NOW_MS + 3));
    assert_eq!(list(times).await[0].key, rig.key(2));
    let mut of_request = all.clone();
    of_request.request = Some(rig.request(1));
    assert_eq!(list(of_request).await[0].key, rig.key(1));
    let mut settled = all;
    settled.stage = Some(ClaimStage::Settled);
    assert!(list(settled).await.is_empty());
    let totals = rig.book.store().totals().await.expect("the store works");
    let claimed = totals.of(ClaimStage::Claimed);
    assert!(
        claimed.count >= 3 && claimed.amount.get() >= 30,
        "{totals:?}"
    );
    assert!(
        totals.wallets >= 1 && totals.exposure.get() >= 30,
        "{totals:?}"
    );
}
