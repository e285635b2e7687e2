//! Generates the smallest JSON value that satisfies a JSON schema.

use serde_json::{Map, Value, json};

/// References are followed this deep; a recursive schema ends in `null`s below.
const DEPTH_MAX: usize = 24;

/// The smallest value for `schema`: required properties only, first choices, lower bounds.
pub(crate) fn minimal(schema: &Value) -> Value {
    value(schema, schema, 0)
}

fn value(schema: &Value, root: &Value, depth: usize) -> Value {
    let Some(fields) = schema.as_object() else {
        // `true` and anything that is not a schema allow everything.
        return Value::Null;
    };
    if depth > DEPTH_MAX {
        return Value::Null;
    }
    if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
        return match resolved(target, root) {
            Some(target) => value(target, root, depth + 1),
            None => Value::Null,
        };
    }
    if let Some(constant) = fields.get("const") {
        return constant.clone();
    }
    if let Some(first) = fields
        .get("enum")
        .and_then(Value::as_array)
        .and_then(|all| all.first())
    {
        return first.clone();
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(options) = fields.get(choice).and_then(Value::as_array) {
            return value(chosen(options), root, depth + 1);
        }
    }
    if let Some(all) = fields.get("allOf").and_then(Value::as_array) {
        return merged(fields, all, root, depth);
    }
    match kind(fields) {
        "object" => object(fields, root, depth),
        "array" => array(fields, root, depth),
        "string" => Value::String(string(fields)),
        "integer" => json!(number(fields).ceil() as i64),
        "number" => {
            let number = number(fields);
            if number.fract() == 0.0 {
                json!(number as i64)
            } else {
                json!(number)
            }
        }
        "boolean" => Value::Bool(false),
        _ => Value::Null,
    }
}

/// The first option that is not `null`, because a real model rarely answers nothing.
fn chosen(options: &[Value]) -> &Value {
    let is_null = |option: &&Value| option.get("type").and_then(Value::as_str) == Some("null");
    options
        .iter()
        .find(|option| !is_null(option))
        .or(options.first())
        .unwrap_or(&Value::Null)
}

fn kind(fields: &Map<String, Value>) -> &str {
    match fields.get("type") {
        // Gemini writes types in capitals.
        Some(Value::String(kind)) => match kind.as_str() {
            "OBJECT" => "object",
            "ARRAY" => "array",
            "STRING" => "string",
            "INTEGER" => "integer",
            "NUMBER" => "number",
            "BOOLEAN" => "boolean",
            other => other,
        },
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null").unwrap_or("null")
        }
        _ if fields.contains_key("properties") || fields.contains_key("required") => "object",
        _ if fields.contains_key("items") => "array",
        _ if fields.contains_key("pattern") || fields.contains_key("minLength") => "string",
        _ if fields.contains_key("minimum") || fields.contains_key("maximum") => "number",
        _ => "null",
    }
}

fn object(fields: &Map<String, Value>, root: &Value, depth: usize) -> Value {
    let empty = Map::new();
    let properties = fields
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let required: Vec<&str> = fields
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut made = Map::new();
    for (name, schema) in properties {
        if required.contains(&name.as_str()) {
            made.insert(name.clone(), value(schema, root, depth + 1));
        }
    }
    for name in required {
        if !made.contains_key(name) {
            made.insert(name.to_owned(), Value::Null);
        }
    }
    Value::Object(made)
}

fn array(fields: &Map<String, Value>, root: &Value, depth: usize) -> Value {
    let mut items: Vec<Value> = fields
        .get("prefixItems")
        .and_then(Value::as_array)
        .map(|prefix| {
            prefix
                .iter()
                .map(|schema| value(schema, root, depth + 1))
                .collect()
        })
        .unwrap_or_default();
    let least = fields.get("minItems").and_then(Value::as_u64).unwrap_or(0);
    let least = usize::try_from(least).unwrap_or(0).min(1_000);
    let schema = fields.get("items").unwrap_or(&Value::Null);
    while items.len() < least {
        items.push(value(schema, root, depth + 1));
    }
    Value::Array(items)
}

