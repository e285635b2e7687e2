//! A budget that does not pay for the model that was asked for: a cheaper one answers an agent,
//! visibly; never its protected parts, which have a share of the day to themselves.

use serde_json::{Value, json};

use crate::http::Answer;
use crate::paying::till::{Key, Till, header, micro};
use crate::rig::{Gateway, Sandbox, eventually};
use crate::routing::{asked, trio};
use crate::sse::Caller;

const OPUS: &str = "claude-opus-5-5";
/// Tokens of output; Opus holds 0.0887 USD for them with a golem's spread.
const LIMIT: u64 = 4_000;

fn ask(gateway: &Gateway, key: &Key, caller: Caller, hints: &Value) -> Answer {
    let mut body = caller.request(OPUS, "Hello", false);
    let limit = match caller {
        Caller::Chat => "max_completion_tokens",
        Caller::Anthropic => "max_tokens",
        Caller::Responses => "max_output_tokens",
    };
    body[limit] = json!(LIMIT);
    if *hints != json!({}) {
        body["bardo"] = hints.clone();
    }
    gateway.send(&key.ask(caller, &body))
}

#[track_caller]
fn check_cheaper(answer: &Answer) {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let model = header(answer, "x-bardo-model");
    assert!(model.starts_with("claude-sonnet"), "{model}");
    assert_eq!(header(answer, "x-bardo-model-requested"), OPUS);
    let degraded = header(answer, "x-bardo-degraded");
    assert!(
        degraded.split(',').any(|name| name == "model"),
        "{degraded}"
    );
}

#[track_caller]
fn check_refused(caller: Caller, answer: &Answer) {
    assert_eq!(answer.status(), 429, "{}", answer.text());
    caller.check_error(&answer.json());
    assert_eq!(answer.json()["error"]["bardo_code"], "budget_exceeded");
    assert_eq!(answer.header("x-should-retry"), Some("false"));
}

fn till(sandbox: &Sandbox) -> Till {
    Till::new(trio(sandbox))
}

fn with_day(till: &Till, usd: &str, tier: &[&str]) -> Key {
    let cap = format!("spend-day={usd}");
    till.key(&[&["--deposit-usd", "5", "--scope", &cap][..], tier].concat())
}

const GOLEM: [&str; 2] = ["--tier", "golem"];

#[test]
fn an_agent_gets_a_cheaper_model_where_its_day_does_not_pay_for_opus() {
    let sandbox = Sandbox::start();
    let till = till(&sandbox);
    let gateway = till.open();
    for caller in Caller::ALL {
        for hints in [json!({}), json!({ "subsystem": "context" })] {
            let key = with_day(&till, "0.08", &GOLEM);
            let answer = ask(&gateway, &key, caller, &hints);
            check_cheaper(&answer);
            let id = header(&answer, "x-bardo-request-id");
            let kept = gateway.send(&key.get(&format!("/v1/receipts/{id}"))).json();
            assert_eq!(kept["model_requested"], OPUS);
            assert_eq!(kept["degraded"][0]["feature"], "model", "{kept}");
            let cost = micro(header(&answer, "x-bardo-cost"));
            assert_eq!(till.stand(&key).spent, cost);
        }
    }
    till.verify();
}

/// With the prices of their lists, others have models of its tier for less.
#[test]
fn opus_becomes_sonnet_and_not_the_cheapest_of_all_makers() {
    let sandbox = Sandbox::start();
    let mut config = trio(&sandbox);
    config["catalog"] = json!({ "live": true });
    let till = Till::new(config);
    let gateway = till.open();
    let key = with_day(&till, "0.08", &GOLEM);
    eventually("the lists are read", || {
        let listed = gateway.send(&key.get("/v1/models")).text();
        // Nobody but BlockRun has the one, and nobody but OpenRouter the other.
        let has = |name: &str| listed.contains(name);
        (has("grok-4.7") && has("hermes-4-405b")).then_some(())
    });
    for caller in Caller::ALL {
        let key = with_day(&till, "0.08", &GOLEM);
        check_cheaper(&ask(&gateway, &key, caller, &json!({})));
    }
}

