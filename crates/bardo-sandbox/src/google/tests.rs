//! Whole requests: refusals, tool loops with signatures, streams, caches.

use serde_json::{Value, json};

use super::handle;
use crate::recorded::Recorded;
use crate::reply::{Content, Reply};
use crate::world::World;

fn world() -> World {
    World::new(1, Vec::new())
}

fn post(path: &str, body: &Value, world: &World) -> Reply {
    handle(&Recorded::test("google", path, body), world)
}

fn generate(model: &str, body: &Value, world: &World) -> Reply {
    post(
        &format!("/v1beta/models/{model}:generateContent"),
        body,
        world,
    )
}

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

fn scripted(steps: Value) -> Value {
    user(&format!("bardo-script: {}", json!({"steps": steps})))
}

fn with_tools(contents: Value) -> Value {
    json!({"contents": contents, "tools": [{"functionDeclarations": [
        {"name": "f", "parametersJsonSchema": {"type": "object", "additionalProperties": false}},
        {"name": "g"}]}]})
}

fn refused(model: &str, body: &Value, expected: &str) {
    let reply = generate(model, body, &world());
    let error = reply.body()["error"].clone();
    assert_eq!(reply.status, 400, "{body} was served");
    assert_eq!(error["status"], "INVALID_ARGUMENT");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains(expected), "{body}: {message}");
}

#[test]
fn keys_come_in_three_places() {
    let world = world();
    let body = json!({"contents": [user("x")]});
    let send = |path: &str, header: Option<(&'static str, &'static str)>| {
        let mut request = Recorded::test("google", path, &body);
        request.headers.clear();
        if let Some((name, value)) = header {
            request
                .headers
                .insert(name, http::HeaderValue::from_static(value));
        }
        let reply = handle(&request, &world);
        (
            reply.status,
            reply.body()["error"]["details"][0]["reason"].clone(),
        )
    };
    let path = "/v1/models/gemini-3-pro:generateContent";
    assert_eq!(send(path, Some(("x-goog-api-key", "k"))).0, 200);
    assert_eq!(send(&format!("{path}?key=k"), None).0, 200);
    assert_eq!(send(path, Some(("authorization", "Bearer k"))).0, 200);
    assert_eq!(send(path, None).0, 401);
    assert_eq!(
        send(&format!("{path}?key=bad"), None),
        (400, json!("API_KEY_INVALID"))
    );
}

