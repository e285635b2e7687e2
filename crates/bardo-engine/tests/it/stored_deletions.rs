//! Prefixes that Gemini stores and nobody wants any more: when they are deleted, and what becomes of
//! deletions that fail.

use std::net::SocketAddr;
use std::sync::Arc;

use bardo_cache::store::Flush;
use bardo_engine::{FlushCause, Snapshot};
use bardo_providers::{Endpoint, EndpointConfig};
use bardo_types::ids::AccountId;
use bardo_types::model::Service;
use bardo_types::secret::Secret;
use http::Method;
use serde_json::{Value, json};

use crate::stored_prefixes::{Day, configured, futures_join, policy};

/// The backend of Gemini with another key.
fn with_another_key(sandbox: SocketAddr) -> Snapshot {
    let mut world = configured(sandbox, Some(policy()));
    for endpoint in &mut world.endpoints {
        if endpoint.service == Service::Google {
            *endpoint = Arc::new(Endpoint::new(EndpointConfig {
                name: endpoint.name.clone(),
                service: endpoint.service,
                base: endpoint.base.clone(),
                key: Secret::new("another-key".into()),
                allow_private: true,
                dialects: None,
                direct: false,
            }));
        }
    }
    world
}

#[tokio::test]
async fn a_prefix_that_gemini_lost_is_told_and_deleted_once_for_fifty_calls_at_a_time() {
    let day = Day::with_lost_prefix().await;
    let calls = (0..50).map(|_| day.call("agent", false, json!({})));
    assert_eq!(futures_join(calls.collect()).await, 50);
    // Waits for what is under way.
    assert_eq!(day.engine.delete_stored_prefixes().await, 0);
    assert_eq!(day.results(2).await, ["created", "lost"]);
    assert_eq!(day.orders("DELETE").await.len(), 2, "and that of this test");
}

#[tokio::test]
async fn a_reload_deletes_the_prefixes_that_it_has_no_use_for() {
    for what in ["nothing", "policy", "backend", "key"] {
        let day = Day::start(Some(policy()));
        day.beats("agent", 5).await;
        assert_eq!(day.results(1).await, ["created"]);
        let mut world = configured(day.sandbox, Some(policy()));
        match what {
            "policy" => world.setup.stored_prefixes = None,
            "backend" => world.endpoints.retain(|one| one.service != Service::Google),
            "key" => world = with_another_key(day.sandbox),
            _ => {}
        }
        day.engine.swap_world(world);
        if what == "nothing" {
            assert_eq!(day.engine.prefixes_stored(), 1);
            continue;
        }
        assert_eq!(day.results(2).await, ["created", "deleted"], "{what}");
        assert!(day.stored().await.is_empty(), "{what}");
        assert_eq!(day.engine.prefixes_stored(), 0);
    }
}

#[tokio::test]
async fn a_key_that_is_worth_nothing_any_more_leaves_the_deletion_to_the_new_one() {
    for status in [401, 403] {
        let day = Day::start(Some(policy()));
        day.beats("agent", 5).await;
        assert_eq!(day.results(1).await, ["created"]);
        day.fails(&day.stored().await[0], status, 1).await;
        day.engine.swap_world(with_another_key(day.sandbox));
        assert_eq!(day.results(2).await, ["created", "deleted"], "{status}");
        assert_eq!(day.orders("DELETE").await.len(), 2);
    }
}

#[tokio::test]
async fn a_reload_deletes_a_prefix_that_is_being_created() {
    let day = Day::start(Some(policy()));
    day.beats("one", 4).await;
    day.call("one", false, json!({})).await;
    assert_eq!(day.engine.prefixes_stored(), 0);
    day.engine.swap_world(configured(day.sandbox, None));
    // The order was not given yet, or is taken back.
    let told = day.results(1).await;
    if told == ["created"] {
        assert_eq!(day.results(2).await, ["created", "deleted"]);
    } else {
        assert_eq!(told, ["failed"]);
    }
    assert!(day.stored().await.is_empty());
    assert_eq!(day.engine.prefixes_stored(), 0);
}

#[tokio::test]
async fn a_deletion_that_fails_is_tried_again() {
    let day = Day::start(Some(policy()));
    day.beats("one", 5).await;
    assert_eq!(day.results(1).await, ["created"]);
    day.fails(&day.stored().await[0], 500, 3).await;
    let one = Flush::Tenant(AccountId::parse("one").expect("an id"));
    day.engine.invalidate(&[one], FlushCause::Account).await;
    assert_eq!(day.told_in_time(2).await, ["created", "deleted"]);
    assert_eq!(day.orders("DELETE").await.len(), 4);
    assert!(day.stored().await.is_empty());
}

#[tokio::test]
async fn what_an_order_without_an_answer_stored_is_found_behind_other_pages() {
    let day = Day::start(Some(policy()));
    day.fails("cachedContents", 500, 1).await;
    day.beats("one", 5).await;
    assert_eq!(day.results(1).await, ["unknown"]);
    let orders = day.orders("POST").await;
    let order = orders[0]["body"].as_str().expect("a body");
    let order: Value = serde_json::from_str(order).expect("an object");
    for number in 0..50 {
        let mut other = order.clone();
        other["displayName"] = json!(format!("other-{number}"));
        day.control(Method::POST, "/google/v1beta/cachedContents", other)
            .await;
    }
    day.control(Method::POST, "/google/v1beta/cachedContents", order)
        .await;
    day.engine.keep_warm().await;
    assert_eq!(day.told_in_time(2).await, ["unknown", "deleted"]);
    let listed = day
        .control(
            Method::GET,
            "/google/v1beta/cachedContents?pageToken=from%2B50%2F%3D",
            json!({}),
        )
        .await;
    assert!(listed["cachedContents"].is_null(), "{listed}");
    assert_eq!(day.stored().await.len(), 50);
}

#[tokio::test]
async fn what_an_order_without_an_answer_did_not_store_is_looked_for_twice() {
    let day = Day::start(Some(policy()));
    day.fails("cachedContents", 500, 1).await;
    day.beats("one", 4).await;
    day.call("one", false, json!({})).await;
    assert_eq!(day.results(1).await, ["unknown"]);
    day.engine.keep_warm().await;
    assert!(day.orders("GET").await.is_empty(), "not at once");
    for _ in 0..20 {
        day.forward(10_000);
        day.engine.keep_warm().await;
        day.orders("GET").await;
    }
    day.engine.delete_stored_prefixes().await;
    assert_eq!(day.orders("GET").await.len(), 2);
}
