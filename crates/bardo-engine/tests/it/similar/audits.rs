//! Audits: a would-be hit is answered live, paid as a miss and compared.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bardo_cache::semantic::{AuditMode, AuditRules};
use bardo_engine::DomainCounts;
use bardo_types::model::Dialect;

use serde_json::{Value, json};

use super::{SCATTERED, WELL, ask, cache_of, counts, last, purse, question, reason, serving};
use crate::purse::Purse;
use crate::world::script;

/// Every would-be hit is audited.
fn auditing() -> AuditRules {
    AuditRules {
        first: u32::MAX,
        audits_per_day: u32::MAX,
        baseline: 0.0,
        ..AuditRules::default()
    }
}

fn unknown(purse: &Purse) -> DomainCounts {
    let domains = counts(purse).domains;
    let found = domains.into_iter().find(|one| one.domain == "unknown");
    found.expect("the domain is shown")
}

/// A question whose answer is scripted, so that each provider's answer to it is the same.
fn scripted(text: &str) -> Value {
    let answer = "Open the exchange, choose the amount, and confirm that you sell it.";
    let script = script(json!([{ "text": "Go on." }, { "text": answer }]));
    let mut body = question(Dialect::Chat, "g", "", false);
    body["messages"] = json!([
        { "role": "user", "content": script },
        { "role": "assistant", "content": "Go on." },
        { "role": "user", "content": text },
    ]);
    body
}

