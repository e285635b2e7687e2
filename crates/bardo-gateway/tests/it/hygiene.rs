//! What must not get through: callers' credentials upstream, providers' headers and keys
//! downstream, addresses from bodies anywhere.

use serde_json::{Value, json};

use crate::http::{Request, contains};
use crate::rig::{Gateway, Sandbox, config, direct, eventually, everything};
use crate::scripted::Scripted;
use crate::sse::Caller;

const CALLER_KEY: &str = "bardo_sk_caller_canary0123456789abcdef";

fn keyed(mut settings: Value) -> Value {
    settings["auth"] = json!({ "keys": [{ "id": "caller", "key": CALLER_KEY }] });
    settings
}

const CANARIES: &[(&str, &str)] = &[
    ("cookie", "session=canary"),
    ("proxy-authorization", "Basic canary"),
    ("x-forwarded-for", "203.0.113.canary"),
    ("x-forwarded-host", "canary.example"),
    ("x-forwarded-proto", "canary"),
    ("forwarded", "for=canary"),
    ("x-real-ip", "canary"),
    ("x-api-key", CALLER_KEY),
    ("x-goog-api-key", "canary"),
    ("api-key", "canary"),
    ("openai-organization", "canary"),
    ("openai-project", "canary"),
    ("x-bardo-session-id", "canary"),
    ("x-bardo-subsystem", "canary"),
    ("x-payment", "canary"),
    ("payment-signature", "canary"),
    ("x-stainless-lang", "canary"),
    ("referer", "https://canary.example/"),
    ("x-unknown", "canary"),
    ("te", "trailers"),
    ("accept-encoding", "gzip, canary"),
    ("user-agent", "canary/1"),
    ("via", "1.1 canary"),
];

#[test]
fn nothing_of_the_callers_headers_travels_on_unless_listed() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&keyed(everything(&sandbox)));
    for caller in Caller::ALL {
        for model in [
            "gpt-5.5",
            "claude-sonnet-5-5",
            "gemini-3-flash",
            "deepseek-v4-flash",
            "local-x",
            "openrouter/gpt-5.5",
            "venice/llama-3.3-70b",
            "bankr/claude-sonnet-4.5",
        ] {
            let body = caller.request(model, "Hello", false);
            let mut request = Request::json(caller.path(), &body)
                .with("authorization", &format!("Bearer {CALLER_KEY}"))
                .with(
                    "traceparent",
                    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                );
            for (name, value) in CANARIES {
                request = request.with(name, value);
            }
            gateway.send(&request);
        }
    }
    let entries = sandbox.journal();
    assert!(entries.len() >= 20, "{}", entries.len());
    for entry in &entries {
        let text = entry.to_string();
        assert!(!text.contains("canary"), "{text}");
        let headers = entry["headers"].as_array().expect("headers");
        for name in [
            "te",
            "cookie",
            "x-payment",
            "accept-encoding",
            "x-bardo-sandbox-from",
            "traceparent",
        ] {
            assert!(
                !headers.iter().any(|pair| pair[0] == name),
                "{name} in {text}"
            );
        }
    }
}

/// Spellings under which other gateways let a caller choose the address or the key.
fn smuggled(trap: &str) -> Vec<(String, Value)> {
    let names = [
        "api_base",
        "base_url",
        "baseURL",
        "api_key",
        "apiKey",
        "endpoint",
        "url",
        "host",
        "custom_llm_provider",
        "api_version",
        "organization",
        "proxy",
        "proxy_url",
        "webhook",
        "callback_url",
        "azure_endpoint",
        "provider_url",
        "target",
        "upstream",
        "x-base-url",
    ];
    let mut all: Vec<(String, Value)> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!(trap)))
        .collect();
    for holder in [
        "extra_body",
        "litellm_params",
        "metadata",
        "provider",
        "config",
        "options",
        "bardo",
        "user_config",
    ] {
        all.push((
            holder.to_owned(),
            json!({ "api_base": trap, "base_url": trap, "api_key": "canary-key", "url": trap }),
        ));
        all.push((holder.to_owned(), json!({ "extra_body": { "api_base": trap }, "model_list": [{ "litellm_params": { "api_base": trap } }] })));
    }
    all
}

