//! What no answer to another question ever serves.

use bardo_access::{CachePermission, KeyTier};
use bardo_types::model::Dialect;
use serde_json::{Value, json};

use super::{cache_of, counts, purse, question, serving};
use crate::caching::asking;
use crate::purse::Purse;

const FIRST: &str = "How do I sell 1 ETH?";
const SECOND: &str = "How can I sell one ETH?";

fn with(change: &Value, text: &str) -> Value {
    let mut body = question(Dialect::Chat, "g", text, false);
    for (name, value) in change.as_object().expect("members") {
        match (name.as_str(), value) {
            ("bardo", Value::Object(hints)) => {
                for (name, value) in hints {
                    body["bardo"][name] = value.clone();
                }
            }
            _ => body[name] = value.clone(),
        }
    }
    body
}

async fn is_served(purse: &Purse, change: &Value) -> bool {
    // Where no backend of this world keeps a class, the request is refused.
    let _ = purse.ask(Dialect::Chat, &with(change, FIRST)).await;
    let answer = purse.ask(Dialect::Chat, &with(change, SECOND)).await;
    answer.is_ok_and(|answer| answer.head.cache == "semantic")
}

#[tokio::test]
async fn no_request_of_a_class_that_is_never_reused_is_served_by_meaning() {
    let (purse, stub) = purse(serving()).await;
    let function = json!({ "name": "act", "parameters": { "type": "object", "properties": {} } });
    let tools = json!([{ "type": "function", "function": function }]);
    let never = [
        json!({ "bardo": { "cache": "default" } }),
        json!({ "bardo": { "cache": "no-store" } }),
        json!({ "bardo": { "cache": "no-cache" } }),
        json!({ "bardo": { "domain": "trade" } }),
        json!({ "bardo": { "domain": "risk" } }),
        json!({ "bardo": { "domain": "death" } }),
        json!({ "bardo": { "domain": "operator" } }),
        json!({ "bardo": { "subsystem": "risk" } }),
        json!({ "bardo": { "subsystem": "heartbeat_t2" } }),
        json!({ "bardo": { "subsystem": "operator" } }),
        json!({ "bardo": { "subsystem": "death_reflect" } }),
        json!({ "bardo": { "task_class": "trade" } }),
        json!({ "bardo": { "security_class": "private", "accept_degraded": true } }),
        json!({ "temperature": 0.9 }),
        json!({ "n": 2 }),
        json!({ "tools": tools }),
        json!({ "web_search_options": {} }),
    ];
    for (index, change) in never.iter().enumerate() {
        let mut change = change.clone();
        change["bardo"]["golem_id"] = json!(format!("g{index}"));
        assert!(!is_served(&purse, &change).await, "{change}");
    }
    assert_eq!(counts(&purse).entries, 0, "nothing of it is indexed");
    assert_eq!(stub.asked.load(std::sync::atomic::Ordering::Relaxed), 0);
    // The same requests without what forbids it.
    assert!(is_served(&purse, &json!({ "bardo": { "golem_id": "allowed" } })).await);
}

