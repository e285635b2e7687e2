//! What verbs, notes and refusals tell the person who reads them.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};

use crate::http::Request;
use crate::paying::till::Till;
use crate::rig::{Folder, Gateway, Sandbox, command, config, direct, everything, makers};
use crate::sse::Caller;

/// Exit code, standard output and standard error of a verb.
pub(crate) fn run(
    folder: &Folder,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> (i32, String, String) {
    let mut command: Command = command(folder);
    command.args(arguments).envs(environment.iter().copied());
    let output = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code().expect("it ends"),
        text(output.stdout),
        text(output.stderr),
    )
}

#[track_caller]
fn check_words(told: &str, words: &[&str]) {
    for word in words {
        assert!(told.contains(word), "{word}: {told}");
    }
}

#[test]
fn a_refused_address_is_named_with_the_scope_that_allows_it() {
    let sandbox = Sandbox::start();
    let till = Till::new(makers(&sandbox));
    let gateway = till.open();
    let key = till.key(&["--scope", "ip=10.0.0.0/8"]);
    let body = Caller::Chat.request("gpt-5.5", "Hello", false);
    let refused = gateway.send(&key.ask(Caller::Chat, &body));
    assert_eq!(refused.status(), 403, "{}", refused.text());
    let told = refused.text();
    check_words(&told, &["the address 127.0.0.1", "--scope ip=127.0.0.1"]);
    assert!(
        !told.contains("CIDR") && !told.contains("network="),
        "{told}"
    );
}

#[test]
fn a_refused_model_is_refused_by_the_scopes_or_by_the_tier_and_the_error_says_which() {
    let sandbox = Sandbox::start();
    let till = Till::new(everything(&sandbox));
    let gateway = till.open();
    let scoped = till.key(&["--scope", "model=claude-*"]);
    let free = till.key(&["--tier", "free"]);
    for (key, model, words) in [
        (&scoped, "gpt-5.5", "its scopes exclude the model"),
        (
            &free,
            "direct/gpt-5.5",
            "its tier `free` excludes all backends",
        ),
    ] {
        let body = Caller::Chat.request(model, "Hello", false);
        let refused = gateway.send(&key.ask(Caller::Chat, &body));
        assert_eq!(refused.status(), 403, "{}", refused.text());
        check_words(&refused.text(), &[words]);
    }
}

#[test]
fn a_new_key_comes_with_notes_on_its_scopes_and_its_account() {
    let folder = Folder::new();
    let settings = config(&[direct("openai", "https://api.openai.com/v1", &["gpt-5.5"])]);
    let file = folder.write("good.yaml", &settings.to_string());
    let file = file.to_str().expect("UTF-8");
    let create = |scope: &str| {
        let arguments = ["keys", "create", "--config", file, "--scope", scope];
        let (code, out, err) = run(&folder, &arguments, &[]);
        assert_eq!(code, 0, "{err}");
        out
    };
    check_words(
        &create("model=gpt5.5"),
        &[
            "note: the scope `model=gpt5.5` names a model that no configured backend is known to serve",
            "did you mean `gpt-5.5`?",
        ],
    );
    assert!(!create("model=gpt-5.5").contains("names a model"));
    check_words(
        &create("read-only"),
        &[
            "note: the account of this read-only key is new",
            "bardo-gateway usage --by key",
        ],
    );
    check_words(
        &create("allowance=100"),
        &["note: with overage=bill the allowance refuses nothing"],
    );
    assert!(!create("allowance=100,overage=block").contains("note:"));
    let (_, help, _) = run(&folder, &["keys", "create", "--help"], &[]);
    check_words(
        &help,
        &[
            "All requests are charged",
            "refuse requests until the hour ends",
        ],
    );
}

