//! What is private stays with whoever keeps it, also when that backend is down; a model that is
//! named is kept.

use serde_json::json;

use crate::rig::{Gateway, Sandbox};
use crate::routing::{ask, asked, receipt, trio};
use crate::sse::Caller;

#[test]
fn a_dream_stays_with_the_private_backend_also_when_it_is_down() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    let dream = json!({ "subsystem": "dream" });
    for caller in Caller::ALL {
        sandbox.forget();
        let answer = ask(&gateway, caller, "bardo/auto", &dream);
        let kept = receipt(&gateway, &answer);
        assert_eq!(kept["provider"], "venice", "{caller:?} {kept}");
        assert_eq!(kept["routing"]["subsystem"], "dream");
        assert_eq!(kept["routing"]["security"], "private", "{kept}");
        assert_eq!(asked(&sandbox), ["venice"]);

        sandbox.fault("venice", &json!({ "kind": "status", "status": 503 }));
        sandbox.forget();
        let answer = ask(&gateway, caller, "bardo/auto", &dream);
        assert!(answer.status() >= 500, "{caller:?} {}", answer.text());
        caller.check_error(&answer.json());
        let services = asked(&sandbox);
        assert!(!services.is_empty());
        assert!(
            services.iter().all(|service| service == "venice"),
            "{services:?}"
        );
        sandbox.heal();
    }
}

/// Venice's own members are changed by its description and by the profile.
#[test]
fn a_profile_and_a_provider_edit_the_same_member_once() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    sandbox.forget();
    let dream = json!({ "subsystem": "dream_rem" });
    receipt(&gateway, &ask(&gateway, Caller::Chat, "bardo/auto", &dream));
    let entry = sandbox.only_entry();
    let sent = entry["body"].as_str().expect("a body");
    assert_eq!(sent.matches("\"venice_parameters\"").count(), 1, "{sent}");
    let body: serde_json::Value = serde_json::from_str(sent).expect("JSON");
    assert_eq!(
        body["venice_parameters"],
        json!({ "include_venice_system_prompt": false, "enable_web_search": "on" })
    );
}

#[test]
fn a_caller_who_takes_less_is_answered_by_another_and_told() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    sandbox.fault("venice", &json!({ "kind": "status", "status": 503 }));
    let hints = json!({ "subsystem": "dream", "accept_degraded": true });
    let answer = ask(&gateway, Caller::Chat, "bardo/auto", &hints);
    let kept = receipt(&gateway, &answer);
    assert_ne!(kept["provider"], "venice", "{kept}");
    let attempts = kept["attempts"].as_array().expect("attempts");
    assert_eq!(attempts[0]["provider"], "venice", "{kept}");
    let told = answer.header("x-bardo-degraded").unwrap_or_default();
    assert!(told.contains("privacy"), "{told:?} {kept}");
    assert_eq!(kept["routing"]["security"], "standard", "{kept}");
}

#[test]
fn without_a_private_backend_a_dream_is_answered_and_told() {
    let sandbox = Sandbox::start();
    let mut config = trio(&sandbox);
    let providers = config["providers"].as_object_mut().expect("an object");
    providers.remove("venice");
    let dream = json!({ "subsystem": "dream" });
    let gateway = Gateway::start(&config);
    let answer = ask(&gateway, Caller::Anthropic, "bardo/auto", &dream);
    let kept = receipt(&gateway, &answer);
    let told = answer.header("x-bardo-degraded").unwrap_or_default();
    assert!(told.contains("privacy"), "{told:?} {kept}");

    config["privacy"] = json!({ "strict": true });
    let gateway = Gateway::start(&config);
    sandbox.forget();
    let answer = ask(&gateway, Caller::Anthropic, "bardo/auto", &dream);
    assert_eq!(answer.status(), 400, "{}", answer.text());
    assert_eq!(
        answer.json()["error"]["bardo_code"],
        "privacy_unavailable",
        "{}",
        answer.text()
    );
    assert_eq!(asked(&sandbox), [""; 0]);
}

#[test]
fn a_model_that_is_named_is_kept() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    for (model, hints, provider, id) in [
        // The tick would be served by a small model; the caller named another.
        (
            "claude-opus-5-5",
            json!({ "subsystem": "heartbeat_t1", "vitality": 0.05 }),
            "blockrun",
            "claude-opus-5-5",
        ),
        (
            "openrouter/gpt-5.5",
            json!({ "subsystem": "risk" }),
            "openrouter",
            "gpt-5.5",
        ),
        (
            "bardo/auto",
            json!({ "subsystem": "context", "model": "gpt-5.5" }),
            "blockrun",
            "gpt-5.5",
        ),
    ] {
        for caller in Caller::ALL {
            let kept = receipt(&gateway, &ask(&gateway, caller, model, &hints));
            assert_eq!(kept["provider"], provider, "{caller:?} {kept}");
            assert_eq!(kept["model"], id, "{caller:?} {kept}");
            assert_eq!(kept["routing"]["subsystem"], hints["subsystem"], "{kept}");
        }
    }
    // The floor of its subsystem binds a named model too, and nobody keeps this one private.
    sandbox.forget();
    let dream = json!({ "subsystem": "dream" });
    let answer = ask(&gateway, Caller::Chat, "claude-opus-5-5", &dream);
    assert_eq!(answer.status(), 400, "{}", answer.text());
    assert_eq!(
        answer.json()["error"]["bardo_code"],
        "privacy_unavailable",
        "{}",
        answer.text()
    );
    assert_eq!(asked(&sandbox), [""; 0]);
}
