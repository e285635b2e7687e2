//! Stored answers, on the built binary.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::paying::till::{Key, Till, header, micro};
use crate::rig::{Gateway, Sandbox, command, config, direct, makers, with};
use crate::sse::Caller;

/// A scripted answer of some words.
fn words(mark: &str) -> String {
    let text = format!("{mark} and a few more words that fill this answer up to its end.");
    let steps = json!({ "steps": [{ "text": text }] });
    format!("Please. bardo-script: {steps}")
}

fn ask(gateway: &Gateway, caller: Caller, mark: &str, stream: bool, cache: &str) -> Answer {
    let body = caller.request("gpt-5.5", &words(mark), stream).to_string();
    let request = Request::post(caller.path(), body).with("x-bardo-cache", cache);
    gateway.send(&request)
}

fn chat(gateway: &Gateway, mark: &str, cache: &str) -> Answer {
    ask(gateway, Caller::ALL[0], mark, false, cache)
}

/// A verb of the command line beside the server.
fn verb(gateway: &Gateway, arguments: &[&str]) -> Value {
    let mut command = command(&gateway.folder);
    let done = command.arg("cache").args(arguments).arg("--json").output();
    let done = done.expect("the binary runs");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let error = String::from_utf8_lossy(&done.stderr);
    serde_json::from_str(text.trim()).unwrap_or_else(|_| panic!("{text}{error}"))
}

#[test]
fn the_second_identical_request_costs_nothing_and_says_what_it_saved() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    for caller in Caller::ALL {
        for stream in [false, true] {
            let mark = format!("{caller:?}-{stream}");
            let first = ask(&gateway, caller, &mark, stream, "default");
            assert_eq!(first.status(), 200, "{}", first.text());
            assert_eq!(first.header("x-bardo-cache"), Some("miss"), "{mark}");
            sandbox.forget();
            let second = ask(&gateway, caller, &mark, stream, "default");
            assert_eq!(second.header("x-bardo-cache"), Some("hash"), "{mark}");
            let age = second.header("x-bardo-cache-age").expect("it is known");
            // In seconds; a busy machine may need some for the two requests.
            assert!(age.parse::<u64>().expect("a number") < 20, "{age}");
            assert_eq!(second.header("x-bardo-cost"), Some("0.000000"));
            let saved = second.header("x-bardo-savings").expect("it is known");
            assert!(saved > "0.000000", "{saved}");
            assert!(sandbox.journal().is_empty(), "no provider is called");
            let id = second.header("x-bardo-request-id").expect("an id");
            let receipt = gateway.send(&Request::get(&format!("/v1/receipts/{id}")));
            let receipt = receipt.json();
            assert_eq!(receipt["cache"], "hash", "{receipt}");
            assert_eq!(receipt["usage"]["output_tokens"], 0, "{receipt}");
            assert!(receipt["saved_usage"].is_object(), "{receipt}");
        }
    }
}

#[test]
fn agents_whose_names_are_long_or_not_ascii_do_not_share_answers() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let place = |agent: &str, in_header: bool| {
        let mut body = Caller::Chat.request("gpt-5.5", &words("apart"), false);
        body["bardo"] = json!({ "cache": "default" });
        let mut request = Request::json("/v1/chat/completions", &body);
        if in_header {
            request = request.with("x-bardo-golem-id", agent);
        } else {
            body["bardo"]["golem_id"] = json!(agent);
            request = Request::json("/v1/chat/completions", &body);
        }
        let answer = gateway.send(&request);
        let place = answer.header("x-bardo-cache");
        place.expect("each answer has it").to_owned()
    };
    let long = "a".repeat(128);
    for name in ["gölem-", &long] {
        let [one, other] = ["1", "2"].map(|end| format!("{name}{end}"));
        assert_eq!(place(&one, true), "miss", "{name}");
        assert_eq!(place(&other, true), "miss", "{name}");
        assert_eq!(place(&one, false), "hash", "{name}");
        assert_eq!(place(&other, false), "hash", "{name}");
    }
}

#[test]
fn the_usual_version_of_the_messages_api_is_the_same_request_as_in_chat() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let ask = |path: &str, version: Option<&str>| {
        let message = json!({ "role": "user", "content": words("version") });
        let body = json!({ "model": "gpt-5.5", "max_tokens": 300, "messages": [message] });
        let mut request = Request::json(path, &body).with("x-bardo-cache", "default");
        if let Some(version) = version {
            request = request.with("anthropic-version", version);
        }
        let answer = gateway.send(&request);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer.header("x-bardo-cache").map(str::to_owned)
    };
    let (miss, hash) = (Some("miss".to_owned()), Some("hash".to_owned()));
    assert_eq!(ask("/v1/chat/completions", None), miss);
    assert_eq!(ask("/v1/messages", Some("2023-06-01")), hash);
    assert_eq!(ask("/v1/messages", None), hash);
    assert_eq!(ask("/v1/messages", Some("2026-10-21")), miss);
}

