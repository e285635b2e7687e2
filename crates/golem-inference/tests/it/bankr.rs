use bardo_types::money::MicroUsd;
use bardo_types::secret::Secret;
use golem_inference::bankr::{AutoTopUp, BankrApi, Credits as _, CreditsError};
use golem_inference::client::GatewayAddress;
use http::Method;
use serde_json::json;

use crate::stub::{Stub, answer};

fn api(stub: &Stub) -> BankrApi {
    let wallet = GatewayAddress::parse(&format!("{}/llm", stub.endpoint)).expect("an address");
    BankrApi::at(stub.endpoint.clone(), wallet, Secret::new("bk_1".into()))
}

#[tokio::test]
async fn credit_is_what_is_left_after_what_is_not_yet_deducted() {
    let stub = Stub::start(|asked| match asked.path.as_str() {
        "/v1/credits" => answer(
            200,
            &[],
            r#"{"balanceUsd":9.15,"effectiveBalanceUsd":8.9,"undeductedCostUsd":0.25}"#,
        ),
        "/v1/usage?days=30" => answer(200, &[], r#"{"days":30,"totals":{"totalCost":0.41}}"#),
        other => panic!("{other}"),
    })
    .await;
    let api = api(&stub);
    assert_eq!(api.balance().await, Ok(MicroUsd::new(8_900_000)));
    assert_eq!(
        api.usage(30).await.unwrap().total_cost,
        MicroUsd::new(410_000)
    );
    assert_eq!(stub.asked()[0].headers["x-api-key"], "bk_1");
}

#[tokio::test]
async fn a_top_up_names_amount_token_and_itself() {
    let stub =
        Stub::start(|_| answer(200, &[], r#"{"creditsGranted":25,"newBalance":34.15}"#)).await;
    let done = api(&stub)
        .top_up(MicroUsd::new(25_000_000), "USDC", "topup-1")
        .await;
    assert_eq!(done, Ok(()));
    let asked = &stub.asked()[0];
    assert_eq!(
        (&asked.method, asked.path.as_str()),
        (&Method::POST, "/llm/credits/topup")
    );
    assert_eq!(asked.headers["idempotency-key"], "topup-1");
    assert_eq!(asked.body["amountUsd"].as_f64(), Some(25.0));
    assert_eq!(asked.body["sourceToken"], json!("USDC"));
}

#[tokio::test]
async fn a_refused_top_up_is_told_from_one_of_unknown_outcome() {
    for (status, is_known) in [(402, true), (403, true), (502, false), (500, false)] {
        let body = r#"{"error":{"message":"no"}}"#;
        let stub = Stub::start(move |_| answer(status, &[], body)).await;
        let error = api(&stub)
            .top_up(MicroUsd::new(1_000_000), "USDC", "k")
            .await;
        let refused = CreditsError::Refused(format!("{status} no"));
        let unknown = CreditsError::Unknown(format!("{status} no"));
        assert_eq!(error, Err(if is_known { refused } else { unknown }));
    }
}

#[tokio::test]
async fn top_ups_that_bankr_makes_by_itself_are_read() {
    let stub = Stub::start(|asked| {
        assert_eq!(
            (&asked.method, asked.path.as_str()),
            (&Method::GET, "/llm/credits/auto-topup")
        );
        answer(
            200,
            &[],
            r#"{"config":{"enabled":true,"amountUsd":25,"thresholdUsd":"5","tokens":[],"lastError":{"message":"no USDC"}}}"#,
        )
    })
    .await;
    let auto = api(&stub).auto_top_up().await;
    let expected = AutoTopUp {
        is_enabled: true,
        amount: Some(MicroUsd::new(25_000_000)),
        threshold: Some(MicroUsd::new(5_000_000)),
        last_error: Some("no USDC".into()),
    };
    assert_eq!(auto, Ok(Some(expected)));
    for silent in ["{}", r#"{"config":{}}"#, r#"{"config":{"enabled":"yes"}}"#] {
        let stub = Stub::start(move |_| answer(200, &[], silent)).await;
        let auto = api(&stub).auto_top_up().await;
        assert!(matches!(auto, Err(CreditsError::Unknown(_))), "{silent}");
    }
}

#[tokio::test]
async fn a_setting_that_cannot_be_read_now_is_unknown_and_not_off() {
    for status in [400, 402, 408, 409, 425, 429, 500, 503] {
        let stub = Stub::start(move |_| answer(status, &[], r#"{"error":"no"}"#)).await;
        let auto = api(&stub).auto_top_up().await;
        let unknown = CreditsError::Unknown(format!("{status} no"));
        assert_eq!(auto, Err(unknown));
    }
    // These books have none, or none for this key.
    for status in [401, 403, 404] {
        let stub = Stub::start(move |_| answer(status, &[], r#"{"error":"no"}"#)).await;
        assert_eq!(api(&stub).auto_top_up().await, Ok(None), "{status}");
    }
    let nobody = || GatewayAddress::parse("http://127.0.0.1:9").expect("an address");
    let unreachable = BankrApi::at(nobody(), nobody(), Secret::new("bk_1".into()));
    let auto = unreachable.auto_top_up().await;
    assert!(matches!(auto, Err(CreditsError::Unknown(_))), "{auto:?}");
}
