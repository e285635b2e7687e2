//! What is private stays with whoever keeps it, also when that backend is down; a model that is
//! named is kept.

use serde_json::json;

use crate::http::Request;
use crate::paying::till::{Till, header, micro};
use crate::rig::{Gateway, Sandbox};
use crate::routing::{ask, asked, hinted, receipt, trio};
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
        json!({ "include_venice_system_prompt": false })
    );

    let mut config = trio(&sandbox);
    config["providers"]["venice"]["web_search_enabled"] = json!(true);
    let gateway = Gateway::start(&config);
    receipt(&gateway, &ask(&gateway, Caller::Chat, "bardo/auto", &dream));
    let sent = venice_body(&sandbox);
    assert_eq!(sent.matches("\"venice_parameters\"").count(), 1, "{sent}");
    assert!(sent.contains("\"enable_web_search\":\"on\""), "{sent}");
}

/// The last body that Venice was sent.
fn venice_body(sandbox: &Sandbox) -> String {
    let entries = sandbox.journal();
    let last = entries.iter().rfind(|entry| entry["service"] == "venice");
    let body = last.expect("Venice was asked")["body"].as_str();
    body.expect("a body").to_owned()
}

#[test]
fn the_hold_of_a_dream_that_may_search_has_the_fee() {
    let sandbox = Sandbox::start();
    let hold = |searches: bool| {
        let mut config = trio(&sandbox);
        config["providers"]["venice"]["web_search_enabled"] = json!(searches);
        let till = Till::new(config);
        let gateway = till.open();
        let key = till.key(&["--deposit-usd", "50", "--tier", "golem"]);
        let mut body = hinted(
            Caller::Chat,
            "bardo/auto",
            &json!({ "subsystem": "dream_rem" }),
        );
        body["max_completion_tokens"] = json!(1_000);
        body["stream"] = json!(true);
        let answer = gateway.send(&key.ask(Caller::Chat, &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        till.verify();
        micro(header(&answer, "x-bardo-hold"))
    };
    let (without, with) = (hold(false), hold(true));
    assert!(with >= without + 10_000, "{without} {with}");
}

#[test]
fn a_dream_searches_the_web_only_where_its_owner_lets_it_and_a_cycle_pays() {
    let sandbox = Sandbox::start();
    let searches = |config: &serde_json::Value, more: serde_json::Value| {
        let gateway = Gateway::start(config);
        let mut hints = json!({ "subsystem": "dream_rem" });
        for (name, value) in more.as_object().expect("hints") {
            hints[name] = value.clone();
        }
        receipt(&gateway, &ask(&gateway, Caller::Chat, "bardo/auto", &hints));
        venice_body(&sandbox).contains("enable_web_search")
    };
    let off = trio(&sandbox);
    let plain = json!({});
    assert!(!searches(&off, plain.clone()));
    assert!(!searches(
        &off,
        json!({ "profile": { "web_search": true } })
    ));
    let mut refused = off.clone();
    refused["providers"]["venice"]["web_search_enabled"] = json!(false);
    refused["inference"]["profiles"] = json!({ "dream_rem": { "web_search": true } });
    assert!(!searches(&refused, plain.clone()));
    let mut on = off.clone();
    on["providers"]["venice"]["web_search_enabled"] = json!(true);
    assert!(searches(&on, plain.clone()));
    // A search would tell others what attested hardware keeps.
    let tee = json!({ "security_class": "tee" });
    assert!(!searches(&on, tee.clone()));
    let mut even_then = on.clone();
    even_then["inference"]["profiles"] = json!({ "dream_rem": { "web_search": true } });
    assert!(searches(&even_then, tee));

    on["providers"]["venice"]["web_search_budget_per_cycle_usdc"] = json!(0.02);
    let gateway = Gateway::start(&on);
    let dream = |cycle: u64| {
        let hints = json!({ "subsystem": "dream_rem", "golem_id": "g", "cycle": cycle });
        let answer = ask(&gateway, Caller::Chat, "bardo/auto", &hints);
        receipt(&gateway, &answer);
        let told = answer.header("x-bardo-degraded").unwrap_or_default();
        let told = told.split(',').any(|name| name == "web_search");
        (venice_body(&sandbox).contains("enable_web_search"), told)
    };
    assert_eq!(dream(1), (true, false));
    assert_eq!(dream(1), (true, false));
    assert_eq!(dream(1), (false, true));
    assert_eq!(dream(2), (true, false));
}

#[test]
fn accepting_less_gives_no_privacy_away_while_a_private_backend_answers() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    for hints in [
        json!({ "subsystem": "dream", "accept_degraded": true, "quality": "maximum" }),
        json!({ "subsystem": "death", "accept_degraded": true, "prefer": ["citations"] }),
        json!({ "subsystem": "daimon", "accept_degraded": true, "require": ["citations"] }),
    ] {
        for caller in Caller::ALL {
            let kept = receipt(&gateway, &ask(&gateway, caller, "bardo/auto", &hints));
            assert_eq!(kept["provider"], "venice", "{caller:?} {hints} {kept}");
            assert_ne!(kept["routing"]["security"], "standard", "{kept}");
        }
    }
    let mut config = crate::rig::everything(&sandbox);
    config["providers"]
        .as_object_mut()
        .expect("an object")
        .remove("local");
    let gateway = Gateway::start(&config);
    let hints = json!({ "subsystem": "daimon", "accept_degraded": true });
    let kept = receipt(
        &gateway,
        &ask(&gateway, Caller::Chat, "deepseek-v4-flash", &hints),
    );
    assert_eq!(kept["provider"], "venice", "{kept}");
    assert_eq!(kept["model"], "deepseek-v4-flash", "{kept}");
}

#[test]
fn what_goes_on_with_a_private_turn_is_kept_as_well_or_refused() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    let begin = |class: &str| {
        let hints = json!({ "security_class": class });
        let answer = ask(&gateway, Caller::Responses, "bardo/auto", &hints);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer.json()["id"].as_str().expect("an id").to_owned()
    };
    let go_on = |model: &str, id: &str, hints: Option<serde_json::Value>| {
        let mut body = Caller::Responses.request(model, "Go on", false);
        body["previous_response_id"] = json!(id);
        if let Some(hints) = hints {
            body["bardo"] = hints;
        }
        gateway.send(&Request::json(Caller::Responses.path(), &body))
    };
    for class in ["private", "tee"] {
        let id = begin(class);
        for hints in [None, Some(json!({ "accept_degraded": true }))] {
            sandbox.forget();
            let refused = go_on("claude-opus-5-5", &id, hints);
            assert_eq!(refused.status(), 400, "{}", refused.text());
            Caller::Responses.check_error(&refused.json());
            assert_eq!(refused.json()["error"]["bardo_code"], "privacy_unavailable");
            assert_eq!(asked(&sandbox), [""; 0], "{class}");
        }
        let answer = go_on("bardo/auto", &id, None);
        let kept = receipt(&gateway, &answer);
        assert_eq!(kept["provider"], "venice", "{kept}");
        assert_eq!(kept["routing"]["security_class"], class, "{kept}");
        // What follows that is kept as well.
        let next = answer.json()["id"].as_str().expect("an id").to_owned();
        assert_eq!(go_on("gpt-5.5", &next, None).status(), 400);
    }
    let open = begin("standard");
    assert_eq!(go_on("claude-opus-5-5", &open, None).status(), 200);
}