#[test]
fn a_sandbox_lists_the_same_models_by_verb_and_server_and_knows_misspelled_ones() {
    let folder = Folder::new();
    let mut serve = command(&folder);
    serve.args(["serve", "--sandbox", "--fast"]);
    let gateway = Gateway::run(folder, serve, &[]);
    let key = gateway.ready["key"].as_str().expect("a key");
    let bearer = format!("Bearer {key}");
    let listed = gateway.send(&Request::get("/v1/models").with("authorization", &bearer));
    let listed = listed.json();
    let of_server: BTreeSet<String> = listed["data"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|row| Some(row["id"].as_str()?.to_owned()))
        .collect();
    let (code, out, err) = run(
        &Folder::new(),
        &["models", "list", "--sandbox", "--json"],
        &[],
    );
    assert_eq!(code, 0, "{err}");
    let of_verb: BTreeSet<String> = out
        .lines()
        .filter_map(|line| {
            let row: Value = serde_json::from_str(line).expect("JSON per line");
            Some(row["id"].as_str()?.to_owned())
        })
        .collect();
    assert!(of_server.len() > 40, "{of_server:?}");
    assert_eq!(of_verb, of_server);
    for (written, meant) in [
        ("claude-sonet", "claude-sonnet-5-5"),
        ("claude-sonet-5", "claude-sonnet-5"),
        ("gtp-5.5", "gpt-5.5"),
    ] {
        let body = Caller::Chat.request(written, "Hello", false);
        let ask = Request::json(Caller::Chat.path(), &body).with("authorization", &bearer);
        let refused = gateway.send(&ask);
        assert_eq!(refused.status(), 404, "{}", refused.text());
        check_words(&refused.text(), &[&format!("did you mean `{meant}`?")]);
    }
    // The line about keys of the owner is for servers that have such keys.
    assert!(
        !gateway.log().contains("your own keys"),
        "{}",
        gateway.log()
    );
}

#[test]
fn a_server_with_keys_of_its_owner_says_that_no_cap_counts_them() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    check_words(
        &gateway.log(),
        &["your own keys", "count toward no budget cap"],
    );
}

#[test]
fn a_providers_error_names_the_limit_that_the_client_wrote() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let mut body = Caller::Anthropic.request("gpt-5.5", "Hello", false);
    body["max_tokens"] = json!(0);
    let refused = gateway.send(&Request::json(Caller::Anthropic.path(), &body));
    assert_eq!(refused.status(), 400, "{}", refused.text());
    check_words(&refused.text(), &["max_tokens"]);
    assert!(
        !refused.text().contains("max_completion"),
        "{}",
        refused.text()
    );
}

#[test]
fn a_verb_that_only_reads_makes_no_store() {
    let folder = Folder::new();
    let (code, out, err) = run(&folder, &["keys", "list"], &[]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    check_words(
        &out,
        &["no keys in ", ".bardo; create one", "--config FILE"],
    );
    for arguments in [
        &["keys", "show", "nope"][..],
        &["balance", "show", "--key", "nope"],
        &["balance", "verify"],
        &["usage"],
        &["reconcile"],
    ] {
        let (code, _, err) = run(&folder, arguments, &[]);
        assert_eq!(code, 1, "{arguments:?}");
        check_words(&err, &["has no keys and no accounts yet", "keys create"]);
    }
    assert!(!folder.0.join(".bardo").exists(), "nothing is created");
}

#[test]
fn a_failed_verb_says_why_and_nothing_before_it() {
    let folder = Folder::new();
    assert_eq!(run(&folder, &["keys", "create"], &[]).0, 0);
    let (code, _, err) = run(&folder, &["keys", "show", "nope"], &[]);
    assert_eq!(code, 1);
    assert!(
        err.starts_with("error: no key or account has the id `nope`"),
        "{err}"
    );
    // Only a person at a terminal is told which store it was.
    let (_, _, err) = run(&folder, &["keys", "list"], &[]);
    assert_eq!(err, "");
    let (code, _, err) = run(&folder, &["usage", "--key", "nope"], &[]);
    assert_eq!(code, 1);
    check_words(&err, &["no key or account has the id `nope`"]);
    let (code, _, err) = run(&folder, &["balance", "deposit", "--usd", "1"], &[]);
    assert_eq!(code, 2);
    check_words(&err, &["--key <ID>|--account <ACCOUNT>"]);
    for (option, value, words) in [
        ("--deposit-usd", "-5", "-5"),
        ("--deposit-usd", "ten", "an amount"),
        ("--expires", "tomorrow", "30days"),
    ] {
        let (code, _, err) = run(&folder, &["keys", "create", option, value], &[]);
        assert_eq!(code, 2, "{err}");
        check_words(&err, &[words]);
        assert!(!err.contains("unexpected argument"), "{err}");
    }
}

#[test]
fn a_store_that_is_away_is_named_by_its_address_and_never_by_its_password() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = closed.local_addr().expect("it is bound").to_string();
    drop(closed);
    let url = format!("postgres://bardo:CANARY@{address}/bardo");
    let (code, _, err) = run(
        &Folder::new(),
        &["keys", "list"],
        &[("BARDO_STORE__URL", &url)],
    );
    assert_eq!(code, 1, "{err}");
    check_words(&err, &["Postgres at ", &address]);
    assert!(!err.contains("CANARY"), "{err}");
}

