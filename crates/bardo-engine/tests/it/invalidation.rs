//! Stored answers that are removed before their time, because what they depend on has changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;
use std::time::Duration;

use bardo_cache::entry::CachedAnswer;
use bardo_cache::key::Key;
use bardo_cache::second::{
    FlushNews, LastFlush, LevelFuture, LevelLosses, Loss, SecondFetch, SecondLevel,
};
use bardo_cache::store::{Flush, Limits};
use bardo_cache::tags::CacheTag;
use bardo_cache::ttl::MarketRegime;
use bardo_engine::{AnswerCache, Engine, FlushCause, Hints, Principal, Services, Snapshot, Task};
use bardo_providers::transport::Transport;
use bardo_types::ids::AccountId;
use bardo_types::model::Dialect;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::caching::{asking, policy, purse, words};
use crate::purse::Purse;
use crate::world::{Bench, Call, Silent, read, waits, world};

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
async fn a_playbook_with_another_ephemeral_text_is_the_same_playbook() {
    let purse = purse().await;
    let carrying = |tick: &str| {
        let mut body = asking(Dialect::Chat, "gpt-5.5", &words("book"), false);
        let system = json!({ "role": "system", "content": format!("# PLAYBOOK\nBuy low. {tick}") });
        let messages = body["messages"].as_array_mut().expect("a list");
        messages.insert(0, system);
        body["bardo"] = json!({
            "cache": "default", "golem_id": "one", "subsystem": "context", "ephemeral": [tick],
        });
        body
    };
    assert_eq!(place(&purse, &carrying("tick 1")).await, "miss");
    assert_eq!(place(&purse, &carrying("tick 2")).await, "hash");
    assert!(purse.bench.engine.cache().counts().invalidations.is_empty());
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

#[tokio::test]
async fn a_request_behind_a_removal_does_not_share_an_answer_from_before_it() {
    let purse = purse().await;
    let engine = &purse.bench.engine;
    let streamed = |regime| {
        let mut body = about_a_market("one", Some(regime));
        body["stream"] = json!(true);
        body
    };
    let begin = async |regime| {
        let answer = purse.begin(Dialect::Chat, &streamed(regime)).await;
        answer.expect("an answer")
    };
    let before = begin("calm").await;
    engine
        .invalidate(&[Flush::Market(None)], FlushCause::Chain)
        .await;
    let behind = begin("calm").await;
    assert_eq!(behind.head.cache, "miss", "an event on a chain");
    assert_eq!(begin("calm").await.head.cache, "hash", "the newer one");
    let crisis = begin("crisis").await;
    assert_eq!(crisis.head.cache, "miss", "another regime");
    let other = Flush::Tag(None, CacheTag::Domain("weather".into()));
    engine.invalidate(&[other], FlushCause::Chain).await;
    assert_eq!(begin("crisis").await.head.cache, "hash");
    for answer in [before, behind, crisis] {
        read(answer).await.expect("all of it");
    }
    purse.settled().await;
    assert_eq!(place(&purse, &streamed("crisis")).await, "hash");
}

/// A level behind the memory that can be away.
#[derive(Default)]
struct Level {
    is_away: AtomicBool,
    /// Carries out no more removals than it has permits.
    gate: Option<Semaphore>,
    told: Mutex<Vec<Flush>>,
    losses: LevelLosses,
}

impl SecondLevel for Level {
    fn get<'a>(&'a self, _key: &'a Key) -> LevelFuture<'a, SecondFetch> {
        Box::pin(std::future::ready(SecondFetch::Absent))
    }

    fn put<'a>(
        &'a self,
        _: &'a CachedAnswer,
        _: u64,
        _: LastFlush,
    ) -> LevelFuture<'a, Result<(), Loss>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn flush<'a>(&'a self, flush: &'a Flush) -> LevelFuture<'a, Result<u64, Loss>> {
        Box::pin(async move {
            if let Some(gate) = &self.gate {
                gate.acquire().await.expect("it stays open").forget();
            }
            if self.is_away.load(Ordering::Relaxed) {
                return Err(Loss::Down);
            }
            let mut told = self.told.lock().expect("no thread panics");
            told.push(flush.clone());
            Ok(1)
        })
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

#[tokio::test]
async fn a_removal_goes_on_when_its_caller_stops_waiting() {
    let level = Arc::new(Level {
        gate: Some(Semaphore::new(0)),
        ..Level::default()
    });
    let second = Some(Arc::clone(&level) as Arc<dyn SecondLevel>);
    let services = Services::without_money(Arc::new(Silent));
    let transport = Transport::new(Duration::from_secs(5));
    let engine = Engine::new(
        world(([127, 0, 0, 1], 9).into(), true, None),
        transport,
        services,
    )
    .with_cache(AnswerCache::new(Limits::default(), || None, second));
    let removals = ["a", "b"].map(|name| Flush::Tenant(AccountId::parse(name).expect("an id")));
    let mut order = engine.invalidate(&removals, FlushCause::Account);
    let begun = std::future::poll_fn(|cx| Poll::Ready(order.as_mut().poll(cx))).await;
    assert!(begun.is_pending());
    drop(order);
    let gate = level.gate.as_ref().expect("it has one");
    gate.add_permits(removals.len());
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*level.told.lock().expect("no thread panics"), removals);
}

