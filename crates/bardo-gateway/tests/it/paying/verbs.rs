//! The verbs, beside a running server and without one: what scripts rely on.

use std::time::Instant;

use serde_json::{Value, json};

use crate::http::PATIENCE;
use crate::paying::maker;
use crate::paying::till::{Done, Key, Stand, Till, run, run_in};
use crate::rig::{Folder, Gateway, eventually};
use crate::sse::Caller;

fn status(gateway: &Gateway, key: &Key) -> u16 {
    let body = Caller::Chat.request("m-chat", "Hello", false);
    gateway.send(&key.ask(Caller::Chat, &body)).status()
}

#[test]
fn serve_says_when_and_where_it_is_ready() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let gateway = till.open();
    let ready = &gateway.ready;
    assert_eq!(ready["event"], "ready");
    assert_eq!(ready["sandbox"], false);
    assert_eq!(ready["data_dir"], till.folder());
    assert_eq!(ready["listen"], gateway.address.to_string());
    assert_eq!(ready["admin_listen"], gateway.admin.to_string());
    assert_eq!(ready.get("key"), None, "{ready}");
}

#[test]
fn a_key_is_made_listed_and_shown_once() {
    let till = Till::new(json!({}));
    let made = till.one(&[
        "keys",
        "create",
        "--name",
        "a name",
        "--scope",
        "model=m-chat",
        "--scope",
        "rpm=7,spend-day=1.5",
        "--tier",
        "pro",
        "--deposit-usd",
        "2.5",
        "--expires",
        "30days",
    ]);
    let key = Key::of(&made);
    assert!(key.key.starts_with("bardo_sk_"), "{made}");
    assert!(key.key.contains(&key.id), "{made}");
    assert_eq!(made["name"], "a name");
    assert_eq!(made["tier"], "pro");
    assert_eq!(made["state"], "active");
    assert_eq!(made["kind"], "spend");
    assert_eq!(made["scopes"]["models"], json!(["m-chat"]));
    assert_eq!(made["scopes"]["requests_per_minute"], 7);
    assert_eq!(made["scopes"]["spend"]["day"], "1.500000");
    assert_eq!(Stand::of(&made["balance"]).available, 2_500_000);

    let reader = till.one(&["keys", "create", "--scope", "read-only"]);
    assert!(
        reader["key"]
            .as_str()
            .expect("text")
            .starts_with("bardo_pk_"),
        "{reader}"
    );
    let listed = till.told(&["keys", "list"]);
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|row| row.get("key").is_none()));
    let secret = key.key.rsplit('_').next().expect("a secret");
    assert!(!format!("{listed:?}").contains(secret));
    let own = till.told(&["keys", "list", "--account", &key.account]);
    assert_eq!(own.len(), 1);
    assert_eq!(own[0]["id"], key.id);

    // A second key of the same account draws on the same money.
    let second = till.key(&["--account", &key.account]);
    assert_ne!(second.id, key.id);
    assert_eq!(till.stand(&second), till.stand(&key));
    // A balance is found by the key's id, all of the key, or the account.
    for name in [&key.id, &key.key, &key.account] {
        let shown = till.one(&["balance", "show", "--key", name]);
        assert_eq!(Stand::of(&shown).deposited, 2_500_000);
        assert_eq!(shown["account"], key.account);
    }
    let revoked = till.one(&["keys", "revoke", &key.id]);
    assert_eq!(revoked["state"], "revoked");
    assert_eq!(
        till.one(&["keys", "revoke", &key.id])["revoked_at_ms"],
        revoked["revoked_at_ms"]
    );
    let rotated = till.verb(&["keys", "rotate", &key.id]);
    assert_eq!(rotated.code, Some(1), "a key that is gone has no successor");
}

#[test]
fn a_key_whose_deposit_fails_is_not_lost() {
    let till = Till::new(json!({}));
    // As much as the books can hold, so that nothing more fits.
    let full = till.key(&["--deposit-usd", "9223372036854.775807"]);
    let create = ["keys", "create", "--account", &full.account];
    let done = till.verb(&[&create[..], &["--deposit-usd", "1"]].concat());
    assert_eq!(done.code, Some(1), "{done:?}");
    let key = Key::of(&done.lines[0]);
    let error = done.lines[0]["deposit_error"].as_str();
    assert!(error.is_some_and(|error| error.contains("out of range")));
    assert!(done.errors.contains("nothing is deposited"), "{done:?}");
    assert_eq!(till.stand(&key), till.stand(&full));
    // Nothing at all is no deposit.
    till.key(&["--deposit-usd", "0"]);
}

