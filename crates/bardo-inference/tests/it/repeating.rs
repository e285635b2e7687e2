//! Payments whose answer does not come: the same one is sent again, never another.

use std::collections::BTreeSet;

use crate::http::HttpMessage;
use crate::rig::ServedProxy;
use crate::seller::{self, ScriptedSeller, SellerReply, entry, offer, payment};

/// A seller that does these things with paid requests, one after the other, and then answers.
fn failing(replies: Vec<fn() -> SellerReply>) -> ScriptedSeller {
    let mut replies = replies.into_iter();
    ScriptedSeller::new(move |request| match payment(request) {
        None => offer(&[entry("exact", "3660")]),
        Some(_) => replies.next().map_or_else(seller::answer, |reply| reply()),
    })
}

fn headers(seller: &ScriptedSeller) -> Vec<String> {
    let header = |request: &HttpMessage| request.header("payment-signature").map(str::to_owned);
    seller.seen().iter().filter_map(header).collect()
}

fn different(headers: &[String]) -> usize {
    headers.iter().collect::<BTreeSet<_>>().len()
}

fn unavailable() -> SellerReply {
    SellerReply::json(503, &serde_json::json!({ "error": "busy" }))
}

#[test]
fn a_failure_and_a_cut_connection_are_repeated_with_the_same_payment() {
    let seller = failing(vec![unavailable, || SellerReply::Die]);
    let proxy = ServedProxy::new(&seller, &[]);
    assert_eq!(proxy.chat().status(), 200);
    let headers = headers(&seller);
    assert_eq!((headers.len(), different(&headers)), (3, 1));
    let keys: BTreeSet<_> = seller
        .seen()
        .iter()
        .filter_map(|request| request.header("idempotency-key").map(str::to_owned))
        .collect();
    assert_eq!(keys.len(), 1, "a seller can know the repetition");
    assert_eq!(proxy.spend()["session"], "0.003660");
}

#[test]
fn the_clients_own_repetition_uses_the_payment_without_an_answer() {
    let seller = failing(vec![|| SellerReply::Die; 4]);
    let proxy = ServedProxy::new(&seller, &[]);
    let refused = proxy.chat();
    assert_eq!(refused.status(), 402, "{}", refused.text());
    assert_eq!(refused.header("x-should-retry"), Some("false"));
    assert!(
        refused.text().contains("payment_unanswered"),
        "{}",
        refused.text()
    );
    assert_eq!(proxy.spend()["open"], "0.003660", "it can still be charged");
    assert_eq!(proxy.chat().status(), 200);
    let paid = headers(&seller);
    assert_eq!((paid.len(), different(&paid)), (5, 1));
    assert_eq!(proxy.spend()["session"], "0.003660");
    // The payment is used up: the next request is another one.
    assert_eq!(proxy.chat().status(), 200);
    assert_eq!(different(&headers(&seller)), 2);
    assert_eq!(proxy.spend()["session"], "0.007320");
}

#[test]
fn a_payment_that_was_taken_for_a_lost_answer_is_not_replaced() {
    let replay = || SellerReply::json(402, &serde_json::json!({ "code": "PAYMENT_REPLAY" }));
    let seller = failing(vec![
        || SellerReply::Die,
        || SellerReply::Die,
        || SellerReply::Die,
        || SellerReply::Die,
        replay,
        replay,
    ]);
    let proxy = ServedProxy::new(&seller, &[]);
    assert_eq!(proxy.chat().status(), 402);
    for _ in 0..2 {
        let lost = proxy.chat();
        assert_eq!(lost.status(), 402);
        assert!(lost.text().contains("answer_lost"), "{}", lost.text());
    }
    assert_eq!(different(&headers(&seller)), 1);
    assert_eq!(proxy.spend()["session"], "0.003660");
}

#[test]
fn a_seller_that_keeps_failing_is_shown_as_it_is_and_asked_with_the_same_payment_later() {
    let seller = failing(vec![unavailable; 4]);
    let proxy = ServedProxy::new(&seller, &[]);
    let failed = proxy.chat();
    assert_eq!(failed.status(), 503);
    assert_eq!(failed.json()["error"], "busy");
    assert_eq!(failed.header("x-should-retry"), Some("false"));
    assert_eq!(proxy.chat().status(), 200);
    assert_eq!(different(&headers(&seller)), 1);
}

#[test]
fn a_settlement_that_is_pending_is_asked_for_with_the_same_payment() {
    let pending = || {
        let receipt = serde_json::json!({ "success": false, "errorReason": "settlement_pending",
            "network": "eip155:8453", "transaction": format!("0x{}", "22".repeat(32)) });
        let header = bardo_x402::wire::encode_header(&receipt.to_string());
        SellerReply::json(402, &serde_json::json!({})).with("payment-response", header)
    };
    let seller = failing(vec![pending]);
    let proxy = ServedProxy::new(&seller, &[]);
    assert_eq!(proxy.chat().status(), 200);
    let headers = headers(&seller);
    assert_eq!((headers.len(), different(&headers)), (2, 1));
}

#[test]
fn an_endpoint_that_is_not_there_costs_nothing_and_may_be_asked_again() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let home = tempfile::tempdir().unwrap();
    let proxy = ServedProxy::start(home, &format!("http://{gone}"), &[]);
    let refused = proxy.chat();
    assert_eq!(refused.status(), 502);
    assert_eq!(refused.header("x-should-retry"), None);
    assert_eq!(proxy.spend()["session"], "0.000000");
}

