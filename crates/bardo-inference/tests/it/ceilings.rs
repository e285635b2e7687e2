//! Payments with a ceiling (`upto`): when they are signed, and what counts.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bardo_x402::wire::encode_header;
use serde_json::{Value, json};

use crate::rig::{ServedProxy, chat};
use crate::seller::{
    self, ChainState, PAYEE, ScriptedSeller, SellerReply, entry, offer, payment, receipt,
    sponsored_offer,
};

fn both() -> [Value; 2] {
    [entry("exact", "3660"), entry("upto", "90000")]
}

/// A seller that settles each ceiling with 0.001234 USD, and says this much in its receipt.
fn of_ceilings(state: &Arc<Mutex<ChainState>>, told: &'static str) -> ScriptedSeller {
    let state = Arc::clone(state);
    ScriptedSeller::new(move |request| match payment(request) {
        None => offer(&[entry("upto", "90000")]),
        Some(paid) => {
            state.lock().unwrap().settle(&paid, 1234);
            seller::answer().with("payment-response", receipt(Some(told)))
        }
    })
}

/// A seller that offers both schemes, with a receipt of 0.001234 USD for a ceiling.
fn of_both() -> ScriptedSeller {
    ScriptedSeller::new(|request| match payment(request) {
        None => offer(&both()),
        Some(paid) if paid["accepted"]["scheme"] == "upto" => {
            seller::answer().with("payment-response", receipt(Some("1234")))
        }
        Some(_) => seller::answer().with("payment-response", receipt(None)),
    })
}

fn address(chain: &ScriptedSeller) -> String {
    format!("http://127.0.0.1:{}", chain.port)
}

/// The schemes of all payments, in their order.
fn schemes(seller: &ScriptedSeller) -> Vec<Value> {
    let paid = seller.payments();
    paid.iter()
        .map(|paid| paid["accepted"]["scheme"].clone())
        .collect()
}

/// Waits for a line of the status file, which is written last. No other request is made meanwhile.
fn until_shown(status: &Path, begin: &str) {
    let since = Instant::now();
    loop {
        let line = std::fs::read_to_string(status).unwrap();
        if line.starts_with(begin) {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(30), "{line}");
        std::thread::yield_now();
    }
}

#[test]
fn a_ceiling_is_preferred() {
    let chain = seller::chain(8453, 1 << 40);
    let seller = of_both();
    for flags in [&[][..], &["--scheme", "auto"], &["--scheme", "upto"]] {
        let rpc = address(&chain);
        let proxy = ServedProxy::new(&seller, &[&["--rpc", &rpc], flags].concat());
        assert_eq!(proxy.chat().status(), 200);
    }
    assert_eq!(schemes(&seller), ["upto"; 3]);
    let paid = &seller.payments()[0];
    let authorization = &paid["payload"]["permit2Authorization"];
    assert_eq!(authorization["permitted"]["amount"], "90000");
}

#[test]
fn a_receipt_below_the_ceiling_counts_for_nothing_until_the_chain_speaks() {
    // The seller can still settle the whole ceiling, so a cap has no room for another one.
    let chain = seller::chain(8453, 1 << 40);
    let seller = ScriptedSeller::new(|request| match payment(request) {
        None => offer(&[entry("upto", "90000")]),
        Some(_) => seller::answer().with("payment-response", receipt(Some("1"))),
    });
    let flags = ["--rpc", &address(&chain), "--cap-day", "0.1"];
    let proxy = ServedProxy::new(&seller, &flags);
    assert_eq!(proxy.chat().status(), 200);
    assert_eq!(proxy.spend()["session"], "0.090000");
    assert_eq!(proxy.spend()["open"], "0.090000");
    let refused = proxy.ask("/v1/chat/completions", &chat("More"));
    assert!(refused.text().contains("--cap-day"), "{}", refused.text());
}

