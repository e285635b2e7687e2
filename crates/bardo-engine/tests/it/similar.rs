//! Answers to the same question in other words: which requests get them, and what audits do.

mod audits;
mod isolation;
mod never;
mod shared;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bardo_access::BoxFuture;
use bardo_cache::semantic::{AuditRules, DIMENSIONS};
use bardo_cache::store::Flush;
use bardo_cache::ttl::MarketRegime;
use bardo_engine::{
    CachePolicy, Engine, ExplainedCache, MeaningCounts, SemanticPolicy, SentenceVector,
    SentenceVectors,
};
use bardo_types::model::Dialect;
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::receipt::{Outcome, Receipt};
use bardo_types::usage::Usage;
use serde_json::{Value, json};

use crate::caching::{asking, said};
use crate::purse::{PRICE, Purse};
use crate::world::world;

const DIALECTS: [Dialect; 4] = [
    Dialect::Chat,
    Dialect::Anthropic,
    Dialect::Responses,
    Dialect::Completions,
];

/// An embedder without a model: texts about one thing are near each other.
#[derive(Default)]
pub(crate) struct Stub {
    /// How it behaves: see the constants.
    mood: AtomicU64,
    asked: AtomicU64,
}

pub(crate) const WELL: u64 = 0;
const HANGS: u64 = 1;
const LATE: u64 = 2;
const CRASHED: u64 = 3;
/// The first vector is late, the next ones are not.
const LATE_ONCE: u64 = 5;
/// Texts without a thing in [`THINGS`] are far from each other.
const SCATTERED: u64 = 4;

/// What questions are about, an axis each.
const THINGS: [&str; 6] = ["ETH", "password", "lights", "vault", "fee", "Paris"];

impl Stub {
    pub(crate) fn feel(&self, mood: u64) {
        self.mood.store(mood, Ordering::Relaxed);
    }

    fn place(text: &str, mood: u64) -> Box<[i8; DIMENSIONS]> {
        let mut vector = Box::new([0_i8; DIMENSIONS]);
        let thing = THINGS.iter().position(|thing| text.contains(thing));
        let scattered = text.len() % 40 + THINGS.len();
        let axis = match (thing, mood) {
            (Some(thing), WELL) => thing,
            (None, WELL) => THINGS.len(),
            // Questions are short, answers are not.
            (Some(thing), _) if text.len() < 60 => thing,
            _ => scattered,
        };
        // cos = 0.99 to the axis itself, and at least 0.96 between two texts.
        vector[axis] = 126;
        vector[200 + text.len() % 100] = 16;
        vector
    }
}

impl SentenceVectors for Stub {
    fn vector<'a>(
        &'a self,
        text: &'a str,
        _tokens_max: usize,
        _at_most: Duration,
    ) -> BoxFuture<'a, Result<SentenceVector, &'static str>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            match self.mood.load(Ordering::Relaxed) {
                HANGS => std::future::pending().await,
                LATE => Err("late"),
                LATE_ONCE => {
                    self.feel(WELL);
                    Err("late")
                }
                CRASHED => Err("crashed"),
                mood => Ok(SentenceVector {
                    vector: Self::place(text, mood),
                    namespace: "stub/1".into(),
                }),
            }
        })
    }
}

/// Every would-be hit is served.
pub(crate) fn serving() -> AuditRules {
    AuditRules {
        first: 0,
        share: 0.0,
        baseline: 0.0,
        ..AuditRules::default()
    }
}

pub(crate) fn policy(rules: AuditRules) -> CachePolicy {
    CachePolicy {
        semantic: SemanticPolicy {
            enabled: true,
            rules,
            ..SemanticPolicy::default()
        },
        ..crate::caching::policy()
    }
}

/// A caller with money before an engine with this embedder and these rules of audits.
pub(crate) async fn purse(rules: AuditRules) -> (Purse, Arc<Stub>) {
    let purse = Purse::with("100000").await;
    let stub = Arc::new(Stub::default());
    embed_with(&purse.bench.engine, &stub);
    purse.bench.swap(|address| {
        let mut world = world(address, false, Some(PRICE));
        world.billing.spread = BasisPoints::new(2_000).expect("in range");
        world.cache = policy(rules);
        world
    });
    (purse, stub)
}

pub(crate) fn embed_with(engine: &Engine, stub: &Arc<Stub>) {
    let vectors: Arc<dyn SentenceVectors> = Arc::<Stub>::clone(stub);
    engine.cache().meaning().embed_with(vectors);
}

