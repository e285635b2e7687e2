//! Hints in headers and in bodies, good and bad; and what the state of an agent does to its
//! protected parts: nothing.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::paying::till::Till;
use crate::rig::{Gateway, Sandbox, makers};
use crate::routing::{ask, asked, hinted, receipt, trio};
use crate::sse::{Caller, events};

/// What a receipt says of routing, without the estimate, which is of the request's bytes.
fn routing(receipt: &Value) -> Value {
    let mut routing = receipt["routing"].clone();
    routing["estimated_cost"] = Value::Null;
    routing
}

#[test]
fn headers_say_the_same_as_the_body() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    let hints = json!({
        "subsystem": "curator", "golem_id": "golem-7", "tick": 41, "vitality": 0.4,
        "phase": "stable", "quality": "high", "cost_sensitivity": 0.2,
        "prefer": ["citations", "tools"], "max_latency_ms": 9000, "max_cost_usd": 0.5,
        "security_class": "standard", "accept_degraded": true, "sustainability": 1.2,
    });
    for caller in Caller::ALL {
        let by_body = ask(&gateway, caller, "bardo/auto", &hints);
        let by_body = receipt(&gateway, &by_body);
        let mut request =
            Request::json(caller.path(), &caller.request("bardo/auto", "Hello", false));
        for (name, value) in hints.as_object().expect("an object") {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Array(names) => names
                    .iter()
                    .map(|name| name.as_str().expect("a name"))
                    .collect::<Vec<_>>()
                    .join(", "),
                other => other.to_string(),
            };
            request = request.with(&format!("X-Bardo-{}", name.replace('_', "-")), &value);
        }
        let by_header = receipt(&gateway, &gateway.send(&request));
        assert_eq!(routing(&by_body), routing(&by_header), "{caller:?}");
        assert_eq!(by_body["model"], by_header["model"]);
        assert_eq!(by_body["routing"]["golem_id"], "golem-7");
        assert_eq!(by_body["routing"]["quality"], "high", "{by_body}");
        // No hint reaches a provider.
        for entry in sandbox.journal() {
            let sent = entry["body"].as_str().unwrap_or_default();
            assert!(!sent.contains("golem-7"), "{sent}");
            let headers = entry["headers"].to_string().to_lowercase();
            assert!(!headers.contains("x-bardo"), "{headers}");
        }
    }
}

#[test]
fn the_body_wins_over_headers() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    let body = hinted(
        Caller::Chat,
        "bardo/auto",
        &json!({ "subsystem": "context" }),
    );
    let request = Request::json(Caller::Chat.path(), &body)
        .with("X-Bardo-Subsystem", "risk")
        .with("X-Bardo-Tick", "8");
    let kept = receipt(&gateway, &gateway.send(&request));
    assert_eq!(kept["routing"]["subsystem"], "context", "{kept}");
    assert_eq!(kept["routing"]["tick"], 8, "{kept}");
}

#[test]
fn hints_of_the_wrong_type_are_refused_by_name() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    sandbox.forget();
    for (hints, field) in [
        (json!("risk"), "bardo"),
        (json!({ "subsystem": 7 }), "bardo.subsystem"),
        (json!({ "vitality": { "now": 1 } }), "bardo.vitality"),
        (json!({ "vitality": "high" }), "bardo.vitality"),
        (json!({ "tick": [] }), "bardo.tick"),
        (json!({ "require": "citations" }), "bardo.require"),
        (json!({ "accept_degraded": "yes" }), "bardo.accept_degraded"),
        (json!({ "intent": 3 }), "bardo.intent"),
        (
            json!({ "intent": { "max_latency_ms": {} } }),
            "bardo.intent.max_latency_ms",
        ),
        (
            json!({ "security_class": "secret" }),
            "bardo.security_class",
        ),
        (json!({ "task_class": "trad" }), "bardo.task_class"),
        (json!({ "securty_class": "tee" }), "bardo.securty_class"),
        (json!({ "subsytem": "dream_rem" }), "bardo.subsytem"),
        (json!({ "max_cost": 0.1 }), "bardo.max_cost"),
        (json!({ "subsystem": "rsik" }), "bardo.subsystem"),
        (json!({ "subsystem": "dreem_rm" }), "bardo.subsystem"),
        (
            json!({ "profile": { "temperature": "hot" } }),
            "bardo.profile",
        ),
    ] {
        for caller in Caller::ALL {
            let answer = ask(&gateway, caller, "bardo/auto", &hints);
            assert_eq!(answer.status(), 400, "{hints} {}", answer.text());
            let body = answer.json();
            caller.check_error(&body);
            assert_eq!(body["error"]["bardo_code"], "invalid_request", "{body}");
            let message = body["error"]["message"].as_str().expect("a message");
            let name = field.rsplit('.').next().expect("a name");
            assert!(message.contains(name), "{hints} {message}");
            if caller != Caller::Anthropic {
                assert_eq!(body["error"]["param"], field, "{hints} {body}");
            }
        }
    }
    assert_eq!(asked(&sandbox), [""; 0]);
}

