//! The console on the operators' listener: who gets in, what may be changed, what is sent along.

mod pages;

use std::io::Write as _;

use serde_json::json;

use crate::http::{Answer, Exchange, Request, connect};
use crate::rig::{Gateway, Sandbox, config, direct, with};

const TOKEN: &str = "operators-0123456789";
const READER: &str = "readers-0123456789";

fn gateway(sandbox: &Sandbox, server: serde_json::Value) -> Gateway {
    let provider = direct("openai", &sandbox.at("/openai/v1"), &["*"]);
    Gateway::start(&with(config(&[provider]), "server", server))
}

fn page(path: &str) -> Request {
    Request::get(path).with("accept", "text/html")
}

fn form(path: &str, fields: &str) -> Request {
    let mut request = Request::post(path, fields);
    request.headers.clear();
    request
        .with("content-type", "application/x-www-form-urlencoded")
        .with("accept", "text/html")
}

/// The token of the forms of a page.
fn csrf(page: &Answer) -> String {
    let text = page.text();
    let at = text.find("name=\"csrf\" ").expect("a form token") + 12;
    let value = text[at..].split('"').nth(1).expect("its value");
    value.to_owned()
}

/// The cookie of a new session.
fn log_in(gateway: &Gateway, token: &str, more: &str) -> String {
    let login = page("/console/login").send(gateway.admin);
    let fields = format!("csrf={}&token={token}{more}", csrf(&login));
    let answer = form("/console/login", &fields).send(gateway.admin);
    assert_eq!(answer.status(), 303, "{}", answer.text());
    let cookie = answer.header("set-cookie").expect("a cookie");
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    cookie.split(';').next().expect("a pair").to_owned()
}

#[test]
fn without_a_token_pages_open_at_once_and_every_answer_is_protected() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox, json!({}));
    let home = page("/").send(gateway.admin);
    assert_eq!(
        (home.status(), home.header("location")),
        (303, Some("/console/"))
    );
    let overview = page("/console/").send(gateway.admin);
    assert_eq!(overview.status(), 200);
    for path in [
        "/console/",
        "/console/nothing",
        "/console/assets/0/console.css",
        "/console/login",
    ] {
        let answer = page(path).send(gateway.admin);
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"),
            "{path}: {policy}"
        );
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
    }
    assert_eq!(page("/console/nothing").send(gateway.admin).status(), 404);
    let text = overview.text();
    let assets: Vec<&str> = text
        .split('"')
        .filter(|part| part.starts_with("/console/assets/"))
        .collect();
    assert!(assets.len() >= 4, "{assets:?}");
    for asset in assets {
        let answer = Request::get(asset).send(gateway.admin);
        assert_eq!(answer.status(), 200, "{asset}");
        assert!(
            answer
                .header("cache-control")
                .unwrap_or_default()
                .contains("immutable")
        );
    }
    assert!(
        !text.contains("<script>") && !text.contains(" style=") && !text.contains(" onclick"),
        "{text}"
    );
    // The data listener has no console.
    assert_eq!(gateway.send(&page("/console/")).status(), 404);
}

#[test]
fn a_page_that_lets_its_name_resolve_to_this_machine_gets_nothing() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox, json!({}));
    for host in ["rebound.example", "127.0.0.1.rebound.example:8403"] {
        let mut stream = connect(gateway.admin);
        let head = format!("GET /console/ HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it is sent");
        let answer = Exchange::new(stream).answer();
        assert_eq!(answer.status(), 403, "{host}");
    }
}