#[test]
fn the_chain_corrects_what_a_receipt_says() {
    for (told, claims) in [("1234", 0), ("2000", 0), ("1", 1), ("1233", 1), ("0", 1)] {
        let state = ChainState::of_base(1 << 40);
        let chain = seller::chain_of(Arc::clone(&state));
        let seller = of_ceilings(&state, told);
        let home = tempfile::tempdir().unwrap();
        let status = home.path().join("line");
        let flags = [
            "--rpc",
            &address(&chain),
            "--status",
            status.to_str().unwrap(),
        ];
        let proxy = ServedProxy::new(&seller, &flags);
        assert_eq!(proxy.chat().status(), 200);
        // The next decision about the approval sees the settlement first, and must not hide it.
        assert_eq!(
            proxy.ask("/v1/chat/completions", &chat("More")).status(),
            200
        );
        until_shown(&status, "0.002468/");
        let since = Instant::now();
        // The day is written after the session.
        while proxy.spend()["today"] != "0.002468" {
            assert!(since.elapsed() < Duration::from_secs(30), "{told}");
        }
        let spend = proxy.spend();
        assert_eq!(spend["session"], "0.002468", "{told}: {spend}");
        assert_eq!(spend["false_claims"], 2 * claims, "{told}: {spend}");
    }
}

#[test]
fn a_transaction_that_only_names_the_nonce_does_not_lower_the_count() {
    let state = ChainState::of_base(1 << 40);
    let chain = seller::chain_of(Arc::clone(&state));
    let seller = ScriptedSeller::new(move |request| match payment(request) {
        None => offer(&[entry("upto", "90000")]),
        Some(paid) => {
            state.lock().unwrap().hide(&paid);
            seller::answer().with("payment-response", receipt(Some("1")))
        }
    });
    let proxy = ServedProxy::new(&seller, &["--rpc", &address(&chain)]);
    assert_eq!(proxy.chat().status(), 200);
    let looks = || {
        let seen = chain.seen();
        let logs = seen
            .iter()
            .filter(|call| call.json()["method"] == "eth_getLogs");
        logs.count()
    };
    let since = Instant::now();
    // The second look begins when the first is done.
    while looks() < 2 {
        assert!(since.elapsed() < Duration::from_secs(30), "no second look");
        std::thread::yield_now();
    }
    assert_eq!(proxy.spend()["session"], "0.090000");
}

#[test]
fn an_owner_who_wants_fixed_prices_gets_them() {
    let chain = seller::chain(8453, 1 << 40);
    let seller = of_both();
    let flags = ["--rpc", &address(&chain), "--scheme", "exact"];
    let proxy = ServedProxy::new(&seller, &flags);
    assert_eq!(proxy.chat().status(), 200);
    assert_eq!(schemes(&seller), ["exact"]);
    assert!(chain.seen().is_empty(), "a fixed price needs no chain");
}

#[test]
fn no_receipt_lowers_the_ceiling_that_counts() {
    let chain = seller::chain(8453, 1 << 40);
    let told = |change: &dyn Fn(&mut Value)| {
        let mut receipt = json!({ "success": true, "transaction": format!("0x{}", "11".repeat(32)),
            "network": "eip155:8453", "amount": "1234" });
        change(&mut receipt);
        encode_header(&receipt.to_string())
    };
    let stranger = PAYEE;
    for (name, receipt, open) in [
        // A report; the chain has the truth.
        ("true", told(&|_| {}), "0.090000"),
        // More than was signed cannot be moved.
        ("above", told(&|r| r["amount"] = json!("90001")), "0.000000"),
        // The rest is unknown, and the ceiling counts.
        (
            "huge",
            told(&|r| r["amount"] = json!("1".repeat(30))),
            "0.090000",
        ),
        ("negative", told(&|r| r["amount"] = json!("-1")), "0.090000"),
        ("number", told(&|r| r["amount"] = json!(1234)), "0.090000"),
        ("silent", told(&|r| r["amount"] = Value::Null), "0.090000"),
        (
            "not sent",
            told(&|r| r["transaction"] = json!("")),
            "0.090000",
        ),
        ("zero", told(&|r| r["amount"] = json!("0")), "0.090000"),
        (
            "another network",
            told(&|r| r["network"] = json!("eip155:84532")),
            "0.090000",
        ),
        (
            "another payer",
            told(&|r| r["payer"] = json!(stranger)),
            "0.090000",
        ),
        ("garbage", "%%".to_owned(), "0.090000"),
    ] {
        let seller = ScriptedSeller::new(move |request| match payment(request) {
            None => offer(&[entry("upto", "90000")]),
            Some(_) => seller::answer().with("payment-response", receipt.clone()),
        });
        let proxy = ServedProxy::new(&seller, &["--rpc", &address(&chain)]);
        assert_eq!(proxy.chat().status(), 200, "{name}");
        let spend = proxy.spend();
        assert_eq!(spend["session"], "0.090000", "{name}: {spend}");
        assert_eq!(spend["open"], open, "{name}: {spend}");
        let false_claims = u64::from(name == "above");
        assert_eq!(spend["false_claims"], false_claims, "{name}: {spend}");
    }
}

