//! Answers to the same question in other words, on the built binary with its own model.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Folder, Gateway, Sandbox, command, makers, with};
use crate::sse::Caller;

/// The model has all the time that a busy machine needs, and no hit is audited.
fn config(sandbox: &Sandbox, semantic: Value) -> Value {
    let mut all =
        json!({ "deadline": "30s", "first_audits": 0, "audit_share": 0, "baseline_share": 0 });
    for (name, value) in semantic.as_object().into_iter().flatten() {
        all[name] = value.clone();
    }
    with(makers(sandbox), "cache", json!({ "semantic": all }))
}

fn ask(gateway: &Gateway, caller: Caller, text: &str, stream: bool) -> Answer {
    let body = caller.request("gpt-5.5", text, stream).to_string();
    let request = Request::post(caller.path(), body).with("x-bardo-cache", "semantic");
    gateway.send(&request.with("x-bardo-domain", "support"))
}

fn explained(gateway: &Gateway, text: &str, json: bool) -> String {
    let mut body = Caller::Chat.request("gpt-5.5", text, false);
    body["bardo"] = json!({ "cache": "semantic", "domain": "support" });
    let folder = Folder::new();
    let file = folder.write("request.json", &body.to_string());
    let url = format!("http://{}", gateway.address);
    let mut verb = command(&gateway.folder);
    verb.args(["cache", "explain", "--url", &url]).arg(file);
    if json {
        verb.arg("--json");
    }
    let done = verb.output().expect("the binary runs");
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{error}");
    String::from_utf8(done.stdout).expect("text")
}

#[test]
fn the_two_requests_of_the_documentation_show_a_hit_in_the_sandbox() {
    let folder = Folder::new();
    let mut serve = command(&folder);
    serve.args(["serve", "--sandbox", "--fast"]);
    let gateway = Gateway::run(folder, serve, &[]);
    let key = gateway.ready["key"].as_str().expect("a key").to_owned();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/semantic-cache.md");
    let page = std::fs::read_to_string(page).expect("the page");
    for (question, place) in [
        ("How do I turn on night mode?", "miss"),
        ("How can I turn on night mode?", "semantic"),
    ] {
        assert!(page.contains(question), "{question}");
        let body = Caller::Chat.request("gpt-5.5", question, false).to_string();
        let request = Request::post(Caller::Chat.path(), body)
            .with("authorization", &format!("Bearer {key}"))
            .with("x-bardo-cache", "semantic")
            .with("x-bardo-domain", "support");
        let answer = gateway.send(&request);
        let reason = answer.header("x-bardo-cache-reason");
        assert_eq!(answer.header("x-bardo-cache"), Some(place), "{reason:?}");
    }
}

/// The answer to the first question, which nothing is stored for.
fn ask_first(gateway: &Gateway) -> Answer {
    let first = ask(gateway, Caller::Chat, "How do I turn on night mode?", false);
    let place = first.header("x-bardo-cache");
    assert_eq!(place, Some("miss"), "{}", first.text());
    first
}

