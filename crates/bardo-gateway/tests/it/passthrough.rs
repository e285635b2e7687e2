//! One dialect in and out: bytes go through unchanged, in both directions.

use serde_json::{Value, json};

use crate::http::Request;
use crate::rig::{Gateway, Sandbox, config, direct, everything};
use crate::scripted::Scripted;
use crate::sse::{Caller, blocks, events, without_figures};

const CLAUDE_CODE: &str =
    include_str!("../../../../tests/clients/fixtures/claude-code-request.json");
const CODEX: &str = include_str!("../../../../tests/clients/fixtures/codex-request.json");
const AGENT_CHAT: &str = include_str!("../../../../tests/clients/fixtures/agent-120k-openai.json");
const AGENT_ANTHROPIC: &str =
    include_str!("../../../../tests/clients/fixtures/agent-120k-anthropic.json");

/// A request as a real client sent it, with what belongs to its own connection left out.
fn recorded(fixture: &str) -> Request {
    let fixture: Value = serde_json::from_str(fixture).expect("a fixture is JSON");
    let mut request = Request::post(
        fixture["path"].as_str().expect("a path"),
        fixture["body"].as_str().expect("a body"),
    );
    request.headers.clear();
    for pair in fixture["headers"].as_array().expect("headers") {
        request = request.with(
            pair[0].as_str().expect("a name"),
            pair[1].as_str().expect("a value"),
        );
    }
    request
}

fn sandboxed() -> (Sandbox, Gateway) {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&config(&[
        direct("openai", &sandbox.at("/openai/v1"), &[]),
        direct("anthropic", &sandbox.at("/anthropic"), &[]),
    ]));
    (sandbox, gateway)
}

/// Sends through the gateway, then the very bytes that the provider got directly to it, and
/// compares what came back.
#[track_caller]
fn check_twins(sandbox: &Sandbox, gateway: &Gateway, request: &Request, service: &str) -> Value {
    sandbox.forget();
    let through = gateway.send(request);
    assert!(through.complete);
    let entry = sandbox.only_entry();
    // Nothing of the first request may be in the provider's prompt cache.
    sandbox.reset();
    let path = match entry["query"].as_str() {
        Some(query) => format!("{}?{query}", entry["path"].as_str().expect("a path")),
        None => entry["path"].as_str().expect("a path").to_owned(),
    };
    let body = entry["body"].as_str().expect("UTF-8").to_owned();
    let mut again = Request::post(&path, body)
        .with("authorization", "Bearer up-key")
        .with("x-api-key", "up-key");
    for pair in entry["headers"].as_array().expect("headers") {
        let name = pair[0].as_str().expect("a name");
        if name.starts_with("anthropic-") {
            again = again.with(name, pair[1].as_str().expect("a value"));
        }
    }
    if service == "anthropic" {
        again.headers.retain(|(name, _)| name != "authorization");
    }
    let straight = again.send(sandbox.address);
    assert_eq!(through.status(), straight.status(), "{}", straight.text());
    if straight.status() != 200 {
        return entry;
    }
    if through.header("content-type") == Some("application/json") {
        assert_eq!(through.text(), straight.text());
        return entry;
    }
    let terminal = if service == "anthropic" {
        Caller::Anthropic
    } else if request.path.contains("responses") {
        Caller::Responses
    } else {
        Caller::Chat
    };
    let (bytes, figures) = without_figures(&through.body, terminal.terminal());
    let straight = if entry["body"] == String::from_utf8_lossy(&request.body).as_ref() {
        straight.text()
    } else {
        without_usage_chunk(&straight.text())
    };
    assert_eq!(String::from_utf8_lossy(&bytes), straight);
    assert!(
        figures["output_tokens"].as_u64() > Some(0),
        "counted in spite of hiding: {figures}"
    );
    entry
}

/// What a caller sees who did not ask for the chunk with the counts.
fn without_usage_chunk(stream: &str) -> String {
    stream
        .split_inclusive("\n\n")
        .filter(|event| !event.contains("\"choices\":[],"))
        .collect()
}

