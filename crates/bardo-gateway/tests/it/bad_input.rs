//! Whatever a caller sends, it gets an answer in its own dialect that says what to change.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::http::{Answer, Exchange, Request, connect};
use crate::rig::{Gateway, Sandbox, config, makers, with};
use crate::scripted::Scripted;
use crate::sse::Caller;

pub(crate) fn start() -> (Sandbox, Gateway) {
    let sandbox = Sandbox::start();
    let settings = with(makers(&sandbox), "server", json!({ "max_body": "256KiB" }));
    (sandbox, Gateway::start(&settings))
}

#[track_caller]
pub(crate) fn check(caller: Caller, answer: &Answer, status: u16, code: &str, words: &str) {
    assert_eq!(answer.status(), status, "{caller:?} {}", answer.text());
    let body = answer.json();
    caller.check_error(&body);
    assert_eq!(body["error"]["bardo_code"], code, "{body}");
    let message = body["error"]["message"].as_str().expect("a message");
    assert!(
        message.contains(words),
        "{caller:?} {message:?} lacks {words:?}"
    );
    assert!(answer.header("x-request-id").is_some());
    assert_eq!(answer.header("x-request-id"), answer.header("request-id"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[track_caller]
pub(crate) fn post(gateway: &Gateway, caller: Caller, body: impl Into<Vec<u8>>) -> Answer {
    gateway.send(&Request::post(caller.path(), body))
}

#[test]
fn bodies_that_are_no_json_object() {
    let (sandbox, gateway) = start();
    let deep = format!(
        "{{\"model\":\"gpt-5.5\",\"x\":{}1{}}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let mut latin = br#"{"model":"gpt-5.5","messages":[{"role":"user","content":""#.to_vec();
    latin.extend(b"caf\xe9\"}]}");
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "JSON object"),
        (b"{".to_vec(), "JSON object"),
        (b"{\"model\":\"gpt-5.5\",}".to_vec(), "JSON object"),
        (b"{\"model\":\"gpt-5.5\"} trailing".to_vec(), "JSON object"),
        (b"[]".to_vec(), "JSON object"),
        (b"\"text\"".to_vec(), "JSON object"),
        (b"null".to_vec(), "JSON object"),
        (b"{\"model\":\"gpt-5.5\",\"x\":NaN}".to_vec(), "JSON object"),
        (b"{\"model\":\"gpt-5.5\",\"x\":01}".to_vec(), "JSON object"),
        (b"{\"model\":\"gpt-5.5\",\"x\":\"\\ud800\"}".to_vec(), ""),
        (latin, "UTF-8"),
        (deep.into_bytes(), "deep"),
        (
            b"{\"model\":\"gpt-5.5\",\"messages\":[],\"model\":\"o3\"}".to_vec(),
            "duplicate",
        ),
    ];
    for caller in Caller::ALL {
        for (body, words) in &cases {
            let answer = post(&gateway, caller, body.clone());
            assert_eq!(
                answer.status(),
                400,
                "{} {}",
                String::from_utf8_lossy(body),
                answer.text()
            );
            if !words.is_empty() {
                check(caller, &answer, 400, "invalid_json", words);
            }
        }
    }
    // What is no text at all may be passed on, but never to a provider as something else.
    assert!(sandbox.journal().iter().all(|entry| entry["status"] == 400));
}

#[test]
fn members_of_the_wrong_type_are_named() {
    let (sandbox, gateway) = start();
    for caller in Caller::ALL {
        let good = caller.request("gpt-5.5", "Hello", false);
        for (member, value, words) in [
            ("model", json!(5), "must be a string"),
            ("model", json!(null), "must be a string"),
            ("model", json!(""), "1 to 256 bytes"),
            ("model", json!("x".repeat(5000)), "1 to 256 bytes"),
            ("stream", json!("yes"), "true or false"),
            ("stream", json!(1), "true or false"),
            ("bardo", json!("fast"), "object of hints"),
            (
                "bardo",
                json!({ "intent": { "require": "vision" } }),
                "list of names",
            ),
            ("bardo", json!({ "vitality": [1] }), "must be a number"),
            (
                "bardo",
                json!({ "security_class": "secret" }),
                "one of standard",
            ),
        ] {
            let answer = post(
                &gateway,
                caller,
                with(good.clone(), member, value).to_string(),
            );
            check(caller, &answer, 400, "invalid_request", words);
            if caller != Caller::Anthropic {
                let param = answer.json()["error"]["param"].clone();
                let param = param.as_str().expect("a name").to_owned();
                assert!(param.starts_with(member), "{param}");
            }
        }
        let mut without = good.clone();
        without.as_object_mut().expect("an object").remove("model");
        let answer = post(&gateway, caller, without.to_string());
        check(caller, &answer, 400, "invalid_request", "GET /v1/models");
    }
    assert!(sandbox.journal().is_empty(), "nobody was asked");
}

/// Where the request has to be understood, each member is checked before anybody is asked.
#[test]
fn members_of_the_wrong_type_are_named_when_translating() {
    let (sandbox, gateway) = start();
    let cases = [
        (Caller::Chat, "claude-sonnet-5-5", "messages", json!("hi")),
        (
            Caller::Chat,
            "claude-sonnet-5-5",
            "messages",
            json!([{ "content": "x" }]),
        ),
        (
            Caller::Chat,
            "claude-sonnet-5-5",
            "messages",
            json!([{ "role": "user", "content": 7 }]),
        ),
        (
            Caller::Chat,
            "claude-sonnet-5-5",
            "tools",
            json!({ "name": "f" }),
        ),
        (Caller::Chat, "claude-sonnet-5-5", "tool_choice", json!(5)),
        (Caller::Anthropic, "gpt-5.5", "messages", json!(null)),
        (
            Caller::Anthropic,
            "gpt-5.5",
            "messages",
            json!([{ "role": "user", "content": [{ "type": "text" }] }]),
        ),
        (Caller::Anthropic, "gpt-5.5", "system", json!(3)),
        (Caller::Anthropic, "gpt-5.5", "max_tokens", json!("many")),
        (Caller::Anthropic, "gpt-5.5", "tools", json!([1])),
        (Caller::Responses, "claude-sonnet-5-5", "input", json!(1)),
        (
            Caller::Responses,
            "claude-sonnet-5-5",
            "input",
            json!([{ "type": "message", "role": "user", "content": 1 }]),
        ),
        (Caller::Responses, "claude-sonnet-5-5", "tools", json!("f")),
    ];
    for (caller, model, member, value) in cases {
        let what = format!("{caller:?} {member}={value}");
        let body = with(caller.request(model, "Hello", false), member, value);
        let answer = post(&gateway, caller, body.to_string());
        assert_eq!(answer.status(), 400, "{what}: {}", answer.text());
        let body = answer.json();
        caller.check_error(&body);
        assert_eq!(body["error"]["bardo_code"], "invalid_request", "{what}");
        let text = answer.text();
        assert!(text.contains(member), "{what}: {text}");
    }
    assert!(sandbox.journal().is_empty(), "nobody was asked");
}

#[test]
fn a_messages_request_without_its_limit_is_refused_before_any_backend_is_asked() {
    let (sandbox, gateway) = start();
    for model in [
        "gpt-5.5",
        "claude-sonnet-5-5",
        "deepseek-v4-pro",
        "bardo/auto",
    ] {
        for limit in [None, Some(Value::Null)] {
            let mut body = Caller::Anthropic.request(model, "Hello", false);
            let members = body.as_object_mut().expect("an object");
            members.remove("max_tokens");
            if let Some(limit) = limit {
                members.insert("max_tokens".into(), limit);
            }
            let answer = post(&gateway, Caller::Anthropic, body.to_string());
            assert_eq!(answer.status(), 400, "{model}: {}", answer.text());
            let error = &answer.json()["error"];
            assert_eq!(error["bardo_code"], "invalid_request", "{model}: {error}");
            let message = error["message"].as_str().expect("a message");
            assert!(message.contains("`max_tokens` is required"), "{message}");
        }
    }
    assert!(sandbox.journal().is_empty(), "nobody was asked");
}

#[test]
fn models_that_nobody_serves() {
    let (_, gateway) = start();
    for caller in Caller::ALL {
        for (model, words) in [
            ("claude-sonet-5-5", "did you mean `claude-sonnet-5-5`?"),
            ("GPT5.5", "did you mean `gpt-5.5`?"),
            ("no-such-thing-at-all", "GET /v1/models"),
            ("bardo/t9", "`"),
        ] {
            let body = caller.request(model, "Hello", true);
            let answer = post(&gateway, caller, body.to_string());
            check(caller, &answer, 404, "model_not_found", words);
            assert!(answer.text().contains(model));
        }
    }
}

#[test]
fn bodies_that_are_too_large() {
    let (sandbox, gateway) = start();
    for caller in Caller::ALL {
        // Far more than fits into the sockets' buffers: the answer has to survive the rest.
        let body = caller
            .request("gpt-5.5", &"x".repeat(8 << 20), false)
            .to_string();
        let announced = gateway.send(&Request::post(caller.path(), body.clone()));
        check(caller, &announced, 413, "body_too_large", "server.max_body");
        assert_eq!(announced.header("connection"), Some("close"));

        let mut stream = connect(gateway.address);
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
            caller.path()
        );
        let _ = stream.write_all(head.as_bytes());
        for piece in body.as_bytes().chunks(60_000) {
            let _ = stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes());
            let _ = stream.write_all(piece);
            let _ = stream.write_all(b"\r\n");
        }
        let _ = stream.write_all(b"0\r\n\r\n");
        let chunked = Exchange::new(stream).answer();
        check(caller, &chunked, 413, "body_too_large", "server.max_body");
    }
    assert!(sandbox.journal().is_empty());
}

#[test]
fn a_caller_that_asks_first_need_not_send_a_body_that_is_too_large() {
    let (_, gateway) = start();
    let mut stream = connect(gateway.address);
    stream
        .write_all(
            b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
              expect: 100-continue\r\ncontent-length: 9000000\r\n\r\n",
        )
        .expect("it is read");
    let answer = Exchange::new(stream).answer();
    check(
        Caller::Anthropic,
        &answer,
        413,
        "body_too_large",
        "server.max_body",
    );
}

#[test]
fn headers_that_are_too_many_or_too_large() {
    let (_, gateway) = start();
    for caller in Caller::ALL {
        let body = caller.request("gpt-5.5", "Hello", false).to_string();
        let mut many = Request::post(caller.path(), body.clone());
        for n in 0..200 {
            many = many.with(&format!("x-filler-{n}"), &"0123456789".repeat(40));
        }
        let large = Request::post(caller.path(), body).with("x-filler", &"x".repeat(300_000));
        for request in [many, large] {
            let answer = gateway.send(&request);
            check(
                caller,
                &answer,
                431,
                "header_too_large",
                "server.max_header",
            );
        }
    }
    let listed = gateway.send(&Request::get("/v1/models").with("x-filler", &"x".repeat(300_000)));
    assert_eq!(listed.status(), 431);
    // Beyond what is read at all, the refusal has no words, and it still comes.
    let endless = Request::get("/v1/models").with("x-filler", &"x".repeat(4 << 20));
    let mut countless = Request::get("/v1/models");
    for n in 0..3000 {
        countless = countless.with(&format!("x-filler-{n}"), "0123456789");
    }
    for request in [endless, countless] {
        let answer = request.open(gateway.address).try_head();
        assert!(answer.is_none_or(|head| head.status == 431));
    }
    assert_eq!(gateway.send(&Request::get("/health/ready")).status(), 200);
}

#[test]
fn wrong_methods_and_unknown_paths() {
    let (_, gateway) = start();
    for caller in Caller::ALL {
        for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            let answer = gateway.send(&Request::get(caller.path()).method(method));
            check(caller, &answer, 405, "method_not_allowed", "use POST");
            assert_eq!(answer.header("allow"), Some("POST"));
        }
    }
    let answer = gateway.send(&Request::json("/v1/models", &json!({})));
    check(Caller::Chat, &answer, 405, "method_not_allowed", "use GET");
    for path in [
        "/",
        "/v1",
        "/v1/nothing",
        "/v1/chat",
        "/admin",
        "/v1/../etc/passwd",
    ] {
        let answer = gateway.send(&Request::json(path, &json!({})));
        check(
            Caller::Chat,
            &answer,
            404,
            "unknown_endpoint",
            "/v1/messages",
        );
    }
    for (caller, path) in [
        (Caller::Chat, "/v1/batches"),
        (Caller::Anthropic, "/v1/messages/batches"),
        (Caller::Chat, "/v1/files"),
        (Caller::Chat, "/v1/images/generations"),
    ] {
        let mut parts = path.split('/').filter(|part| *part != "messages");
        let api = parts.nth(2).expect("an API");
        let request = Request::json(path, &json!({}));
        let request = match caller {
            Caller::Anthropic => request.with("anthropic-version", "2023-06-01"),
            _ => request,
        };
        let answer = gateway.send(&request);
        let says = format!("this gateway has no API for {api}");
        check(caller, &answer, 404, "unknown_endpoint", &says);
    }
    let versioned =
        Request::json("/v1/nothing", &json!({})).with("anthropic-version", "2023-06-01");
    check(
        Caller::Anthropic,
        &gateway.send(&versioned),
        404,
        "unknown_endpoint",
        "/v1/messages",
    );
}

#[test]
fn a_required_feature_that_would_be_lost_is_refused() {
    let (sandbox, gateway) = start();
    // Anthropic has no `logit_bias` and no `seed`.
    let lost = |require: Value| {
        json!({
            "model": "claude-sonnet-5-5", "logit_bias": { "50": 1 }, "seed": 7,
            "messages": [{ "role": "user", "content": "Hello" }],
            "bardo": { "intent": { "require": require } },
        })
    };
    let answer = post(&gateway, Caller::Chat, lost(json!([])).to_string());
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let degraded = answer
        .header("x-bardo-degraded")
        .expect("losses")
        .to_owned();
    assert!(degraded.split(',').any(|lost| lost == "seed"), "{degraded}");
    sandbox.forget();
    let answer = post(&gateway, Caller::Chat, lost(json!(["seed"])).to_string());
    check(Caller::Chat, &answer, 400, "feature_unavailable", "seed");
    assert_eq!(answer.json()["error"]["param"], "seed");
    let by_header = Request::json("/v1/chat/completions", &{
        let mut body = lost(json!([]));
        body.as_object_mut().expect("an object").remove("bardo");
        body
    })
    .with("x-bardo-require", "vision, seed");
    check(
        Caller::Chat,
        &gateway.send(&by_header),
        400,
        "feature_unavailable",
        "seed",
    );
    assert!(sandbox.journal().is_empty(), "nobody was asked");
}

#[test]
fn a_caller_that_sends_slowly_is_told_so() {
    let upstream = Scripted::always("{}");
    let keys = config(&[crate::rig::direct("openai", &upstream.at("/v1"), &["m"])]);
    let gateway = Gateway::start(&with(keys, "server", json!({ "read_timeout": "300ms" })));
    for caller in Caller::ALL {
        let mut stream = connect(gateway.address);
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{{\"model\"",
            caller.path()
        );
        stream.write_all(head.as_bytes()).expect("it is read");
        let answer = Exchange::new(stream).answer();
        check(caller, &answer, 408, "read_timeout", "server.read_timeout");
    }
    // A head that never ends is cut off.
    let mut stream = connect(gateway.address);
    stream
        .write_all(b"POST /v1/messages HTTP/1.1\r\nhost: ")
        .expect("it is read");
    let head = Exchange::new(stream).try_head();
    assert!(head.is_none_or(|head| head.status == 408));
}