#[test]
fn a_question_in_other_words_is_answered_and_its_opposite_is_refused_and_explained() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&config(&sandbox, json!({})));
    let cold = Request::get("/health/ready").send(gateway.admin).json();
    assert_eq!(cold["embedding"]["model"], "all-MiniLM-L6-v2", "{cold}");
    assert_eq!(cold["embedding"]["state"], "cold", "{cold}");
    let first = ask_first(&gateway);
    assert_eq!(first.header("x-bardo-cache-reason"), Some("no_entry"));
    let warm = Request::get("/health/ready").send(gateway.admin).json();
    assert_eq!(warm["embedding"]["state"], "warm", "{warm}");
    sandbox.forget();

    for stream in [false, true] {
        let same = ask(
            &gateway,
            Caller::Chat,
            "How can I enable night mode?",
            stream,
        );
        assert_eq!(
            same.header("x-bardo-cache"),
            Some("semantic"),
            "{}",
            same.text()
        );
        let similarity = same.header("x-bardo-cache-similarity").expect("a decimal");
        assert!(("0.900".."1.001").contains(&similarity), "{similarity}");
        assert_eq!(same.header("x-bardo-cost"), Some("0.000000"));
        assert!(same.header("x-bardo-savings") > Some("0.000000"));
        assert!(same.header("x-bardo-cache-age").is_some());
        assert_eq!(same.header("x-bardo-cache-reason"), None);
    }
    assert!(sandbox.journal().is_empty(), "no provider is called");

    let explained_words = explained(&gateway, "How do I turn off night mode?", false);
    assert!(
        explained_words.contains("hash      no_entry"),
        "{explained_words}"
    );
    assert!(
        explained_words.contains("semantic  guard: "),
        "{explained_words}"
    );
    assert!(
        explained_words.contains("the guard refuses its answer: "),
        "{explained_words}"
    );
    let told: Value =
        serde_json::from_str(&explained(&gateway, "How can I turn on night mode?", true))
            .expect("JSON");
    assert_eq!(told["semantic"]["result"], "hit", "{told}");
    let domain = told["tags"]["domain"].as_str().expect("a domain");
    let tags = format!("tags      domain {domain}\n");
    assert!(explained_words.ends_with(&tags), "{explained_words}");
    assert_eq!(told["semantic"]["threshold"], 0.9, "{told}");
    assert_eq!(told["semantic"]["evidence"]["serves"], true, "{told}");
    assert!(
        sandbox.journal().is_empty(),
        "an explanation calls no provider"
    );

    let opposite = ask(
        &gateway,
        Caller::Chat,
        "How do I turn off night mode?",
        false,
    );
    assert_eq!(opposite.header("x-bardo-cache"), Some("miss"));
    let reason = opposite.header("x-bardo-cache-reason").expect("it is told");
    assert!(reason.starts_with("guard: "), "{reason}");
    let id = opposite.header("x-bardo-request-id").expect("an id");
    let receipt = gateway
        .send(&Request::get(&format!("/v1/receipts/{id}")))
        .json();
    assert_eq!(receipt["cache_reason"], reason, "{receipt}");
    assert_eq!(sandbox.journal().len(), 1);

    let stats = Request::get("/admin/cache").send(gateway.admin).json();
    assert!(stats["semantic_hits"] == 2, "{stats}");
    let reference = &stats["semantic"]["domains"][0];
    assert_eq!(reference["domain"], "reference", "{stats}");
    assert!(reference["hits"] == 2, "{stats}");
    let own = gateway.send(&Request::get("/v1/cache")).json();
    assert!(own["semantic_hits"] == 2, "{own}");
    let metrics = Request::get("/metrics").send(gateway.admin).text();
    assert!(
        metrics.contains("bardo_cache_semantic_hits_total{domain=\"reference\"}"),
        "{metrics}"
    );
    assert!(metrics.contains("bardo_cache_semantic_stopped{domain=\"reference\"} 0"));

    // A flush takes the questions along.
    let flush = Request::json("/admin/cache/flush", &json!({ "all": true }));
    flush.send(gateway.admin);
    let again = ask(
        &gateway,
        Caller::Chat,
        "How can I enable night mode?",
        false,
    );
    assert_eq!(again.header("x-bardo-cache-reason"), Some("no_entry"));
}

#[test]
fn a_cache_that_is_off_or_waits_for_evidence_serves_nothing_and_says_so() {
    let sandbox = Sandbox::start();
    for (semantic, reason) in [
        (json!({ "enabled": false }), "semantic_off"),
        (json!({ "mode": "verified" }), "audit"),
    ] {
        let gateway = Gateway::start(&config(&sandbox, semantic));
        ask(
            &gateway,
            Caller::Chat,
            "How do I turn on night mode?",
            false,
        );
        let same = ask(
            &gateway,
            Caller::Chat,
            "How can I turn on night mode?",
            false,
        );
        assert_eq!(same.header("x-bardo-cache"), Some("miss"));
        assert_eq!(same.header("x-bardo-cache-reason"), Some(reason));
    }
}

#[test]
fn settings_that_mean_nothing_are_refused_with_their_name() {
    let sandbox = Sandbox::start();
    for (key, value) in [
        ("max_error", json!(0.9)),
        ("min_similarity", json!(1.5)),
        ("audit_share", json!(-0.1)),
        ("mode", json!("hopeful")),
        ("golem_domains", json!(["trade"])),
    ] {
        let folder = Folder::new();
        let file = folder.write(
            "c.json",
            &config(&sandbox, json!({ key: value })).to_string(),
        );
        let yaml = folder.write("c.yaml", &std::fs::read_to_string(file).expect("a file"));
        let done = command(&folder)
            .arg("check")
            .arg("--config")
            .arg(yaml)
            .output();
        let done = done.expect("the binary runs");
        let text = String::from_utf8_lossy(&done.stderr).into_owned()
            + &String::from_utf8_lossy(&done.stdout);
        assert!(!done.status.success(), "{key}: {text}");
        assert!(
            text.contains(&format!("cache.semantic.{key}")),
            "{key}: {text}"
        );
    }
}

