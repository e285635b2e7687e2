use serde_json::{Value, json};

use crate::recorded::Recorded;
use crate::reply::{Content, Part, Reply};
use crate::world::World;

/// Streams two parallel calls with one fault.
fn stream(fault: Value) -> Reply {
    let steps = json!({ "steps": [{ "text": "I call both.", "fault": fault, "chunk": 4, "tools": [
        { "name": "f", "args": { "first": 1 } }, { "name": "g", "args": { "second": 2 } }] }] });
    let body = json!({ "model": "gpt-5.5", "stream": true, "stream_options": { "include_usage": true },
        "messages": [{ "role": "user", "content": format!("bardo-script: {steps}") }] });
    let request = Recorded::test("openai", "/v1/chat/completions", &body);
    crate::openai::handle(&request, &World::new(7, Vec::new()))
}

fn fragments(reply: &Reply) -> Vec<Value> {
    let calls = |event: &Value| event.pointer("/choices/0/delta/tool_calls/0").cloned();
    reply.events().iter().filter_map(calls).collect()
}

fn finish(reply: &Reply) -> Option<Value> {
    let events = reply.events();
    events
        .iter()
        .filter_map(|event| event.pointer("/choices/0/finish_reason"))
        .find(|reason| !reason.is_null())
        .cloned()
}

#[test]
fn without_a_fault_calls_come_one_after_the_other() {
    let reply = stream(Value::Null);
    let indexes: Vec<u64> = fragments(&reply)
        .iter()
        .filter_map(|call| call["index"].as_u64())
        .collect();
    let mut sorted = indexes.clone();
    sorted.sort_unstable();
    assert_eq!(indexes, sorted);
    assert_eq!(finish(&reply), Some(json!("tool_calls")));
}

#[test]
fn usage_can_be_missing_or_late() {
    let missing = stream(json!({ "kind": "usage_missing" }));
    assert!(
        missing
            .events()
            .iter()
            .all(|event| event["usage"].is_null())
    );
    let late = stream(json!({ "kind": "late_usage", "ms": 70 }));
    let Content::Stream(pieces) = &late.content else {
        panic!("not a stream")
    };
    let usage = pieces
        .iter()
        .rfind(|piece| piece.part == Part::Close)
        .expect("usage");
    assert_eq!(usage.delay_ms, 70);
    assert!(late.events().last().expect("one")["usage"]["total_tokens"].is_u64());
}

#[test]
fn the_finish_reason_can_be_missing() {
    assert_eq!(finish(&stream(json!({ "kind": "finish_missing" }))), None);
}

#[test]
fn indexes_can_all_be_zero() {
    let calls = fragments(&stream(json!({ "kind": "index_always_zero" })));
    assert!(calls.iter().all(|call| call["index"] == 0));
    assert_eq!(
        calls.iter().filter(|call| call.get("id").is_some()).count(),
        2
    );
}

#[test]
fn ids_can_come_with_every_fragment() {
    let calls = fragments(&stream(json!({ "kind": "same_id_every_fragment" })));
    assert!(calls.len() > 4 && calls.iter().all(|call| call["id"].is_string()));
}

#[test]
fn arguments_can_come_at_once() {
    let calls = fragments(&stream(json!({ "kind": "args_in_first_fragment" })));
    let arguments: Vec<&str> = calls
        .iter()
        .filter_map(|call| call["function"]["arguments"].as_str())
        .collect();
    assert_eq!(arguments, [r#"{"first":1}"#, r#"{"second":2}"#]);
}

#[test]
fn text_can_come_with_an_empty_list_of_calls() {
    let reply = stream(json!({ "kind": "tool_calls_empty_list" }));
    let texts: Vec<Value> = reply
        .events()
        .iter()
        .filter_map(|event| event.pointer("/choices/0/delta").cloned())
        .filter(|delta| {
            delta["content"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        })
        .collect();
    assert!(!texts.is_empty() && texts.iter().all(|delta| delta["tool_calls"] == json!([])));
}

#[test]
fn parallel_calls_can_interleave() {
    let calls = fragments(&stream(json!({ "kind": "interleave_tools" })));
    let indexes: Vec<u64> = calls
        .iter()
        .filter_map(|call| call["index"].as_u64())
        .collect();
    assert_eq!(indexes[..4], [0, 1, 0, 1]);
}
