//! Offers that are paid, once, and offers that are not.

use serde_json::{Value, json};

use crate::rig::{ADDRESS, ServedProxy, chat};
use crate::seller::{self, PAYEE, ScriptedSeller, SellerReply, entry, offer, payment};

#[test]
fn an_offer_of_version_2_is_paid_once_with_the_body_unchanged() {
    let seller = seller::honest();
    let proxy = ServedProxy::new(&seller, &[]);
    let answer = proxy.chat();
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "Hello!");
    let seen = seller.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].body, seen[1].body);
    assert_eq!(seen[1].body, chat("Hello").to_string().as_bytes());
    for request in &seen {
        assert_eq!(request.path(), "/v1/chat/completions");
        assert_eq!(
            request.header("authorization"),
            None,
            "the local token stays here"
        );
    }
    let paid = payment(&seen[1]).unwrap();
    let authorization = &paid["payload"]["authorization"];
    assert_eq!(authorization["from"], ADDRESS);
    assert_eq!(authorization["to"], PAYEE);
    assert_eq!(authorization["value"], "3660");
    assert_eq!(proxy.spend()["session"], "0.003660");
    assert_eq!(proxy.spend()["today"], "0.003660");
    assert_eq!(proxy.spend()["open"], "0.000000");
}

#[test]
fn an_offer_of_version_1_is_paid_too() {
    let seller = ScriptedSeller::new(|request| match payment(request) {
        None => seller::offer_v1("2000"),
        Some(_) => seller::answer(),
    });
    let proxy = ServedProxy::new(&seller, &[]);
    assert_eq!(proxy.chat().status(), 200);
    let seen = seller.seen();
    assert!(seen[1].header("x-payment").is_some());
    let paid = payment(&seen[1]).unwrap();
    assert_eq!(paid["x402Version"], 1);
    assert_eq!(paid["network"], "base");
    assert_eq!(paid["payload"]["authorization"]["value"], "2000");
    // Without a receipt the whole price is taken for charged.
    assert_eq!(proxy.spend()["session"], "0.002000");
}

#[test]
fn a_seller_that_asks_again_is_not_paid_again() {
    let dearer = || {
        let mut other = entry("exact", "9999");
        other["payTo"] = json!("0x90F79bf6EB2c4f870365E785982E1f101E93b906");
        other
    };
    let seller = ScriptedSeller::new(move |request| match payment(request) {
        None => offer(&[entry("exact", "3660")]),
        Some(_) => offer(&[dearer()]),
    });
    let proxy = ServedProxy::new(&seller, &[]);
    for (path, kind) in [
        ("/v1/chat/completions", "/error/type"),
        ("/v1/messages", "/error/type"),
        ("/v1/responses", "/error/type"),
    ] {
        let before = seller.payments().len();
        let answer = proxy.ask(path, &chat(path));
        assert_eq!(answer.status(), 402, "{}", answer.text());
        assert_eq!(answer.header("x-should-retry"), Some("false"));
        let told = answer.json();
        assert!(told.pointer(kind).is_some(), "{told}");
        assert!(answer.text().contains("payment_refused"), "{told}");
        assert_eq!(
            seller.payments().len(),
            before + 1,
            "one payment for {path}"
        );
    }
    let amounts = seller.payments();
    assert!(
        amounts
            .iter()
            .all(|paid| paid["payload"]["authorization"]["value"] == "3660")
    );
    assert_eq!(
        proxy.spend()["session"],
        "0.010980",
        "each can still be settled"
    );
}

#[test]
fn offers_in_unknown_money_or_for_another_host_are_refused_unpaid() {
    let change = |member: &str, value: Value| {
        let mut changed = entry("exact", "3660");
        *changed.pointer_mut(member).unwrap() = value;
        offer(&[changed])
    };
    let other_host = || {
        let offer = json!({ "x402Version": 2, "resource": { "url": "https://other.example/v1" },
            "accepts": [entry("exact", "3660")] });
        let header = bardo_x402::wire::encode_header(&offer.to_string());
        SellerReply::json(402, &json!({})).with("payment-required", header)
    };
    type Wrong = Box<dyn Fn() -> SellerReply + Send>;
    let wrong: Vec<(&str, Wrong)> = vec![
        ("token", Box::new(move || change("/asset", json!(PAYEE)))),
        (
            "network",
            Box::new(move || change("/network", json!("eip155:1"))),
        ),
        (
            "domain",
            Box::new(move || change("/extra/name", json!("Tether"))),
        ),
        (
            "scheme",
            Box::new(move || change("/scheme", json!("batch"))),
        ),
        ("host", Box::new(other_host)),
        (
            "malformed",
            Box::new(|| SellerReply::json(402, &json!({})).with("payment-required", "%%")),
        ),
        (
            "account",
            Box::new(|| SellerReply::json(402, &json!({ "error": "out of credit" }))),
        ),
    ];
    for (name, reply) in wrong {
        let seller = ScriptedSeller::new(move |_| reply());
        let proxy = ServedProxy::new(&seller, &[]);
        let answer = proxy.chat();
        assert_eq!(answer.status(), 402, "{name}");
        assert!(
            answer.text().contains("offer_refused"),
            "{name}: {}",
            answer.text()
        );
        assert_eq!(seller.payments(), Vec::<Value>::new(), "{name}");
        assert_eq!(proxy.spend()["session"], "0.000000", "{name}");
    }
}

#[test]
fn answers_without_payment_pass_and_a_payment_of_the_client_does_not() {
    let seller = ScriptedSeller::new(|_| {
        SellerReply::json(429, &json!({ "error": "slow" })).with("retry-after", "7")
    });
    let proxy = ServedProxy::new(&seller, &[]);
    let headers = [
        ("x-api-key", proxy.token.as_str()),
        ("payment-signature", "e30="),
        ("x-payment", "e30="),
    ];
    let mut stream = crate::http::send(proxy.port, "/v1/messages", &headers, "{}");
    let answer = crate::http::read_message(&mut stream).unwrap();
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.header("retry-after"), Some("7"));
    assert_eq!(answer.json()["error"], "slow");
    assert_eq!(seller.payments(), Vec::<Value>::new());
}

#[test]
fn a_payment_is_good_for_as_long_as_the_seller_needs_and_half_an_hour_at_most() {
    let now_s = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.expect("a clock").as_secs()
    };
    for (asked, signed) in [(1_020, 1_020), (31_536_000, 1_800)] {
        let seller = ScriptedSeller::new(move |request| {
            let mut entry = entry("exact", "3660");
            entry["maxTimeoutSeconds"] = json!(asked);
            match payment(request) {
                None => offer(&[entry]),
                Some(_) => seller::answer(),
            }
        });
        let proxy = ServedProxy::new(&seller, &[]);
        let before = now_s();
        assert_eq!(proxy.chat().status(), 200);
        let after = now_s();
        let ends = &seller.payments()[0]["payload"]["authorization"]["validBefore"];
        let ends: u64 = ends
            .as_str()
            .and_then(|ends| ends.parse().ok())
            .expect("a time");
        assert!(
            (before + signed..=after + signed).contains(&ends),
            "{asked}: {ends}"
        );
    }
}