#[test]
fn a_first_deposit_makes_an_account_that_is_named_as_one() {
    let till = Till::new(json!({}));
    let account = "privy:did:privy:cm5";
    let deposit = |flag| till.verb(&["balance", "deposit", flag, account, "--usd", "2"]);
    let refused = deposit("--key");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.errors.contains("no key or account"), "{refused:?}");
    for deposited in [2_000_000, 4_000_000] {
        let done = deposit("--account");
        assert_eq!(done.code, Some(0), "{done:?}");
        assert_eq!(Stand::of(&done.lines[0]).deposited, deposited);
    }
    assert_eq!(deposit("--key").code, Some(0), "it exists by now");
    // A mistyped key is no account.
    let key = till.key(&[]);
    let mistyped = [
        "balance",
        "deposit",
        "--account",
        &key.key[..20],
        "--usd",
        "1",
    ];
    assert_eq!(till.verb(&mistyped).code, Some(1));
    till.verify();
}

#[test]
fn a_deposit_with_the_same_reference_is_one_deposit() {
    let till = Till::new(json!({}));
    let key = till.key(&[]);
    assert_eq!(till.stand(&key).deposited, 0);
    let deposit = ["balance", "deposit", "--key", &key.id, "--usd", "0.25"];
    for repeated in [false, true, true] {
        let shown = till.one(&[&deposit[..], &["--reference", "invoice-7"]].concat());
        assert_eq!(Stand::of(&shown).available, 250_000);
        assert_eq!(shown["reference"], "invoice-7");
        assert_eq!(shown["repeated"], repeated);
    }
    // Another amount is another deposit, and needs another reference.
    let other = [
        "balance",
        "deposit",
        "--key",
        &key.id,
        "--usd",
        "0.26",
        "--reference",
        "invoice-7",
    ];
    let refused = till.verb(&other);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.errors.contains("0.250000"), "{refused:?}");
    till.one(&deposit);
    assert_eq!(till.stand(&key).deposited, 500_000);
    let postings = till.told(&["balance", "ledger", "--key", &key.id]);
    let sum: i64 = postings
        .iter()
        .map(|posting| posting["amount_micro"].as_i64().expect("an amount"))
        .sum();
    assert_eq!(sum, 0, "every transfer adds up to nothing: {postings:?}");
    till.verify();
}

#[test]
fn what_verbs_change_is_in_force_when_they_return() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let gateway = till.open();
    for _ in 0..5 {
        let key = till.key(&[]);
        assert_eq!(status(&gateway, &key), 402, "it has nothing");
        till.one(&["balance", "deposit", "--key", &key.id, "--usd", "1"]);
        assert_eq!(status(&gateway, &key), 200, "it has something");
        let next = Key::of(&till.one(&["keys", "rotate", &key.id, "--overlap", "1h"]));
        assert_eq!(next.account, key.account);
        assert_eq!(status(&gateway, &next), 200);
        assert_eq!(status(&gateway, &key), 200, "both are taken for a while");
        till.one(&["keys", "revoke", "--key", &key.id]);
        assert_eq!(status(&gateway, &key), 401, "it was taken back");
        assert_eq!(status(&gateway, &next), 200);
        let last = Key::of(&till.one(&["keys", "rotate", "--key", &next.id, "--overlap", "0s"]));
        assert_eq!(status(&gateway, &next), 401, "there is no overlap");
        assert_eq!(status(&gateway, &last), 200);
    }
    till.verify();
}

#[test]
fn a_key_whose_time_is_over_is_not_taken() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let gateway = till.open();
    let made = Instant::now();
    let key = till.key(&["--deposit-usd", "1", "--expires", "2s"]);
    if made.elapsed().as_millis() < 1_000 {
        assert_eq!(status(&gateway, &key), 200);
    }
    eventually("its time is over", || {
        (status(&gateway, &key) == 401).then_some(())
    });
    assert!(made.elapsed() < PATIENCE);
    assert_eq!(till.told(&["keys", "list"])[0]["state"], "expired");
}

