//! Bodies with nearly every member of their dialect, and how they are made longer in one place.

use std::fmt;

use bardo_types::model::Dialect;
use serde_json::{Map, Value, json};

/// A body that grows in one place.
pub(crate) struct Grown {
    base: Value,
    place: Vec<Step>,
    how: How,
}

#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Index(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// An object gets members that nobody knows.
    Members,
    /// The entries of a list come again, under names of their own.
    Entries,
    /// The entries of a list come again as they are.
    Twins,
    /// Each message is followed by copies under names of its own, so that those of a kind stand
    /// together.
    Runs,
    /// A string gets longer.
    Letters,
}

impl Grown {
    /// The body with so many more members or entries.
    pub(crate) fn body(&self, count: usize) -> Vec<u8> {
        let mut body = self.base.clone();
        let mut at = &mut body;
        for step in &self.place {
            at = match step {
                Step::Key(key) => &mut at[key.as_str()],
                Step::Index(index) => &mut at[*index],
            };
        }
        match (self.how, at) {
            (How::Members, Value::Object(object)) => {
                for number in 0..count {
                    object.insert(format!("unknown_{number:06}"), json!({ "a": number }));
                }
            }
            (How::Runs, Value::Array(list)) => {
                let each = count / list.len().max(1);
                let copies = |entry: &Value| (0..each).map(|copy| renamed(entry, copy)).collect();
                *list = list
                    .iter()
                    .flat_map(|entry| -> Vec<Value> { copies(entry) })
                    .collect();
            }
            (how, Value::Array(list)) => {
                let rounds = count / list.len().max(1);
                let copies = (1..rounds).flat_map(|round| {
                    list.iter().map(move |entry| match how {
                        How::Twins => entry.clone(),
                        _ => renamed(entry, round),
                    })
                });
                let more: Vec<Value> = copies.collect();
                list.extend(more);
            }
            (_, Value::String(text)) => *text = text.repeat(count),
            _ => {}
        }
        serde_json::to_vec(&body).expect("JSON is written")
    }
}

impl fmt::Display for Grown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at ", self.how)?;
        for step in &self.place {
            match step {
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The entry with another number in all its names and ids, the same one everywhere.
fn renamed(entry: &Value, round: usize) -> Value {
    const NAMES: [&str; 6] = [
        "id",
        "name",
        "call_id",
        "tool_call_id",
        "tool_use_id",
        "title",
    ];
    match entry {
        Value::Object(object) => {
            let members = object.iter().map(|(key, value)| {
                let value = match value {
                    Value::String(text) if NAMES.contains(&key.as_str()) => {
                        Value::from(format!("{text}_{round:06}"))
                    }
                    // The kind of an unknown part or tool is its name.
                    Value::String(text) if key == "type" && text.starts_with("unknown") => {
                        Value::from(format!("{text}_{round:06}"))
                    }
                    value => renamed(value, round),
                };
                (key.clone(), value)
            });
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Array(list) => list.iter().map(|entry| renamed(entry, round)).collect(),
        value => value.clone(),
    }
}

/// All places where a body of the dialect can grow, and all ways.
pub(crate) fn of(dialect: Dialect) -> Vec<Grown> {
    let mut all = Vec::new();
    for base in bases(dialect) {
        let mut places = Vec::new();
        visit(&base, &mut Vec::new(), &mut places);
        all.extend(places.into_iter().map(|(place, how)| Grown {
            base: base.clone(),
            place,
            how,
        }));
    }
    all
}

fn visit(value: &Value, place: &mut Vec<Step>, out: &mut Vec<(Vec<Step>, How)>) {
    match value {
        Value::Object(object) => {
            out.push((place.clone(), How::Members));
            for (key, inner) in object {
                place.push(Step::Key(key.clone()));
                visit(inner, place, out);
                place.pop();
            }
        }
        Value::Array(list) => {
            for how in [How::Entries, How::Twins, How::Runs] {
                out.push((place.clone(), how));
            }
            for (index, inner) in list.iter().enumerate() {
                place.push(Step::Index(index));
                visit(inner, place, out);
                place.pop();
            }
        }
        Value::String(_) => out.push((place.clone(), How::Letters)),
        _ => {}
    }
}

fn bases(dialect: Dialect) -> Vec<Value> {
    match dialect {
        Dialect::Anthropic => vec![messages(), messages_with_late_results()],
        Dialect::Responses => vec![responses()],
        Dialect::Completions => vec![completions()],
        Dialect::Chat | Dialect::Gemini => vec![chat(), chat_with_late_results()],
    }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "n": {"anyOf": [{"type": "integer"}, {"$ref": "#/properties/n"}]}},
        "required": ["city"]
    })
}

