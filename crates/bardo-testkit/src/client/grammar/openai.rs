//! Reads answers of Chat Completions and Completions strictly.

use serde_json::Value;

use super::{Block, Content, input, rule, text};

pub(super) fn chat(body: &Value) -> Result<Content, String> {
    rule(body["object"] == "chat.completion", || "object".into())?;
    head(body)?;
    counts(&body["usage"])?;
    let choice = &body["choices"][0];
    rule(choice["index"] == 0, || "index".into())?;
    let message = &choice["message"];
    rule(message["role"] == "assistant", || "role".into())?;
    let mut content = Content {
        text: text(message, "/content").to_owned(),
        calls: Vec::new(),
    };
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        rule(!text(call, "/id").is_empty(), || "id of a call".into())?;
        rule(call["type"] == "function", || "type of a call".into())?;
        let name = text(call, "/function/name").to_owned();
        let given = input(text(call, "/function/arguments"))?;
        content.calls.push((name, given));
    }
    finish(&choice["finish_reason"], &content)?;
    Ok(content)
}

pub(super) fn completion(body: &Value) -> Result<Content, String> {
    rule(body["object"] == "text_completion", || "object".into())?;
    head(body)?;
    counts(&body["usage"])?;
    let choice = &body["choices"][0];
    rule(choice["index"] == 0, || "index".into())?;
    rule(choice["text"].is_string(), || "text".into())?;
    let content = Content {
        text: text(choice, "/text").to_owned(),
        calls: Vec::new(),
    };
    finish(&choice["finish_reason"], &content)?;
    Ok(content)
}

pub(super) fn chat_chunks(events: &[Block<'_>]) -> Result<Content, String> {
    let mut said = String::new();
    let mut calls: Vec<(String, String)> = Vec::new();
    let reason = chunks(events, "chat.completion.chunk", |choice| {
        let delta = &choice["delta"];
        rule(delta.is_object(), || format!("no delta: {choice}"))?;
        said.push_str(text(delta, "/content"));
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = call["index"].as_u64().ok_or("index of a call")?;
            if index == calls.len() as u64 {
                rule(!text(call, "/id").is_empty(), || "id of a call".into())?;
                calls.push((text(call, "/function/name").to_owned(), String::new()));
            }
            rule(index + 1 == calls.len() as u64, || {
                format!("calls interleave: {call}")
            })?;
            if let Some((_, arguments)) = calls.last_mut() {
                arguments.push_str(text(call, "/function/arguments"));
            }
        }
        Ok(())
    })?;
    let role = text(&events[0].data, "/choices/0/delta/role");
    rule(role == "assistant", || format!("role: {role}"))?;
    let calls: Result<Vec<_>, String> = calls
        .into_iter()
        .map(|(name, arguments)| Ok((name, input(&arguments)?)))
        .collect();
    let content = Content {
        text: said,
        calls: calls?,
    };
    finish(&reason, &content)?;
    Ok(content)
}

pub(super) fn completion_chunks(events: &[Block<'_>]) -> Result<Content, String> {
    let mut content = Content::default();
    let reason = chunks(events, "text_completion", |choice| {
        rule(choice["text"].is_string(), || format!("no text: {choice}"))?;
        content.text.push_str(text(choice, "/text"));
        Ok(())
    })?;
    finish(&reason, &content)?;
    Ok(content)
}

/// Hands over the choice of each chunk, and answers the finish reason.
fn chunks(
    events: &[Block<'_>],
    object: &str,
    mut take: impl FnMut(&Value) -> Result<(), String>,
) -> Result<Value, String> {
    let first = events.first().ok_or("no chunk")?;
    head(&first.data)?;
    let mut reason = Value::Null;
    for Block { name, data } in events {
        rule(name.is_empty(), || format!("an event with a name: {name}"))?;
        rule(data["object"] == object, || format!("object of {data}"))?;
        for member in ["id", "model", "created"] {
            let same = data[member] == first.data[member];
            rule(same, || format!("`{member}` of {data}"))?;
        }
        let choice = &data["choices"][0];
        if choice.is_null() {
            rule(reason.is_string(), || format!("no choice: {data}"))?;
            counts(&data["usage"])?;
            continue;
        }
        rule(reason.is_null(), || format!("after its finish: {data}"))?;
        take(choice)?;
        reason = choice["finish_reason"].clone();
    }
    Ok(reason)
}

fn head(body: &Value) -> Result<(), String> {
    rule(!text(body, "/id").is_empty(), || "id".into())?;
    rule(!text(body, "/model").is_empty(), || "model".into())?;
    rule(body["created"].is_u64(), || "created".into())
}

fn counts(usage: &Value) -> Result<(), String> {
    let all = ["prompt_tokens", "completion_tokens", "total_tokens"];
    let complete = all.iter().all(|member| usage[member].is_u64());
    rule(complete, || format!("usage: {usage}"))
}

fn finish(reason: &Value, content: &Content) -> Result<(), String> {
    let expected = match content.calls.is_empty() {
        true => "stop",
        false => "tool_calls",
    };
    rule(*reason == expected, || format!("finish_reason: {reason}"))
}
