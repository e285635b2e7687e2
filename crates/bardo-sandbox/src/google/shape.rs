//! Reads JSON the way Google's transcoder does: every field must be known, camelCase and
//! snake_case mean the same, and the result has camelCase names only.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use super::error::ApiError;

/// Message types, their fields, and each field's kind: `string`, `bool`, `int`, `number`,
/// `bytes`, `struct`, `any`, `enum:A|B`, the name of a message, `[kind]` or `{kind}`.
static MESSAGES: LazyLock<BTreeMap<String, BTreeMap<String, String>>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/google_request.json"))
        .expect("the embedded message table is valid, a test parses it")
});

/// Reads `value` as a `message`, reporting all violations at once.
pub(super) fn read(message: &str, value: &Value) -> Result<Value, ApiError> {
    let mut reader = Reader::default();
    let read = reader.value(message, value, "");
    if reader.violations.is_empty() {
        Ok(read)
    } else {
        Err(ApiError::fields(&reader.violations))
    }
}

#[derive(Default)]
struct Reader {
    violations: Vec<(String, String)>,
}

impl Reader {
    fn value(&mut self, kind: &str, value: &Value, path: &str) -> Value {
        if let Some(inner) = kind
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            return self.list(inner, value, path);
        }
        if let Some(inner) = kind
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
        {
            return self.map(inner, value, path);
        }
        if let Some(names) = kind.strip_prefix("enum:") {
            return self.name(names, value, path);
        }
        let fits = match kind {
            "string" => value.is_string(),
            "bool" => value.is_boolean(),
            "number" => value.is_number() || parses::<f64>(value),
            "int" => is_integer(value),
            "bytes" => value.as_str().is_some_and(|text| bytes(text).is_some()),
            "struct" => value.is_object(),
            "any" => true,
            message => return self.message(message, value, path),
        };
        if !fits {
            self.wrong_kind(kind, value, path);
        }
        match (kind, value) {
            ("int", Value::String(digits)) => {
                digits.parse::<i64>().map_or(Value::Null, Value::from)
            }
            _ => value.clone(),
        }
    }

    fn message(&mut self, message: &str, value: &Value, path: &str) -> Value {
        let known = MESSAGES
            .get(message)
            .expect("kinds name messages of the table, a test walks it");
        let Some(fields) = value.as_object() else {
            self.wrong_kind(message, value, path);
            return Value::Null;
        };
        let mut read = Map::new();
        for (name, field) in fields {
            let camel = camel_case(name);
            match known.get(&camel) {
                None => self.unknown(name, path),
                Some(_) if field.is_null() => {}
                Some(kind) => {
                    let place = join(path, &snake_case(name));
                    read.insert(camel, self.value(kind, field, &place));
                }
            }
        }
        Value::Object(read)
    }

    fn list(&mut self, kind: &str, value: &Value, path: &str) -> Value {
        match value {
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| self.value(kind, item, &format!("{path}[{index}]")))
                .collect(),
            // The transcoder takes one message where a list of them belongs.
            Value::Object(_) => Value::Array(vec![self.value(kind, value, path)]),
            _ => {
                self.wrong_kind(kind, value, path);
                Value::Null
            }
        }
    }

    fn map(&mut self, kind: &str, value: &Value, path: &str) -> Value {
        let Some(fields) = value.as_object() else {
            self.wrong_kind("struct", value, path);
            return Value::Null;
        };
        let read = fields.iter().enumerate().map(|(index, (name, field))| {
            (
                name.clone(),
                self.value(kind, field, &format!("{path}[{index}].value")),
            )
        });
        Value::Object(read.collect())
    }

    fn name(&mut self, names: &str, value: &Value, path: &str) -> Value {
        let upper = value.as_str().map(str::to_uppercase);
        match upper.filter(|upper| names.split('|').any(|name| name == upper)) {
            Some(name) => Value::String(name),
            None => {
                let text = format!("Invalid value at '{path}' (TYPE_ENUM), {value}");
                self.violations.push((path.to_owned(), text));
                Value::Null
            }
        }
    }

    fn unknown(&mut self, name: &str, path: &str) {
        let text = if path.is_empty() {
            format!("Invalid JSON payload received. Unknown name \"{name}\": Cannot find field.")
        } else {
            format!(
                "Invalid JSON payload received. Unknown name \"{name}\" at '{path}': Cannot find \
                 field."
            )
        };
        self.violations.push((path.to_owned(), text));
    }

    fn wrong_kind(&mut self, kind: &str, value: &Value, path: &str) {
        let name = match kind {
            "string" => "TYPE_STRING".to_owned(),
            "bool" => "TYPE_BOOL".to_owned(),
            "number" => "TYPE_FLOAT".to_owned(),
            "int" => "TYPE_INT32".to_owned(),
            "bytes" => "TYPE_BYTES".to_owned(),
            "struct" => "type.googleapis.com/google.protobuf.Struct".to_owned(),
            message => {
                format!("type.googleapis.com/google.ai.generativelanguage.v1beta.{message}")
            }
        };
        let shown = match value {
            Value::String(_) | Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => "Proto field is not repeating, cannot start list.".to_owned(),
        };
        let text = format!("Invalid value at '{path}' ({name}), {shown}");
        self.violations.push((path.to_owned(), text));
    }
}