#[test]
fn the_recorded_request_of_claude_code_arrives_byte_for_byte() {
    let (sandbox, gateway) = sandboxed();
    let request = recorded(CLAUDE_CODE);
    let entry = check_twins(&sandbox, &gateway, &request, "anthropic");
    assert_eq!(
        entry["body"].as_str().map(str::as_bytes),
        Some(&*request.body)
    );
    assert!(request.body.len() > 40_000);
    let sent = |name: &str| {
        let pairs = entry["headers"].as_array().expect("headers").iter();
        let mut values = pairs.filter(|pair| pair[0] == name).map(|pair| &pair[1]);
        let value = values.next().cloned();
        assert!(values.next().is_none(), "{name} is sent twice");
        value
    };
    assert_eq!(sent("anthropic-version"), Some("2023-06-01".into()));
    let beta = request
        .headers
        .iter()
        .find(|(name, _)| name == "anthropic-beta");
    assert_eq!(
        sent("anthropic-beta"),
        beta.map(|(_, value)| value.as_str().into())
    );
    assert_eq!(sent("x-app"), None);
    assert_eq!(sent("x-stainless-os"), None);
}

#[test]
fn the_recorded_request_of_codex_arrives_byte_for_byte() {
    let (sandbox, gateway) = sandboxed();
    let request = recorded(CODEX);
    let entry = check_twins(&sandbox, &gateway, &request, "openai");
    assert_eq!(
        entry["body"].as_str().map(str::as_bytes),
        Some(&*request.body)
    );
    assert_eq!(entry["path"], "/openai/v1/responses");
}

#[test]
fn large_agent_requests_arrive_byte_for_byte() {
    let (sandbox, gateway) = sandboxed();
    for (path, body, service) in [
        ("/v1/chat/completions", AGENT_CHAT, "openai"),
        ("/v1/messages", AGENT_ANTHROPIC, "anthropic"),
    ] {
        assert!(body.len() > 110_000);
        let request = Request::post(path, body).with("anthropic-version", "2023-06-01");
        let entry = check_twins(&sandbox, &gateway, &request, service);
        let sent = entry["body"].as_str().expect("UTF-8");
        if sent != body {
            // A chat stream whose caller does not ask for counts is asked for them all the same,
            // by one member at the end.
            let head = body.trim_end().strip_suffix('}').expect("an object");
            let added = sent.strip_prefix(head).expect("all before it as it was");
            assert_eq!(
                added.trim_end(),
                r#","stream_options":{"include_usage":true}}"#
            );
        }
    }
}

#[test]
fn a_stream_that_asks_for_counts_is_not_edited_and_gets_them() {
    let (sandbox, gateway) = sandboxed();
    let body = json!({
        "model": "gpt-5.5", "stream": true, "stream_options": { "include_usage": true },
        "messages": [{ "role": "user", "content": "Count, please. 数えて 🦀" }],
    });
    let request = Request::json("/v1/chat/completions", &body);
    let entry = check_twins(&sandbox, &gateway, &request, "openai");
    assert_eq!(entry["body"].as_str(), Some(&*body.to_string()));
    let stream = gateway.send(&request);
    let counted = events(&stream.body)
        .iter()
        .filter(|event| event["usage"].is_object())
        .count();
    assert_eq!(counted, 1);
}

#[test]
fn counts_are_asked_for_beside_other_stream_options() {
    let (sandbox, gateway) = sandboxed();
    let body = r#"{"model":"gpt-5.5","stream":true , "stream_options": {"include_obfuscation":false},"messages":[{"role":"user","content":"Hi"}]}"#;
    let entry = check_twins(
        &sandbox,
        &gateway,
        &Request::post("/v1/chat/completions", body),
        "openai",
    );
    assert_eq!(
        entry["body"].as_str(),
        Some(&*body.replace(
            r#"{"include_obfuscation":false}"#,
            r#"{"include_obfuscation":false,"include_usage":true}"#
        ))
    );
}

#[test]
fn every_dialect_is_relayed_with_and_without_a_stream() {
    let (sandbox, gateway) = sandboxed();
    for caller in Caller::ALL {
        let (model, service) = match caller {
            Caller::Anthropic => ("claude-sonnet-5-5", "anthropic"),
            _ => ("gpt-5.5", "openai"),
        };
        for stream in [false, true] {
            let body = caller.request(model, "Grüße aus 東京 🗼", stream);
            let request =
                Request::json(caller.path(), &body).with("anthropic-version", "2023-06-01");
            check_twins(&sandbox, &gateway, &request, service);
        }
    }
}

/// Bytes that a parser and a writer would not give back as they were.
const ODD: &str = r#""x_unknown" : {"b":1.0,"a":1e2,"A":1E+2,"n":-0,"big":12345678901234567890123,"tiny":1.50e-7,"esc":"\u00e9\/\ud83e\udd80","dup":{"k":1,"k":2}}  ,"zzz":[ ],"null_one":null"#;