#[test]
fn a_report_of_spending_covers_a_time_up_to_now() {
    let sandbox = Sandbox::start();
    let till = Till::new(everything(&sandbox));
    let gateway = till.open();
    let key = till.rich("5");
    let body = Caller::Chat.request("openrouter/claude-sonnet-5-5", "Hello", false);
    let answer = gateway.send(&key.ask(Caller::Chat, &body));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let ask = |query: &str| Request::get(&format!("/admin/usage?{query}")).send(gateway.admin);
    let told = ask("since=1h").json();
    assert_eq!(told["data"][0]["key"], json!(key.id), "{told}");
    let refused = ask("since=1h&from=2026-01-01");
    assert_eq!(refused.status(), 400, "{}", refused.text());
    assert_eq!(refused.json()["error"]["param"], "since");
}

#[test]
fn one_cause_is_named_where_a_backend_has_no_known_price() {
    let sandbox = Sandbox::start();
    let till = Till::new(everything(&sandbox));
    let gateway = till.open();
    let key = till.key(&["--scope", "backend=openrouter"]);
    let body = json!({ "model": "bardo/auto", "messages": [{ "role": "user", "content": "Hi" }] });
    let explained = gateway.send(&key.sign(Request::json("/v1/route/explain", &body)));
    let told = explained.text();
    check_words(&told, &["the scopes or the tier of this key exclude it"]);
    assert!(!told.contains("known price, or"), "{told}");
}

#[test]
fn a_plan_has_no_more_backends_than_are_called() {
    let sandbox = Sandbox::start();
    let mut settings = everything(&sandbox);
    settings["upstream"]["max_attempts"] = json!(1);
    let gateway = Gateway::start(&settings);
    let body =
        json!({ "model": "claude-sonnet-5-5", "messages": [{ "role": "user", "content": "Hi" }] });
    let request = Request::json("/v1/route/explain", &body);
    let told = gateway.send(&request).json();
    assert_eq!(
        told["fallbacks"].as_array().map(Vec::len),
        Some(0),
        "{told}"
    );
    let words = gateway.send(&request.with("accept", "text/plain")).text();
    let words: Vec<&str> = words.split_whitespace().collect();
    check_words(
        &words.join(" "),
        &["1 more is eligible and is not called (`upstream.max_attempts`)"],
    );
}

#[test]
fn the_prefix_of_a_local_server_elsewhere_leads_to_the_local_backend() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let body = Caller::Chat.request("ollama/llama3.2", "Hello", false);
    let refused = gateway.send(&Request::json(Caller::Chat.path(), &body));
    assert_eq!(refused.status(), 404, "{}", refused.text());
    check_words(&refused.text(), &["did you mean `local/llama3.2`?"]);
}

#[test]
fn a_check_tells_mistakes_of_all_kinds_in_one_run() {
    let folder = Folder::new();
    let mut settings = config(&[direct("openai", "https://api.openai.com/v1", &["gpt-5.5"])]);
    for (section, value) in [
        (
            "server",
            json!({ "admin_tokn": "x", "listen": "127.0.0.1" }),
        ),
        (
            "upstream",
            json!({ "max_attempts": 0, "total_timeout": 120 }),
        ),
        ("limits", json!({ "redis_url": "http://x" })),
        (
            "cache",
            json!({ "redis_url": "redis://x", "redis_key": "short" }),
        ),
        (
            "auth",
            json!({ "keys": [{ "id": "a", "key": "env:NOT_SET_ANYWHERE" }] }),
        ),
    ] {
        settings[section] = value;
    }
    let file = folder.write("bad.yaml", &settings.to_string());
    let file = file.to_str().expect("UTF-8");
    let (code, out, told) = run(&folder, &["check", "--config", file], &[]);
    assert_eq!(code, 1, "{out}");
    check_words(
        &told,
        &[
            "7 mistakes",
            "unknown key `admin_tokn`",
            "such as `127.0.0.1:8402`",
            "`upstream.max_attempts` must be at least 1",
            "write \"120s\"",
            "`limits.redis_url`",
            "write `redis://host:6379/0`",
            "32 bytes or more",
            "`NOT_SET_ANYWHERE` is not set",
        ],
    );
}

