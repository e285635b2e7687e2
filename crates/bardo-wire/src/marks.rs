//! Prompt-cache marks in a body that nobody decodes: how long they keep a prompt, and their scope.
//!
//! A mark's `scope` says with whom a cache is shared. Only Anthropic itself knows it: what stands
//! between a caller and Claude elsewhere refuses the request for it.

use std::sync::LazyLock;

use bardo_types::chat::CacheTtl;
use bardo_types::json::RawJson;
use memchr::memmem::Finder;
use serde_json::{Map, Value};

use crate::json::TopLevel;
use crate::splice::Edit;

/// The members that marks are in.
const MARKED: [&str; 4] = ["cache_control", "system", "messages", "tools"];
const KEY: &str = "cache_control";

static SCOPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"scope\""));
/// Each member that a mark is in, as it is written.
static KEYS: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| ["\"cache_control\"", "\"prompt_cache_breakpoint\""].map(Finder::new));
/// The beginning of a letter of ASCII as an escape: a key may be written with it.
static ESCAPED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r"\u00"));

/// What the bytes of a body tell of its marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenMarks {
    /// There are none.
    None,
    /// The longest lifetime of all. What has the form of a mark counts wherever it is, e.g. in the
    /// arguments of a tool.
    Longest(CacheTtl),
    /// The bytes do not tell; the decoded body does.
    Unknown,
}

/// The marks of a body, without decoding it.
#[must_use]
pub fn written(body: &[u8]) -> WrittenMarks {
    if ESCAPED.find(body).is_some() {
        return WrittenMarks::Unknown;
    }
    let mut longest = None;
    for key in KEYS.iter() {
        for found in key.find_iter(body) {
            let after = body[found + key.needle().len()..].trim_ascii_start();
            // No key: a text with the same words.
            let Some(value) = after.strip_prefix(b":") else {
                continue;
            };
            let value = value.trim_ascii_start();
            if value.starts_with(b"null") {
                continue;
            }
            let mark = object_length(value).map(|length| &value[..length]);
            let Some(mark) =
                mark.and_then(|mark| RawJson::parse(std::str::from_utf8(mark).ok()?).ok())
            else {
                return WrittenMarks::Unknown;
            };
            longest = longest.max(Some(CacheTtl::of_mark(&mark)));
        }
    }
    longest.map_or(WrittenMarks::None, WrittenMarks::Longest)
}

/// The edits that take the scope out of every mark; none where no mark has one.
#[must_use]
pub fn without_scope(top: &TopLevel<'_>) -> Vec<Edit> {
    MARKED
        .iter()
        .filter_map(|&key| {
            SCOPE.find(top.raw(key)?)?;
            let json = top.get(key)?;
            let edited = if key == KEY {
                plain(json)?
            } else {
                each_plain(json)?
            };
            Some(Edit::set(key, edited))
        })
        .collect()
}

/// A mark without its scope; `None` where it has none, or is no mark.
fn plain(mark: &str) -> Option<String> {
    SCOPE.find(mark.as_bytes())?;
    let mut members: Map<String, Value> = serde_json::from_str(mark).ok()?;
    if members.get("type").and_then(Value::as_str) != Some("ephemeral") {
        return None;
    }
    members.shift_remove("scope")?;
    Some(Value::Object(members).to_string())
}

/// JSON with every mark in it plain; `None` where all are. Everything else stays as it is written.
fn each_plain(json: &str) -> Option<String> {
    let bytes = json.as_bytes();
    let mut edited = String::new();
    let (mut at, mut kept) = (0, 0);
    while let Some(quote) = memchr::memchr(b'"', &bytes[at..]) {
        let start = at + quote + 1;
        let end = string_end(bytes, start)?;
        at = end + 1;
        if &json[start..end] != KEY {
            continue;
        }
        let rest = json[at..].trim_start();
        let Some(value) = rest.strip_prefix(':').map(str::trim_start) else {
            continue;
        };
        let Some(length) = object_length(value.as_bytes()) else {
            continue;
        };
        let from = json.len() - value.len();
        at = from + length;
        if let Some(mark) = plain(&value[..length]) {
            edited.push_str(&json[kept..from]);
            edited.push_str(&mark);
            kept = at;
        }
    }
    if kept == 0 {
        return None;
    }
    edited.push_str(&json[kept..]);
    Some(edited)
}

