//! Calls as Qwen3-Coder writes them: parameters as tagged text, typed by the tool's schema.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

use bardo_types::chat::Tool;
use bardo_types::json::RawJson;
use serde_json::Value;
use serde_json::value::RawValue;

use super::loose::as_json;
use crate::json::Members;

pub(super) const FUNCTION: &str = "<function=";
pub(super) const FUNCTION_END: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";
/// References are followed no further than this.
const MAX_REFERENCES: usize = 8;

/// Alternatives of one value that are looked at; a schema may refer to itself many times over.
const MAX_ALTERNATIVES: usize = 128;

/// The name and the arguments of a call, from `<function=` up to its end.
pub(super) fn read_call(block: &str, tools: &Declared<'_>) -> Option<(String, String)> {
    let (name, mut rest) = block.strip_prefix(FUNCTION)?.split_once('>')?;
    let name = name.trim().trim_matches(['"', '\'']);
    if name.is_empty() || name.contains('\n') {
        return None;
    }
    let schema = tools.schema(name);
    let mut arguments = Arguments::default();
    while let Some(place) = rest.find(PARAMETER) {
        let Some((key, after)) = rest[place + PARAMETER.len()..].split_once('>') else {
            break;
        };
        // One search for all tags: each on its own would look through the rest of the call.
        let tags = [PARAMETER_END, PARAMETER, FUNCTION_END];
        let end = after
            .match_indices('<')
            .map(|(at, _)| at)
            .find(|&at| tags.iter().any(|tag| after[at..].starts_with(tag)))
            .unwrap_or(after.len());
        let key = key.trim().trim_matches(['"', '\'']);
        let value = typed(one_line_break_less(&after[..end]), key, schema);
        arguments.set(key, value);
        rest = &after[end..];
    }
    Some((name.to_owned(), arguments.written()))
}

/// Arguments in the order in which they came; of one that comes twice the last counts.
#[derive(Default)]
pub(super) struct Arguments {
    list: Vec<(String, String)>,
    places: HashMap<String, usize>,
}

impl Arguments {
    pub(super) fn set(&mut self, key: &str, value: String) {
        if let Some(&place) = self.places.get(key) {
            self.list[place].1 = value;
        } else {
            self.places.insert(key.to_owned(), self.list.len());
            self.list.push((key.to_owned(), value));
        }
    }

    pub(super) fn written(&self) -> String {
        let members: Vec<String> = self
            .list
            .iter()
            .map(|(key, value)| format!("{}:{value}", Value::from(key.as_str())))
            .collect();
        format!("{{{}}}", members.join(","))
    }
}

/// The call in this notation, where the notation can hold it: tags within values, or values that
/// no schema gives their type, would not survive.
pub(super) fn write_call(name: &str, arguments: &str, tools: &Declared<'_>) -> Option<String> {
    let members = serde_json::from_str::<Members<'_>>(arguments).ok()?.extra;
    let mut text = format!("{FUNCTION}{name}>\n");
    for (key, value) in &members {
        let value = words_of(value);
        text.push_str(&format!(
            "{PARAMETER}{}>\n{value}\n{PARAMETER_END}\n",
            &**key
        ));
    }
    let (read_name, read) = read_call(&text, tools)?;
    let read = serde_json::from_str::<Members<'_>>(&read).ok()?.extra;
    let same = read.len() == members.len()
        && read
            .iter()
            .zip(&members)
            .all(|((key, value), (known, wanted))| {
                let is_string = |value: &RawValue| value.get().starts_with('"');
                **key == **known
                    && is_string(value) == is_string(wanted)
                    && words_of(value) == words_of(wanted)
            });
    let unclosed = [FUNCTION_END, super::calls::CLOSE]
        .iter()
        .all(|tag| !text.contains(tag));
    text.push_str(FUNCTION_END);
    (read_name == name && same && unclosed).then_some(text)
}

