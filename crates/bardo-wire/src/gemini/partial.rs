//! Arguments of a call that arrive value by value (`partialArgs`).

use serde_json::{Map, Value};

use crate::gemini::shapes::answer::PartialArg;

/// A path longer than this is no path into arguments.
const MAX_STEPS: usize = 64;
/// An index above this is no index into arguments.
const MAX_INDEX: usize = 10_000;

/// Collects the values of one call.
///
/// The values of one path are pieces of one string while it continues; JSON text can be written
/// only when the object is complete, because later paths may reach back into earlier objects.
#[derive(Debug, Default)]
pub(super) struct PartialArgs {
    root: Map<String, Value>,
}

#[derive(Debug, PartialEq)]
enum ArgumentStep {
    Key(String),
    Index(usize),
}

impl PartialArgs {
    /// Takes the next values; those with a path that makes no sense are skipped.
    pub(super) fn take(&mut self, values: &[PartialArg<'_>]) {
        for value in values {
            let Some(steps) = value.json_path.as_deref().and_then(steps) else {
                continue;
            };
            let piece = if let Some(text) = &value.string_value {
                Value::String(text.to_string())
            } else if let Some(number) = &value.number_value {
                Value::Number(number.clone())
            } else if let Some(truth) = value.bool_value {
                Value::Bool(truth)
            } else {
                Value::Null
            };
            self.put(&steps, piece);
        }
    }

    fn put(&mut self, steps: &[ArgumentStep], piece: Value) {
        let Some((ArgumentStep::Key(first), rest)) = steps.split_first() else {
            return;
        };
        let mut slot = self.root.entry(first.clone()).or_insert(Value::Null);
        for step in rest {
            match step {
                ArgumentStep::Key(key) => {
                    if !slot.is_object() {
                        *slot = Value::Object(Map::new());
                    }
                    let Value::Object(object) = slot else { return };
                    slot = object.entry(key.clone()).or_insert(Value::Null);
                }
                ArgumentStep::Index(index) => {
                    if !slot.is_array() {
                        *slot = Value::Array(Vec::new());
                    }
                    let Value::Array(array) = slot else { return };
                    if array.len() <= *index {
                        array.resize(index + 1, Value::Null);
                    }
                    slot = &mut array[*index];
                }
            }
        }
        match (slot, piece) {
            (Value::String(text), Value::String(more)) => text.push_str(&more),
            (slot, piece) => *slot = piece,
        }
    }

    /// The arguments so far as JSON text.
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(&self.root).expect("a JSON value always serializes")
    }
}

/// Reads the subset of JSON path that Gemini writes: `$.a.b[0]['c d']`.
fn steps(path: &str) -> Option<Vec<ArgumentStep>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            if end == 0 {
                return None;
            }
            steps.push(ArgumentStep::Key(after[..end].to_owned()));
            rest = &after[end..];
        } else {
            let after = rest.strip_prefix('[')?;
            if let Some(quote @ ('\'' | '"')) = after.chars().next() {
                let closing = format!("{quote}]");
                let end = after[1..].find(&closing)? + 1;
                steps.push(ArgumentStep::Key(after[1..end].to_owned()));
                rest = &after[end + closing.len()..];
            } else {
                let end = after.find(']')?;
                let index = after[..end].parse().ok().filter(|&i| i < MAX_INDEX)?;
                steps.push(ArgumentStep::Index(index));
                rest = &after[end + 1..];
            }
        }
        if steps.len() > MAX_STEPS {
            return None;
        }
    }
    matches!(steps.first(), Some(ArgumentStep::Key(_))).then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_land_at_their_paths_and_pieces_of_a_string_join() {
        let values: Vec<PartialArg<'_>> = serde_json::from_str(
            r#"[{"jsonPath":"$.city","stringValue":"San ","willContinue":true},
                {"jsonPath":"$.city","stringValue":"José"},
                {"jsonPath":"$.days[1].hot","boolValue":true},
                {"jsonPath":"$['odd key']","numberValue":1.5},
                {"jsonPath":"$.none","nullValue":"NULL_VALUE"},
                {"jsonPath":"nonsense","stringValue":"x"},
                {"jsonPath":"$[0]","stringValue":"x"},
                {"jsonPath":"$.a[99999999999]","stringValue":"x"}]"#,
        )
        .unwrap();
        let mut args = PartialArgs::default();
        args.take(&values);
        assert_eq!(
            args.to_json(),
            r#"{"city":"San José","days":[null,{"hot":true}],"odd key":1.5,"none":null}"#
        );
    }
}