#[test]
fn unknown_members_odd_numbers_and_order_survive() {
    let answer = r#"{ "zeta": 1.0, "id":"x" ,"object":"chat.completion","model":"m","usage":{"prompt_tokens":1e0,"completion_tokens":2,"total_tokens":3,"new_kind":[1.50]},
 "choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"\u0068i","x":{"y":1E2}}}] , "alpha":12345678901234567890123}"#;
    let upstream = Scripted::start(move |mut turn| turn.json(answer));
    let gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    let body = format!(
        "{{ {ODD},\n \"messages\":[{{\"content\":\"hi\",\"role\":\"user\",\"new\":1.0}}],\t\"temperature\":1.0, \"model\" : \"m\" }}"
    );
    let answered = gateway.send(&Request::post("/v1/chat/completions", body.clone()));
    assert_eq!(answered.text(), answer);
    assert_eq!(upstream.only().text(), body);
}

#[test]
fn hints_are_taken_out_and_the_model_renamed_without_touching_the_rest() {
    let upstream = Scripted::always(
        r#"{"type":"message","role":"assistant","content":[],"model":"claude-sonnet-5-5","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}"#,
    );
    let gateway = Gateway::start(&config(&[direct(
        "anthropic",
        &upstream.at(""),
        &["claude-sonnet-5-5"],
    )]));
    let body = |model: &str, hints: &str| {
        format!(
            r#"{{{ODD}, "max_tokens" : 5{hints}, "model" :"{model}","messages":[{{"role":"user","content":"hi"}}] }}"#
        )
    };
    let sent = body(
        "direct/claude-sonnet-5-5",
        r#" , "bardo": {"vitality":0.5, "session_id":"s"}"#,
    );
    let answered = gateway.send(&Request::post("/v1/messages", sent));
    assert_eq!(answered.status(), 200, "{}", answered.text());
    assert_eq!(upstream.only().text(), body("claude-sonnet-5-5", ""));
    assert_eq!(
        answered.header("x-bardo-model-requested"),
        Some("direct/claude-sonnet-5-5")
    );
    assert_eq!(answered.header("x-bardo-model"), Some("claude-sonnet-5-5"));
}

