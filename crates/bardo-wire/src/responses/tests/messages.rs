//! Answers with several messages, and reasoning items of OpenAI, written anew for their own dialect.

use serde_json::{Value, json};

use super::*;

fn message(id: &str, phase: Option<&str>, text: &str) -> Value {
    let mut message = json!({ "id": id, "type": "message", "status": "completed", "role": "assistant",
        "content": [{ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }] });
    if let Some(phase) = phase {
        message["phase"] = json!(phase);
    }
    message
}

fn reasoning() -> Value {
    json!({ "id": "rs_1", "type": "reasoning", "encrypted_content": "gAAAA", "summary": [
        { "type": "summary_text", "text": "**One** part." },
        { "type": "summary_text", "text": "**Two** parts." }] })
}

fn answered(output: &[Value]) -> ChatResponse {
    let body =
        json!({ "id": "resp_1", "object": "response", "status": "completed", "output": output });
    decode_response(body.to_string().as_bytes(), &decode_context()).unwrap()
}

fn whole(response: &ChatResponse) -> Value {
    let mut body = json(&encode_response(response, &reply_context()));
    body["output"].take()
}

/// The events of the answer as a stream.
fn streamed(steps: Vec<StreamEvent>) -> Vec<Value> {
    let mut encoder = stream_encoder(reply_context());
    let mut out = Vec::new();
    for step in steps {
        encoder.encode(step, "", &mut out);
    }
    let mut events = Vec::new();
    let mut parser = SseParser::new(1 << 20);
    parser
        .push(&out, |event| events.push(json(event.data)))
        .unwrap();
    events
}

/// The steps of a stored answer: the item of OpenAI has the words.
fn without_words_of_thinking(response: ChatResponse) -> Vec<StreamEvent> {
    let is_word = |step: &StreamEvent| matches!(step, StreamEvent::Reasoning { .. });
    let steps = response.into_events().into_iter();
    steps.filter(|step| !is_word(step)).collect()
}

/// The items without their ids, which are new.
fn without_ids(output: &Value) -> Vec<Value> {
    let mut items = output.as_array().unwrap().clone();
    for item in &mut items {
        item.as_object_mut().unwrap().remove("id");
    }
    items
}

#[track_caller]
fn check(output: &[Value]) {
    let expected = without_ids(&json!(output));
    let response = answered(output);
    assert_eq!(without_ids(&whole(&response)), expected);
    let events = streamed(without_words_of_thinking(response));
    let last = events.last().unwrap();
    assert_eq!(without_ids(&last["response"]["output"]), expected);
}

#[test]
fn messages_stay_apart_and_keep_their_phase() {
    check(&[
        message("msg_1", None, "One."),
        message("msg_2", None, "Two."),
    ]);
    check(&[
        message("msg_1", Some("commentary"), "I look."),
        message("msg_2", Some("final_answer"), "It rains."),
    ]);
    check(&[
        message("msg_1", Some("commentary"), "I look."),
        reasoning(),
        message("msg_2", None, "It rains."),
    ]);
    let one = answered(&[message("msg_1", None, "One.")]);
    assert_eq!(one.choices[0].parts.len(), 1);
}

#[test]
fn messages_of_a_stream_stay_apart() {
    let items = [
        message("msg_1", Some("commentary"), "I look."),
        message("msg_2", None, "It"),
        message("msg_3", None, "rains."),
    ];
    let mut sse = String::new();
    for (place, item) in items.iter().enumerate() {
        for kind in ["added", "done"] {
            let event = json!({ "type": format!("response.output_item.{kind}"),
                "output_index": place, "item": item });
            sse.push_str(&format!("data: {event}\n\n"));
        }
    }
    let last = json!({ "type": "response.completed",
        "response": { "id": "resp_1", "status": "completed", "output": items } });
    sse.push_str(&format!("data: {last}\n\n"));
    let steps = steps(sse.as_bytes(), 4096);
    assert_eq!(assembled(steps.clone()).unwrap(), answered(&items));
    let events = streamed(steps);
    let shown = &events.last().unwrap()["response"]["output"];
    assert_eq!(without_ids(shown), without_ids(&json!(items)));
}

#[test]
fn an_item_of_openai_is_streamed_under_its_id_with_the_parts_of_its_summary() {
    let response = answered(&[reasoning(), message("msg_1", None, "It rains.")]);
    let events = streamed(without_words_of_thinking(response));
    let of = |kind: &str| -> Vec<&Value> {
        events
            .iter()
            .filter(|event| event["type"] == kind)
            .collect()
    };
    let parts = of("response.reasoning_summary_part.done");
    let texts: Vec<&Value> = parts.iter().map(|event| &event["part"]["text"]).collect();
    assert_eq!(texts, ["**One** part.", "**Two** parts."]);
    assert_eq!(parts[1]["summary_index"], 1);
    assert_eq!(parts[1]["item_id"], "rs_1");
    assert_eq!(of("response.output_item.added")[0]["item"]["id"], "rs_1");
    assert_eq!(of("response.output_item.done")[0]["item"], reasoning());
}
