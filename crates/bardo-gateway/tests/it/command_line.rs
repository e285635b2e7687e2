//! The verbs: what they print, and with which status they end.

use std::process::Output;

use serde_json::{Value, json};

use crate::http::Request;
use crate::rig::{Folder, Gateway, Sandbox, command, config, direct, eventually, everything};

pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn run(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
    let Output {
        status,
        stdout,
        stderr,
    } = command(folder)
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran {
        code: status.code(),
        out: text(stdout),
        err: text(stderr),
    }
}

const SECRET: &str = "sk-live-CANARY0123456789";

pub(crate) fn good() -> Value {
    let mut settings = config(&[direct("openai", "https://api.openai.com/v1", &["gpt-5.5"])]);
    settings["providers"]["direct"]["keys"][0]["api_key"] = json!(SECRET);
    settings["auth"] = json!({ "keys": [{ "id": "a", "key": "bardo_sk_a_CANARY0123456789" }] });
    settings
}

#[test]
fn wrong_usage_ends_with_two_and_help_with_zero() {
    let folder = Folder::new();
    for arguments in [
        &[][..],
        &["fly"],
        &["serve", "--nonsense"],
        &["serve", "--listen", "nowhere"],
        &["config"],
    ] {
        let ran = run(&folder, arguments, &[]);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["serve", "--help"], &["--version"]] {
        let ran = run(&folder, arguments, &[]);
        assert_eq!(ran.code, Some(0), "{arguments:?}");
        assert!(!ran.out.is_empty());
    }
}

#[test]
fn serving_without_a_provider_is_refused_with_both_ways_out() {
    let folder = Folder::new();
    for arguments in [&["serve"][..], &["serve", "--json"]] {
        let ran = run(&folder, arguments, &[]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.out.is_empty(), "{}", ran.out);
        for words in ["serve --sandbox", "--config", "ANTHROPIC_API_KEY"] {
            assert!(ran.err.contains(words), "{}", ran.err);
        }
    }
}

#[test]
fn an_address_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it is bound").to_string();
    let folder = Folder::new();
    let file = folder.write("c.yaml", &good().to_string());
    let file = file.to_str().expect("UTF-8");
    let ran = run(
        &folder,
        &["serve", "--config", file, "--listen", &address],
        &[],
    );
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains(&address), "{}", ran.err);
    for words in ["another program listens there", "--listen 127.0.0.1:"] {
        assert!(ran.err.contains(words), "{}", ran.err);
    }
}