/// A request of an agent that asks for answers to the same question.
pub(crate) fn question(dialect: Dialect, agent: &str, text: &str, stream: bool) -> Value {
    let mut body = asking(dialect, "gpt-5.5", text, stream);
    body["bardo"] = json!({ "cache": "semantic", "golem_id": agent });
    body
}

/// What the cache said of a chat request.
pub(crate) async fn cache_of(purse: &Purse, body: &Value) -> (String, Option<String>) {
    let answer = purse.ask(Dialect::Chat, body).await.expect("an answer");
    let reason = answer.head.cache_reason.map(|reason| reason.into_owned());
    (answer.head.cache.into_owned(), reason)
}

/// Asks a question of one agent.
async fn ask(purse: &Purse, text: &str) -> (String, Option<String>) {
    cache_of(purse, &question(Dialect::Chat, "g", text, false)).await
}

pub(crate) fn counts(purse: &Purse) -> MeaningCounts {
    purse.bench.engine.cache().meaning().counts()
}

async fn last(purse: &Purse) -> Receipt {
    purse.settled().await.pop().expect("a receipt")
}

fn reason(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn a_question_in_other_words_is_served_in_each_dialect_streamed_and_whole() {
    let (purse, _) = purse(serving()).await;
    for dialect in DIALECTS {
        for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
            let place = format!("{dialect:?}-{first}-{second}");
            let made = question(dialect, &place, "How do I sell 1 ETH?", first);
            let made = purse.ask(dialect, &made).await.expect(&place);
            assert_eq!(made.head.cache, "miss", "{place}");
            let (spent, calls) = (
                purse.balance().await.spent,
                purse.bench.received().await.len(),
            );
            let other = question(dialect, &place, "How can I sell one ETH?", second);
            let found = purse.ask(dialect, &other).await.expect(&place);
            assert_eq!(found.head.cache, "semantic", "{place}");
            assert!(found.head.cache_similarity > Some(950), "{place}");
            assert!(found.head.cache_age.is_some(), "{place}");
            let figures = found.head.figures.expect("they are known at the start");
            assert_eq!(figures.cost, Some(MicroUsd::ZERO), "{place}");
            assert!(figures.savings > Some(MicroUsd::ZERO), "{place}");
            let (made, found) = (said(&made.text), said(&found.text));
            if first && second {
                assert_eq!(made, found, "{place}");
            }
            assert!(found.len() > 20, "{place}: {found}");
            assert_eq!(purse.bench.received().await.len(), calls, "{place}");
            assert_eq!(purse.balance().await.spent, spent, "{place}");
            let receipt = last(&purse).await;
            assert_eq!(
                (&*receipt.cache, receipt.outcome),
                ("semantic", Outcome::Finished)
            );
            assert_eq!(receipt.usage, Some(Usage::default()), "{place}");
            assert!(receipt.saved_usage.is_some_and(|saved| saved.output > 9));
            assert!(receipt.cache_similarity > Some(950) && receipt.cache_reason.is_none());
            assert!(receipt.backend.is_empty() && receipt.attempts.is_empty());
        }
    }
    let stats = purse.bench.engine.cache().store().stats();
    assert_eq!((stats.similar, stats.hits), (16, 16));
    let unknown = counts(&purse)
        .domains
        .into_iter()
        .find(|one| one.domain == "unknown");
    assert_eq!(unknown.map(|one| one.hits), Some(16));
}

#[tokio::test]
async fn an_answer_in_one_dialect_serves_the_question_in_others() {
    let (purse, _) = purse(serving()).await;
    for (index, (dialect, text)) in [
        (Dialect::Chat, "How do I sell 1 ETH?"),
        (Dialect::Anthropic, "How can I sell one ETH?"),
        (Dialect::Responses, "How can I sell 1 ETH"),
    ]
    .into_iter()
    .enumerate()
    {
        let body = question(dialect, "g", text, index == 1);
        let answer = purse.ask(dialect, &body).await.expect("an answer");
        let expected = if index == 0 { "miss" } else { "semantic" };
        assert_eq!(answer.head.cache, expected, "{dialect:?}");
    }
    assert_eq!(purse.bench.received().await.len(), 1);
}

