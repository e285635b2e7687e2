//! How money, scopes and limits say no: each dialect in its own words, with what its SDK reads.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::paying::maker;
use crate::paying::till::{Key, Till, header};
use crate::rig::Gateway;
use crate::sse::Caller;

#[track_caller]
fn check(caller: Caller, answer: &Answer, status: u16, code: &str) -> Value {
    assert_eq!(answer.status(), status, "{}", answer.text());
    let body = answer.json();
    caller.check_error(&body);
    let error = &body["error"];
    assert_eq!(error["bardo_code"], code, "{body}");
    assert!(answer.header("x-request-id").is_some());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    body
}

fn ask(gateway: &Gateway, key: &Key, caller: Caller, body: &Value) -> Answer {
    gateway.send(&key.ask(caller, body))
}

#[test]
fn too_little_money_is_402_with_what_would_fit() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.rich("0.01");
    let gateway = till.open();
    for caller in Caller::ALL {
        for stream in [false, true] {
            let mut body = caller.request("m-chat", "Hello", stream);
            let name = match caller {
                Caller::Responses => "max_output_tokens",
                _ => "max_tokens",
            };
            body[name] = json!(4_000);
            let answer = ask(&gateway, &key, caller, &body);
            let told = check(caller, &answer, 402, "insufficient_funds");
            assert_eq!(header(&answer, "x-should-retry"), "false");
            assert_eq!(answer.header("retry-after"), None);
            assert_eq!(header(&answer, "x-bardo-balance-warning"), "0.010000");
            let message = told["error"]["message"].as_str().expect("text");
            assert!(message.contains("0.010000 USD are available"), "{message}");
            let advice = format!("deposit --key {} --usd", key.id);
            assert!(message.contains(&advice), "{message}");
            let fits: u64 = message
                .split_whitespace()
                .find_map(|word| word.parse().ok().filter(|fits| *fits > 100u64))
                .unwrap_or_else(|| panic!("what would fit is not told: {message}"));
            assert!((900..1_100).contains(&fits), "{message}");
            // And it does.
            body[name] = json!(fits);
            assert_eq!(ask(&gateway, &key, caller, &body).status(), 200);
            till.one(&["balance", "deposit", "--key", &key.id, "--usd", "0.002256"]);
        }
    }
    let empty = till.rich("0");
    for caller in Caller::ALL {
        let body = caller.request("m-chat", "Hello", false);
        check(
            caller,
            &ask(&gateway, &empty, caller, &body),
            402,
            "insufficient_funds",
        );
    }
    till.verify();
}

#[test]
fn a_scope_is_403_and_names_no_other_way_in() {
    let maker = maker::maker();
    let mut config = maker::billed(&maker);
    config["providers"]["local"] = json!({ "base_url": maker.at("/v1"), "models": ["m-local"],
        "bill": true, "price": maker::price() });
    let till = Till::new(config);
    let gateway = till.open();
    let scoped = |scope: &str| till.key(&["--deposit-usd", "1", "--scope", scope]);
    let cases = [
        ("model=m-anthropic", "m-anthropic", "m-chat"),
        ("model=m-a*", "m-anthropic", "m-chat"),
        ("backend=local", "m-local", "m-chat"),
        ("backend=direct", "m-chat", "m-local"),
        ("backend=direct/anthropic", "m-anthropic", "m-chat"),
    ];
    for (scope, good, bad) in cases {
        let key = scoped(scope);
        for caller in Caller::ALL {
            let allowed = ask(
                &gateway,
                &key,
                caller,
                &caller.request(good, "Hello", false),
            );
            assert_eq!(allowed.status(), 200, "{scope}: {}", allowed.text());
            let refused = ask(&gateway, &key, caller, &caller.request(bad, "Hello", false));
            check(caller, &refused, 403, "key_scope");
        }
    }
    let (here, elsewhere) = (scoped("ip=127.0.0.0/8"), scoped("ip=10.0.0.0/8"));
    let reader = scoped("read-only");
    for caller in Caller::ALL {
        let body = caller.request("m-chat", "Hello", false);
        assert_eq!(ask(&gateway, &here, caller, &body).status(), 200);
        check(
            caller,
            &ask(&gateway, &elsewhere, caller, &body),
            403,
            "key_scope",
        );
        let told = check(
            caller,
            &ask(&gateway, &reader, caller, &body),
            403,
            "key_scope",
        );
        assert!(
            told["error"]["message"]
                .as_str()
                .expect("text")
                .contains("bardo_sk_")
        );
    }
    assert_eq!(gateway.send(&elsewhere.get("/v1/balance")).status(), 403);
    till.verify();
}