/// Where the string that begins at `from` ends.
fn string_end(bytes: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let found = from + memchr::memchr2(b'"', b'\\', bytes.get(from..)?)?;
        if bytes[found] == b'"' {
            return Some(found);
        }
        from = found + 2;
    }
}

/// The length of the object at the beginning; `None` where there is none without objects in it.
fn object_length(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&b'{') {
        return None;
    }
    let mut at = 1;
    loop {
        match *bytes.get(at)? {
            b'"' => at = string_end(bytes, at + 1)? + 1,
            b'}' => return Some(at + 1),
            b'{' => return None,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan;
    use crate::splice::splice;

    fn edited(body: &str) -> String {
        let top = scan(body.as_bytes()).unwrap();
        let edits = without_scope(&top);
        String::from_utf8(splice(&top, &edits)).unwrap()
    }

    #[test]
    fn the_longest_mark_is_found_without_decoding() {
        let (short, hour) = (CacheTtl::FiveMinutes, CacheTtl::OneHour);
        for (body, marks) in [
            (r#"{"system":"about cache_control"}"#, WrittenMarks::None),
            (
                r#"{"system":"\"cache_control\":{\"ttl\":\"1h\"}"}"#,
                WrittenMarks::None,
            ),
            (
                r#"{"tools":["cache_control",{"cache_control":null}]}"#,
                WrittenMarks::None,
            ),
            (
                r#"{"cache_control" : {"type":"ephemeral"},"metadata":{"ttl":"1h"}}"#,
                WrittenMarks::Longest(short),
            ),
            (
                r#"{"tools":[{"cache_control":{"type":"ephemeral"}}],"system":[{"cache_control":{"type":"ephemeral","ttl":"1h"}}],
                "messages":[{"content":[{"cache_control":{"type":"ephemeral","ttl":"5m"}}]}]}"#,
                WrittenMarks::Longest(hour),
            ),
            (
                r#"{"messages":[{"content":[{"prompt_cache_breakpoint":{"mode":"explicit"}}]}]}"#,
                WrittenMarks::Longest(short),
            ),
            // A key may be written like this, and a member of a schema have this name.
            (
                r#"{"\u0063ache_control":{"type":"ephemeral","ttl":"1h"}}"#,
                WrittenMarks::Unknown,
            ),
            (
                r#"{"tools":[{"properties":{"cache_control":{"properties":{}}}}]}"#,
                WrittenMarks::Unknown,
            ),
            (r#"{"cache_control":"#, WrittenMarks::Unknown),
        ] {
            assert_eq!(written(body.as_bytes()), marks, "{body}");
        }
    }

    #[test]
    fn the_scope_goes_and_no_other_byte() {
        let mark = r#"{"type":"ephemeral","scope":"global","ttl":"1h"}"#;
        let plain = r#"{"type":"ephemeral","ttl":"1h"}"#;
        let body = |mark: &str| {
            format!(
                r#"{{ "model":"m", "cache_control": {mark}, "system": [ {{"text":"a \"cache_control\":{{","cache_control" : {mark} }} ],
                "messages":[{{"content":[{{"type":"text","n":1.0,"cache_control":{mark}}}]}}], "tools":[{{"name":"f","cache_control":{mark}}}] }}"#
            )
        };
        assert_eq!(edited(&body(mark)), body(plain));
    }

    #[test]
    fn what_only_looks_like_a_mark_stays() {
        for body in [
            r#"{"system":"\"cache_control\":{\"type\":\"ephemeral\",\"scope\":1}"}"#,
            r#"{"tools":[{"input_schema":{"properties":{"cache_control":{"type":"string","scope":"x"}}}}]}"#,
            r#"{"tools":[{"input_schema":{"properties":{"cache_control":{"properties":{"scope":{}}}}}}]}"#,
            r#"{"messages":[{"content":[{"cache_control":{"type":"ephemeral","ttl":"5m"}}],"scope":1}]}"#,
            r#"{"messages":[{"cache_control":null,"scope":"cache_control"}]}"#,
        ] {
            assert_eq!(edited(body), body);
        }
    }
}
