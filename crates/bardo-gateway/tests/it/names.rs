//! What a model is called: backends and makers before the slash, vendors in OpenAI format, scopes
//! of keys, and what an answer costs whoever pays.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::paying::till::{Till, header};
use crate::rig::{Folder, Gateway, Sandbox, command, config, direct, everything, makers};
use crate::scripted::{Scripted, Turn, nobody};
use crate::sse::Caller;

/// The message of an error, in whichever dialect.
#[track_caller]
fn message(answer: &Answer, status: u16, code: &str) -> String {
    assert_eq!(answer.status(), status, "{}", answer.text());
    let error = &answer.json()["error"];
    assert_eq!(error["bardo_code"], code, "{error}");
    error["message"].as_str().expect("words").to_owned()
}

#[test]
fn a_prefix_that_means_nothing_is_404_in_every_dialect_and_nobody_is_asked() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    sandbox.reset();
    for caller in Caller::ALL {
        for (name, meant) in [
            ("venise/kimi-k3", "venice/kimi-k3"),
            ("openruter/gpt-5.5", "openrouter/gpt-5.5"),
            ("bedrock/claude-sonnet-5-5", "claude-sonnet-5-5"),
            ("foo/gpt-5.5", "gpt-5.5"),
            ("anthropic/gpt-5.5", "gpt-5.5"),
        ] {
            for stream in [false, true] {
                let body = caller.request(name, "Hello", stream);
                let answer = gateway.send(&Request::json(caller.path(), &body));
                let told = message(&answer, 404, "model_not_found");
                assert!(told.contains(&format!("did you mean `{meant}`?")), "{told}");
            }
        }
        let body = caller.request("direct/deepseek#2/deepseek-v4-flash", "Hello", false);
        let answer = gateway.send(&Request::json(caller.path(), &body));
        let told = message(&answer, 404, "model_not_found");
        assert!(
            told.contains("`direct/deepseek#2` is not configured"),
            "{told}"
        );
        // The makers' own names are as good as ever.
        let body = caller.request("openai/gpt-5.5", "Hello", false);
        let answer = gateway.send(&Request::json(caller.path(), &body));
        assert_eq!(answer.header("x-bardo-provider"), Some("direct/openai"));
    }
    let embeddings = json!({ "model": "foo/text-embedding-3-small", "input": "a" });
    let answer = gateway.send(&Request::json("/v1/embeddings", &embeddings));
    message(&answer, 404, "model_not_found");
    let count = json!({ "model": "foo/claude-sonnet-5-5", "messages": [{ "role": "user", "content": "a" }] });
    let answer = gateway.send(&Request::json("/v1/messages/count_tokens", &count));
    message(&answer, 404, "model_not_found");
    let asked = sandbox.journal();
    let paths = asked.iter().map(|entry| &entry["path"]);
    assert_eq!(asked.len(), 3, "{:?}", paths.collect::<Vec<_>>());
}

