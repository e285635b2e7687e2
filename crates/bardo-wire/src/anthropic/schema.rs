//! JSON schemas that the API refuses, repaired on a copy.

use std::borrow::Cow;
use std::sync::LazyLock;

use bardo_types::json::RawJson;
use memchr::memmem::Finder;
use serde_json::{Map, Value, json};

use crate::json::Members;

/// Keywords that old drafts spell in a way the current one refuses. A text without them is sent
/// as it is, without being parsed.
static SUSPECTS: LazyLock<[Finder<'static>; 6]> = LazyLock::new(|| {
    [
        "\"exclusiveMinimum\"",
        "\"exclusiveMaximum\"",
        "\"$schema\"",
        "\"required\":true",
        "\"required\":false",
        "\"any\"",
    ]
    .map(Finder::new)
});

/// Constraints that structured outputs do not take.
const UNENFORCED: [&str; 14] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
];

/// The schema of a tool: an object at its root and valid in draft 2020-12.
pub(super) fn for_tool(schema: Option<&RawJson>) -> Cow<'_, RawJson> {
    let Some(schema) = schema else {
        return Cow::Owned(empty());
    };
    if is_object_schema(schema) && !is_suspect(schema.as_str()) {
        return Cow::Borrowed(schema);
    }
    let Ok(Value::Object(mut root)) = schema.read::<Value>() else {
        return Cow::Owned(empty());
    };
    repair(&mut root);
    make_object(&mut root);
    Cow::Owned(RawJson::of(&root).expect("a schema that was read can be written"))
}

/// The schema of a structured answer. With `limited`, what the API would refuse is turned into
/// words of the description, and objects are closed. Answers whether anything was turned.
pub(super) fn for_output(schema: &RawJson, limited: bool) -> (Cow<'_, RawJson>, bool) {
    if !limited {
        return (Cow::Borrowed(schema), false);
    }
    let Ok(Value::Object(mut root)) = schema.read::<Value>() else {
        return (Cow::Borrowed(schema), false);
    };
    repair(&mut root);
    let before = root.clone();
    let turned = limit(&mut root);
    if root == before {
        // Spelling and key order stay as the caller's.
        return (Cow::Borrowed(schema), false);
    }
    let raw = RawJson::of(&root).expect("a schema that was read can be written");
    (Cow::Owned(raw), turned)
}

fn empty() -> RawJson {
    RawJson::parse(r#"{"type":"object","properties":{}}"#).expect("a literal is JSON")
}

fn is_object_schema(schema: &RawJson) -> bool {
    schema.read::<Members<'_>>().is_ok_and(|members| {
        members
            .get("type")
            .is_some_and(|kind| kind.get() == "\"object\"")
            && ["anyOf", "oneOf", "allOf"]
                .iter()
                .all(|keyword| members.get(keyword).is_none())
    })
}

fn is_suspect(text: &str) -> bool {
    SUSPECTS
        .iter()
        .any(|keyword| keyword.find(text.as_bytes()).is_some())
}

/// Gives the root `type: object`; alternatives at the root, which tools may not have, become
/// optional properties of one object.
fn make_object(root: &mut Map<String, Value>) {
    let mut properties = match root.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(branches)) = root.remove(keyword) else {
            continue;
        };
        for branch in branches {
            if let Value::Object(mut branch) = branch
                && let Some(Value::Object(more)) = branch.remove("properties")
            {
                for (name, schema) in more {
                    properties.entry(name).or_insert(schema);
                }
            }
        }
    }
    root.insert("type".to_owned(), json!("object"));
    root.insert("properties".to_owned(), Value::Object(properties));
}

/// Applies `change` to every schema directly within `schema`. Only values in schema position are
/// visited, so that a property named like a keyword is left alone.
fn each_subschema(
    schema: &mut Map<String, Value>,
    change: &mut dyn FnMut(&mut Map<String, Value>),
) {
    for (keyword, value) in schema.iter_mut() {
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(named),
            ) => named
                .values_mut()
                .filter_map(Value::as_object_mut)
                .for_each(&mut *change),
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedProperties"
                | "unevaluatedItems",
                Value::Object(inner),
            ) => change(inner),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(list)) => list
                .iter_mut()
                .filter_map(Value::as_object_mut)
                .for_each(&mut *change),
            _ => {}
        }
    }
}

/// Turns spellings of older drafts into those of 2020-12.
fn repair(schema: &mut Map<String, Value>) {
    each_subschema(schema, &mut repair);
    for (exclusive, inclusive) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if let Some(Value::Bool(is_exclusive)) = schema.get(exclusive) {
            let is_exclusive = *is_exclusive;
            schema.shift_remove(exclusive);
            if is_exclusive && let Some(bound) = schema.shift_remove(inclusive) {
                schema.insert(exclusive.to_owned(), bound);
            }
        }
    }
    if schema.get("type") == Some(&json!("any")) {
        schema.shift_remove("type");
    }
    if schema.get("items").is_some_and(Value::is_array)
        && let Some(items) = schema.shift_remove("items")
    {
        schema.insert("prefixItems".to_owned(), items);
    }
    if schema
        .get("$schema")
        .and_then(Value::as_str)
        .is_some_and(|draft| !draft.contains("2020-12"))
    {
        schema.shift_remove("$schema");
    }
    // Draft 3 said `required` on the property itself; now the object lists them.
    if schema.get("required").is_some_and(Value::is_boolean) {
        schema.shift_remove("required");
    }
}

/// Closes objects and moves constraints that are not enforced into the description.
fn limit(schema: &mut Map<String, Value>) -> bool {
    let mut turned = false;
    each_subschema(schema, &mut |inner| turned |= limit(inner));
    let mut words = Vec::new();
    for keyword in UNENFORCED {
        if let Some(value) = schema.shift_remove(keyword) {
            words.push(format!("{keyword}: {value}"));
        }
    }
    if schema
        .get("minItems")
        .and_then(Value::as_u64)
        .is_some_and(|least| least > 1)
        && let Some(value) = schema.shift_remove("minItems")
    {
        words.push(format!("minItems: {value}"));
    }
    if !words.is_empty() {
        turned = true;
        let words = format!("{{{}}}", words.join(", "));
        let description = match schema.get("description").and_then(Value::as_str) {
            Some(text) => format!("{text}\n\n{words}"),
            None => words,
        };
        schema.insert("description".to_owned(), json!(description));
    }
    if let Some(Value::Array(branches)) = schema.shift_remove("oneOf") {
        schema.insert("anyOf".to_owned(), Value::Array(branches));
    }
    let is_object = schema.contains_key("properties")
        || schema.get("type").is_some_and(|kind| {
            kind == "object"
                || kind
                    .as_array()
                    .is_some_and(|kinds| kinds.contains(&json!("object")))
        });
    if is_object && schema.get("additionalProperties") != Some(&json!(false)) {
        turned |= schema.contains_key("additionalProperties");
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
    turned
}
