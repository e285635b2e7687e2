//! Changes every member of every body as it is written, and compares keys with what was decoded.

use std::collections::BTreeSet;

use bardo_types::chat::ChatRequest;
use bardo_types::model::Dialect;
use bardo_wire::codec::DecodedRequest;
use bardo_wire::table::read_request;
use serde_json::{Map, Value, json};

use crate::fixtures;
use crate::keys::key;

/// A place in a body, with list indices left out so that equal places are named once.
type Place = String;

/// Every body that differs from `value` in one place.
fn each(value: &Value) -> Vec<(Place, Value)> {
    let mut found = Vec::new();
    for other in others(value) {
        found.push((String::new(), other));
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let mut without = members.clone();
                without.shift_remove(name);
                found.push((format!(".{name} removed"), Value::Object(without)));
                for (place, changed) in each(member) {
                    let mut members = members.clone();
                    members.insert(name.clone(), changed);
                    found.push((format!(".{name}{place}"), Value::Object(members)));
                }
            }
            let mut more: Map<String, Value> = members.clone();
            more.insert("zz_unknown".to_owned(), json!("x"));
            found.push((".zz_unknown added".to_owned(), Value::Object(more)));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                for (place, changed) in each(item) {
                    let mut items = items.clone();
                    items[index] = changed;
                    found.push((format!("[]{place}"), Value::Array(items)));
                }
            }
            if let Some((_, shorter)) = items.split_last() {
                found.push(("[] shorter".to_owned(), Value::Array(shorter.to_vec())));
            }
        }
        _ => {}
    }
    found
}

fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => vec![json!(format!("{text}~")), json!("other")],
        Value::Bool(set) => vec![json!(!set)],
        Value::Number(number) => match number.as_u64() {
            Some(number) => vec![json!(number ^ 1)],
            None => vec![json!(number.as_f64().unwrap() + 0.25)],
        },
        _ => Vec::new(),
    }
}

/// The request without what leaves the answer as it is.
fn answering(request: &ChatRequest) -> ChatRequest {
    let mut request = request.clone();
    request.stream = false;
    request.include_usage = false;
    request.cache = bardo_types::chat::CacheHints::default();
    for message in &mut request.messages {
        message.parts.iter_mut().for_each(unmark);
    }
    for tool in &mut request.tools {
        if let bardo_types::chat::Tool::Function { cache, .. } = tool {
            *cache = None;
        }
    }
    request
}

fn unmark(part: &mut bardo_types::chat::Part) {
    use bardo_types::chat::{DocumentSource, Part};
    match part {
        Part::Text(text) => text.cache = None,
        Part::Image(image) => image.cache = None,
        Part::Document(document) => {
            document.cache = None;
            if let DocumentSource::Parts(parts) = &mut document.source {
                parts.iter_mut().for_each(unmark);
            }
        }
        Part::SearchResult(result) => {
            result.cache = None;
            result.content.iter_mut().for_each(|text| text.cache = None);
        }
        Part::ToolCall(call) => call.cache = None,
        Part::ToolResult(result) => {
            result.cache = None;
            result.parts.iter_mut().for_each(unmark);
        }
        Part::Audio(_) | Part::Reasoning(_) | Part::Refusal(_) | Part::Server(_) => {}
    }
}

/// Changes of `body` that the decoder takes and that leave the neutral request as it was.
fn unread(dialect: Dialect, body: &[u8]) -> BTreeSet<Place> {
    let body: Value = serde_json::from_slice(body).unwrap();
    // Written as the changed bodies are: JSON that is kept as text differs by its white space.
    let original = fixtures::decode(dialect, body.to_string().as_bytes()).unwrap();
    let (expected, neutral) = (key(&original), answering(&original));
    let mut unread = BTreeSet::new();
    let mut changes = 0;
    for (place, changed) in each(&body) {
        let body = changed.to_string();
        let Some(changed) = fixtures::decode(dialect, body.as_bytes()) else {
            continue;
        };
        changes += 1;
        let is_same = answering(&changed) == neutral;
        assert_eq!(key(&changed) == expected, is_same, "{place}");
        let says_all = |read: DecodedRequest| !read.holds_unread_members;
        let read = read_request(dialect, body.as_bytes());
        if changed == original && read.is_ok_and(says_all) {
            unread.insert(place);
        }
    }
    assert!(changes > 3);
    unread
}

/// What a relay sends to a provider although neither the neutral request nor
/// [`DecodedRequest::holds_unread_members`] tells of it. A line is a decision that it changes no answer.
#[test]
fn a_key_changes_with_every_member_that_is_decoded() {
    let mut all = BTreeSet::new();
    for (_, dialect, body) in fixtures::requests() {
        let dialect_name = dialect.as_str();
        for place in unread(dialect, &body) {
            all.insert(format!("{dialect_name}: {place}"));
        }
    }
    let lines: Vec<String> = all.into_iter().collect();
    insta::assert_snapshot!("unread_members", lines.join("\n"));
}
