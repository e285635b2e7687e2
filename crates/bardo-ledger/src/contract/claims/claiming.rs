//! Who gets an authorization, and what it is served for.

use super::super::rig::{NOW_MS, join_all};
use super::rig::{ClaimRig, DEADLINE_S};
use crate::claims::{
    ChainHash, ClaimAnswer, ClaimRefusal, ClaimScheme, ClaimStage, ClaimStep, NewClaim,
    PROOF_MARKS, StepRefusal,
};
use bardo_types::money::MicroUsd;

pub(super) async fn an_authorization_is_claimed_once(rig: ClaimRig) {
    rig.claimed(&rig.command(1, 100)).await;
    // The answer was lost; the request asks again.
    rig.claimed(&rig.command(1, 100)).await;
    assert_eq!(rig.figures().await, (1, 100, 0, 0, 0, 0));
    let mut late = rig.command(2, 100);
    late.deadline_s = NOW_MS / 1_000;
    let deadline_s = late.deadline_s;
    let refused = Err(ClaimRefusal::Expired { deadline_s });
    assert_eq!(rig.claim(&late).await, refused);
    rig.audit().await;
}

pub(super) async fn a_replay_finds_the_first(rig: ClaimRig) {
    rig.served(1, 100, 60).await;
    for (body, expected) in [(1, true), (2, false)] {
        let mut replay = rig.command(1, 100);
        replay.request = rig.request(9);
        replay.body_hash = ChainHash([body; 32]);
        let Ok(ClaimAnswer::AlreadyClaimed {
            claim,
            is_same_body,
        }) = rig.claim(&replay).await
        else {
            unreachable!("it was claimed");
        };
        assert_eq!(claim.request, rig.request(1));
        assert_eq!(claim.stage, ClaimStage::Owed);
        assert_eq!(is_same_body, expected);
    }
    let stolen = rig.step(1, &rig.by(9), ClaimStep::Serve).await;
    assert_eq!(stolen, Err(StepRefusal::NotYours(rig.request(1))));
}

pub(super) async fn a_hundred_at_once_are_one_claim(rig: ClaimRig) {
    let commands: Vec<_> = (0..100)
        .map(|number| NewClaim {
            request: rig.request(number),
            ..rig.command(1, 100)
        })
        .collect();
    let claims = commands.iter().map(|command| rig.claim(command)).collect();
    let answers = join_all(claims).await;
    let won = answers
        .iter()
        .filter(|answer| matches!(answer, Ok(ClaimAnswer::Claimed(_))));
    assert_eq!(won.count(), 1);
    let lost = |answer: &&_| matches!(answer, Ok(ClaimAnswer::AlreadyClaimed { .. }));
    assert_eq!(answers.iter().filter(lost).count(), 99);
    assert_eq!(rig.figures().await, (1, 100, 0, 0, 0, 0));
}

pub(super) async fn a_claim_is_served_once(rig: ClaimRig) {
    rig.claimed(&rig.command(1, 100)).await;
    let by = rig.by(1);
    let serves = (0..10)
        .map(|_| rig.step(1, &by, ClaimStep::Serve))
        .collect();
    let answers = join_all(serves).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert!(answers.contains(&Err(StepRefusal::AlreadyServed)));
    let used = MicroUsd::new(101);
    let over = rig.step(1, &by, ClaimStep::Served { used }).await;
    let ceiling = MicroUsd::new(100);
    assert_eq!(
        over,
        Err(StepRefusal::OverCeiling {
            ceiling,
            asked: used
        })
    );
    let used = MicroUsd::new(100);
    rig.stepped(1, &by, ClaimStep::Served { used }).await;
    let used = MicroUsd::new(99);
    let other = rig.step(1, &by, ClaimStep::Served { used }).await;
    assert!(matches!(other, Err(StepRefusal::OutOfOrder { .. })));
}