#[test]
fn a_key_may_last_longer_than_calendars() {
    let till = Till::new(json!({}));
    let key = till.key(&["--expires", "500000000years"]);
    let listed = till.told(&["keys", "list"]);
    assert_eq!(listed[0]["id"], key.id, "{listed:?}");
    assert_eq!(listed[0]["state"], "active", "{listed:?}");
}

#[track_caller]
fn check_failure(done: &Done, code: i32, words: &str) {
    assert_eq!(done.code, Some(code), "{done:?}");
    assert!(done.errors.contains(words), "{words}: {done:?}");
    assert_eq!(done.lines, Vec::<Value>::new());
}

#[test]
fn exit_codes_tell_failure_from_wrong_usage() {
    let till = Till::new(json!({}));
    let key = till.key(&["--deposit-usd", "1"]);
    let failures = [
        (&["balance", "show", "--key", "nobody"][..], "nobody"),
        (&["keys", "revoke", "nobody"], "nobody"),
        (
            &["keys", "create", "--scope", "everything"],
            "unknown scope",
        ),
        (&["keys", "create", "--tier", "gold"], "unknown tier"),
        (
            &["balance", "deposit", "--key", &key.id, "--usd", "0"],
            "above 0",
        ),
        (&["reconcile", "--request", "req_1", "--release"], "req_1"),
    ];
    for (verb, words) in failures {
        check_failure(&till.verb(verb), 1, words);
    }
    let wrong = [
        &["keys"][..],
        &["keys", "create", "--nonsense"],
        &["keys", "revoke"],
        &["balance", "show"],
        &["balance", "deposit", "--key", &key.id],
        &["balance", "deposit", "--key", &key.id, "--usd", "ten"],
        &["balance", "deposit", "--key", &key.id, "--usd", "-1"],
        &["balance", "deposit", "--key", &key.id, "--usd", "0.0000001"],
        &["keys", "create", "--deposit-usd", "1e30"],
        &["keys", "create", "--expires", "soon"],
        &["reconcile", "--release"],
        &["reconcile", "--request", "req_1"],
    ];
    for verb in wrong {
        let done = till.verb(verb);
        assert_eq!(done.code, Some(2), "{verb:?}: {done:?}");
        assert_eq!(done.lines, Vec::<Value>::new());
        assert!(!done.errors.is_empty());
    }
    assert_eq!(till.stand(&key).deposited, 1_000_000, "nothing changed");
    assert_eq!(
        till.told(&["keys", "list"]).len(),
        1,
        "no key was made in vain"
    );
}