/// The content of a string, or any other value as it was written.
pub(super) fn words_of(value: &RawValue) -> Cow<'_, str> {
    match serde_json::from_str::<String>(value.get()) {
        Ok(words) => Cow::Owned(words),
        Err(_) => Cow::Borrowed(value.get()),
    }
}

/// Values stand on lines of their own; only those line breaks are not part of them.
pub(super) fn one_line_break_less(value: &str) -> &str {
    let value = value.strip_prefix('\n').unwrap_or(value);
    value.strip_suffix('\n').unwrap_or(value)
}

/// The functions of a request by their names, with their schemas. Each schema is read once at
/// most, and only if one of its calls is met.
#[derive(Default)]
pub(super) struct Declared<'a>(HashMap<&'a str, (&'a RawJson, OnceCell<Option<Value>>)>);

impl<'a> Declared<'a> {
    pub(super) fn of(tools: &'a [Tool]) -> Self {
        let mut declared = HashMap::new();
        for tool in tools {
            if let Tool::Function {
                name,
                schema: Some(schema),
                ..
            } = tool
            {
                declared
                    .entry(name.as_str())
                    .or_insert((schema, OnceCell::new()));
            }
        }
        Self(declared)
    }

    pub(super) fn schema(&self, called: &str) -> Option<&Value> {
        let (schema, read) = self.0.get(called)?;
        read.get_or_init(|| schema.read().ok()).as_ref()
    }
}

/// The value as JSON: the first kind that the schema allows and the text has, else a string.
pub(super) fn typed(text: &str, key: &str, schema: Option<&Value>) -> String {
    let mut kinds = Vec::new();
    if let Some(root) = schema
        && let Some(property) = root.get("properties").and_then(|all| all.get(key))
    {
        let mut left = MAX_ALTERNATIVES;
        collect_kinds(property, root, MAX_REFERENCES, &mut left, &mut kinds);
    }
    let trimmed = text.trim();
    for kind in kinds {
        let json = match kind {
            "null" if matches!(trimmed, "null" | "None") => Some("null".to_owned()),
            "boolean" if trimmed.eq_ignore_ascii_case("true") => Some("true".to_owned()),
            "boolean" if trimmed.eq_ignore_ascii_case("false") => Some("false".to_owned()),
            "integer" => number(trimmed).filter(|number| !number.contains(['.', 'e', 'E'])),
            "number" => number(trimmed),
            "object" => as_json(trimmed)
                .filter(|json| json.starts_with('{'))
                .map(Cow::into_owned),
            "array" => as_json(trimmed)
                .filter(|json| json.starts_with('['))
                .map(Cow::into_owned),
            _ => None,
        };
        if let Some(json) = json {
            return json;
        }
    }
    Value::from(text).to_string()
}

/// The number as it was written, if it is one.
fn number(text: &str) -> Option<String> {
    serde_json::from_str::<serde_json::Number>(text)
        .is_ok()
        .then(|| text.to_owned())
}

/// The kinds of value that a schema allows.
fn collect_kinds<'a>(
    schema: &'a Value,
    root: &'a Value,
    depth: usize,
    left: &mut usize,
    kinds: &mut Vec<&'a str>,
) {
    let (Some(depth), Some(fewer)) = (depth.checked_sub(1), left.checked_sub(1)) else {
        return;
    };
    *left = fewer;
    match schema.get("type") {
        Some(Value::String(kind)) => kinds.push(kind),
        Some(Value::Array(several)) => kinds.extend(
            several
                .iter()
                .filter_map(Value::as_str)
                .take(MAX_ALTERNATIVES),
        ),
        _ => {}
    }
    for value in schema
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .take(MAX_ALTERNATIVES)
        .chain(schema.get("const"))
    {
        kinds.push(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        });
    }
    for several in ["anyOf", "oneOf", "allOf"] {
        for inner in schema
            .get(several)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .take(*left)
        {
            collect_kinds(inner, root, depth, left, kinds);
        }
    }
    let referred = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    if let Some(referred) = referred {
        collect_kinds(referred, root, depth, left, kinds);
    }
}
