//! Refusals in words of the API: whatever is wrong in a body, the answer names the member and has no
//! words of the parser.

use serde_json::{Value, json};

use crate::bad_input::check;
use crate::http::Request;
use crate::paying::till::Till;
use crate::rig::{Folder, Gateway, Sandbox, config, direct, everything};
use crate::sse::Caller;
use crate::told::run;

/// Words of the parser, which mean nothing to the author of a request.
const PARSER_WORDS: [&str; 9] = [
    "line 1 column",
    "expected u",
    "expected i",
    "invalid type",
    "invalid value",
    "invalid length",
    "tuple",
    "variant",
    "deserializ",
];

#[track_caller]
fn has_no_parser_words(text: &str, what: &str) {
    for word in PARSER_WORDS {
        assert!(!text.contains(word), "{what}: {word:?} in {text}");
    }
}

/// A body with a member of every kind that a dialect reads.
fn rich(caller: Caller, model: &str) -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    match caller {
        Caller::Chat => json!({
            "model": model, "max_tokens": 64, "temperature": 1, "top_p": 0.5, "n": 1, "stop": ["x"],
            "stream_options": { "include_usage": true }, "logit_bias": { "5": 1 }, "seed": 1,
            "reasoning_effort": "low", "parallel_tool_calls": true, "metadata": { "a": "b" },
            "response_format": { "type": "json_schema", "json_schema": { "name": "n", "schema": schema } },
            "tools": [{ "type": "function", "function": { "name": "f", "parameters": schema, "strict": false } }],
            "tool_choice": { "type": "function", "function": { "name": "f" } },
            "messages": [
                { "role": "system", "content": "Be short." },
                { "role": "user", "name": "n", "content": [{ "type": "text", "text": "Hello" }] },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } },
                ] },
                { "role": "tool", "tool_call_id": "c", "content": "x" },
            ],
        }),
        Caller::Anthropic => json!({
            "model": model, "max_tokens": 2048, "temperature": 1, "top_k": 5, "stop_sequences": ["x"],
            "system": [{ "type": "text", "text": "Be short.", "cache_control": { "type": "ephemeral" } }],
            "thinking": { "type": "enabled", "budget_tokens": 1024 }, "metadata": { "user_id": "u" },
            "tools": [{ "name": "f", "description": "d", "input_schema": schema }],
            "tool_choice": { "type": "auto", "disable_parallel_tool_use": true },
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "Hello" }] },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "c", "name": "f", "input": {} }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "c", "is_error": false, "content": [{ "type": "text", "text": "x" }] },
                ] },
            ],
        }),
        Caller::Responses => json!({
            "model": model, "max_output_tokens": 64, "temperature": 1, "instructions": "Be short.",
            "reasoning": { "effort": "low", "summary": "auto" }, "store": false, "top_logprobs": 2,
            "include": ["reasoning.encrypted_content"], "parallel_tool_calls": true,
            "text": { "verbosity": "low", "format": { "type": "json_schema", "name": "n", "schema": schema } },
            "tools": [{ "type": "function", "name": "f", "parameters": schema, "strict": false }],
            "tool_choice": { "type": "function", "name": "f" },
            "input": [
                { "role": "user", "content": [{ "type": "input_text", "text": "Hello" }] },
                { "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "c", "output": "x" },
            ],
        }),
    }
}

/// The pointers of all values within a value.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (format!("{at}/{name}"), value))
            .collect(),
        Value::Array(entries) => entries
            .iter()
            .enumerate()
            .map(|(index, value)| (format!("{at}/{index}"), value))
            .collect(),
        _ => Vec::new(),
    };
    for (place, value) in inner {
        found.push(place.clone());
        pointers(value, &place, found);
    }
}

#[test]
fn a_wrong_value_anywhere_is_told_without_the_words_of_the_parser() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let wrong = [
        json!(true),
        json!(-3),
        json!(1.5),
        json!("x"),
        json!([]),
        json!([5]),
        json!({}),
    ];
    let mut refused = 0;
    for caller in Caller::ALL {
        for model in ["gpt-5.5", "claude-sonnet-5-5", "gemini-3-flash"] {
            let good = rich(caller, model);
            let mut places = Vec::new();
            pointers(&good, "", &mut places);
            for place in places.iter().filter(|place| *place != "/model") {
                for value in &wrong {
                    let mut body = good.clone();
                    *body.pointer_mut(place).expect("a place") = value.clone();
                    let answer = gateway.send(&Request::json(caller.path(), &body));
                    let what = format!("{caller:?} {model} {place} {value}");
                    assert!(answer.status() < 500, "{what}: {}", answer.text());
                    if answer.status() != 200 {
                        refused += 1;
                        has_no_parser_words(&answer.text(), &what);
                    }
                }
            }
        }
    }
    assert!(refused > 300, "{refused} were refused");
}

#[test]
fn numbers_that_no_reader_holds_are_told_by_their_member() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    for (caller, member, model) in [
        (Caller::Chat, "max_tokens", "claude-sonnet-5-5"),
        (Caller::Anthropic, "max_tokens", "gpt-5.5"),
        (Caller::Responses, "max_output_tokens", "claude-sonnet-5-5"),
    ] {
        for number in ["-3", "1.5", "1e999", "99999999999999999999999"] {
            // In Chat Completions a number below 0 is no limit.
            if caller == Caller::Chat && number == "-3" {
                continue;
            }
            let body = rich(caller, model).to_string();
            let usual = rich(caller, model)[member].to_string();
            let body = body.replacen(
                &format!("\"{member}\":{usual}"),
                &format!("\"{member}\":{number}"),
                1,
            );
            let answer = gateway.send(&Request::post(caller.path(), body));
            check(caller, &answer, 400, "invalid_request", member);
            has_no_parser_words(&answer.text(), number);
        }
    }
    assert!(sandbox.journal().is_empty(), "nothing is sent");
}

