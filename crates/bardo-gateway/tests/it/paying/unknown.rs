//! A maker who took a request and then said nothing: nobody knows whether it bills, so nobody asks
//! again and the money stays where it is until somebody decides.

use serde_json::Value;

use crate::http::{Answer, Request};
use crate::paying::maker;
use crate::paying::till::{Key, Till, header, micro_of};
use crate::rig::{Gateway, with};
use crate::scripted::Scripted;
use crate::sse::Caller;

/// Takes every request, and hangs up.
fn mute() -> Scripted {
    Scripted::start(drop)
}

#[track_caller]
fn check(caller: Caller, answer: &Answer) {
    assert!(answer.status() >= 500, "{}", answer.text());
    assert_eq!(header(answer, "x-should-retry"), "false");
    caller.check_error(&answer.json());
}

fn ask(gateway: &Gateway, key: &Key, caller: Caller, stream: bool) -> Answer {
    gateway.send(&key.ask(caller, &caller.request("m-chat", "Hello", stream)))
}

#[test]
fn it_stays_held_until_somebody_decides() {
    let upstream = mute();
    let till = Till::new(maker::billed(&upstream));
    let key = till.rich("1");
    let gateway = till.open();
    let mut asked = 0;
    for caller in Caller::ALL {
        for stream in [false, true] {
            let before = till.stand(&key);
            let answer = ask(&gateway, &key, caller, stream);
            asked += 1;
            check(caller, &answer);
            assert_eq!(upstream.got().len(), asked, "one attempt each");
            let id = header(&answer, "x-request-id");
            let stand = till.stand(&key);
            assert!(stand.held > before.held, "{stand:?}");
            assert_eq!(stand.spent, before.spent);
            let receipt = gateway.send(&key.get(&format!("/v1/receipts/{id}"))).json();
            assert_eq!(receipt["status"], "unknown", "{receipt}");
            assert_eq!(receipt["attempts"][0]["outcome"], "unknown", "{receipt}");
            let listed = till.told(&["reconcile"]);
            assert_eq!(listed.len(), 1, "{listed:?}");
            assert_eq!(listed[0]["request_id"], id);
            assert_eq!(listed[0]["account"], key.account);
            assert_eq!(listed[0]["model"], receipt["model"]);
            assert_eq!(listed[0]["provider"], receipt["provider"]);
            assert!(receipt["provider"].is_string(), "{receipt}");
            let created = listed[0]["created"].as_str().expect("a time");
            assert_eq!(
                created[..10],
                receipt["created"].as_str().expect("a time")[..10]
            );

            let decide: &[&str] = if stream {
                &["--release"]
            } else {
                &["--charge-usd", "0.000777"]
            };
            let verb = [&["reconcile", "--request", id], decide].concat();
            let decided = till.one(&verb);
            let charged = if stream { 0 } else { 777 };
            assert_eq!(decided["request_id"], id, "{decided}");
            let after = till.stand(&key);
            assert_eq!(after.held, 0);
            assert_eq!(after.spent, before.spent + charged);
            assert_eq!(till.charged(&key, id), charged);
            // The server knows at once.
            let told = gateway.send(&key.get("/v1/balance")).json();
            assert_eq!(told["micro"]["held"], 0, "{told}");
            assert_eq!(told["micro"]["spent"], after.spent, "{told}");
            let receipt = gateway.send(&key.get(&format!("/v1/receipts/{id}"))).json();
            assert_eq!(receipt["reconciled"], true, "{receipt}");
            assert_eq!(micro_of(&receipt["cost"]["charge"]), charged, "{receipt}");
            let usage = gateway.send(&key.get("/v1/usage")).json();
            assert_eq!(micro_of(&usage["total"]["charge"]), after.spent, "{usage}");
            let again = till.verb(&verb);
            assert_eq!(again.code, Some(1), "it is decided: {again:?}");
            assert_eq!(till.told(&["reconcile"]), Vec::<Value>::new());
        }
    }
    till.verify();
}

#[test]
fn it_stays_held_when_the_server_is_started_anew() {
    let upstream = mute();
    let till = Till::new(maker::billed(&upstream));
    let key = till.rich("1");
    let mut gateway = till.open();
    let answer = ask(&gateway, &key, Caller::Chat, true);
    check(Caller::Chat, &answer);
    let held = till.stand(&key);
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    drop(gateway);
    // Without a server a verb sees the same.
    assert_eq!(till.stand(&key), held);
    let _gateway = till.open();
    assert_eq!(till.stand(&key), held);
    let id = header(&answer, "x-request-id");
    let too_much = till.verb(&["reconcile", "--request", id, "--charge-usd", "1"]);
    assert_eq!(too_much.code, Some(1), "{too_much:?}");
    till.one(&["reconcile", "--request", id, "--release"]);
    assert_eq!(till.stand(&key).available, 1_000_000);
    till.verify();
}

#[test]
fn nobody_else_is_asked() {
    let (upstream, other) = (mute(), maker::maker());
    let mut config = maker::billed(&upstream);
    let second = maker::billed(&other)["providers"]["direct"]["keys"][0].clone();
    let keys = config["providers"]["direct"]["keys"].as_array_mut();
    keys.expect("keys").push(second);
    let config = with(config, "upstream", serde_json::json!({ "max_attempts": 3 }));
    let till = Till::new(config);
    let key = till.rich("1");
    let gateway = till.open();
    for stream in [false, true] {
        check(Caller::Chat, &ask(&gateway, &key, Caller::Chat, stream));
    }
    assert_eq!((upstream.got().len(), other.got().len()), (2, 0));
}

#[test]
fn of_many_decisions_at_once_one_counts_and_the_others_are_refused() {
    let upstream = mute();
    let till = Till::new(maker::billed(&upstream));
    let key = till.rich("1");
    let gateway = till.open();
    let answer = ask(&gateway, &key, Caller::Chat, false);
    let id = header(&answer, "x-request-id");
    let decide = |micro: u64| {
        let body = serde_json::json!({ "charge_usd": format!("0.0000{micro}") });
        Request::json(&format!("/admin/unknown/{id}"), &body).open(gateway.admin)
    };
    let mut asked: Vec<_> = (10..30).map(decide).collect();
    let answers: Vec<Answer> = asked.iter_mut().map(|one| one.answer()).collect();
    let taken: Vec<&Answer> = answers.iter().filter(|one| one.status() == 200).collect();
    assert_eq!(
        taken.len(),
        1,
        "{:?}",
        answers.iter().map(Answer::text).collect::<Vec<_>>()
    );
    let charged = micro_of(&taken[0].json()["charged"]);
    assert_eq!(till.stand(&key).spent, charged);
    till.verify();
}
