//! Failures to read JSON in words of the API instead of those of the parser.

use crate::codec::BadRequest;

/// Characters of a caller's text that a refusal repeats.
const QUOTED_CHARS: usize = 64;
/// Bytes of the parser's own words that a refusal repeats where no rule knows them.
const OTHER_BYTES: usize = 256;

/// A refusal of a body that could not be read, where the member at fault is not known.
#[must_use]
pub fn explain(error: &serde_json::Error) -> BadRequest {
    BadRequest::new("", told(error, ""))
}

/// Why the value at `path` could not be read: what it must be, and what was found there. An empty
/// path is the body itself.
#[must_use]
pub fn told(error: &serde_json::Error, path: &str) -> String {
    let place = match path {
        "" => "a value of the request body".to_owned(),
        path => format!("`{path}`"),
    };
    let text = error.to_string();
    let message = without_position(&text);
    if message == "number out of range" {
        return format!("{place} is a number that is too large; use a smaller one");
    }
    if !error.is_data() {
        let (line, column) = (error.line(), error.column());
        return format!("the request body is not valid JSON (line {line}, column {column})");
    }
    if let Some((expected, found)) = expectation(message) {
        return format!("{place} must be {expected}, not {found}");
    }
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.as_slice() {
        [name] if message.starts_with("missing field") => match path {
            "" => format!("`{name}` is required"),
            path => format!("`{path}.{name}` is required"),
        },
        [name] if message.starts_with("duplicate field") => {
            format!("`{}` is there twice; send it once", cut(name))
        }
        [name, known @ ..] if message.starts_with("unknown variant") => {
            format!("{place} is `{}`; use {}", cut(name), listed(known))
        }
        [name, known @ ..] if message.starts_with("unknown field") => {
            format!("`{}` is unknown; use {}", cut(name), listed(known))
        }
        _ => {
            let end = message.floor_char_boundary(OTHER_BYTES);
            format!("{place} cannot be read: {}", &message[..end])
        }
    }
}

/// What was found in place of the expected value, in words that follow "not".
pub(crate) fn found(error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    expectation(without_position(&text)).map(|(_, found)| found)
}

/// What was expected and what was found; `None` for another failure.
fn expectation(message: &str) -> Option<(&str, String)> {
    if let Some(rest) = message.strip_prefix("invalid length ") {
        let (length, expected) = rest.rsplit_once(", expected ")?;
        return Some((type_words(expected), format!("a list of {length}")));
    }
    let rest = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    Some((type_words(expected), found_words(found)))
}

/// The parser's name of a value in the words of the API.
fn found_words(found: &str) -> String {
    let (kind, value) = found.split_once(' ').unwrap_or((found, ""));
    match kind {
        "integer" | "number" => format!("the number {}", value.trim_matches('`')),
        "floating" => {
            let value = value.trim_start_matches("point ").trim_matches('`');
            format!("the number {value}")
        }
        "boolean" => value.to_owned(),
        "string" => format!("the text {}", cut(value)),
        "sequence" => "a list".to_owned(),
        "map" => "an object".to_owned(),
        "null" | "unit" | "Option" => "null".to_owned(),
        _ => cut(found),
    }
}

/// The parser's name of a type in the words of the API.
#[must_use]
pub fn type_words(expected: &str) -> &str {
    match expected {
        "a JSON number" | "f64" | "f32" => "a number",
        "u64" | "u32" | "u16" | "u8" | "usize" => "a whole number of 0 or more",
        "i64" | "i32" | "i16" | "i8" | "isize" => "a whole number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        "a tuple of size 2" => "a list of two values",
        "any valid JSON value" | "any value" => "a value",
        other if other.starts_with("struct ") => "an object",
        other if other.starts_with("tuple ") || other.starts_with("a tuple ") => "a list",
        other if other.starts_with("enum ") => "another value",
        other => other,
    }
}

/// The message without the places that the parser adds, which count in bytes of a part of the body.
fn without_position(message: &str) -> &str {
    let is_position = |text: &str| {
        text.split_once(" column ").is_some_and(|(line, column)| {
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            is_number(line) && is_number(column)
        })
    };
    let mut message = message;
    while let Some((before, position)) = message.rsplit_once(" at line ")
        && is_position(position)
    {
        message = before;
    }
    message
}

/// A text cut to what a refusal repeats of it.
fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Limits {
        #[serde(rename = "n")]
        _n: u64,
        #[serde(rename = "pair", default)]
        _pair: Option<(f64, f64)>,
        #[serde(rename = "way", default)]
        _way: Option<Way>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Way {
        Left,
        Right,
    }

    #[test]
    fn failures_are_told_without_the_words_of_the_parser() {
        for (body, words) in [
            (
                r#"{"n":-3}"#,
                "`x` must be a whole number of 0 or more, not the number -3",
            ),
            (
                r#"{"n":1.5}"#,
                "`x` must be a whole number of 0 or more, not the number 1.5",
            ),
            (
                r#"{"n":null}"#,
                "`x` must be a whole number of 0 or more, not null",
            ),
            (
                r#"{"n":[]}"#,
                "`x` must be a whole number of 0 or more, not a list",
            ),
            (
                r#"{"n":{}}"#,
                "`x` must be a whole number of 0 or more, not an object",
            ),
            (
                r#"{"n":true}"#,
                "`x` must be a whole number of 0 or more, not `true`",
            ),
            (
                r#"{"n":", expected u8 at line 1 column 7"}"#,
                "`x` must be a whole number of 0 or more, not the text \", expected u8 at line 1 column 7\"",
            ),
            (
                r#"{"n":1,"pair":5}"#,
                "`x` must be a list of two values, not the number 5",
            ),
            (
                r#"{"n":1,"pair":[5]}"#,
                "`x` must be a list of two values, not a list of 1",
            ),
            (r#"{"n":1,"way":"up"}"#, "`x` is `up`; use `left`, `right`"),
            (r#"{"pair":null}"#, "`x.n` is required"),
            (r#"{"n":1,"n":2}"#, "`n` is there twice; send it once"),
            (r#"{"n":1,"m":2}"#, "`m` is unknown; use `n`, `pair`, `way`"),
            (
                r#"{"n":1e999}"#,
                "`x` is a number that is too large; use a smaller one",
            ),
            ("{", "the request body is not valid JSON (line 1, column 1)"),
        ] {
            let error = serde_json::from_str::<Limits>(body).unwrap_err();
            assert_eq!(told(&error, "x"), words, "{body}");
        }
        let _ = (Way::Left, Way::Right);
    }

    #[test]
    fn a_failure_that_quotes_a_whole_body_is_cut() {
        let body = format!("{{\"n\":\"{}\"}}", "é".repeat(50_000));
        let error = serde_json::from_str::<Limits>(&body).unwrap_err();
        let told = told(&error, "n");
        assert!(told.len() < 300, "{}", told.len());
        assert!(told.ends_with('…'), "{told}");
    }
}
