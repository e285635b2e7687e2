//! Identical requests at the same time: one call of a provider, answers for all.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use bardo_engine::{Answer, AnswerBody, Claim, EngineError, Task};
use bardo_types::ids::KeyId;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::Receipt;
use serde_json::{Value, json};

use crate::caching::{asking, purse, said, words};
use crate::purse::Purse;
use crate::world::{read, script, waits};

type Answering = Pin<Box<dyn Future<Output = Result<Answer, EngineError>>>>;

/// A slow answer of some twenty events.
fn slow(mark: &str, stream: bool, dialect: Dialect, model: &str) -> Value {
    let text = format!(
        "{mark}: {}",
        "one more sentence keeps the stream going. ".repeat(6)
    );
    let script = script(json!([{ "text": text, "delay_ms": 1 }]));
    asking(dialect, model, &script, stream)
}

fn begin(purse: &Arc<Purse>, dialect: Dialect, body: &Value) -> Answering {
    let (purse, body) = (Arc::clone(purse), body.clone());
    Box::pin(async move { purse.begin(dialect, &body).await })
}

fn is_free(receipt: &&Receipt) -> bool {
    receipt.amounts.charge == MicroUsd::ZERO && &*receipt.cache == "hash"
}

#[tokio::test]
async fn a_thousand_identical_requests_make_one_call_one_charge_and_a_thousand_answers() {
    let purse = Arc::new(purse().await);
    let mut all = Vec::new();
    for number in 0..1_000 {
        let purse = Arc::clone(&purse);
        all.push(tokio::spawn(async move {
            let body = slow("crowd", number % 2 == 0, Dialect::Chat, "gpt-5.5");
            purse.ask(Dialect::Chat, &body).await
        }));
    }
    for answer in all {
        let answer = answer.await.expect("no panic").expect("an answer");
        assert!(said(&answer.text).contains("crowd"), "{}", answer.text);
    }
    assert_eq!(purse.bench.received().await.len(), 1);
    let receipts = purse.settled().await;
    assert_eq!(receipts.len(), 1_000);
    assert_eq!(receipts.iter().filter(is_free).count(), 999);
    let charged: u64 = receipts.iter().map(|one| one.amounts.charge.get()).sum();
    assert_eq!(purse.balance().await.spent, MicroUsd::new(charged));
}

#[tokio::test]
async fn an_answer_that_was_stored_after_a_request_arrived_is_served_to_it() {
    let purse = purse().await;
    let body = slow("late", false, Dialect::Chat, "gpt-5.5");
    let early = purse
        .read_as(Task::Generate, Dialect::Chat, &body)
        .expect("a request");
    purse.tick();
    purse.ask(Dialect::Chat, &body).await.expect("an answer");
    let answer = Arc::clone(&purse.bench.engine).answer(early).await;
    assert_eq!(answer.expect("an answer").head.cache, "hash");
    assert_eq!(purse.bench.received().await.len(), 1);
}