fn string(fields: &Map<String, Value>) -> String {
    let mut text = match fields.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("date") => "2026-01-01",
        Some("time") => "00:00:00Z",
        Some("duration") => "PT0S",
        Some("email") => "sandbox@example.com",
        Some("hostname") => "example.com",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("uri" | "url") => "https://example.com/",
        _ => "",
    }
    .to_owned();
    let least = fields.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    while (text.chars().count() as u64) < least.min(100_000) {
        text.push('x');
    }
    text
}

fn number(fields: &Map<String, Value>) -> f64 {
    let bound = |name: &str| fields.get(name).and_then(Value::as_f64);
    let step = bound("multipleOf").filter(|step| *step > 0.0);
    let mut least = bound("minimum");
    if let Some(above) = bound("exclusiveMinimum") {
        least = Some(above + step.unwrap_or(1.0));
    }
    let mut number = least.unwrap_or(0.0);
    if let Some(most) = bound("maximum") {
        number = number.min(most);
    }
    if let Some(below) = bound("exclusiveMaximum").filter(|below| number >= *below) {
        number = below - step.unwrap_or(1.0);
    }
    if let Some(step) = step {
        number = (number / step).ceil() * step;
    }
    number
}

fn merged(fields: &Map<String, Value>, all: &[Value], root: &Value, depth: usize) -> Value {
    let mut whole = fields.clone();
    whole.remove("allOf");
    for part in all {
        let part = match part.get("$ref").and_then(Value::as_str) {
            Some(target) => resolved(target, root).unwrap_or(part),
            None => part,
        };
        for (key, field) in part.as_object().into_iter().flatten() {
            match (whole.get_mut(key), field) {
                (Some(Value::Object(held)), Value::Object(more)) => held.extend(more.clone()),
                (Some(Value::Array(held)), Value::Array(more)) => held.extend(more.clone()),
                _ => {
                    whole.insert(key.clone(), field.clone());
                }
            }
        }
    }
    value(&Value::Object(whole), root, depth + 1)
}

fn resolved<'a>(target: &str, root: &'a Value) -> Option<&'a Value> {
    match target.strip_prefix('#')? {
        "" => Some(root),
        pointer => root.pointer(pointer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_properties_only_in_schema_order() {
        let schema = json!({
            "type": "object", "required": ["b", "a"],
            "properties": {
                "a": { "type": "integer", "minimum": 3 },
                "skipped": { "type": "string" },
                "b": { "enum": ["red", "blue"] },
            },
        });
        assert_eq!(minimal(&schema).to_string(), r#"{"a":3,"b":"red"}"#);
    }

    #[test]
    fn references_choices_and_bounds() {
        let schema = json!({
            "$defs": { "p": { "type": "array", "minItems": 2, "items": { "type": "boolean" } } },
            "type": "object", "required": ["l", "n", "s", "u", "m"],
            "properties": {
                "l": { "$ref": "#/$defs/p" },
                "n": { "anyOf": [{ "type": "null" }, { "type": "number", "exclusiveMinimum": 1 }] },
                "s": { "type": ["null", "string"], "minLength": 2 },
                "u": { "type": "string", "format": "uuid" },
                "m": { "allOf": [{ "properties": { "x": { "const": 1 } }, "required": ["x"] }] },
            },
        });
        assert_eq!(
            minimal(&schema),
            json!({
                "l": [false, false], "n": 2, "s": "xx",
                "u": "00000000-0000-4000-8000-000000000000", "m": { "x": 1 },
            })
        );
    }

    #[test]
    fn a_recursive_schema_ends() {
        let schema = json!({
            "type": "object", "required": ["next"], "properties": { "next": { "$ref": "#" } },
        });
        assert!(minimal(&schema).is_object());
    }
}
