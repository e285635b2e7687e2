//! JSON bodies of operators, refused in words of the API instead of those of the parser.

use bardo_wire::json::type_words;
use serde::Deserialize;

/// Reads a JSON body.
///
/// # Errors
/// The mistake in words: the member and the value that it takes, or the place where the text is not
/// JSON.
pub(crate) fn read<'b, T: Deserialize<'b>>(body: &'b [u8]) -> Result<T, String> {
    // Lists would fill the members of an object by their order.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err("the body must be a JSON object, not a list".to_owned());
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        told(&path, &error.into_inner())
    })?;
    reader.end().map_err(|error| told(".", &error))?;
    Ok(value)
}

/// A failure to read JSON, at the member of a path; `.` is the body itself.
pub(crate) fn told(path: &str, error: &serde_json::Error) -> String {
    if !error.is_data() {
        let (line, column) = (error.line(), error.column());
        return format!("the text is not valid JSON (line {line}, column {column})");
    }
    let message = error.to_string();
    let message = message
        .rfind(" at line ")
        .map_or(&*message, |end| &message[..end]);
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let listed = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let below = |name: &str| match path.strip_suffix(name).unwrap_or(path) {
        "" | "." | "?" => name.to_owned(),
        before => format!("{}.{name}", before.trim_end_matches('.')),
    };
    match quoted.as_slice() {
        [name] if message.starts_with("missing field") => {
            return format!("`{}` is required", below(name));
        }
        [name] if message.starts_with("duplicate field") => {
            return format!("`{}` is there twice", below(name));
        }
        [name, known @ ..] if message.starts_with("unknown field") => {
            return format!("`{}` is unknown; use {}", below(name), listed(known));
        }
        [name, known @ ..] if message.starts_with("unknown variant") => {
            return format!("`{path}` is `{name}`; use one of {}", listed(known));
        }
        _ => {}
    }
    let place = match path {
        "" | "." | "?" => "the body".to_owned(),
        path => format!("`{path}`"),
    };
    let expected = ["invalid type: ", "invalid value: ", "invalid length "]
        .iter()
        .find_map(|begin| message.strip_prefix(begin))
        .and_then(|rest| rest.rsplit_once(", expected "));
    match expected {
        Some((_, expected)) => format!("{place} must be {}", type_words(expected)),
        None => format!("{place}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Order {
        #[serde(default, rename = "tokens")]
        _tokens: Vec<String>,
        #[serde(rename = "usd")]
        _usd: u32,
        #[serde(default, rename = "inner")]
        _inner: Option<Box<Order>>,
    }

    #[test]
    fn mistakes_are_told_by_member_and_without_the_words_of_the_parser() {
        for (body, words) in [
            (r#"{"usd":1,"tokens":"ETH"}"#, "`tokens` must be a list"),
            (r#"{"usd":-1}"#, "`usd` must be a whole number of 0 or more"),
            (
                r#"{"usd":"1"}"#,
                "`usd` must be a whole number of 0 or more",
            ),
            (r#"{"tokens":[]}"#, "`usd` is required"),
            (r#"{"usd":1,"inner":{}}"#, "`inner.usd` is required"),
            (
                r#"{"usd":1,"toks":[]}"#,
                "`toks` is unknown; use `tokens`, `usd`, `inner`",
            ),
            (r#"{"usd":1,"usd":2}"#, "`usd` is there twice"),
            (r#"{"usd":1,"inner":3}"#, "`inner` must be an object"),
            ("hello", "the text is not valid JSON (line 1, column 1)"),
            (
                "{\"usd\":1} x",
                "the text is not valid JSON (line 1, column 11)",
            ),
            ("[]", "the body must be a JSON object, not a list"),
        ] {
            let told = read::<Order>(body.as_bytes()).unwrap_err();
            assert!(told.starts_with(words), "{body}: {told}");
            for word in ["invalid type", "sequence", "u32", "struct", "expected"] {
                assert!(!told.contains(word), "{body}: {told}");
            }
        }
    }
}