/// A level that other processes share, with what they removed.
#[derive(Default)]
struct SharedLevel {
    entries: Mutex<Vec<CachedAnswer>>,
    /// Takes no removals, and tells those of others.
    is_full: AtomicBool,
    /// A permit for each time that it tells of removals, and then of none by name, as they are all of
    /// the asking process; `None`: it tells all at once.
    gate: Option<Semaphore>,
    removals: Mutex<Vec<Flush>>,
    losses: LevelLosses,
}

impl SharedLevel {
    fn entries(&self) -> MutexGuard<'_, Vec<CachedAnswer>> {
        self.entries.lock().expect("no thread panics")
    }

    fn removals(&self) -> MutexGuard<'_, Vec<Flush>> {
        self.removals.lock().expect("no thread panics")
    }
}

impl SecondLevel for SharedLevel {
    fn get<'a>(&'a self, key: &'a Key) -> LevelFuture<'a, SecondFetch> {
        let entries = self.entries();
        let found = entries.iter().find(|entry| entry.key == *key).cloned();
        let entry = found.map_or(SecondFetch::Absent, |entry| {
            SecondFetch::Entry(Box::new(entry))
        });
        Box::pin(std::future::ready(entry))
    }

    fn put<'a>(
        &'a self,
        entry: &'a CachedAnswer,
        _: u64,
        _: LastFlush,
    ) -> LevelFuture<'a, Result<(), Loss>> {
        self.entries().push(entry.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    /// Removes everything, whatever is named.
    fn flush<'a>(&'a self, flush: &'a Flush) -> LevelFuture<'a, Result<u64, Loss>> {
        if self.is_full.load(Ordering::Relaxed) {
            return Box::pin(std::future::ready(Err(Loss::Down)));
        }
        self.entries().clear();
        self.removals().push(flush.clone());
        Box::pin(std::future::ready(Ok(0)))
    }

    fn flushes<'a>(&'a self, after: Option<LastFlush>) -> LevelFuture<'a, Result<FlushNews, Loss>> {
        Box::pin(async move {
            if let Some(gate) = &self.gate {
                gate.acquire().await.expect("never closed").forget();
            }
            let removals = self.removals();
            let number = removals.len() as u64;
            let after = after.map_or(number, |after| after.number);
            let since = removals.get(usize::try_from(after).expect("a few")..);
            let of_others = |since: &[Flush]| match self.gate {
                Some(_) => Vec::new(),
                None => since.to_vec(),
            };
            Ok(FlushNews {
                last: LastFlush { number, mark: 0 },
                flushes: since.map(of_others),
                is_back: since.is_none(),
            })
        })
    }

    fn losses(&self) -> &LevelLosses {
        &self.losses
    }

    fn mode(&self) -> &'static str {
        "up"
    }
}

/// A gateway with this level behind its memory.
fn bench(level: Arc<dyn SecondLevel>) -> Bench {
    let services = Services::without_money(Arc::new(Silent));
    let policed = |address| Snapshot {
        cache: policy(),
        ..world(address, true, None)
    };
    Bench::adjusted(services, policed, |engine| {
        engine.with_cache(AnswerCache::new(Limits::default(), || None, Some(level)))
    })
}

#[tokio::test]
async fn an_answer_that_another_process_removed_while_it_was_made_is_not_shared() {
    let level = Arc::new(SharedLevel::default());
    let bench = bench(Arc::clone(&level) as Arc<dyn SecondLevel>);
    let place = async || {
        let answer = bench.ask(Dialect::Chat, &about_a_market("one", None)).await;
        answer.expect("an answer").head.cache
    };
    for (removed, expected) in [("weather", "hash"), ("defi", "miss")] {
        let engine = &bench.engine;
        engine.follow_flushes().await.expect("news");
        engine.invalidate(&[Flush::All], FlushCause::Operator).await;
        engine.follow_flushes().await.expect("news");
        let under_way = bench.read(Call {
            task: Task::Generate,
            dialect: Dialect::Chat,
            body: &about_a_market("one", None),
            principal: Principal::owner("test").expect("an id"),
            hints: Hints::default(),
        });
        let under_way = Arc::clone(engine).answer(under_way.expect("a request"));
        // Another process, of which this one hears later.
        let mut under_way = Box::pin(under_way);
        assert!(waits(&mut under_way));
        let removal = Flush::Tag(None, CacheTag::Domain(removed.into()));
        level.flush(&removal).await.expect("it is up");
        read(under_way.await.expect("an answer"))
            .await
            .expect("all of it");
        tokio::task::yield_now().await;
        engine.follow_flushes().await.expect("news");
        assert_eq!(place().await, expected, "{removed}");
    }
}