#[test]
fn a_scope_for_one_maker_lets_no_other_models_through_by_any_name_or_endpoint() {
    let sandbox = Sandbox::start();
    let mut settings = makers(&sandbox);
    settings["inference"] = json!({
        "aliases": { "claude-mine": "gpt-5.5", "plain": "claude-sonnet-5-5" },
        "fallbacks": { "claude-sonnet-5-5": ["gpt-5.5"] },
    });
    let till = Till::new(settings);
    let key = till.key(&["--deposit-usd", "1", "--scope", "model=claude-*"]);
    let gateway = till.open();
    let ask = |path: &str, body: &Value| gateway.send(&key.sign(Request::json(path, body)));
    sandbox.reset();
    for caller in Caller::ALL {
        for name in [
            "claude-x/gpt-5.5",
            "gpt-5.5",
            "openai/gpt-5.5",
            "claude-mine",
            "direct/openai/gpt-5.5",
            "direct/claude-x/gpt-5.5",
            "local/claude-x/gpt-5.5",
        ] {
            let answer = ask(caller.path(), &caller.request(name, "Hello", false));
            let refused = [403, 404].contains(&answer.status());
            assert!(refused, "{name}: {} {}", answer.status(), answer.text());
        }
    }
    let vectors = json!({ "model": "claude-x/text-embedding-3-small", "input": "a" });
    assert_eq!(ask("/v1/embeddings", &vectors).status(), 404);
    let vectors = json!({ "model": "text-embedding-3-small", "input": "a" });
    assert_eq!(ask("/v1/embeddings", &vectors).status(), 403);
    for name in ["gpt-5.5", "claude-mine"] {
        let count = json!({ "model": name, "messages": [{ "role": "user", "content": "a" }] });
        assert_eq!(
            ask("/v1/messages/count_tokens", &count).status(),
            403,
            "{name}"
        );
    }
    // Hints do not open it either, nor does a name that leaves the choice to the gateway.
    for name in ["bardo/auto", "claude-sonnet-5-5"] {
        let mut body = Caller::Chat.request(name, "Hello", false);
        body["bardo"] = json!({ "intent": { "model": "gpt-5.5" } });
        let answer = ask(Caller::Chat.path(), &body);
        let provider = answer.header("x-bardo-provider").unwrap_or("nobody");
        assert!(!provider.contains("openai"), "{name}: {provider}");
    }
    // The named model goes to its maker, and where that fails, not to the model it may not use.
    for name in ["claude-sonnet-5-5", "plain", "anthropic/claude-sonnet-5.5"] {
        let answer = ask(
            Caller::Chat.path(),
            &Caller::Chat.request(name, "Hello", false),
        );
        assert_eq!(answer.status(), 200, "{name}: {}", answer.text());
        assert_eq!(answer.header("x-bardo-provider"), Some("direct/anthropic"));
    }
    sandbox.fault("anthropic", &json!({ "kind": "status", "status": 500 }));
    let answer = ask(
        Caller::Chat.path(),
        &Caller::Chat.request("claude-sonnet-5-5", "Hello", false),
    );
    assert!(
        answer.status() >= 500,
        "{} {}",
        answer.status(),
        answer.text()
    );
    let openai = |entry: &Value| entry["service"] == "openai";
    assert!(
        !sandbox.journal().iter().any(openai),
        "{:#?}",
        sandbox.journal()
    );
}

