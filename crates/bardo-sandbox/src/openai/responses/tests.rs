use super::*;
use crate::openai::handle;

fn world() -> World {
    World::new(7, Vec::new())
}

fn ask(world: &World, body: &Value) -> Reply {
    handle(&Recorded::test("openai", "/v1/responses", body), world)
}

fn scripted(steps: Value) -> Value {
    json!({ "type": "message", "role": "user", "content": [
        { "type": "input_text", "text": format!("bardo-script: {}", json!({ "steps": steps })) }] })
}

fn tool_loop() -> Value {
    json!({
        "model": "gpt-6-sol", "store": false, "include": ["reasoning.encrypted_content"],
        "reasoning": { "effort": "high", "summary": "auto" },
        "tools": [{ "type": "function", "name": "f", "parameters": { "type": "object", "properties": {} } }],
        "input": [scripted(json!([
            { "think": "I need f.", "tools": [{ "name": "f", "args": { "a": 1 } }] }, { "text": "fine" }]))],
    })
}

/// The input with another item of reasoning behind the first message.
fn complete_without_id(input: &Value, reasoning: Value) -> Value {
    let mut items = input.as_array().expect("items").clone();
    items[1] = reasoning;
    json!(items)
}

#[test]
fn a_stateless_tool_loop_replays_its_reasoning() {
    let world = world();
    let mut body = tool_loop();
    let first = ask(&world, &body).body();
    let output = first["output"].as_array().expect("items").clone();
    assert_eq!(output[0]["summary"][0]["text"], "I need f.");
    let call = output[1].clone();
    assert_ne!(call["id"], call["call_id"]);
    let result =
        json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "1" });
    let replay = |items: &[Value]| {
        let mut input = vec![body["input"][0].clone()];
        input.extend_from_slice(items);
        input
    };
    let complete = replay(&[output[0].clone(), call.clone(), result.clone()]);
    let without_reasoning = replay(&[call.clone(), result.clone()]);
    let mut tampered = output[0].clone();
    tampered["encrypted_content"] = json!("AAAA");
    let tampered = replay(&[tampered, call.clone(), result.clone()]);
    let dangling = replay(&[output[0].clone(), call]);
    let orphan = replay(&[result]);
    body["input"] = json!(complete);
    let second = ask(&world, &body).body();
    assert_eq!(second["output"][0]["content"][0]["text"], "fine");
    // A client that drops ids sends the sealed content alone.
    let mut nameless = output[0].clone();
    nameless.as_object_mut().expect("an item").remove("id");
    let last = complete_without_id(&body["input"], nameless);
    body["input"] = last;
    let again = ask(&world, &body).body();
    assert_eq!(again["output"][0]["content"][0]["text"], "fine", "{again}");
    for (input, message) in [
        (without_reasoning, "without its required 'reasoning' item"),
        (tampered, "could not be verified"),
        (dangling, "No tool output found"),
        (orphan, "No tool call found"),
    ] {
        body["input"] = json!(input);
        let reply = ask(&world, &body);
        assert_eq!(reply.status, 400);
        assert!(reply.body().to_string().contains(message), "{message}");
    }
}

#[test]
fn a_chain_continues_by_id_and_can_be_read_back() {
    let world = world();
    let mut body = tool_loop();
    body["store"] = json!(true);
    let first = ask(&world, &body).body();
    let id = first["id"].as_str().expect("an id");
    let call = first["output"][1]["call_id"].clone();
    body["previous_response_id"] = json!(id);
    body["input"] = json!([{ "type": "function_call_output", "call_id": call, "output": "1" }]);
    assert_eq!(
        ask(&world, &body).body()["output"][0]["content"][0]["text"],
        "fine"
    );
    let path = format!("/v1/responses/{id}");
    let get = |path: &str| handle(&Recorded::test("openai", path, &Value::Null), &world);
    assert_eq!(get(&path).body()["id"], json!(id));
    assert_eq!(get(&format!("{path}/input_items")).body()["object"], "list");
    body["previous_response_id"] = json!("resp_unknown");
    assert_eq!(
        ask(&world, &body).body()["error"]["code"],
        "previous_response_not_found"
    );
}

