//! Tools behind the proxy: what they get, and how they end.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::rig::{KEY, command};
use crate::seller::{self, ScriptedSeller};

fn run(seller: &ScriptedSeller, flags: &[&str], tool: &[&str]) -> (Command, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let mut run = command(home.path());
    run.args([
        "run",
        "--endpoint",
        &format!("http://127.0.0.1:{}", seller.port),
    ]);
    run.args(flags).arg("--").args(tool);
    (run, home)
}

fn output(seller: &ScriptedSeller, flags: &[&str], tool: &[&str]) -> Output {
    let (mut run, _home) = run(seller, flags, tool);
    run.output().unwrap()
}

#[test]
fn a_tool_gets_the_addresses_and_no_secret_of_the_wallet() {
    let seller = seller::honest();
    let (mut run, _home) = run(&seller, &[], &["env"]);
    run.env("BARDO_INFERENCE_PASSPHRASE_FILE", "/nonexistent")
        .env("ANTHROPIC_API_KEY", "sk-ant-own")
        .env("OTHER", "kept");
    let output = run.output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let told = String::from_utf8(output.stdout).unwrap();
    for name in [
        "ANTHROPIC_BASE_URL=http://127.0.0.1:",
        "ANTHROPIC_AUTH_TOKEN=bardo-local-",
        "OPENAI_BASE_URL=http://127.0.0.1:",
        "OPENAI_API_KEY=bardo-local-",
        "OTHER=kept",
    ] {
        assert!(told.contains(name), "{name}: {told}");
    }
    for secret in [
        KEY,
        "BARDO_INFERENCE_KEY",
        "BARDO_INFERENCE_PASSPHRASE_FILE",
        "sk-ant-own",
    ] {
        assert!(!told.contains(secret), "{secret}");
    }
}

#[test]
fn a_tool_pays_through_the_proxy_and_the_summary_says_so() {
    let seller = seller::honest();
    let folder = tempfile::tempdir().unwrap();
    let status = folder.path().join("status");
    let script = r#"exec 3<>"/dev/tcp/127.0.0.1/${OPENAI_BASE_URL//[!0-9]/}""#;
    // The port is the digits behind the last colon.
    let script = script.replace("${OPENAI_BASE_URL//[!0-9]/}", "$port");
    let script = format!(
        r#"port=${{ANTHROPIC_BASE_URL##*:}}; {script}; printf 'POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:%s\r\nauthorization: Bearer %s\r\ncontent-length: 13\r\nconnection: close\r\n\r\n{{"model":"m"}}' "$port" "$OPENAI_API_KEY" >&3; cat <&3"#
    );
    let flags = ["--status", status.to_str().unwrap()];
    let output = output(&seller, &flags, &["bash", "-c", &script]);
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.contains("Hello!"), "{answer}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("spent 0.003660/5.000000 USD in 1 payment; today 0.003660 of 10.000000 USD"),
        "{told}"
    );
    let line = std::fs::read_to_string(status).unwrap();
    assert_eq!(line, "0.003660/5.000000 USD in 1 payment\n");
}

#[test]
fn exit_codes_are_the_tools() {
    let seller = seller::honest();
    for (tool, code) in [
        (&["sh", "-c", "exit 7"][..], 7),
        (&["sh", "-c", "kill -KILL $$"], 137),
        (&["no-such-tool-here"], 127),
        (&["/"], 126),
    ] {
        assert_eq!(
            output(&seller, &[], tool).status.code(),
            Some(code),
            "{tool:?}"
        );
    }
}

#[test]
fn signals_reach_the_tool_and_its_answer_counts() {
    let seller = seller::honest();
    for (signal, name, code) in [
        (Signal::SIGTERM, "TERM", 41),
        (Signal::SIGINT, "INT", 42),
        (Signal::SIGHUP, "HUP", 43),
    ] {
        let script = format!("trap 'exit {code}' {name}; echo ready; while :; do sleep 0.05; done");
        let (mut run, _home) = run(&seller, &[], &["sh", "-c", &script]);
        let mut child = run
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{name}");
    }
}

#[test]
fn a_proxy_without_endpoint_or_wallet_does_not_start_a_tool() {
    let home = tempfile::tempdir().unwrap();
    let run = |change: fn(&mut Command)| {
        let mut run = command(home.path());
        change(&mut run);
        run.args(["run", "--", "echo", "started"]).output().unwrap()
    };
    let no_endpoint = run(|_| {});
    let no_wallet = run(|run| {
        run.env_remove("BARDO_INFERENCE_KEY")
            .env("BARDO_INFERENCE_ENDPOINT", "https://seller.example");
    });
    for (output, told) in [(no_endpoint, "--endpoint"), (no_wallet, "wallet new")] {
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(told), "{text}");
    }
}
