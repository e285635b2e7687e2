//! What one caller can do to the others, and what refusals say.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::http::{Exchange, Request, connect};
use crate::paying::till::{Key, Till};
use crate::rig::{
    Folder, Gateway, Sandbox, command, config, direct, eventually, everything, makers, pass, with,
};
use crate::scripted::Scripted;
use crate::sse::Caller;

/// Number of members: large enough that quadratic work would exceed the patience of a test.
const MANY: usize = 60_000;
/// What the header may take, whatever a request loses.
const HEADER_MAX: usize = 8 << 10;
const RECEIPT_MAX: usize = 32 << 10;

fn unknown_members(count: usize) -> Map<String, Value> {
    let member = |number| (format!("unknown_{number:06}"), json!(1));
    (0..count).map(member).collect()
}

/// Requests that lose very much on their way to another dialect.
fn lossy() -> Vec<(&'static str, Value)> {
    let base = || {
        let mut body = unknown_members(0);
        body.insert("model".into(), json!("claude-sonnet-5-5"));
        let hello = json!([{ "role": "user", "content": "Hello" }]);
        body.insert("messages".into(), hello);
        body
    };
    let mut members = base();
    members.extend(unknown_members(MANY));
    let mut of_a_tool = base();
    let mut function = unknown_members(MANY);
    function.insert("name".into(), json!("f"));
    let tool = json!({ "type": "function", "function": function });
    of_a_tool.insert("tools".into(), json!([tool]));
    let mut tools = base();
    let named = |number: usize| json!({ "type": "function", "function": { "name": format!("tool {number:06}") } });
    let list: Vec<Value> = (0..MANY / 4).map(named).collect();
    tools.insert("tools".into(), list.into());
    [
        ("members", members),
        ("members of a tool", of_a_tool),
        ("names of tools", tools),
    ]
    .map(|(name, body)| (name, body.into()))
    .into()
}

#[test]
fn a_request_that_loses_very_much_is_answered_and_what_is_told_of_it_is_bounded() {
    let sandbox = Sandbox::start();
    let till = Till::new(everything(&sandbox));
    let key = till.rich("10");
    let gateway = till.open();
    for (name, body) in lossy() {
        let answer = gateway.send(&key.ask(Caller::Chat, &body));
        assert_eq!(answer.status(), 200, "{name}: {}", answer.text());
        let degraded = answer.header("x-bardo-degraded").unwrap_or_default();
        assert!(degraded.len() <= HEADER_MAX, "{name}: {}", degraded.len());
        if name != "names of tools" {
            assert!(degraded.contains("unknown_000063"), "{name}: {degraded}");
            assert!(degraded.contains("more["), "{name}: {degraded}");
        }
        let id = answer.header("x-bardo-request-id").expect("an id");
        let receipt = eventually("the receipt is stored", || {
            let receipt = gateway.send(&key.get(&format!("/v1/receipts/{id}")));
            (receipt.status() == 200).then_some(receipt)
        });
        assert!(
            receipt.body.len() <= RECEIPT_MAX,
            "{name}: {}",
            receipt.body.len()
        );
    }
}

#[test]
fn a_required_member_that_is_lost_among_very_many_is_still_refused() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let mut body = Caller::Chat.request("claude-sonnet-5-5", "Hello", false);
    let members = body.as_object_mut().expect("an object");
    members.extend(unknown_members(1_000));
    let request = Request::json("/v1/chat/completions", &body);
    let answer = gateway.send(&request.with("x-bardo-require", "unknown_000900"));
    assert_eq!(answer.status(), 400, "{}", answer.text());
    assert!(sandbox.journal().is_empty());
}

/// A key with the id of `key` and another secret.
fn guessed(key: &Key, number: usize) -> String {
    format!("bardo_sk_{}_{number:043}", key.id)
}