#[test]
fn verbs_need_no_configuration_and_none_of_its_secrets() {
    let maker = maker::maker();
    let mut config = maker::billed(&maker);
    config["providers"]["direct"]["keys"][0]["api_key"] = json!("env:NOT_SET_HERE");
    config["auth"] = json!({ "keys": [{ "id": "a", "key": "env:NOR_THIS" }] });
    let till = Till::new(config.clone());
    let key = till.key(&["--deposit-usd", "1"]);
    let folder = Folder::new();
    let file = folder.write("bardo.yaml", &config.to_string());
    let at = till.folder();
    let show = [
        "balance",
        "show",
        "--json",
        "--key",
        &key.id,
        "--data-dir",
        &at,
    ];
    // Named, found in the present folder, and none at all.
    let file = file.display().to_string();
    let named = [&show[..], &["--config", &file]].concat();
    for done in [run(&named), run_in(&folder, &show), run(&show)] {
        assert_eq!(done.code, Some(0), "{done:?}");
        assert_eq!(Stand::of(&done.lines[0]).deposited, 1_000_000);
    }
    // Without a folder it is the one in HOME.
    let home = Folder::new();
    let made = run_in(&home, &["keys", "create", "--json"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(home.0.join(".bardo").is_dir());
    assert_eq!(run_in(&home, &["keys", "list", "--json"]).lines.len(), 1);
}

#[test]
fn a_folder_serves_one_server_at_a_time() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.rich("1");
    let mut first = till.open();
    let folder = Folder::new();
    let file = folder.write("c.yaml", &maker::billed(&maker).to_string());
    let serve = |extra: &[&str]| {
        let file = file.display().to_string();
        let at = till.folder();
        let args = [
            "serve",
            "--json",
            "--config",
            &file,
            "--data-dir",
            &at,
            "--listen",
        ];
        run(&[
            &args[..],
            &["127.0.0.1:0", "--admin-listen", "127.0.0.1:0"],
            extra,
        ]
        .concat())
    };
    check_failure(&serve(&[]), 1, "another server is using");
    assert_eq!(status(&first, &key), 200, "the first goes on");
    first.signal("TERM");
    assert_eq!(first.wait().code(), Some(0));
    let second = till.open();
    assert_eq!(status(&second, &key), 200);
    assert_eq!(till.stand(&key).spent, 2 * maker::charge(2_000));
}

#[test]
fn a_listener_for_others_needs_somebody_whom_it_can_know() {
    let maker = maker::maker();
    let config = maker::billed(&maker);
    let till = Till::new(config.clone());
    let folder = Folder::new();
    let file = folder
        .write("c.yaml", &config.to_string())
        .display()
        .to_string();
    let at = till.folder();
    let serve = ["serve", "--json", "--config", &file, "--data-dir", &at];
    let done = run(&[
        &serve[..],
        &["--listen", "0.0.0.0:0", "--admin-listen", "127.0.0.1:0"],
    ]
    .concat());
    check_failure(&done, 1, "bardo-gateway keys create");
    assert!(done.errors.contains("0.0.0.0"), "{done:?}");
    till.key(&[]);
    let mut listening = config;
    listening["server"] = json!({ "listen": "0.0.0.0:0" });
    let mut server = crate::rig::command(&folder);
    let file = folder.write("c.yaml", &listening.to_string());
    server
        .arg("serve")
        .arg("--config")
        .arg(file)
        .args(["--json", "--data-dir", &at]);
    server.args(["--admin-listen", "127.0.0.1:0"]);
    let mut child = server
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let out = child.stdout.take().expect("it is piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("it speaks");
    let _ = child.kill();
    let _ = child.wait();
    assert!(line.contains("\"event\":\"ready\""), "{line}");
}

#[test]
fn the_first_key_closes_an_open_gateway() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let gateway = till.open();
    let body = Caller::Chat.request("m-chat", "Hello", false);
    let nobody = crate::http::Request::json(Caller::Chat.path(), &body);
    assert_eq!(gateway.send(&nobody).status(), 200);
    let key = till.key(&["--deposit-usd", "1"]);
    assert_eq!(gateway.send(&nobody).status(), 401);
    assert_eq!(status(&gateway, &key), 200);
    till.one(&["keys", "revoke", &key.id]);
    assert_eq!(gateway.send(&nobody).status(), 401, "it stays closed");
}

#[test]
fn a_reload_changes_what_is_added() {
    let maker = maker::maker();
    let mut config = maker::billed(&maker);
    let till = Till::new(config.clone());
    let key = till.key(&["--deposit-usd", "1"]);
    let gateway = till.open();
    assert_eq!(status(&gateway, &key), 200);
    let before = till.stand(&key).spent;
    assert_eq!(before, maker::charge(2_000));
    let hash = gateway.status()["config"]["hash"].clone();
    config["inference"] = json!({ "spread_pct": 50 });
    gateway.configure(&config.to_string());
    gateway.signal("HUP");
    eventually("it is reloaded", || {
        (gateway.status()["config"]["hash"] != hash).then_some(())
    });
    eventually("the new spread is in force", || {
        let before = till.stand(&key).spent;
        assert_eq!(status(&gateway, &key), 200);
        (till.stand(&key).spent - before == maker::charge(5_000)).then_some(())
    });
    till.verify();
}

#[test]
fn a_journal_that_was_set_aside_fails_the_verification_until_it_is_moved_away() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.rich("10");
    let gateway = till.open();
    assert_eq!(status(&gateway, &key), 200);
    let journal = till.data.0.join("bardo.journal");
    let aside = till.data.0.join("bardo.journal.1");
    // The file has the charge while the server runs.
    std::fs::copy(&journal, &aside).expect("a journal");
    drop(gateway);
    let found = till.verb(&["balance", "verify"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let told = format!("{found:?}");
    assert!(told.contains("bardo.journal.1"), "{told}");
    assert!(told.contains("was set aside"), "{told}");
    std::fs::remove_file(&aside).expect("it is there");
    till.verify();
}
