//! A reader of JSON schemas, as far as answers of models need one.
//!
//! Our own rather than a crate: a full implementation brings a regex engine, number and URI
//! parsers and a resolver of references, for the sake of keywords that providers refuse anyway.

use serde_json::{Map, Value};

/// As many faults as a model can be told at once.
const MOST_FAULTS: usize = 12;
/// References may lead to references; schemas that only do that are cut off.
const DEEPEST: usize = 64;
/// As many schemas as are looked at for one answer, however they fork.
const FUEL: u32 = 200_000;

/// An error of a value, as a sentence with its path.
pub(super) fn check(schema: &Value, value: &Value) -> Vec<String> {
    let mut reader = SchemaReader {
        root: schema,
        faults: Vec::new(),
        depth: 0,
        fuel: FUEL,
    };
    reader.read(schema, value, "");
    reader.faults
}

struct SchemaReader<'s> {
    root: &'s Value,
    faults: Vec<String>,
    depth: usize,
    fuel: u32,
}

impl<'s> SchemaReader<'s> {
    fn fault(&mut self, place: &str, what: &str) {
        if self.faults.len() < MOST_FAULTS {
            let place = if place.is_empty() {
                "the answer"
            } else {
                place
            };
            self.faults.push(format!("{place} {what}"));
        }
    }