#[test]
fn a_reasoning_model_of_openai_gets_max_tokens_by_its_new_name_and_nothing_else_moves() {
    let upstream = Scripted::always(
        r#"{"id":"x","object":"chat.completion","model":"gpt-5.5","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#,
    );
    let gateway = Gateway::start(&config(&[direct(
        "openai",
        &upstream.at("/v1"),
        &["gpt-5.5", "gpt-4.1"],
    )]));
    let body = |model: &str, limit: &str| {
        format!(
            r#"{{{ODD}, {limit} , "model" :"{model}","messages":[{{"role":"user","content":"max_tokens"}}] }}"#
        )
    };
    let (old, new) = (r#""max_tokens" : 5e1"#, r#""max_completion_tokens" : 5e1"#);
    for (model, sent, expected) in [
        ("gpt-5.5", old, new),
        ("gpt-5.5", new, new),
        (
            "gpt-5.5",
            r#""max_completion_tokens" : 5e1,"max_tokens":9"#,
            new,
        ),
        ("gpt-4.1", old, old),
    ] {
        let sent = body(model, sent);
        let answered = gateway.send(&Request::post("/v1/chat/completions", sent));
        assert_eq!(answered.status(), 200, "{}", answered.text());
        let got = upstream.got().pop().expect("a request");
        assert_eq!(got.text(), body(model, expected));
    }
}

#[test]
fn unknown_events_comments_and_odd_framing_survive_in_streams() {
    let cases = [
        (
            Caller::Chat,
            "openai",
            "/v1",
            ": OPENROUTER PROCESSING\n\nid: 7\nevent: x.new\ndata: {\"choices\":[],\"new\":1.0}\n\n\
             data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"h\\u00e9 🦀\"},\"zz\":1e2}]}\n\n\
             retry: 10\ndata: {\"choices\":[{\"index\":0,\n\
             data:  \"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
            "data: [DONE]\n\n",
        ),
        (
            Caller::Anthropic,
            "anthropic",
            "",
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1,\"new\":1.0}}}\n\n\
             event: brand_new\ndata: {\"type\":\"brand_new\",\"x\":1E2}\n\n\
             event: ping\ndata: {\"type\": \"ping\"}\n\n\
             event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
             event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hé\"}}\n\n\
             event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"new_delta\",\"n\":12345678901234567890123}}\n\n\
             event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
             event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"brand_new_reason\"},\"usage\":{\"output_tokens\":2}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        (
            Caller::Responses,
            "openai",
            "/v1",
            "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\"}}\n\n\
             event: response.brand.new\ndata: {\"type\":\"response.brand.new\",\"x\":1.0}\n\n\
             event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"hé\",\"obfuscation\":\"zz\"}\n\n",
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2,\"total_tokens\":3}}}\n\n",
        ),
    ];
    for (caller, provider, path, before, terminal) in cases {
        let upstream = Scripted::streams(format!("{before}{terminal}data: after the end\n\n"));
        let gateway = Gateway::start(&config(&[direct(provider, &upstream.at(path), &["m"])]));
        let body = caller.request("m", "hi", true);
        let answered = gateway.send(&Request::json(caller.path(), &body));
        let (bytes, _) = without_figures(&answered.body, caller.terminal());
        assert_eq!(
            String::from_utf8_lossy(&bytes),
            format!("{before}{terminal}"),
            "{caller:?}"
        );
        assert!(answered.complete);
    }
}

#[test]
fn every_cut_of_a_stream_into_writes_gives_the_same_bytes() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&config(&[
        direct("openai", &sandbox.at("/openai/v1"), &[]),
        direct("anthropic", &sandbox.at("/anthropic"), &[]),
    ]));
    for (caller, model, service) in [
        (Caller::Chat, "gpt-5.5", "openai"),
        (Caller::Anthropic, "claude-sonnet-5-5", "anthropic"),
    ] {
        let text = "日本語とemoji 🦀🗼 in one answer";
        let script = json!({ "steps": [{ "text": text, "chunk": 3 }] });
        let body = caller.request(model, &format!("bardo-script: {script}"), true);
        for faults in [
            json!([{ "kind": "split_bytes", "n": 1 }]),
            json!([{ "kind": "split_bytes", "n": 7 }, { "kind": "crlf" }]),
        ] {
            sandbox.fault(service, &faults);
            let answered = gateway.send(&Request::json(caller.path(), &body));
            sandbox.heal();
            assert_eq!(answered.status(), 200, "{}", answered.text());
            assert!(!blocks(&answered.body).is_empty());
            let seen = events(&answered.body);
            assert_eq!(caller.streamed_text(&seen), text, "{faults}");
            assert!(answered.text().contains(caller.terminal()));
        }
    }
}

fn sent_header(entry: &Value, wanted: &str) -> Option<String> {
    let headers = entry["headers"].as_array().expect("a list of headers");
    headers
        .iter()
        .find(|header| {
            header[0]
                .as_str()
                .is_some_and(|name| name.eq_ignore_ascii_case(wanted))
        })
        .and_then(|header| header[1].as_str().map(str::to_owned))
}

#[test]
fn betas_travel_to_anthropic_even_unknown_ones_and_to_nobody_else() {
    const BETAS: &str = "context-management-2025-06-27,nobody-knows-this-2027-01-01";
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    for (model, expected) in [
        ("claude-sonnet-5-5", Some(BETAS)),
        ("gpt-5.5", None),
        ("gemini-3-flash", None),
    ] {
        sandbox.forget();
        let request = Request::json(
            "/v1/messages?beta=true",
            &Caller::Anthropic.request(model, "Hello", false),
        )
        .with("anthropic-version", "2023-06-01")
        .with("anthropic-beta", BETAS);
        assert_eq!(gateway.send(&request).status(), 200, "{model}");
        let entry = sandbox.only_entry();
        assert_eq!(
            sent_header(&entry, "anthropic-beta").as_deref(),
            expected,
            "{model}"
        );
    }
}

#[test]
fn a_bearer_key_and_the_newest_version_mean_anthropic_and_add_no_sampling() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    sandbox.forget();
    let request = Request::json(
        "/v1/messages",
        &Caller::Anthropic.request("claude-sonnet-5-5", "Hello", false),
    )
    .with("authorization", "Bearer whatever")
    .with("anthropic-version", "2026-10-21");
    let answer = gateway.send(&request);
    assert_eq!(answer.json()["type"], "message");
    let entry = sandbox.only_entry();
    assert_eq!(
        sent_header(&entry, "anthropic-version").as_deref(),
        Some("2026-10-21")
    );
    let body: Value = serde_json::from_str(entry["body"].as_str().expect("text")).expect("JSON");
    for member in ["temperature", "top_p", "top_k"] {
        assert!(body.get(member).is_none(), "{member}");
    }
}
