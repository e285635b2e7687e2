//! Sandbox mode: a key with play money, backends that are billed, and nothing left behind.

use std::path::Path;

use serde_json::Value;

use crate::http::Request;
use crate::paying::till::{Done, Stand, header, micro, run};
use crate::rig::{Folder, Gateway, command};
use crate::sse::Caller;

fn start() -> Gateway {
    let folder = Folder::new();
    let mut command = command(&folder);
    command.arg("serve").arg("--sandbox");
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
    assert_eq!(
        header(&answer, "x-bardo-cost"),
        "direct",
        "{}",
        answer.text()
    );
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