#[test]
fn a_compressed_body_is_refused_in_every_dialect_and_an_identity_is_none() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    for caller in Caller::ALL {
        for encoding in ["gzip", "zstd", "br, gzip"] {
            let request =
                Request::post(caller.path(), [0x1f, 0x8b, 8, 0]).with("content-encoding", encoding);
            let answer = gateway.send(&request);
            let words = format!("`content-encoding: {encoding}`");
            check(caller, &answer, 415, "unsupported_encoding", &words);
        }
        let body = caller.request("gpt-5.5", "Hello", false);
        let plain = Request::json(caller.path(), &body).with("content-encoding", "identity");
        assert_eq!(gateway.send(&plain).status(), 200);
    }
}

#[test]
fn a_key_over_its_rate_is_refused_before_its_body_is_read_and_each_request_counts_once() {
    let sandbox = Sandbox::start();
    let till = Till::new(everything(&sandbox));
    let limited = ["--deposit-usd", "10", "--scope", "rpm=3"];
    let keys = Caller::ALL.map(|caller| (caller, till.key(&limited)));
    let gateway = till.open();
    for (caller, key) in keys {
        let body = caller.request("gpt-5.5", "Hello", false);
        for round in 0..3 {
            let answer = gateway.send(&key.ask(caller, &body));
            assert_eq!(answer.status(), 200, "{caller:?} {round} {}", answer.text());
        }
        // The head alone: a server that waits for the body answers 408 after its timeout.
        let mut head = key.ask(caller, &body);
        head.body.clear();
        let head = head.with("content-length", "5000");
        let answer = gateway.send(&head);
        assert_eq!(answer.status(), 429, "{caller:?} {}", answer.text());
        caller.check_error(&answer.json());
        assert_eq!(answer.json()["error"]["bardo_code"], "rate_limited");
        assert!(answer.header("retry-after").is_some());
    }
}

#[test]
fn what_a_translation_of_responses_would_leave_out_in_silence_is_refused() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let caller = Caller::Responses;
    for (member, value, words) in [
        ("background", json!(true), "`background`"),
        (
            "tools",
            json!([{ "type": "teleport", "name": "x" }]),
            "`tools[0].type` is `teleport`",
        ),
    ] {
        sandbox.forget();
        let mut body = caller.request("claude-sonnet-5-5", "Hello", false);
        body[member] = value.clone();
        let answer = gateway.send(&Request::json(caller.path(), &body));
        check(caller, &answer, 400, "invalid_request", words);
        assert!(
            answer.text().contains("accept_degraded"),
            "{}",
            answer.text()
        );
        assert!(sandbox.journal().is_empty(), "nothing is sent");

        body["bardo"] = json!({ "accept_degraded": true });
        let answer = gateway.send(&Request::json(caller.path(), &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    let mut body = caller.request("claude-sonnet-5-5", "Hello", false);
    body["input"] =
        json!([{ "role": "user", "content": "Hello" }, { "type": "teleport", "to": "x" }]);
    let answer = gateway.send(&Request::json(caller.path(), &body));
    let words = "the item or content part `teleport`";
    check(caller, &answer, 400, "invalid_request", words);
    assert!(
        answer.text().contains("`function_call_output`"),
        "{}",
        answer.text()
    );
}

#[test]
fn a_check_tells_every_mistake_of_a_shared_cache_and_notes_settings_without_effect() {
    let folder = Folder::new();
    let checked = |section: &str, value: Value| {
        let mut settings = config(&[direct("openai", "https://api.openai.com/v1", &["gpt-5.5"])]);
        settings[section] = value;
        let file = folder.write("c.yaml", &settings.to_string());
        let (code, out, err) = run(
            &folder,
            &["check", "--config", file.to_str().expect("UTF-8")],
            &[],
        );
        has_no_parser_words(&err, section);
        (code, out + &err)
    };
    let vectors = json!({ "url": "http://h:99999", "collection": "a b" });
    let (code, told) = checked(
        "cache",
        json!({ "redis_url": "http://x", "semantic": { "vectors": vectors, "model": { "path": "", "dimension": 5 } },
            "hash": { "ttl": -1, "max_entry": -1 } }),
    );
    assert_eq!(code, 1, "{told}");
    for words in [
        "`cache.redis_url`",
        "`cache.redis_key`",
        "`cache.semantic.vectors.url`",
        "from 1 to 65535",
        "`cache.semantic.vectors.collection`",
        "`cache.semantic.model.path`",
        "`-1` is below 0",
        "`-1` is not a size",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let vectors = json!({ "url": "" });
    let (_, told) = checked("cache", json!({ "semantic": { "vectors": vectors } }));
    assert!(told.contains("the URL is empty"), "{told}");
    let (code, told) = checked("cache", json!({ "regime": "panic" }));
    assert_eq!(code, 0, "{told}");
    let (code, told) = checked("inference", json!({ "weights": { "cost": 5 } }));
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("`inference.weights.cost`"), "{told}");
    assert!(told.contains("a list of two numbers"), "{told}");
    let keepalive = json!({ "enabled": true, "prompt_calls_per_day": 1000, "calls_per_day": 10,
        "prompt_usd_per_day": 5, "usd_per_day": 1 });
    let caching = json!({ "keepalive": keepalive });
    let (code, told) = checked("inference", json!({ "caching": caching }));
    assert_eq!(code, 0, "{told}");
    for words in [
        "prompt_calls_per_day` is above",
        "prompt_usd_per_day` is above",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
}