#[test]
fn a_late_settlement_and_a_fixed_price_keep_their_amount() {
    let chain = seller::chain(8453, 1 << 40);
    for (scheme, told, late, claims) in [
        ("upto", "1234", true, 0),
        ("exact", "1", false, 0),
        ("exact", "90001", false, 1),
    ] {
        let seller = ScriptedSeller::new(move |request| match payment(request) {
            None => offer(&[entry(scheme, "90000")]),
            Some(_) => {
                let answer = seller::answer().with("payment-response", receipt(Some(told)));
                let settled = if late { "false" } else { "true" };
                answer.with("x-payment-settled", settled)
            }
        });
        let proxy = ServedProxy::new(&seller, &["--rpc", &address(&chain)]);
        assert_eq!(proxy.chat().status(), 200);
        let spend = proxy.spend();
        assert_eq!(spend["session"], "0.090000", "{scheme} {told}");
        assert_eq!(spend["false_claims"], claims, "{scheme} {told}");
    }
}

#[test]
fn the_chain_says_what_a_stream_took() {
    let state = ChainState::of_base(1 << 40);
    let chain = seller::chain_of(Arc::clone(&state));
    let settled = Arc::clone(&state);
    let seller = ScriptedSeller::new(move |request| {
        let Some(paid) = payment(request) else {
            return offer(&[entry("upto", "90000")]);
        };
        let mut state = settled.lock().unwrap();
        // Another payment to the seller has the same log.
        state.settled.push(("22".repeat(32), 777));
        state.settle(&paid, 1234);
        seller::at_once(vec!["data: {}\n\n".into(), "data: [DONE]\n\n".into()])
    });
    let home = tempfile::tempdir().unwrap();
    let status = home.path().join("line");
    let flags = [
        "--rpc",
        &address(&chain),
        "--status",
        status.to_str().unwrap(),
    ];
    let proxy = ServedProxy::new(&seller, &flags);
    assert_eq!(proxy.chat().status(), 200);
    until_shown(&status, "0.001234/");
    let spend = proxy.spend();
    assert_eq!(spend["session"], "0.001234");
    assert_eq!(spend["today"], "0.001234");
    assert_eq!(spend["open"], "0.000000");
}

#[test]
fn a_refused_ceiling_falls_back_to_a_fixed_price_once() {
    let chain = seller::chain(8453, 1 << 40);
    let seller = ScriptedSeller::new(move |request| match payment(request) {
        Some(paid) if paid["accepted"]["scheme"] == "exact" => seller::answer(),
        _ => offer(&both()),
    });
    let proxy = ServedProxy::new(&seller, &["--rpc", &address(&chain)]);
    assert_eq!(proxy.chat().status(), 200);
    assert_eq!(schemes(&seller), ["upto", "exact"]);
    // The refused ceiling can still be settled, so it counts.
    assert_eq!(proxy.spend()["session"], "0.093660");
}

