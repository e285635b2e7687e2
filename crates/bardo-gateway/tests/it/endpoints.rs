//! The other endpoints: lists, legacy completions, counting, vectors, stored responses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Gateway, Sandbox, everything, makers};
use crate::sse::{Caller, events};

fn start() -> (Sandbox, Gateway) {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    (sandbox, gateway)
}

#[track_caller]
fn good(answer: &Answer) -> Value {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

#[test]
fn models_are_listed_in_the_shape_of_the_callers_sdk() {
    let gateway = Gateway::start(&makers(&Sandbox::start()));
    let openai = good(&gateway.send(&Request::get("/v1/models")));
    assert_eq!(openai["object"], "list");
    let rows = openai["data"].as_array().expect("rows");
    assert!(rows.len() > 10);
    for row in rows {
        assert_eq!(row["object"], "model");
        assert!(row["id"].is_string() && row["created"].is_u64() && row["owned_by"].is_string());
    }
    for path in [
        "/v1/models",
        "/v1/v1/models",
        "/anthropic/v1/models",
        "/v1/models?limit=1000",
    ] {
        let versioned = Request::get(path).with("anthropic-version", "2023-06-01");
        let anthropic = good(&gateway.send(&versioned));
        let rows = anthropic["data"].as_array().expect("rows");
        assert_eq!(anthropic["has_more"], false);
        assert_eq!(anthropic["first_id"], rows[0]["id"]);
        assert_eq!(anthropic["last_id"], rows[rows.len() - 1]["id"]);
        for row in rows {
            assert_eq!(row["type"], "model");
            assert!(row["display_name"].is_string() && row["created_at"].is_string());
        }
    }
    for name in ["claude-sonnet-5-5", "openai/gpt-5.5", "openai%2Fgpt-5.5"] {
        let one = good(&gateway.send(&Request::get(&format!("/v1/models/{name}"))));
        assert_eq!(one["object"], "model", "{name}");
        let versioned =
            Request::get(&format!("/v1/models/{name}")).with("anthropic-version", "2023-06-01");
        assert_eq!(good(&gateway.send(&versioned))["type"], "model");
    }
    let unknown = gateway.send(&Request::get("/v1/models/nothing"));
    assert_eq!(unknown.status(), 404);
    Caller::Chat.check_error(&unknown.json());
    let versioned = Request::get("/v1/models/nothing").with("anthropic-version", "2023-06-01");
    Caller::Anthropic.check_error(&gateway.send(&versioned).json());
    let head = Request::get("/v1/models")
        .method("HEAD")
        .open(gateway.address)
        .head();
    assert_eq!(head.status, 200);
}

#[test]
fn legacy_completions_take_what_their_body_says() {
    let (_, gateway) = start();
    let ask = |body: &Value, anthropic: bool| {
        let mut request = Request::json("/v1/completions", body);
        if anthropic {
            request = request.with("anthropic-version", "2023-06-01");
        }
        gateway.send(&request)
    };
    for model in ["gpt-5.5", "claude-sonnet-5-5", "local-x"] {
        let answer = ask(
            &json!({ "model": model, "prompt": "Hello", "max_tokens": 500 }),
            false,
        );
        let body = good(&answer);
        assert_eq!(body["object"], "text_completion", "{model}: {body}");
        assert!(
            body["choices"][0]["text"]
                .as_str()
                .is_some_and(|text| text.contains("Hello")),
            "{body}"
        );
        assert!(answer.header("x-bardo-dialect").is_some());
        let answer = ask(
            &json!({ "model": model, "prompt": "Hello", "max_tokens": 500, "stream": true }),
            false,
        );
        let seen = events(&answer.body);
        assert_eq!(
            seen.last(),
            Some(&Value::from("[DONE]")),
            "{model}: {}",
            answer.text()
        );
        let text: String = seen
            .iter()
            .filter_map(|event| event["choices"][0]["text"].as_str())
            .collect();
        assert!(text.contains("Hello"), "{model}: {text}");
    }
    let messages = json!([{ "role": "user", "content": "Hello" }]);
    let chat = ask(&json!({ "model": "gpt-5.5", "messages": messages }), false);
    assert_eq!(good(&chat)["object"], "chat.completion");
    assert_eq!(chat.header("x-bardo-dialect"), Some("chat"));
    let anthropic = ask(
        &json!({ "model": "gpt-5.5", "max_tokens": 500, "messages": messages }),
        true,
    );
    assert_eq!(good(&anthropic)["type"], "message");
    assert_eq!(anthropic.header("x-bardo-dialect"), Some("anthropic"));
    let neither = ask(&json!({ "model": "gpt-5.5" }), false);
    assert_eq!(neither.status(), 400);
}

const MODELS: [&str; 8] = [
    "gpt-5.5",
    "claude-sonnet-5-5",
    "gemini-3-flash",
    "deepseek-v4-flash",
    "local-x",
    "openrouter/gpt-5.5",
    "venice/llama-3.3-70b",
    "bankr/claude-sonnet-4.5",
];

#[test]
fn tokens_are_counted_whoever_serves_the_model() {
    let (_, gateway) = start();
    let long = "A few words that are worth counting. ".repeat(40);
    for model in MODELS {
        for path in [
            "/v1/messages/count_tokens?beta=true",
            "/v1/messages/count_tokens",
        ] {
            let count = |text: &str| {
                let body =
                    json!({ "model": model, "messages": [{ "role": "user", "content": text }] });
                let answer = gateway.send(&Request::json(path, &body));
                let body = good(&answer);
                body["input_tokens"]
                    .as_u64()
                    .unwrap_or_else(|| panic!("{model} {body}"))
            };
            let (few, many) = (count("Hi"), count(&long));
            assert!(few > 0 && many > few + 100, "{model}: {few} {many}");
        }
        let body = json!({ "model": model, "input": long });
        let answer = gateway.send(&Request::json("/v1/responses/input_tokens", &body));
        let body = good(&answer);
        assert_eq!(body["object"], "response.input_tokens", "{model}");
        assert!(body["input_tokens"].as_u64() > Some(100), "{model}: {body}");
    }
    let wrong = gateway.send(&Request::json(
        "/v1/messages/count_tokens",
        &json!({ "model": "gpt-5.5", "messages": 1 }),
    ));
    assert_eq!(wrong.status(), 400);
    Caller::Anthropic.check_error(&wrong.json());
}

#[test]
fn vectors_come_as_numbers_or_base64() {
    let gateway = Gateway::start(&makers(&Sandbox::start()));
    for model in ["text-embedding-3-small", "gemini-embedding-001"] {
        let ask = |extra: &[(&str, Value)], input: Value| {
            let mut body = json!({ "model": model, "input": input });
            for (name, value) in extra {
                body[name] = value.clone();
            }
            good(&gateway.send(&Request::json("/v1/embeddings", &body)))
        };
        let numbers = ask(&[], json!(["one", "two"]));
        assert_eq!(numbers["object"], "list");
        let rows = numbers["data"].as_array().expect("rows");
        assert_eq!(rows.len(), 2, "{model}");
        assert_eq!(rows[1]["index"], 1);
        assert_eq!(rows[0]["object"], "embedding");
        assert!(numbers["usage"]["prompt_tokens"].as_u64() > Some(0));
        let vector: Vec<f32> = rows[0]["embedding"]
            .as_array()
            .expect("numbers")
            .iter()
            .map(|n| n.to_string().parse().expect("a number"))
            .collect();
        assert!(vector.len() >= 256);
        let packed = ask(
            &[("encoding_format", json!("base64"))],
            json!(["one", "two"]),
        );
        let text = packed["data"][0]["embedding"].as_str().expect("base64");
        let bytes = STANDARD.decode(text).expect("base64");
        let unpacked: Vec<f32> = bytes
            .chunks_exact(4)
            .map(|four| f32::from_le_bytes(four.try_into().expect("four")))
            .collect();
        assert_eq!(unpacked.len(), vector.len());
        for (a, b) in unpacked.iter().zip(&vector) {
            assert!((a - b).abs() < 1e-6, "{model}: {a} {b}");
        }
        let short = ask(&[("dimensions", json!(256))], json!("one"));
        let length = short["data"][0]["embedding"].as_array().map(Vec::len);
        assert_eq!(length, Some(256), "{model}");
    }
    for (body, code) in [
        (
            json!({ "model": "text-embedding-3-small" }),
            "invalid_request",
        ),
        (
            json!({ "model": "claude-sonnet-5-5", "input": "x" }),
            "operation_unavailable",
        ),
        (
            json!({ "model": "gemini-embedding-001", "input": [[1, 2]] }),
            "invalid_request",
        ),
    ] {
        let answer = gateway.send(&Request::json("/v1/embeddings", &body));
        assert_eq!(answer.status(), 400, "{body}: {}", answer.text());
        let body = answer.json();
        Caller::Chat.check_error(&body);
        assert_eq!(body["error"]["bardo_code"], code);
    }
}

#[test]
fn a_response_builds_on_an_earlier_one_also_where_the_provider_stores_none() {
    let (sandbox, gateway) = start();
    for model in ["claude-sonnet-5-5", "gemini-3-flash", "deepseek-v4-flash"] {
        for stream in [false, true] {
            let ask = |body: &Value| {
                let answer = gateway.send(&Request::json("/v1/responses", body));
                assert_eq!(answer.status(), 200, "{model}: {}", answer.text());
                let body = if stream {
                    let done = events(&answer.body);
                    let done = done.last().expect("events").clone();
                    assert_eq!(
                        done["type"],
                        "response.completed",
                        "{model}: {}",
                        answer.text()
                    );
                    done["response"].clone()
                } else {
                    answer.json()
                };
                body["id"].as_str().expect("an id").to_owned()
            };
            let first = ask(
                &json!({ "model": model, "stream": stream, "input": "The word is marmalade." }),
            );
            let second = ask(&json!({
                "model": model, "stream": stream, "previous_response_id": first,
                "input": [{ "type": "message", "role": "user", "content": "Which word?" }],
            }));
            assert_ne!(first, second);
            sandbox.forget();
            ask(
                &json!({ "model": model, "stream": stream, "previous_response_id": second, "input": "And again?" }),
            );
            let sent = sandbox.only_entry()["body"]
                .as_str()
                .expect("UTF-8")
                .to_owned();
            for said in ["marmalade", "Sandbox answer", "Which word?", "And again?"] {
                assert!(sent.contains(said), "{model}: {said} is missing in {sent}");
            }
            let at = |said: &str| sent.find(said);
            assert!(at("marmalade") < at("Which word?") && at("Which word?") < at("And again?"));
        }
    }
    let answer = gateway.send(&Request::json(
        "/v1/responses",
        &json!({ "model": "claude-sonnet-5-5", "previous_response_id": "resp_none", "input": "x" }),
    ));
    assert_eq!(answer.status(), 400);
    let body = answer.json();
    Caller::Responses.check_error(&body);
    assert_eq!(body["error"]["code"], "previous_response_not_found");
    assert_eq!(body["error"]["param"], "previous_response_id");
}

#[test]
fn nobody_builds_on_the_response_of_somebody_else() {
    let sandbox = Sandbox::start();
    let mut settings = everything(&sandbox);
    let (alice, bob) = (
        "bardo_sk_alice_0123456789abcdef",
        "bardo_sk_bob_0123456789abcdef",
    );
    settings["auth"] =
        json!({ "keys": [{ "id": "alice", "key": alice }, { "id": "bob", "key": bob }] });
    let gateway = Gateway::start(&settings);
    let ask = |key: &str, body: &Value| {
        gateway.send(&Request::json("/v1/responses", body).with("x-api-key", key))
    };
    let first = ask(
        alice,
        &json!({ "model": "claude-sonnet-5-5", "input": "a secret" }),
    );
    let id = good(&first)["id"].clone();
    let next =
        json!({ "model": "claude-sonnet-5-5", "previous_response_id": id, "input": "which?" });
    assert_eq!(ask(bob, &next).status(), 400);
    assert_eq!(ask(alice, &next).status(), 200);
}

#[test]
fn the_figures_of_an_answer_are_in_its_headers_or_its_closing_comment() {
    let mut settings = everything(&Sandbox::start());
    settings["providers"]["openrouter"]["price"] =
        json!({ "input_per_million": 1.25, "output_per_million": 10 });
    let gateway = Gateway::start(&settings);
    for caller in Caller::ALL {
        for model in ["gpt-5.5", "claude-sonnet-5-5", "openrouter/gpt-5.5"] {
            let request =
                |stream| Request::json(caller.path(), &caller.request(model, "Hello", stream));
            let answer = gateway.send(&request(false).with("x-request-id", "my-own-id.1"));
            assert_eq!(answer.header("x-request-id"), Some("my-own-id.1"));
            assert_eq!(answer.header("request-id"), Some("my-own-id.1"));
            assert_eq!(answer.header("x-bardo-model-requested"), Some(model));
            assert_eq!(answer.header("x-bardo-cache"), Some("bypass"));
            let cost = answer.header("x-bardo-cost").expect("a cost");
            let (whole, parts) = cost.split_once('.').expect("decimal USD");
            assert!(whole.parse::<u64>().is_ok() && parts.len() == 6, "{cost}");
            let answer = gateway.send(&request(true));
            let (_, figures) = crate::sse::without_figures(&answer.body, caller.terminal());
            assert_eq!(
                figures["request_id"].as_str(),
                answer.header("x-request-id")
            );
            assert_eq!(
                figures["provider"].as_str(),
                answer.header("x-bardo-provider")
            );
            assert!(figures["input_tokens"].as_u64() > Some(0), "{figures}");
            assert!(figures["output_tokens"].as_u64() > Some(0), "{figures}");
        }
    }
}

#[test]
fn a_response_that_is_not_to_be_stored_is_not() {
    let (_, gateway) = start();
    let ask = |body: &Value| gateway.send(&Request::json("/v1/responses", body));
    let first = ask(&json!({ "model": "claude-sonnet-5-5", "input": "Hello", "store": false }));
    let id = good(&first)["id"].clone();
    let next =
        ask(&json!({ "model": "claude-sonnet-5-5", "input": "x", "previous_response_id": id }));
    assert_eq!(next.status(), 400);
}

#[test]
fn usual_prefixes_of_paths_lead_to_the_same_place() {
    let (_, gateway) = start();
    for (caller, paths) in [
        (
            Caller::Chat,
            &[
                "/chat/completions",
                "/openai/v1/chat/completions",
                "/api/v1/chat/completions",
                "/v1/chat/completions/",
            ][..],
        ),
        (
            Caller::Anthropic,
            &[
                "/messages",
                "/v1/v1/messages",
                "/anthropic/v1/messages?beta=true",
            ],
        ),
        (
            Caller::Responses,
            &["/responses", "/openai/v1/responses", "/v1/v1/responses"],
        ),
    ] {
        for path in paths {
            let body = caller.request("gpt-5.5", "Hello", false);
            let answer = gateway.send(&Request::json(path, &body));
            assert!(caller.text(&good(&answer)).contains("Hello"), "{path}");
            let wrong = gateway.send(&Request::post(path, "{"));
            assert_eq!(wrong.status(), 400, "{path}");
            caller.check_error(&wrong.json());
        }
    }
}
