//! Callers without a key, who pay for single requests by x402 on a simulated chain.

use bardo_x402::evm::{Address, U256};
use bardo_x402::payer::PaymentHeader;
use bardo_x402::token::TokenAmount;
use bardo_x402::wire::{
    PaymentScheme, SettlementReceipt, X402Version, decode_header, encode_header,
};
use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::payer::{micro, now_s, offer, paid, payment_of, receipt, refused, sign, sign_up_to};
use crate::rig::{Folder, Gateway, command, eventually};
use crate::sse::Caller;

fn seller(environment: &[(&str, &str)]) -> Gateway {
    let folder = Folder::new();
    let mut serve = command(&folder);
    serve.args(["serve", "--sandbox", "--payments", "--fast", "--data-dir"]);
    serve.arg(folder.0.join("data"));
    Gateway::run(folder, serve, environment)
}

fn chat(words: &str) -> Request {
    let mut body = Caller::Chat.request("gpt-5.5", words, false);
    body["max_completion_tokens"] = json!(200);
    Request::json(Caller::Chat.path(), &body)
}

#[test]
fn every_dialect_is_offered_paid_and_settled_for_what_it_cost() {
    let gateway = seller(&[]);
    for caller in Caller::ALL {
        for stream in [false, true] {
            for scheme in [PaymentScheme::Upto, PaymentScheme::Exact] {
                let what = format!("{caller:?}, {scheme:?}, stream: {stream}");
                let body = caller.request("claude-haiku-4-5", "Hi", stream);
                let request = Request::json(caller.path(), &body);
                let offered = gateway.send(&request);
                assert_eq!(offered.status(), 402, "{what}: {}", offered.text());
                let payment = sign(&offered, X402Version::V2, scheme);
                let answer = gateway.send(&paid(&request, &payment));
                assert_eq!(answer.status(), 200, "{what}: {}", answer.text());
                assert_eq!(answer.header("x-bardo-balance"), None);
                let settled = eventually("the settlement", || {
                    let found = payment_of(&gateway, &answer);
                    (found["status"] == "settled").then_some(found)
                });
                let authorized = TokenAmount::get(payment.amount);
                let charged = micro(&settled["charged_usd"]);
                assert!(
                    charged >= 1_000 && charged <= authorized,
                    "{what}: {settled}"
                );
                let moved = match scheme {
                    PaymentScheme::Upto => charged,
                    PaymentScheme::Exact => authorized,
                };
                assert_eq!(micro(&settled["settled_usd"]), moved, "{what}: {settled}");
                if !stream {
                    let receipt = receipt(&answer, X402Version::V2);
                    assert!(
                        matches!(receipt, SettlementReceipt::Settled { .. }),
                        "{receipt:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_payment_of_version_1_pays_too() {
    let gateway = seller(&[]);
    let request = chat("Hi");
    let offered = gateway.send(&request);
    let payment = sign(&offered, X402Version::V1, PaymentScheme::Exact);
    let answer = gateway.send(&paid(&request, &payment));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let receipt = receipt(&answer, X402Version::V1);
    assert!(
        matches!(receipt, SettlementReceipt::Settled { .. }),
        "{receipt:?}"
    );
}

#[test]
fn one_payment_buys_one_answer_however_often_it_is_sent() {
    let gateway = seller(&[]);
    let request = chat("Hi");
    let payment = sign(
        &gateway.send(&request),
        X402Version::V2,
        PaymentScheme::Upto,
    );
    let request = paid(&request, &payment);
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let sent = (0..40).map(|_| scope.spawn(|| gateway.send(&request)));
        let sent: Vec<_> = sent.collect();
        sent.into_iter()
            .map(|one| one.join().expect("it answers"))
            .collect()
    });
    let (served, others): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.status() == 200);
    assert_eq!(served.len(), 1);
    for other in others {
        refused(other, 409, "payment_used");
        assert_eq!(other.header("payment-required"), None, "no fresh offer");
        assert_eq!(other.header("x-should-retry"), Some("false"));
    }
}

#[test]
fn an_idempotency_key_gets_the_same_answer_again_for_the_same_payment() {
    let gateway = seller(&[]);
    let request = chat("Hi");
    let payment = sign(
        &gateway.send(&request),
        X402Version::V2,
        PaymentScheme::Upto,
    );
    let request = paid(&request, &payment).with("idempotency-key", "k1");
    let first = gateway.send(&request);
    assert_eq!(first.status(), 200, "{}", first.text());
    let again = gateway.send(&request);
    assert_eq!(again.status(), 200, "{}", again.text());
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.text(), first.text());
}

#[test]
fn a_payment_for_another_body_path_or_amount_is_refused_with_a_fresh_offer() {
    let gateway = seller(&[]);
    let request = chat("Hi");
    let offered = gateway.send(&request);
    let payment = sign(&offered, X402Version::V2, PaymentScheme::Upto);
    let other_path = {
        let body = Caller::Chat.request("gpt-5.5", "Hi", false);
        Request::json(
            Caller::Responses.path(),
            &json!({ "model": body["model"], "input": "Hi" }),
        )
    };
    for other in [chat("Hello"), other_path] {
        let answer = gateway.send(&paid(&other, &payment));
        refused(&answer, 402, "payment_required");
        let error = offer(&answer)["error"].clone();
        assert_eq!(error, "invalid_payment_requirements", "{}", answer.text());
    }
    let changes: [(&str, Value, &str); 6] = [
        (
            "/accepted/amount",
            json!("1000"),
            "invalid_payment_requirements",
        ),
        (
            "/accepted/payTo",
            json!(Address::repeat_byte(7).to_string()),
            "invalid_payment_requirements",
        ),
        (
            "/payload/permit2Authorization/permitted/amount",
            json!("1"),
            "permit2_amount_mismatch",
        ),
        (
            "/payload/permit2Authorization/witness/to",
            json!(Address::repeat_byte(7).to_string()),
            "invalid_permit2_recipient_mismatch",
        ),
        (
            "/payload/permit2Authorization/deadline",
            json!(now_s().to_string()),
            "permit2_deadline_expired",
        ),
        (
            "/payload/permit2Authorization/nonce",
            json!(U256::from(5).to_string()),
            "invalid_permit2_signature",
        ),
    ];
    for (place, value, code) in changes {
        let json = decode_header(payment.value.as_bytes()).expect("base64");
        let mut json: Value = serde_json::from_slice(&json).expect("JSON");
        *json.pointer_mut(place).expect("a member") = value;
        let changed = PaymentHeader {
            value: encode_header(&json.to_string()),
            ..payment.clone()
        };
        let answer = gateway.send(&paid(&request, &changed));
        refused(&answer, 402, "payment_required");
        assert_eq!(offer(&answer)["error"], code, "{place}: {}", answer.text());
    }
    // The payment is still good.
    assert_eq!(gateway.send(&paid(&request, &payment)).status(), 200);
}

#[test]
fn a_header_that_is_no_payment_is_a_bad_request() {
    let gateway = seller(&[]);
    let request = chat("Hi");
    let payment = sign(
        &gateway.send(&request),
        X402Version::V2,
        PaymentScheme::Upto,
    );
    for (name, value) in [
        ("payment-signature", "not base64!"),
        ("payment-signature", "e30="),
        ("x-payment", payment.value.as_str()),
    ] {
        refused(
            &gateway.send(&request.clone().with(name, value)),
            400,
            "invalid_request",
        );
    }
    let twice = paid(&paid(&request, &payment), &payment);
    refused(&gateway.send(&twice), 400, "invalid_request");
}

#[test]
fn guests_look_at_models_and_count_tokens_and_keys_of_ours_are_still_checked() {
    let gateway = seller(&[]);
    assert_eq!(gateway.send(&Request::get("/v1/models")).status(), 200);
    let body =
        json!({ "model": "claude-haiku-4-5", "messages": [{ "role": "user", "content": "Hi" }] });
    let counted = gateway.send(&Request::json("/v1/messages/count_tokens", &body));
    assert_eq!(counted.status(), 200, "{}", counted.text());
    refused(
        &gateway.send(&Request::get("/v1/balance")),
        401,
        "missing_key",
    );
    let with_key = |key: &str| chat("Hi").with("authorization", &format!("Bearer {key}"));
    let unknown = format!("bardo_sk_{}_{}", "a".repeat(16), "b".repeat(43));
    for (key, status) in [
        ("sk-anything", 402),
        (unknown.as_str(), 401),
        ("bardo_sk_cut", 401),
    ] {
        assert_eq!(gateway.send(&with_key(key)).status(), status, "{key}");
    }
    let own = gateway.ready["key"].as_str().expect("a key");
    assert_eq!(gateway.send(&with_key(own)).status(), 200);
    let bad = Request::json("/v1/chat/completions", &json!({ "model": "gpt-5.5" }));
    refused(&gateway.send(&bad), 400, "invalid_request");
    refused(
        &gateway.send(&Request::get("/v1/payments/req_none")),
        404,
        "payment_not_found",
    );
}

#[test]
fn a_gateway_that_settles_first_answers_with_the_transaction() {
    let gateway = seller(&[
        ("BARDO_PAYMENTS__SETTLE_FIRST", "true"),
        ("BARDO_PAYMENTS__SCHEMES", "[\"exact\"]"),
    ]);
    let request = chat("Hi");
    let offered = gateway.send(&request);
    assert_eq!(offer(&offered)["accepts"].as_array().map(Vec::len), Some(1));
    let payment = sign(&offered, X402Version::V2, PaymentScheme::Exact);
    let answer = gateway.send(&paid(&request, &payment));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let SettlementReceipt::Settled { transaction, .. } = receipt(&answer, X402Version::V2) else {
        unreachable!("it is settled");
    };
    assert!(transaction.is_some());
    let found = payment_of(&gateway, &answer);
    assert_eq!(micro(&found["settled_usd"]), payment.amount.get());
}

#[test]
fn a_wallet_owes_no_more_than_it_is_trusted_with() {
    let gateway = seller(&[("BARDO_PAYMENTS__FIRST_OPEN_USD", "0.001")]);
    let request = chat("Hi");
    let payment = sign(
        &gateway.send(&request),
        X402Version::V2,
        PaymentScheme::Upto,
    );
    refused(
        &gateway.send(&paid(&request, &payment)),
        429,
        "payment_limit",
    );
}

#[test]
fn nothing_is_for_sale_where_the_operator_did_not_open_it() {
    let folder = Folder::new();
    let mut serve = command(&folder);
    serve.args(["serve", "--sandbox", "--fast", "--data-dir"]);
    serve.arg(folder.0.join("data"));
    let gateway = Gateway::run(folder, serve, &[]);
    refused(&gateway.send(&chat("Hi")), 401, "missing_key");
    refused(
        &gateway.send(&Request::get("/v1/payments/x")),
        404,
        "payment_not_found",
    );
}

fn deposit(usd: &str) -> Request {
    Request::json("/v1/deposits", &json!({ "amount_usd": usd }))
}

#[test]
fn a_deposit_becomes_credit_of_the_wallet_or_of_the_key() {
    let gateway = seller(&[]);
    let key = gateway.ready["key"].as_str().expect("a key").to_owned();
    let own = format!("Bearer {key}");
    let balance = || {
        let asked = Request::get("/v1/balance").with("authorization", &own);
        micro(&gateway.send(&asked).json()["available"])
    };
    let before = balance();
    for (request, version) in [
        (deposit("2.5"), X402Version::V2),
        (deposit("2.5").with("authorization", &own), X402Version::V1),
    ] {
        let offered = gateway.send(&request);
        refused(&offered, 402, "payment_required");
        let payment = sign_up_to(&offered, version, PaymentScheme::Exact, 100_000_000);
        assert_eq!(payment.amount.get(), 2_500_000);
        let answer = gateway.send(&paid(&request, &payment));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let receipt = receipt(&answer, version);
        assert!(
            matches!(receipt, SettlementReceipt::Settled { .. }),
            "{receipt:?}"
        );
        assert_eq!(answer.json()["status"], "settled");
        // A repetition is the same deposit.
        let again = gateway.send(&paid(&request, &payment));
        assert_eq!(again.json()["id"], answer.json()["id"], "{}", again.text());
        eventually("the booking", || {
            let found = payment_of(&gateway, &answer);
            (found["booked_usd"] == "2.500000").then_some(())
        });
    }
    assert_eq!(balance(), before + 2_500_000);
}

#[test]
fn a_deposit_that_cannot_be_is_a_bad_request() {
    let gateway = seller(&[]);
    for body in [
        "",
        "{}",
        "5",
        r#"{"amount_usd":"x"}"#,
        r#"{"amount_usd":-1}"#,
    ] {
        refused(
            &gateway.send(&Request::post("/v1/deposits", body)),
            400,
            "invalid_request",
        );
    }
    for usd in ["0", "0.0001", "100.01"] {
        let answer = gateway.send(&deposit(usd));
        refused(&answer, 400, "invalid_request");
        assert!(
            answer.text().contains("from 0.001000 to 100.000000"),
            "{}",
            answer.text()
        );
    }
    let other = deposit("0.5");
    let offered = gateway.send(&other);
    let payment = sign(&offered, X402Version::V2, PaymentScheme::Exact);
    refused(
        &gateway.send(&paid(&deposit("2"), &payment)),
        402,
        "payment_required",
    );
}

#[test]
fn a_payment_beside_a_key_is_booked_on_the_account_of_the_key() {
    let gateway = seller(&[]);
    let key = gateway.ready["key"].as_str().expect("a key").to_owned();
    let request = chat("Hi");
    let payment = sign(
        &gateway.send(&request),
        X402Version::V2,
        PaymentScheme::Upto,
    );
    let wrong = paid(&request, &payment).with("authorization", "Bearer bardo_sk_cut");
    refused(&gateway.send(&wrong), 401, "invalid_key");
    let with_key = paid(&request, &payment).with("authorization", &format!("Bearer {key}"));
    let answer = gateway.send(&with_key);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(payment_of(&gateway, &answer)["account"], "acct_sandbox");
}

#[test]
fn operators_see_each_payment_on_a_page_and_in_files() {
    let gateway = seller(&[]);
    let request = chat("Hi");
    let payment = sign(
        &gateway.send(&request),
        X402Version::V2,
        PaymentScheme::Upto,
    );
    let answer = gateway.send(&paid(&request, &payment));
    let id = answer.header("x-bardo-payment").expect("an id").to_owned();
    eventually("the booking", || {
        let found = payment_of(&gateway, &answer);
        found["booked_usd"].as_str().map(|_| ())
    });
    let page = |path: &str| {
        let page = Request::get(path).send(gateway.admin);
        assert_eq!(page.status(), 200, "{path}: {}", page.text());
        page.text()
    };
    for path in [
        "/console/payments",
        "/console/payments?stage=settled",
        "/console/payments.csv",
        "/console/payments.json?stage=settled",
    ] {
        assert!(page(path).contains(&id), "{path}");
    }
    assert!(!page("/console/payments?stage=debts").contains(&id));
    let one = page(&format!("/console/payments/{id}"));
    let found = payment_of(&gateway, &answer);
    let transaction = found["transaction"].as_str().expect("a transaction");
    assert!(one.contains(transaction), "{one}");
    let missing = Request::get("/console/payments/req_none").send(gateway.admin);
    assert_eq!(missing.status(), 404);
}

#[test]
fn the_admin_api_lists_payments_and_wallets_as_json_and_csv() {
    let gateway = seller(&[]);
    let mut bought = Vec::new();
    for words in ["one", "two", "three"] {
        let request = chat(words);
        let offered = gateway.send(&request);
        let payment = sign(&offered, X402Version::V2, PaymentScheme::Upto);
        let answer = gateway.send(&paid(&request, &payment));
        eventually("the booking", || {
            let found = payment_of(&gateway, &answer);
            found["booked_usd"].as_str().map(|_| ())
        });
        bought.push(answer.header("x-bardo-payment").expect("an id").to_owned());
    }
    bought.reverse();
    let read = |path: &str| {
        let answer = Request::get(path).send(gateway.admin);
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        answer
    };
    let ids = |list: &Value| -> Vec<String> {
        let rows = list["data"].as_array().expect("a list").iter();
        rows.map(|row| row["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    let all = read("/admin/payments").json();
    assert_eq!(ids(&all), bought);
    assert_eq!(all["totals"]["wallets"], 1);
    assert_eq!(all["totals"]["stages"]["settled"]["payments"], 3);
    let first = read("/admin/payments?limit=2").json();
    assert_eq!(ids(&first), bought[..2]);
    let next = first["next"].as_str().expect("another page");
    let second = read(&format!("/admin/payments?limit=2&cursor={next}")).json();
    assert_eq!(
        (ids(&second), &second["next"]),
        (bought[2..].to_vec(), &Value::Null)
    );
    let wallets = read("/admin/payments/wallets").json();
    let wallet = &wallets["data"][0];
    assert_eq!(wallet["settlements"], 3);
    assert_eq!(wallet["settled_usd"], all["totals"]["settled_usd"]);
    let name = wallet["wallet"].as_str().expect("a wallet");
    for (filter, count) in [
        (format!("wallet={name}&stage=settled&since=1h"), 3),
        (format!("account=wallet:{name}"), 3),
        (format!("wallet=8453:0x{}", "7".repeat(40)), 0),
        ("stage=debts".to_owned(), 0),
        ("from=2020-01-01&to=2020-01-02".to_owned(), 0),
    ] {
        let found = read(&format!("/admin/payments?{filter}")).json();
        assert_eq!(ids(&found).len(), count, "{filter}");
    }
    assert!(ids(&read("/admin/payments/debts").json()).is_empty());
    let one = read(&format!("/admin/payments/{}", bought[0])).json();
    assert_eq!(one, all["data"][0]);
    let text = read("/admin/payments?format=csv").text();
    assert!(text.starts_with("id,created_at,status,") && text.contains(&bought[2]));
    let text = read("/admin/payments/wallets?format=csv").text();
    assert!(text.starts_with("wallet,account,open,") && text.contains(name));
    for (path, status, param) in [
        ("/admin/payments?stage=lost", 400, "stage"),
        ("/admin/payments?wallet=me", 400, "wallet"),
        ("/admin/payments?cursor=x", 400, "cursor"),
        ("/admin/payments?limit=0", 400, "limit"),
        ("/admin/payments?below=1", 400, "below"),
        ("/admin/payments/debts?stage=settled", 400, "stage"),
        ("/admin/payments/wallets?after=x", 400, "after"),
        ("/admin/payments/req_none", 404, ""),
    ] {
        let answer = Request::get(path).send(gateway.admin);
        assert_eq!(answer.status(), status, "{path}: {}", answer.text());
        let error = &answer.json()["error"];
        assert_eq!(error["param"].as_str().unwrap_or_default(), param, "{path}");
    }
    let write_off = |id: &str, body: &Value| {
        let path = format!("/admin/payments/debts/{id}/write_off");
        Request::json(&path, body).send(gateway.admin).status()
    };
    let reason = json!({ "reason": "a test" });
    assert_eq!(write_off(&bought[0], &reason), 409, "it owes nothing");
    assert_eq!(write_off("req_none", &reason), 404);
    assert_eq!(write_off(&bought[0], &json!({})), 400);
    assert_eq!(write_off(&bought[0], &json!({ "reason": " " })), 400);
}
