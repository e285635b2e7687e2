//! No answer crosses from one caller to another, whatever their questions say.

use std::collections::BTreeMap;
use std::sync::Arc;

use bardo_cache::scope::Scope;
use bardo_engine::{Hints, Principal, Snapshot, Task};
use bardo_types::model::Dialect;
use serde_json::json;

use super::{Stub, embed_with, policy, serving};
use crate::caching::asking;
use crate::world::{Bench, Call, Read, read, world};

const ACCOUNTS: [&str; 5] = ["alice", "bob", "alic", "alice2", "carol"];
const AGENTS: [Option<&str>; 4] = [None, Some("a"), Some("b"), Some("alice")];
const QUESTIONS: [[&str; 2]; 3] = [
    ["How do I sell 1 ETH?", "How can I sell one ETH?"],
    [
        "How do I reset the password?",
        "How can I reset the password?",
    ],
    ["How do I open a vault?", "How can I open a vault?"],
];

async fn of(bench: &Bench, account: &str, agent: Option<&str>, text: &str) -> Read {
    let mut body = asking(Dialect::Chat, "gpt-5.5", text, false);
    body["bardo"] = json!({ "cache": "semantic" });
    if let Some(agent) = agent {
        body["bardo"]["golem_id"] = json!(agent);
    }
    let call = Call {
        task: Task::Generate,
        dialect: Dialect::Chat,
        body: &body,
        principal: Principal::owner(account).expect("an id"),
        hints: Hints::default(),
    };
    let call = bench.read(call).expect("a request");
    let answer = Arc::clone(&bench.engine).answer(call).await;
    read(answer.expect("an answer")).await.expect("all of it")
}

/// Fills some of the places, each with an answer of its own, then looks from random places. Each
/// look-up is told by an explanation, which asks no provider; what it says is a hit is fetched.
async fn no_hit_crosses(scope: Scope, pairs: usize) {
    let bench = Bench::start();
    embed_with(&bench.engine, &Arc::new(Stub::default()));
    bench.swap(|address| {
        let mut cache = policy(serving());
        cache.scope = scope;
        Snapshot {
            cache,
            ..world(address, true, None)
        }
    });
    let place = |account: usize, agent: usize| match scope {
        Scope::Tenant => (account, 0),
        _ => (account, agent),
    };
    let mut written: BTreeMap<((usize, usize), usize), String> = BTreeMap::new();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).expect("small") % below
    };
    let draw = |random: &mut dyn FnMut(usize) -> usize| {
        (
            random(ACCOUNTS.len()),
            random(AGENTS.len()),
            random(QUESTIONS.len()),
        )
    };
    for _ in 0..30 {
        let (account, agent, question) = draw(&mut random);
        let text = QUESTIONS[question][0];
        let answer = of(&bench, ACCOUNTS[account], AGENTS[agent], text).await;
        let at = (place(account, agent), question);
        let id = answer.json()["choices"][0]["message"]["content"].to_string();
        written.entry(at).or_insert(id);
    }
    let calls = bench.received().await.len();
    assert_eq!(calls, written.len());
    let mut hits = 0;
    for pair in 0..pairs {
        let (account, agent, question) = draw(&mut random);
        let expected = written.get(&(place(account, agent), question));
        let text = QUESTIONS[question][1];
        let mut body = asking(Dialect::Chat, "gpt-5.5", text, false);
        body["bardo"] = json!({ "cache": "semantic" });
        if let Some(agent) = AGENTS[agent] {
            body["bardo"]["golem_id"] = json!(agent);
        }
        let mut received = bench.received_request(Dialect::Chat, &body);
        received.principal = Principal::owner(ACCOUNTS[account]).expect("an id");
        let explained = bench
            .engine
            .explain_cache(received)
            .await
            .expect("a request");
        let found = explained.semantic.expect("a part").result;
        let at = format!(
            "{scope:?} {} {:?} {question}",
            ACCOUNTS[account], AGENTS[agent]
        );
        assert_eq!(found == "hit", expected.is_some(), "{at}: {found}");
        if let Some(expected) = expected {
            hits += 1;
            if pair % 10 == 0 {
                let answer = of(&bench, ACCOUNTS[account], AGENTS[agent], text).await;
                assert_eq!(answer.head.cache, "semantic", "{at}");
                let content = &answer.json()["choices"][0]["message"]["content"];
                assert_eq!(content.to_string(), *expected, "{at}");
            }
        }
    }
    assert!(hits > pairs / 10, "{hits}");
    assert_eq!(bench.received().await.len(), calls, "no provider is called");
}

#[tokio::test]
async fn no_hit_by_meaning_crosses_from_one_agent_to_another_in_many_pairs() {
    no_hit_crosses(Scope::Agent, 7_000).await;
}

#[tokio::test]
async fn no_hit_by_meaning_crosses_from_one_account_to_another_in_many_pairs() {
    no_hit_crosses(Scope::Tenant, 5_000).await;
}