#[test]
fn no_member_and_no_header_chooses_the_address_or_the_key() {
    let trap = Scripted::always("{}");
    let sandbox = Sandbox::start();
    let upstream = Scripted::always(
        r#"{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}"#,
    );
    let mut settings = everything(&sandbox);
    settings["providers"]["direct"]["keys"]
        .as_array_mut()
        .expect("keys")
        .push(direct("openai", &upstream.at("/v1"), &["m"]));
    let gateway = Gateway::start(&settings);
    for caller in Caller::ALL {
        for model in ["m", "claude-sonnet-5-5"] {
            for (name, value) in smuggled(&trap.at("/v1")) {
                let mut body = caller.request(model, "Hello", false);
                body[name] = value;
                gateway.send(&Request::json(caller.path(), &body));
            }
        }
        let body = caller.request("m", "Hello", false);
        let at = trap.at("");
        let host = trap.address.to_string();
        for (name, value) in [
            ("x-forwarded-host", &host),
            ("x-base-url", &at),
            ("x-upstream", &at),
            ("x-portkey-custom-host", &at),
            ("helicone-target-url", &at),
            ("openai-base-url", &at),
            ("location", &at),
        ] {
            gateway.send(&Request::json(caller.path(), &body).with(name, value));
        }
        for model in [
            &*at,
            &format!("{at}/m"),
            "../../m",
            "m?x=http://127.0.0.1",
            "direct/../m",
            "m#f",
            "m\r\nhost: x",
        ] {
            let body = caller.request(model, "Hello", false);
            let status = gateway.send(&Request::json(caller.path(), &body)).status();
            assert!(status < 500, "{model:?} {status}");
        }
    }
    // An address for the caller's content is fetched by providers, never from here.
    let image = json!({
        "model": "claude-sonnet-5-5",
        "messages": [{ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": trap.at("/x.png") } }] }],
    });
    gateway.send(&Request::json("/v1/chat/completions", &image));
    assert_eq!(trap.connections(), 0);
    for got in upstream.got() {
        let key = got.headers.iter().find(|(name, _)| name == "authorization");
        assert_eq!(key.map(|(_, value)| &**value), Some("Bearer up-key"));
    }
}

#[test]
fn names_in_a_path_cannot_leave_it() {
    let upstream = Scripted::always("{}");
    let mut keys = config(&[direct("google", &upstream.at(""), &["*"])]);
    keys["providers"]["direct"]["keys"][0]["models"] = json!(["*"]);
    let gateway = Gateway::start(&keys);
    for model in [
        "gemini/../../secret",
        "g?key=1",
        "g#x",
        "g h",
        "g%2f..",
        "g\\x",
        "gé",
    ] {
        let body = Caller::Chat.request(model, "Hello", false);
        gateway.send(&Request::json("/v1/chat/completions", &body));
    }
    for got in upstream.got() {
        let path = got.line.split(' ').nth(1).expect("a path").to_owned();
        let name = path
            .strip_prefix("/v1beta/models/")
            .and_then(|rest| rest.strip_suffix(":generateContent"))
            .unwrap_or_else(|| panic!("{}", got.line));
        assert!(
            name.chars()
                .all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)),
            "{name}"
        );
    }
}

