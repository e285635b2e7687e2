mod shared;

use super::kept::{ANSWERS_MAX, KEYS_MAX, KEYS_PER_ACCOUNT_MAX, REMEMBERED};
use super::*;

const PATH: &str = "/v1/chat/completions";

fn account(name: &str) -> AccountId {
    AccountId::parse(name).unwrap()
}

fn claim(keys: &Idempotency, key: &str) -> Claim {
    keys.claim(&account("alice"), key, PATH, b"{}")
}

#[track_caller]
fn run(claim: Claim) -> Claimed {
    match claim {
        Claim::Run(claimed) => claimed,
        other => panic!("{}", name(&other)),
    }
}

fn name(claim: &Claim) -> &'static str {
    match claim {
        Claim::Run(_) => "run",
        Claim::Replay(_) => "replay",
        Claim::Wait(_) => "wait",
        Claim::InProgress => "in progress",
        Claim::Mismatch => "mismatch",
        Claim::Unknown => "unknown",
    }
}

/// Sends a request to a provider.
fn send(claimed: &mut Claimed, streams: bool) {
    let sent = SentMark::watched();
    claimed.begin(streams, sent.clone());
    sent.set();
}

fn answer(bytes: usize) -> Option<Kept> {
    Some(Kept {
        head: AnswerHead::default(),
        body: KeptBody::Whole(vec![b'x'; bytes].into()),
    })
}

#[test]
fn the_first_runs_and_the_rest_get_its_answer() {
    let keys = Idempotency::default();
    let mut first = run(claim(&keys, "k"));
    assert_eq!(name(&claim(&keys, "k")), "wait");
    send(&mut first, false);
    first.keep(answer(5));
    for _ in 0..3 {
        let Claim::Replay(kept) = claim(&keys, "k") else {
            panic!("it is not replayed");
        };
        assert_eq!(kept.body.len(), 5);
    }
}

#[test]
fn another_path_or_body_is_another_request_and_another_account_or_key_another_name() {
    let keys = Idempotency::default();
    let alice = account("alice");
    let first = run(keys.claim(&alice, "k", PATH, b"{}"));
    for (path, body) in [
        (PATH, &b"{ }"[..]),
        ("/v1/messages", b"{}"),
        ("/v1/chat/completion", b"s{}"),
    ] {
        let other = keys.claim(&alice, "k", path, body);
        assert_eq!(name(&other), "mismatch", "{path}");
    }
    first.keep(answer(1));
    assert_eq!(name(&keys.claim(&alice, "k", PATH, b"[]")), "mismatch");
    let bob = account("bob");
    assert_eq!(name(&keys.claim(&bob, "k", PATH, b"{}")), "run");
    assert_eq!(name(&keys.claim(&alice, "K", PATH, b"{}")), "run");
}

#[test]
fn whoever_leaves_leaves_an_unknown_outcome_once_it_was_sent() {
    let keys = Idempotency::default();
    drop(run(claim(&keys, "k")));
    let mut begun = run(claim(&keys, "k"));
    begun.begin(false, SentMark::watched());
    drop(begun);
    let mut second = run(claim(&keys, "k"));
    send(&mut second, false);
    drop(second);
    assert_eq!(name(&claim(&keys, "k")), "unknown");
}

#[test]
fn what_surely_did_nothing_frees_the_key() {
    let keys = Idempotency::default();
    let mut first = run(claim(&keys, "k"));
    send(&mut first, true);
    first.free();
    run(claim(&keys, "k"));
}

#[test]
fn streams_are_not_waited_for_and_are_kept_as_they_went_out() {
    let keys = Idempotency::default();
    let mut claimed = run(claim(&keys, "k"));
    send(&mut claimed, true);
    assert_eq!(name(&claim(&keys, "k")), "in progress");
    let mut recorder = Recorder {
        claimed,
        head: AnswerHead::default(),
        body: Some(<_>::default()),
    };
    recorder.data(b"data: 1\n\n");
    recorder.data(b"data: 2\n\n");
    recorder.end(None);
    let Claim::Replay(kept) = claim(&keys, "k") else {
        panic!("it is not replayed");
    };
    let KeptBody::Stream(stream) = &kept.body else {
        panic!("it was a stream: {kept:?}");
    };
    assert_eq!(stream.pieces().concat(), b"data: 1\n\ndata: 2\n\n");
}

