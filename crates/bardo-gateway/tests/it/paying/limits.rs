//! Limits of keys: allowances, and limits that change while a key is in use.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::paying::maker;
use crate::paying::till::{Key, Till, header};
use crate::rig::Gateway;
use crate::sse::Caller;

fn ask(gateway: &Gateway, key: &Key) -> Answer {
    let mut body = Caller::Chat.request("m-chat", "Hello", false);
    body["max_tokens"] = json!(100);
    gateway.send(&key.ask(Caller::Chat, &body))
}

#[test]
fn an_allowance_of_a_key_is_kept_shown_and_honoured() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    // An answer has 1,100 tokens.
    let allowance = ["--allowance-tokens", "1500", "--overage", "block"];
    let key = till.key(&[&["--deposit-usd", "5"][..], &allowance].concat());
    let other = till.key(&["--account", &key.account]);
    let shown = till.one(&["keys", "show", &key.id]);
    let expected = json!({ "tokens_per_hour": 1_500, "overage": "block" });
    assert_eq!(shown["scopes"]["allowance"], expected);
    assert_eq!(shown.get("key"), None, "{shown}");
    let gateway = till.open();
    let first = ask(&gateway, &key);
    assert_eq!(first.status(), 200, "{}", first.text());
    assert_eq!(
        header(&first, "x-remaining-tokens"),
        "400",
        "1,500 less the tokens of this answer"
    );
    assert_eq!(ask(&gateway, &key).status(), 200);
    let refused = ask(&gateway, &key);
    assert_eq!(refused.status(), 429, "{}", refused.text());
    assert_eq!(header(&refused, "x-remaining-tokens"), "0");
    let words = "the allowance of 1500 tokens per hour is used up; it begins again at ";
    let told = refused.text();
    let (_, begins) = told.split_once(words).expect("it names the tokens");
    assert_eq!(begins.get(2..9), Some(":00 UTC"), "{told}");
    let answer = ask(&gateway, &other);
    assert_eq!(answer.status(), 200, "its account has none");
    assert_eq!(answer.header("x-remaining-tokens"), None);
    till.one(&["keys", "set", &key.id, "--overage", "bill"]);
    assert_eq!(ask(&gateway, &key).status(), 200);
}

#[test]
fn an_account_has_the_allowance_that_the_configuration_gives_it_or_its_tier() {
    let maker = maker::maker();
    let mut config = maker::billed(&maker);
    config["limits"] = json!({
        "allowances": { "acct_small": 1_200, "golem": 900_000 },
        "allowance_overage": false,
    });
    let till = Till::new(config);
    let of = |account: &str, tier: &[&str]| {
        let named = ["--account", account, "--create-account"];
        till.key(&[&named[..], &["--deposit-usd", "5"], tier].concat())
    };
    let golem = of("acct_large", &["--tier", "golem"]);
    let (one, two) = (
        of("acct_small", &["--tier", "golem"]),
        of("acct_small", &[]),
    );
    let gateway = till.open();
    let left = |key: &Key| {
        let answer = ask(&gateway, key);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        header(&answer, "x-remaining-tokens")
            .parse::<u64>()
            .unwrap()
    };
    assert!((800_000..900_000).contains(&left(&golem)));
    assert!(left(&one) < 1_200);
    assert!(left(&two) < 200, "the keys of an account share it");
    assert_eq!(ask(&gateway, &one).status(), 429);
}