#[test]
fn too_many_requests_are_429_with_each_dialects_headers() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let gateway = till.open();
    for caller in Caller::ALL {
        let key = till.key(&["--deposit-usd", "1", "--scope", "rpm=3,tpm=1000000"]);
        let body = caller.request("m-chat", "Hello", false);
        for left in ["2", "1", "0"] {
            let answer = ask(&gateway, &key, caller, &body);
            assert_eq!(answer.status(), 200, "{}", answer.text());
            assert_eq!(header(&answer, "x-ratelimit-limit-requests"), "3");
            assert_eq!(header(&answer, "x-ratelimit-remaining-requests"), left);
            assert!(answer.header("x-ratelimit-reset-requests").is_some());
            assert_eq!(header(&answer, "x-ratelimit-limit-tokens"), "1000000");
            let anthropic = answer.header("anthropic-ratelimit-requests-remaining");
            assert_eq!(anthropic, (caller == Caller::Anthropic).then_some(left));
        }
        let answer = ask(&gateway, &key, caller, &body);
        check(caller, &answer, 429, "rate_limited");
        let wait: u64 = header(&answer, "retry-after").parse().expect("seconds");
        assert!((1..=60).contains(&wait), "{wait}");
        assert_eq!(header(&answer, "x-ratelimit-remaining-requests"), "0");
        if caller == Caller::Anthropic {
            let reset = header(&answer, "anthropic-ratelimit-requests-reset");
            assert!(reset.ends_with('Z'), "{reset}");
        }
        // Reading is not counted, and other keys are not concerned.
        assert_eq!(gateway.send(&key.get("/v1/balance")).status(), 200);
        let other = till.key(&["--account", &key.account]);
        assert_eq!(ask(&gateway, &other, caller, &body).status(), 200);
    }
}

#[test]
fn a_cap_of_spending_is_429_until_its_window_ends() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let gateway = till.open();
    for (scope, ends, resets) in [
        ("spend-day=0.003", true, "resets at midnight UTC"),
        (
            "spend-month=0.003",
            true,
            "resets on the first of next month",
        ),
        ("spend-total=0.003", false, "never resets"),
    ] {
        for caller in Caller::ALL {
            let key = till.key(&["--deposit-usd", "1", "--scope", scope]);
            let mut body = caller.request("m-chat", "Hello", false);
            body[if caller == Caller::Responses {
                "max_output_tokens"
            } else {
                "max_tokens"
            }] = json!(150);
            assert_eq!(ask(&gateway, &key, caller, &body).status(), 200);
            let answer = ask(&gateway, &key, caller, &body);
            check(caller, &answer, 429, "budget_exceeded");
            assert_eq!(header(&answer, "x-should-retry"), "false");
            assert_eq!(answer.header("retry-after").is_some(), ends, "{scope}");
            let (name, text) = (scope.split('=').next().expect("a name"), answer.text());
            assert!(
                text.contains(name) && text.contains(resets),
                "{scope}: {text}"
            );
            assert_eq!(till.stand(&key).spent, maker::charge(2_000));
            // A key that takes its place goes on where it was.
            let next = Key::of(&till.one(&["keys", "rotate", &key.id]));
            let last = Key::of(&till.one(&["keys", "rotate", &next.id]));
            for key in [&next, &last] {
                let answer = ask(&gateway, key, caller, &body);
                check(caller, &answer, 429, "budget_exceeded");
            }
            // The account has more, for other keys.
            let other = till.key(&["--account", &key.account]);
            assert_eq!(ask(&gateway, &other, caller, &body).status(), 200);
        }
    }
    let key = till.key(&["--deposit-usd", "1", "--scope", "spend-session=0.003"]);
    let body = Caller::Chat.request("m-chat", "Hello", false);
    let within = |session: &str| {
        let request = key.ask(Caller::Chat, &body);
        let request = match session {
            "" => request,
            name => request.with("x-bardo-session-id", name),
        };
        gateway.send(&request)
    };
    for session in ["one", "two", ""] {
        assert_eq!(within(session).status(), 200, "{session:?}");
        let refused = within(session);
        check(Caller::Chat, &refused, 429, "budget_exceeded");
        assert!(
            refused.text().contains("spend-session"),
            "{}",
            refused.text()
        );
    }
    till.verify();
}

#[test]
fn a_model_without_a_price_is_refused_once_and_counted_once() {
    let maker = maker::maker();
    let mut config = maker::billed(&maker);
    let key = &mut config["providers"]["direct"]["keys"][0];
    key.as_object_mut().expect("an object").remove("price");
    let till = Till::new(config);
    let key = till.rich("1");
    let gateway = till.open();
    for (count, caller) in (1..).zip(Caller::ALL) {
        let body = caller.request("m-chat", "Hello", count == 2);
        let answer = ask(&gateway, &key, caller, &body);
        check(caller, &answer, 400, "unpriced_model");
        let metrics = Request::get("/metrics").send(gateway.admin).text();
        assert!(
            metrics.contains(&format!("bardo_unpriced_requests_total {count}\n")),
            "{metrics}"
        );
        assert!(
            metrics.contains(&format!(
                "bardo_refused_requests_total{{code=\"unpriced_model\"}} {count}\n"
            )),
            "{metrics}"
        );
    }
    assert_eq!(maker.got().len(), 0, "nothing is sent");
    assert_eq!(till.stand(&key).held, 0);
    // Whoever pays the maker itself needs no price.
    let mut open = till.config();
    open["auth"] = json!({ "keys": [{ "id": "me", "key": "my-own-0123456789" }] });
    drop(gateway);
    let gateway = till.open_with(&open);
    let body = Caller::Chat.request("m-chat", "Hello", false);
    let request = Request::json(Caller::Chat.path(), &body).with("x-api-key", "my-own-0123456789");
    let answer = gateway.send(&request);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(answer.header("x-bardo-cost"), None);
}
