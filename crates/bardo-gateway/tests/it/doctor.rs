//! `doctor` on the built binary.

use serde_json::{Value, json};

use crate::command_line::{Ran, run};
use crate::rig::{Folder, Gateway, Sandbox, command, config, direct, everything, with};

const SECRET: &str = "sk-live-CANARY0123456789";

/// The findings of `doctor --json`, and the exit code.
fn doctor(folder: &Folder, more: &[&str], environment: &[(&str, &str)]) -> (Vec<Value>, Ran) {
    let mut arguments = vec!["doctor", "--json"];
    arguments.extend(more);
    let ran = run(folder, &arguments, environment);
    let found = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    (found.collect(), ran)
}

#[track_caller]
fn finding<'f>(found: &'f [Value], check: &str, subject: &str) -> &'f Value {
    let mut all = found.iter();
    let is_meant = |one: &&Value| {
        one["check"] == check
            && one["subject"]
                .as_str()
                .is_some_and(|text| text.contains(subject))
    };
    all.find(is_meant)
        .unwrap_or_else(|| panic!("{check} {subject}: {found:#?}"))
}

#[test]
fn doctor_finds_faults_with_their_mending_line_and_never_prints_a_secret() {
    let sandbox = Sandbox::start();
    let folder = Folder::new();
    let mut settings = with(
        everything(&sandbox),
        "server",
        json!({ "listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0" }),
    );
    settings["providers"]["direct"]["keys"][0]["api_key"] = json!(SECRET);
    let file = folder.write("good.yaml", &settings.to_string());
    let file = file.to_str().expect("UTF-8");
    let (found, ran) = doctor(&folder, &["--config", file], &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    for provider in [
        "direct/openai",
        "direct/anthropic",
        "direct/google",
        "openrouter",
        "venice",
        "local",
    ] {
        assert_eq!(
            finding(&found, "provider", provider)["state"],
            "ok",
            "{}",
            ran.out
        );
    }
    for (check, subject) in [
        ("config", "good.yaml"),
        ("port", "clients"),
        ("store", "store"),
        ("proxy", ""),
    ] {
        assert_eq!(
            finding(&found, check, subject)["state"],
            "ok",
            "{}",
            ran.out
        );
    }
    assert!(
        ["ok", "unknown"].contains(&finding(&found, "clock", "")["state"].as_str().unwrap_or(""))
    );
    assert!(found.iter().any(|one| one["check"] == "client"));
    assert!(!ran.out.contains("CANARY") && !ran.err.contains("CANARY"));

    sandbox.fault("anthropic", &json!({ "kind": "status", "status": 401 }));
    let mut broken = settings.clone();
    broken["providers"]["direct"]["keys"][0]["base_url"] = json!("http://127.0.0.1:1/v1");
    broken["limits"] = json!({ "redis_url": "redis://:CANARY-password@127.0.0.1:1/0" });
    let file = folder.write("broken.yaml", &broken.to_string());
    let file = file.to_str().expect("UTF-8");
    let (found, ran) = doctor(
        &folder,
        &["--config", file],
        &[("HTTPS_PROXY", "http://u:CANARY@proxy:1")],
    );
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert_eq!(
        finding(&found, "provider", "direct/openai")["state"],
        "unknown",
        "{}",
        ran.out
    );
    assert_eq!(
        finding(&found, "provider", "direct/anthropic")["state"],
        "problem",
        "{}",
        ran.out
    );
    assert_eq!(
        finding(&found, "redis", "limits")["state"],
        "problem",
        "{}",
        ran.out
    );
    assert_eq!(
        finding(&found, "proxy", "HTTPS_PROXY")["state"],
        "warning",
        "{}",
        ran.out
    );
    for one in found.iter().filter(|one| one["state"] == "problem") {
        assert!(one["mend"].is_string(), "{one}");
    }
    assert!(
        !ran.out.contains("CANARY") && !ran.err.contains("CANARY"),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn doctor_without_a_file_names_the_one_of_the_gateway_that_runs() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let folder = Folder::new();
    let admin = gateway.admin.to_string();
    let here = [("BARDO_SERVER__ADMIN_LISTEN", &*admin)];
    let (found, ran) = doctor(&folder, &["--offline"], &here);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    let mend = finding(&found, "config", "no file")["mend"].to_string();
    assert!(mend.contains("doctor --config /"), "{mend}");

    let mut sandboxed = command(&folder);
    sandboxed.args(["serve", "--sandbox", "--fast"]);
    let gateway = Gateway::run(Folder::new(), sandboxed, &[]);
    let admin = gateway.admin.to_string();
    let here = [("BARDO_SERVER__ADMIN_LISTEN", &*admin)];
    let (found, ran) = doctor(&folder, &["--offline"], &here);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert_eq!(finding(&found, "config", "no file")["state"], "note");
}

#[test]
fn doctor_works_without_a_configuration_and_offline() {
    let folder = Folder::new();
    let (found, ran) = doctor(&folder, &[], &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert_eq!(
        finding(&found, "config", "no file")["mend"],
        "bardo-gateway init"
    );
    let settings = config(&[direct("openai", "http://127.0.0.1:1/v1", &["gpt-5.5"])]);
    let settings = with(
        settings,
        "server",
        json!({ "listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0" }),
    );
    folder.write("bardo.yaml", &settings.to_string());
    let (found, ran) = doctor(&folder, &["--offline"], &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(
        finding(&found, "provider", "direct/openai")["state"],
        "unknown"
    );
    let bad = run(&folder, &["doctor", "--config", "missing.yaml"], &[]);
    assert_eq!(bad.code, Some(1));
    assert!(
        bad.out.contains("missing.yaml") && bad.out.contains("-> "),
        "{}",
        bad.out
    );
}
