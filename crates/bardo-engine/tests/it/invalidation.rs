//! Stored answers that are removed before their time, because what they depend on has changed.

use bardo_cache::store::Flush;
use bardo_cache::tags::CacheTag;
use bardo_cache::ttl::MarketRegime;
use bardo_engine::FlushCause;
use bardo_types::model::Dialect;
use serde_json::{Value, json};

use crate::caching::{asking, purse, words};
use crate::purse::Purse;
use crate::world::read;

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