#[test]
fn attested_hardware_is_said_to_be_listed_and_no_more() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    let hints = json!({ "security_class": "tee" });
    let answer = ask(&gateway, Caller::Chat, "bardo/auto", &hints);
    assert_eq!(answer.header("x-bardo-tee"), Some("listed"));
    let kept = receipt(&gateway, &answer);
    assert_eq!(kept["routing"]["tee"], "listed", "{kept}");
    let body = crate::routing::hinted(Caller::Chat, "bardo/auto", &hints);
    let explained = gateway.send(&Request::json("/v1/route/explain", &body));
    assert_eq!(
        explained.json()["resolution"]["tee"],
        "listed",
        "{}",
        explained.text()
    );
    let plain = ask(&gateway, Caller::Chat, "gpt-5.5", &json!({}));
    assert_eq!(plain.header("x-bardo-tee"), None);
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
fn vectors_of_a_backend_that_protects_less_are_told_as_answers_are() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&crate::rig::makers(&sandbox));
    let hints = json!({ "subsystem": "dream", "accept_degraded": true });
    let body = json!({ "model": "text-embedding-3-small", "input": "A dream.", "bardo": hints });
    let answer = gateway.send(&Request::json("/v1/embeddings", &body));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let kept = receipt(&gateway, &answer);
    let told = answer.header("x-bardo-degraded").unwrap_or_default();
    assert!(told.contains("privacy"), "{told:?} {kept}");
    let lost = kept["degraded"].as_array().expect("a list");
    let is_told = lost.iter().any(|one| one["feature"] == "privacy");
    assert!(is_told, "{kept}");
    let id = answer.header("x-bardo-upstream-request-id");
    assert!(id.is_some(), "{kept}");
    assert_eq!(kept["upstream_request_id"].as_str(), id, "{kept}");
    let metrics = Request::get("/metrics").send(gateway.admin).text();
    let counted = "bardo_degraded_features_total{feature=\"privacy\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
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

