//! What operators rely on beside money: the start, reloads, logs, and the verbs that look.

use bardo_store::servers::PostgresServer;
use serde_json::{Value, json};

use crate::command_line::{check_refuses, good};
use crate::http::Request;
use crate::rig::{Folder, Gateway, command, config, direct, eventually};
use crate::sse::Caller;

fn settings() -> Value {
    config(&[direct("openai", "http://127.0.0.1:9/v1", &["m"])])
}

fn with_store(url: &str) -> Value {
    let mut settings = settings();
    settings["store"] = json!({ "url": url });
    settings
}

fn serve(folder: &Folder, settings: &Value) -> std::process::Command {
    let file = folder.write("config.yaml", &settings.to_string());
    let mut command = command(folder);
    command.arg("serve").arg("--config").arg(file);
    command
}

/// What a verb prints and says, and its exit code.
fn run(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command(folder).args(arguments).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn a_database_that_can_never_work_ends_the_start() {
    let server = PostgresServer::start().expect("a database server");
    let url = server.database().expect("a database");
    let folder = Folder::new();
    let (before, _) = url.rsplit_once('/').expect("a name");
    let log = Gateway::refusal(
        &folder,
        serve(&folder, &with_store(&format!("{before}/nope"))),
    );
    assert!(
        log.contains("store_refused") && log.contains("nope"),
        "{log}"
    );

    // The schema is made by a first start.
    let first = Folder::new();
    let command = serve(&first, &with_store(&url));
    drop(Gateway::run(first, command, &[]));
    let newer = "INSERT INTO bardo.schema (version) VALUES (1000)";
    server.execute(&url, newer).expect("a newer schema");
    let log = Gateway::refusal(&folder, serve(&folder, &with_store(&url)));
    assert!(
        log.contains("store_refused") && log.contains("version 1000"),
        "{log}"
    );
    assert!(log.contains("newer version"), "{log}");
}

#[test]
fn a_server_whose_store_was_never_reached_is_not_ready_and_says_so_once() {
    let folder = Folder::new();
    let command = serve(&folder, &with_store("postgres://127.0.0.1:9/none"));
    let gateway = Gateway::run(folder, command, &[]);
    for address in [gateway.admin, gateway.address] {
        let health = Request::get("/health/ready").send(address);
        assert_eq!(health.status(), 503, "{}", health.text());
        assert_eq!(health.json()["status"], "store_not_reached");
    }
    assert_eq!(
        Request::get("/health/live").send(gateway.admin).status(),
        200
    );
    let log = gateway.log();
    let errors = log.lines().filter(|line| line.contains("ERROR")).count();
    assert_eq!(errors, 1, "{log}");
    assert!(log.contains("keys of `keys create` get 503"), "{log}");
}

#[test]
fn check_reads_the_url_of_the_store_as_serve_does() {
    let folder = Folder::new();
    let url = "postgres://u:secret@127.0.0.1:9/db?connection_limit=10";
    let file = folder.write("c.yaml", &with_store(url).to_string());
    let (code, _, errors) = run(
        &folder,
        &["check", "--config", file.to_str().expect("UTF-8")],
    );
    assert_eq!(code, Some(1), "{errors}");
    assert!(
        errors.contains("`store.url`") && errors.contains("connection_limit"),
        "{errors}"
    );
    assert!(!errors.contains("secret"), "{errors}");
}

#[test]
fn a_reload_names_the_settings_that_need_a_restart() {
    let gateway = Gateway::start(&settings());
    let none = gateway.status();
    assert_eq!(none["config"]["restart_required"], json!([]), "{none}");
    let mut newer = settings();
    newer["server"] = json!({ "workers": 3, "drain": "9s" });
    newer["limits"] = json!({ "instances": 2 });
    gateway.configure(&newer.to_string());
    gateway.signal("HUP");
    eventually("the settings are named", || {
        let status = gateway.status();
        (status["config"]["restart_required"] == json!(["server.workers", "limits.instances"]))
            .then_some(())
    });
    let log = gateway.log();
    assert!(
        log.contains("`server.workers` changed and is read only at the start"),
        "{log}"
    );
    assert!(!log.contains("server.drain"), "{log}");
}

#[test]
fn the_log_of_a_refusal_says_what_was_asked() {
    let gateway = Gateway::start(&settings());
    gateway.send(&Request::get("/v1/nowhere?key=CANARY"));
    let body = Caller::Chat.request("no\nsuch-model", "CANARY", false);
    gateway.send(&Request::json("/v1/chat/completions", &body));
    let log = eventually("both are logged", || {
        let log = gateway.log();
        log.contains("model_not_found").then_some(log)
    });
    for words in [
        "method=GET path=\"/v1/nowhere\"",
        "method=POST path=\"/v1/chat/completions\"",
        "such-model",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    assert!(
        !log.contains("CANARY") && !log.contains("no\nsuch"),
        "{log}"
    );
}

#[test]
fn the_last_line_of_the_log_says_that_the_process_stopped() {
    let mut gateway = Gateway::start(&settings());
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    let log = gateway.log();
    let last = log.lines().last().unwrap_or_default();
    assert!(last.ends_with("stopped"), "{log}");
}

#[test]
fn every_usual_name_of_the_health_is_answered() {
    let gateway = Gateway::start(&settings());
    for path in ["/health/liveliness", "/health/readiness", "/health/ready"] {
        for address in [gateway.admin, gateway.address] {
            assert_eq!(Request::get(path).send(address).status(), 200, "{path}");
        }
    }
}

#[test]
fn help_is_a_verb_and_the_sandbox_is_looked_at_without_a_configuration() {
    let folder = Folder::new();
    for arguments in [&["help"][..], &["help", "serve"]] {
        let (code, out, errors) = run(&folder, arguments);
        assert_eq!(code, Some(0), "{errors}");
        assert!(out.contains("Usage"), "{out}");
    }
    let (code, out, errors) = run(&folder, &["check", "--sandbox"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(
        out.starts_with("ok:") && out.contains("openrouter"),
        "{out}"
    );
    let (code, out, errors) = run(&folder, &["config", "schema", "--hints"]);
    assert_eq!(code, Some(0), "{errors}");
    let schema: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(schema["properties"]["metadata"]["type"], "boolean");
    let (code, out, errors) = run(&folder, &["models", "list", "--sandbox"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(out.contains("gpt-5.5"), "{out}");
}

/// Without the lists of the simulated providers the verb chose another model than the server.
#[test]
fn the_verb_and_the_running_sandbox_choose_alike() {
    let folder = Folder::new();
    let mut command = command(&folder);
    command.args(["serve", "--sandbox", "--fast"]);
    let gateway = Gateway::run(folder, command, &[]);
    let key = gateway.ready["key"].as_str().expect("a key");
    let folder = Folder::new();
    let chosen = |arguments: &[&str]| {
        let verb = [&["route", "explain", "--json"], arguments].concat();
        let (code, out, errors) = run(&folder, &verb);
        assert_eq!(code, Some(0), "{errors}");
        let told: Value = serde_json::from_str(&out).expect("one object");
        let resolution = &told["resolution"];
        (resolution["model"].clone(), resolution["backend"].clone())
    };
    let url = format!("http://{}", gateway.address);
    assert_eq!(
        chosen(&["--sandbox"]),
        chosen(&["--url", &url, "--key", key])
    );
    // A name that the server does not know is not known to the verb either.
    let (code, _, errors) = run(
        &folder,
        &["route", "explain", "--sandbox", "--model", "gpt55"],
    );
    assert_eq!(code, Some(1), "{errors}");

    let (code, _, errors) = run(&folder, &["route", "explain", "--url", &url]);
    assert_eq!(code, Some(1));
    assert!(
        errors.contains("--key") && errors.contains("BARDO_KEY"),
        "{errors}"
    );
    let output = crate::rig::command(&folder)
        .args(["route", "explain", "--url", &url])
        .env("BARDO_KEY", key)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0));

    // A key of another start is not mended by `keys create`.
    let models = Request::get("/v1/models").with("x-api-key", "bardo_sk_old_0123456789abcdef");
    let refused = gateway.send(&models);
    assert_eq!(refused.status(), 401);
    assert!(
        refused.text().contains("printed when it started"),
        "{}",
        refused.text()
    );
}

#[test]
fn an_explanation_says_when_its_models_are_those_of_the_program() {
    let folder = Folder::new();
    let mut live = settings();
    live["catalog"] = json!({ "live": true });
    live["providers"]["direct"]["keys"][0]["models"] = json!(["gpt-*"]);
    let file = folder.write("c.yaml", &live.to_string());
    let file = file.to_str().expect("UTF-8");
    let verb = ["route", "explain", "--config", file, "--model", "gpt-5.5"];
    let (code, out, errors) = run(&folder, &verb);
    assert_eq!(code, Some(0), "{errors}");
    assert!(
        out.starts_with("Models and prices are from the list in this program"),
        "{out}"
    );
}

#[test]
fn addresses_are_checked_beside_other_mistakes_of_their_sections_and_each_once() {
    let mut settings = good();
    settings["store"] = json!({ "url": "mysql://db" });
    settings["limits"] = json!({ "redis_url": "rediss://r:6379", "requests_per_minute": -1 });
    settings["providers"]["local"] = json!({ "base_url": "ftp://x", "modls": ["m"] });
    let error = check_refuses(&settings);
    for words in [
        "`store.url`",
        "`limits.redis_url`",
        "`limits.requests_per_minute`: must be a whole number of 0 or more, not `-1`",
        "`providers.local.base_url`",
        "unknown key `modls`",
    ] {
        assert_eq!(error.matches(words).count(), 1, "{words}: {error}");
    }
}
