//! Wallets on the disk, their balance, and the doctor.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::rig::{ADDRESS, KEY, command};
use crate::seller::{self, ScriptedSeller, SellerReply};

fn with_passphrase(home: &Path) -> Command {
    let file = home.join("passphrase");
    std::fs::write(&file, "correct horse\n").unwrap();
    let mut command = command(home);
    command
        .env_remove("BARDO_INFERENCE_KEY")
        .env("BARDO_INFERENCE_PASSPHRASE_FILE", file);
    command
}

fn text(output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    told + &String::from_utf8_lossy(&output.stderr)
}

fn import(home: &Path, key: &str) -> Output {
    let mut import = with_passphrase(home);
    import.args(["wallet", "import"]).stdin(Stdio::piped());
    let mut child = import
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(key.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_wallet_is_stored_for_its_owner_alone_and_never_replaced() {
    let home = tempfile::tempdir().unwrap();
    let made = import(home.path(), KEY);
    assert!(made.status.success(), "{}", text(&made));
    assert_eq!(String::from_utf8_lossy(&made.stdout).trim(), ADDRESS);
    let file = home.path().join(".config/bardo-inference/wallet.json");
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let stored = std::fs::read_to_string(&file).unwrap();
    assert!(!stored.contains(KEY.trim_start_matches("0x")));
    let again = with_passphrase(home.path())
        .args(["wallet", "new"])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(
        text(&again).contains("there is a wallet already"),
        "{}",
        text(&again)
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), stored);
    // A wallet that others can read is not opened.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut run = with_passphrase(home.path());
    let refused = run
        .args(["run", "--endpoint", "https://x.example", "--", "true"])
        .output()
        .unwrap();
    assert!(text(&refused).contains("chmod 600"), "{}", text(&refused));
}

#[test]
fn a_wrong_key_or_passphrase_is_refused_without_showing_it() {
    let home = tempfile::tempdir().unwrap();
    let wrong = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690";
    let refused = import(home.path(), wrong);
    assert_eq!(refused.status.code(), Some(2));
    assert!(!text(&refused).contains(wrong), "{}", text(&refused));
    assert!(import(home.path(), KEY).status.success());
    let mut run = with_passphrase(home.path());
    std::fs::write(home.path().join("passphrase"), "wrong").unwrap();
    let refused = run
        .args(["run", "--endpoint", "https://x.example", "--", "true"])
        .output()
        .unwrap();
    assert!(
        text(&refused).contains("the passphrase is wrong"),
        "{}",
        text(&refused)
    );
}

/// A JSON-RPC server of Base: 12.345678 USDC and 0.5 ETH.
fn chain() -> ScriptedSeller {
    ScriptedSeller::new(|request| {
        let result = match request.json()["method"].as_str() {
            Some("eth_chainId") => "0x2105",
            Some("eth_getBalance") => "0x6f05b59d3b20000",
            _ => "0xbc614e",
        };
        SellerReply::json(200, &json!({ "jsonrpc": "2.0", "id": 1, "result": result }))
    })
}

#[test]
fn a_balance_needs_no_passphrase() {
    let chain = chain();
    let home = tempfile::tempdir().unwrap();
    assert!(import(home.path(), KEY).status.success());
    let mut balance = command(home.path());
    balance.env_remove("BARDO_INFERENCE_KEY");
    let rpc = format!("http://127.0.0.1:{}", chain.port);
    let told = balance
        .args(["wallet", "balance", "--rpc", &rpc])
        .output()
        .unwrap();
    let told = text(&told);
    assert!(
        told.contains("12.345678 USDC and 0.500000000000000000 ETH on base"),
        "{told}"
    );
    assert!(
        told.to_lowercase().contains(&ADDRESS.to_lowercase()),
        "{told}"
    );
}

fn doctor(seller: &ScriptedSeller, flags: &[&str]) -> (Option<i32>, Value) {
    let chain = chain();
    let home = tempfile::tempdir().unwrap();
    let mut doctor = command(home.path());
    let (endpoint, rpc) = (seller.port, chain.port);
    doctor.args([
        "doctor",
        "--json",
        "--endpoint",
        &format!("http://127.0.0.1:{endpoint}"),
    ]);
    doctor
        .args(["--rpc", &format!("http://127.0.0.1:{rpc}")])
        .args(flags);
    let output = doctor.output().unwrap();
    let told =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    (output.status.code(), told)
}

fn result(told: &Value, check: &str) -> Value {
    let findings = told["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["check"] == check);
    found.unwrap_or_else(|| panic!("no {check}: {told}"))["result"].clone()
}

#[test]
fn the_doctor_finds_nothing_where_a_session_can_pay() {
    let seller = seller::honest();
    let (code, told) = doctor(&seller, &[]);
    assert_eq!(code, Some(0), "{told}");
    for check in ["wallet", "rpc", "permit2", "balance", "endpoint", "day"] {
        assert_eq!(result(&told, check), "ok", "{check}: {told}");
    }
    assert!(seller.payments().is_empty(), "a check costs nothing");
}

#[test]
fn the_doctor_names_what_keeps_a_session_from_paying() {
    let (code, told) = doctor(&seller::honest(), &["--cap-request", "0.001"]);
    assert_eq!(code, Some(1));
    assert_eq!(result(&told, "endpoint"), "failed");
    let late = ScriptedSeller::new(|_| {
        SellerReply::json(200, &json!({})).with("date", "Sun, 06 Nov 1994 08:49:37 GMT")
    });
    let (code, told) = doctor(&late, &[]);
    assert_eq!((code, result(&told, "clock")), (Some(1), json!("failed")));
    let (code, told) = doctor(&seller::honest(), &["--network", "base-sepolia"]);
    assert_eq!((code, result(&told, "rpc")), (Some(1), json!("failed")));
    let (_, told) = doctor(&seller::honest(), &["--cap-request", "20"]);
    assert_eq!(result(&told, "balance"), "warning");
}

#[test]
fn the_doctor_shows_tools_and_hands_them_no_secret() {
    let home = tempfile::tempdir().expect("a folder");
    let tool = home.path().join("claude");
    std::fs::write(&tool, "#!/bin/sh\necho \"2.0 key=$BARDO_INFERENCE_KEY\"\n").expect("a tool");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let claude = home.path().join(".claude");
    std::fs::create_dir(&claude).expect("a folder");
    let settings = json!({ "env": { "ANTHROPIC_BASE_URL": "https://other.example" } });
    std::fs::write(claude.join("settings.json"), settings.to_string()).expect("settings");
    let mut doctor = command(home.path());
    doctor
        .env("PATH", home.path())
        .args(["doctor", "--rpc", "http://127.0.0.1:9"]);
    let told = text(&doctor.output().expect("it runs"));
    assert!(told.contains("2.0 key=\n"), "{told}");
    assert!(
        told.contains("claude-settings") && told.contains("ANTHROPIC_BASE_URL"),
        "{told}"
    );
    assert!(!told.contains(KEY.trim_start_matches("0x")), "{told}");
}