#[test]
fn a_flood_of_wrong_secrets_does_not_lock_the_owner_of_a_key_out() {
    let sandbox = Sandbox::start();
    let till = Till::new(everything(&sandbox));
    let key = till.rich("10");
    // A server that has not seen the key yet.
    let gateway = till.open();
    let mut braked = 0;
    for number in 0..60 {
        let wrong = Request::get("/v1/models").with("x-api-key", &guessed(&key, number));
        let answer = gateway.send(&wrong);
        match answer.json()["error"]["bardo_code"].as_str() {
            Some("invalid_key") => assert_eq!(answer.status(), 401),
            Some("key_check_busy") => braked += 1,
            other => panic!("{other:?}: {}", answer.text()),
        }
    }
    assert!(braked > 30, "wrong secrets are braked: {braked}");
    let answer = gateway.send(&key.get("/v1/models"));
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

#[test]
fn a_refusal_that_a_retry_cannot_mend_says_so_in_every_dialect() {
    let sandbox = Sandbox::start();
    let till = Till::new(makers(&sandbox));
    let bound = till.key(&["--deposit-usd", "1", "--scope", "model=gpt-5.5"]);
    let rich = till.rich("10");
    let gateway = till.open();
    for caller in Caller::ALL {
        let hello = caller.request("claude-sonnet-5-5", "Hello", false);
        let unknown = caller.request("no-such-model", "Hello", false);
        let wrong = Request::json(caller.path(), &hello).with("x-api-key", &guessed(&rich, 1));
        let broken = rich.sign(Request::post(caller.path(), "{"));
        let cases = [
            ("no key", 401, Request::json(caller.path(), &hello)),
            ("a wrong key", 401, wrong),
            ("a scope", 403, bound.ask(caller, &hello)),
            ("an unknown model", 404, rich.ask(caller, &unknown)),
            ("no JSON", 400, broken),
        ];
        for (name, status, request) in cases {
            let answer = gateway.send(&request);
            assert_eq!(answer.status(), status, "{name}: {}", answer.text());
            let retry = answer.header("x-should-retry");
            assert_eq!(retry, Some("false"), "{caller:?} {name}");
            caller.check_error(&answer.json());
            if name == "a wrong key" {
                let body = answer.json();
                let told = body["error"]["message"].as_str().unwrap_or_default();
                assert!(told.starts_with("Incorrect API key provided"), "{told}");
            }
        }
    }
    let log = gateway.log();
    for part in [
        "unknown key or wrong secret",
        "key_scope",
        "model_not_found",
        &bound.id,
    ] {
        assert!(log.contains(part), "{part} is not logged: {log}");
    }
    assert!(!log.contains("0000000000000000000000000000000000000000001"));
}

/// Faults of a provider that repeats what it was sent, each in another way.
fn quoting(spelling: &str) -> String {
    match spelling {
        "escaped" => r"You said: \u0054ell nobody of the m\u00fcller plan".to_owned(),
        "broken" => "You said: Tell nobody\\nof the\\nmüller plan".to_owned(),
        "short" => "bad word: plan-7QX".to_owned(),
        "forged" => "oops\\n2026-01-01T00:00:00Z ERROR forged: line of a provider".to_owned(),
        _ => "You said: Tell nobody of the müller plan-7QX".to_owned(),
    }
}

#[test]
fn no_words_of_a_provider_are_logged_at_the_default_level() {
    const SPELLINGS: [&str; 5] = ["escaped", "broken", "short", "forged", "plain"];
    let upstream = Scripted::start(|mut turn| {
        let asked = turn.got.text().to_owned();
        let spelling = SPELLINGS.iter().find(|name| asked.contains(*name));
        let error = quoting(spelling.unwrap_or(&"plain"));
        let body = format!(r#"{{"error":{{"message":"{error}","type":"invalid_request_error"}}}}"#);
        if asked.contains("midstream") {
            turn.stream_head();
            turn.chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n");
            turn.chunk(format!("data: {body}\n\n"));
            turn.end();
        } else {
            turn.answer(400, "application/json", &body);
        }
    });
    let mut keys = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    keys["providers"]["direct"]["keys"][0]["api"] = json!("chat");
    let gateway = Gateway::start_with(&keys, &[("NO_COLOR", "1")]);
    let mut asked = 0;
    for caller in Caller::ALL {
        for spelling in SPELLINGS {
            for stream in [false, true] {
                let when = if stream { "midstream" } else { "at once" };
                let text = format!("Tell nobody of the müller plan-7QX, {spelling}, {when}");
                let body = caller.request("m", &text, stream);
                gateway.send(&Request::json(caller.path(), &body));
                asked += 1;
            }
        }
    }
    let log = eventually("each failure is logged", || {
        let log = gateway.log();
        (log.matches("provider failed").count() >= asked).then_some(log)
    });
    for canary in ["müller", "\\u{fc}", "nobody", "7QX", "forged"] {
        assert!(!log.contains(canary), "{canary} is logged: {log}");
    }
    assert!(log.contains("the provider rejected the request"), "{log}");
    assert!(log.contains("bad_request"), "{log}");
}

#[test]
fn an_unknown_path_is_told_as_one_and_a_browser_gets_a_page() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    for path in ["/", "/v1", "/v2/chat/completions", "/v1/mesages"] {
        let answer = gateway.send(&Request::get(path));
        assert_eq!(answer.status(), 404, "{path}");
        let body = answer.json();
        assert_eq!(body["error"]["code"], "unknown_endpoint", "{body}");
        assert_eq!(body["error"]["bardo_code"], "unknown_endpoint", "{body}");
        assert!(!answer.text().contains("model_not_found"));
    }
    let browser = Request::get("/").with("accept", "text/html,application/xhtml+xml");
    let page = gateway.send(&browser);
    assert_eq!(page.status(), 200);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(page.text().contains("/v1/models"), "{}", page.text());
}

#[test]
fn web_pages_may_call_only_from_the_origins_that_the_configuration_names() {
    const APP: &str = "https://app.example.com";
    let sandbox = Sandbox::start();
    let hello = Caller::Chat.request("gpt-5.5", "Hello", false);
    let call = Request::json("/v1/chat/completions", &hello);
    let preflight = Request::get("/v1/chat/completions")
        .method("OPTIONS")
        .with("access-control-request-method", "POST")
        .with(
            "access-control-request-headers",
            "authorization,x-bardo-require",
        );
    // Off by default.
    let closed = Gateway::start(&makers(&sandbox));
    let answer = closed.send(&preflight.clone().with("origin", APP));
    assert_eq!(answer.status(), 405, "{}", answer.text());
    assert_eq!(closed.send(&call.clone().with("origin", APP)).status(), 403);
    let cors = json!({ "origins": [APP] });
    let open = Gateway::start(&with(makers(&sandbox), "server", json!({ "cors": cors })));
    let answer = open.send(&preflight.clone().with("origin", APP));
    assert_eq!(answer.status(), 204, "{}", answer.text());
    assert_eq!(answer.header("access-control-allow-origin"), Some(APP));
    let allowed = answer.header("access-control-allow-headers");
    assert_eq!(allowed, Some("authorization,x-bardo-require"));
    let answer = open.send(&call.clone().with("origin", APP));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(answer.header("access-control-allow-origin"), Some(APP));
    let exposed = answer
        .header("access-control-expose-headers")
        .unwrap_or_default();
    assert!(exposed.contains("x-bardo-cost"), "{exposed}");
    for other in [
        "https://evil.example",
        "https://app.example.com.evil.example",
        "null",
    ] {
        let answer = open.send(&call.clone().with("origin", other));
        assert_eq!(answer.status(), 403, "{other}");
        assert_eq!(
            answer.header("access-control-allow-origin"),
            None,
            "{other}"
        );
        let answer = open.send(&preflight.clone().with("origin", other));
        assert_eq!(
            answer.header("access-control-allow-origin"),
            None,
            "{other}"
        );
    }
    // Operators' pages are no pages of these origins.
    let admin = preflight.with("origin", APP).send(open.admin);
    assert_eq!(admin.header("access-control-allow-origin"), None);
}

#[test]
fn without_keys_only_names_of_this_machine_are_answered() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let port = gateway.address.port();
    let ask = |host: &str| {
        let head = format!("GET /v1/models HTTP/1.1\r\n{host}connection: close\r\n\r\n");
        let mut exchange = Exchange::new(connect(gateway.address));
        exchange.again(head.as_bytes());
        exchange.answer()
    };
    for host in ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"] {
        assert_eq!(
            ask(&format!("host: {host}:{port}\r\n")).status(),
            200,
            "{host}"
        );
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.0.2.1",
    ] {
        let answer = ask(&format!("host: {host}:{port}\r\n"));
        assert_eq!(answer.status(), 403, "{host}");
        assert_eq!(answer.json()["error"]["bardo_code"], "foreign_page");
    }
    for hosts in ["", "host: localhost\r\nhost: evil.example\r\n"] {
        assert_eq!(ask(hosts).status(), 400, "{hosts:?}");
    }
}