#[test]
fn misspelt_models_and_backends_are_noted_where_an_open_backend_takes_any_name() {
    let sandbox = Sandbox::start();
    let mut settings = everything(&sandbox);
    settings["catalog"] = json!({ "live": true });
    settings["inference"] = json!({ "fallbacks": { "gpt-5.5": ["gpt-5.55"] } });
    let folder = Folder::new();
    let file = folder.write("odd.yaml", &settings.to_string());
    let file = file.to_str().expect("UTF-8");
    let (code, out, err) = run(&folder, &["check", "--config", file], &[]);
    assert_eq!(code, 0, "{err}");
    check_words(&out, &["did you mean `gpt-5.5`?", "names `gpt-5.55`"]);
    let gateway = Gateway::start(&settings);
    check_words(&gateway.log(), &["names `gpt-5.55`"]);

    let create = |scope: &str, more: &[&str]| {
        let arguments = [&["keys", "create", "--scope", scope], more].concat();
        run(&folder, &arguments, &[])
    };
    for more in [&[][..], &["--config", file]] {
        let (code, out, err) = create("model=gpt-5.55", more);
        assert_eq!(code, 0, "{err}");
        check_words(
            &out,
            &[
                "note: the scope `model=gpt-5.55`",
                "did you mean `gpt-5.5`?",
            ],
        );
        let (code, out, err) = create("rpm=5,backend=openruter", more);
        assert_ne!(code, 0, "{out}");
        check_words(
            &err,
            &["unknown backend `openruter`; did you mean `openrouter`?"],
        );
        for known in ["openrouter", "openai", "direct/openai", "local"] {
            let (code, _, err) = create(&format!("backend={known}"), more);
            assert_eq!(code, 0, "{err}");
        }
    }
}

#[test]
fn what_a_key_has_for_life_is_refused_with_what_to_do_and_a_new_key_shows_what_it_may_do() {
    let folder = Folder::new();
    let create = ["keys", "create", "--name", "ci", "--model", "gpt-5.5"];
    let more = ["--rpm", "2", "--expires", "30days"];
    let (code, out, err) = run(&folder, &[&create[..], &more].concat(), &[]);
    assert_eq!(code, 0, "{err}");
    check_words(
        &out,
        &["name     ci", "scopes   model=gpt-5.5,rpm=2", "expires  20"],
    );
    let id = out.lines().find_map(|line| line.strip_prefix("id "));
    let id = id.expect("an id").trim();
    for option in ["--model", "--backend", "--tier", "--expires"] {
        let (code, _, err) = run(&folder, &["keys", "set", id, option, "x"], &[]);
        assert_eq!(code, 2, "{err}");
        check_words(
            &err,
            &[option, "create another key: bardo-gateway keys create"],
        );
    }
}

#[test]
fn the_admin_api_refuses_scopes_of_unknown_backends_as_the_verb_does() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let create = |scope: &str| {
        let body = json!({ "scopes": [scope] });
        Request::json("/admin/keys", &body).send(gateway.admin)
    };
    let refused = create("backend=openruter");
    assert_eq!(refused.status(), 400, "{}", refused.text());
    check_words(
        &refused.text(),
        &["backend=openruter", "did you mean `openrouter`?"],
    );
    for known in [
        "backend=openrouter",
        "backend=openai",
        "backend=direct/anthropic",
    ] {
        assert_eq!(create(known).status(), 200, "{known}");
    }
}

#[test]
fn a_file_that_was_found_is_named_as_such() {
    let folder = Folder::new();
    folder.write("bardo.yaml", "server: { hartbeat: 5s }");
    let mut verb = command(&folder);
    let done = verb
        .current_dir(&folder.0)
        .args(["check"])
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&done.stderr);
    check_words(
        &told,
        &[
            "did you mean `heartbeat`?",
            "bardo.yaml was found without --config",
        ],
    );
}