#[test]
fn what_the_caller_pays_at_most_holds_for_the_cheaper_model_too() {
    let sandbox = Sandbox::start();
    let till = till(&sandbox);
    let gateway = till.open();
    sandbox.forget();
    // A tenth of what the day has left: not even Haiku is to be had for it.
    let mut hints = json!({ "max_cost_usd": 0.0068 });
    for caller in Caller::ALL {
        let key = with_day(&till, "0.08", &GOLEM);
        let answer = ask(&gateway, &key, caller, &hints);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert!(!header(&answer, "x-bardo-model").starts_with("claude"));
        let degraded = header(&answer, "x-bardo-degraded");
        assert!(
            degraded.split(',').any(|name| name == "model"),
            "{degraded}"
        );
    }
    sandbox.forget();
    // Where no model may be exchanged, or a protected part asks, the bound refuses.
    let key = with_day(&till, "0.5", &GOLEM);
    for (name, value) in [
        ("allow_downgrade", json!(false)),
        ("subsystem", json!("risk")),
    ] {
        hints[name] = value;
        let answer = ask(&gateway, &key, Caller::Chat, &hints);
        assert_eq!(answer.status(), 400, "{hints} {}", answer.text());
        let error = answer.json()["error"].clone();
        assert_eq!(error["bardo_code"], "requirements_unsatisfiable", "{error}");
        hints["allow_downgrade"] = json!(true);
    }
    assert_eq!(asked(&sandbox), [""; 0]);
}

#[test]
fn no_request_costs_more_than_its_limit_whatever_its_profile_adds_to_the_prompt() {
    let sandbox = Sandbox::start();
    let till = till(&sandbox);
    let gateway = till.open();
    let key = till.key(&[&["--deposit-usd", "5"][..], &GOLEM].concat());
    let mut answered = 0;
    for subsystem in ["risk", "heartbeat_t1", "dream_rem", "context", "curator"] {
        for most in ["0.0001", "0.0002", "0.0005", "0.002", "0.005"] {
            let mut body = Caller::Chat.request("bardo/auto", "Sell it all?", false);
            body["bardo"] = json!({ "subsystem": subsystem, "max_cost_usd": most });
            let answer = gateway.send(&key.ask(Caller::Chat, &body));
            if answer.status() == 400 {
                continue;
            }
            assert_eq!(answer.status(), 200, "{subsystem} {}", answer.text());
            answered += 1;
            let (cost, spread) = (
                micro(header(&answer, "x-bardo-cost")),
                micro(header(&answer, "x-bardo-spread")),
            );
            let most = (most.parse::<f64>().expect("a number") * 1e6).round();
            let cost = f64::from(u32::try_from(cost - spread).expect("a small amount"));
            assert!(cost <= most, "{subsystem}: {cost} of {most}");
        }
    }
    assert!(answered > 5, "{answered}");
}

/// Opus by its pinned name, with little in the account and, by the hints, little for the request.
fn ask_pinned(gateway: &Gateway, key: &Key, backend: &str, hints: &Value) -> Answer {
    let mut body = Caller::Chat.request(&format!("{backend}/{OPUS}"), "Hello", false);
    body["max_completion_tokens"] = json!(LIMIT);
    body["bardo"] = hints.clone();
    gateway.send(&key.ask(Caller::Chat, &body))
}

#[test]
fn a_pinned_backend_serves_the_cheaper_model_or_the_request_is_refused() {
    let sandbox = Sandbox::start();
    let till = till(&sandbox);
    let gateway = till.open();
    for backend in ["openrouter", "venice"] {
        for hints in [
            json!({}),
            json!({ "subsystem": "context" }),
            json!({ "max_cost_usd": 0.02 }),
        ] {
            sandbox.forget();
            let key = till.key(&[&["--deposit-usd", "0.06"][..], &GOLEM].concat());
            let answer = ask_pinned(&gateway, &key, backend, &hints);
            assert_eq!(answer.status(), 200, "{backend} {hints} {}", answer.text());
            assert_eq!(header(&answer, "x-bardo-provider"), backend, "{hints}");
            let degraded = header(&answer, "x-bardo-degraded");
            for name in ["model", "quality"] {
                let is_named = degraded.split(',').any(|told| told == name);
                assert!(is_named, "{backend} {hints} {name}: {degraded}");
            }
        }
        // Too little for any model of the backend that is not free.
        sandbox.forget();
        let key = till.key(&[&["--deposit-usd", "0.000005"][..], &GOLEM].concat());
        let answer = ask_pinned(&gateway, &key, backend, &json!({}));
        assert_eq!(answer.status(), 402, "{backend} {}", answer.text());
        assert_eq!(asked(&sandbox), [""; 0]);
    }
    till.verify();
}

#[test]
fn a_small_balance_buys_no_free_model_unless_the_owner_allows_free_models() {
    let sandbox = Sandbox::start();
    for (is_allowed, status) in [(false, 402), (true, 200)] {
        let mut config = trio(&sandbox);
        config["catalog"] = json!({ "live": true });
        config["inference"]["free_models"] = json!(is_allowed);
        let till = Till::new(config);
        let gateway = till.open();
        let key = till.key(&[&["--deposit-usd", "0.000005"][..], &GOLEM].concat());
        eventually("the lists are read", || {
            let listed = gateway.send(&key.get("/v1/models")).text();
            listed.contains("llama-3.2-11b-vision").then_some(())
        });
        for hints in [json!({}), json!({ "max_cost_usd": 0.01 })] {
            let answer = ask(&gateway, &key, Caller::Chat, &hints);
            assert_eq!(answer.status(), status, "{hints} {}", answer.text());
            if is_allowed {
                let degraded = header(&answer, "x-bardo-degraded");
                assert!(
                    degraded.contains("model") && degraded.contains("quality"),
                    "{degraded}"
                );
            }
        }
    }
}