#[test]
fn bodies_that_stall_are_bounded_together() {
    let sandbox = Sandbox::start();
    let limits = json!({ "max_body": "4MiB", "max_bodies": "8MiB" });
    let gateway = Gateway::start(&with(makers(&sandbox), "server", limits));
    let head =
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4194304\r\n\r\n";
    // Nearly whole, and then it says no more. One that finds no room is not read to its end.
    let stalled = || {
        let mut stream = connect(gateway.address);
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&vec![b' '; 4_100_000]);
        stream
    };
    let mut open: Vec<TcpStream> = Vec::new();
    let mut patience = Duration::ZERO;
    let body = json!({ "model": "gpt-5.5", "messages": [{ "role": "user", "content": "x".repeat(1 << 20) }] });
    let large = Request::json("/v1/chat/completions", &body);
    let refused = eventually("the others have all the room", || {
        // Before they are read, the large one gets room, and one of them may get none.
        open.clear();
        pass(patience);
        open.extend((0..2).map(|_| stalled()));
        patience += Duration::from_millis(50);
        pass(patience);
        let answer = gateway.send(&large);
        (answer.status() == 503).then_some(answer)
    });
    assert_eq!(refused.json()["error"]["bardo_code"], "busy");
    assert!(refused.header("retry-after").is_some());
    open.clear();
    eventually("the room is given back", || {
        (gateway.send(&large).status() == 200).then_some(())
    });
}