#[test]
fn with_a_token_a_page_asks_for_it_and_leads_back() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox, json!({ "admin_token": TOKEN }));
    let admin = gateway.admin;
    let answer = page("/console/?window=7d").send(admin);
    assert_eq!(answer.status(), 303);
    let login = answer.header("location").expect("a location");
    assert_eq!(login, "/console/login?next=%2Fconsole%2F%3Fwindow%3D7d");
    let shown = page(login).send(admin);
    assert!(shown.text().contains("value=\"/console/?window=7d\""));
    let wrong = format!("csrf={}&token=guess", csrf(&shown));
    assert_eq!(form("/console/login", &wrong).send(admin).status(), 401);
    let without = form("/console/login", &format!("token={TOKEN}")).send(admin);
    assert_eq!(without.status(), 403);
    for (next, expected) in [
        ("/console/?window=7d", "/console/?window=7d"),
        ("//evil.example", "/console/"),
    ] {
        let fields = format!("csrf={}&token={TOKEN}&next={next}", csrf(&shown));
        let answer = form("/console/login", &fields).send(admin);
        assert_eq!(
            (answer.status(), answer.header("location")),
            (303, Some(expected))
        );
    }
    let cookie = log_in(&gateway, TOKEN, "");
    let opened = page("/console/").with("cookie", &cookie).send(admin);
    assert_eq!(opened.status(), 200);
    assert!(!opened.text().contains(TOKEN));
    // The cookie opens the console and nothing else.
    let api = Request::get("/admin/keys")
        .with("cookie", &cookie)
        .send(admin);
    assert_eq!(api.status(), 401);
    // Programs and parts of pages are told, not sent elsewhere.
    assert_eq!(
        Request::get("/console/search?q=a").send(admin).status(),
        401
    );
    let part = Request::get("/console/")
        .with("hx-request", "true")
        .send(admin);
    assert_eq!(
        (part.status(), part.header("hx-redirect")),
        (401, Some("/console/login"))
    );
    let fields = format!("csrf={}", csrf(&opened));
    let left = form("/console/logout", &fields)
        .with("cookie", &cookie)
        .send(admin);
    assert_eq!(left.status(), 303);
    assert_eq!(
        page("/console/")
            .with("cookie", &cookie)
            .send(admin)
            .status(),
        303
    );
    assert!(!gateway.log().contains(TOKEN));
}

#[test]
fn a_reader_sees_and_changes_nothing() {
    let sandbox = Sandbox::start();
    let gateway = gateway(
        &sandbox,
        json!({ "admin_token": TOKEN, "admin_read_token": READER }),
    );
    let admin = gateway.admin;
    for (token, more) in [(READER, ""), (TOKEN, "&read_only=yes")] {
        let cookie = log_in(&gateway, token, more);
        let opened = page("/console/").with("cookie", &cookie).send(admin);
        assert_eq!(opened.status(), 200);
        let fields = format!("csrf={}&name=new", csrf(&opened));
        let made = form("/console/keys", &fields)
            .with("cookie", &cookie)
            .send(admin);
        assert_eq!(made.status(), 403, "{}", made.text());
        assert!(made.text().contains("read only"), "{}", made.text());
    }
    let bearer =
        |request: Request, token: &str| request.with("authorization", &format!("Bearer {token}"));
    let keys = bearer(Request::get("/admin/keys"), READER).send(admin);
    assert_eq!(keys.json()["keys"], json!([]));
    let made = bearer(Request::json("/admin/keys", &json!({})), READER).send(admin);
    assert_eq!(made.status(), 401);
    assert_eq!(
        bearer(Request::get("/metrics"), READER)
            .send(admin)
            .status(),
        200
    );
}

#[test]
fn a_change_needs_the_token_of_its_session_and_its_own_page() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox, json!({ "admin_token": TOKEN }));
    let admin = gateway.admin;
    let [mine, other] = [(); 2].map(|()| log_in(&gateway, TOKEN, ""));
    let token = csrf(&page("/console/").with("cookie", &mine).send(admin));
    let foreign = csrf(&page("/console/").with("cookie", &other).send(admin));
    let send = |fields: &str, headers: &[(&str, &str)]| {
        let request = headers.iter().fold(
            form("/console/keys", fields).with("cookie", &mine),
            |request, (name, value)| request.with(name, value),
        );
        request.send(admin).status()
    };
    assert_eq!(send("name=a", &[]), 403);
    assert_eq!(send(&format!("name=a&csrf={foreign}"), &[]), 403);
    let good = format!("name=a&csrf={token}");
    assert_eq!(send(&good, &[("origin", "http://evil.example")]), 403);
    assert_eq!(send(&good, &[("sec-fetch-site", "cross-site")]), 403);
    let keys = Request::get("/admin/keys").with("authorization", &format!("Bearer {TOKEN}"));
    assert_eq!(keys.send(admin).json()["keys"], json!([]));
    let own = format!("http://{admin}");
    assert_eq!(
        send(
            &good,
            &[("origin", &own), ("sec-fetch-site", "same-origin")]
        ),
        200
    );
    assert_eq!(
        keys.send(admin).json()["keys"].as_array().map(Vec::len),
        Some(1)
    );
    let late = form("/console/keys", &good).send(admin);
    assert_eq!(late.status(), 401);
    assert!(late.text().contains("Log in again"), "{}", late.text());
    assert_eq!(
        form("/console/keys", &"x".repeat(70_000))
            .with("cookie", &mine)
            .send(admin)
            .status(),
        413
    );
    let odd = page("/console/").method("PUT").send(admin);
    assert_eq!(odd.status(), 405);
}

