//! Payments that the seller says it refused: they count until the chain says that they are unused.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::rig::{ServedProxy, chat};
use crate::seller::{
    self, ChainState, ScriptedSeller, SellerReply, UNUSED, USED, entry, offer, payment,
};

/// A seller that refuses every payment, which is valid for a second.
fn refusing() -> ScriptedSeller {
    ScriptedSeller::new(|_| {
        let mut entry = entry("exact", "3660");
        entry["maxTimeoutSeconds"] = json!(1);
        offer(&[entry])
    })
}

/// The nonces of all payments by `exact`, and how many were signed by another scheme.
fn signed(seller: &ScriptedSeller) -> (BTreeSet<String>, usize) {
    let paid = seller.payments();
    let nonce = |paid: &Value| {
        let nonce = paid["payload"]["authorization"]["nonce"].as_str();
        nonce.map(str::to_owned)
    };
    let others = paid.iter().filter(|paid| nonce(paid).is_none()).count();
    (paid.iter().filter_map(nonce).collect(), others)
}

#[test]
fn a_fixed_price_beside_a_refused_ceiling_needs_room_in_the_cap_of_the_request() {
    let chain = chain(false, UNUSED);
    let rpc = format!("http://127.0.0.1:{}", chain.port);
    for (cap, status, exact) in [("0.093659", 402, 0), ("0.09366", 200, 1)] {
        let seller = ScriptedSeller::new(|request| match payment(request) {
            Some(paid) if paid["accepted"]["scheme"] == "exact" => seller::answer(),
            _ => offer(&[entry("upto", "90000"), entry("exact", "3660")]),
        });
        let proxy = ServedProxy::new(&seller, &["--rpc", &rpc, "--cap-request", cap]);
        assert_eq!(proxy.chat().status(), status, "{cap}");
        let (nonces, ceilings) = signed(&seller);
        assert_eq!((nonces.len(), ceilings), (exact, 1), "{cap}");
    }
}

#[test]
fn a_request_that_comes_again_has_one_cap_for_all_its_payments() {
    for (cap, payments) in [("0.007319", 1), ("0.00732", 2)] {
        let seller = ScriptedSeller::new(|_| offer(&[entry("exact", "3660")]));
        let proxy = ServedProxy::new(&seller, &["--cap-request", cap]);
        for _ in 0..4 {
            assert_eq!(proxy.chat().status(), 402, "{cap}");
        }
        assert_eq!(signed(&seller).0.len(), payments, "{cap}");
        let refused = proxy.chat().text();
        assert!(refused.contains("--cap-request"), "{refused}");
        // Another request has its own.
        proxy.ask("/v1/chat/completions", &chat("More"));
        assert_eq!(signed(&seller).0.len(), payments + 1, "{cap}");
    }
}

#[test]
fn a_payment_whose_answer_was_lost_takes_room_after_its_end_too() {
    let seller = ScriptedSeller::new(|request| match payment(request) {
        Some(_) => SellerReply::Die,
        None => {
            let mut entry = entry("exact", "3660");
            entry["maxTimeoutSeconds"] = json!(1);
            offer(&[entry])
        }
    });
    let proxy = ServedProxy::new(&seller, &["--cap-request", "0.007319"]);
    let first = proxy.chat().text();
    assert!(first.contains("payment_unanswered"), "{first}");
    until(|| proxy.chat().text().contains("--cap-request"));
    assert_eq!(signed(&seller).0.len(), 1);
}

#[test]
fn an_answered_request_takes_no_room_from_the_next_with_its_content() {
    let seller = seller::honest();
    let proxy = ServedProxy::new(&seller, &["--cap-request", "0.00366"]);
    for _ in 0..3 {
        assert_eq!(proxy.chat().status(), 200);
    }
}

/// A chain whose time is long after the end of every payment, or before it.
fn chain(is_late: bool, moved: &'static str) -> ScriptedSeller {
    let state = ChainState::of_base(1 << 40);
    let now_s = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let mut said = state.lock().unwrap();
    said.time_s = Some(if is_late {
        now_s + 100_000
    } else {
        now_s - 100_000
    });
    said.moved = moved;
    drop(said);
    seller::chain_of(Arc::clone(&state))
}

/// Waits until it is so.
fn until(is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(30), "it never was");
        std::thread::yield_now();
    }
}

/// What is counted after a refused payment, when the chain was asked for this method again.
fn counted(chain: &ScriptedSeller, method: &str, times: usize) -> Value {
    let seller = refusing();
    let rpc = format!("http://127.0.0.1:{}", chain.port);
    let proxy = ServedProxy::new(&seller, &["--rpc", &rpc]);
    let answer = proxy.chat();
    assert_eq!(answer.status(), 402, "{}", answer.text());
    assert_eq!(proxy.spend()["session"], "0.003660");
    until(|| {
        let seen = chain.seen();
        let asked = seen.iter().filter(|call| call.json()["method"] == method);
        asked.count() >= times
    });
    until(|| {
        let spend = proxy.spend();
        // The day is written after the session.
        spend["session"] == spend["today"] && (times > 1 || spend["open"] == "0.000000")
    });
    proxy.spend()
}

#[test]
fn a_refused_price_that_was_moved_is_charged() {
    let spend = counted(&chain(true, USED), "eth_call", 1);
    assert_eq!(spend["session"], "0.003660");
}

#[test]
fn a_refused_price_is_free_when_the_chain_shows_it_unused_after_its_end() {
    let spend = counted(&chain(true, UNUSED), "eth_call", 1);
    assert_eq!(spend["session"], "0.000000");
}

#[test]
fn a_refused_price_counts_while_the_chain_does_not_disprove_it() {
    // The chain is not as far; the token has no such view; the server is of another chain.
    let early = chain(false, UNUSED);
    let spend = counted(&early, "eth_getBlockByNumber", 2);
    assert_eq!(spend["open"], "0.003660");
    let silent = chain(true, "0x");
    let spend = counted(&silent, "eth_call", 2);
    assert_eq!(spend["open"], "0.003660");
    let other = ChainState::of_base(1 << 40);
    other.lock().unwrap().id = 1;
    other.lock().unwrap().time_s = Some(1 << 40);
    let spend = counted(&seller::chain_of(other), "eth_getBlockByNumber", 2);
    assert_eq!(spend["open"], "0.003660");
}
