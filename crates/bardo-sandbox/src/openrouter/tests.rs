use super::*;

fn ask(world: &World, more: Value) -> Reply {
    let mut body = json!({ "model": "anthropic/claude-opus-5.5",
        "messages": [{ "role": "user", "content": "hi" }] });
    body.as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    handle(
        &Recorded::test("openrouter", "/api/v1/chat/completions", &body),
        world,
    )
}

fn world() -> World {
    World::new(7, Vec::new())
}

#[test]
fn every_row_has_the_shape_of_the_sheet() {
    let list = handle(
        &Recorded::test("openrouter", "/api/v1/models", &Value::Null),
        &world(),
    )
    .body();
    let rows = list["data"].as_array().expect("rows");
    for row in rows {
        for name in [
            "canonical_slug",
            "architecture",
            "pricing",
            "top_provider",
            "supported_parameters",
        ] {
            assert!(row.get(name).is_some(), "{} {name}", row["id"]);
        }
        let price: f64 = row["pricing"]["prompt"]
            .as_str()
            .expect("a string")
            .parse()
            .expect("decimal");
        assert!(price >= 0.0 || row["id"] == "openrouter/auto");
    }
    assert!(models::find("anthropic/claude-opus-5.5:nitro").is_some());
}

#[test]
fn cost_and_details_come_with_the_answer() {
    let body = ask(&world(), json!({})).body();
    let message = &body["choices"][0]["message"];
    assert!(message["reasoning"].is_string());
    assert_eq!(
        message["reasoning_details"][0]["format"],
        "anthropic-claude-v1"
    );
    assert!(body["usage"]["cost"].as_f64() > Some(0.0));
    assert_eq!(body["choices"][0]["native_finish_reason"], "stop");
}

#[test]
fn details_survive_the_round_trip_and_tampering_does_not() {
    let world = world();
    let details =
        ask(&world, json!({})).body()["choices"][0]["message"]["reasoning_details"].clone();
    let replay = |details: &Value| {
        let assistant =
            json!({ "role": "assistant", "content": "x", "reasoning_details": details });
        ask(
            &world,
            json!({ "messages": [{ "role": "user", "content": "hi" }, assistant,
            { "role": "user", "content": "go on" }] }),
        )
    };
    assert_eq!(replay(&details).status, 200);
    let mut changed = details.clone();
    changed[0]["text"] = json!("something else");
    let refused = replay(&changed);
    assert_eq!(refused.status, 400);
    assert!(
        refused.body()["error"]["metadata"]["raw"]
            .to_string()
            .contains("signature")
    );
}

#[test]
fn the_stream_ends_with_usage_in_an_empty_delta() {
    let reply = ask(&world(), json!({ "stream": true }));
    let Content::Stream(pieces) = &reply.content else {
        panic!("not a stream")
    };
    assert_eq!(&pieces[0].bytes[..], b": OPENROUTER PROCESSING\n\n");
    let events = reply.events();
    let last = events.last().expect("one");
    assert_eq!(last["choices"][0]["delta"]["content"], "");
    assert!(last["usage"]["cost"].is_number());
    let sealed: Vec<&Value> = events
        .iter()
        .filter_map(|event| event.pointer("/choices/0/delta/reasoning_details/0"))
        .filter(|detail| detail.get("signature").is_some())
        .collect();
    assert_eq!(sealed.len(), 1);
    assert_eq!(sealed[0].get("text"), None);
}

#[test]
fn gemini_calls_need_their_details_in_the_current_turn() {
    let world = world();
    let call =
        json!({ "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let conversation = |details: Value| {
        json!({ "model": "google/gemini-3.1-pro", "messages": [
        { "role": "user", "content": "x" },
        { "role": "assistant", "content": null, "tool_calls": [call], "reasoning_details": details },
        { "role": "tool", "tool_call_id": "a", "content": "1" }] })
    };
    assert_eq!(ask(&world, conversation(json!([]))).status, 400);
    let details = reasoning_details(&world, "google/gemini-3.1-pro", "t");
    assert_eq!(ask(&world, conversation(details)).status, 200);
}

#[test]
fn requirements_that_nobody_meets_are_503_and_dropped_otherwise() {
    let tools = json!([{ "type": "function", "function": { "name": "f" } }]);
    let asked = |preferences: Value| {
        ask(
            &world(),
            json!({ "model": "nousresearch/hermes-4-405b",
        "tools": tools, "tool_choice": "required", "provider": preferences }),
        )
    };
    assert_eq!(asked(json!({ "require_parameters": true })).status, 503);
    let dropped = asked(json!({})).body();
    assert_eq!(dropped["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        ask(&world(), json!({ "provider": { "only": ["nobody"] } })).status,
        503
    );
    assert_eq!(
        ask(&world(), json!({ "model": "acme/none" })).body()["error"]["code"],
        400
    );
}

#[test]
fn excluded_reasoning_is_still_counted() {
    let body = ask(&world(), json!({ "reasoning": { "exclude": true } })).body();
    assert_eq!(body["choices"][0]["message"].get("reasoning"), None);
    assert!(body["usage"]["completion_tokens_details"]["reasoning_tokens"].as_u64() > Some(0));
}