#[test]
fn redirects_are_not_followed() {
    let trap = Scripted::always("{}");
    let to = trap.at("/v1/chat/completions");
    let upstream = Scripted::start(move |mut turn| {
        turn.write(format!(
            "HTTP/1.1 307 X\r\nlocation: {to}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        ));
    });
    let gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    for caller in Caller::ALL {
        for stream in [false, true] {
            let body = caller.request("m", "Hello", stream);
            let answer = gateway.send(&Request::json(caller.path(), &body));
            assert_eq!(answer.status(), 502);
            assert_eq!(answer.header("location"), None);
            assert!(!answer.text().contains(&trap.address.to_string()));
            caller.check_error(&answer.json());
        }
    }
    assert_eq!(trap.connections(), 0);
}

/// The only headers that callers ever see.
const KNOWN: &[&str] = &[
    "content-type",
    "content-length",
    "transfer-encoding",
    "connection",
    "date",
    "cache-control",
    "x-accel-buffering",
    "x-request-id",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "allow",
];

#[test]
fn nothing_of_the_providers_headers_travels_back_unless_listed() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let upstream = Scripted::start(|mut turn| {
        let body = r#"{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}"#;
        turn.write(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nset-cookie: canary=1\r\nserver: canary\r\n\
             x-canary: canary\r\nx-ratelimit-limit-tokens: 7\r\naccess-control-allow-origin: *\r\n\
             x-bardo-cost: canary\r\nlocation: canary\r\nx-request-id: up-canary-1\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
    });
    let own = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    let check = |gateway: &Gateway, caller: Caller, model: &str, stream: bool| {
        let body = caller.request(model, "Hello", stream);
        let answer = gateway.send(&Request::json(caller.path(), &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        for (name, value) in &answer.head.headers {
            assert!(
                KNOWN.contains(&&**name) || name.starts_with("x-bardo-"),
                "{name}: {value}"
            );
            // Its id for the request is shown, under a name of ours.
            assert!(
                !value.contains("canary") || name == "x-bardo-upstream-request-id",
                "{name}: {value}"
            );
        }
    };
    for caller in Caller::ALL {
        check(&own, caller, "m", false);
        for stream in [false, true] {
            for model in [
                "gpt-5.5",
                "claude-sonnet-5-5",
                "gemini-3-flash",
                "openrouter/gpt-5.5",
            ] {
                check(&gateway, caller, model, stream);
            }
        }
    }
}

/// A provider that repeats the key it got, in every kind of failure.
fn parrot() -> Scripted {
    Scripted::start(|mut turn| {
        let key = turn
            .got
            .headers
            .iter()
            .find(|(name, _)| name == "authorization")
            .map_or_else(String::new, |(_, value)| value.clone());
        let asked = turn.got.text().to_owned();
        let error = |status: u16| {
            format!(
                r#"{{"error":{{"message":"Incorrect API key provided: {key} (also sk-ant-api03-OTHERKEY0123456789), status {status}","type":"x","code":"{key}","param":"{key}"}}}}"#
            )
        };
        if let Some(status) = [400, 401, 403, 404, 429, 500, 503]
            .into_iter()
            .find(|status| asked.contains(&format!("status {status}")))
        {
            turn.answer(status, "application/json", &error(status));
        } else if asked.contains("midstream") {
            turn.stream_head();
            turn.chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n");
            turn.chunk(format!("data: {}\n\n", error(500)));
            turn.end();
        } else if asked.contains("inside") {
            turn.json(&error(500));
        } else {
            turn.answer(502, "text/html", &format!("<html>{key}</html>"));
        }
    })
}

#[test]
fn keys_appear_neither_in_answers_nor_in_logs() {
    const UP_KEY: &str = "sk-proj-CANARYCANARYCANARY0123456789";
    let upstream = parrot();
    let mut settings = keyed(config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    settings["providers"]["direct"]["keys"][0]["api_key"] = json!("env:UP_KEY");
    settings["providers"]["direct"]["keys"][0]["api"] = json!("chat");
    let gateway = Gateway::start_with(
        &settings,
        &[("UP_KEY", UP_KEY), ("RUST_LOG", "trace"), ("NO_COLOR", "1")],
    );
    let mut asked = 0;
    for caller in Caller::ALL {
        for stream in [false, true] {
            for text in [
                "status 400",
                "status 401",
                "status 403",
                "status 404",
                "status 429",
                "status 500",
                "status 503",
                "midstream",
                "inside",
                "page",
            ] {
                if text == "midstream" && !stream {
                    continue;
                }
                let body = caller.request("m", text, stream);
                let request = Request::json(caller.path(), &body)
                    .with("authorization", &format!("Bearer {CALLER_KEY}"));
                let answer = gateway.send(&request);
                asked += 1;
                let shown = format!("{:?} {}", answer.head, answer.text());
                for secret in [UP_KEY, CALLER_KEY, "OTHERKEY"] {
                    assert!(!shown.contains(secret), "{caller:?} {text}: {shown}");
                }
                match text {
                    "status 401" | "status 403" => assert_eq!(answer.status(), 502, "{shown}"),
                    "midstream" => assert_eq!(answer.status(), 200, "{shown}"),
                    _ => assert!(answer.status() >= 400, "{shown}"),
                }
            }
        }
    }
    let wrong = Request::get("/v1/models").with("x-api-key", "bardo_sk_wrong_WRONGKEYCANARY");
    assert_eq!(gateway.send(&wrong).status(), 401);
    let log = eventually("each failure is logged", || {
        let log = gateway.log();
        (log.matches("provider failed").count() >= asked).then_some(log)
    });
    for secret in [UP_KEY, CALLER_KEY, "OTHERKEY", "WRONGKEYCANARY"] {
        assert!(
            !contains(log.as_bytes(), secret.as_bytes()),
            "{secret} is logged"
        );
    }
    assert!(!gateway.status().to_string().contains("CANARY"));
}

#[test]
fn a_large_error_body_is_read_in_part_and_quoted_in_part() {
    let upstream = Scripted::start(|mut turn| {
        let page = format!("<html>{}</html>", "x".repeat(3 << 20));
        turn.answer(500, "text/html", &page);
    });
    let gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    for caller in Caller::ALL {
        let body = caller.request("m", "Hello", false);
        let answer = gateway.send(&Request::json(caller.path(), &body));
        assert_eq!(answer.status(), 502);
        assert!(answer.body.len() < 10_000, "{}", answer.body.len());
        caller.check_error(&answer.json());
    }
}

/// A name that resolves into somebody's network is refused unless the owner says so. This spelling
/// is a name like any other, and the machine's own usually is one too.
#[test]
fn names_of_private_addresses_are_refused() {
    use std::net::ToSocketAddrs as _;
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let sandbox = Sandbox::start();
    let mut asked = 0;
    for name in ["LOCALHOST", own.trim()] {
        let inside = (name, 80)
            .to_socket_addrs()
            .is_ok_and(|mut found| found.any(|address| address.ip().is_loopback()));
        if !inside {
            continue;
        }
        asked += 1;
        let url = format!("http://{name}:{}/openai/v1", sandbox.address.port());
        for (allowed, status) in [(false, 502), (true, 200)] {
            let mut settings = config(&[direct("openai", &url, &["gpt-5.5"])]);
            settings["providers"]["direct"]["keys"][0]["allow_private"] = json!(allowed);
            let gateway = Gateway::start(&settings);
            sandbox.forget();
            let body = Caller::Chat.request("gpt-5.5", "Hello", false);
            let answer = gateway.send(&Request::json("/v1/chat/completions", &body));
            assert_eq!(answer.status(), status, "{name} {}", answer.text());
            assert_eq!(sandbox.journal().len(), usize::from(allowed), "{name}");
        }
    }
    assert!(asked > 0, "loopback has a name");
}
