//! Who may call.

use serde_json::{Value, json};

use crate::http::Request;
use crate::rig::{Gateway, config, direct};
use crate::scripted::Scripted;
use crate::sse::Caller;

const KEY: &str = "bardo_sk_a_0123456789abcdef0123";
const OTHER: &str = "bardo_sk_b_0123456789abcdef0123";

fn gateway(keys: Value) -> (Scripted, Gateway) {
    let upstream = Scripted::always(
        r#"{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}"#,
    );
    let mut settings = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    settings["auth"] = json!({ "keys": keys });
    let gateway = Gateway::start(&settings);
    (upstream, gateway)
}

#[test]
fn a_key_opens_by_either_header_and_nothing_else_does() {
    let (upstream, gateway) =
        gateway(json!([{ "id": "a", "key": KEY }, { "id": "b", "key": OTHER }]));
    let bearer = |key: &str| ("authorization", format!("Bearer {key}"));
    let plain = |key: &str| ("x-api-key", key.to_owned());
    let good = [
        vec![bearer(KEY)],
        vec![plain(KEY)],
        vec![bearer(OTHER)],
        vec![bearer(KEY), plain(KEY)],
        vec![("authorization", format!("bearer  {KEY} "))],
    ];
    let missing = [
        vec![],
        vec![("authorization", String::new())],
        vec![plain("")],
        vec![("authorization", "Basic dXNlcjpwYXNz".to_owned())],
        vec![("authorization", KEY.to_owned())],
        vec![("api-key", KEY.to_owned())],
        vec![("cookie", format!("key={KEY}"))],
    ];
    let wrong = [
        vec![bearer("bardo_sk_a_wrong")],
        vec![plain("sk-other")],
        vec![bearer(&KEY[..KEY.len() - 1])],
        vec![bearer(&format!("{KEY}x"))],
        vec![bearer(&KEY.to_uppercase())],
        // A bad credential is refused, whatever stands beside it.
        vec![bearer(KEY), plain("sk-other")],
        vec![bearer("sk-other"), plain(KEY)],
        vec![bearer("' OR 1=1 --")],
    ];
    for caller in Caller::ALL {
        let body = caller.request("m", "Hello", false);
        let ask = |headers: &[(&str, String)]| {
            let mut request = Request::json(caller.path(), &body);
            for (name, value) in headers {
                request = request.with(name, value);
            }
            gateway.send(&request)
        };
        for headers in &good {
            assert_eq!(ask(headers).status(), 200, "{headers:?}");
        }
        for (cases, code) in [(&missing[..], "missing_key"), (&wrong[..], "invalid_key")] {
            for headers in cases {
                let answer = ask(headers);
                assert_eq!(answer.status(), 401, "{headers:?}");
                let body = answer.json();
                caller.check_error(&body);
                assert_eq!(body["error"]["bardo_code"], code, "{headers:?}");
                let (key, value) = match caller {
                    Caller::Anthropic => ("type", "authentication_error"),
                    _ => ("code", "invalid_api_key"),
                };
                assert_eq!(body["error"][key], value, "{body}");
            }
        }
    }
    let body = Caller::Chat.request("m", "Hello", false);
    let both = Request::json("/v1/chat/completions", &body)
        .with("authorization", &format!("Bearer {KEY}"))
        .with("x-api-key", OTHER);
    let answer = gateway.send(&both);
    assert_eq!(answer.status(), 400, "whose request would it be?");
    assert!(answer.text().contains("x-api-key"));
    assert_eq!(upstream.got().len(), 3 * good.len());
    // Lists are for callers too; health is for everybody.
    assert_eq!(gateway.send(&Request::get("/v1/models")).status(), 401);
    assert_eq!(gateway.send(&Request::get("/v1/models/m")).status(), 401);
    for path in ["/health/live", "/health/ready", "/healthz"] {
        assert_eq!(gateway.send(&Request::get(path)).status(), 200);
        assert_eq!(Request::get(path).send(gateway.admin).status(), 200);
    }
}

#[test]
fn without_keys_this_machine_may_call_and_foreign_pages_may_not() {
    let (upstream, gateway) = gateway(json!([]));
    for caller in Caller::ALL {
        let request = Request::json(caller.path(), &caller.request("m", "Hello", false));
        for origin in [
            "http://localhost:3000",
            "http://127.0.0.1:8080",
            "http://[::1]",
        ] {
            let answer = gateway.send(&request.clone().with("origin", origin));
            assert_eq!(answer.status(), 200, "{origin}");
        }
        let keyed = request
            .clone()
            .with("x-api-key", "whatever an SDK insists on");
        assert_eq!(gateway.send(&keyed).status(), 200);
        for origin in [
            "https://evil.example",
            "null",
            "http://localhost.evil.example",
            "file://",
        ] {
            let answer = gateway.send(&request.clone().with("origin", origin));
            assert_eq!(answer.status(), 403, "{origin}");
            caller.check_error(&answer.json());
            assert_eq!(answer.json()["error"]["bardo_code"], "foreign_page");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    assert_eq!(upstream.got().len(), 12);
    let listed = Request::get("/v1/models").with("origin", "https://evil.example");
    assert_eq!(gateway.send(&listed).status(), 403);
}

#[test]
fn a_token_whose_issuer_does_not_answer_is_not_wrong_and_everybody_needs_one() {
    let upstream = Scripted::always("{}");
    let mut settings = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    // The port of a server that answers, and not with keys.
    let elsewhere = upstream.at("/jwks.json");
    settings["auth"] = json!({ "privy": { "app_id": "app-1", "jwks_url": elsewhere } });
    let gateway = Gateway::start(&settings);
    for caller in Caller::ALL {
        let request = Request::json(caller.path(), &caller.request("m", "Hello", false));
        let token = request.clone().with("authorization", "Bearer privy_a.b.c");
        let answer = gateway.send(&token);
        assert_eq!(answer.status(), 503, "{}", answer.text());
        caller.check_error(&answer.json());
        assert_eq!(answer.json()["error"]["bardo_code"], "store_unavailable");
        assert!(answer.header("retry-after").is_some());
        assert_eq!(gateway.send(&request).status(), 401);
        let key = request.clone().with("x-api-key", "bardo_sk_a_b");
        assert_eq!(gateway.send(&key).status(), 401);
    }
}