#[test]
fn a_ceiling_without_room_in_a_cap_gives_way_to_a_fixed_price() {
    let chain = seller::chain(8453, 1 << 40);
    let seller = of_both();
    for cap in ["--cap-request", "--cap-session", "--cap-day"] {
        let flags = ["--rpc", &address(&chain), cap, "0.089999"];
        let proxy = ServedProxy::new(&seller, &flags);
        assert_eq!(proxy.chat().status(), 200, "{cap}");
        assert_eq!(proxy.spend()["session"], "0.003660", "{cap}");
        // A wish for ceilings alone is kept.
        let flags = [&flags[..], &["--scheme", "upto"]].concat();
        let refused = ServedProxy::new(&seller, &flags).chat();
        assert!(refused.text().contains(cap), "{}", refused.text());
    }
    assert_eq!(schemes(&seller), ["exact"; 3]);
}

#[test]
fn a_ceiling_without_approval_of_permit2_gives_way_to_a_fixed_price() {
    let nobody = "http://127.0.0.1:9".to_owned();
    let poor = seller::chain(8453, 89_999);
    let other = seller::chain(1, 1 << 40);
    for (rpc, entries, status) in [
        (address(&poor), both().to_vec(), 200),
        (address(&poor), vec![entry("upto", "90000")], 402),
        (address(&other), both().to_vec(), 200),
        (nobody.clone(), both().to_vec(), 200),
        (nobody, vec![entry("upto", "90000")], 402),
    ] {
        let seller = ScriptedSeller::new(move |request| match payment(request) {
            None => offer(&entries),
            Some(_) => seller::answer(),
        });
        let proxy = ServedProxy::new(&seller, &["--rpc", &rpc]);
        let answer = proxy.chat();
        assert_eq!(answer.status(), status, "{}", answer.text());
        assert_eq!(schemes(&seller), vec!["exact"; usize::from(status == 200)]);
    }
}

#[test]
fn a_permit_is_signed_for_a_seller_that_sends_it() {
    let state = ChainState::of_base(0);
    let chain = seller::chain_of(Arc::clone(&state));
    let seller = ScriptedSeller::new(move |request| match payment(request) {
        None => sponsored_offer(&both()),
        Some(paid) => {
            state.lock().unwrap().settle(&paid, 1234);
            seller::answer().with("payment-response", receipt(Some("1234")))
        }
    });
    let proxy = ServedProxy::new(&seller, &["--rpc", &address(&chain)]);
    // The first one is settled when the second is asked for.
    for _ in 0..2 {
        assert_eq!(proxy.chat().status(), 200);
    }
    for paid in seller.payments() {
        let permit = &paid["extensions"]["eip2612GasSponsoring"]["info"];
        assert_eq!(permit["nonce"], "7");
        assert_eq!(permit["amount"], "90000");
    }
    assert_eq!(schemes(&seller), ["upto", "upto"]);
}

/// Asks for two answers, of which the seller settles neither, and reads the schemes that paid them.
fn two_unsettled(chain: &ScriptedSeller, flags: &[&str]) -> (Vec<Value>, u16) {
    let seller = ScriptedSeller::new(|request| match payment(request) {
        None => sponsored_offer(&both()),
        Some(_) => seller::answer(),
    });
    let rpc = address(chain);
    let proxy = ServedProxy::new(&seller, &[&["--rpc", &rpc], flags].concat());
    assert_eq!(proxy.chat().status(), 200);
    let second = proxy.ask("/v1/chat/completions", &chat("More")).status();
    (schemes(&seller), second)
}

#[test]
fn payments_on_their_way_share_one_approval() {
    // Enough for one ceiling, but not for two; a permit would replace it.
    let one = seller::chain(8453, 179_999);
    assert_eq!(two_unsettled(&one, &[]).0, ["upto", "exact"]);
    let two = seller::chain(8453, 180_000);
    assert_eq!(two_unsettled(&two, &[]).0, ["upto", "upto"]);
    // Permits have one nonce after the other.
    let none = seller::chain(8453, 0);
    assert_eq!(two_unsettled(&none, &[]).0, ["upto", "exact"]);
}