fn chat() -> Value {
    let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{\"city\":\"Bern\",\"n\":1}"}});
    json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]},
            {"role": "user", "name": "ann", "content": [
                {"type": "text", "text": "t"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
                {"type": "unknown_part", "data": {"a": 1}}
            ]},
            {"role": "assistant", "content": "a", "reasoning_content": "r",
             "reasoning_details": [{"type": "reasoning.text", "text": "r", "signature": "s", "format": "anthropic-claude-v1", "index": 0}],
             "tool_calls": [call("call 1", "search the web"), {"id": "call 2", "type": "custom", "custom": {"name": "free text", "input": "x"}}]},
            {"role": "tool", "tool_call_id": "call 1", "content": [{"type": "text", "text": "r"}]},
            {"role": "tool", "tool_call_id": "call 2", "content": "r"},
            {"role": "system", "content": "later"}
        ],
        "tools": [
            {"type": "function", "function": {"name": "search the web", "description": "d", "parameters": schema(), "strict": true}},
            {"type": "custom", "custom": {"name": "free text", "description": "d", "format": {"type": "grammar", "grammar": {"definition": "x", "syntax": "lark"}}}},
            {"type": "unknown_tool", "options": {"a": 1}}
        ],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [
            {"type": "function", "function": {"name": "search the web"}},
            {"type": "custom", "custom": {"name": "free text"}}
        ]}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema(), "strict": true}},
        "stop": ["a", "b"], "logit_bias": {"1": 2}, "metadata": {"a": "b"},
        "reasoning": {"effort": "high"}, "stream_options": {"include_usage": true},
        "prediction": {"type": "content", "content": "x"}, "venice_parameters": {"a": 1},
        "provider": {"order": ["a"]}, "chat_template_kwargs": {"a": 1}, "web_search_options": {"a": 1},
        "unknown": 1, "temperature": 0.5
    })
}

/// Calls in one place and their results in another.
fn chat_with_late_results() -> Value {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    json!({
        "model": "m",
        "messages": [
            {"role": "user", "content": "u"},
            {"role": "assistant", "tool_calls": [call("c")]},
            {"role": "tool", "tool_call_id": "c", "content": "r"}
        ],
        "functions": [{"name": "f", "parameters": schema()}]
    })
}

fn messages() -> Value {
    json!({
        "model": "m", "max_tokens": 100,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "t", "citations": [{"type": "char_location", "cited_text": "c", "document_index": 0, "start_char_index": 0, "end_char_index": 1}]},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                {"type": "document", "title": "d", "source": {"type": "content", "content": [{"type": "text", "text": "x"}]}, "citations": {"enabled": true}},
                {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]},
                {"type": "unknown_block", "data": {"a": 1}}
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "tool_use", "id": "toolu 1", "name": "search the web", "input": {"city": "Bern", "n": 1}, "caller": {"type": "direct"}},
                {"type": "tool_use", "id": "toolu 2", "name": "search the web", "input": {}}
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu 1", "content": [{"type": "text", "text": "r"}]},
                {"type": "tool_result", "tool_use_id": "toolu 2", "content": "r", "is_error": true}
            ]},
            {"role": "system", "content": "later", "output_config": {"effort": "low"}}
        ],
        "tools": [
            {"name": "search the web", "description": "d", "input_schema": schema(), "strict": true, "cache_control": {"type": "ephemeral"}},
            {"type": "unknown_20990101", "name": "u", "options": {"a": 1}}
        ],
        "tool_choice": {"type": "tool", "name": "search the web"},
        "thinking": {"type": "adaptive"}, "stop_sequences": ["a", "b"], "metadata": {"user_id": "u"},
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": schema()}},
        "context_management": {"edits": [{"type": "x"}]}, "mcp_servers": [{"name": "m"}],
        "unknown": 1
    })
}

fn messages_with_late_results() -> Value {
    json!({
        "model": "m", "max_tokens": 100,
        "messages": [
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "r"}]}
        ],
        "tools": [{"name": "f", "input_schema": schema()}]
    })
}

fn responses() -> Value {
    json!({
        "model": "m", "instructions": "i",
        "input": [
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "t", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
                {"type": "input_unknown", "text": "x"}
            ]},
            {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "t"}], "encrypted_content": "e"},
            {"type": "function_call", "call_id": "call_1", "name": "search the web", "arguments": "{\"city\":\"Bern\"}"},
            {"type": "custom_tool_call", "call_id": "call_2", "name": "free text", "input": "x"},
            {"type": "function_call", "call_id": "call_3", "name": "find", "namespace": "crm", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": [{"type": "input_text", "text": "r"}]},
            {"type": "custom_tool_call_output", "call_id": "call_2", "output": "r"},
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "a", "annotations": [{"type": "url_citation", "url": "https://a", "title": "t", "start_index": 0, "end_index": 1}]}
            ]},
            {"type": "unknown_item", "data": {"a": 1}},
            {"type": "additional_tools", "tools": [{"type": "function", "name": "added", "parameters": schema()}]},
            {"type": "message", "role": "developer", "content": "later"}
        ],
        "tools": [
            {"type": "function", "name": "search the web", "description": "d", "parameters": schema(), "strict": false},
            {"type": "custom", "name": "free text", "format": {"type": "grammar", "definition": "x", "syntax": "lark"}},
            {"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "find", "parameters": schema()}]},
            {"type": "unknown_tool", "options": {"a": 1}}
        ],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "search the web"}, {"type": "function", "name": "find"}]},
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": schema()}},
        "reasoning": {"effort": "high", "summary": "auto"},
        "include": ["reasoning.encrypted_content", "x"], "metadata": {"a": "b"},
        "prompt_cache_options": {"mode": "auto"}, "unknown": 1
    })
}

fn completions() -> Value {
    json!({
        "model": "m", "prompt": "p", "stop": ["a"], "logit_bias": {"1": 2}, "suffix": "s",
        "metadata": {"a": "b"}, "unknown": 1
    })
}