#[tokio::test]
async fn followers_get_the_whole_answer_wherever_the_leader_leaves_its_stream() {
    for (dialect, model) in [
        (Dialect::Chat, "gpt-5.5"),
        (Dialect::Chat, "claude-sonnet-5-5"),
        (Dialect::Anthropic, "claude-sonnet-5-5"),
    ] {
        let mut was_going = true;
        for pieces in 0.. {
            let place = format!("{dialect:?} {model} {pieces}");
            let purse = Arc::new(purse().await);
            let streamed = slow(&place, true, dialect, model);
            let mut leader = begin(&purse, dialect, &streamed);
            assert!(waits(&mut leader), "{place}");
            let mut early = begin(&purse, dialect, &slow(&place, false, dialect, model));
            assert!(waits(&mut early), "{place}");
            let AnswerBody::Stream(mut stream) = leader.await.expect(&place).body else {
                unreachable!("a stream was asked for");
            };
            for _ in 0..pieces {
                let next = std::future::poll_fn(|cx| stream.poll_next(cx)).await;
                was_going &= next.is_some();
            }
            let late = begin(&purse, dialect, &streamed).await.expect(&place);
            drop(stream);
            for answer in [late, early.await.expect(&place)] {
                let answer = read(answer).await.expect(&place);
                assert!(said(&answer.text).contains(&place), "{}", answer.text);
                let end = match (dialect, answer.text.contains("data:")) {
                    (_, false) => "going. ",
                    (Dialect::Anthropic, true) => "message_stop",
                    (_, true) => "[DONE]",
                };
                assert!(answer.text.contains(end), "{place}: {}", answer.text);
            }
            assert_eq!(purse.bench.received().await.len(), 1, "{place}");
            let receipts = purse.settled().await;
            assert_eq!(receipts.len(), 3, "{place}");
            assert_eq!(receipts.iter().filter(is_free).count(), 2, "{place}");
            assert!(purse.balance().await.spent > MicroUsd::ZERO, "{place}");
            if !was_going {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_leader_that_leaves_before_its_answer_begins_hands_its_call_on() {
    for stream in [true, false] {
        let purse = Arc::new(purse().await);
        let body = slow("handed on", stream, Dialect::Chat, "gpt-5.5");
        let mut leader = begin(&purse, Dialect::Chat, &body);
        assert!(waits(&mut leader));
        let mut follower = begin(&purse, Dialect::Chat, &body);
        assert!(waits(&mut follower));
        drop(leader);
        let answer = read(follower.await.expect("an answer")).await;
        assert!(said(&answer.expect("all of it").text).contains("handed on"));
        assert_eq!(purse.bench.received().await.len(), 1, "{stream}");
        let receipts = purse.settled().await;
        assert_eq!(receipts.len(), 2, "{stream}");
        assert_eq!(receipts.iter().filter(is_free).count(), 1, "{stream}");
    }
}

#[tokio::test]
async fn the_key_of_a_leader_that_leaves_is_free_unless_its_call_was_made_or_will_be() {
    let mut was_free = Vec::new();
    for (polls, is_followed) in (0..16).flat_map(|polls| [(polls, false), (polls, true)]) {
        let place = format!("{polls} {is_followed}");
        let purse = Arc::new(purse().await);
        let body = slow(&place, false, Dialect::Chat, "gpt-5.5");
        let claim = || {
            let keys = purse.bench.engine.idempotency();
            keys.claim(&purse.account, "k", "/v1/chat/completions", b"{}")
        };
        let Claim::Run(claimed) = claim() else {
            unreachable!("a new key");
        };
        let call = purse.read_as(Task::Generate, Dialect::Chat, &body);
        let engine = Arc::clone(&purse.bench.engine);
        let mut leader = Box::pin(engine.answer_once(call.expect("a request"), Some(claimed)));
        let mut follower = begin(&purse, Dialect::Chat, &body);
        for _ in 0..polls {
            let cx = &mut Context::from_waker(Waker::noop());
            assert!(leader.as_mut().poll(cx).is_pending(), "{place}");
            assert!(!is_followed || follower.as_mut().poll(cx).is_pending());
        }
        drop(leader);
        if is_followed {
            let answer = read(follower.await.expect("an answer")).await;
            assert!(said(&answer.expect("all of it").text).contains(&place));
        }
        let receipts = purse.settled().await;
        let has_receipt = receipts.len() > usize::from(is_followed);
        let is_free = matches!(claim(), Claim::Run(_));
        assert_eq!(is_free, !has_receipt, "{place}");
        was_free.push(is_free);
    }
    assert!(was_free[0] && was_free[1] && !was_free[30] && !was_free[31]);
}

#[tokio::test]
async fn the_call_ends_when_the_last_of_them_has_left() {
    let purse = Arc::new(purse().await);
    let body = slow("left alone", true, Dialect::Chat, "gpt-5.5");
    let mut leader = begin(&purse, Dialect::Chat, &body);
    assert!(waits(&mut leader));
    let mut follower = begin(&purse, Dialect::Chat, &body);
    assert!(waits(&mut follower));
    drop(leader);
    drop(follower);
    // Nothing was stored, so the next one makes its own call.
    let answer = purse.ask(Dialect::Chat, &body).await.expect("an answer");
    assert_eq!(answer.head.cache, "miss");
    purse.settled().await;
}

#[tokio::test]
async fn followers_of_a_leader_that_failed_are_free_and_few_call_at_a_time() {
    let purse = Arc::new(purse().await);
    let body = slow("freed", false, Dialect::Chat, "gpt-5.5");
    let fault = json!({ "kind": "status", "status": 400 });
    purse.bench.fault("openai", 2, fault).await;
    let mut all: Vec<Answering> = Vec::new();
    for _ in 0..20 {
        let mut one = begin(&purse, Dialect::Chat, &body);
        assert!(waits(&mut one));
        all.push(one);
    }
    let tasks = tokio::task::LocalSet::new();
    let answers = tasks
        .run_until(async {
            let spawned = all.into_iter().map(tokio::task::spawn_local);
            let mut answers = Vec::new();
            for one in spawned.collect::<Vec<_>>() {
                answers.push(one.await.expect("no panic"));
            }
            answers
        })
        .await;
    let failed = answers.iter().filter(|answer| answer.is_err()).count();
    // One led and failed, then another one, then two at most.
    assert_eq!(failed, 2);
    assert!(purse.bench.received().await.len() <= 4);
    let receipts = purse.settled().await;
    assert!(receipts.iter().filter(is_free).count() >= 16);
}

#[tokio::test]
async fn followers_that_wait_for_the_whole_of_a_stream_that_breaks_are_answered() {
    let purse = Arc::new(purse().await);
    let cut = json!({ "kind": "cut_after", "events": 6 });
    purse.bench.fault("openai", 1, cut).await;
    let streamed = slow("broken", true, Dialect::Chat, "gpt-5.5");
    let leader = purse.begin(Dialect::Chat, &streamed).await.expect("a head");
    let whole = slow("broken", false, Dialect::Chat, "gpt-5.5");
    let mut all: Vec<Answering> = (0..5)
        .map(|_| begin(&purse, Dialect::Chat, &whole))
        .collect();
    for one in &mut all {
        assert!(waits(one), "the stream is not over");
    }
    // The leader reads its stream up to the cut.
    drop(read(leader).await);
    assert_eq!(purse.bench.received().await.len(), 1);
    let tasks = tokio::task::LocalSet::new();
    let answered = tasks.run_until(async {
        let spawned: Vec<_> = all.into_iter().map(tokio::task::spawn_local).collect();
        for one in spawned {
            one.await.expect("no panic").expect("an answer");
        }
    });
    answered.await;
    // One of them called the provider again.
    assert_eq!(purse.bench.received().await.len(), 2);
}

#[tokio::test]
async fn a_follower_saves_what_the_answer_costs_where_no_list_has_a_price() {
    for stream in [true, false] {
        let purse = Arc::new(purse().await);
        // A name that stands for several models has no list price.
        let body = slow("saved", stream, Dialect::Chat, "bardo/t1");
        let mut all: Vec<Answering> = (0..3)
            .map(|_| begin(&purse, Dialect::Chat, &body))
            .collect();
        for one in &mut all {
            assert!(waits(one));
        }
        let tasks = tokio::task::LocalSet::new();
        let read_all = tasks.run_until(async {
            let spawned: Vec<_> = all.into_iter().map(tokio::task::spawn_local).collect();
            for one in spawned {
                let answer = one.await.expect("no panic").expect("an answer");
                read(answer).await.expect("all of it");
            }
        });
        read_all.await;
        let receipts = purse.settled().await;
        let paid = receipts.iter().find(|one| !is_free(one)).expect("a leader");
        assert!(paid.amounts.charge > MicroUsd::ZERO);
        let saved: Vec<_> = receipts
            .iter()
            .filter(is_free)
            .map(Receipt::savings)
            .collect();
        assert_eq!(saved, [Some(paid.amounts.charge); 2], "stream: {stream}");
    }
}

#[tokio::test]
async fn a_request_is_not_cut_by_the_cap_of_another_key() {
    // A cap below the first slice, which is said at the start, and one that only ends the answer.
    for (stream, model, cap, sentences) in [
        (true, "gpt-5.5", 120_000, 200),
        (false, "gpt-5.5", 120_000, 200),
        (true, "deepseek-v4-pro", 1_700_000, 2_000),
        (false, "deepseek-v4-pro", 1_700_000, 2_000),
    ] {
        let mut purse = purse().await;
        let text = "one more sentence keeps the stream going. ".repeat(sentences);
        let script = script(json!([{ "text": text }]));
        let mut body = asking(Dialect::Chat, model, &script, true);
        body.as_object_mut()
            .expect("an object")
            .remove("max_tokens");
        purse.key.scopes.spend.day = Some(MicroUsd::new(cap));
        let capped = purse.begin(Dialect::Chat, &body).await.expect("a head");
        let is_said = capped.head.degraded.contains("max_tokens");
        assert_eq!(is_said, model == "gpt-5.5", "{:?}", capped.head);
        let same = purse.begin(Dialect::Chat, &body).await.expect("a head");
        assert_eq!(same.head.cache, "hash", "of the same key");
        purse.key.id = KeyId::parse("k2").expect("an id");
        purse.key.scopes.spend.day = None;
        body["stream"] = json!(stream);
        let free = purse.begin(Dialect::Chat, &body).await.expect("a head");
        assert!(
            !free.head.degraded.contains("max_tokens"),
            "{:?}",
            free.head
        );
        let (capped, free) = (read(capped).await, read(free).await);
        let free = said(&free.expect("all of it").text);
        assert!(free.contains(&text), "{}", free.len());
        let capped = capped.map(|answer| said(&answer.text));
        assert!(capped.is_ok_and(|said| !said.contains(&text)));
        drop(same);
        purse.settled().await;
    }
}

#[tokio::test]
async fn a_subsystem_whose_floor_is_private_has_no_part_in_the_cache() {
    let purse = purse().await;
    for (subsystem, second) in [
        ("context", "hash"),
        ("daimon", "bypass"),
        ("mind-wandering", "bypass"),
    ] {
        let mut body = asking(Dialect::Chat, "gemini-3-flash", &words(subsystem), false);
        // No backend keeps to the floor, so it yields.
        body["bardo"] = json!({
            "cache": "default", "subsystem": subsystem, "accept_degraded": true,
        });
        body["temperature"] = json!(0);
        purse.ask(Dialect::Chat, &body).await.expect(subsystem);
        let again = purse.ask(Dialect::Chat, &body).await.expect(subsystem);
        assert_eq!(again.head.cache, second, "{subsystem}");
    }
}

#[tokio::test]
async fn answers_of_a_model_that_the_gateway_chose_are_stored_too() {
    let purse = purse().await;
    for (model, hints) in [
        ("bardo/auto", json!({})),
        ("bardo/t1", json!({})),
        ("bardo/t2", json!({})),
        (
            "bardo/auto",
            json!({ "intent": { "model": "claude-sonnet-5-5" } }),
        ),
        (
            "bardo/auto",
            json!({ "golem_id": "g", "subsystem": "playbook" }),
        ),
    ] {
        let mut body = asking(Dialect::Chat, model, &words("open"), false);
        for (name, hint) in hints.as_object().expect("hints") {
            body["bardo"][name] = hint.clone();
        }
        for expected in ["miss", "hash"] {
            let answer = purse.ask(Dialect::Chat, &body).await.expect("an answer");
            assert_eq!(answer.head.cache, expected, "{model} {hints}");
        }
    }
}

#[tokio::test]
async fn each_spelling_of_how_to_think_has_its_own_answer() {
    let purse = purse().await;
    let base = slow("thinks", false, Dialect::Chat, "deepseek-v4-pro");
    for (name, value) in [
        ("thinking", json!({ "type": "disabled" })),
        ("reasoning", json!({ "enabled": false })),
    ] {
        let mut body = base.clone();
        body[name] = value;
        for expected in ["miss", "hash"] {
            let answer = purse.ask(Dialect::Chat, &body).await.expect(name);
            assert_eq!(answer.head.cache, expected, "{name}");
        }
    }
}