#[test]
fn a_key_of_tier_free_that_asks_for_protection_is_refused_with_what_upgrading_gives() {
    let sandbox = Sandbox::start();
    let till = crate::paying::till::Till::new(trio(&sandbox));
    let gateway = till.open();
    let free = till.key(&["--deposit-usd", "5", "--tier", "free"]);
    let pro = till.key(&["--deposit-usd", "5", "--tier", "pro"]);
    for hints in [
        json!({ "security_class": "tee" }),
        json!({ "task_class": "sealed_auction" }),
        json!({ "require": ["privacy"] }),
        json!({ "profile": { "tee_mode": true } }),
        json!({ "subsystem": "dream" }),
    ] {
        sandbox.forget();
        let body = crate::routing::hinted(Caller::Chat, "bardo/auto", &hints);
        let refused = gateway.send(&free.ask(Caller::Chat, &body));
        assert_eq!(refused.status(), 403, "{hints} {}", refused.text());
        assert!(refused.text().contains("`pro`"), "{}", refused.text());
        assert_eq!(asked(&sandbox), [""; 0]);
        assert_ne!(gateway.send(&pro.ask(Caller::Chat, &body)).status(), 403);
    }
}

#[test]
fn a_key_of_tier_free_gets_no_private_class_from_a_local_backend_either() {
    let sandbox = Sandbox::start();
    let mut config = crate::rig::makers(&sandbox);
    config["providers"]["local"]["models"] = json!(["llama3.2"]);
    let till = crate::paying::till::Till::new(config);
    let gateway = till.open();
    let [free, pro] = ["free", "pro"].map(|tier| till.key(&["--tier", tier]));
    for hints in [
        json!({ "subsystem": "dream_rem" }),
        json!({ "security_class": "private" }),
        json!({ "task_class": "judge" }),
    ] {
        let body = crate::routing::hinted(Caller::Chat, "bardo/auto", &hints);
        sandbox.forget();
        let refused = gateway.send(&free.ask(Caller::Chat, &body));
        assert_eq!(refused.status(), 403, "{hints} {}", refused.text());
        assert!(refused.text().contains("tier `free`"), "{}", refused.text());
        assert_eq!(asked(&sandbox), [""; 0]);
        let explain = free.sign(Request::json("/v1/route/explain", &body));
        let told = gateway.send(&explain).json();
        assert_eq!(told["refusal"]["code"], "key_scope", "{told}");
        assert!(
            told["resolution"].is_null() && told["fallbacks"] == json!([]),
            "{told}"
        );
        let words = gateway.send(&explain.with("accept", "text/plain")).text();
        assert!(
            words.contains("This key may not send the request"),
            "{words}"
        );
        assert!(!words.contains("Backends, chosen"), "{words}");
        let answer = gateway.send(&pro.ask(Caller::Chat, &body));
        assert_eq!(
            answer.header("x-bardo-provider"),
            Some("local"),
            "{hints} {}",
            answer.text()
        );
    }
    let body = crate::routing::hinted(Caller::Chat, "bardo/auto", &json!({ "subsystem": "risk" }));
    let answer = gateway.send(&free.ask(Caller::Chat, &body));
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

#[test]
fn a_privacy_refusal_is_short_and_names_the_line_that_mends_it() {
    let sandbox = Sandbox::start();
    let mut config = crate::rig::everything(&sandbox);
    let providers = config["providers"].as_object_mut().expect("an object");
    providers.retain(|name, _| !matches!(name.as_str(), "venice" | "local"));
    config["privacy"] = json!({ "strict": true });
    let gateway = Gateway::start(&config);
    let venice = "`providers.venice.api_key`";
    for (hints, class, line) in [
        (json!({ "security_class": "tee" }), "tee", venice),
        // No hosted provider would mend it.
        (
            json!({ "task_class": "sealed_auction" }),
            "e2ee",
            "`trusted_local: true`",
        ),
        (json!({ "subsystem": "dream" }), "private", venice),
    ] {
        let answer = ask(&gateway, Caller::Chat, "bardo/auto", &hints);
        assert_eq!(answer.status(), 400, "{}", answer.text());
        let message = answer.json()["error"]["message"].clone();
        let message = message.as_str().expect("a message");
        assert!(message.len() < 400, "{message}");
        assert!(message.contains(&format!("`{class}`")), "{message}");
        assert!(message.contains(line), "{message}");
    }
}

#[test]
fn openrouter_is_told_to_leave_out_providers_that_keep_what_should_be_private() {
    let sandbox = Sandbox::start();
    let mut config = trio(&sandbox);
    config["providers"] = json!({ "openrouter": config["providers"]["openrouter"] });
    let gateway = Gateway::start(&config);
    for caller in Caller::ALL {
        sandbox.forget();
        let dream = json!({ "subsystem": "dream" });
        let kept = receipt(&gateway, &ask(&gateway, caller, "bardo/auto", &dream));
        assert_eq!(kept["routing"]["security"], "standard", "{kept}");
        let entry = sandbox.only_entry();
        let sent: serde_json::Value =
            serde_json::from_str(entry["body"].as_str().expect("a body")).expect("JSON");
        assert_eq!(
            sent["provider"],
            json!({ "sort": "price", "data_collection": "deny", "zdr": true }),
            "{caller:?} {sent}"
        );
        let model = sent["model"].as_str().expect("a model");
        assert!(!model.contains(':'), "{model}");
    }
    sandbox.forget();
    let tick = json!({ "subsystem": "heartbeat_t1" });
    receipt(&gateway, &ask(&gateway, Caller::Chat, "bardo/auto", &tick));
    let entry = sandbox.only_entry();
    assert!(!entry["body"].as_str().expect("a body").contains("zdr"));
    // A person waits for it.
    sandbox.forget();
    let person = json!({ "subsystem": "operator" });
    receipt(
        &gateway,
        &ask(&gateway, Caller::Chat, "bardo/auto", &person),
    );
    let entry = sandbox.only_entry();
    let sent: serde_json::Value =
        serde_json::from_str(entry["body"].as_str().expect("a body")).expect("JSON");
    assert_eq!(sent["provider"]["sort"], "throughput", "{sent}");
}

#[test]
fn a_quality_that_is_not_reached_and_a_floor_that_yields_are_named_everywhere() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    let death = json!({ "subsystem": "death" });
    let answer = ask(&gateway, Caller::Chat, "bardo/auto", &death);
    let told = answer.header("x-bardo-degraded").unwrap_or_default();
    assert!(told.split(',').any(|name| name == "quality"), "{told:?}");

    let mut config = trio(&sandbox);
    config["providers"]
        .as_object_mut()
        .expect("an object")
        .remove("venice");
    let gateway = Gateway::start(&config);
    let mut body = Caller::Anthropic.request("bardo/auto", "Hello", false);
    body["bardo"] = json!({ "subsystem": "dream" });
    let count = gateway.send(&Request::json("/v1/messages/count_tokens", &body));
    let told = count.header("x-bardo-degraded").unwrap_or_default();
    assert!(told.contains("privacy"), "{told:?} {}", count.text());
}