#[test]
fn whether_a_cheaper_model_will_do_is_the_callers_word_before_its_tier() {
    let sandbox = Sandbox::start();
    let till = till(&sandbox);
    let gateway = till.open();
    sandbox.forget();
    for caller in Caller::ALL {
        let key = with_day(&till, "0.08", &[]);
        check_refused(caller, &ask(&gateway, &key, caller, &json!({})));
        let key = with_day(&till, "0.08", &GOLEM);
        let no = json!({ "allow_downgrade": false });
        check_refused(caller, &ask(&gateway, &key, caller, &no));
        assert_eq!(asked(&sandbox), [""; 0]);
        let key = with_day(&till, "0.08", &[]);
        let yes = json!({ "allow_downgrade": true });
        check_cheaper(&ask(&gateway, &key, caller, &yes));
        sandbox.forget();
    }
}

#[test]
fn risk_is_never_downgraded_and_has_a_share_of_the_day_to_itself() {
    let sandbox = Sandbox::start();
    let till = till(&sandbox);
    let gateway = till.open();
    sandbox.forget();
    let risk = json!({ "subsystem": "risk", "vitality": 0.0 });
    for caller in Caller::ALL {
        let key = with_day(&till, "0.08", &GOLEM);
        check_refused(caller, &ask(&gateway, &key, caller, &risk));
        assert_eq!(asked(&sandbox), [""; 0]);
        // All of 0.11 USD pays for Opus and the schema that it is told, and 85 % of it do not.
        let key = with_day(&till, "0.11", &GOLEM);
        let answer = ask(&gateway, &key, caller, &risk);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(header(&answer, "x-bardo-model"), OPUS);
        let degraded = answer.header("x-bardo-degraded").unwrap_or_default();
        assert!(!degraded.contains("model"), "{degraded}");
        // Without a schema 0.1 USD is enough, and 85 % of it are not.
        let key = with_day(&till, "0.1", &GOLEM);
        check_cheaper(&ask(&gateway, &key, caller, &json!({})));
        sandbox.forget();
    }
}

/// A profile lets protected parts think for long, and what it allows is no limit of the caller's.
#[test]
fn a_protected_part_on_a_small_balance_gets_a_lower_limit_and_no_refusal() {
    let sandbox = Sandbox::start();
    let till = till(&sandbox);
    let gateway = till.open();
    for caller in [Caller::Chat, Caller::Responses] {
        for (model, stream) in [(OPUS, false), (OPUS, true), ("bardo/auto", false)] {
            let key = till.key(&[&["--deposit-usd", "0.5"][..], &GOLEM].concat());
            let mut body = caller.request(model, "Hello", stream);
            body["bardo"] = json!({ "subsystem": "risk" });
            let answer = gateway.send(&key.ask(caller, &body));
            assert_eq!(answer.status(), 200, "{caller:?} {model} {}", answer.text());
            let degraded = header(&answer, "x-bardo-degraded");
            assert!(
                degraded.split(',').any(|name| name == "max_tokens"),
                "{caller:?} {model} {degraded}"
            );
            if model == OPUS {
                assert_eq!(header(&answer, "x-bardo-model"), OPUS);
            }
        }
    }
    till.verify();
    // Where not even a short answer fits, the message names what the request can lower.
    let key = till.key(&[&["--deposit-usd", "0.005"][..], &GOLEM].concat());
    let mut body = Caller::Chat.request(OPUS, "Hello", false);
    body["bardo"] = json!({ "subsystem": "risk" });
    let answer = gateway.send(&key.ask(Caller::Chat, &body));
    assert_eq!(answer.status(), 402, "{}", answer.text());
}

#[test]
fn a_day_that_is_spent_is_told_with_its_reserve_and_the_limit_that_would_fit() {
    let sandbox = Sandbox::start();
    let till = till(&sandbox);
    let gateway = till.open();
    let key = with_day(&till, "0.08", &GOLEM);
    let no = json!({ "allow_downgrade": false });
    let answer = ask(&gateway, &key, Caller::Chat, &no);
    check_refused(Caller::Chat, &answer);
    let message = answer.json()["error"]["message"].clone();
    let message = message.as_str().expect("a message");
    for words in [
        "the cap `spend-day` of 0.080000 USD (of which 0.012000 are reserved for protected subsystems) has no room",
        "0.000000 USD are spent or held",
        "`max_tokens` of at most ",
        "The cap resets at midnight UTC",
    ] {
        assert!(message.contains(words), "{words}: {message}");
    }
}