/// A vendor that answers what it was asked and never with figures of its own.
fn vendor() -> Scripted {
    Scripted::start(|mut turn: Turn| {
        let stream = turn.got.text().contains(r#""stream":true"#);
        if turn.got.line.contains("/models") {
            return turn.json(
                r#"[{"id":"acme/chat-1","type":"chat","context_length":9000},{"id":"acme/draw","type":"image"}]"#,
            );
        }
        if stream {
            turn.stream_head();
            turn.chunk("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1,\"total_tokens\":4}}\n\ndata: [DONE]\n\n");
            return turn.end();
        }
        turn.json(r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}"#);
    })
}

#[test]
fn a_vendor_in_openai_format_is_served_by_its_name_in_every_dialect() {
    let vendor = vendor();
    let mistral = json!({ "provider": "mistral", "api_key": "mk", "base_url": vendor.at("/mistral/v1"),
        "models": ["mistral-large"] });
    let own = json!({ "provider": "openai_compatible", "name": "acme", "api_key": "ak",
        "base_url": vendor.at("/acme/api") });
    let gateway = Gateway::start(&config(&[mistral, own]));
    for caller in Caller::ALL {
        for (name, provider, path) in [
            (
                "mistral/mistral-large",
                "direct/mistral",
                "/mistral/v1/chat/completions",
            ),
            ("acme/anything", "direct/acme", "/acme/api/chat/completions"),
            (
                "direct/acme/anything",
                "direct/acme",
                "/acme/api/chat/completions",
            ),
            (
                "mistral-large",
                "direct/mistral",
                "/mistral/v1/chat/completions",
            ),
        ] {
            for stream in [false, true] {
                let body = caller.request(name, "Hello", stream);
                let answer = gateway.send(&Request::json(caller.path(), &body));
                assert_eq!(answer.status(), 200, "{name}: {}", answer.text());
                assert_eq!(answer.header("x-bardo-provider"), Some(provider));
                assert_eq!(answer.header("x-bardo-billed"), Some("no"));
                // What nobody published is said, and is not 0.
                assert_eq!(answer.header("x-bardo-price"), Some("unknown"));
                assert_eq!(answer.header("x-bardo-cost"), None);
                let got = vendor.got().pop().expect("a request");
                assert!(got.line.contains(path), "{}", got.line);
                let sent: Value = serde_json::from_slice(&got.body).expect("JSON");
                assert_eq!(sent["model"], name.rsplit('/').next().expect("a name"));
                if provider.ends_with("mistral") {
                    // It refuses what it does not know.
                    for member in ["stream_options", "max_completion_tokens", "seed"] {
                        assert_eq!(sent.get(member), None, "{caller:?} {sent}");
                    }
                }
            }
        }
    }
    let mut body = Caller::Chat.request("mistral-large", "Hello", true);
    body["stream_options"] = json!({ "include_usage": true });
    body["max_completion_tokens"] = json!(77);
    body["seed"] = json!(5);
    assert_eq!(
        gateway
            .send(&Request::json(Caller::Chat.path(), &body))
            .status(),
        200
    );
    let got = vendor.got().pop().expect("a request");
    let sent: Value = serde_json::from_slice(&got.body).expect("JSON");
    assert_eq!(
        (&sent["max_tokens"], &sent["random_seed"]),
        (&json!(77), &json!(5))
    );
    assert_eq!(sent.get("stream_options"), None, "{sent}");
}

/// The classes of the backends that a request for a private answer could go to.
fn private_answer(gateway: &Gateway, model: &str) -> Answer {
    let mut body = Caller::Chat.request(model, "Hello", false);
    body["bardo"] = json!({ "security_class": "private" });
    gateway.send(&Request::json("/v1/chat/completions", &body))
}

#[test]
fn nothing_private_goes_to_a_public_address_unless_its_owner_says_so() {
    let vendor = vendor();
    let at = vendor.at("/v1");
    let local = |more: Value| {
        let mut local = json!({ "base_url": at, "models": ["m"] });
        local
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("one").clone());
        let mut settings = config(&[]);
        settings["providers"]["local"] = local;
        settings
    };
    let key = |more: Value| {
        let mut key = json!({ "provider": "openai_compatible", "name": "acme", "base_url": at, "models": ["m"] });
        key.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("one").clone());
        config(&[key])
    };
    for (settings, status) in [
        (local(json!({})), 200),
        (local(json!({ "private": false })), 400),
        // Another vendor, wherever it is, keeps no more than its contract says.
        (key(json!({})), 400),
        (key(json!({ "private": true })), 200),
        // Addresses that are not asked at all.
        (local(json!({ "base_url": "http://192.0.2.1:9/v1" })), 400),
        (
            local(json!({ "base_url": "https://api.example.com/v1" })),
            400,
        ),
        (
            local(json!({ "base_url": "https://api.example.com/v1", "trusted_local": true })),
            400,
        ),
    ] {
        let before = vendor.got().len();
        let gateway = Gateway::start(&settings);
        for model in ["m", "bardo/auto"] {
            let answer = private_answer(&gateway, model);
            assert_eq!(answer.status(), status, "{settings}: {}", answer.text());
        }
        let asked = vendor.got().len() - before;
        assert_eq!(asked, if status == 200 { 2 } else { 0 }, "{settings}");
    }
    let public = Gateway::start(&local(json!({ "base_url": "https://api.example.com/v1" })));
    assert!(public.log().contains("private: true"), "{}", public.log());
    // With the owner's word it is chosen, though nobody is there.
    let settings = local(json!({ "base_url": format!("http://{}/v1", nobody()), "private": true }));
    assert_eq!(
        private_answer(&Gateway::start(&settings), "m").status(),
        502
    );
}

