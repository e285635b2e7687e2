//! Reads answers of the Responses API strictly.

use serde_json::Value;

use super::{Block, Content, input, rule, text};

pub(super) fn response(body: &Value) -> Result<Content, String> {
    rule(body["object"] == "response", || "object".into())?;
    rule(body["status"] == "completed", || "status".into())?;
    rule(!text(body, "/id").is_empty(), || "id".into())?;
    rule(!text(body, "/model").is_empty(), || "model".into())?;
    for member in ["input_tokens", "output_tokens", "total_tokens"] {
        rule(body["usage"][member].is_u64(), || {
            format!("usage: {}", body["usage"])
        })?;
    }
    let mut content = Content::default();
    for item in body["output"].as_array().ok_or("no output")? {
        take(item, &mut content)?;
    }
    Ok(content)
}

fn take(item: &Value, content: &mut Content) -> Result<(), String> {
    rule(!text(item, "/id").is_empty(), || format!("id of {item}"))?;
    rule(item["status"] == "completed", || {
        format!("status of {item}")
    })?;
    match text(item, "/type") {
        "message" => {
            rule(item["role"] == "assistant", || format!("role of {item}"))?;
            for part in item["content"].as_array().ok_or("no content")? {
                rule(part["type"] == "output_text", || format!("part {part}"))?;
                rule(part["annotations"].is_array(), || format!("part {part}"))?;
                content.text.push_str(text(part, "/text"));
            }
        }
        "function_call" => {
            let has_id = !text(item, "/call_id").is_empty();
            rule(has_id, || format!("call_id of {item}"))?;
            let name = text(item, "/name").to_owned();
            let given = input(text(item, "/arguments"))?;
            content.calls.push((name, given));
        }
        other => return Err(format!("an item of type {other}")),
    }
    Ok(())
}

/// The item that is being written, and its text or arguments so far.
struct Writing {
    item: Value,
    written: String,
    part_open: bool,
}

pub(super) fn events(events: &[Block<'_>]) -> Result<Content, String> {
    let (mut content, mut open) = (Content::default(), None::<Writing>);
    let mut items: Vec<Value> = Vec::new();
    for (number, Block { name, data }) in events.iter().enumerate() {
        rule(data["type"] == *name, || format!("{name} is {data}"))?;
        rule(data["sequence_number"] == number, || {
            format!("{number} is {data}")
        })?;
        let last = number + 1 == events.len();
        rule((number == 0) == (*name == "response.created"), || {
            format!("event {number} is {name}")
        })?;
        rule(last == (*name == "response.completed"), || {
            format!("event {number} is {name}")
        })?;
        match *name {
            "response.created" | "response.in_progress" => {
                let response = &data["response"];
                rule(response["status"] == "in_progress", || data.to_string())?;
            }
            "response.output_item.added" => {
                rule(open.is_none(), || format!("an item is open: {data}"))?;
                rule(data["output_index"] == items.len(), || data.to_string())?;
                open = Some(Writing {
                    item: data["item"].clone(),
                    written: String::new(),
                    part_open: false,
                });
            }
            "response.output_item.done" => {
                let writing = open.take().ok_or("an item ends that is not open")?;
                rule(!writing.part_open, || format!("a part is open: {data}"))?;
                let item = &data["item"];
                rule(item["id"] == writing.item["id"], || data.to_string())?;
                rule(data["output_index"] == items.len(), || data.to_string())?;
                let mut done = Content::default();
                take(item, &mut done)?;
                let written = match done.calls.first() {
                    None => done.text.clone(),
                    Some(_) => text(item, "/arguments").to_owned(),
                };
                rule(written == writing.written, || {
                    format!("{:?} was written: {data}", writing.written)
                })?;
                content.text.push_str(&done.text);
                content.calls.append(&mut done.calls);
                items.push(item.clone());
            }
            "response.completed" => {
                rule(open.is_none(), || format!("an item is open: {data}"))?;
                let response_content = response(&data["response"])?;
                rule(response_content == content, || {
                    format!("it says something else at its end: {data}")
                })?;
                let output = data["response"]["output"].as_array();
                rule(output == Some(&items), || format!("items: {data}"))?;
            }
            _ => {
                let writing = open.as_mut();
                write(name, data, writing.ok_or("no item is open")?)?;
            }
        }
    }
    Ok(content)
}

/// An event within an item.
fn write(name: &str, data: &Value, writing: &mut Writing) -> Result<(), String> {
    rule(data["item_id"] == writing.item["id"], || {
        format!("item of {data}")
    })?;
    let is_part = name.starts_with("response.content_part.");
    let is_text = name.starts_with("response.output_text.");
    rule(!is_text || writing.part_open, || {
        format!("no part is open: {data}")
    })?;
    if is_part || is_text {
        rule(data["content_index"] == 0, || data.to_string())?;
    }
    match name {
        "response.content_part.added" => {
            rule(!writing.part_open, || format!("a part is open: {data}"))?;
            writing.part_open = true;
        }
        "response.content_part.done" => {
            rule(text(data, "/part/text") == writing.written, || {
                data.to_string()
            })?;
            writing.part_open = false;
        }
        "response.output_text.delta" | "response.function_call_arguments.delta" => {
            writing.written.push_str(text(data, "/delta"));
        }
        "response.output_text.done" => {
            rule(text(data, "/text") == writing.written, || data.to_string())?;
        }
        "response.function_call_arguments.done" => {
            let given = text(data, "/arguments");
            rule(given == writing.written, || data.to_string())?;
        }
        other => return Err(format!("no such event: {other}")),
    }
    Ok(())
}
