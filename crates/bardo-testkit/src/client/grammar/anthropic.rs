//! Reads answers of the Messages API strictly.

use serde_json::Value;

use super::{Block, Content, input, rule, text};

pub(super) fn message(body: &Value) -> Result<Content, String> {
    head(body)?;
    let mut content = Content::default();
    for block in body["content"].as_array().ok_or("no content")? {
        match text(block, "/type") {
            "text" => content.text.push_str(text(block, "/text")),
            "tool_use" => {
                rule(!text(block, "/id").is_empty(), || "id of a call".into())?;
                let name = text(block, "/name").to_owned();
                content.calls.push((name, block["input"].clone()));
            }
            other => return Err(format!("a block of type {other}")),
        }
    }
    counts(&body["usage"])?;
    stop(&body["stop_reason"], &content)?;
    Ok(content)
}

/// A block of content that has begun.
enum Open {
    Text,
    Call { name: String, input: String },
}

pub(super) fn events(events: &[Block<'_>]) -> Result<Content, String> {
    let names: Vec<&str> = events.iter().map(|event| event.name).collect();
    rule(names.first() == Some(&"message_start"), || {
        format!("it begins with {:?}", names.first())
    })?;
    rule(names.ends_with(&["message_delta", "message_stop"]), || {
        format!("it ends otherwise: {names:?}")
    })?;
    let (mut content, mut open, mut next) = (Content::default(), None, 0);
    for (at, Block { name, data }) in events.iter().enumerate() {
        rule(data["type"] == *name, || format!("{name} is {data}"))?;
        match *name {
            "message_start" => {
                rule(at == 0, || "it begins twice".into())?;
                head(&data["message"])?;
                rule(data["message"]["content"] == serde_json::json!([]), || {
                    format!("content at its start: {data}")
                })?;
                rule(data["message"]["stop_reason"].is_null(), || {
                    format!("stopped at its start: {data}")
                })?;
            }
            "content_block_start" => {
                rule(open.is_none() && data["index"] == next, || {
                    format!("block {next}: {data}")
                })?;
                open = Some(start(&data["content_block"])?);
            }
            "content_block_delta" => {
                rule(data["index"] == next, || format!("block {next}: {data}"))?;
                match (&mut open, text(data, "/delta/type")) {
                    (Some(Open::Text), "text_delta") => {
                        content.text.push_str(text(data, "/delta/text"));
                    }
                    (Some(Open::Call { input, .. }), "input_json_delta") => {
                        input.push_str(text(data, "/delta/partial_json"));
                    }
                    _ => return Err(format!("a delta of no such block: {data}")),
                }
            }
            "content_block_stop" => {
                rule(data["index"] == next, || format!("block {next}: {data}"))?;
                next += 1;
                match open.take().ok_or("a block ends that is not open")? {
                    Open::Text => {}
                    Open::Call { name, input: given } => {
                        content.calls.push((name, input(&given)?));
                    }
                }
            }
            "message_delta" => {
                rule(open.is_none(), || "a block is open at its end".into())?;
                counts(&data["usage"])?;
                stop(&data["delta"]["stop_reason"], &content)?;
            }
            "message_stop" | "ping" => {}
            other => return Err(format!("no such event: {other}")),
        }
    }
    Ok(content)
}

fn start(block: &Value) -> Result<Open, String> {
    match text(block, "/type") {
        "text" => {
            rule(block["text"] == "", || {
                format!("text at its start: {block}")
            })?;
            Ok(Open::Text)
        }
        "tool_use" => {
            rule(!text(block, "/id").is_empty(), || "id of a call".into())?;
            rule(block["input"] == serde_json::json!({}), || {
                format!("input at its start: {block}")
            })?;
            Ok(Open::Call {
                name: text(block, "/name").to_owned(),
                input: String::new(),
            })
        }
        other => Err(format!("a block of type {other}")),
    }
}

fn head(message: &Value) -> Result<(), String> {
    rule(message["type"] == "message", || "type".into())?;
    rule(message["role"] == "assistant", || "role".into())?;
    rule(!text(message, "/id").is_empty(), || "id".into())?;
    rule(!text(message, "/model").is_empty(), || "model".into())?;
    rule(message["usage"]["input_tokens"].is_u64(), || {
        format!("usage: {}", message["usage"])
    })
}

fn counts(usage: &Value) -> Result<(), String> {
    rule(usage["output_tokens"].is_u64(), || {
        format!("usage: {usage}")
    })
}

fn stop(reason: &Value, content: &Content) -> Result<(), String> {
    let expected = match content.calls.is_empty() {
        true => "end_turn",
        false => "tool_use",
    };
    rule(*reason == expected, || format!("stop_reason: {reason}"))
}