#[test]
fn limits_of_a_living_key_change_at_once_and_within_their_range() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.key(&["--deposit-usd", "5", "--spend-day", "0.003"]);
    let gateway = till.open();
    let set = |texts: &[&str]| till.verb(&[&["keys", "set", &key.id], texts].concat());
    assert_eq!(ask(&gateway, &key).status(), 200);
    assert_eq!(ask(&gateway, &key).status(), 429, "the cap of the day");
    let changed = set(&[
        "--spend-day",
        "1",
        "--spend-day-range",
        "0.5..2",
        "--tpm",
        "none",
    ]);
    assert_eq!(changed.code, Some(0), "{changed:?}");
    let scopes = &changed.lines[0]["scopes"];
    assert_eq!(scopes["spend"]["day"], "1.000000");
    assert_eq!(scopes["spend_ranges"]["day"]["max"], "2.000000");
    assert_eq!(scopes["tokens_per_minute"], Value::Null);
    for _ in 0..4 {
        assert_eq!(ask(&gateway, &key).status(), 200);
    }
    for refused in [
        &["--spend-day", "2.5"][..],
        &["--spend-day", "none"],
        &["--scope", "model=m-chat"],
        &["--tpm", "many"],
        &[],
    ] {
        let done = set(refused);
        assert_ne!(done.code, Some(0), "{refused:?}: {done:?}");
    }
    // The admin API does the same.
    let patch = |body: &Value| {
        let path = format!("/admin/keys/{}", key.id);
        Request::json(&path, body)
            .method("PATCH")
            .send(gateway.admin)
    };
    let refused = patch(&json!({ "scopes": ["spend-day=0.4"] }));
    assert_eq!(refused.status(), 400, "{}", refused.text());
    let lowered = patch(&json!({ "scopes": ["rpm=1,spend-day=0.5"] }));
    assert_eq!(lowered.status(), 200, "{}", lowered.text());
    assert_eq!(lowered.json()["scopes"]["spend"]["day"], "0.500000");
    assert_eq!(ask(&gateway, &key).status(), 200);
    assert_eq!(ask(&gateway, &key).status(), 429, "the rate");
    till.one(&["keys", "revoke", &key.id]);
    assert_ne!(set(&["--rpm", "9"]).code, Some(0), "it is revoked");
}

#[test]
fn a_program_moves_its_own_caps_within_the_range_of_its_owner_once_a_minute() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.key(&[
        "--deposit-usd",
        "5",
        "--spend-day",
        "0.003",
        "--spend-day-range",
        "0.001..1",
    ]);
    let plain = till.key(&[]);
    let reader = till.key(&["--account", &key.account, "--scope", "read-only"]);
    let gateway = till.open();
    let post = |key: &Key, body: &Value| gateway.send(&key.sign(Request::json("/v1/caps", body)));
    let shown = gateway.send(&key.get("/v1/caps")).json();
    let day = json!({ "cap": "0.003000", "min": "0.001000", "max": "1.000000" });
    assert_eq!(shown["day"], day, "{shown}");
    assert_eq!(shown["month"]["max"], Value::Null, "{shown}");
    assert_eq!(ask(&gateway, &key).status(), 200);
    assert_eq!(ask(&gateway, &key).status(), 429, "the cap");
    for (key, body, status) in [
        (&key, json!({ "day": "1.01" }), 400),
        (&key, json!({ "day": 0 }), 400),
        (&key, json!({ "dya": 1 }), 400),
        (&key, json!({}), 400),
        (&key, json!({ "month": 1 }), 403),
        (&plain, json!({ "day": 1 }), 403),
        (&reader, json!({ "day": 1 }), 403),
    ] {
        let answer = post(key, &body);
        assert_eq!(answer.status(), status, "{body}: {}", answer.text());
    }
    let moved = post(&key, &json!({ "day": "1" }));
    assert_eq!(moved.status(), 200, "{}", moved.text());
    assert_eq!(moved.json()["day"]["cap"], "1.000000");
    assert_eq!(ask(&gateway, &key).status(), 200, "the new cap holds");
    let again = post(&key, &json!({ "day": "0.5" }));
    assert_eq!(again.status(), 429, "{}", again.text());
    assert!(again.header("retry-after").is_some());
    let listed = till.one(&["keys", "show", &key.id]);
    assert_eq!(listed["scopes"]["spend"]["day"], "1.000000");
}