#[tokio::test]
async fn a_near_miss_is_asked_anew_and_the_answer_says_why() {
    let (purse, _) = purse(serving()).await;
    let check = async |text: &str, expected: &str| {
        let (cache, said) = ask(&purse, text).await;
        assert_eq!(
            (cache.as_str(), said.as_deref()),
            ("miss", Some(expected)),
            "{text}"
        );
    };
    check("How do I turn on the lights?", "no_entry").await;
    let (cache, said) = ask(&purse, "How do I turn off the lights?").await;
    assert_eq!(cache, "miss");
    assert!(said.is_some_and(|said| said.starts_with("guard: ")));
    check("How do I reset a password?", "similarity 0.000 below 0.950").await;
    let receipt = last(&purse).await;
    assert_eq!(
        receipt.cache_reason.as_deref(),
        Some("similarity 0.000 below 0.950")
    );
    assert_eq!(purse.bench.received().await.len(), 3);
    assert_eq!(
        counts(&purse)
            .guarded
            .iter()
            .map(|(_, count)| count)
            .sum::<u64>(),
        1
    );
    assert_eq!(counts(&purse).misses, 2);
}

#[tokio::test]
async fn a_missing_slow_or_broken_embedder_costs_a_miss_and_is_named() {
    let (purse, stub) = purse(serving()).await;
    ask(&purse, "How do I sell 1 ETH?").await;
    for (mood, name) in [(HANGS, "late"), (LATE, "late"), (CRASHED, "crashed")] {
        stub.feel(mood);
        let text = format!("How can I sell one ETH {mood}?");
        assert_eq!(ask(&purse, &text).await, ("miss".to_owned(), reason(name)));
    }
    let skipped = counts(&purse).skipped;
    assert_eq!(skipped, [("crashed", 1), ("late", 2)]);
    stub.feel(WELL);
    assert_eq!(ask(&purse, "How can I sell one ETH?").await.0, "semantic");
    // Without an embedder nothing is compared either.
    let bare = Purse::with("1000").await;
    bare.bench.swap(|address| {
        let mut world = world(address, false, Some(PRICE));
        world.cache = policy(serving());
        world
    });
    let (cache, said) = ask(&bare, "How do I sell 1 ETH?").await;
    assert_eq!((cache.as_str(), said), ("miss", reason("no_embedder")));
}

#[tokio::test]
async fn a_question_whose_vector_came_too_late_is_indexed_behind_its_request() {
    let (purse, stub) = purse(serving()).await;
    stub.feel(LATE_ONCE);
    let answer = ask(&purse, "How do I sell 1 ETH?").await;
    assert_eq!(answer, ("miss".to_owned(), reason("late")));
    let indexed = async {
        while counts(&purse).entries == 0 {
            tokio::task::yield_now().await;
        }
    };
    let indexed = tokio::time::timeout(Duration::from_secs(20), indexed).await;
    indexed.expect("the question is indexed");
    assert_eq!(ask(&purse, "How can I sell one ETH?").await.0, "semantic");
}

#[tokio::test]
async fn questions_leave_the_index_with_their_answers() {
    let (purse, _) = purse(serving()).await;
    let store = || purse.bench.engine.cache().store();
    ask(&purse, "How do I sell 1 ETH?").await;
    assert_eq!(counts(&purse).entries, 1);
    assert_eq!(store().flush(&Flush::Tenant(purse.account.clone())), 1);
    assert_eq!(counts(&purse).entries, 0);
    assert_eq!(ask(&purse, "How can I sell one ETH?").await.0, "miss");
    // By the time, too.
    assert_eq!(counts(&purse).entries, 1);
    assert_eq!(store().sweep(u64::MAX), 1);
    assert_eq!(counts(&purse).entries, 0);
    // Another limit of the store begins anew.
    ask(&purse, "How do I sell 1 ETH?").await;
    purse.bench.swap(|address| {
        let mut world = world(address, false, Some(PRICE));
        world.cache = policy(serving());
        world.cache.limits.bytes /= 2;
        world
    });
    assert_eq!(counts(&purse).entries, 0);
}

#[tokio::test]
async fn identical_questions_at_the_same_time_are_all_served_by_meaning() {
    let (purse, _) = purse(serving()).await;
    ask(&purse, "How do I sell 1 ETH?").await;
    let body = question(Dialect::Chat, "g", "How can I sell one ETH?", true);
    let all = (0..50).map(|_| purse.ask(Dialect::Chat, &body));
    let mut all: Vec<_> = all.map(Box::pin).collect();
    let mut left = all.len();
    std::future::poll_fn(|cx| {
        all.retain_mut(|one| match one.as_mut().poll(cx) {
            std::task::Poll::Ready(answer) => {
                assert_eq!(answer.expect("an answer").head.cache, "semantic");
                left -= 1;
                false
            }
            std::task::Poll::Pending => true,
        });
        match left {
            0 => std::task::Poll::Ready(()),
            _ => std::task::Poll::Pending,
        }
    })
    .await;
    assert_eq!(purse.bench.received().await.len(), 1);
}