#[tokio::test]
async fn an_answer_removed_before_it_was_written_behind_is_not_shared() {
    let level = Arc::new(SharedLevel {
        gate: Some(Semaphore::new(1)),
        ..SharedLevel::default()
    });
    let bench = bench(Arc::clone(&level) as Arc<dyn SecondLevel>);
    bench.engine.follow_flushes().await.expect("news");
    let asked = bench.ask(Dialect::Chat, &about_a_market("one", None)).await;
    assert_eq!(asked.expect("an answer").head.cache, "miss");
    tokio::task::yield_now().await;
    let removed = bench.engine.invalidate(&[Flush::All], FlushCause::Operator);
    assert_eq!(removed.await.removed, 1);
    level.gate.as_ref().expect("it has one").add_permits(1);
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
    assert!(level.entries().is_empty());
}

#[tokio::test]
async fn what_is_stored_before_the_first_news_of_other_processes_goes_with_them() {
    let level = Arc::new(SharedLevel::default());
    let bench = bench(Arc::clone(&level) as Arc<dyn SecondLevel>);
    let place = async || {
        let answer = bench.ask(Dialect::Chat, &about_a_market("one", None)).await;
        answer.expect("an answer").head.cache
    };
    assert_eq!(place().await, "miss");
    assert_eq!(place().await, "hash", "no other process is known");
    tokio::task::yield_now().await;
    assert!(level.entries().is_empty(), "nor told of it");
    bench.engine.follow_flushes().await.expect("news");
    assert_eq!(place().await, "miss", "others may have removed it");
    assert_eq!(place().await, "hash");
}

#[tokio::test]
async fn the_request_that_names_another_regime_takes_no_answer_from_the_level_behind() {
    let level = Arc::new(SharedLevel::default());
    let bench = bench(Arc::clone(&level) as Arc<dyn SecondLevel>);
    let place = async |regime| {
        let body = about_a_market("one", Some(regime));
        let answer = bench.ask(Dialect::Chat, &body).await;
        answer.expect("an answer").head.cache
    };
    bench.engine.follow_flushes().await.expect("news");
    assert_eq!(place("calm").await, "miss");
    while level.entries().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(place("crisis").await, "miss");
    assert_eq!(place("crisis").await, "hash", "the removal was before it");
}

#[tokio::test]
async fn an_agent_that_changes_its_regime_all_the_time_tells_the_level_behind_a_few_removals() {
    let level = Arc::new(SharedLevel::default());
    let bench = bench(Arc::clone(&level) as Arc<dyn SecondLevel>);
    bench.engine.follow_flushes().await.expect("news");
    for number in 0..40 {
        let regime = ["calm", "crisis"][number % 2];
        let mut body = about_a_market("one", Some(regime));
        body["bardo"]["cache"] = json!("only-if-cached");
        let answer = bench.ask(Dialect::Chat, &body).await;
        assert!(answer.is_err(), "nothing is stored");
    }
    while level.removals().is_empty() {
        tokio::task::yield_now().await;
    }
    bench.engine.follow_flushes().await.expect("news");
    let removals = level.removals().clone();
    assert!(removals.len() < 20, "{removals:?}");
    let tenant = AccountId::parse("test").expect("an id");
    assert!(removals.contains(&Flush::Market(Some(tenant))));
}

#[tokio::test]
async fn a_removed_answer_stays_removed_where_the_level_behind_goes_back_to_what_it_had() {
    let level = Arc::new(SharedLevel::default());
    let bench = bench(Arc::clone(&level) as Arc<dyn SecondLevel>);
    let engine = &bench.engine;
    let place = async || {
        let answer = bench.ask(Dialect::Chat, &about_a_market("one", None)).await;
        answer.expect("an answer").head.cache
    };
    engine.follow_flushes().await.expect("news");
    assert_eq!(place().await, "miss");
    while level.entries().is_empty() {
        tokio::task::yield_now().await;
    }
    let before = level.entries().clone();
    engine.invalidate(&[Flush::All], FlushCause::Operator).await;
    engine.follow_flushes().await.expect("news");
    level.removals().clear();
    *level.entries() = before;
    engine.follow_flushes().await.expect("news");
    assert!(level.entries().is_empty());
    assert_eq!(*level.removals(), [Flush::All]);
    assert_eq!(place().await, "miss");
}

#[tokio::test]
async fn a_level_that_takes_no_removals_still_tells_those_of_others() {
    let level = Arc::new(SharedLevel::default());
    let bench = bench(Arc::clone(&level) as Arc<dyn SecondLevel>);
    bench.engine.follow_flushes().await.expect("it answers");
    let body = asking(Dialect::Chat, "gpt-5.5", &words("shared"), false);
    bench.ask(Dialect::Chat, &body).await.expect("an answer");
    let stored = || bench.engine.cache().store().stats().entries;
    assert_eq!(stored(), 1);
    // Another process removes it, then the level is full.
    level.removals().push(Flush::All);
    level.is_full.store(true, Ordering::Relaxed);
    let own = Flush::Tenant(AccountId::parse("another").expect("an id"));
    bench.engine.invalidate(&[own], FlushCause::Account).await;
    assert_eq!(bench.engine.follow_flushes().await, Err(Loss::Down));
    assert_eq!(stored(), 0);
}
