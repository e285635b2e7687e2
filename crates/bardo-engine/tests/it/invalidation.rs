//! Stored answers that are removed before their time, because what they depend on has changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bardo_cache::entry::CachedAnswer;
use bardo_cache::key::Key;
use bardo_cache::second::{LevelFuture, LevelLosses, Loss, SecondFetch, SecondLevel};
use bardo_cache::store::{Flush, Limits};
use bardo_cache::tags::CacheTag;
use bardo_cache::ttl::MarketRegime;
use bardo_engine::{AnswerCache, Engine, FlushCause, Services};
use bardo_providers::transport::Transport;
use bardo_types::ids::AccountId;
use bardo_types::model::Dialect;
use serde_json::{Value, json};

use crate::caching::{asking, purse, words};
use crate::purse::Purse;
use crate::world::{Silent, read, world};

/// A question of an agent about a market.
fn about_a_market(agent: &str, regime: Option<&str>) -> Value {
    let mut body = asking(Dialect::Chat, "gpt-5.5", &words("market"), false);
    body["bardo"] = json!({ "cache": "default", "golem_id": agent, "domain": "defi" });
    if let Some(regime) = regime {
        body["bardo"]["regime"] = json!(regime);
    }
    body
}

async fn place(purse: &Purse, body: &Value) -> String {
    let answer = purse.ask(Dialect::Chat, body).await;
    answer.expect("an answer").head.cache.into_owned()
}

#[tokio::test]
async fn an_agent_that_names_another_regime_loses_its_answers_about_the_market_alone() {
    let purse = purse().await;
    let facts = asking(Dialect::Chat, "gpt-5.5", &words("facts"), false);
    let (calm, crisis) = (Some("calm"), Some("crisis"));
    for body in [
        about_a_market("one", calm),
        about_a_market("two", calm),
        facts.clone(),
    ] {
        assert_eq!(place(&purse, &body).await, "miss");
        assert_eq!(place(&purse, &body).await, "hash");
    }
    assert_eq!(place(&purse, &about_a_market("one", crisis)).await, "miss");
    assert_eq!(place(&purse, &about_a_market("one", crisis)).await, "hash");
    assert_eq!(place(&purse, &about_a_market("two", calm)).await, "hash");
    assert_eq!(place(&purse, &facts).await, "hash");
    let counts = purse.bench.engine.cache().counts();
    assert_eq!(counts.invalidations, [("regime", 1)]);
}

#[tokio::test]
async fn the_regime_of_the_operator_holds_for_requests_that_name_none() {
    let purse = purse().await;
    let engine = &purse.bench.engine;
    let body = about_a_market("one", None);
    assert_eq!(place(&purse, &body).await, "miss");
    let removed = engine.set_regime(Some(MarketRegime::Crisis)).await.removed;
    assert_eq!((removed, engine.regime()), (1, Some(MarketRegime::Crisis)));
    assert_eq!(place(&purse, &body).await, "miss");
    let again = engine.set_regime(Some(MarketRegime::Crisis)).await.removed;
    assert_eq!(again, 0, "it is the same regime");
    assert_eq!(place(&purse, &body).await, "hash");
}

#[tokio::test]
async fn another_playbook_of_an_agent_removes_the_answers_of_the_one_before() {
    let purse = purse().await;
    let carrying = |playbook: &str| {
        let mut body = asking(Dialect::Chat, "gpt-5.5", &words("book"), false);
        let system = json!({ "role": "system", "content": format!("# PLAYBOOK\n{playbook}") });
        let messages = body["messages"].as_array_mut().expect("a list");
        messages.insert(0, system);
        body["bardo"] = json!({ "cache": "default", "golem_id": "one", "subsystem": "context" });
        body
    };
    let entries = || purse.bench.engine.cache().store().stats().entries;
    assert_eq!(place(&purse, &carrying("Buy low.")).await, "miss");
    assert_eq!(place(&purse, &carrying("Buy low.")).await, "hash");
    assert_eq!(place(&purse, &carrying("Buy high.")).await, "miss");
    assert_eq!(entries(), 1, "the answers of the playbook before are gone");
    let counts = purse.bench.engine.cache().counts();
    assert_eq!(counts.invalidations, [("playbook", 1)]);
}

#[tokio::test]
async fn an_answer_under_way_when_its_entry_is_removed_is_not_stored() {
    let purse = purse().await;
    let mut body = about_a_market("one", None);
    body["stream"] = json!(true);
    let under_way = purse.begin(Dialect::Chat, &body).await.expect("an answer");
    let other = Flush::Tag(None, CacheTag::Domain("weather".into()));
    let own = Flush::Tag(None, CacheTag::Domain("defi".into()));
    let engine = &purse.bench.engine;
    engine.invalidate(&[other, own], FlushCause::Chain).await;
    read(under_way).await.expect("it is delivered all the same");
    purse.settled().await;
    assert_eq!(place(&purse, &body).await, "miss");
    assert_eq!(place(&purse, &body).await, "hash");
    let counts = engine.cache().counts();
    assert_eq!(counts.unstored, [("flushed", 1)]);
}

/// A level behind the memory that can be away.
#[derive(Default)]
struct Level {
    is_away: AtomicBool,
    told: Mutex<Vec<Flush>>,
    losses: LevelLosses,
}

impl SecondLevel for Level {
    fn get<'a>(&'a self, _key: &'a Key) -> LevelFuture<'a, SecondFetch> {
        Box::pin(std::future::ready(SecondFetch::Absent))
    }

    fn put<'a>(&'a self, _: &'a CachedAnswer, _: u64) -> LevelFuture<'a, Result<(), Loss>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn flush<'a>(&'a self, flush: &'a Flush) -> LevelFuture<'a, Result<u64, Loss>> {
        let done = if self.is_away.load(Ordering::Relaxed) {
            Err(Loss::Down)
        } else {
            self.told
                .lock()
                .expect("no thread panics")
                .push(flush.clone());
            Ok(1)
        };
        Box::pin(std::future::ready(done))
    }

    fn losses(&self) -> &LevelLosses {
        &self.losses
    }

    fn mode(&self) -> &'static str {
        "up"
    }
}

#[tokio::test]
async fn a_removal_that_the_level_behind_misses_is_told_once_it_is_back() {
    let level = Arc::new(Level::default());
    let second = Some(Arc::clone(&level) as Arc<dyn SecondLevel>);
    let address = ([127, 0, 0, 1], 9).into();
    let services = Services::without_money(Arc::new(Silent));
    let transport = Transport::new(Duration::from_secs(5));
    let engine = Engine::new(world(address, true, None), transport, services)
        .with_cache(AnswerCache::new(Limits::default(), || None, second));
    let removals = ["a", "b"].map(|name| Flush::Tenant(AccountId::parse(name).expect("an id")));

    level.is_away.store(true, Ordering::Relaxed);
    let done = engine.invalidate(&removals, FlushCause::Account).await;
    assert_eq!(done.second, Some(Err(Loss::Down)));
    assert_eq!(engine.follow_flushes().await, Err(Loss::Down));
    assert!(level.told.lock().expect("no thread panics").is_empty());

    level.is_away.store(false, Ordering::Relaxed);
    for _ in 0..2 {
        assert_eq!(engine.follow_flushes().await, Ok(()));
    }
    assert_eq!(
        *level.told.lock().expect("no thread panics"),
        removals,
        "each once, in their order"
    );
}