#[test]
fn a_request_that_says_nothing_is_relayed_as_without_a_cache() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let body = Caller::ALL[0].request("gpt-5.5", &words("silent"), false);
    for _ in 0..2 {
        let answer = gateway.send(&Request::json("/v1/chat/completions", &body));
        assert_eq!(answer.header("x-bardo-cache"), Some("bypass"));
    }
    assert_eq!(sandbox.journal().len(), 2);
}

#[test]
fn a_word_that_the_cache_does_not_know_and_a_missing_answer_are_refused() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    sandbox.forget();
    let wrong = chat(&gateway, "wrong", "nostore");
    assert_eq!(wrong.status(), 400);
    let missing = chat(&gateway, "missing", "only-if-cached");
    assert_eq!(missing.status(), 412);
    assert_eq!(missing.json()["error"]["bardo_code"], "not_cached");
    assert_eq!(missing.header("x-should-retry"), Some("false"));
    assert!(sandbox.journal().is_empty());
}

#[test]
fn identical_requests_on_all_workers_share_one_call() {
    let sandbox = Sandbox::start();
    let config = with(makers(&sandbox), "server", json!({ "workers": 2 }));
    let gateway = Arc::new(Gateway::start(&config));
    sandbox.forget();
    let threads: Vec<_> = (0..40)
        .map(|number| {
            let gateway = Arc::clone(&gateway);
            std::thread::spawn(move || {
                let caller = Caller::ALL[0];
                ask(&gateway, caller, "together", number % 2 == 0, "default")
            })
        })
        .collect();
    for thread in threads {
        let answer = thread.join().expect("an answer");
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_ne!(answer.header("x-bardo-cache"), Some("bypass"));
    }
    assert_eq!(sandbox.journal().len(), 1);
    let stats = Request::get("/admin/cache").send(gateway.admin).json();
    assert_eq!((&stats["hits"], &stats["misses"]), (&json!(39), &json!(1)));
    assert!(stats["followed"].as_u64() <= Some(39), "{stats}");
}

#[test]
fn stored_answers_are_shown_and_removed_by_verbs_by_operators_and_by_their_account() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let fill = |mark: &str| {
        chat(&gateway, mark, "default");
        assert_eq!(
            chat(&gateway, mark, "default").header("x-bardo-cache"),
            Some("hash")
        );
    };
    fill("verb");
    let stats = verb(&gateway, &["stats"]);
    assert_eq!((&stats["entries"], &stats["hits"]), (&json!(1), &json!(1)));
    assert_eq!(verb(&gateway, &["flush", "--all"])["flushed"], 1);
    assert_eq!(verb(&gateway, &["stats"])["entries"], 0);

    fill("operator");
    let flush = |order: Value| Request::json("/admin/cache/flush", &order).send(gateway.admin);
    assert_eq!(flush(json!({})).status(), 400);
    let unknown = flush(json!({ "account": "nobody" }));
    assert_eq!(unknown.status(), 404, "{}", unknown.text());
    assert_eq!(flush(json!({ "all": true })).json()["flushed"], 1);

    fill("account");
    let own = gateway.send(&Request::get("/v1/cache")).json();
    assert_eq!(own["entries"], 1, "{own}");
    let removed = gateway.send(&Request::get("/v1/cache").method("DELETE"));
    assert_eq!(removed.json()["flushed"], 1, "{}", removed.text());
    assert_eq!(
        chat(&gateway, "account", "default").header("x-bardo-cache"),
        Some("miss")
    );

    let metrics = Request::get("/metrics").send(gateway.admin).text();
    assert!(
        metrics.contains("bardo_cache_events_total{event=\"hit\"} 3"),
        "{metrics}"
    );
}

