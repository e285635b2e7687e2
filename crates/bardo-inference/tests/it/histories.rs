//! Many requests at once to a seller that fails in every way, with clients that ask again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::rig::{ServedProxy, chat};
use crate::seller::{self, ScriptedSeller, SellerReply, entry, offer, payment, receipt};

const PRICE: u64 = 3_660;
const REQUESTS: usize = 64;
const CLIENTS: usize = 16;
/// How often a client asks for one answer.
const TRIES: usize = 4;

/// What the seller charged: nonces by the body of their request.
type Charged = Arc<Mutex<BTreeMap<Vec<u8>, BTreeSet<String>>>>;

/// A seller that charges each nonce once, and does something else at random: it loses answers after
/// the charge and before it, has no capacity, refuses the payment, refuses the request.
fn unreliable(charged: &Charged, seed: u64) -> ScriptedSeller {
    let charged = Arc::clone(charged);
    let mut state = seed;
    ScriptedSeller::new(move |request| {
        let Some(paid) = payment(request) else {
            return offer(&[entry("exact", &PRICE.to_string())]);
        };
        let nonce = paid["payload"]["authorization"]["nonce"].to_string();
        let mut charged = charged.lock().expect("the books");
        let of_body = charged.entry(request.body.clone()).or_default();
        if of_body.contains(&nonce) {
            return SellerReply::json(402, &serde_json::json!({ "code": "PAYMENT_REPLAY" }));
        }
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let fault = (state >> 33) % 8;
        if [0, 1, 2, 3].contains(&fault) {
            of_body.insert(nonce);
        }
        match fault {
            0 | 1 => seller::answer().with("payment-response", receipt(None)),
            2 | 4 => SellerReply::Die,
            3 => SellerReply::Half,
            5 => SellerReply::json(503, &serde_json::json!({ "error": "busy" })),
            6 => SellerReply::json(429, &serde_json::json!({ "error": "slow down" })),
            _ => SellerReply::json(402, &serde_json::json!({ "code": "PAYMENT_UNFUNDED" })),
        }
    })
}

/// Asks until there is an answer, or a payment that was charged without one.
fn ask(proxy: &ServedProxy, text: &str) -> bool {
    for _ in 0..TRIES {
        let mut stream = proxy.begin("/v1/chat/completions", &chat(text));
        let Some(head) = crate::http::read_head(&mut stream) else {
            continue;
        };
        let length = head
            .header("content-length")
            .map_or(0, |length| length.parse().expect("a length"));
        let mut body = vec![0; length];
        let is_whole = std::io::Read::read_exact(&mut stream, &mut body).is_ok();
        let told = String::from_utf8_lossy(&body);
        match head.status() {
            200 if is_whole => return true,
            402 if told.contains("answer_lost") => return false,
            _ => {}
        }
    }
    false
}

#[test]
fn no_request_is_charged_twice_and_every_charge_is_counted() {
    for seed in [1, 2] {
        let charged = Charged::default();
        let seller = unreliable(&charged, seed);
        let proxy = ServedProxy::new(&seller, &[]);
        let answered: usize = std::thread::scope(|scope| {
            let client = |at: usize| {
                let proxy = &proxy;
                let texts = (at..REQUESTS)
                    .step_by(CLIENTS)
                    .map(move |at| format!("{seed}-{at}"));
                scope.spawn(move || texts.filter(|text| ask(proxy, text)).count())
            };
            let clients: Vec<_> = (0..CLIENTS).map(client).collect();
            clients
                .into_iter()
                .map(|client| client.join().expect("no panic"))
                .sum()
        });
        let charged = charged.lock().expect("the books");
        let twice: Vec<_> = charged.values().filter(|nonces| nonces.len() > 1).collect();
        assert!(twice.is_empty(), "seed {seed}: {twice:?}");
        let charges: u64 = charged.values().map(|nonces| nonces.len() as u64).sum();
        assert!(answered as u64 <= charges && charges > 0, "seed {seed}");
        let spend = proxy.spend();
        let counted = spend["session"]
            .as_str()
            .expect("an amount")
            .replace('.', "");
        let counted: u64 = counted.parse().expect("a number");
        assert!(
            counted >= charges * PRICE,
            "seed {seed}: {counted} for {charges} charges"
        );
        assert_eq!(spend["session"], spend["today"], "seed {seed}");
    }
}
