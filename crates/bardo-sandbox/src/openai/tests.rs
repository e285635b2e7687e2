use super::*;
use crate::fault::Fault;
use crate::reply::Content;

fn world() -> World {
    World::new(7, Vec::new())
}

fn post(path: &str, body: Value) -> Reply {
    handle(&Recorded::test("openai", path, &body), &world())
}

fn chat(more: Value) -> Value {
    let mut body = json!({ "model": "gpt-5.5", "messages": [{ "role": "user", "content": "hi" }] });
    merge(&mut body, more);
    body
}

fn merge(body: &mut Value, more: Value) {
    if let (Value::Object(body), Value::Object(more)) = (body, more) {
        body.extend(more);
    }
}

fn script(steps: Value) -> Value {
    let text = format!("bardo-script: {}", json!({ "steps": steps }));
    json!({ "messages": [{ "role": "user", "content": text }] })
}

fn weather() -> Value {
    json!([{ "type": "function", "function": { "name": "weather", "parameters": {
        "type": "object", "properties": { "city": { "type": "string", "minLength": 1 } },
        "required": ["city"] } } }])
}

fn refused(body: Value) -> (u16, Value) {
    let reply = post("/v1/chat/completions", chat(body));
    (reply.status, reply.body()["error"].clone())
}

#[test]
fn an_answer_has_every_key_that_the_sheet_requires() {
    let reply = post("/v1/chat/completions", chat(json!({})));
    let body = reply.body();
    assert_eq!(reply.status, 200);
    assert_eq!(body["object"], "chat.completion");
    let choice = &body["choices"][0];
    assert_eq!(choice["logprobs"], Value::Null);
    assert!(
        choice
            .as_object()
            .expect("an object")
            .contains_key("logprobs")
    );
    let message = choice["message"].as_object().expect("an object");
    assert!(message.contains_key("refusal") && message.contains_key("content"));
    assert_eq!(choice["finish_reason"], "stop");
    assert!(
        message["content"]
            .as_str()
            .expect("text")
            .starts_with("Sandbox answer from gpt-5.5: ")
    );
    let usage = &body["usage"];
    let sum = usage["prompt_tokens"]
        .as_u64()
        .zip(usage["completion_tokens"].as_u64());
    assert_eq!(usage["total_tokens"].as_u64(), sum.map(|(a, b)| a + b));
    assert!(usage["completion_tokens_details"]["reasoning_tokens"].as_u64() > Some(0));
    assert!(reply.header("x-request-id").is_some());
}

#[test]
fn the_same_request_gets_the_same_bytes() {
    let [one, two] = [(); 2].map(|()| post("/v1/chat/completions", chat(json!({}))).body());
    assert_eq!(one, two);
}

