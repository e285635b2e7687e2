//! Answers that are written anew as the service wrote them, and content in lists of parts.

use bardo_types::chat::{Part, Reasoning, ServerBlock};
use serde_json::{Value, json};

use super::*;
use crate::codec::Original;

fn original(service: Service, has_thinking_state: bool) -> ReplyContext {
    ReplyContext {
        original: Some(Original {
            service,
            has_thinking_state,
        }),
        ..reply_context()
    }
}

fn whole_answer(message: Value, service: Service) -> ChatResponse {
    let body = json!({ "id": "1", "model": "m", "object": "chat.completion",
        "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] });
    decode_response(body.to_string().as_bytes(), &decode_context(service, "m")).unwrap()
}

fn message(response: &ChatResponse, context: &ReplyContext) -> Value {
    let body: Value = serde_json::from_slice(&encode_response(response, context)).unwrap();
    body["choices"][0]["message"].clone()
}

/// The deltas of a stream, joined by the names of their members.
fn deltas(response: ChatResponse, context: ReplyContext, name: &str) -> Vec<Value> {
    let text = streamed(response.into_events(), context);
    let chunks = text.lines().filter_map(|line| line.strip_prefix("data: {"));
    let chunks = chunks.map(|rest| serde_json::from_str::<Value>(&format!("{{{rest}")).unwrap());
    let delta = |chunk: Value| chunk["choices"][0]["delta"].get(name).cloned();
    chunks.filter_map(delta).collect()
}

#[test]
fn thinking_has_the_name_that_its_service_gives_it() {
    let thought = json!({ "role": "assistant", "content": "b", "reasoning": "a" });
    for (service, named) in [
        (Service::OpenRouter, true),
        (Service::Local, true),
        (Service::Compatible, true),
        (Service::DeepSeek, false),
        (Service::Venice, false),
    ] {
        let response = whole_answer(thought.clone(), service);
        let context = original(service, false);
        let shown = message(&response, &context);
        assert_eq!(shown["reasoning_content"], "a");
        assert_eq!(shown["reasoning"] == "a", named, "{service:?}");
        let streamed = deltas(response, context, "reasoning");
        assert_eq!(streamed == ["a"], named, "{service:?}");
    }
    let translated = message(
        &whole_answer(thought, Service::OpenRouter),
        &reply_context(),
    );
    assert_eq!(translated.get("reasoning"), None);
}

#[test]
fn thinking_without_state_has_no_details_beside_its_words() {
    let thought = json!({ "role": "assistant", "content": "b", "reasoning_content": "a" });
    let details = |service, context: ReplyContext| {
        let response = whole_answer(thought.clone(), service);
        let whole = message(&response, &context)
            .get("reasoning_details")
            .is_some();
        (
            whole,
            !deltas(response, context, "reasoning_details").is_empty(),
        )
    };
    let deepseek = Service::DeepSeek;
    assert_eq!(details(deepseek, original(deepseek, false)), (false, false));
    let router = Service::OpenRouter;
    assert_eq!(details(router, original(router, false)), (true, true));
}

#[test]
fn blocks_of_thinking_are_joined_as_their_service_joins_them() {
    let mut response = whole_answer(json!({ "content": "x" }), Service::DeepSeek);
    let thought = |text: &str| {
        Part::Reasoning(Reasoning {
            text: text.into(),
            summary: false,
            opaque: None,
        })
    };
    let parts = &mut response.choices[0].parts;
    parts.insert(0, thought("one. "));
    parts.push(thought("two."));
    let context = original(Service::DeepSeek, false);
    assert_eq!(
        message(&response, &context)["reasoning_content"],
        "one. two."
    );
    assert_eq!(
        deltas(response.clone(), context, "reasoning_content"),
        ["one. ", "two."]
    );
    let translated = message(&response, &reply_context());
    assert_eq!(translated["reasoning_content"], "one. \n\ntwo.");
}

#[test]
fn no_part_of_a_list_is_lost() {
    let image = json!({ "type": "image_url", "image_url": { "url": "data:," } });
    let content = json!([
        { "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] },
        { "type": "text", "text": "a" },
        image,
        { "type": "text", "text": "b" },
        { "type": "text", "text": "" },
    ]);
    let listed = whole_answer(json!({ "content": content }), Service::Compatible);
    let plain = json!({ "content": "ab", "reasoning_content": "hm" });
    let mut expected = whole_answer(plain, Service::Compatible).choices.remove(0);
    let block = ServerBlock {
        dialect: Dialect::Chat,
        kind: "content_parts".into(),
        raw: bardo_types::json::RawJson::of(&json!([image])).unwrap(),
    };
    expected.parts.push(Part::Server(block));
    assert_eq!(listed.choices, [expected]);
}

#[test]
fn usage_is_wanted_in_openrouters_words_too() {
    for (members, wanted) in [
        (r#""usage":{"include":true}"#, true),
        (r#""usage":{"include":false}"#, false),
        (r#""usage":true"#, false),
        (r#""stream_options":{"include_usage":true}"#, true),
        (r#""stream":true"#, false),
    ] {
        let body =
            format!(r#"{{"model":"m","messages":[{{"role":"user","content":"a"}}],{members}}}"#);
        let read = decode_request(body.as_bytes());
        assert_eq!(read.unwrap().include_usage, wanted, "{body}");
    }
}
