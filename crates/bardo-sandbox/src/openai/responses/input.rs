//! The context of a response: earlier items of the chain and the request's own.

use serde_json::{Value, json};

use crate::chat::facts::{media_type, texts_of};
use crate::dialect::Dialect;
use crate::openai::error::Problem;
use crate::openai::responses::Asked;
use crate::openai::validate;
use crate::script::{Choice, Facts, Input, Output, Said, Tool};
use crate::world::World;

/// Item kinds by which the assistant speaks.
const ASSISTANT_ITEMS: &[&str] = &[
    "reasoning",
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "web_search_call",
    "tool_search_call",
];

/// The request's own input as items.
pub(super) fn own_items(body: &Value) -> Vec<Value> {
    match body.get("input") {
        Some(Value::String(text)) => vec![json!({
            "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": text }],
        })],
        Some(Value::Array(items)) => items.clone(),
        _ => Vec::new(),
    }
}

/// The whole context, the stored chain first.
pub(super) fn context(body: &Value, world: &World) -> Result<Vec<Value>, Problem> {
    let mut context = match body.get("previous_response_id") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(id)) => {
            let held = world.shelf.get(id).ok_or_else(|| {
                Problem::new(400, &format!("Previous response with id '{id}' not found."))
                    .param("previous_response_id")
                    .code("previous_response_not_found")
            })?;
            held["context"].as_array().cloned().unwrap_or_default()
        }
        Some(other) => {
            return Err(validate::wrong_type(
                "previous_response_id",
                "a string",
                other,
            ));
        }
    };
    for item in own_items(body) {
        let is_reference = item.get("type").and_then(Value::as_str) == Some("item_reference");
        if !is_reference {
            context.push(item);
            continue;
        }
        let id = item["id"].as_str().unwrap_or_default();
        let held = world.shelf.get(&format!("item:{id}"));
        context.push(held.ok_or_else(|| not_found(id))?);
    }
    Ok(context)
}

/// The refusal of an item id that was never stored.
pub(super) fn not_found(id: &str) -> Problem {
    Problem::new(
        404,
        &format!(
            "Item with id '{id}' not found. Items are not persisted when `store` is set to \
             false. Try again with `store` set to true, or remove this item from your input."
        ),
    )
    .param("input")
}

/// The kind of an item; an item without one is a message.
pub(super) fn kind(item: &Value) -> &str {
    item.get("type")
        .and_then(Value::as_str)
        .unwrap_or("message")
}

/// The facts of a validated request.
pub(super) fn facts(asked: &Asked<'_>) -> Facts {
    let body = asked.body;
    let effort = body.pointer("/reasoning/effort").and_then(Value::as_str);
    let mut facts = Facts {
        service: asked.request.service,
        dialect: Dialect::Responses,
        from: Dialect::of_caller(asked.request),
        model: asked.model.to_owned(),
        tools: tools(asked),
        choice: choice(body),
        one_call: body.get("parallel_tool_calls") == Some(&Value::Bool(false)),
        output: output(body),
        can_think: asked.card.reasoning,
        thinking: asked.card.reasoning && effort != Some("none"),
        max_tokens: body.get("max_output_tokens").and_then(Value::as_u64),
        ..Facts::default()
    };
    // One turn of the assistant may be several items: reasoning, text and calls.
    let mut in_turn = false;
    if let Some(instructions) = body.get("instructions").and_then(Value::as_str) {
        facts.harness.note(instructions);
    }
    for item in &asked.context {
        let role = item.get("role").and_then(Value::as_str);
        let speaks = ASSISTANT_ITEMS.contains(&kind(item)) || role == Some("assistant");
        if speaks && !in_turn {
            facts.said.push(Said::Assistant);
        }
        in_turn = speaks;
        match (kind(item), role) {
            ("message", Some("user")) => user_message(item, &mut facts),
            ("message", Some("system" | "developer")) => {
                facts.harness.note(&texts_of(&item["content"]));
            }
            _ => tool_item(item, &mut facts),
        }
    }
    facts
}