#[test]
fn parallel_calls_stream_with_an_index_each() {
    let mut body = chat(script(json!([{ "text": "ok", "tools": [
        { "name": "weather", "args": { "city": "Bern" } }, { "name": "weather", "args": { "city": "Rom" } }] }])));
    merge(
        &mut body,
        json!({ "stream": true, "tools": weather(), "stream_options": { "include_usage": true } }),
    );
    let events = post("/v1/chat/completions", body).events();
    assert_eq!(
        events[0]["choices"][0]["delta"],
        json!({ "role": "assistant", "content": "", "refusal": null })
    );
    let mut arguments = [String::new(), String::new()];
    let mut ids = 0;
    for event in &events {
        assert_eq!(event["id"], events[0]["id"]);
        let Some(call) = event.pointer("/choices/0/delta/tool_calls/0") else {
            continue;
        };
        let index = usize::try_from(call["index"].as_u64().expect("an index")).expect("small");
        ids += usize::from(call.get("id").is_some());
        arguments[index].push_str(call["function"]["arguments"].as_str().expect("text"));
    }
    assert_eq!(ids, 2);
    assert_eq!(arguments, [r#"{"city":"Bern"}"#, r#"{"city":"Rom"}"#]);
    let usage = events.last().expect("a last event");
    assert_eq!(usage["choices"], json!([]));
    assert!(usage["usage"]["total_tokens"].is_u64());
    assert_eq!(
        events[events.len() - 2]["choices"][0]["finish_reason"],
        "tool_calls"
    );
    assert!(
        events[..events.len() - 1]
            .iter()
            .all(|event| event["usage"].is_null())
    );
}

#[test]
fn usage_is_not_sent_unasked() {
    let mut body = chat(json!({ "stream": true }));
    let events = post("/v1/chat/completions", body.clone()).events();
    assert!(events.iter().all(|event| event.get("usage").is_none()));
    body["stream_options"] = json!({ "include_usage": true, "include_obfuscation": true });
    let events = post("/v1/chat/completions", body).events();
    assert!(events.iter().all(|event| event["obfuscation"].is_string()));
}

#[test]
fn a_custom_tool_gets_text() {
    let mut body = chat(script(
        json!([{ "tools": [{ "name": "patch", "input": "*** Begin" }] }]),
    ));
    merge(
        &mut body,
        json!({ "tools": [{ "type": "custom", "custom": { "name": "patch" } }] }),
    );
    let call =
        post("/v1/chat/completions", body).body()["choices"][0]["message"]["tool_calls"][0].clone();
    assert_eq!(
        (&call["type"], &call["custom"]["input"]),
        (&json!("custom"), &json!("*** Begin"))
    );
}

#[test]
fn refusals_name_parameter_and_code() {
    let cases = [
        (
            json!({ "max_tokens": 5 }),
            "max_tokens",
            "unsupported_parameter",
        ),
        (
            json!({ "temperature": 0.5 }),
            "temperature",
            "unsupported_value",
        ),
        (
            json!({ "reasoning_content": "x" }),
            "reasoning_content",
            "unknown_parameter",
        ),
        (json!({ "messages": [] }), "messages", "empty_array"),
        (json!({ "tools": [] }), "tools", "empty_array"),
        (
            json!({ "messages": [{ "role": "user", "content": [
            { "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } }] }] }),
            "messages[0].content[0].cache_control",
            "unknown_parameter",
        ),
        (
            json!({ "messages": [{ "role": "tool", "tool_call_id": "a", "content": [
            { "type": "image_url", "image_url": { "url": "https://x" } }] }] }),
            "messages[0].content[0].type",
            "invalid_value",
        ),
        (
            json!({ "stream_options": { "include_usage": true } }),
            "stream_options",
            "invalid_value",
        ),
        (
            json!({ "reasoning_effort": "ultra" }),
            "reasoning_effort",
            "invalid_value",
        ),
    ];
    for (body, param, code) in cases {
        let (status, error) = refused(body.clone());
        assert_eq!(
            (status, &error["param"], &error["code"]),
            (400, &json!(param), &json!(code)),
            "{body}"
        );
        assert_eq!(error.as_object().expect("an object").len(), 4);
    }
}

#[test]
fn tool_choice_needs_tools() {
    for body in [
        json!({ "tool_choice": "auto" }),
        json!({ "parallel_tool_calls": true }),
    ] {
        let (status, error) = refused(body);
        assert_eq!(status, 400);
        assert!(
            error["message"]
                .as_str()
                .expect("text")
                .contains("only allowed when 'tools'")
        );
    }
}

#[test]
fn tool_results_follow_their_calls() {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let asks =
        json!({ "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] });
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "1" });
    let user = json!({ "role": "user", "content": "x" });
    let status = |messages: Value| refused(json!({ "messages": messages })).0;
    assert_eq!(
        status(json!([user, asks, result("b"), result("a"), user])),
        200
    );
    assert_eq!(
        status(json!([user, asks, result("a"), user, result("b")])),
        400
    );
    assert_eq!(status(json!([user, asks, result("a")])), 400);
    assert_eq!(status(json!([user, result("a")])), 400);
    assert_eq!(
        status(json!([user, asks, result("a"), result("a"), result("b")])),
        400
    );
}

#[test]
fn strict_schemas_are_held_to_the_subset() {
    let loose = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let fine = json!({ "type": "object", "properties": { "a": { "type": "string" } },
        "required": ["a"], "additionalProperties": false });
    for (schema, wanted) in [(loose, 400), (fine, 200)] {
        let format = json!({ "type": "json_schema", "json_schema": { "name": "n", "strict": true, "schema": schema } });
        assert_eq!(refused(json!({ "response_format": format })).0, wanted);
        let tools = json!([{ "type": "function", "function": { "name": "f", "strict": true, "parameters": schema } }]);
        assert_eq!(refused(json!({ "tools": tools })).0, wanted);
    }
}

#[test]
fn keys_are_checked() {
    let mut request = Recorded::test("openai", "/v1/models", &Value::Null);
    request
        .headers
        .insert("authorization", "Bearer bad-key".parse().expect("ascii"));
    let reply = handle(&request, &world());
    assert_eq!(
        (reply.status, &reply.body()["error"]["code"]),
        (401, &json!("invalid_api_key"))
    );
    request.headers.remove("authorization");
    assert_eq!(handle(&request, &world()).status, 401);
    assert_eq!(
        post(
            "/v1/chat/completions",
            json!({ "model": "gpt-0", "messages": [] })
        )
        .status,
        404
    );
}

#[test]
fn models_are_listed_and_found() {
    let reply = handle(
        &Recorded::test("openai", "/v1/models", &Value::Null),
        &world(),
    );
    assert_eq!(reply.body()["data"].as_array().map(Vec::len), Some(15));
    let one = handle(
        &Recorded::test("openai", "/v1/models/gpt-4o", &Value::Null),
        &world(),
    );
    assert_eq!(one.body()["shutdown_date"], "2027-01-14");
}

#[test]
fn embeddings_agree_in_both_encodings() {
    use base64::Engine as _;
    let ask = |format: &str| {
        post(
            "/v1/embeddings",
            json!({ "model": "text-embedding-3-small", "input": ["a cat", "a dog"],
            "dimensions": 8, "encoding_format": format }),
        )
        .body()
    };
    let floats: Vec<f32> =
        serde_json::from_value(ask("float")["data"][1]["embedding"].clone()).expect("floats");
    let base64 = ask("base64")["data"][1]["embedding"]
        .as_str()
        .expect("text")
        .to_owned();
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(base64)
        .expect("base64");
    let decoded: Vec<f32> = bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes(four.try_into().expect("four bytes")))
        .collect();
    assert_eq!(floats, decoded);
    assert!((floats.iter().map(|value| value * value).sum::<f32>() - 1.0).abs() < 1e-4);
}

#[test]
fn a_long_prompt_is_read_from_the_cache_and_writes_are_reported_by_new_models() {
    let world = world();
    let ask = |model: &str| {
        let body = json!({ "model": model, "messages": [{ "role": "user", "content": "word ".repeat(2_000) }] });
        handle(
            &Recorded::test("openai", "/v1/chat/completions", &body),
            &world,
        )
        .body()["usage"]["prompt_tokens_details"]
            .clone()
    };
    assert_eq!(ask("gpt-6-sol")["cache_write_tokens"], 2_432);
    assert_eq!(ask("gpt-6-sol")["cached_tokens"], 2_432);
    assert_eq!(ask("gpt-5.5")["cache_write_tokens"], 0);
    assert_eq!(ask("gpt-5.5")["cached_tokens"], 2_432);
}

#[test]
fn shape_faults_reach_the_stream() {
    let mut body = chat(script(json!([{ "fault": { "kind": "no_index" },
        "tools": [{ "name": "f" }, { "name": "f" }] }])));
    merge(&mut body, json!({ "stream": true }));
    let reply = post("/v1/chat/completions", body);
    assert!(reply.faults.has(&Fault::NoIndex));
    let calls: Vec<Value> = reply
        .events()
        .iter()
        .filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0").cloned())
        .collect();
    assert!(!calls.is_empty() && calls.iter().all(|call| call.get("index").is_none()));
}

#[test]
fn choices_of_one_request_interleave() {
    let events = post(
        "/v1/chat/completions",
        chat(json!({ "stream": true, "n": 2 })),
    )
    .events();
    let order: Vec<u64> = events
        .iter()
        .filter_map(|event| event["choices"][0]["index"].as_u64())
        .collect();
    assert_eq!(order[..4], [0, 1, 0, 1]);
}

#[test]
fn a_stream_says_what_the_body_says() {
    for steps in [
        json!([{ "text": "héllo wörld 😀😀😀", "chunk": 3 }]),
        json!([{ "refusal": "No." }]),
    ] {
        let mut body = chat(script(steps));
        let whole = post("/v1/chat/completions", body.clone()).body()["choices"][0].clone();
        body["stream"] = json!(true);
        let mut text = [String::new(), String::new()];
        let events = post("/v1/chat/completions", body).events();
        for event in &events {
            for (at, name) in ["content", "refusal"].iter().enumerate() {
                text[at].push_str(
                    event["choices"][0]["delta"][name]
                        .as_str()
                        .unwrap_or_default(),
                );
            }
        }
        assert_eq!(
            text[0],
            whole["message"]["content"].as_str().unwrap_or_default()
        );
        assert_eq!(
            text[1],
            whole["message"]["refusal"].as_str().unwrap_or_default()
        );
        assert_eq!(
            events.last().expect("one")["choices"][0]["finish_reason"],
            whole["finish_reason"]
        );
    }
}

#[test]
fn a_completion_is_plain_text() {
    let reply = post(
        "/v1/completions",
        json!({ "model": "gpt-4o", "prompt": "hi", "stream": true }),
    );
    assert!(matches!(reply.content, Content::Stream(_)));
    assert_eq!(reply.events()[0]["object"], "text_completion");
}

#[test]
fn a_refusal_out_of_the_blue_has_the_headers_of_any_answer() {
    let request = Recorded::test("openai", "/v1/chat/completions", &json!({}));
    let reply = refuse(503, &request);
    assert!(
        reply
            .header("x-request-id")
            .is_some_and(|id| id.starts_with("req_"))
    );
    assert_eq!(reply.header("openai-version"), Some("2020-10-01"));
}
