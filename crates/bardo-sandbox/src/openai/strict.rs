//! The subset of JSON schema that strict mode accepts.

use serde_json::Value;

const UNSUPPORTED: &[&str] = &[
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "unevaluatedProperties",
    "uniqueItems",
    "oneOf",
];

/// Checks a strict schema; the error is the reason in the service's words.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    if schema.get("anyOf").is_some() {
        return Err("schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.".to_owned());
    }
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        let got = schema
            .get("type")
            .map_or("None".to_owned(), Value::to_string);
        return Err(format!(
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: {got}'."
        ));
    }
    node(schema, &mut Vec::new())
}

fn node(schema: &Value, path: &mut Vec<String>) -> Result<(), String> {
    let Some(fields) = schema.as_object() else {
        return Ok(());
    };
    let context = |path: &[String]| {
        let quoted: Vec<String> = path.iter().map(|step| format!("'{step}'")).collect();
        format!("In context=({})", quoted.join(", "))
    };
    if let Some(keyword) = UNSUPPORTED
        .iter()
        .find(|keyword| fields.contains_key(**keyword))
    {
        return Err(format!("{}, '{keyword}' is not permitted.", context(path)));
    }
    if fields.contains_key("properties")
        || fields.get("type").and_then(Value::as_str) == Some("object")
    {
        if fields.get("additionalProperties") != Some(&Value::Bool(false)) {
            return Err(format!(
                "{}, 'additionalProperties' is required to be supplied and to be false.",
                context(path)
            ));
        }
        let required: Vec<&str> = fields
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        for (name, property) in fields
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            if !required.contains(&name.as_str()) {
                return Err(format!(
                    "{}, 'required' is required to be supplied and to be an array including every key in properties. Missing '{name}'.",
                    context(path),
                ));
            }
            path.extend(["properties".to_owned(), name.clone()]);
            node(property, path)?;
            path.truncate(path.len() - 2);
        }
    }
    for keyword in ["items", "$defs", "definitions", "anyOf"] {
        path.push(keyword.to_owned());
        match fields.get(keyword) {
            Some(Value::Array(options)) => {
                options.iter().try_for_each(|option| node(option, path))?
            }
            Some(Value::Object(named)) if keyword != "items" => {
                named.values().try_for_each(|schema| node(schema, path))?;
            }
            Some(schema) => node(schema, path)?,
            None => {}
        }
        path.pop();
    }
    Ok(())
}