#[test]
fn offers_of_ceilings_that_the_scheme_does_not_allow_are_never_signed() {
    let chain = seller::chain(8453, 1 << 40);
    let zero = format!("0x{}", "00".repeat(20));
    for (pointer, value) in [
        ("/extra/facilitatorAddress", Value::Null),
        ("/extra/facilitatorAddress", json!(zero)),
        ("/extra/facilitatorAddress", json!("0x1234")),
        ("/extra/facilitatorAddress", json!(7)),
        ("/extra/assetTransferMethod", json!("eip3009")),
        ("/extra/assetTransferMethod", json!("erc7710")),
        ("/extra/name", json!("Tether")),
        ("/extra/version", json!("1")),
        ("/extra", Value::Null),
        ("/network", json!("eip155:1")),
        ("/network", json!("base")),
        ("/asset", json!(PAYEE)),
        ("/payTo", json!(zero)),
        ("/payTo", json!("nobody")),
        ("/amount", json!("500001")),
        ("/amount", json!("18446744073709551616")),
        ("/amount", json!("-1")),
        ("/amount", json!(90_000)),
        ("/amount", Value::Null),
        ("/maxTimeoutSeconds", json!("300")),
        ("/maxTimeoutSeconds", json!(-1)),
        ("/scheme", json!("UPTO")),
    ] {
        let mut hostile = entry("upto", "90000");
        hostile["extra"]["assetTransferMethod"] = json!("permit2");
        *hostile.pointer_mut(pointer).unwrap() = value.clone();
        let alone = hostile.clone();
        let seller = ScriptedSeller::new(move |_| sponsored_offer(std::slice::from_ref(&alone)));
        let rpc = address(&chain);
        let answer = ServedProxy::new(&seller, &["--rpc", &rpc]).chat();
        assert_eq!(answer.status(), 402, "{pointer} {value}");
        assert!(seller.payments().is_empty(), "{pointer} {value}");
        // An honest price beside it is paid.
        let seller = ScriptedSeller::new(move |request| match payment(request) {
            None => sponsored_offer(&[hostile.clone(), entry("exact", "3660")]),
            Some(_) => seller::answer(),
        });
        let answer = ServedProxy::new(&seller, &["--rpc", &rpc]).chat();
        assert_eq!(answer.status(), 200, "{pointer} {value}");
        assert_eq!(schemes(&seller), ["exact"], "{pointer} {value}");
    }
}

#[test]
fn a_ceiling_in_version_1_or_for_another_host_is_never_signed() {
    let chain = seller::chain(8453, 1 << 40);
    let v1 = || {
        let mut entry = entry("upto", "90000");
        entry["network"] = json!("base");
        entry["maxAmountRequired"] = json!("90000");
        SellerReply::json(402, &json!({ "x402Version": 1, "accepts": [entry] }))
    };
    let other_host = || {
        let offer = json!({ "x402Version": 2, "resource": { "url": "https://other.example/v1" },
            "accepts": [entry("upto", "90000")] });
        let header = encode_header(&offer.to_string());
        SellerReply::json(402, &json!({})).with("payment-required", header)
    };
    for reply in [v1 as fn() -> SellerReply, other_host] {
        let seller = ScriptedSeller::new(move |_| reply());
        let answer = ServedProxy::new(&seller, &["--rpc", &address(&chain)]).chat();
        assert_eq!(answer.status(), 402, "{}", answer.text());
        assert!(seller.payments().is_empty());
    }
}

#[test]
fn a_ceiling_waits_for_the_permit_before_it_where_no_price_is_fixed() {
    let state = ChainState::of_base(0);
    let chain = seller::chain_of(Arc::clone(&state));
    let seller = ScriptedSeller::new(move |request| {
        let Some(paid) = payment(request) else {
            return sponsored_offer(&[entry("upto", "90000")]);
        };
        let mut state = state.lock().unwrap();
        state.settle(&paid, 1234);
        state.unseen = 2;
        seller::answer()
    });
    let proxy = ServedProxy::new(&seller, &["--rpc", &address(&chain)]);
    for text in ["Hello", "More"] {
        let answer = proxy.ask("/v1/chat/completions", &chat(text));
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    assert_eq!(schemes(&seller), ["upto", "upto"]);
}