#[test]
fn hints_that_make_no_sense_are_answered_and_told() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    for (hints, word) in [
        (json!({ "vitality": 7 }), "vitality"),
        (json!({ "vitality": "NaN" }), "vitality"),
        (json!({ "cost_sensitivity": -1 }), "cost_sensitivity"),
        (json!({ "sustainability": -3.5 }), "sustainability"),
        (json!({ "quality": "superb" }), "superb"),
        (json!({ "phase": "reborn" }), "reborn"),
        (json!({ "prefer": ["telepathy"] }), "telepathy"),
        (json!({ "subsystem": "gut_feeling" }), "gut_feeling"),
        (json!({ "vitallity": 1 }), "vitallity"),
    ] {
        let answer = ask(&gateway, Caller::Chat, "bardo/auto", &hints);
        let header = answer.header("x-bardo-warnings").unwrap_or_default();
        assert!(header.contains(word), "{hints} {header:?}");
        let kept = receipt(&gateway, &answer);
        let warnings = kept["routing"]["warnings"].as_array().expect("warnings");
        let told = |warning: &Value| warning.as_str().is_some_and(|text| text.contains(word));
        assert!(warnings.iter().any(told), "{hints} {kept}");
    }
    let request = Request::json(
        Caller::Chat.path(),
        &Caller::Chat.request("bardo/auto", "Hello", false),
    );
    let answer = gateway.send(&request.with("X-Bardo-Vitality", "high"));
    let kept = receipt(&gateway, &answer);
    let warnings = kept["routing"]["warnings"].to_string();
    assert!(warnings.contains("x-bardo-vitality"), "{kept}");
}

#[test]
fn a_header_that_protects_and_is_not_understood_is_refused() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    sandbox.forget();
    for (name, value) in [
        ("X-Bardo-Task-Class", "trad"),
        ("X-Bardo-Security-Class", "secret"),
        ("X-Bardo-Securty-Class", "tee"),
        ("X-Bardo-Profile", "{\"tee_mode\": true"),
        ("X-Bardo-Subsystem", "rsik"),
    ] {
        for caller in Caller::ALL {
            let body = caller.request("gpt-5.5", "Hello", false);
            let answer = gateway.send(&Request::json(caller.path(), &body).with(name, value));
            assert_eq!(answer.status(), 400, "{name} {}", answer.text());
            caller.check_error(&answer.json());
        }
    }
    assert_eq!(asked(&sandbox), [""; 0]);
}

#[test]
fn a_hint_that_is_given_twice_is_refused_by_its_name() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    sandbox.forget();
    for caller in Caller::ALL {
        let body = caller.request("gpt-5.5", "Hello", false);
        let request = Request::json(caller.path(), &body)
            .with("X-Bardo-Cache", "no-store")
            .with("X-Bardo-Cache", "default");
        let mut in_body = body.to_string();
        assert_eq!(in_body.pop(), Some('}'));
        in_body.push_str(r#","bardo":{"cache":"no-store","cache":"default"}}"#);
        for request in [request, Request::post(caller.path(), in_body)] {
            let answer = gateway.send(&request);
            assert_eq!(answer.status(), 400, "{}", answer.text());
            caller.check_error(&answer.json());
            let text = answer.text();
            assert!(text.contains("`cache` is given twice"), "{text}");
        }
    }
    assert_eq!(asked(&sandbox), [""; 0]);
}