#[test]
fn the_stream_has_the_full_grammar() {
    let world = world();
    let mut body = tool_loop();
    body["input"][0] = scripted(
        json!([{ "think": "hm", "text": "hello world, hello", "tools": [{ "name": "f" }] }]),
    );
    let whole = ask(&world, &body).body();
    body["stream"] = json!(true);
    let events = ask(&world, &body).events();
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    assert_eq!(
        kinds[..3],
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added"
        ]
    );
    assert_eq!(kinds.last(), Some(&"response.completed"));
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], json!(at));
    }
    for wanted in [
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ] {
        assert!(kinds.contains(&wanted), "{wanted}");
    }
    let text: String = events
        .iter()
        .filter(|event| event["type"] == "response.output_text.delta")
        .filter_map(|event| event["delta"].as_str())
        .collect();
    assert_eq!(text, "hello world, hello");
    assert_eq!(
        events.last().expect("one")["response"]["output"]
            .as_array()
            .map(Vec::len),
        whole["output"].as_array().map(Vec::len)
    );
}

#[test]
fn unfinished_answers_end_in_their_own_event() {
    let world = world();
    for (stop, kind) in [
        ("length", "response.incomplete"),
        ("failed", "response.failed"),
    ] {
        let body = json!({ "model": "gpt-6-sol", "stream": true,
            "input": [scripted(json!([{ "text": "x", "stop": stop }]))] });
        let events = ask(&world, &body).events();
        assert_eq!(events.last().expect("one")["type"], kind);
    }
}

#[test]
fn only_done_events_leaves_out_deltas() {
    let world = world();
    let mut body = tool_loop();
    body["stream"] = json!(true);
    body["input"][0] = scripted(
        json!([{ "fault": { "kind": "only_done_events" }, "tools": [{ "name": "f", "args": { "a": 1 } }] }]),
    );
    let events = ask(&world, &body).events();
    assert!(events.iter().all(|event| {
        !event["type"]
            .as_str()
            .unwrap_or_default()
            .ends_with(".delta")
    }));
    let done = events
        .iter()
        .find(|event| event["type"] == "response.function_call_arguments.done");
    assert_eq!(done.expect("a done event")["arguments"], r#"{"a":1}"#);
}

#[test]
fn chat_shapes_are_refused() {
    let world = world();
    let refused = |more: Value| {
        let mut body = json!({ "model": "gpt-6-sol", "input": "hi" });
        body.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        ask(&world, &body).status
    };
    assert_eq!(refused(json!({})), 200);
    for more in [
        json!({ "messages": [] }),
        json!({ "tools": [{ "type": "function", "function": { "name": "f" } }] }),
        json!({ "input": [{ "role": "user", "content": [{ "type": "text", "text": "x" }] }] }),
        json!({ "input": [{ "role": "tool", "content": "x" }] }),
        json!({ "temperature": 0.2 }),
        json!({ "tool_choice": "required" }),
        json!({ "reasoning": { "effort": "most" } }),
    ] {
        assert_eq!(refused(more.clone()), 400, "{more}");
    }
}

#[test]
fn input_tokens_are_counted() {
    let request = Recorded::test(
        "openai",
        "/v1/responses/input_tokens",
        &json!({ "model": "gpt-6-sol", "input": "hello" }),
    );
    let body = handle(&request, &world()).body();
    assert_eq!(body["object"], "response.input_tokens");
    assert!(body["input_tokens"].as_u64() > Some(0));
}

#[test]
fn tools_can_come_in_an_item_and_in_namespaces() {
    let tools = json!([
        { "type": "namespace", "name": "functions", "description": "", "tools": [
            { "type": "custom", "name": "exec", "description": "Run." }] },
        { "type": "namespace", "name": "clock", "description": "Time.", "tools": [
            { "type": "function", "name": "sleep", "parameters": { "type": "object", "properties": {} } }] },
    ]);
    let item = |role: &str| json!({ "type": "additional_tools", "id": "at_1", "role": role, "tools": tools });
    let steps =
        json!([{ "tools": [{ "name": "exec", "input": "1" }, { "name": "sleep", "args": {} }] }]);
    let mut body = json!({ "model": "gpt-6-sol", "input": [item("developer"), scripted(steps)] });
    let output = ask(&world(), &body).body()["output"].clone();
    assert_eq!(output[0]["type"], "custom_tool_call");
    assert_eq!(output[0].get("namespace"), None);
    assert_eq!(output[1]["namespace"], "clock");
    body["tool_choice"] = json!({ "type": "function", "name": "sleep" });
    assert_eq!(ask(&world(), &body).status, 200);
    body["tool_choice"] = json!({ "type": "function", "name": "missing" });
    assert_eq!(ask(&world(), &body).status, 400);
    body["input"][0] = item("user");
    assert_eq!(ask(&world(), &body).status, 400);
}
