//! Reads a chat completions request into the neutral facts of the model.

use serde_json::Value;

use crate::chat::Asked;
use crate::dialect::Dialect;
use crate::script::{Choice, Facts, Input, Output, Said, Tool};

/// The facts of a request; whatever is malformed is ignored, because services validate first.
pub(crate) fn of(asked: &Asked<'_>) -> Facts {
    let body = asked.body;
    let messages = body.get("messages").and_then(Value::as_array);
    let mut facts = Facts {
        service: asked.request.service,
        dialect: Dialect::Chat,
        from: Dialect::of_caller(asked.request),
        model: asked.model.clone(),
        tools: tools(body),
        choice: choice(body),
        one_call: body.get("parallel_tool_calls") == Some(&Value::Bool(false)),
        output: output(body),
        can_think: asked.can_think,
        thinking: asked.thinking,
        max_tokens: ["max_completion_tokens", "max_tokens"]
            .iter()
            .find_map(|name| body.get(name)?.as_u64())
            .filter(|limit| *limit > 0),
        stop: stop(body.get("stop").unwrap_or(&Value::Null)),
        ..Facts::default()
    };
    for message in messages.into_iter().flatten() {
        read_message(message, &mut facts);
    }
    facts
}

fn read_message(message: &Value, facts: &mut Facts) {
    match message.get("role").and_then(Value::as_str) {
        Some("user") => {
            let mut texts = Vec::new();
            match message.get("content") {
                Some(Value::String(text)) => texts.push(text.clone()),
                Some(Value::Array(parts)) => {
                    for part in parts {
                        read_part(part, &mut texts, facts);
                    }
                }
                _ => {}
            }
            if !texts.is_empty() {
                let text = texts.join("\n");
                facts.harness.note(&text);
                facts.said.push(Said::User(text));
            }
        }
        Some("assistant") => {
            facts.said.push(Said::Assistant);
            let calls = message.get("tool_calls").and_then(Value::as_array);
            calls.into_iter().flatten().for_each(|call| {
                read_call(call, facts);
            });
        }
        Some("tool") => {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            facts.answered(id, "", texts_of(&message["content"]), false);
        }
        Some("system" | "developer") => facts.harness.note(&texts_of(&message["content"])),
        _ => {}
    }
}

fn read_call(call: &Value, facts: &mut Facts) -> Option<()> {
    let id = call["id"].as_str()?;
    let custom = &call["custom"];
    if let Some(text) = custom["input"].as_str() {
        facts.called(id, custom["name"].as_str()?, Input::Text(text.to_owned()));
        return Some(());
    }
    let function = &call["function"];
    let arguments = function["arguments"].as_str().unwrap_or_default();
    facts.called(id, function["name"].as_str()?, Input::parse(arguments));
    Some(())
}

/// The texts of a content that is one text or a list of parts.
pub(crate) fn texts_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let mut whole = String::new();
            for text in parts.iter().filter_map(|part| part["text"].as_str()) {
                if !whole.is_empty() && !whole.ends_with('\n') {
                    whole.push('\n');
                }
                whole.push_str(text);
            }
            whole
        }
        _ => String::new(),
    }
}

fn read_part(part: &Value, texts: &mut Vec<String>, facts: &mut Facts) {
    match part.get("type").and_then(Value::as_str) {
        Some("text") => {
            texts.extend(part.get("text").and_then(Value::as_str).map(str::to_owned));
        }
        Some("image_url") => {
            let url = part.pointer("/image_url/url").or(part.get("image_url"));
            facts
                .images
                .push(media_type(url.and_then(Value::as_str).unwrap_or_default()));
        }
        Some("file" | "input_audio" | "video_url") => facts.documents += 1,
        _ => {}
    }
}

/// The media type of a data URL; `url` for any other address.
pub(crate) fn media_type(url: &str) -> String {
    url.strip_prefix("data:")
        .and_then(|rest| rest.split([';', ',']).next())
        .unwrap_or("url")
        .to_owned()
}

fn tools(body: &Value) -> Vec<Tool> {
    let listed = |name: &str| {
        body.get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let modern = listed("tools").filter_map(|tool| {
        let custom = tool.get("custom");
        let inner = tool.get("function").or(custom)?;
        Some((inner, custom.is_some()))
    });
    let legacy = listed("functions").map(|function| (function, false));
    modern
        .chain(legacy)
        .filter_map(|(inner, custom)| {
            Some(Tool {
                name: inner.get("name")?.as_str()?.to_owned(),
                schema: inner.get("parameters").cloned(),
                custom,
            })
        })
        .collect()
}

fn choice(body: &Value) -> Choice {
    let value = body
        .get("tool_choice")
        .or(body.get("function_call"))
        .unwrap_or(&Value::Null);
    match value {
        Value::String(word) => match word.as_str() {
            "none" => Choice::None,
            "required" => Choice::Any,
            _ => Choice::Auto,
        },
        Value::Object(fields) => {
            let named = ["/function/name", "/custom/name", "/name"]
                .iter()
                .find_map(|path| value.pointer(path)?.as_str());
            let allowed = fields.get("allowed_tools");
            let required =
                allowed.and_then(|allowed| allowed.get("mode")?.as_str()) == Some("required");
            let first_allowed = allowed
                .and_then(|allowed| allowed.pointer("/tools/0/function/name")?.as_str())
                .filter(|_| required);
            match named.or(first_allowed) {
                Some(name) => Choice::Named(name.to_owned()),
                None if required => Choice::Any,
                None => Choice::Auto,
            }
        }
        _ => Choice::Auto,
    }
}

fn output(body: &Value) -> Output {
    let Some(format) = body.get("response_format") else {
        return Output::Free;
    };
    match format.get("type").and_then(Value::as_str) {
        Some("json_object") => Output::JsonObject,
        Some("json_schema") => match format.pointer("/json_schema/schema") {
            Some(schema) => Output::Schema(schema.clone()),
            None => Output::JsonObject,
        },
        _ => Output::Free,
    }
}

/// Stop sequences, given as one string or a list.
pub(crate) fn stop(value: &Value) -> Vec<String> {
    match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(many) => many
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}
