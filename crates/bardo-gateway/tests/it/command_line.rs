//! The verbs: what they print, and with which status they end (decisions §2).

use std::process::Output;

use serde_json::{Value, json};

use crate::rig::{Folder, command, config, direct};

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn run(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
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

fn good() -> Value {
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
    assert_eq!(rows.len(), 1, "{}", ran.out);
    assert_eq!(rows[0]["id"], "gpt-5.5");
    assert_eq!(rows[0]["providers"], json!(["direct/openai"]));
}
