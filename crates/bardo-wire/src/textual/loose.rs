//! Calls as models really write them: JSON, almost JSON, or the notation of Python.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The name and the arguments of a call written as one object.
pub(super) fn read_call(object: &str) -> Option<(String, String)> {
    let json = as_json(object)?;
    read_strict(&json)
}

/// The text if it is JSON, else what it means in JSON.
pub(super) fn as_json(text: &str) -> Option<Cow<'_, str>> {
    if serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return Some(Cow::Borrowed(text));
    }
    let json = from_python(text)?;
    serde_json::from_str::<IgnoredAny>(&json)
        .is_ok()
        .then_some(Cow::Owned(json))
}

fn read_strict(json: &str) -> Option<(String, String)> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    if let Some(function) = members.get("function")
        && function.get().starts_with('{')
    {
        return read_strict(function.get());
    }
    let name = members.get("name").or_else(|| members.get("function"))?;
    let name: String = serde_json::from_str(name.get()).ok()?;
    if name.is_empty() {
        return None;
    }
    let arguments = members
        .get("arguments")
        .or_else(|| members.get("parameters"));
    let arguments = arguments.map_or("null", |raw| raw.get());
    Some((name, read_arguments(arguments)))
}

/// Arguments may be an object, or a string that holds one.
fn read_arguments(raw: &str) -> String {
    if raw == "null" {
        return "{}".to_owned();
    }
    match serde_json::from_str::<String>(raw) {
        Ok(text) if text.trim().is_empty() => "{}".to_owned(),
        Ok(text) if text.trim_start().starts_with('{') => match as_json(&text) {
            Some(Cow::Owned(json)) => json,
            _ => text,
        },
        Ok(text) => text,
        Err(_) => raw.to_owned(),
    }
}

/// Rewrites Python's quotes, constants and trailing commas, and line breaks within strings.
/// Answers `None` when it meets anything else that JSON lacks.
fn from_python(text: &str) -> Option<String> {
    let mut json = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let content = python_string(&mut chars, c)?;
                json.push_str(&serde_json::to_string(&content).ok()?);
            }
            '}' | ']' => {
                let end = json.trim_end().len();
                if json[..end].ends_with(',') {
                    json.truncate(end - 1);
                }
                json.push(c);
            }
            c if c.is_ascii_alphabetic() => {
                let mut word = String::from(c);
                while let Some(&next) = chars.peek()
                    && (next.is_ascii_alphanumeric() || next == '_')
                {
                    word.push(next);
                    chars.next();
                }
                json.push_str(match word.as_str() {
                    "True" | "true" => "true",
                    "False" | "false" => "false",
                    "None" | "null" => "null",
                    _ => return None,
                });
            }
            // The exponent of a number is no word.
            c if c.is_ascii_digit() => {
                json.push(c);
                while let Some(&next) = chars.peek()
                    && (next.is_ascii_digit() || matches!(next, '.' | 'e' | 'E' | '+' | '-'))
                {
                    json.push(next);
                    chars.next();
                }
            }
            c => json.push(c),
        }
    }
    Some(json)
}

fn python_string(chars: &mut Peekable<Chars<'_>>, quote: char) -> Option<String> {
    let mut content = String::new();
    loop {
        match chars.next()? {
            c if c == quote => return Some(content),
            '\\' => match chars.next()? {
                'n' => content.push('\n'),
                't' => content.push('\t'),
                'r' => content.push('\r'),
                'b' => content.push('\u{8}'),
                'f' => content.push('\u{c}'),
                'x' => content.push(char::from_u32(hex(chars, 2)?)?),
                'u' => content.push(utf16(chars)?),
                '\n' => {}
                c @ ('\\' | '\'' | '"' | '/') => content.push(c),
                other => {
                    content.push('\\');
                    content.push(other);
                }
            },
            c => content.push(c),
        }
    }
}

fn hex(chars: &mut Peekable<Chars<'_>>, digits: usize) -> Option<u32> {
    let mut value = 0;
    for _ in 0..digits {
        value = value * 16 + chars.next()?.to_digit(16)?;
    }
    Some(value)
}

/// One character after `\u`, which may be two escapes.
fn utf16(chars: &mut Peekable<Chars<'_>>) -> Option<char> {
    let first = u16::try_from(hex(chars, 4)?).ok()?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(u32::from(first));
    }
    if chars.next()? != '\\' || chars.next()? != 'u' {
        return None;
    }
    let second = u16::try_from(hex(chars, 4)?).ok()?;
    char::decode_utf16([first, second]).next()?.ok()
}

/// What can be known of a call that was cut off: its name and the beginning of its arguments,
/// which never parses.
pub(super) fn read_cut_call(text: &str) -> Option<(String, String)> {
    let after_key = |key: &str| {
        let place = text
            .find(&format!("\"{key}\""))
            .or_else(|| text.find(&format!("'{key}'")))?;
        let rest = text[place + key.len() + 2..].trim_start();
        rest.strip_prefix(':').map(str::trim_start)
    };
    let name = after_key("name")?;
    let mut chars = name.chars().peekable();
    let quote = chars.next().filter(|c| matches!(c, '"' | '\''))?;
    let name = python_string(&mut chars, quote).filter(|name| !name.is_empty())?;
    let begun = after_key("arguments")
        .filter(|rest| rest.starts_with('{') && serde_json::from_str::<IgnoredAny>(rest).is_err())
        .unwrap_or("{");
    Some((name, begun.to_owned()))
}