async fn explained(purse: &Purse, body: &Value) -> ExplainedCache {
    let mut received = purse.bench.received_request(Dialect::Chat, body);
    received.principal = purse.principal();
    let explained = purse.bench.engine.explain_cache(received).await;
    explained.expect("it is well formed")
}

/// Answers about a market live in calm regimes alone.
async fn calm_purse() -> Purse {
    let (purse, _) = purse(serving()).await;
    purse.bench.swap(|address| {
        let mut world = world(address, false, Some(PRICE));
        world.cache = policy(serving());
        world.cache.limits.lifetimes.market_ms = 2;
        world
    });
    purse
}

/// A question about a market, under a regime that the request names.
fn of_market(text: &str, regime: Option<&str>) -> Value {
    let mut body = question(Dialect::Chat, "g", text, false);
    body["bardo"]["domain"] = json!("defi");
    if let Some(regime) = regime {
        body["bardo"]["regime"] = json!(regime);
    }
    body
}

#[tokio::test]
async fn an_explanation_knows_the_regime_of_the_operator() {
    let purse = calm_purse().await;
    purse
        .bench
        .engine
        .set_regime(Some(MarketRegime::Calm))
        .await;
    let first = of_market("How do I sell 1 ETH?", None);
    purse.ask(Dialect::Chat, &first).await.expect("an answer");
    assert_eq!(explained(&purse, &first).await.hash.result, "hit");
    let other = of_market("How can I sell one ETH?", None);
    let other = explained(&purse, &other).await.semantic;
    assert_eq!(other.map(|one| one.result), Some("hit"));
}

#[tokio::test]
async fn a_reader_of_a_stricter_regime_takes_no_question_from_the_others() {
    let purse = calm_purse().await;
    let first = of_market("How do I sell 1 ETH?", Some("calm"));
    purse.ask(Dialect::Chat, &first).await.expect("an answer");
    let strict = of_market("How can I sell one ETH?", Some("crisis"));
    let strict = explained(&purse, &strict).await.semantic.expect("a part");
    assert_eq!(strict.result, "expired");
    assert_eq!(counts(&purse).entries, 1);
    let calm = of_market("How can I sell one ETH?", Some("calm"));
    assert_eq!(cache_of(&purse, &calm).await.0, "semantic");
}

#[tokio::test]
async fn an_explanation_names_what_a_request_would_get() {
    let (purse, _) = purse(serving()).await;
    let explain = async |body: &Value| explained(&purse, body).await;
    let first = question(Dialect::Chat, "g", "How do I sell 1 ETH?", false);
    let before = explain(&first).await;
    assert_eq!(before.hash.result, "no_entry");
    assert_eq!(before.semantic.map(|one| one.result), Some("no_entry"));
    purse.ask(Dialect::Chat, &first).await.expect("an answer");
    let calls = purse.bench.received().await.len();
    assert_eq!(explain(&first).await.hash.result, "hit");
    let of = async |text: &str| {
        let explained = explain(&question(Dialect::Chat, "g", text, false)).await;
        explained.semantic.expect("the hash layer has a part")
    };
    let hit = of("How can I sell one ETH?").await;
    assert_eq!(
        (hit.result, hit.domain, hit.threshold),
        ("hit", "unknown", Some(950))
    );
    let guarded = of("How do I sell 10 ETH?").await;
    assert_eq!(guarded.result, "guard");
    let words = r#"number "10 eth" against "1 eth""#;
    assert!(guarded.reason.contains(words), "{}", guarded.reason);
    let far = of("How do I reset a password?").await;
    assert_eq!(far.result, "similarity");
    assert!(far.reason.contains("0.000, below 0.950"), "{}", far.reason);
    let mut other = question(Dialect::Chat, "g", "How can I sell one ETH?", false);
    other["max_tokens"] = json!(999);
    let other = explain(&other).await.semantic.expect("a part");
    assert_eq!(other.result, "no_entry");
    assert!(other.reason.contains("same context"), "{}", other.reason);
    let mut warm = first.clone();
    warm["temperature"] = json!(0.9);
    let warm = explain(&warm).await;
    assert_eq!(
        (warm.hash.result, warm.hash.member.as_deref()),
        ("temperature", Some("temperature"))
    );
    assert!(!warm.hash.eligible && warm.semantic.is_none());
    // Nothing of it was counted or asked.
    assert_eq!(purse.bench.received().await.len(), calls);
    assert_eq!(
        counts(&purse)
            .domains
            .iter()
            .map(|one| one.hits)
            .sum::<u64>(),
        0
    );
}