#[tokio::test]
async fn a_turn_that_is_not_one_text_of_the_user_is_never_compared() {
    let (purse, _) = purse(serving()).await;
    let long = format!(
        "How do I sell 1 ETH? {}",
        "Tell me more about it. ".repeat(120)
    );
    for (messages, expected) in [
        (json!([{ "role": "user", "content": long }]), "too_long"),
        (json!([{ "role": "user", "content": "the a the" }]), "empty"),
        (
            json!([{ "role": "user", "content": "Hi" }, { "role": "assistant", "content": "Yes" }]),
            "no_question",
        ),
    ] {
        let mut body = question(Dialect::Chat, "g", "", false);
        body["messages"] = messages;
        let (_, reason) = cache_of(&purse, &body).await;
        assert_eq!(reason.as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn another_context_is_another_question() {
    let (purse, _) = purse(serving()).await;
    let base = |text: &str| with(&json!({}), text);
    cache_of(&purse, &base(FIRST)).await;
    let others = [
        json!({ "max_tokens": 999 }),
        json!({ "model": "claude-sonnet-5-5" }),
        json!({ "bardo": { "golem_id": "other" } }),
        json!({ "bardo": { "domain": "docs" } }),
        json!({ "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": SECOND },
        ] }),
        json!({ "messages": [
            { "role": "user", "content": "Hello" },
            { "role": "assistant", "content": "Hello, what is it?" },
            { "role": "user", "content": SECOND },
        ] }),
    ];
    for change in others {
        let (cache, reason) = cache_of(&purse, &with(&change, SECOND)).await;
        assert_eq!(
            (cache.as_str(), reason.as_deref()),
            ("miss", Some("no_entry")),
            "{change}"
        );
    }
    assert_eq!(
        cache_of(&purse, &base("How can I sell 1 ETH")).await.0,
        "semantic"
    );
}

#[tokio::test]
async fn agents_of_the_golem_tier_have_it_by_their_domain_and_others_by_asking_alone() {
    let (mut purse, _) = purse(serving()).await;
    let silent = |domain: &str, text: &str| {
        let mut body = asking(Dialect::Chat, "claude-sonnet-5-5", text, false);
        body["bardo"] =
            json!({ "subsystem": "heartbeat_t1", "domain": domain, "golem_id": domain });
        body
    };
    let told = async |purse: &Purse, domain: &str| {
        cache_of(purse, &silent(domain, FIRST)).await;
        cache_of(purse, &silent(domain, SECOND)).await
    };
    assert_ne!(told(&purse, "docs").await.0, "semantic", "it did not ask");
    purse.key.tier = Some(KeyTier::Golem);
    for (domain, expected) in [
        ("docs", true),
        ("market", true),
        ("strategy", true),
        ("weather", false),
        ("trade", false),
    ] {
        let (cache, reason) = told(&purse, domain).await;
        assert_eq!(
            cache == "semantic",
            expected,
            "{domain}: {cache} {reason:?}"
        );
    }
}

#[tokio::test]
async fn a_key_says_for_its_silent_requests_whether_meaning_is_enough() {
    let (mut purse, _) = purse(serving()).await;
    for (scope, identical, similar) in [
        (CachePermission::Off, "bypass", "bypass"),
        (CachePermission::Default, "hash", "miss"),
        (CachePermission::Semantic, "hash", "semantic"),
    ] {
        purse.key.scopes.cache = Some(scope);
        let silent = |text: &str| {
            let mut body = asking(Dialect::Chat, "gpt-5.5", text, false);
            body["bardo"] = json!({ "golem_id": scope.as_str() });
            body
        };
        cache_of(&purse, &silent(FIRST)).await;
        assert_eq!(cache_of(&purse, &silent(FIRST)).await.0, identical);
        let (cache, reason) = cache_of(&purse, &silent(SECOND)).await;
        assert_eq!(cache, similar, "{scope:?}: {reason:?}");
    }
}

#[tokio::test]
async fn a_new_answer_that_a_request_wants_serves_the_question_from_then_on() {
    let (mut purse, _) = purse(serving()).await;
    purse.key.scopes.cache = Some(CachePermission::Semantic);
    let ask = |text: &str, cache: Option<&str>| {
        let mut body = asking(Dialect::Chat, "gpt-5.5", text, false);
        body["bardo"] = json!({ "golem_id": "g", "cache": cache });
        body
    };
    let made = cache_of(&purse, &ask(FIRST, Some("no-cache"))).await;
    assert_eq!(made, ("miss".to_owned(), Some("no_cache".to_owned())));
    let indexed = async {
        while counts(&purse).entries == 0 {
            tokio::task::yield_now().await;
        }
    };
    let indexed = tokio::time::timeout(std::time::Duration::from_secs(20), indexed).await;
    indexed.expect("the question is indexed");
    assert_eq!(cache_of(&purse, &ask(SECOND, None)).await.0, "semantic");
    // It is not served to one that wants a new one too.
    let again = cache_of(&purse, &ask(SECOND, Some("no-cache"))).await;
    assert_eq!(again.0, "miss");
}

#[tokio::test]
async fn a_key_that_may_not_use_the_model_of_an_answer_does_not_get_it() {
    let (mut purse, _) = purse(serving()).await;
    cache_of(&purse, &with(&json!({}), FIRST)).await;
    purse.key.scopes.models = vec!["claude-*".to_owned()];
    let refused = purse.ask(Dialect::Chat, &with(&json!({}), SECOND)).await;
    assert!(refused.is_err());
    purse.key.scopes.models.clear();
    assert_eq!(
        cache_of(&purse, &with(&json!({}), SECOND)).await.0,
        "semantic"
    );
}