#[test]
fn an_answer_that_is_too_large_is_not_kept_and_not_made_again() {
    let keys = Idempotency::default();
    let mut claimed = run(claim(&keys, "k"));
    send(&mut claimed, true);
    let mut recorder = Recorder {
        claimed,
        head: AnswerHead::default(),
        body: Some(<_>::default()),
    };
    for _ in 0..=ANSWER_MAX / 1024 {
        recorder.data(&[b'x'; 1024]);
    }
    recorder.end(None);
    assert_eq!(name(&claim(&keys, "k")), "unknown");
    assert_eq!(keys.table().sizes(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_go_on_when_the_first_ends() {
    let keys = Idempotency::default();
    for ends_well in [true, false] {
        let key = ends_well.to_string();
        let first = run(claim(&keys, &key));
        let Claim::Wait(running) = claim(&keys, &key) else {
            panic!("nothing to wait for");
        };
        let waiting = tokio::spawn(running.ended());
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!waiting.is_finished());
        if ends_well {
            first.keep(answer(1));
        } else {
            first.free();
        }
        waiting.await.unwrap();
        let then = if ends_well { "replay" } else { "run" };
        assert_eq!(name(&claim(&keys, &key)), then);
    }
}

#[tokio::test(start_paused = true)]
async fn keys_are_forgotten_after_a_day_unless_they_are_running() {
    let keys = Idempotency::default();
    let running = run(claim(&keys, "running"));
    run(claim(&keys, "kept")).keep(answer(7));
    tokio::time::advance(REMEMBERED - Duration::from_secs(1)).await;
    assert_eq!(name(&claim(&keys, "kept")), "replay");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(name(&claim(&keys, "running")), "wait");
    assert_eq!(keys.table().sizes(), (1, 0));
    drop(running);
}

#[test]
fn memory_is_bounded_by_answers_first_and_then_by_keys() {
    let keys = Idempotency::default();
    for index in 0..200 {
        run(claim(&keys, &index.to_string())).keep(answer(ANSWER_MAX));
    }
    assert_eq!(keys.table().sizes(), (200, ANSWERS_MAX));
    assert_eq!(name(&claim(&keys, "0")), "unknown");
    assert_eq!(name(&claim(&keys, "199")), "replay");
    // One account's flood costs itself its oldest keys, and nobody else.
    let bob = account("bob");
    run(keys.claim(&bob, "k", PATH, b"")).keep(answer(1));
    let busy = run(claim(&keys, "busy"));
    for index in 0..KEYS_MAX {
        run(claim(&keys, &format!("flood-{index}"))).keep(answer(1));
    }
    assert_eq!(keys.table().sizes().0, KEYS_PER_ACCOUNT_MAX + 1);
    assert_eq!(name(&keys.claim(&bob, "k", PATH, b"")), "replay");
    assert_eq!(name(&claim(&keys, "busy")), "wait");
    drop(busy);
    for index in 0..KEYS_MAX + 10 {
        let account = account(&format!("user-{index}"));
        run(keys.claim(&account, "k", PATH, b"")).keep(answer(1));
    }
    assert_eq!(keys.table().sizes().0, KEYS_MAX);
}

#[test]
fn the_answers_of_one_account_displace_no_other_account_that_holds_less() {
    let keys = Idempotency::default();
    let store = |name: &str, index: usize| {
        let account = account(name);
        run(keys.claim(&account, &index.to_string(), PATH, b"")).keep(answer(ANSWER_MAX));
    };
    let has = |who: &str, index: usize| {
        name(&keys.claim(&account(who), &index.to_string(), PATH, b"")) == "replay"
    };
    store("bob", 0);
    for index in 0..200 {
        store("mallory", index);
    }
    assert_eq!(keys.table().sizes().1, ANSWERS_MAX);
    assert!(has("bob", 0));
    assert!(has("mallory", 199) && !has("mallory", 0));
    // An account that holds little takes the place of the one that holds the most.
    for index in 1..16 {
        store("bob", index);
    }
    assert!((0..16).all(|index| has("bob", index)));
    assert!(has("mallory", 199) && !has("mallory", 199 - 48));
    // Beyond its share it displaces its own.
    store("bob", 16);
    assert!(has("bob", 16) && !has("bob", 0));
    assert!(has("mallory", 199 - 47));
    assert_eq!(keys.table().sizes().1, ANSWERS_MAX);
}

/// Whatever happens in whatever order: one at a time, and never again once something may have been
/// done.
#[test]
fn a_request_is_carried_out_at_most_once_by_all_histories() {
    for seed in 0..2_000_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let keys = Idempotency::default();
        let mut running: [Option<Claimed>; 2] = [None, None];
        let mut done = [false, false];
        for _ in 0..40 {
            let which = usize::try_from(random(2)).unwrap();
            match (random(6), running[which].take()) {
                (0, Some(claimed)) => claimed.free(),
                (1, Some(mut claimed)) => {
                    send(&mut claimed, random(2) == 0);
                    done[which] = true;
                }
                (2, Some(claimed)) => {
                    claimed.keep(answer(3).filter(|_| random(2) == 0));
                    done[which] = true;
                }
                (3, Some(claimed)) => drop(claimed),
                (_, holder) => {
                    let held = holder.is_some();
                    running[which] = holder;
                    match claim(&keys, &which.to_string()) {
                        Claim::Run(claimed) => {
                            assert!(!held && !done[which], "seed {seed}");
                            running[which] = Some(claimed);
                        }
                        Claim::Wait(_) => assert!(held, "seed {seed}"),
                        Claim::Replay(_) | Claim::Unknown => {
                            assert!(done[which] && !held, "seed {seed}");
                        }
                        Claim::InProgress | Claim::Mismatch => panic!("seed {seed}"),
                    }
                }
            }
            keys.table().sizes();
        }
    }
}