#[test]
fn a_misspelt_hint_is_named_in_the_answer_and_refused_to_an_agent() {
    let sandbox = Sandbox::start();
    let till = Till::new(trio(&sandbox));
    let gateway = till.open();
    let person = till.key(&["--deposit-usd", "5"]);
    let agent = till.key(&["--deposit-usd", "5", "--tier", "golem"]);
    let wrong = json!({ "vitallity": 1 });
    for caller in Caller::ALL {
        for stream in [false, true] {
            let mut body = caller.request("claude-haiku-4-5", "Hello", stream);
            body["bardo"] = wrong.clone();
            let answer = gateway.send(&person.ask(caller, &body));
            assert_eq!(answer.status(), 200, "{}", answer.text());
            let told = answer.header("x-bardo-warnings").unwrap_or_default();
            assert!(
                told.contains("vitallity") && told.contains("`vitality`"),
                "{told:?}"
            );
            let refused = gateway.send(&agent.ask(caller, &body));
            assert_eq!(refused.status(), 400, "{}", refused.text());
            let text = refused.text();
            assert!(
                text.contains("vitallity") && text.contains("`vitality`"),
                "{text}"
            );
        }
    }
    let mut count = Caller::Anthropic.request("claude-haiku-4-5", "Hello", false);
    count["bardo"] = wrong;
    let counted = Request::json("/v1/messages/count_tokens", &count);
    let told = gateway.send(&person.sign(counted));
    let told = told.header("x-bardo-warnings").unwrap_or_default();
    assert!(told.contains("vitallity"), "{told:?}");
}

#[test]
fn nothing_touches_what_is_protected() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    let dying = json!({ "vitality": 0.0, "phase": "terminal", "sustainability": 0.01 });
    let ask = |subsystem: &str, state: &Value| {
        let mut hints = state.clone();
        hints["subsystem"] = json!(subsystem);
        receipt(&gateway, &ask(&gateway, Caller::Chat, "bardo/auto", &hints))
    };
    let needs = |kept: &Value| {
        let members = [
            "quality",
            "cost_sensitivity",
            "tier",
            "profile",
            "requested",
        ];
        let needs = members.map(|name| kept["routing"][name].clone());
        (kept["model"].clone(), needs)
    };
    for subsystem in ["risk", "operator", "death_reflect", "death_testament"] {
        let well = ask(subsystem, &json!({}));
        assert_eq!(
            needs(&well),
            needs(&ask(subsystem, &dying)),
            "{subsystem}: {well}"
        );
    }
    let (well, dying) = (ask("playbook", &json!({})), ask("playbook", &dying));
    assert_ne!(needs(&well), needs(&dying), "others feel it");
    assert_eq!(dying["routing"]["tier"], "small", "{dying}");
}

#[test]
fn the_last_usage_of_a_stream_has_the_figures_where_they_are_asked_for() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    for caller in Caller::ALL {
        // Relayed for one caller, translated for the others.
        for model in ["gpt-5.5", "claude-sonnet-5-5", "gemini-3-flash"] {
            let mut body = caller.request(model, "Hello", true);
            let plain = gateway.send(&Request::json(caller.path(), &body));
            let usage = |event: &Value| match caller {
                Caller::Responses => event["response"]["usage"]["bardo"].clone(),
                Caller::Chat | Caller::Anthropic => event["usage"]["bardo"].clone(),
            };
            let figures_in = |answer: &Answer| -> Vec<Value> {
                let all = events(&answer.body);
                let found = all.iter().map(usage);
                found.filter(|figures| !figures.is_null()).collect()
            };
            assert!(figures_in(&plain).is_empty(), "{}", plain.text());
            body["bardo"] = json!({ "metadata": true });
            let answer = gateway.send(&Request::json(caller.path(), &body));
            assert_eq!(answer.status(), 200, "{}", answer.text());
            assert_eq!(answer.header("x-bardo-warnings"), None);
            let text = answer.text();
            let comment = text
                .lines()
                .find_map(|line| line.strip_prefix(": bardo "))
                .expect("the closing comment");
            let comment: Value = serde_json::from_str(comment).expect("JSON");
            assert_eq!(figures_in(&answer), [comment], "{caller:?} {model} {text}");
        }
    }
}