/// A call of a tool, or what the tool gave back.
fn tool_item(item: &Value, facts: &mut Facts) {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    match kind(item) {
        "function_call" => {
            let input = Input::parse(text("arguments"));
            facts.called(text("call_id"), text("name"), input);
        }
        "custom_tool_call" => {
            let input = Input::Text(text("input").to_owned());
            facts.called(text("call_id"), text("name"), input);
        }
        "function_call_output" | "custom_tool_call_output" => {
            facts.answered(text("call_id"), "", texts_of(&item["output"]), false);
        }
        _ => {}
    }
}

fn user_message(item: &Value, facts: &mut Facts) {
    let mut texts = Vec::new();
    match item.get("content") {
        Some(Value::String(text)) => texts.push(text.clone()),
        Some(Value::Array(parts)) => {
            for part in parts {
                match kind(part) {
                    "input_text" => {
                        texts.extend(part["text"].as_str().map(str::to_owned));
                    }
                    "input_image" => {
                        let url = part["image_url"].as_str().unwrap_or_default();
                        facts.images.push(media_type(url));
                    }
                    "input_file" => facts.documents += 1,
                    _ => {}
                }
            }
        }
        _ => {}
    }
    if !texts.is_empty() {
        texts.iter().for_each(|text| facts.harness.note(text));
        facts.said.push(Said::User(texts.join("\n")));
    }
}

/// The tools of the request and those that its items add, namespaces taken apart.
fn tools(asked: &Asked<'_>) -> Vec<Tool> {
    let tool = |tool: &Value| {
        Some(Tool {
            name: tool.get("name")?.as_str()?.to_owned(),
            schema: tool.get("parameters").cloned(),
            custom: kind(tool) == "custom",
        })
    };
    callable(asked.body, &asked.context)
        .filter_map(|(listed, _)| tool(listed))
        .collect()
}

/// Every function and custom tool that may be called, with the namespace it is in.
pub(super) fn callable<'a>(
    body: &'a Value,
    context: &'a [Value],
) -> impl Iterator<Item = (&'a Value, Option<&'a str>)> {
    let added = context
        .iter()
        .filter(|item| kind(item) == "additional_tools");
    [body]
        .into_iter()
        .chain(added)
        .filter_map(|holder| holder.get("tools")?.as_array())
        .flatten()
        .flat_map(|tool| {
            let space = (kind(tool) == "namespace").then(|| tool["name"].as_str());
            let inner = tool.get("tools").and_then(Value::as_array);
            let (listed, space) = match (space, inner) {
                (Some(space), Some(inner)) => (inner.as_slice(), space),
                _ => (std::slice::from_ref(tool), None),
            };
            listed.iter().map(move |tool| (tool, space))
        })
        .filter(|(tool, _)| matches!(kind(tool), "function" | "custom"))
}

fn choice(body: &Value) -> Choice {
    match body.get("tool_choice") {
        Some(Value::String(word)) if word == "required" => Choice::Any,
        Some(Value::String(word)) if word == "none" => Choice::None,
        Some(Value::Object(fields)) => match fields.get("name").and_then(Value::as_str) {
            Some(name) => Choice::Named(name.to_owned()),
            None if fields.get("mode").and_then(Value::as_str) == Some("required") => Choice::Any,
            None => Choice::Auto,
        },
        _ => Choice::Auto,
    }
}

fn output(body: &Value) -> Output {
    let format = body.pointer("/text/format").unwrap_or(&Value::Null);
    match format.get("type").and_then(Value::as_str) {
        Some("json_object") => Output::JsonObject,
        Some("json_schema") => format
            .get("schema")
            .map_or(Output::JsonObject, |schema| Output::Schema(schema.clone())),
        _ => Output::Free,
    }
}
