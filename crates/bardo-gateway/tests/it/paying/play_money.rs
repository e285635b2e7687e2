//! Sandbox mode: a key with play money, backends that are billed, and nothing left behind.

use std::path::Path;

use serde_json::Value;

use crate::http::Request;
use crate::paying::till::{Done, Key, Stand, header, micro, run};
use crate::rig::{Folder, Gateway, command};
use crate::sse::Caller;

fn start() -> Gateway {
    let folder = Folder::new();
    let mut command = command(&folder);
    command.args(["serve", "--sandbox", "--fast"]);
    Gateway::run(folder, command, &[])
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    let text = value[name].as_str();
    text.unwrap_or_else(|| panic!("no {name} in {value}"))
}

#[test]
fn its_key_pays_for_every_billed_backend() {
    let gateway = start();
    assert_eq!(gateway.ready["sandbox"], true);
    let key = text(&gateway.ready, "key");
    let data = text(&gateway.ready, "data_dir");
    let sign = |request: Request| request.with("authorization", &format!("Bearer {key}"));
    let verb = |verb: &[&str]| -> Done { run(&[verb, &["--json", "--data-dir", data]].concat()) };
    let stand = || Stand::of(&verb(&["balance", "show", "--key", key]).lines[0]);
    assert_eq!(stand().available, 1_000_000_000);
    let mut spent = 0;
    for backend in ["openrouter", "venice", "bankr", "blockrun"] {
        for caller in Caller::ALL {
            for stream in [false, true] {
                let body = caller.request(&format!("{backend}/claude-sonnet-5-5"), "Hello", stream);
                let answer = gateway.send(&sign(Request::json(caller.path(), &body)));
                assert_eq!(
                    answer.status(),
                    200,
                    "{backend} {caller:?}: {}",
                    answer.text()
                );
                assert_eq!(header(&answer, "x-bardo-provider"), backend);
                let after = stand();
                assert_eq!(after.held, 0, "{backend} {caller:?} {stream}");
                assert!(after.spent > spent, "{backend} {caller:?} {stream}");
                if !stream {
                    assert_eq!(micro(header(&answer, "x-bardo-cost")), after.spent - spent);
                    assert_eq!(micro(header(&answer, "x-bardo-balance")), after.available);
                }
                spent = after.spent;
            }
        }
    }
    // Keys of makers are the operator's own.
    let body = Caller::Chat.request("gpt-5.5", "Hello", false);
    let answer = gateway.send(&sign(Request::json(Caller::Chat.path(), &body)));
    assert_eq!(header(&answer, "x-bardo-billed"), "no", "{}", answer.text());
    assert_eq!(stand().spent, spent);
    let verified = verb(&["balance", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn its_folder_is_there_while_it_runs_and_gone_afterwards() {
    for signal in ["TERM", "INT"] {
        let mut gateway = start();
        let data = text(&gateway.ready, "data_dir").to_owned();
        assert!(Path::new(&data).join("bardo.db").is_file(), "{data}");
        let made = run(&[
            "keys",
            "create",
            "--json",
            "--deposit-usd",
            "3",
            "--data-dir",
            &data,
        ]);
        assert_eq!(made.code, Some(0), "{made:?}");
        let key = text(&made.lines[0], "key");
        let balance = Request::get("/v1/balance").with("x-api-key", key);
        let shown = gateway.send(&balance).json();
        assert_eq!(Stand::of(&shown).available, 3_000_000, "{shown}");
        gateway.signal(signal);
        assert_eq!(gateway.wait().code(), Some(0));
        assert!(!Path::new(&data).exists(), "{data}");
    }
}

#[test]
fn a_folder_that_is_named_stays() {
    let (folder, data) = (Folder::new(), Folder::new());
    let at = data.0.join("books");
    let mut command = command(&folder);
    command
        .arg("serve")
        .arg("--sandbox")
        .arg("--data-dir")
        .arg(&at);
    let mut gateway = Gateway::run(folder, command, &[]);
    assert_eq!(text(&gateway.ready, "data_dir"), at.display().to_string());
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(at.join("bardo.db").is_file());
}

/// The command of a server in `data`, in sandbox mode or with a backend.
fn server(folder: &Folder, data: &Path, sandbox: bool) -> std::process::Command {
    let mut command = command(folder);
    command.arg("serve").arg("--data-dir").arg(data);
    if sandbox {
        command.arg("--sandbox");
    } else {
        command.env("OPENAI_API_KEY", "k");
        command.env("BARDO_CATALOG__LIVE", "false");
        command.env("BARDO_UPSTREAM__PROBE_EVERY", "0s");
    }
    command
}

fn serve(data: &Path, sandbox: bool) -> Gateway {
    let folder = Folder::new();
    let command = server(&folder, data, sandbox);
    Gateway::run(folder, command, &[])
}

fn refused(data: &Path, sandbox: bool) -> Value {
    let folder = Folder::new();
    let log = Gateway::refusal(&folder, server(&folder, data, sandbox));
    let last = log.lines().last().unwrap_or_default();
    let told: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {log}"));
    told["error"].clone()
}

fn end(mut gateway: Gateway) {
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn a_real_server_refuses_the_folder_of_a_sandbox() {
    let data = Folder::new();
    end(serve(&data.0, true));
    let error = refused(&data.0, false);
    assert_eq!(error["code"], "sandbox_folder", "{error}");
    let message = text(&error, "message");
    for words in [data.0.to_str().unwrap(), "play money", "--data-dir"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    // Without its database it is a sandbox folder still.
    std::fs::remove_file(data.0.join("bardo.db")).expect("it is there");
    assert_eq!(refused(&data.0, false)["code"], "sandbox_folder");
}

#[test]
fn a_sandbox_refuses_the_folder_of_a_real_server() {
    let data = Folder::new();
    end(serve(&data.0, false));
    assert_eq!(refused(&data.0, true)["code"], "real_folder");
    // A server of an earlier version left a database and no marker.
    std::fs::remove_file(data.0.join("bardo.kind")).expect("it is there");
    let error = refused(&data.0, true);
    assert_eq!(error["code"], "real_folder", "{error}");
    end(serve(&data.0, false));
    let keys = run(&[
        "keys",
        "list",
        "--json",
        "--data-dir",
        data.0.to_str().unwrap(),
    ]);
    assert!(keys.lines.is_empty(), "{keys:?}");
    // A verb that was there first makes the folder a real one, too.
    let data = Folder::new();
    let made = run(&[
        "keys",
        "create",
        "--json",
        "--data-dir",
        data.0.to_str().unwrap(),
    ]);
    assert_eq!(made.lines[0]["sandbox"], false, "{made:?}");
    assert_eq!(refused(&data.0, true)["code"], "real_folder");
}

#[test]
fn a_sandbox_has_one_key_and_one_account_however_often_it_starts() {
    let data = Folder::new();
    let at = data.0.to_str().unwrap();
    let gateway = serve(&data.0, true);
    let key = text(&gateway.ready, "key").to_owned();
    let body = Caller::Chat.request("venice/claude-sonnet-5-5", "Hello", false);
    let request = Request::json(Caller::Chat.path(), &body).with("x-api-key", &key);
    assert_eq!(gateway.send(&request).status(), 200);
    end(gateway);
    let stand = || {
        Stand::of(&run(&["balance", "show", "--json", "--key", &key, "--data-dir", at]).lines[0])
    };
    let before = stand();
    assert!(
        before.spent > 0 && before.deposited == 1_000_000_000,
        "{before:?}"
    );
    for _ in 0..2 {
        let gateway = serve(&data.0, true);
        assert_eq!(text(&gateway.ready, "key"), key);
        let balance = gateway.send(&Request::get("/v1/balance").with("x-api-key", &key));
        assert_eq!(Stand::of(&balance.json()), before);
        end(gateway);
    }
    let books = run(&["balance", "verify", "--json", "--data-dir", at]);
    assert_eq!(books.lines[0]["accounts"], 1, "{books:?}");
    assert_eq!(
        run(&["keys", "list", "--json", "--data-dir", at])
            .lines
            .len(),
        1
    );
    // A key that was revoked or lost is replaced, and the money stays what it is.
    let revoked = run(&["keys", "revoke", &key, "--json", "--data-dir", at]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    let gateway = serve(&data.0, true);
    let fresh = text(&gateway.ready, "key").to_owned();
    assert_ne!(fresh, key);
    let balance = gateway.send(&Request::get("/v1/balance").with("x-api-key", &fresh));
    assert_eq!(Stand::of(&balance.json()), before);
}

#[test]
fn verbs_say_which_kind_of_store_they_act_on() {
    let data = Folder::new();
    let at = data.0.to_str().unwrap();
    end(serve(&data.0, true));
    let made = run(&[
        "keys",
        "create",
        "--deposit-usd",
        "1",
        "--json",
        "--data-dir",
        at,
    ]);
    assert_eq!(made.lines[0]["sandbox"], true, "{made:?}");
    let key = Key::of(&made.lines[0]);
    let shown = run(&[
        "balance",
        "show",
        "--key",
        &key.id,
        "--json",
        "--data-dir",
        at,
    ]);
    assert_eq!(shown.lines[0]["sandbox"], true, "{shown:?}");
    let folder = Folder::new();
    let output = command(&folder)
        .args(["keys", "list", "--data-dir", at])
        // The folder decides, not a configuration that happens to be around.
        .env("BARDO_STORE__URL", "postgres://127.0.0.1:9/none")
        .output()
        .expect("it runs");
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains(at) && err.contains("play money"), "{err}");
    assert!(out.starts_with("ID ") && out.contains(&key.id), "{out}");
}

#[test]
fn a_sandbox_refuses_a_real_store_that_is_configured() {
    let folder = Folder::new();
    let mut command = server(&folder, &folder.0.join("data"), true);
    command.env("BARDO_STORE__URL", "postgres://127.0.0.1:9/none");
    let log = Gateway::refusal(&folder, command);
    assert!(
        log.contains("real_store") && log.contains("store.url"),
        "{log}"
    );
    assert!(!log.contains("127.0.0.1:9"), "{log}");
    let file = folder.write(
        "c.yaml",
        r#"{"store":{"url":"postgresql://127.0.0.1:9/none"}}"#,
    );
    let mut command = server(&folder, &folder.0.join("data"), true);
    command.arg("--config").arg(file);
    assert!(Gateway::refusal(&folder, command).contains("real_store"));
    assert!(!folder.0.join("data").exists());
}

/// Prices come from the backends' lists, so it is not ready before it has them.
#[test]
fn the_first_request_is_priced() {
    for _ in 0..3 {
        let gateway = start();
        let body = Caller::Chat.request("openrouter/claude-sonnet-5-5", "Hello", false);
        let request = Request::json(Caller::Chat.path(), &body)
            .with("x-api-key", text(&gateway.ready, "key"));
        let answer = gateway.send(&request);
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
}