    fn read(&mut self, schema: &'s Value, value: &Value, place: &str) {
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(false) => return self.fault(place, "is not allowed"),
            _ => return,
        };
        if self.depth >= DEEPEST || self.fuel == 0 {
            return;
        }
        self.fuel -= 1;
        self.depth += 1;
        self.reference(members, value, place);
        if self.kind(members, value, place) {
            self.constants(members, value, place);
            match value {
                Value::Object(fields) => self.object(members, fields, place),
                Value::Array(items) => self.list(members, items, place),
                Value::String(text) => {
                    let length = text.chars().count() as f64;
                    self.bounds(
                        members,
                        length,
                        ["minLength", "maxLength"],
                        "characters",
                        place,
                    );
                }
                Value::Number(number) => self.number(members, number.as_f64(), place),
                Value::Null | Value::Bool(_) => {}
            }
        }
        self.alternatives(members, value, place);
        self.depth -= 1;
    }

    fn reference(&mut self, members: &'s Map<String, Value>, value: &Value, place: &str) {
        let Some(pointer) = members.get("$ref").and_then(Value::as_str) else {
            return;
        };
        let root = self.root;
        if let Some(schema) = pointer
            .strip_prefix('#')
            .and_then(|path| root.pointer(path))
        {
            self.read(schema, value, place);
        }
    }

    /// Answers whether the value is of the right kind, so that looking further makes sense.
    fn kind(&mut self, members: &Map<String, Value>, value: &Value, place: &str) -> bool {
        let kinds: Vec<&str> = match members.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => return true,
        };
        if kinds.iter().any(|kind| is_kind(value, kind)) {
            return true;
        }
        let wanted: Vec<&str> = kinds.iter().map(|kind| with_article(kind)).collect();
        let is = with_article(kind_of(value));
        self.fault(
            place,
            &format!("is {is} and must be {}", wanted.join(" or ")),
        );
        false
    }

    fn constants(&mut self, members: &Map<String, Value>, value: &Value, place: &str) {
        if let Some(Value::Array(allowed)) = members.get("enum")
            && !allowed.iter().any(|known| same(known, value))
        {
            let names: Vec<String> = allowed.iter().map(Value::to_string).collect();
            let names = names.join(", ");
            self.fault(place, &format!("is {value} and must be one of {names}"));
        }
        if let Some(only) = members.get("const")
            && !same(only, value)
        {
            self.fault(place, &format!("is {value} and must be {only}"));
        }
    }

    fn object(
        &mut self,
        members: &'s Map<String, Value>,
        fields: &Map<String, Value>,
        place: &str,
    ) {
        let required = members.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                self.fault(&format!("{place}/{name}"), "is missing");
            }
        }
        let known = members.get("properties").and_then(Value::as_object);
        // Patterns are not read, so what they might allow is not refused.
        let patterned = members.contains_key("patternProperties");
        let others = members.get("additionalProperties").filter(|_| !patterned);
        for (name, value) in fields {
            let place = format!("{place}/{name}");
            match (known.and_then(|known| known.get(name)), others) {
                (Some(schema), _) | (None, Some(schema)) => self.read(schema, value, &place),
                (None, None) => {}
            }
        }
        let count = fields.len() as f64;
        self.bounds(
            members,
            count,
            ["minProperties", "maxProperties"],
            "members",
            place,
        );
    }

    fn list(&mut self, members: &'s Map<String, Value>, items: &[Value], place: &str) {
        let first = members.get("prefixItems").and_then(Value::as_array);
        for (at, item) in items.iter().enumerate() {
            let schema = first
                .and_then(|first| first.get(at))
                .or(members.get("items"));
            if let Some(schema) = schema {
                self.read(schema, item, &format!("{place}/{at}"));
            }
        }
        let count = items.len() as f64;
        self.bounds(members, count, ["minItems", "maxItems"], "items", place);
        let twice = |(at, item): (usize, &Value)| items[..at].iter().any(|known| same(known, item));
        if members.get("uniqueItems") == Some(&Value::Bool(true))
            && items.iter().enumerate().any(twice)
        {
            self.fault(place, "contains a value twice");
        }
    }

    fn number(&mut self, members: &Map<String, Value>, value: Option<f64>, place: &str) {
        type Holds = fn(f64, f64) -> bool;
        let Some(value) = value else { return };
        let bound = |keyword: &str| members.get(keyword).and_then(Value::as_f64);
        let rules: [(&str, Holds, &str); 4] = [
            ("minimum", |value, bound| value >= bound, "at least"),
            ("maximum", |value, bound| value <= bound, "at most"),
            (
                "exclusiveMinimum",
                |value, bound| value > bound,
                "more than",
            ),
            (
                "exclusiveMaximum",
                |value, bound| value < bound,
                "less than",
            ),
        ];
        for (keyword, holds, words) in rules {
            if let Some(bound) = bound(keyword)
                && !holds(value, bound)
            {
                self.fault(place, &format!("is {value} and must be {words} {bound}"));
            }
        }
        if let Some(step) = bound("multipleOf")
            && step > 0.0
        {
            let steps = value / step;
            if (steps - steps.round()).abs() > 1e-9 {
                self.fault(
                    place,
                    &format!("is {value} and must be a multiple of {step}"),
                );
            }
        }
    }

    fn bounds(
        &mut self,
        members: &Map<String, Value>,
        count: f64,
        [least, most]: [&str; 2],
        what: &str,
        place: &str,
    ) {
        if let Some(least) = members.get(least).and_then(Value::as_f64)
            && count < least
        {
            self.fault(
                place,
                &format!("has {count} {what} and needs at least {least}"),
            );
        }
        if let Some(most) = members.get(most).and_then(Value::as_f64)
            && count > most
        {
            self.fault(
                place,
                &format!("has {count} {what} and may have at most {most}"),
            );
        }
    }

    fn alternatives(&mut self, members: &'s Map<String, Value>, value: &Value, place: &str) {
        let list = |keyword: &str| members.get(keyword).and_then(Value::as_array);
        for schema in list("allOf").into_iter().flatten() {
            self.read(schema, value, place);
        }
        if let Some(branches) = list("anyOf")
            && !branches.iter().any(|branch| self.fits(branch, value))
        {
            self.fault(place, "fits none of the allowed forms");
        }
        if let Some(branches) = list("oneOf") {
            let mut fitting = 0;
            for branch in branches {
                fitting += usize::from(self.fits(branch, value));
            }
            match fitting {
                0 => self.fault(place, "fits none of the allowed forms"),
                1 => {}
                _ => self.fault(place, "fits several of the allowed forms and may fit one"),
            }
        }
        if let Some(branch) = members.get("not")
            && self.fits(branch, value)
        {
            self.fault(place, "has a form that is not allowed");
        }
    }

    fn fits(&mut self, schema: &'s Value, value: &Value) -> bool {
        let faults = std::mem::take(&mut self.faults);
        self.read(schema, value, "");
        std::mem::replace(&mut self.faults, faults).is_empty()
    }
}