#[test]
fn a_removal_with_a_wrong_parameter_is_refused_and_every_removal_counts_as_a_request() {
    let sandbox = Sandbox::start();
    let till = Till::new(makers(&sandbox));
    let gateway = till.open();
    let key = till.key(&["--deposit-usd", "5", "--rpm", "4"]);
    let delete = |query: &str| {
        let path = format!("/v1/cache{query}");
        gateway.send(&key.get(&path).method("DELETE"))
    };
    let mut body = Caller::Chat.request("gpt-5.5", &words("kept"), false);
    body["bardo"] = json!({ "cache": "default" });
    let answer = gateway.send(&key.ask(Caller::Chat, &body));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    for query in ["?agnet=g1", "?market=false", "?agent="] {
        let refused = delete(query);
        assert_eq!(refused.status(), 400, "{query}: {}", refused.text());
        let error = &refused.json()["error"];
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains("`playbook`"), "{query}: {message}");
        assert!(query.contains(error["param"].as_str().expect("a name")));
    }
    assert_eq!(delete("").json()["flushed"], 1);
    let statuses: Vec<u16> = (0..4).map(|_| delete("").status()).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
}

#[test]
fn a_reload_that_changes_answers_and_one_that_turns_the_cache_off_are_obeyed() {
    let sandbox = Sandbox::start();
    let config = makers(&sandbox);
    let gateway = Gateway::start(&config);
    chat(&gateway, "reload", "default");
    let cached = |expected: &str| {
        crate::rig::eventually(expected, || {
            let answer = chat(&gateway, "reload", "default");
            (answer.header("x-bardo-cache") == Some(expected)).then_some(())
        });
    };
    cached("hash");
    let off = with(config, "cache", json!({ "hash": { "enabled": false } }));
    gateway.configure(&off.to_string());
    cached("bypass");
}

#[test]
fn a_flush_of_an_account_takes_the_id_of_a_key_and_refuses_unknown_names() {
    const UNKNOWN: &str = "no key or account has the id `acct_nope`";
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let run = |arguments: &[&str]| {
        let done = command(&gateway.folder).args(arguments).output();
        let done = done.expect("the binary runs");
        let [out, err] =
            [done.stdout, done.stderr].map(|text| String::from_utf8(text).expect("UTF-8"));
        (done.status.success(), out, err)
    };
    let (created, key, error) = run(&["keys", "create", "--json"]);
    assert!(created, "{error}");
    let key: Value = serde_json::from_str(&key).expect("JSON");
    let text = |member: &str| key[member].as_str().expect("text");
    let (id, account) = (text("id"), text("account"));
    let fill = || {
        let body = Caller::Chat.request("gpt-5.5", &words("own"), false);
        let request = Request::post(Caller::Chat.path(), body.to_string());
        let request = request.with("x-bardo-cache", "default");
        let bearer = format!("Bearer {}", text("key"));
        let answer = gateway.send(&request.with("authorization", &bearer));
        assert_eq!(answer.status(), 200, "{}", answer.text());
    };
    let flush = |name: &str| {
        let order = json!({ "account": name });
        Request::json("/admin/cache/flush", &order).send(gateway.admin)
    };
    for name in [id, account] {
        fill();
        let stats = verb(&gateway, &["stats", "--account", name]);
        assert_eq!(
            (&stats["account"], &stats["entries"]),
            (&json!(account), &json!(1))
        );
        let removed = verb(&gateway, &["flush", "--account", name]);
        assert_eq!(removed["flushed"], 1, "{removed}");
        fill();
        let page = Request::get(&format!("/admin/cache/{name}")).send(gateway.admin);
        assert_eq!(page.json()["entries"], 1, "{}", page.text());
        assert_eq!(flush(name).json()["flushed"], 1);
    }
    for verb in ["stats", "flush"] {
        let (worked, out, error) = run(&["cache", verb, "--account", "acct_nope"]);
        assert!(!worked, "{out}");
        assert!(error.contains(UNKNOWN), "{error}");
    }
    for refused in [
        flush("acct_nope"),
        Request::get("/admin/cache/acct_nope").send(gateway.admin),
    ] {
        assert_eq!(refused.status(), 404, "{}", refused.text());
        assert!(refused.text().contains(UNKNOWN), "{}", refused.text());
    }
}