pub(super) async fn exposure_is_capped_and_rises_with_payments(rig: ClaimRig) {
    rig.claimed(&rig.command(1, 200)).await;
    let refused = ClaimRefusal::Exposed {
        exposure: MicroUsd::new(200),
        needed: MicroUsd::new(101),
        cap: MicroUsd::new(300),
    };
    assert_eq!(rig.claim(&rig.command(2, 101)).await, Err(refused));
    let mut none = rig.command(2, 1);
    none.terms.open_max = 1;
    let refused = ClaimRefusal::TooManyOpen { open: 1, max: 1 };
    assert_eq!(rig.claim(&none).await, Err(refused));
    rig.served(3, 100, 100).await;
    let lease = rig.lease(3).await;
    rig.stepped(3, &lease, rig.send(3)).await;
    rig.stepped(3, &lease, rig.settle(3, 100)).await;
    assert_eq!(rig.figures().await, (1, 200, 0, 1, 100, 0));
    // One settled payment raises 300 to 400.
    rig.claimed(&rig.command(4, 200)).await;
    let over = rig.claim(&rig.command(5, 1)).await;
    assert!(matches!(over, Err(ClaimRefusal::Exposed { .. })));
    rig.audit().await;
}

pub(super) async fn a_released_claim_is_free_again(rig: ClaimRig) {
    rig.claimed(&rig.command(1, 100)).await;
    let released = rig.step(1, &rig.by(1), ClaimStep::Release).await;
    assert_eq!(released, Ok(None));
    assert_eq!(rig.figures().await, (0, 0, 0, 0, 0, 0));
    let late = rig.step(1, &rig.by(1), ClaimStep::Serve).await;
    assert_eq!(late, Err(StepRefusal::NoClaim));
    let mut second = rig.command(1, 100);
    second.request = rig.request(2);
    rig.claimed(&second).await;
    let late = rig.step(1, &rig.by(1), ClaimStep::Serve).await;
    assert_eq!(late, Err(StepRefusal::NotYours(rig.request(2))));
    rig.stepped(1, &rig.by(2), ClaimStep::Serve).await;
    // A settler does not know what reached the caller; the request does.
    let lease = rig.lease(1).await;
    let by_settler = rig.step(1, &lease, ClaimStep::Release).await;
    assert!(matches!(by_settler, Err(StepRefusal::OutOfOrder { .. })));
    let released = rig.step(1, &rig.by(2), ClaimStep::Release).await;
    assert_eq!(released, Ok(None));
    rig.served(3, 50, 50).await;
    let served = rig.step(3, &rig.by(3), ClaimStep::Release).await;
    assert!(matches!(served, Err(StepRefusal::OutOfOrder { .. })));
    rig.audit().await;
}

pub(super) async fn only_what_is_over_is_pruned(rig: ClaimRig) {
    rig.served(1, 50, 50).await;
    let lease = rig.lease(1).await;
    rig.stepped(1, &lease, rig.send(1)).await;
    let settled = rig.stepped(1, &lease, rig.settle(1, 50)).await;
    rig.book(&settled).await;
    rig.served(2, 50, 50).await;
    rig.claimed(&rig.command(3, 50)).await;
    rig.served(4, 50, 50).await;
    let lease = rig.lease(4).await;
    let reason = "gone".to_owned();
    rig.stepped(4, &lease, ClaimStep::Fail { reason }).await;
    let store = rig.book.store();
    store
        .prune_claims(DEADLINE_S + 1)
        .await
        .expect("the store works");
    for number in 1..=4 {
        let view = store.view(&rig.key(number)).await.expect("the store works");
        assert!(view.claim.is_some(), "{number}");
    }
    rig.audit().await;
}

