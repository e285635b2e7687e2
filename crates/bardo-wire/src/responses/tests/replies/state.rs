//! State of providers, handed to a Responses caller and back.

use super::*;

/// What the caller sends back with its next turn.
fn replayed(output: &Value) -> Vec<Part> {
    let body = serde_json::json!({ "model": "m", "input": output });
    let request = decode_request(body.to_string().as_bytes()).unwrap();
    request
        .messages
        .into_iter()
        .flat_map(|message| message.parts)
        .map(|part| match part {
            Part::ToolCall(call) => Part::ToolCall(ToolCall {
                extra: Vec::new(),
                ..call
            }),
            part => part,
        })
        .collect()
}

#[test]
fn state_of_every_provider_comes_back_as_it_was() {
    let signed = Opaque::GeminiSignature("on text".into());
    let parts = vec![
        Part::Reasoning(Reasoning {
            text: "Thinking".into(),
            summary: true,
            opaque: Some(Opaque::AnthropicSignature("EqQB".into())),
        }),
        Part::Reasoning(Reasoning {
            opaque: Some(Opaque::AnthropicSignature("empty".into())),
            ..Reasoning::default()
        }),
        Part::Reasoning(Reasoning {
            opaque: Some(Opaque::AnthropicRedacted("r".into())),
            ..Reasoning::default()
        }),
        Part::Reasoning(Reasoning {
            text: "echo me".into(),
            summary: false,
            opaque: Some(Opaque::ReasoningContent),
        }),
        Part::Reasoning(Reasoning {
            text: "only words".into(),
            ..Reasoning::default()
        }),
        Part::Text(Text {
            opaque: Some(signed.clone()),
            ..Text::new("Signed words")
        }),
        Part::Text(Text {
            opaque: Some(signed),
            ..Text::default()
        }),
        Part::ToolCall(ToolCall {
            opaque: Some(Opaque::GeminiSignature("on call".into())),
            ..ToolCall::new("call_1", "f", "{}")
        }),
        Part::ToolCall(ToolCall::new("call_2", "f", "{}")),
    ];
    let response = answer(parts.clone(), Finish::ToolCalls);
    let whole = json(&encode_response(&response, &reply_context()));
    assert_eq!(replayed(&whole["output"]), parts);
    let events = checked(&encoded(steps_of(&response)));
    assert_eq!(
        replayed(&events.last().unwrap()["response"]["output"]),
        parts
    );
}

#[test]
fn signed_thinking_survives_a_client_that_drops_its_words() {
    let parts = vec![Part::Reasoning(Reasoning {
        text: "Word for word".into(),
        summary: false,
        opaque: Some(Opaque::AnthropicSignature("EqQB".into())),
    })];
    let mut whole = json(&encode_response(
        &answer(parts.clone(), Finish::Stop),
        &reply_context(),
    ));
    let item = whole["output"][0].as_object_mut().unwrap();
    item.remove("content");
    item.remove("id");
    assert_eq!(replayed(&whole["output"]), parts);
}

#[test]
fn openai_reasoning_comes_back_whole_even_when_it_was_streamed_under_our_id() {
    let response = from_whole("parallel_tools").unwrap();
    let events = checked(&encoded(steps_of(&response)));
    let back = replayed(&events.last().unwrap()["response"]["output"]);
    assert_eq!(back[0], response.choices[0].parts[0]);
    let whole = json(&encode_response(&response, &reply_context()));
    assert_eq!(whole["output"][0]["id"], "rs_1");
    assert_eq!(replayed(&whole["output"])[0], response.choices[0].parts[0]);
}