#[test]
fn a_request_on_an_own_key_says_what_it_costs_and_that_nobody_is_charged() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    for model in [
        "claude-sonnet-5-5",
        "gpt-5.5",
        "gemini-3-flash",
        "claude-haiku-5-5",
        "gpt-6.1-sol",
        "deepseek-v4-flash",
    ] {
        for caller in Caller::ALL {
            let body = caller.request(model, "Hello", false);
            let answer = gateway.send(&Request::json(caller.path(), &body));
            assert_eq!(answer.status(), 200, "{model}: {}", answer.text());
            let cost = header(&answer, "x-bardo-cost").to_owned();
            let (whole, micro) = cost.split_once('.').expect("decimal USD");
            assert!(
                micro.len() == 6 && whole.parse::<u64>().is_ok(),
                "{model}: {cost}"
            );
            assert_ne!(cost, "0.000000", "{model}");
            assert_eq!(header(&answer, "x-bardo-billed"), "no");
            assert_eq!(answer.header("x-bardo-price"), None);
            let id = header(&answer, "x-request-id");
            let receipt = gateway
                .send(&Request::get(&format!("/v1/receipts/{id}")))
                .json();
            assert_eq!(receipt["cost"]["provider_cost"], json!(cost), "{receipt}");
            assert_eq!(receipt["cost"]["charge"], "0.000000");
            assert_eq!(receipt["cost"]["billed"], false);
        }
    }
    let usage = gateway.send(&Request::get("/v1/usage")).json();
    assert_eq!(usage["total"]["unpriced_requests"], 0, "{usage}");
    assert_ne!(usage["total"]["direct_cost"], "0.000000", "{usage}");
}

#[test]
fn an_unknown_price_is_null_and_counted_and_never_zero() {
    let maker = vendor();
    let key = |models: &[&str]| {
        let mut key = direct("openai", &maker.at("/v1"), models);
        key["api"] = json!("chat");
        key
    };
    let mut free = key(&["free"]);
    free["price"] = json!({ "input_per_million": 0, "output_per_million": 0 });
    let gateway = Gateway::start(&config(&[key(&["m-chat", "gpt-4o"]), free]));
    let ask = |model: &str| {
        let body = Caller::Chat.request(model, "Hello", false);
        gateway.send(&Request::json(Caller::Chat.path(), &body))
    };
    let answer = ask("m-chat");
    assert_eq!(answer.header("x-bardo-cost"), None);
    assert_eq!(header(&answer, "x-bardo-price"), "unknown");
    let id = header(&answer, "x-request-id");
    let receipt = gateway
        .send(&Request::get(&format!("/v1/receipts/{id}")))
        .json();
    assert_eq!(receipt["cost"]["provider_cost"], Value::Null, "{receipt}");
    let usage = gateway.send(&Request::get("/v1/usage")).json();
    assert_eq!(usage["total"]["direct_cost"], Value::Null, "{usage}");
    assert_eq!(usage["total"]["unpriced_requests"], 1, "{usage}");
    let free = ask("free");
    assert_eq!(header(&free, "x-bardo-cost"), "0.000000", "zero is a price");
    ask("gpt-4o");
    let usage = gateway.send(&Request::get("/v1/usage")).json();
    let cost = |model: &str| {
        let rows = usage["data"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["model"] == model);
        row.unwrap_or_else(|| panic!("{model}: {usage}"))["direct_cost"].clone()
    };
    assert_eq!(cost("m-chat"), Value::Null);
    assert_eq!(cost("free"), "0.000000");
    assert_ne!(cost("gpt-4o"), "0.000000");
    assert_ne!(usage["total"]["direct_cost"], Value::Null, "{usage}");
    let metrics = Request::get("/metrics").send(gateway.admin).text();
    for line in [
        "bardo_unpriced_requests_total 1",
        "bardo_models_unpriced{provider=\"direct/openai\"} 1",
        "bardo_models_unpriced{provider=\"direct/openai#2\"} 0",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[test]
fn models_without_a_price_are_listed_by_the_command_line() {
    let folder = Folder::new();
    let key = direct("openai", "http://127.0.0.1:9/v1", &["m-chat", "gpt-5.5"]);
    let file = folder.write("config.yaml", &config(&[key]).to_string());
    let list = |more: &[&str]| {
        let mut command = command(&folder);
        command
            .args(["models", "list", "--json", "--config"])
            .arg(&file)
            .args(more);
        let ran = command.output().expect("it runs");
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        let lines = String::from_utf8(ran.stdout).expect("UTF-8");
        let rows = lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        rows.collect::<Vec<Value>>()
    };
    let ids = |rows: &[Value]| {
        rows.iter()
            .map(|row| row["id"].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&list(&["--unpriced"])), ["\"m-chat\""]);
    let all = list(&[]);
    assert_eq!(ids(&all)[2..], ["\"local/all-MiniLM-L6-v2\""], "{all:?}");
    let priced = all
        .iter()
        .find(|row| row["id"] == "gpt-5.5")
        .expect("a row");
    assert_eq!(
        priced["usd_per_million"],
        json!({ "input": "5.000000", "output": "30.000000" })
    );
}

#[test]
fn the_list_of_models_has_times_and_names_as_the_owner_wrote_them() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&config(&[
        direct(
            "anthropic",
            &sandbox.at("/anthropic"),
            &["claude-sonnet-5-5-20260928"],
        ),
        direct(
            "openai",
            &sandbox.at("/openai/v1"),
            &["text-embedding-3-small"],
        ),
    ]));
    let list = gateway.send(&Request::get("/v1/models")).json();
    let rows = list["data"].as_array().expect("rows");
    let ids: Vec<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
    let dated = "claude-sonnet-5-5-20260928";
    let built_in = "local/all-MiniLM-L6-v2";
    assert_eq!(
        ids,
        [
            "claude-sonnet-5-5",
            "text-embedding-3-small",
            built_in,
            dated
        ]
    );
    for row in rows {
        assert!(
            row["created"].as_u64().is_some_and(|at| at > 1_600_000_000),
            "{row}"
        );
    }
    let one = gateway
        .send(&Request::get(&format!("/v1/models/{dated}")))
        .json();
    assert_eq!(one["id"], dated);
    let anthropic =
        Request::get("/v1/models/text-embedding-3-small").with("anthropic-version", "2023-06-01");
    let one = gateway.send(&anthropic).json();
    assert_eq!(
        one["capabilities"]["image_input"]["supported"], false,
        "{one}"
    );
}

