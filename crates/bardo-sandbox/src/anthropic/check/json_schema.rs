//! Two readings of a JSON schema: is it valid draft 2020-12, and is it within what structured
//! outputs support.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

const TYPES: [&str; 7] = [
    "string", "number", "integer", "object", "array", "boolean", "null",
];
const LENGTHS: [&str; 8] = [
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
];
const NUMBERS: [&str; 4] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
const SCHEMAS: [&str; 10] = [
    "additionalProperties",
    "unevaluatedProperties",
    "items",
    "unevaluatedItems",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
];
const LISTS: [&str; 4] = ["anyOf", "allOf", "oneOf", "prefixItems"];
const MAPS: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];

/// Whether a schema follows the draft 2020-12 meta-schema.
pub(super) fn is_draft_2020_12(schema: &Value) -> bool {
    let Value::Object(fields) = schema else {
        return schema.is_boolean();
    };
    fields.iter().all(|(name, value)| keyword(name, value))
}

fn keyword(name: &str, value: &Value) -> bool {
    match name {
        "type" => is_type(value),
        "required" => unique_strings(value),
        "enum" => value.is_array(),
        "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "title" | "description" | "format" | "pattern" | "$ref" | "$id" | "$schema" | "$anchor"
        | "$comment" => value.is_string(),
        _ if NUMBERS.contains(&name) => value.is_number(),
        _ if LENGTHS.contains(&name) => value.as_u64().is_some(),
        _ if SCHEMAS.contains(&name) => is_draft_2020_12(value),
        _ if LISTS.contains(&name) => value
            .as_array()
            .is_some_and(|items| !items.is_empty() && items.iter().all(is_draft_2020_12)),
        _ if MAPS.contains(&name) => value
            .as_object()
            .is_some_and(|fields| fields.values().all(is_draft_2020_12)),
        _ => true,
    }
}

fn is_type(value: &Value) -> bool {
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    match value {
        Value::Array(names) => {
            let unique: BTreeSet<_> = names.iter().filter_map(Value::as_str).collect();
            !names.is_empty() && names.iter().all(known) && unique.len() == names.len()
        }
        single => known(single),
    }
}

fn unique_strings(value: &Value) -> bool {
    value.as_array().is_some_and(|names| {
        let unique: BTreeSet<_> = names.iter().filter_map(Value::as_str).collect();
        unique.len() == names.len()
    })
}

/// Why structured outputs cannot follow a schema, or `Ok`.
pub(super) fn supported(root: &Value) -> Result<(), String> {
    walk(root, root, &mut Vec::new())
}

fn walk(schema: &Value, root: &Value, open_refs: &mut Vec<String>) -> Result<(), String> {
    let Value::Object(fields) = schema else {
        return Ok(());
    };
    let kind = kind(fields);
    for (name, value) in fields {
        limits(&kind, name, value)?;
    }
    if kind == "object" && fields.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err(
            "For 'object' type, 'additionalProperties' must be explicitly set to false".to_owned(),
        );
    }
    reference(fields, root, open_refs)?;
    for name in ["properties"] {
        for value in fields
            .get(name)
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::values)
        {
            walk(value, root, open_refs)?;
        }
    }
    for name in ["anyOf", "allOf"] {
        for value in fields
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            walk(value, root, open_refs)?;
        }
    }
    fields
        .get("items")
        .map_or(Ok(()), |items| walk(items, root, open_refs))
}

fn kind(fields: &Map<String, Value>) -> String {
    let named = match fields.get("type") {
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .find(|name| *name != "null"),
        Some(value) => value.as_str(),
        None => None,
    };
    match named {
        Some(name) => name.to_owned(),
        None if fields.contains_key("properties") => "object".to_owned(),
        None => String::new(),
    }
}

fn limits(kind: &str, name: &str, value: &Value) -> Result<(), String> {
    let refused = match name {
        "minItems" => value.as_u64().is_some_and(|count| count > 1),
        "oneOf"
        | "not"
        | "if"
        | "then"
        | "else"
        | "patternProperties"
        | "propertyNames"
        | "prefixItems"
        | "contains"
        | "uniqueItems"
        | "multipleOf"
        | "dependentSchemas"
        | "dependentRequired"
        | "unevaluatedProperties" => true,
        _ => NUMBERS.contains(&name) || LENGTHS.contains(&name),
    };
    if refused {
        let kind = if kind.is_empty() { "any" } else { kind };
        return Err(format!(
            "For '{kind}' type, property '{name}' is not supported"
        ));
    }
    Ok(())
}

fn reference(
    fields: &Map<String, Value>,
    root: &Value,
    open_refs: &mut Vec<String>,
) -> Result<(), String> {
    let Some(target) = fields.get("$ref").and_then(Value::as_str) else {
        return Ok(());
    };
    let Some(pointer) = target.strip_prefix('#') else {
        return Err(format!("External '$ref' is not supported: {target}"));
    };
    if open_refs.iter().any(|open| open == target) {
        return Err(format!(
            "Circular reference detected in schema definitions: {target}"
        ));
    }
    let Some(next) = root.pointer(pointer) else {
        return Err(format!("'$ref' could not be resolved: {target}"));
    };
    open_refs.push(target.to_owned());
    let walked = walk(next, root, open_refs);
    open_refs.pop();
    walked
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn draft_4_leftovers_are_invalid() {
        for schema in [
            json!({"type": "object", "properties": {"n": {"type": "number", "minimum": 0, "exclusiveMinimum": true}}}),
            json!({"type": "object", "properties": {"n": {"type": "string", "required": true}}}),
            json!({"type": "object", "properties": {"n": {"type": "array", "items": [{"type": "string"}]}}}),
            json!({"type": "any"}),
            json!({"type": "object", "properties": []}),
        ] {
            assert!(!is_draft_2020_12(&schema), "{schema}");
        }
    }

    #[test]
    fn a_property_may_have_the_name_of_a_keyword() {
        let schema = json!({"type": "object", "properties": {
            "type": {"type": "string"}, "required": {"type": "boolean"}, "items": {"type": "array", "items": {}}
        }, "required": ["type"]});
        assert!(is_draft_2020_12(&schema));
    }

    #[test]
    fn structured_outputs_refuse_bounds_open_objects_and_recursion() {
        let closed = |properties: Value| json!({"type": "object", "properties": properties, "additionalProperties": false});
        assert_eq!(supported(&closed(json!({"a": {"type": "string"}}))), Ok(()));
        for (schema, reason) in [
            (
                json!({"type": "object", "properties": {}}),
                "additionalProperties",
            ),
            (
                closed(json!({"a": {"type": "integer", "minimum": 1}})),
                "'minimum'",
            ),
            (
                closed(json!({"a": {"type": "string", "maxLength": 1}})),
                "'maxLength'",
            ),
            (
                json!({"type": "object", "additionalProperties": false,
                       "properties": {"next": {"$ref": "#"}}}),
                "Circular",
            ),
        ] {
            let refused = supported(&schema).expect_err(reason);
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