/// 1 and 1.0 are the same number.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64() == right.as_f64()
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right))
        }
        _ => left == right,
    }
}

fn is_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => value
            .as_f64()
            .is_some_and(|number| value.is_u64() || value.is_i64() || number.fract() == 0.0),
        kind => kind_of(value) == kind,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn with_article(kind: &str) -> &str {
    match kind {
        "boolean" => "a boolean",
        "number" => "a number",
        "integer" => "an integer",
        "string" => "a string",
        "array" => "an array",
        "object" => "an object",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_keyword_lets_the_right_through_and_the_wrong_not() {
        for (schema, good, bad) in [
            (json!({"type": "integer"}), json!(1.0), json!(1.5)),
            (json!({"type": ["string", "null"]}), json!(null), json!(1)),
            (json!({"enum": [1, "a"]}), json!(1.0), json!("b")),
            (json!({"const": "x"}), json!("x"), json!("y")),
            (json!({"required": ["a"]}), json!({"a": 1}), json!({})),
            (
                json!({"additionalProperties": false}),
                json!({}),
                json!({"a": 1}),
            ),
            (
                json!({"additionalProperties": {"type": "string"}}),
                json!({"a": "b"}),
                json!({"a": 1}),
            ),
            (
                json!({"items": {"type": "number"}}),
                json!([1]),
                json!([1, "2"]),
            ),
            (
                json!({"prefixItems": [{"type": "string"}], "items": false}),
                json!(["a"]),
                json!(["a", "b"]),
            ),
            (
                json!({"minimum": 0, "exclusiveMaximum": 1}),
                json!(0),
                json!(1),
            ),
            (
                json!({"exclusiveMinimum": 0, "maximum": 1}),
                json!(1),
                json!(0),
            ),
            (json!({"multipleOf": 0.1}), json!(0.3), json!(0.35)),
            (
                json!({"minLength": 2, "maxLength": 3}),
                json!("äö"),
                json!("ä"),
            ),
            (json!({"minItems": 1, "maxItems": 2}), json!([1]), json!([])),
            (json!({"minProperties": 1}), json!({"a": 1}), json!({})),
            (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1.0])),
            (
                json!({"anyOf": [{"type": "string"}, {"const": 1}]}),
                json!(1),
                json!(2),
            ),
            (
                json!({"oneOf": [{"type": "number"}, {"type": "integer"}]}),
                json!(1.5),
                json!(1),
            ),
            (
                json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}),
                json!(2),
                json!(3),
            ),
            (json!({"not": {"type": "null"}}), json!(1), json!(null)),
            (
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}),
                json!("x"),
                json!(1),
            ),
            (json!(true), json!(1), json!(null)),
        ] {
            assert_eq!(check(&schema, &good), [""; 0], "{schema}");
            if schema != json!(true) {
                assert!(!check(&schema, &bad).is_empty(), "{schema} takes {bad}");
            }
        }
    }

    #[test]
    fn schemas_that_turn_in_circles_end() {
        let circle = json!({"$ref": "#"});
        assert_eq!(check(&circle, &json!(1)), [""; 0]);
        let fork = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "not": {"$ref": "#"}});
        check(&fork, &json!(1));
        let tree = json!({
            "type": "object",
            "properties": {"inner": {"$ref": "#"}},
            "additionalProperties": false
        });
        let good = json!({"inner": {"inner": {}}});
        assert_eq!(check(&tree, &good), [""; 0]);
        let bad = json!({"inner": {"inner": {"outer": 1}}});
        assert_eq!(check(&tree, &bad), ["/inner/inner/outer is not allowed"]);
    }
}