#[test]
fn a_configuration_is_checked() {
    let folder = Folder::new();
    let file = folder.write("good.yaml", &good().to_string());
    let file = file.to_str().expect("UTF-8");
    let ran = run(&folder, &["check", "--config", file, "--json"], &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(
        told,
        json!({ "ok": true, "file": file, "providers": ["direct/openai"] })
    );
    let bad = [
        (json!({ "servr": {} }), "did you mean `server`?"),
        (
            json!({ "server": { "heartbeet": "1s" } }),
            "did you mean `heartbeat`?",
        ),
        (
            json!({ "server": { "heartbeat": "soon" } }),
            "server.heartbeat",
        ),
        (
            json!({ "server": { "max_body": "much" } }),
            "server.max_body",
        ),
        (
            json!({ "upstream": { "max_attempts": 0 } }),
            "upstream.max_attempts",
        ),
        (
            json!({ "server": { "admin_listen": "0.0.0.0:80" } }),
            "server.admin_listen",
        ),
        (
            json!({ "inference": { "provider_order": ["nobody"] } }),
            "nobody",
        ),
        (json!({ "providers": { "local": {} } }), "base_url"),
        (
            json!({ "providers": { "openrouter": { "api_key": "env:NOT_SET" } } }),
            "NOT_SET",
        ),
        (
            json!({ "providers": { "openrouter": { "api_key": "k", "base_url": "ftp://x" } } }),
            "ftp://x",
        ),
        (
            json!({ "providers": { "direct": { "keys": [{ "provider": "openay", "api_key": "k" }] } } }),
            "did you mean `openai`?",
        ),
    ];
    for (settings, words) in bad {
        let file = folder.write("bad.yaml", &settings.to_string());
        let file = file.to_str().expect("UTF-8");
        let ran = run(&folder, &["check", "--config", file], &[]);
        assert_eq!(ran.code, Some(1), "{settings}");
        assert!(ran.err.contains(words), "{settings}: {}", ran.err);
        assert!(ran.err.contains("bad.yaml"), "{settings}: {}", ran.err);
        assert!(ran.out.is_empty());
    }
    let ran = run(&folder, &["check", "--config", "missing.yaml"], &[]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("missing.yaml"));
}

/// Runs `check` on a file and answers its error.
#[track_caller]
pub(crate) fn check_refuses(settings: &Value) -> String {
    let folder = Folder::new();
    let file = folder.write("bad.yaml", &settings.to_string());
    let ran = run(
        &folder,
        &["check", "--config", file.to_str().expect("UTF-8")],
        &[],
    );
    assert_eq!(ran.code, Some(1), "{settings}: {}", ran.out);
    ran.err
}

/// Runs `check` on a file that is valid and answers its notices.
#[track_caller]
fn check_notes(settings: &Value) -> String {
    let folder = Folder::new();
    let file = folder.write("good.yaml", &settings.to_string());
    let file = file.to_str().expect("UTF-8");
    let ran = run(&folder, &["check", "--config", file, "--json"], &[]);
    assert_eq!(ran.code, Some(0), "{settings}: {}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).expect("JSON");
    told["notices"].to_string()
}

#[test]
fn what_serve_refuses_check_refuses() {
    let folder = Folder::new();
    let nothing = run(&folder, &["check"], &[]);
    assert_eq!(nothing.code, Some(1), "{}", nothing.out);
    assert!(nothing.err.contains("serve --sandbox"), "{}", nothing.err);
    // Keys of the environment count only without a file, which it says.
    let file = folder.write("empty.yaml", "server: {}\n");
    let file = file.to_str().expect("UTF-8");
    let ran = run(
        &folder,
        &["check", "--config", file],
        &[("OPENAI_API_KEY", "k")],
    );
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("empty.yaml") && ran.err.contains("environment"),
        "{}",
        ran.err
    );
    // An address for others needs a key, in the file or in the store.
    let mut public = config(&[direct("openai", "https://api.openai.com/v1", &["gpt-5.5"])]);
    public["server"] = json!({ "listen": "0.0.0.0:8402" });
    let error = check_refuses(&public);
    assert!(
        error.contains("0.0.0.0:8402") && error.contains("keys create"),
        "{error}"
    );
    let file = folder.write("public.yaml", &public.to_string());
    let file = file.to_str().expect("UTF-8");
    let made = run(&folder, &["keys", "create"], &[]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let ran = run(&folder, &["check", "--config", file], &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for (settings, words) in [
        (json!({ "store": { "url": "mysql://x" } }), "store.url"),
        (
            json!({ "limits": { "redis_url": "http://x" } }),
            "limits.redis_url",
        ),
        (
            json!({ "auth": { "privy": { "app_id": "a", "jwks_file": "missing.json" } } }),
            "missing.json",
        ),
    ] {
        let mut bad = good();
        for (section, value) in settings.as_object().expect("an object") {
            bad[section] = value.clone();
        }
        let error = check_refuses(&bad);
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn names_that_lead_nowhere_are_refused_or_noted() {
    let with = |inference: Value| {
        let mut settings = good();
        settings["inference"] = inference;
        settings
    };
    for (inference, words) in [
        (
            json!({ "aliases": { "a": "b", "b": "c", "c": "b" } }),
            "leads back to itself",
        ),
        (json!({ "aliases": { "a": "a" } }), "inference.aliases.a"),
        (
            json!({ "fallbacks": { "gpt-5.5": [] } }),
            "inference.fallbacks.gpt-5.5",
        ),
        (
            json!({ "fallbacks": { "gpt-5.5": ["gpt-5.5"] } }),
            "names `gpt-5.5` itself",
        ),
        // No live list can add a model here.
        (
            json!({ "fallbacks": { "gpt-5.5": ["gpt-5.55"] } }),
            "did you mean `gpt-5.5`?",
        ),
        (
            json!({ "aliases": { "fast": "gemini-3-flash" } }),
            "gemini-3-flash",
        ),
    ] {
        let error = check_refuses(&with(inference.clone()));
        assert!(error.contains(words), "{inference}: {error}");
    }
    let odd = check_notes(&with(json!({
        "aliases": { "mine": "gpt-5.5" },
        "fallbacks": {
            "gtp-5.5": ["gpt-5.5"],
            "nobody/gpt-5.5": ["gpt-5.5"],
            "gpt-5-5": ["mine"],
        },
    })));
    for words in [
        "`inference.fallbacks.gtp-5.5`: no configured backend is known to serve `gtp-5.5`, so its requests go to the fallbacks at once; did you mean `gpt-5.5`?",
        "`inference.fallbacks.nobody/gpt-5.5` can never match",
        "`inference.fallbacks.gpt-5-5` names `mine`, which is the same model by another name",
    ] {
        assert!(odd.contains(words), "{words}: {odd}");
    }
    let mut live = with(json!({
        "aliases": { "quick": "fast", "fast": "gpt-5.5" },
        "fallbacks": { "gpt-5.5": ["gemini-3-flash"] },
        "provider_order": ["venice", "direct"],
    }));
    live["catalog"] = json!({ "live": true });
    let notes = check_notes(&live);
    for words in [
        "inference.fallbacks.gpt-5.5",
        "`inference.provider_order` names `venice`",
    ] {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    assert!(!notes.contains("aliases"), "{notes}");
}

#[test]
fn an_alias_of_an_alias_is_the_model_at_the_end() {
    let sandbox = Sandbox::start();
    let mut settings = everything(&sandbox);
    settings["inference"] = json!({ "aliases": { "quick": "fast", "fast": "gpt-5.5" } });
    let gateway = Gateway::start(&settings);
    let body = json!({ "model": "quick", "messages": [{ "role": "user", "content": "Hello" }] });
    let answer = gateway.send(&Request::json("/v1/chat/completions", &body));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(answer.header("x-bardo-model"), Some("gpt-5.5"));
}

#[test]
fn all_missing_variables_and_files_are_named_at_once_with_their_settings() {
    let mut settings = good();
    settings["auth"]["keys"][0]["key"] = json!("env:ALICE_KEY");
    settings["providers"]["direct"]["keys"][0]["api_key"] = json!("file:no/such/key");
    settings["providers"]["venice"] = json!({ "api_key": "${VENICE}-x" });
    let error = check_refuses(&settings);
    for words in [
        "`auth.keys[0].key`: the environment variable `ALICE_KEY` is not set",
        "`providers.direct.keys[0].api_key`: cannot read the file no/such/key",
        "`providers.venice.api_key`: the environment variable `VENICE` is not set",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn all_settings_that_cannot_be_read_are_named_in_one_run() {
    let mut settings = good();
    settings["server"] = json!({ "listn": "127.0.0.1:1", "max_body": "10 MiB" });
    settings["providers"]["venice"] = json!({ "api_key": "os.environ/VENICE_API_KEY" });
    settings["providers"]["direct"]["keys"][0]["bil"] = json!(true);
    settings["inference"] = json!({ "spread": 20 });
    let error = check_refuses(&settings);
    for words in [
        "4 mistakes",
        "`providers.venice.api_key`: this is the form of LiteLLM",
        "`server`: unknown key `listn`; did you mean `listen`?",
        "`providers.direct.keys[0]`: unknown key `bil`; did you mean `bill`?",
        "`inference`: unknown key `spread`; did you mean `spread_pct`?",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
    // Wrong values hide no unknown setting behind them.
    let mut settings = good();
    settings["store"] = json!({ "durability": "much", "ulr": "sqlite" });
    settings["inference"] = json!({ "spread_pct": "zero", "tears": {} });
    let error = check_refuses(&settings);
    for words in ["`much`", "`ulr`", "must be a number", "`tears`"] {
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn an_address_without_a_port_or_a_port_alone_is_refused_with_the_line_that_works() {
    let folder = Folder::new();
    for (written, words) in [
        ("8405", "127.0.0.1:8405"),
        (":8405", "127.0.0.1:8405"),
        ("0.0.0.0", "0.0.0.0:8402"),
        ("localhost:8405", "127.0.0.1:8405"),
    ] {
        let ran = run(&folder, &["serve", "--listen", written], &[]);
        assert_eq!(ran.code, Some(2), "{written}");
        assert!(ran.err.contains(words), "{written}: {}", ran.err);
    }
}

#[test]
fn errors_are_json_where_json_is_wanted() {
    let folder = Folder::new();
    for (arguments, code, status) in [
        (&["serve", "--json"][..], "no_provider", 1),
        (
            &["check", "--json", "--config", "none.yaml"],
            "invalid_config",
            1,
        ),
        (&["keys", "revoke", "none", "--json"], "not_found", 1),
        (
            &["balance", "show", "--key", "none", "--json"],
            "not_found",
            1,
        ),
        (
            &["keys", "create", "--scope", "x=1", "--json"],
            "invalid_request",
            1,
        ),
        (&["keys", "fly", "--json"], "usage", 2),
        (&["serve", "--listen", "8405", "--json"], "usage", 2),
    ] {
        let ran = run(&folder, arguments, &[]);
        assert_eq!(ran.code, Some(status), "{arguments:?}");
        let last = ran.err.lines().last().unwrap_or_default();
        let told: Value = serde_json::from_str(last)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", ran.err));
        assert_eq!(told["error"]["code"], code, "{told}");
        let message = told["error"]["message"].as_str().unwrap_or_default();
        assert!(!message.is_empty(), "{told}");
        assert!(ran.out.is_empty(), "{}", ran.out);
    }
}

#[test]
fn shells_get_a_completion_script() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = run(&Folder::new(), &["completions", shell], &[]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(
            ran.out.contains("bardo-gateway") && ran.out.contains("reconcile"),
            "{shell}"
        );
    }
}

#[test]
fn a_start_says_which_key_is_refused_and_which_server_is_down() {
    let sandbox = Sandbox::start();
    sandbox.fault("openai", &json!({ "kind": "status", "status": 401 }));
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = closed.local_addr().expect("it is bound");
    drop(closed);
    let mut settings = config(&[direct("openai", &sandbox.at("/openai/v1"), &[])]);
    settings["catalog"] = json!({ "live": true });
    settings["providers"]["local"] = json!({ "base_url": format!("http://{address}/v1") });
    let gateway = Gateway::start(&settings);
    for words in [
        "the provider refused the API key (status 401)",
        &format!("cannot reach {address}"),
        "ollama serve",
    ] {
        eventually(words, || gateway.log().contains(words).then_some(()));
    }
}

#[test]
fn an_explanation_of_a_running_server_is_a_page_of_text() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let url = format!("http://{}", gateway.address);
    let ran = run(
        &Folder::new(),
        &["route", "explain", "--subsystem", "risk", "--url", &url],
        &[],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.starts_with("Request for bardo/auto"), "{}", ran.out);
    assert!(
        ran.out.lines().all(|line| line.chars().count() < 200),
        "{}",
        ran.out
    );
    let told = run(
        &Folder::new(),
        &[
            "route",
            "explain",
            "--subsystem",
            "risk",
            "--url",
            &url,
            "--json",
        ],
        &[],
    );
    let told: Value = serde_json::from_str(&told.out).expect("JSON");
    assert!(told["candidates"].is_array());
}

#[test]
fn a_configuration_is_found_where_it_may_be() {
    let folder = Folder::new();
    let providers = |run: &Ran| {
        let told: Value = serde_json::from_str(&run.out).expect("JSON");
        told["providers"].clone()
    };
    let arguments = ["check", "--json"];
    let ran = run(
        &folder,
        &arguments,
        &[("ANTHROPIC_API_KEY", "k"), ("GEMINI_API_KEY", "k")],
    );
    assert_eq!(
        providers(&ran),
        json!(["direct/anthropic", "direct/google"])
    );
    std::fs::create_dir(folder.0.join(".bardo")).expect("a folder");
    folder.write(
        ".bardo/config.yaml",
        r#"{"providers":{"venice":{"api_key":"k"}}}"#,
    );
    assert_eq!(providers(&run(&folder, &arguments, &[])), json!(["venice"]));
    folder.write("bardo.toml", "[providers.bankr]\napi_key = \"k\"\n");
    assert_eq!(providers(&run(&folder, &arguments, &[])), json!(["bankr"]));
    let named = folder.write(
        "other.yaml",
        r#"{"providers":{"openrouter":{"api_key":"k"}}}"#,
    );
    let named = named.to_str().expect("UTF-8");
    let ran = run(&folder, &arguments, &[("BARDO_CONFIG", named)]);
    assert_eq!(providers(&ran), json!(["openrouter"]));
}

#[test]
fn settings_are_shown_with_their_source_and_without_secrets() {
    let folder = Folder::new();
    let file = folder.write("good.yaml", &good().to_string());
    let file = file.to_str().expect("UTF-8");
    let environment = [
        ("BARDO_SERVER__HEARTBEAT", "7s"),
        ("BARDO_UPSTREAM__MAX_ATTEMPTS", "2"),
    ];
    let ran = run(
        &folder,
        &["config", "show", "--config", file, "--json"],
        &environment,
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!ran.out.contains("CANARY"), "{}", ran.out);
    let rows: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON per line"))
        .collect();
    let row = |key: &str| {
        let found = rows.iter().find(|row| row["key"] == key);
        found.unwrap_or_else(|| panic!("no {key} in {}", ran.out))
    };
    assert_eq!(row("server.heartbeat")["value"], "7s");
    assert_eq!(row("server.heartbeat")["source"], "environment");
    assert_eq!(row("upstream.max_attempts")["value"], 2);
    assert_eq!(row("server.max_body")["source"], "default");
    assert_eq!(
        row("providers.direct.keys.0.api_key")["value"],
        "[redacted]"
    );
    assert_eq!(row("providers.direct.keys.0.provider")["source"], file);
    // Nothing is hidden where nothing is set.
    assert_eq!(row("server.admin_token")["value"], "");
    assert_eq!(row("limits.redis_url")["value"], "");
    assert_eq!(row("store.url")["value"], "sqlite");
    let plain = run(&folder, &["config", "show", "--config", file], &environment);
    assert!(plain.out.contains("server.heartbeat = \"7s\"") && !plain.out.contains("CANARY"));
}

#[test]
fn the_schema_is_json_and_describes_every_section() {
    let ran = run(&Folder::new(), &["config", "schema"], &[]);
    assert_eq!(ran.code, Some(0));
    let schema: Value = serde_json::from_str(&ran.out).expect("JSON");
    for section in [
        "server",
        "upstream",
        "catalog",
        "auth",
        "providers",
        "inference",
    ] {
        let member = &schema["properties"][section];
        assert!(member.is_object(), "{section}");
    }
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn models_are_listed_with_who_serves_them() {
    let folder = Folder::new();
    let file = folder.write("good.yaml", &good().to_string());
    let file = file.to_str().expect("UTF-8");
    let ran = run(
        &folder,
        &["models", "list", "--config", file, "--json"],
        &[],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let rows: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON per line"))
        .collect();
    assert_eq!(rows.len(), 2, "{}", ran.out);
    assert_eq!(rows[0]["id"], "gpt-5.5");
    assert_eq!(rows[0]["providers"], json!(["direct/openai"]));
    assert_eq!(rows[1]["id"], "local/all-MiniLM-L6-v2");
    assert_eq!(rows[1]["providers"], json!(["built-in"]));
}
