//! Callers that pay and have no key.

use std::sync::atomic::Ordering;

use bardo_access::{DelegatedSpending, PayerTerms};
use bardo_engine::EngineError;
use bardo_ledger::{CapScope, CapWindow};
use bardo_types::ids::KeyId;
use bardo_types::model::Dialect;
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::receipt::PaymentMode;
use serde_json::{Value, json};

use crate::purse::{Purse, charge};
use crate::world::{prompt, read};

fn payer() -> KeyId {
    KeyId::parse("x402:0xabc").expect("an id")
}

/// A caller without a key, with so much money.
async fn keyless(usd: &str) -> Purse {
    let mut purse = Purse::with(usd).await;
    purse.terms = Some(PayerTerms::without_key(payer()));
    purse
}

fn terms(purse: &mut Purse) -> &mut PayerTerms {
    purse.terms.as_mut().expect("it has terms")
}

fn limited(tokens: u64) -> Value {
    let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    body["max_completion_tokens"] = json!(tokens);
    body
}

#[tokio::test]
async fn a_payer_without_a_key_is_held_charged_and_gets_a_receipt_without_a_key() {
    let purse = keyless("10").await;
    let mut body = limited(200);
    body["stream"] = json!(true);
    let answer = purse.begin(Dialect::Chat, &body).await.expect("an answer");
    let holds = purse.holds().await;
    assert_eq!(holds.len(), 1);
    assert!(holds[0].amount > MicroUsd::ZERO);
    read(answer).await.expect("the whole answer");
    let receipt = purse.receipt().await;
    assert_eq!(receipt.key, None);
    assert_eq!(receipt.account, purse.account);
    assert_eq!(receipt.mode, PaymentMode::Prepaid);
    let usage = receipt.usage.as_ref().expect("counted");
    assert_eq!(receipt.amounts.charge, charge(usage.prompt(), usage.output));
    assert_eq!(purse.balance().await.spent, receipt.amounts.charge);
    let shown: Value = serde_json::from_str(&bardo_wire::receipt::to_json(&receipt)).expect("JSON");
    assert_eq!(shown["key"], Value::Null);
}

#[tokio::test]
async fn a_payer_without_a_key_has_the_spread_of_its_terms() {
    let mut purse = keyless("10").await;
    terms(&mut purse).spread = Some(BasisPoints::ZERO);
    let read = purse.ask(Dialect::Chat, &limited(200)).await;
    read.expect("an answer");
    let amounts = purse.receipt().await.amounts;
    assert!(amounts.charge > MicroUsd::ZERO);
    assert_eq!(amounts.spread, MicroUsd::ZERO);
}

#[tokio::test]
async fn a_payer_without_a_key_is_limited_under_its_own_name() {
    let purse = keyless("10").await;
    purse.gate.left.store(1, Ordering::Relaxed);
    assert!(purse.ask(Dialect::Chat, &limited(200)).await.is_ok());
    let refusal = purse.ask(Dialect::Chat, &limited(200)).await;
    assert!(matches!(refusal, Err(EngineError::Throttled { .. })));
    assert_eq!(purse.settled().await.len(), 1);
    let counted = purse.gate.counted.lock().expect("nobody panicked");
    assert_eq!(*counted, [Some(payer()), Some(payer())]);
}

#[tokio::test]
async fn a_payer_without_a_key_is_capped_under_its_own_name() {
    let mut purse = keyless("10").await;
    terms(&mut purse).scopes.spend.day = Some(MicroUsd::new(30_000));
    assert!(purse.ask(Dialect::Chat, &limited(200)).await.is_ok());
    let refusal = purse.ask(Dialect::Chat, &limited(2_000)).await.err();
    let Some(EngineError::Budget {
        scope,
        window,
        used,
        ..
    }) = refusal
    else {
        unreachable!("{refusal:?}");
    };
    assert_eq!((scope, window), (CapScope::Key(payer()), CapWindow::Day));
    assert_eq!(used, purse.receipt().await.amounts.charge);
}

#[tokio::test]
async fn a_delegate_spends_no_more_than_its_delegation_allows_and_nobody_is_called_for_more() {
    let mut purse = keyless("10").await;
    let counted_as = KeyId::parse("0x1:0x2").expect("an id");
    let delegated = DelegatedSpending {
        counted_as: counted_as.clone(),
        most: MicroUsd::new(30_000),
    };
    terms(&mut purse).delegated = Some(delegated);
    assert!(purse.ask(Dialect::Chat, &limited(200)).await.is_ok());
    let refusal = purse.ask(Dialect::Chat, &limited(2_000)).await.err();
    let Some(EngineError::Budget {
        scope,
        window,
        used,
        ..
    }) = refusal
    else {
        unreachable!("{refusal:?}");
    };
    assert_eq!(scope, CapScope::Delegation(counted_as));
    assert_eq!(window, CapWindow::Total);
    assert_eq!(used, purse.receipt().await.amounts.charge);
}

#[tokio::test]
async fn a_payer_without_a_key_may_use_what_its_terms_name() {
    let mut purse = keyless("10").await;
    terms(&mut purse).scopes.models = vec!["claude-*".into()];
    let refusal = purse.ask(Dialect::Chat, &limited(200)).await;
    assert!(matches!(refusal, Err(EngineError::Scope { .. })));
    terms(&mut purse).scopes.models = vec!["gpt-*".into()];
    assert!(purse.ask(Dialect::Chat, &limited(200)).await.is_ok());
    terms(&mut purse).reads_only = true;
    let refusal = purse.ask(Dialect::Chat, &limited(200)).await;
    assert!(matches!(
        refusal,
        Err(EngineError::Scope {
            reads_only: true,
            ..
        })
    ));
    assert_eq!(purse.settled().await.len(), 1);
}
