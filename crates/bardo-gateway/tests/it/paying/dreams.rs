//! Caps per day of the parts of an agent: enforced, shown with what they have consumed, and changed.

use serde_json::{Value, json};

use crate::http::Answer;
use crate::paying::maker;
use crate::paying::till::{Key, Till};
use crate::rig::Gateway;
use crate::sse::Caller;

/// Asks as a part of the agent, with a limit that the caller wrote: it is held in full or refused.
fn ask(gateway: &Gateway, key: &Key, subsystem: Option<&str>) -> Answer {
    let mut body = Caller::Chat.request("m-chat", "Hello", false);
    body["max_completion_tokens"] = json!(100);
    let mut request = key.ask(Caller::Chat, &body);
    if let Some(subsystem) = subsystem {
        request = request.with("x-bardo-subsystem", subsystem);
    }
    gateway.send(&request)
}

#[track_caller]
fn passes(gateway: &Gateway, key: &Key, subsystem: Option<&str>) {
    let answer = ask(gateway, key, subsystem);
    assert_eq!(answer.status(), 200, "{subsystem:?}: {}", answer.text());
}

#[track_caller]
fn is_refused(gateway: &Gateway, key: &Key, subsystem: &str, cap: &str) {
    let answer = ask(gateway, key, Some(subsystem));
    assert_eq!(answer.status(), 429, "{subsystem}: {}", answer.text());
    let error = &answer.json()["error"];
    assert_eq!(error["bardo_code"], "budget_exceeded", "{error}");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains(&format!("`{cap}`")), "{message}");
}

fn caps(gateway: &Gateway, key: &Key) -> Value {
    let answer = gateway.send(&key.get("/v1/caps"));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()["subsystems"].clone()
}

fn usd(micro: u64) -> String {
    format!("0.{micro:06}")
}

#[test]
fn each_dream_has_its_cap_of_a_day_and_shows_what_it_consumed() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let charge = maker::charge(2_000);
    assert_eq!(charge, 2_256);
    let key = till.key(&[
        "--deposit-usd",
        "1",
        "--spend-subsystem",
        "dream_rem=0.005",
        "--scope",
        "spend-day:dream=0.01",
    ]);
    let gateway = till.open();
    let none = json!({ "consumed": "0.000000", "cap": "0.005000" });
    assert_eq!(caps(&gateway, &key)["dream_rem"], none);
    for spelling in ["dream_rem", "Dream-REM"] {
        passes(&gateway, &key, Some(spelling));
    }
    is_refused(&gateway, &key, "dream_rem", "spend-day:dream_rem");
    // The group has room for two more of its other parts.
    for _ in 0..2 {
        passes(&gateway, &key, Some("dream_nrem"));
    }
    is_refused(&gateway, &key, "dream_nrem", "spend-day:dream");
    for other in [Some("context"), None] {
        passes(&gateway, &key, other);
    }
    let shown = json!({
        "dream": { "consumed": usd(4 * charge), "cap": "0.010000" },
        "dream_rem": { "consumed": usd(2 * charge), "cap": "0.005000" },
    });
    assert_eq!(caps(&gateway, &key), shown);
    assert_eq!(till.stand(&key).spent, 6 * charge);

    // A key that replaces this one counts on.
    let next = Key::of(&till.one(&["keys", "rotate", &key.id]));
    assert_eq!(caps(&gateway, &next), shown);
    is_refused(&gateway, &next, "dream_rem", "spend-day:dream_rem");

    let listed = till.one(&[
        "keys",
        "set",
        &next.id,
        "--spend-subsystem",
        "dream=none",
        "--spend-subsystem",
        "dream_rem=0.5",
    ]);
    assert_eq!(
        listed["scopes"]["spend_day_of_subsystems"],
        json!({ "dream_rem": "0.500000" }),
        "{listed}"
    );
    passes(&gateway, &next, Some("dream_rem"));
    passes(&gateway, &next, Some("dream_nrem"));
    for wrong in ["dream_rme=1", "dream_rem=x", "dream_rem"] {
        let done = till.verb(&["keys", "set", &next.id, "--spend-subsystem", wrong]);
        assert_eq!(done.code, Some(1), "{done:?}");
        assert!(done.errors.contains("spend-day:"), "{done:?}");
    }
    till.verify();
}