#[test]
fn header_receipt_verb_and_page_agree_on_hits_misses_and_savings() {
    let sandbox = Sandbox::start();
    let upstream = direct("openai", &sandbox.at("/openai/v1"), &["gpt-5.5"]);
    let mut upstream = upstream;
    upstream["bill"] = json!(true);
    let till = Till::new(config(&[upstream]));
    let gateway = till.open();
    let key = till.rich("5");
    let (mut hits, mut misses, mut saved) = (0, 0, 0);
    for (mark, stream, cache) in [
        ("one", false, "default"),
        ("one", false, "default"),
        ("one", true, "default"),
        ("one", false, "no-cache"),
        ("two", false, "only-if-cached"),
        ("one", false, "only-if-cached"),
        ("two", true, "default"),
        ("two", true, "default"),
        ("two", false, "no-store"),
    ] {
        let place = format!("{mark} {stream} {cache}");
        let body = Caller::Chat.request("gpt-5.5", &words(mark), stream);
        let request = Request::json(Caller::Chat.path(), &body).with("x-bardo-cache", cache);
        let answer = gateway.send(&key.sign(request));
        if answer.status() == 412 {
            misses += 1;
            continue;
        }
        assert_eq!(answer.status(), 200, "{place}: {}", answer.text());
        let id = header(&answer, "x-bardo-request-id");
        let receipt = gateway.send(&key.get(&format!("/v1/receipts/{id}"))).json();
        match header(&answer, "x-bardo-cache") {
            "hash" => {
                hits += 1;
                let of_receipt = receipt["cost"]["savings"].as_str().expect("it is known");
                if let Some(of_header) = answer.header("x-bardo-savings") {
                    assert_eq!(of_header, of_receipt, "{place}");
                }
                saved += micro(of_receipt);
            }
            "miss" => misses += 1,
            other => assert_eq!(other, "bypass", "{place}"),
        }
        let shown = gateway.send(&key.get("/v1/cache")).json();
        assert_eq!(
            (&shown["hits"], &shown["misses"]),
            (&json!(hits), &json!(misses)),
            "{place}"
        );
    }
    let all = till.one(&["cache", "stats"]);
    assert_eq!((hits, misses), (4, 4), "{all}");
    assert!(saved > 0);
    let shown = till.one(&["cache", "stats", "--account", &key.id]);
    assert_eq!(shown["hit_rate"], 0.5);
    let all = till.one(&["cache", "stats"]);
    for figures in [&shown, &all, &gateway.send(&key.get("/v1/cache")).json()] {
        assert_eq!(
            micro(figures["saved_usd"].as_str().expect("an amount")),
            saved
        );
        assert_eq!(
            (&figures["hits"], &figures["misses"]),
            (&json!(hits), &json!(misses))
        );
    }
    let metrics = Request::get("/metrics").send(gateway.admin).text();
    for line in [
        format!("bardo_cache_saved_usd_micro_total {saved}"),
        "bardo_cache_events_total{event=\"hit\"} 4".to_owned(),
        "bardo_cache_events_total{event=\"miss\"} 4".to_owned(),
    ] {
        assert!(metrics.contains(&line), "{line}\n{metrics}");
    }
}

/// A gateway that bills a model, and a key of 5 USD, which is less than its longest answer costs.
fn short_of_money(sandbox: &Sandbox) -> (Till, Gateway, Key) {
    let mut upstream = direct("openai", &sandbox.at("/openai/v1"), &["gpt-5.5"]);
    upstream["bill"] = json!(true);
    let till = Till::new(config(&[upstream]));
    let gateway = till.open();
    let key = till.rich("5");
    (till, gateway, key)
}

#[test]
fn an_answer_that_ended_below_the_limit_of_a_small_balance_serves_a_large_one() {
    let sandbox = Sandbox::start();
    let (till, gateway, key) = short_of_money(&sandbox);
    let body = Caller::Chat.request("gpt-5.5", &words("small"), false);
    let send = || {
        let request = key
            .ask(Caller::Chat, &body)
            .with("x-bardo-cache", "default");
        gateway.send(&request)
    };
    let first = send();
    assert_eq!(header(&first, "x-bardo-cache"), "miss");
    assert_eq!(header(&first, "x-bardo-degraded"), "max_tokens");
    assert_eq!(header(&send(), "x-bardo-cache"), "hash");
    till.told(&[
        "balance",
        "deposit",
        "--key",
        &key.id,
        "--usd",
        "1000",
        "--reference",
        "r",
    ]);
    let rich = send();
    assert_eq!(header(&rich, "x-bardo-cache"), "hash");
    assert_eq!(rich.header("x-bardo-degraded"), None, "the answer is whole");
    assert_eq!(
        rich.json()["choices"][0]["message"]["content"],
        first.json()["choices"][0]["message"]["content"]
    );
}