pub(super) async fn what_is_owed_is_settled_and_booked(rig: ClaimRig) {
    let owed = rig.served(1, 100, 60).await;
    assert_eq!(
        (owed.stage, owed.amount),
        (ClaimStage::Owed, MicroUsd::new(60))
    );
    let lease = rig.lease(1).await;
    rig.stepped(1, &lease, rig.send(1)).await;
    let sent = rig.stepped(1, &lease, rig.send(2)).await;
    assert_eq!(sent.transactions.len(), 2);
    let over = rig.step(1, &lease, rig.settle(1, 101)).await;
    assert!(matches!(over, Err(StepRefusal::OverCeiling { .. })));
    let settled = rig.stepped(1, &lease, rig.settle(2, 60)).await;
    let other = rig.step(1, &lease, rig.settle(1, 60)).await;
    assert!(matches!(other, Err(StepRefusal::OutOfOrder { .. })));
    let booked = rig.book(&settled).await;
    assert_eq!(booked.booked, Some(MicroUsd::new(60)));
    assert_eq!(booked.due_at_ms, None);
    rig.book(&settled).await;
    assert_eq!(rig.stands().await, (60, 60, 0));
    assert_eq!(rig.figures().await, (0, 0, 0, 1, 60, 60));
    rig.audit().await;
}

pub(super) async fn an_exact_payment_leaves_credit(rig: ClaimRig) {
    let mut command = rig.command(1, 100);
    command.scheme = ClaimScheme::Exact;
    rig.claimed(&command).await;
    rig.stepped(1, &rig.by(1), ClaimStep::Serve).await;
    let used = MicroUsd::new(30);
    let owed = rig.stepped(1, &rig.by(1), ClaimStep::Served { used }).await;
    assert_eq!(owed.amount, MicroUsd::new(100));
    let lease = rig.lease(1).await;
    rig.stepped(1, &lease, rig.send(1)).await;
    let settled = rig.stepped(1, &lease, rig.settle(1, 100)).await;
    rig.book(&settled).await;
    assert_eq!(rig.stands().await, (100, 30, 70));
    rig.audit().await;
}

pub(super) async fn nothing_owed_is_void_until_pruned(rig: ClaimRig) {
    let void = rig.served(1, 100, 0).await;
    assert_eq!((void.stage, void.due_at_ms), (ClaimStage::Void, None));
    assert_eq!(rig.figures().await, (0, 0, 0, 0, 0, 0));
    let lease = rig.lease(1).await;
    let sent = rig.step(1, &lease, rig.send(1)).await;
    assert!(matches!(sent, Err(StepRefusal::OutOfOrder { .. })));
    let mut replay = rig.command(1, 100);
    replay.request = rig.request(2);
    let answer = rig.claim(&replay).await;
    assert!(matches!(answer, Ok(ClaimAnswer::AlreadyClaimed { .. })));
    let store = rig.book.store();
    store
        .prune_claims(DEADLINE_S)
        .await
        .expect("the store works");
    let view = store.view(&rig.key(1)).await.expect("the store works");
    assert!(view.claim.is_some());
    store
        .prune_claims(DEADLINE_S + 1)
        .await
        .expect("the store works");
    let view = store.view(&rig.key(1)).await.expect("the store works");
    assert!(view.claim.is_none());
    rig.audit().await;
}

pub(super) async fn a_used_proof_is_forgotten_after_its_end(rig: ClaimRig) {
    let store = rig.book.store();
    let mark = |number: u64| format!("{PROOF_MARKS}{}:{number}", rig.name);
    let (until, other) = (DEADLINE_S.to_string(), format!("link:{}", rig.name));
    for name in [mark(1), mark(2), other.clone()] {
        let first = store.swap_chain_value(&name, None, until.clone()).await;
        assert_eq!(first, Ok(true));
        let again = store.swap_chain_value(&name, None, until.clone()).await;
        assert_eq!(again, Ok(false));
    }
    let later = (DEADLINE_S + 1).to_string();
    let second = mark(2);
    let moved = store.swap_chain_value(&second, Some(until), later).await;
    assert_eq!(moved, Ok(true));
    store.prune_proofs(DEADLINE_S).await.expect("it works");
    let kept = store.chain_value(&mark(1)).await.expect("it works");
    assert!(kept.is_some());
    store.prune_proofs(DEADLINE_S + 1).await.expect("it works");
    assert_eq!(store.chain_value(&mark(1)).await, Ok(None));
    for name in [mark(2), other] {
        let kept = store.chain_value(&name).await.expect("the store works");
        assert!(kept.is_some(), "{name}");
    }
}