#[test]
fn a_refusal_after_a_lost_answer_is_no_reason_to_pay_again() {
    let chain = seller::chain(8453, 1 << 40);
    let rpc = format!("http://127.0.0.1:{}", chain.port);
    let mut paid = 0;
    let seller = ScriptedSeller::new(move |request| {
        if payment(request).is_none() {
            return offer(&[entry("upto", "90000"), entry("exact", "3660")]);
        }
        paid += 1;
        match paid {
            // Served and charged, but the answer is lost on the way.
            1 => SellerReply::Die,
            _ => offer(&[entry("upto", "90000"), entry("exact", "3660")]),
        }
    });
    let proxy = ServedProxy::new(&seller, &["--scheme", "upto,exact", "--rpc", &rpc]);
    for _ in 0..2 {
        let lost = proxy.chat();
        assert!(lost.text().contains("answer_lost"), "{}", lost.text());
    }
    assert_eq!(different(&headers(&seller)), 1);
    assert_eq!(proxy.spend()["session"], "0.090000");
}

#[test]
fn a_request_that_was_refused_for_another_reason_uses_its_payment_when_it_comes_again() {
    let seller = failing(vec![
        || SellerReply::json(429, &serde_json::json!({ "error": "slow down" })),
        || SellerReply::Die,
        || SellerReply::Die,
        || SellerReply::Die,
        || SellerReply::Die,
        || SellerReply::json(402, &serde_json::json!({ "code": "PAYMENT_REPLAY" })),
    ]);
    let proxy = ServedProxy::new(&seller, &[]);
    assert_eq!(proxy.chat().status(), 429);
    assert!(proxy.chat().text().contains("payment_unanswered"));
    // It was sent once more and lost, so this 402 is no refusal of it.
    assert!(proxy.chat().text().contains("answer_lost"));
    assert_eq!(different(&headers(&seller)), 1);
    assert_eq!(proxy.spend()["session"], "0.003660");
}

#[test]
fn a_payment_that_was_refused_is_tried_again_before_another_is_signed() {
    let refuse = || SellerReply::json(402, &serde_json::json!({ "code": "PAYMENT_UNFUNDED" }));
    let seller = failing(vec![refuse, refuse]);
    let proxy = ServedProxy::new(&seller, &[]);
    let refused = proxy.chat();
    assert!(
        refused.text().contains("PAYMENT_UNFUNDED"),
        "{}",
        refused.text()
    );
    // The wallet was funded meanwhile.
    assert_eq!(proxy.chat().status(), 200);
    let headers = headers(&seller);
    assert_eq!((headers.len(), different(&headers)), (3, 2));
    assert_ne!(headers[0], headers[2]);
    assert_eq!(headers[0], headers[1]);
}

#[test]
fn a_translated_request_is_paid_once_over_repetitions_too() {
    let seller = failing(vec![|| SellerReply::Die; 4]);
    let proxy = ServedProxy::new(&seller, &["--speaks", "chat"]);
    let body = serde_json::json!({ "model": "m", "max_tokens": 9, "tools": [{ "name": "look", "input_schema": { "type": "object" } }],
        "messages": [{ "role": "user", "content": "Hello" },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "toolu_1", "name": "look", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_1", "content": "x" }] }] });
    assert_eq!(proxy.ask("/v1/messages", &body).status(), 402);
    assert_eq!(proxy.ask("/v1/messages", &body).status(), 200);
    assert_eq!(different(&headers(&seller)), 1);
}

#[test]
fn an_answer_that_is_cut_is_asked_for_again_with_its_payment() {
    for path in ["/v1/chat/completions", "/v1/messages"] {
        let seller = failing(vec![|| SellerReply::Half]);
        let proxy = ServedProxy::new(&seller, &["--speaks", "chat"]);
        let mut body = crate::rig::chat("Hello");
        body["max_tokens"] = serde_json::json!(9);
        let mut cut = proxy.begin(path, &body);
        let head = crate::http::read_head(&mut cut).expect("a head");
        match path {
            // What has arrived is handed on, and the cut with it.
            "/v1/chat/completions" => {
                let cut_short = std::io::Read::read_exact(&mut cut, &mut [0; 100]);
                assert!(cut_short.is_err());
            }
            _ => {
                assert_eq!(head.status(), 502);
                assert_eq!(head.header("x-should-retry"), Some("false"));
            }
        }
        assert_eq!(proxy.ask(path, &body).status(), 200, "{path}");
        let headers = headers(&seller);
        assert_eq!((headers.len(), different(&headers)), (2, 1), "{path}");
        assert_eq!(proxy.spend()["session"], "0.003660");
    }
}

#[test]
fn a_seller_that_asks_for_a_long_wait_is_left_alone() {
    let seller = failing(vec![|| unavailable().with("retry-after", "3600")]);
    let proxy = ServedProxy::new(&seller, &[]);
    let failed = proxy.chat();
    assert_eq!(failed.status(), 503);
    assert_eq!(failed.header("retry-after"), Some("3600"));
    assert_eq!(headers(&seller).len(), 1);
}