fn parses<T: std::str::FromStr>(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.parse::<T>().is_ok())
}

fn is_integer(value: &Value) -> bool {
    value.is_i64()
        || value.is_u64()
        || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        || parses::<i64>(value)
}

/// Base64 of either alphabet, padded or not.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    [&STANDARD, &URL_SAFE, &STANDARD_NO_PAD, &URL_SAFE_NO_PAD]
        .iter()
        .find_map(|engine| engine.decode(text).ok())
}

fn join(path: &str, field: &str) -> String {
    if path.is_empty() {
        field.to_owned()
    } else {
        format!("{path}.{field}")
    }
}

fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut up = false;
    for letter in name.chars() {
        match letter {
            '_' => up = true,
            letter if up => {
                camel.extend(letter.to_uppercase());
                up = false;
            }
            letter => camel.push(letter),
        }
    }
    camel
}

fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(value: &Value) -> String {
        let error = read("GenerateContentRequest", value).expect_err("refused");
        error.body()["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    #[test]
    fn every_kind_of_the_table_exists() {
        let plain = ["string", "bool", "int", "number", "bytes", "struct", "any"];
        for (message, fields) in MESSAGES.iter() {
            for (name, kind) in fields {
                let inner = kind.trim_matches(['[', ']', '{', '}']);
                let known = plain.contains(&inner)
                    || inner.starts_with("enum:")
                    || MESSAGES.contains_key(inner);
                assert!(known, "{message}.{name}: {kind}");
            }
        }
    }

    #[test]
    fn both_spellings_are_read() {
        let read = read(
            "GenerateContentRequest",
            &json!({"generation_config": {"max_output_tokens": "5", "thinkingConfig": null}}),
        );
        assert_eq!(
            read.expect("accepted"),
            json!({"generationConfig": {"maxOutputTokens": 5}})
        );
    }

    #[test]
    fn unknown_names_say_where() {
        assert_eq!(
            refusal(&json!({"messages": []})),
            "Invalid JSON payload received. Unknown name \"messages\": Cannot find field."
        );
        let declared = json!({"tools": [{"functionDeclarations": [{"name": "f", "parameters":
            {"type": "object", "properties": {"const": {"type": "string", "const": "x"}},
             "additionalProperties": false}}]}]});
        let message = refusal(&declared);
        let place = "tools[0].function_declarations[0].parameters";
        assert!(
            message.contains(&format!("\"additionalProperties\" at '{place}'")),
            "{message}"
        );
        assert!(message.contains(&format!("\"const\" at '{place}.properties[0].value'")));
        assert_eq!(
            message.lines().count(),
            2,
            "a property may be named like a keyword"
        );
    }

    #[test]
    fn a_function_response_is_an_object() {
        let value = json!({"contents": [{"parts": [{"functionResponse":
            {"name": "f", "response": "text"}}]}]});
        assert!(refusal(&value).contains(
            "contents[0].parts[0].function_response.response' \
             (type.googleapis.com/google.protobuf.Struct), \"text\""
        ));
    }
}