/// Runs `check` and returns its notices.
fn notices(folder: &Folder, config: &Value) -> String {
    let file = folder.write("checked.json", &config.to_string());
    let yaml = file.with_extension("yaml");
    std::fs::rename(file, &yaml).expect("a name");
    let done = command(folder)
        .args(["check", "--json", "--config"])
        .arg(yaml)
        .output()
        .expect("the binary runs");
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{error}");
    let told: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    told["notices"].to_string()
}

#[test]
fn a_model_that_cannot_be_used_is_noted_by_check_and_costs_a_miss() {
    let sandbox = Sandbox::start();
    let folder = Folder::new();
    let model = json!({ "path": "/nowhere/mine.onnx", "dimension": 384 });
    let settings = config(&sandbox, json!({ "model": model }));
    let noted = notices(&folder, &settings);
    assert!(
        noted.contains("`cache.semantic.model` cannot be used") && noted.contains("mine.onnx: "),
        "{noted}"
    );
    let gateway = Gateway::start(&settings);
    let question = "How do I turn on night mode?";
    for _ in 0..2 {
        let answer = ask(&gateway, Caller::Chat, question, false);
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    let other = ask(
        &gateway,
        Caller::Chat,
        "How can I enable night mode?",
        false,
    );
    assert_eq!(other.header("x-bardo-cache"), Some("miss"));
    assert_eq!(other.header("x-bardo-cache-reason"), Some("failed"));
    let ready = Request::get("/health/ready").send(gateway.admin).json();
    assert_eq!(ready["embedding"]["model"], "mine", "{ready}");
    assert_eq!(ready["embedding"]["state"], "failed", "{ready}");
    let reason = ready["embedding"]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("/nowhere/mine.onnx: "), "{reason}");
    let stats = Request::get("/admin/cache").send(gateway.admin).json();
    assert!(
        stats["semantic"]["skipped"]["failed"].as_u64() > Some(0),
        "{stats}"
    );
}

#[cfg(feature = "onnx")]
#[test]
fn a_configured_model_answers_in_other_words_and_its_faults_are_noted() {
    let sandbox = Sandbox::start();
    let folder = Folder::new();
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../bardo-embed/model");
    let data = "all-MiniLM-L6-v2-int8.onnx.data";
    let beside = folder.write(data, "");
    std::fs::copy(source.join(data), &beside).expect("a copy");
    let path = beside.with_file_name("support.onnx");
    std::fs::copy(source.join("all-MiniLM-L6-v2-int8.onnx"), &path).expect("a copy");
    let settings = |members: Value| {
        let mut model = json!({ "path": path, "dimension": 384, "max_tokens": 256 });
        for (name, value) in members.as_object().into_iter().flatten() {
            model[name] = value.clone();
        }
        config(&sandbox, json!({ "model": model }))
    };
    assert_eq!(notices(&folder, &settings(json!({}))), "null");
    for (wrong, part) in [
        (
            json!({ "dimension": 768 }),
            "vectors of 384 numbers, and 768 are configured",
        ),
        (
            json!({ "tokenizer": "/nowhere/vocab.txt" }),
            "/nowhere/vocab.txt: ",
        ),
    ] {
        let noted = notices(&folder, &settings(wrong));
        assert!(noted.contains(part), "{noted}");
    }

    let gateway = Gateway::start(&settings(json!({ "prefix": "query: " })));
    ask_first(&gateway);
    let same = ask(
        &gateway,
        Caller::Chat,
        "How can I enable night mode?",
        false,
    );
    assert_eq!(
        same.header("x-bardo-cache"),
        Some("semantic"),
        "{}",
        same.text()
    );
    let ready = Request::get("/health/ready").send(gateway.admin).json();
    assert_eq!(ready["embedding"]["model"], "support", "{ready}");
    assert_eq!(ready["embedding"]["state"], "warm", "{ready}");
}