#[test]
fn contents_and_roles() {
    let model = "gemini-3-pro";
    refused(model, &json!({"contents": []}), "contents is not specified");
    refused(
        model,
        &json!({"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}),
        "Please use a valid role: user, model.",
    );
    refused(
        model,
        &json!({"contents": [{"role": "user", "parts": []}]}),
        "contents.parts must not be empty",
    );
    refused(
        model,
        &json!({"contents": [{"parts": [{"text": "x", "inlineData": {"mimeType": "image/png", "data": ""}}]}]}),
        "oneof field 'data' is already set",
    );
    refused(
        model,
        &json!({"contents": [user("x")], "system": "y"}),
        "Unknown name \"system\"",
    );
    let reply = generate(
        "gemini-1.5-pro",
        &json!({"contents": [user("x")]}),
        &world(),
    );
    assert_eq!(
        (reply.status, &reply.body()["error"]["status"]),
        (404, &json!("NOT_FOUND"))
    );
}

#[test]
fn thinking_is_a_level_or_a_budget_by_model() {
    let think = |config: Value| json!({"contents": [user("x")], "generationConfig": {"thinkingConfig": config}});
    let both = think(json!({"thinkingLevel": "LOW", "thinkingBudget": 100}));
    refused(
        "gemini-3-pro",
        &both,
        "only one of thinking budget and thinking level",
    );
    refused(
        "gemini-2.5-pro",
        &think(json!({"thinkingLevel": "LOW"})),
        "not supported for this model",
    );
    refused(
        "gemini-3-pro",
        &think(json!({"thinkingLevel": "MINIMAL"})),
        "MINIMAL is not supported",
    );
    refused(
        "gemini-3-pro",
        &think(json!({"thinkingLevel": "NONE"})),
        "TYPE_ENUM",
    );
    refused(
        "gemini-2.5-pro",
        &think(json!({"thinkingBudget": 0})),
        "Budget 0 is invalid",
    );
    let off = think(json!({"thinkingBudget": 0}));
    let usage = generate("gemini-2.5-flash", &off, &world()).body()["usageMetadata"].clone();
    assert!(usage["thoughtsTokenCount"].is_null(), "{usage}");
    let on = generate("gemini-2.5-flash", &think(json!({})), &world()).body();
    assert!(on["usageMetadata"]["thoughtsTokenCount"].as_u64() > Some(0));
    let shown = generate(
        "gemini-3-pro",
        &think(json!({"includeThoughts": true})),
        &world(),
    )
    .body();
    assert_eq!(
        shown["candidates"][0]["content"]["parts"][0]["thought"],
        true
    );
}

#[test]
fn generation_settings() {
    let set = |config: Value| json!({"contents": [user("x")], "generationConfig": config});
    let schema = json!({"type": "object"});
    refused(
        "gemini-3-pro",
        &set(json!({"temperature": 3})),
        "range [0.0, 2.0]",
    );
    refused(
        "gemini-3-pro",
        &set(json!({"maxOutputTokens": 0})),
        "maxOutputTokens",
    );
    refused(
        "gemini-3-pro",
        &set(json!({"stopSequences": ["a", "b", "c", "d", "e", "f"]})),
        "exceed 5",
    );
    refused(
        "gemini-3-pro",
        &set(json!({"responseJsonSchema": schema})),
        "response mime type",
    );
    refused(
        "gemini-3-pro",
        &set(json!({"max_tokens": 5})),
        "Unknown name \"max_tokens\" at 'generation_config'",
    );
    let answer = generate(
        "gemini-3-pro",
        &set(
            json!({"responseMimeType": "application/json", "responseSchema":
            {"type": "OBJECT", "required": ["a"], "properties": {"a": {"type": "INTEGER"}}}}),
        ),
        &world(),
    );
    assert_eq!(
        answer.body()["candidates"][0]["content"]["parts"][0]["text"],
        "{\"a\":0}"
    );
}

/// The contents after one round of two parallel calls.
fn one_round(model: &str, world: &World) -> Vec<Value> {
    let steps = json!([{"think": "t", "tools": [{"name": "f", "args": {"b": 1, "a": 2}}, {"name": "g"}]},
        {"text": "done"}]);
    let mut contents = vec![scripted(steps)];
    let reply = generate(model, &with_tools(json!(contents)), world);
    let candidate = reply.body()["candidates"][0].clone();
    assert_eq!(candidate["finishReason"], "STOP", "{}", reply.body());
    contents.push(candidate["content"].clone());
    contents.push(json!({"role": "user", "parts": [
        {"functionResponse": {"name": "f", "response": {"output": "1"}}},
        {"functionResponse": {"name": "g", "response": {"error": "2"}}}]}));
    contents
}

#[test]
fn a_tool_loop_needs_its_signature() {
    let world = world();
    let contents = one_round("gemini-3-flash", &world);
    let parts = &contents[1]["parts"];
    assert!(parts[0]["thoughtSignature"].is_string());
    assert!(
        parts[1]["thoughtSignature"].is_null(),
        "only the first of a batch is signed"
    );
    let send =
        |model: &str, contents: &[Value]| generate(model, &with_tools(json!(contents)), &world);
    let done = send("gemini-3-flash", &contents).body();
    assert_eq!(done["candidates"][0]["content"]["parts"][0]["text"], "done");

    let mut edited = contents.clone();
    edited[1]["parts"][0]
        .as_object_mut()
        .expect("a part")
        .remove("thoughtSignature");
    let missing = send("gemini-3-flash", &edited);
    let message = missing.body()["error"]["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert_eq!(missing.status, 400);
    assert!(
        message.starts_with("Function call is missing a thought_signature in functionCall parts.")
    );
    assert!(message.contains("`default_api:f` , position 1"));
    assert_eq!(
        send("gemini-2.5-pro", &edited).status,
        200,
        "only Gemini 3 insists"
    );

    edited[1]["parts"][0]["thoughtSignature"] = json!("skip_thought_signature_validator");
    assert_eq!(send("gemini-3-flash", &edited).status, 200);

    let signature = contents[1]["parts"][0]["thoughtSignature"]
        .as_str()
        .expect("signed");
    edited[1]["parts"][0]["thoughtSignature"] =
        json!(signature.replace('+', "-").replace('/', "_"));
    assert_eq!(
        send("gemini-3-flash", &edited).status,
        200,
        "in the other alphabet of base64"
    );

    let mut later = contents.clone();
    later[1]["parts"][0]
        .as_object_mut()
        .expect("a part")
        .remove("thoughtSignature");
    later.push(json!({"role": "model", "parts": [{"text": "done"}]}));
    later.push(user("thanks"));
    assert_eq!(
        send("gemini-3-flash", &later).status,
        200,
        "earlier turns may lack it"
    );

    let mut tampered = contents.clone();
    tampered[1]["parts"][0]["functionCall"]["args"]["a"] = json!(3);
    let refused = send("gemini-3-flash", &tampered);
    assert_eq!(
        refused.body()["error"]["message"],
        "Corrupted thought signature."
    );
}

#[test]
fn a_script_goes_on_by_one_step_per_round() {
    let world = world();
    let steps = json!([{"tools": [{"name": "f"}]}, {"tools": [{"name": "g"}]}, {"text": "done"}]);
    let mut contents = vec![scripted(steps)];
    for name in ["f", "g"] {
        let body = generate("gemini-3-pro", &with_tools(json!(contents)), &world).body();
        let content = body["candidates"][0]["content"].clone();
        assert_eq!(content["parts"][0]["functionCall"]["name"], name);
        contents.push(content);
        contents.push(json!({"role": "user", "parts": [
            {"functionResponse": {"name": name, "response": {}}}]}));
    }
    let body = generate("gemini-3-pro", &with_tools(json!(contents)), &world).body();
    assert_eq!(body["candidates"][0]["content"]["parts"][0]["text"], "done");
}

#[test]
fn responses_of_a_batch_stand_in_one_content() {
    let world = world();
    let mut contents = one_round("gemini-3-flash", &world);
    let parts = contents[2]["parts"].as_array_mut().expect("parts");
    let second = parts.pop().expect("two responses");
    contents.push(json!({"role": "user", "parts": [second]}));
    let reply = generate("gemini-3-flash", &with_tools(json!(contents)), &world);
    let message = reply.body()["error"]["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        message.contains("number of function response parts is equal"),
        "{message}"
    );
}

/// Text, thoughts and the other parts of a stream, put together.
fn assembled(chunks: &[Value]) -> Vec<Value> {
    let mut parts: Vec<Value> = Vec::new();
    let deltas = chunks
        .iter()
        .flat_map(|chunk| chunk["candidates"][0]["content"]["parts"].as_array())
        .flatten();
    for delta in deltas {
        let text = delta["text"].as_str();
        match (parts.last_mut(), text) {
            (Some(last), Some(text))
                if last["text"].is_string() && last["thought"] == delta["thought"] =>
            {
                last["text"] = json!(format!(
                    "{}{text}",
                    last["text"].as_str().unwrap_or_default()
                ));
                if !delta["thoughtSignature"].is_null() {
                    last["thoughtSignature"] = delta["thoughtSignature"].clone();
                }
            }
            (_, Some("")) if delta["thoughtSignature"].is_null() => {}
            _ => parts.push(delta.clone()),
        }
    }
    parts
}

fn stream(query: &str, body: &Value, world: &World) -> Reply {
    post(
        &format!("/v1beta/models/gemini-3-pro:streamGenerateContent{query}"),
        body,
        world,
    )
}

#[test]
fn both_streams_add_up_to_the_response() {
    let world = world();
    for step in [
        json!({"think": "thinking", "text": "grüße an alle hier und dort"}),
        json!({"think": "t", "text": "calling", "tools": [{"name": "f", "args": {"a": 1}}, {"name": "g"}]}),
    ] {
        let mut body = with_tools(json!([scripted(json!([step]))]));
        body["generationConfig"] = json!({"thinkingConfig": {"includeThoughts": true}});
        let whole = generate("gemini-3-pro", &body, &world).body();
        let candidate = &whole["candidates"][0];
        let parts = candidate["content"]["parts"].as_array().expect("parts");

        let events = stream("?alt=sse", &body, &world).events();
        assert_eq!(&assembled(&events), parts);
        let last = events.last().expect("events");
        assert_eq!(last["candidates"][0]["finishReason"], "STOP");
        assert_eq!(last["usageMetadata"], whole["usageMetadata"]);

        let reply = stream("", &body, &world);
        assert_eq!(
            reply.header("content-type"),
            Some("application/json; charset=UTF-8")
        );
        let Content::Stream(pieces) = &reply.content else {
            panic!("a stream")
        };
        let bytes: Vec<u8> = pieces
            .iter()
            .flat_map(|piece| piece.bytes.to_vec())
            .collect();
        let array: Vec<Value> = serde_json::from_slice(&bytes).expect("an array");
        assert_eq!(&assembled(&array), parts);
    }
}

#[test]
fn errors_of_array_streams_are_wrapped() {
    let world = world();
    let body = json!({"contents": []});
    assert!(stream("", &body, &world).body()[0]["error"].is_object());
    assert!(stream("?alt=sse", &body, &world).body()["error"].is_object());
}

#[test]
fn arguments_stream_value_by_value_when_asked() {
    let args = json!({"s": "a long string value", "n": 2, "l": [true, null]});
    let mut body = with_tools(json!([scripted(
        json!([{"tools": [{"name": "f", "args": args}]}])
    )]));
    body["toolConfig"] = json!({"functionCallingConfig": {"streamFunctionCallArguments": true}});
    let events = stream("?alt=sse", &body, &world()).events();
    let calls: Vec<&Value> = events
        .iter()
        .map(|event| &event["candidates"][0]["content"]["parts"][0]["functionCall"])
        .filter(|call| !call.is_null())
        .collect();
    assert_eq!(
        (&calls[0]["name"], &calls[0]["willContinue"]),
        (&json!("f"), &json!(true))
    );
    let partials: Vec<&Value> = calls
        .iter()
        .filter_map(|call| call["partialArgs"].get(0))
        .collect();
    let text: String = partials
        .iter()
        .filter_map(|partial| partial["stringValue"].as_str())
        .collect();
    assert_eq!(text, "a long string value");
    assert_eq!(partials[0]["willContinue"], true);
    assert!(
        partials
            .iter()
            .any(|partial| partial["jsonPath"] == "$.l[0]" && partial["boolValue"] == true)
    );
    assert_eq!(calls.last(), Some(&&json!({})));
}

#[test]
fn finish_reasons_and_blocked_prompts() {
    let world = world();
    let say = |step: Value| {
        generate(
            "gemini-3-pro",
            &json!({"contents": [scripted(json!([step]))]}),
            &world,
        )
        .body()
    };
    let safety = say(json!({"text": "part", "finish": "SAFETY"}));
    assert_eq!(safety["candidates"][0]["finishReason"], "SAFETY");
    let malformed = say(json!({"finish": "MALFORMED_FUNCTION_CALL"}));
    assert_eq!(
        malformed["candidates"][0]["content"],
        json!({"role": "model"})
    );
    let blocked = say(json!({"blocked": "PROHIBITED_CONTENT"}));
    assert!(blocked["candidates"].is_null());
    assert_eq!(
        blocked["promptFeedback"]["blockReason"],
        "PROHIBITED_CONTENT"
    );
}

#[test]
fn grounding_counts_bytes() {
    let body = json!({"contents": [scripted(json!([{"text": "größer"}]))], "tools": [{"googleSearch": {}}]});
    let candidate = generate("gemini-3-pro", &body, &world()).body()["candidates"][0].clone();
    let segment = &candidate["groundingMetadata"]["groundingSupports"][0]["segment"];
    assert_eq!(segment["endIndex"], 8);
}

#[test]
fn cached_content_replaces_what_it_holds() {
    let world = world();
    let held = json!({"model": "models/gemini-3-pro", "ttl": "300s",
        "systemInstruction": {"parts": [{"text": "word ".repeat(1_100)}]}});
    let created = post("/v1beta/cachedContents", &held, &world).body();
    let name = created["name"].as_str().expect("a name");
    let mut body = json!({"contents": [user("x")], "cachedContent": name});
    let usage = generate("gemini-3-pro", &body, &world).body()["usageMetadata"].clone();
    assert_eq!(
        usage["cachedContentTokenCount"],
        created["usageMetadata"]["totalTokenCount"]
    );
    assert!(usage["promptTokenCount"].as_u64() > usage["cachedContentTokenCount"].as_u64());
    assert_eq!(generate("gemini-3-flash", &body, &world).status, 400);
    body["systemInstruction"] = json!({"parts": [{"text": "y"}]});
    assert_eq!(generate("gemini-3-pro", &body, &world).status, 400);
    let unknown = json!({"contents": [user("x")], "cachedContent": "cachedContents/none"});
    assert_eq!(generate("gemini-3-pro", &unknown, &world).status, 403);
    let small = json!({"model": "models/gemini-3-pro", "contents": [user("x")]});
    assert_eq!(post("/v1beta/cachedContents", &small, &world).status, 400);

    let mut remove = Recorded::test("google", &format!("/v1beta/{name}"), &Value::Null);
    assert_eq!(handle(&remove, &world).status, 200);
    remove.method = http::Method::DELETE;
    assert_eq!(handle(&remove, &world).status, 200);
    assert_eq!(handle(&remove, &world).status, 403);
}

#[test]
fn implicit_caching_shows_in_usage() {
    let world = world();
    let body = json!({"contents": [user(&"word ".repeat(1_100))]});
    generate("gemini-3-pro", &body, &world);
    let usage = generate("gemini-3-pro", &body, &world).body()["usageMetadata"].clone();
    assert!(
        usage["cachedContentTokenCount"].as_u64() >= Some(1_024),
        "{usage}"
    );
}

#[test]
fn counting_embedding_and_listing() {
    let world = world();
    let counted = post(
        "/v1/models/gemini-3-pro:countTokens",
        &json!({"contents": [user("x")]}),
        &world,
    );
    assert!(counted.body()["totalTokens"].as_u64() > Some(0));
    let content = json!({"parts": [{"text": "x"}]});
    let one = json!({"content": content, "outputDimensionality": 8});
    let one = post("/v1/models/gemini-embedding-001:embedContent", &one, &world).body();
    assert_eq!(one["embedding"]["values"].as_array().map(Vec::len), Some(8));
    let batch = json!({"requests": [{"model": "models/gemini-embedding-001", "content": content}]});
    let batch = post(
        "/v1/models/gemini-embedding-001:batchEmbedContents",
        &batch,
        &world,
    )
    .body();
    assert_eq!(
        batch["embeddings"][0]["values"].as_array().map(Vec::len),
        Some(3_072)
    );
    let wrong = post(
        "/v1/models/gemini-3-pro:embedContent",
        &json!({"content": content}),
        &world,
    );
    assert_eq!(wrong.status, 404);
    let listed = handle(
        &Recorded::test("google", "/v1/models?pageSize=2", &Value::Null),
        &world,
    )
    .body();
    assert_eq!(listed["models"].as_array().map(Vec::len), Some(2));
    assert_eq!(listed["nextPageToken"], "2");
}