#[test]
fn a_provider_that_is_away_is_named_with_its_address_and_every_try_is_named() {
    let away = nobody();
    let broken = Scripted::start(|mut turn: Turn| turn.answer(503, "application/json", "{}"));
    let gateway = Gateway::start(&config(&[
        direct("openai", &broken.at("/v1"), &["m"]),
        direct("deepseek", &format!("http://{away}/v1"), &["m"]),
    ]));
    let body = Caller::Chat.request("m", "Hello", false);
    let answer = gateway.send(&Request::json(Caller::Chat.path(), &body));
    let told = answer.json()["error"]["message"]
        .as_str()
        .expect("words")
        .to_owned();
    assert!(
        told.contains("direct/openai (overloaded, status 503)"),
        "{told}"
    );
    assert!(told.contains("direct/deepseek (connection)"), "{told}");
    assert!(
        gateway.log().contains(&away.to_string()),
        "{}",
        gateway.log()
    );
    let only = Gateway::start(&config(&[direct(
        "deepseek",
        &format!("http://{away}/v1"),
        &["m"],
    )]));
    let answer = only.send(&Request::json(Caller::Chat.path(), &body));
    assert!(
        answer.text().contains(&away.to_string()),
        "{}",
        answer.text()
    );
}

#[test]
fn with_a_key_of_anthropic_alone_the_newest_models_are_chosen() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&config(&[direct(
        "anthropic",
        &sandbox.at("/anthropic"),
        &[],
    )]));
    for name in ["bardo/auto", "bardo/t1", "bardo/t2"] {
        let body = Caller::Anthropic.request(name, "Hello", false);
        let answer = gateway.send(&Request::json(Caller::Anthropic.path(), &body));
        assert_eq!(answer.status(), 200, "{name}: {}", answer.text());
        let model = header(&answer, "x-bardo-model");
        assert!(model.ends_with("-5-5"), "{name}: {model}");
    }
}
