//! Calls as Qwen3-Coder writes them: parameters as tagged text, typed by the tool's schema.

use std::borrow::Cow;

use bardo_types::chat::Tool;
use serde_json::Value;
use serde_json::value::RawValue;

use super::loose::as_json;
use crate::json::wire_object;

pub(super) const FUNCTION: &str = "<function=";
pub(super) const FUNCTION_END: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";
/// References are followed no further than this.
const MAX_REFERENCES: usize = 8;

/// The name and the arguments of a call, from `<function=` up to its end.
pub(super) fn read_call(block: &str, tools: &[Tool]) -> Option<(String, String)> {
    let (name, mut rest) = block.strip_prefix(FUNCTION)?.split_once('>')?;
    let name = name.trim().trim_matches(['"', '\'']);
    if name.is_empty() || name.contains('\n') {
        return None;
    }
    let schema = schema_of(name, tools);
    let mut arguments: Vec<(String, String)> = Vec::new();
    while let Some(place) = rest.find(PARAMETER) {
        let Some((key, after)) = rest[place + PARAMETER.len()..].split_once('>') else {
            break;
        };
        let end = [PARAMETER_END, PARAMETER, FUNCTION_END]
            .into_iter()
            .filter_map(|tag| after.find(tag))
            .min()
            .unwrap_or(after.len());
        let key = key.trim().trim_matches(['"', '\'']);
        let value = typed(one_line_break_less(&after[..end]), key, schema.as_ref());
        match arguments.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = value,
            None => arguments.push((key.to_owned(), value)),
        }
        rest = &after[end..];
    }
    let members: Vec<String> = arguments
        .into_iter()
        .map(|(key, value)| format!("{}:{value}", Value::from(key)))
        .collect();
    Some((name.to_owned(), format!("{{{}}}", members.join(","))))
}

wire_object! {
    /// Arguments in order, as written.
    struct Arguments<'a> {}
}

/// The call in this notation, where the notation can hold it: tags within values, or values that
/// no schema gives their type, would not survive.
pub(super) fn write_call(name: &str, arguments: &str, tools: &[Tool]) -> Option<String> {
    let members = serde_json::from_str::<Arguments<'_>>(arguments).ok()?.extra;
    let mut text = format!("{FUNCTION}{name}>\n");
    for (key, value) in &members {
        let value = words_of(value);
        text.push_str(&format!(
            "{PARAMETER}{}>\n{value}\n{PARAMETER_END}\n",
            &**key
        ));
    }
    let (read_name, read) = read_call(&text, tools)?;
    let read = serde_json::from_str::<Arguments<'_>>(&read).ok()?.extra;
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

pub(super) fn schema_of(called: &str, tools: &[Tool]) -> Option<Value> {
    tools.iter().find_map(|tool| match tool {
        Tool::Function {
            name,
            schema: Some(schema),
            ..
        } if name == called => schema.read().ok(),
        _ => None,
    })
}

/// The value as JSON: the first kind that the schema allows and the text has, else a string.
pub(super) fn typed(text: &str, key: &str, schema: Option<&Value>) -> String {
    let mut kinds = Vec::new();
    if let Some(root) = schema
        && let Some(property) = root.get("properties").and_then(|all| all.get(key))
    {
        collect_kinds(property, root, MAX_REFERENCES, &mut kinds);
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
fn collect_kinds<'a>(schema: &'a Value, root: &'a Value, depth: usize, kinds: &mut Vec<&'a str>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    match schema.get("type") {
        Some(Value::String(kind)) => kinds.push(kind),
        Some(Value::Array(several)) => kinds.extend(several.iter().filter_map(Value::as_str)),
        _ => {}
    }
    for value in schema
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
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
        {
            collect_kinds(inner, root, depth, kinds);
        }
    }
    let referred = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    if let Some(referred) = referred {
        collect_kinds(referred, root, depth, kinds);
    }
}