#[test]
fn an_answer_that_the_balance_cut_is_not_stored_and_the_next_miss_says_so() {
    let sandbox = Sandbox::start();
    let (_till, gateway, key) = short_of_money(&sandbox);
    let cut =
        json!({ "steps": [{ "text": "Some words that end at a limit.", "stop": "max_tokens" }] });
    let mut thinks = Caller::Chat.request("gpt-5.5", &words("thinks"), false);
    thinks["reasoning_effort"] = json!("low");
    let cut = format!("Please. bardo-script: {cut}");
    for (body, reason) in [
        (Caller::Chat.request("gpt-5.5", &cut, false), "unfinished"),
        (thinks, "circumstances"),
    ] {
        for expected in ["no_entry", reason, reason] {
            let request = key
                .ask(Caller::Chat, &body)
                .with("x-bardo-cache", "default");
            let answer = gateway.send(&request);
            assert_eq!(answer.status(), 200, "{}", answer.text());
            assert_eq!(header(&answer, "x-bardo-cache"), "miss");
            assert_eq!(
                header(&answer, "x-bardo-cache-reason"),
                expected,
                "{reason}"
            );
        }
        let explained = key.sign(Request::json("/v1/cache/explain", &{
            let mut body = body.clone();
            body["bardo"] = json!({ "cache": "default" });
            body
        }));
        let explained = gateway.send(&explained).json();
        assert_eq!(explained["hash"]["result"], reason, "{explained}");
        let words = explained["hash"]["reason"].as_str().expect("a reason");
        assert!(words.contains("was not stored"), "{words}");
    }
}

#[test]
fn requests_that_never_have_a_stored_answer_are_not_counted_as_bypassed() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let vectors = json!({ "model": "local/all-MiniLM-L6-v2", "input": "Hello" });
    let vectors = Request::json("/v1/embeddings", &vectors);
    assert_eq!(gateway.send(&vectors).status(), 200);
    let count = json!({
        "model": "claude-sonnet-5-5", "messages": [{ "role": "user", "content": "Hello" }],
    });
    let count = Request::json("/v1/messages/count_tokens", &count);
    assert_eq!(gateway.send(&count).status(), 200);
    let stats = verb(&gateway, &["stats"]);
    assert!(
        stats["bypassed"]
            .as_object()
            .is_none_or(serde_json::Map::is_empty),
        "{stats}"
    );
    let only = vectors.with("x-bardo-cache", "only-if-cached");
    let refused = gateway.send(&only);
    assert_eq!(refused.status(), 412, "{}", refused.text());
    assert!(refused.text().contains("endpoint"), "{}", refused.text());
}

/// An explanation by the verb with options of its own.
fn explained(gateway: &Gateway, body: &Value, options: &[&str]) -> std::process::Output {
    let file = gateway.folder.write("request.json", &body.to_string());
    let mut command = command(&gateway.folder);
    let command = command.args(["cache", "explain", "--json"]).args(options);
    command.arg(file).output().expect("the binary runs")
}

#[test]
fn an_explanation_comes_from_the_server_of_the_configuration_or_of_the_data_folder() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let body = Caller::Chat.request("gpt-5.5", "Hello", false);
    let settings = json!({ "server": { "listen": gateway.address.to_string() } });
    let file = gateway.folder.write("other.yaml", &settings.to_string());
    let file = file.to_str().expect("text");
    let data = gateway.folder.0.join(".bardo");
    let data = data.to_str().expect("text");
    for options in [&[][..], &["--config", file], &["--data-dir", data]] {
        let done = explained(&gateway, &body, options);
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{options:?}: {error}");
        let told: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!(told["hash"]["result"], "not_asked", "{options:?}: {told}");
        // It has no member that could have decided.
        assert_eq!(told["hash"]["member"], Value::Null, "{told}");
    }
    let mut warm = body.clone();
    warm["temperature"] = json!(0.5);
    let told = gateway.send(&Request::json("/v1/cache/explain", &warm));
    assert_eq!(told.json()["hash"]["member"], "temperature");
    let nobody = explained(&gateway, &body, &["--url", "http://127.0.0.1:1"]);
    assert!(!nobody.status.success());
}

#[test]
fn a_request_without_a_model_that_answers_is_refused_by_an_explanation_too() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let unknown = Caller::Chat.request("nope", "Hello", false);
    let explain = |body: &Value| gateway.send(&Request::json("/v1/cache/explain", body));
    let (told, real) = (
        explain(&unknown),
        gateway.send(&Request::json("/v1/chat/completions", &unknown)),
    );
    assert_eq!(told.status(), 404, "{}", told.text());
    assert_eq!(told.json(), real.json());
    let vectors = json!({ "model": "local/all-MiniLM-L6-v2", "input": "Hello" });
    let told = explain(&vectors);
    assert_eq!(told.status(), 400, "{}", told.text());
    assert_eq!(told.json()["error"]["param"], "model");
    assert!(told.text().contains("embeddings"), "{}", told.text());
}