#[test]
fn a_large_body_of_an_account_without_money_is_refused_before_it_is_read() {
    let sandbox = Sandbox::start();
    let mut billed = everything(&sandbox);
    let providers = billed["providers"].as_object_mut().expect("an object");
    providers.retain(|name, _| name == "openrouter");
    let till = Till::new(billed);
    let poor = till.key(&[]);
    let rich = till.rich("10");
    let gateway = till.open();
    let body = json!({ "model": "gpt-5.5", "messages": [{ "role": "user", "content": "x".repeat(2 << 20) }] });
    let refused = gateway.send(&poor.ask(Caller::Chat, &body));
    assert_eq!(refused.status(), 402, "{}", refused.text());
    assert!(refused.text().contains("1048576"), "{}", refused.text());
    let answered = gateway.send(&rich.ask(Caller::Chat, &body));
    assert_ne!(answered.json()["error"]["bardo_code"], "insufficient_funds");
}

#[test]
fn a_wait_that_is_longer_than_a_heartbeat_is_told_at_once_with_the_providers_hint() {
    let upstream = Scripted::start(|mut turn| {
        let body = r#"{"error":{"message":"slow","type":"rate"}}"#;
        turn.write(format!(
            "HTTP/1.1 429 X\r\nconnection: close\r\nretry-after: 3\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
    });
    let keys = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    let gateway = Gateway::start(&with(keys, "server", json!({ "heartbeat": "1s" })));
    for caller in Caller::ALL {
        let body = caller.request("m", "Hello", true);
        let answer = gateway.send(&Request::json(caller.path(), &body));
        assert_eq!(answer.status(), 429, "{caller:?} {}", answer.text());
        let wait = answer.header("retry-after");
        assert!(matches!(wait, Some("2" | "3")), "{caller:?} {wait:?}");
    }
}

#[test]
fn an_idle_connection_that_dies_under_a_request_lets_sdks_try_again() {
    // The first request on each connection is answered; the next one finds it closing.
    let upstream = Scripted::start(|mut turn| {
        let body = r#"{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}"#;
        turn.write(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        turn.more();
    });
    let mut keys = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    keys["server"] = json!({ "workers": 1 });
    let gateway = Gateway::start(&keys);
    let body = Caller::Chat.request("m", "Hello", false);
    let request = Request::json("/v1/chat/completions", &body);
    assert_eq!(gateway.send(&request).status(), 200);
    let answer = gateway.send(&request);
    assert_eq!(answer.status(), 502, "{}", answer.text());
    assert_ne!(answer.header("x-should-retry"), Some("false"));
    let problem = answer.json();
    assert_eq!(problem["error"]["bardo_code"], "upstream_connection");
    assert_eq!(upstream.connections(), 1, "the gateway does not repeat it");
}

#[test]
fn a_database_that_lost_its_keys_opens_the_gateway_to_nobody() {
    let sandbox = Sandbox::start();
    let till = Till::new(makers(&sandbox));
    let _ = till.key(&[]);
    for name in ["bardo.db", "bardo.db-wal", "bardo.db-shm", "ledger.journal"] {
        let _ = std::fs::remove_file(till.data.0.join(name));
    }
    let config = Folder::new();
    let file = config.write("config.yaml", &till.config().to_string());
    let mut start = command(&config);
    start.arg("serve").arg("--config").arg(file);
    start.args(["--data-dir", &till.folder()]);
    start.args(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
    let ended = start.output().expect("it starts");
    assert!(!ended.status.success());
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(told.contains("had keys before"), "{told}");
    assert!(told.contains("keys.exist"), "{told}");
    // The line that mends it.
    std::fs::remove_file(till.data.0.join("keys.exist")).expect("it is there");
    let gateway = till.open();
    assert_eq!(gateway.send(&Request::get("/v1/models")).status(), 200);
}