/// Waits until so many audits have their result.
async fn judged(purse: &Purse, audits: u64) {
    let all = async {
        loop {
            let one = unknown(purse);
            if one.agreed + one.disagreed + one.unjudged >= audits {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all)
        .await
        .expect("each audit has a result");
}

#[tokio::test]
async fn an_audited_caller_gets_and_pays_the_live_answer() {
    let (purse, _) = purse(auditing()).await;
    cache_of(&purse, &scripted("How do I sell 1 ETH?")).await;
    let spent = purse.balance().await.spent;
    let answer = cache_of(&purse, &scripted("How can I sell one ETH?")).await;
    assert_eq!(answer, ("miss".to_owned(), reason("audit")));
    assert_eq!(purse.bench.received().await.len(), 2);
    assert!(purse.balance().await.spent > spent);
    let receipt = last(&purse).await;
    assert_eq!(
        (&*receipt.cache, receipt.cache_reason.as_deref()),
        ("miss", Some("audit"))
    );
    assert!(!receipt.attempts.is_empty());
    judged(&purse, 1).await;
    let domain = unknown(&purse);
    assert_eq!((domain.agreed, domain.disagreed, domain.hits), (1, 0, 0));
}

#[tokio::test]
async fn a_poisoned_domain_stops_and_nothing_of_it_is_served_until_evidence_returns() {
    let (purse, stub) = purse(auditing()).await;
    let mut audits = 0;
    // Every answer is far from the other one: no stored answer is right.
    for number in 0..40 {
        if !unknown(&purse).report.serves {
            break;
        }
        stub.feel(WELL);
        ask(
            &purse,
            &format!("How do I sell {number} ETH in {number} days?"),
        )
        .await;
        stub.feel(SCATTERED);
        let text = format!("How can I sell {number} ETH in {number} days?");
        let (cache, said) = ask(&purse, &text).await;
        assert_eq!(cache, "miss", "{number}");
        audits += u64::from(said == reason("audit"));
        judged(&purse, audits).await;
    }
    let stopped = unknown(&purse);
    assert!(!stopped.report.serves, "{stopped:?}");
    assert!(stopped.disagreed > 0 && stopped.hits == 0, "{stopped:?}");
    // Above the cap a stopped domain answers live and compares nothing.
    purse.bench.swap(|address| {
        let mut world = crate::world::world(address, false, Some(crate::purse::PRICE));
        world.cache = super::policy(AuditRules {
            audits_per_day: 0,
            ..serving()
        });
        world
    });
    stub.feel(WELL);
    ask(&purse, "How do I sell 900 ETH?").await;
    let (cache, said) = ask(&purse, "How can I sell 900 ETH?").await;
    assert_eq!((cache.as_str(), said), ("miss", reason("stopped")));
    assert_eq!(unknown(&purse).stopped, 1);
    // Other domains go on by their own evidence or not at all; a restart forgets nothing.
    let evidence = purse.bench.engine.cache().meaning().evidence();
    let (again, _) = super::purse(serving()).await;
    assert!(unknown(&again).report.serves);
    again.bench.engine.cache().meaning().restore(&evidence);
    assert!(!unknown(&again).report.serves);
}

#[tokio::test]
async fn a_stored_answer_that_disagrees_serves_no_other_question() {
    let (purse, stub) = purse(auditing()).await;
    ask(&purse, "How do I sell 1 ETH?").await;
    assert_eq!(counts(&purse).entries, 1);
    stub.feel(SCATTERED);
    ask(&purse, "How can I sell one ETH?").await;
    judged(&purse, 1).await;
    // The live answer took its place.
    assert_eq!(counts(&purse).entries, 1);
    assert_eq!(unknown(&purse).disagreed, 1);
}

#[tokio::test]
async fn a_domain_that_wants_evidence_first_serves_nothing_and_collects_it() {
    let (purse, _) = purse(AuditRules {
        mode: AuditMode::Verified,
        ..serving()
    })
    .await;
    ask(&purse, "How do I sell 1 ETH?").await;
    let answer = ask(&purse, "How can I sell one ETH?").await;
    assert_eq!(answer, ("miss".to_owned(), reason("audit")));
    judged(&purse, 1).await;
    assert!(!unknown(&purse).report.serves);
    assert_eq!(unknown(&purse).report.audits, 1);
}

#[tokio::test]
async fn an_audit_whose_live_answer_fails_has_no_result() {
    let (purse, _) = purse(auditing()).await;
    ask(&purse, "How do I sell 1 ETH?").await;
    let fault = json!({ "kind": "cut_after", "events": 3 });
    purse.bench.fault("openai", 1, fault).await;
    let body = question(Dialect::Chat, "g", "How can I sell one ETH?", true);
    let _ = purse.ask(Dialect::Chat, &body).await;
    purse.drained().await;
    judged(&purse, 1).await;
    let domain = unknown(&purse);
    assert_eq!(
        (domain.unjudged, domain.agreed, domain.disagreed),
        (1, 0, 0)
    );
}

#[tokio::test]
async fn audits_that_no_provider_was_asked_for_do_not_count() {
    let rules = AuditRules {
        baseline: 0.0,
        audits_per_day: 50,
        ..AuditRules::default()
    };
    let (purse, _) = purse(rules).await;
    ask(&purse, "How do I sell 1 ETH?").await;
    purse.books.fail_reserves.store(50, Ordering::Relaxed);
    let body = question(Dialect::Chat, "g", "How can I sell one ETH?", false);
    for _ in 0..50 {
        assert!(purse.ask(Dialect::Chat, &body).await.is_err());
    }
    assert_eq!(unknown(&purse).unjudged, 50);
    let answer = ask(&purse, "How can I sell one ETH?").await;
    assert_eq!(answer, ("miss".to_owned(), reason("audit")));
}

#[tokio::test]
async fn a_second_live_answer_is_the_owners_and_compared_with_the_first() {
    let (purse, _) = purse(AuditRules {
        baseline: 1.0,
        ..auditing()
    })
    .await;
    cache_of(&purse, &scripted("How do I sell 1 ETH?")).await;
    let one_call = purse.balance().await.spent;
    cache_of(&purse, &scripted("How can I sell one ETH?")).await;
    judged(&purse, 1).await;
    assert_eq!(purse.bench.received().await.len(), 3);
    let receipts = purse.settled().await;
    let (own, of_owner): (Vec<_>, Vec<_>) = receipts
        .into_iter()
        .partition(|receipt| receipt.account == purse.account);
    let [first, second] = own.as_slice() else {
        panic!("two requests of the caller: {own:?}");
    };
    assert_eq!(first.amounts.charge, one_call);
    let spent = purse.balance().await.spent;
    let charged = first.amounts.charge.get() + second.amounts.charge.get();
    assert_eq!(charged, spent.get());
    let [again] = of_owner.as_slice() else {
        panic!("one request of the owner: {of_owner:?}");
    };
    assert_eq!(again.account.as_str(), "cache-audits");
    assert_eq!(
        again.request_id.as_str(),
        format!("{}_audit", second.request_id)
    );
    assert_eq!(again.amounts.charge, bardo_types::money::MicroUsd::ZERO);
    let report = unknown(&purse).report;
    assert_eq!((report.live_pairs, report.live_disagreements), (1, 0));
    // The second answer is neither stored nor indexed.
    assert_eq!(purse.bench.engine.cache().store().stats().entries, 2);
}

#[tokio::test]
async fn a_second_live_answer_comes_from_the_same_backend_which_the_key_may_use() {
    let (mut purse, _) = purse(AuditRules {
        baseline: 1.0,
        ..auditing()
    })
    .await;
    purse.bench.swap(|address| {
        let mut world = crate::world::world_with_two_of_openai(address, Some(crate::purse::PRICE));
        world.cache = super::policy(AuditRules {
            baseline: 1.0,
            ..auditing()
        });
        world
    });
    purse.key.scopes.backends = vec!["backend-6".to_owned()];
    for text in ["How do I sell 1 ETH?", "How can I sell one ETH?"] {
        cache_of(&purse, &scripted(text)).await;
    }
    judged(&purse, 1).await;
    let receipts = purse.settled().await;
    assert_eq!(receipts.len(), 3);
    assert!(
        receipts
            .iter()
            .all(|receipt| &*receipt.backend == "backend-6")
    );
}

#[tokio::test]
async fn an_audited_request_that_is_refused_costs_the_owner_no_second_answer() {
    let (purse, _) = purse(AuditRules {
        baseline: 1.0,
        ..auditing()
    })
    .await;
    cache_of(&purse, &scripted("How do I sell 1 ETH?")).await;
    purse.books.fail_reserves.store(1, Ordering::Relaxed);
    let body = scripted("How can I sell one ETH?");
    assert!(purse.ask(Dialect::Chat, &body).await.is_err());
    cache_of(&purse, &scripted("What is a validator?")).await;
    assert_eq!(purse.bench.received().await.len(), 2);
    let receipts = purse.settled().await;
    let of_owner = receipts
        .iter()
        .filter(|receipt| receipt.account != purse.account);
    assert_eq!(of_owner.count(), 0);
}