#[test]
fn a_request_shows_in_the_live_feed_as_it_ends() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox, json!({}));
    let mut feed = Request::get("/console/live").open(gateway.admin);
    assert_eq!(feed.head().status, 200);
    let mut seen = Vec::new();
    feed.until(&mut seen, ": connected");
    let body = json!({ "model": "gpt-5.5", "messages": [{ "role": "user", "content": "Hi" }] });
    let answer = gateway.send(&Request::json("/v1/chat/completions", &body));
    assert_eq!(answer.status(), 200);
    feed.until(&mut seen, "\"status\":\"finished\"");
    let text = String::from_utf8_lossy(&seen);
    assert!(
        text.contains("event: request") && text.contains("\"model\":\"gpt-5.5\""),
        "{text}"
    );
    assert!(
        !text.contains("content"),
        "no words of the conversation: {text}"
    );
}

#[test]
fn the_latest_postings_of_a_long_ledger_come_first() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox, json!({}));
    let made = Request::json("/admin/keys", &json!({ "name": "a" })).send(gateway.admin);
    let account = made.json()["account"]
        .as_str()
        .expect("an account")
        .to_owned();
    let path = format!("/admin/balances/{account}/deposits");
    for number in 1..=450 {
        let body = json!({ "usd": "1", "reference": format!("deposit-{number}") });
        let done = Request::json(&path, &body).send(gateway.admin);
        assert_eq!(done.status(), 200, "{}", done.text());
    }
    let shown = page(&format!("/console/accounts/{account}")).send(gateway.admin);
    let text = shown.text();
    let at = |number: u32| text.find(&format!(">deposit-{number}<"));
    assert!(at(450).is_some() && at(450) < at(440), "{text}");
    assert!(at(440).is_some() && at(1).is_none(), "{text}");
}

#[test]
fn two_operators_who_edit_one_key_do_not_undo_each_others_change() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox, json!({}));
    let made = Request::post(
        "/admin/keys",
        "{\"name\":\"shared\",\"account\":\"desk\",\"create_account\":true}",
    );
    let made = made.send(gateway.admin).json();
    let id = made["id"].as_str().expect("an id");
    let path = format!("/console/keys/{id}");
    let first = page(&path).send(gateway.admin);
    let second = page(&path).send(gateway.admin);
    let seen = |page: &Answer| {
        let text = page.text();
        let at = text.find("name=\"version\" ").expect("a version");
        text[at..].split('"').nth(3).expect("its value").to_owned()
    };
    let change = |shown: &Answer, limit: &str| {
        let fields = format!("csrf={}&version={}&{limit}", csrf(shown), seen(shown));
        form(&format!("{path}/limits"), &fields).send(gateway.admin)
    };
    assert_eq!(change(&first, "spend-day=5").status(), 303);
    let late = change(&second, "spend-day=50");
    assert_eq!(late.status(), 409, "{}", late.text());
    assert!(late.text().contains("changed meanwhile"), "{}", late.text());
    let path = format!("/admin/keys/{id}");
    let kept = Request::get(&path).send(gateway.admin).json();
    assert_eq!(kept["scopes"]["spend"]["day"], "5.000000");
    let stale = json!({ "scopes": ["rpm=7"], "version": seen(&second) });
    let mut patch = Request::json(&path, &stale);
    patch.method = "PATCH".into();
    let answer = patch.send(gateway.admin);
    assert_eq!(answer.status(), 409, "{}", answer.text());
}

#[test]
fn the_books_are_verified_by_a_button_and_not_by_a_link() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox, json!({}));
    let list = page("/console/accounts").send(gateway.admin);
    assert!(!list.text().contains("adds up"), "{}", list.text());
    let fields = format!("csrf={}", csrf(&list));
    let verified = form("/console/accounts/verify", &fields).send(gateway.admin);
    assert_eq!(verified.status(), 200, "{}", verified.text());
    assert!(verified.text().contains("everything adds up"));
    let forged = form("/console/accounts/verify", "csrf=x").send(gateway.admin);
    assert_eq!(forged.status(), 403, "{}", forged.text());
}
