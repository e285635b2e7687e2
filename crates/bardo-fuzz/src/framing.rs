//! Targets for what works on bytes: event framing, the JSON scanner, splicing, envelopes.

use std::collections::HashSet;

use bardo_wire::json::{JsonError, scan};
use bardo_wire::splice::{Edit, splice as spliced};
use bardo_wire::sse::{SseEvent, SseParser};
use bardo_wire::{envelope as sealed, json::TopLevel};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::Knobs;

type Event = (String, Vec<u8>);

fn owned(event: SseEvent<'_>) -> Event {
    (event.name.to_owned(), event.data.to_vec())
}

/// Any cut of a stream gives the events that a plain reading of all its lines gives, and a parser
/// with a limit never holds more than that.
pub fn sse(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    let expected = read_lines(payload);
    let pieces = knobs.cuts().bytes(payload);
    for pieces in [&pieces[..], &[payload]] {
        let mut parser = SseParser::new(usize::MAX);
        let mut events = Vec::new();
        for piece in pieces {
            parser
                .push(piece, |event| events.push(owned(event)))
                .expect("nothing outgrows the largest limit");
        }
        parser.finish(|event| events.push(owned(event)));
        assert_eq!(events, expected, "{} pieces", pieces.len());
    }
    limited(usize::from(knobs.0[0]), &pieces);
}

fn limited(limit: usize, pieces: &[&[u8]]) {
    let mut parser = SseParser::new(limit);
    for piece in pieces {
        let room = limit + piece.len();
        let taken = parser.push(piece, |event| assert!(event.data.len() <= room));
        if taken.is_err() {
            return;
        }
    }
    parser.finish(|event| assert!(event.data.len() <= limit));
}

/// The events of a whole stream, line by line, as the standard tells; at the end as
/// [`SseParser::finish`] promises.
fn read_lines(bytes: &[u8]) -> Vec<Event> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut events = Vec::new();
    let mut open = Lines::default();
    let mut rest = bytes;
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        let line = &rest[..end];
        let length = if rest[end..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        rest = &rest[end + length..];
        if line.is_empty() {
            events.extend(std::mem::take(&mut open).event());
        } else {
            open.take(line);
        }
    }
    if !rest.is_empty() {
        let value = rest.strip_prefix(b"data:").unwrap_or_default().trim_ascii();
        if value == b"[DONE]" || serde_json::from_slice::<IgnoredAny>(value).is_ok() {
            open.take(rest);
        } else {
            open = Lines::default();
        }
    }
    events.extend(open.event());
    events
}

#[derive(Default)]
struct Lines {
    name: String,
    data: Option<Vec<u8>>,
}

impl Lines {
    fn take(&mut self, line: &[u8]) {
        let colon = line.iter().position(|&byte| byte == b':');
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            _ => {}
        }
    }

    fn event(self) -> Option<Event> {
        Some((self.name, self.data?))
    }
}

/// The scanner takes exactly what serde takes, and finds the members that serde finds.
pub fn json_scan(data: &[u8]) {
    let Some((_, payload)) = Knobs::part(data) else {
        return;
    };
    let ours = scan(payload);
    let serde = serde_json::from_slice::<Map<String, Value>>(payload);
    match (&ours, &serde) {
        (Ok(top), Ok(map)) => same_members(top, map),
        (Err(JsonError::Duplicate { .. }), Ok(_)) => {}
        // Serde checks the range of numbers as well, before it looks at the rest.
        (_, Err(error)) if error.to_string().contains("number out of range") => {}
        (ours, serde) => assert_eq!(
            ours.is_ok(),
            serde.is_ok(),
            "{ours:?} / {:?}",
            serde.as_ref().err()
        ),
    }
    if let Err(
        JsonError::Syntax { at }
        | JsonError::Utf8 { at }
        | JsonError::TooDeep { at }
        | JsonError::Duplicate { at },
    ) = ours
    {
        assert!(at <= payload.len());
    }
}

fn same_members(top: &TopLevel<'_>, map: &Map<String, Value>) {
    let mut seen = HashSet::new();
    for member in top.members() {
        let key: String = serde_json::from_slice(&top.bytes()[member.key.clone()])
            .expect("a key is a JSON string");
        let value: Value =
            serde_json::from_slice(&top.bytes()[member.value.clone()]).expect("a value is JSON");
        assert_eq!(map.get(&key), Some(&value), "{key:?}");
        assert_eq!(top.member(&key), Some(member), "{key:?}");
        assert_eq!(top.string(&key).as_deref(), value.as_str());
        assert!(
            seen.insert(key),
            "two readers could disagree about a member"
        );
    }
    assert_eq!(seen.len(), map.len());
}

/// A spliced body is the body with its edits, and nothing else changed.
pub fn splice(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    let Ok(top) = scan(payload) else { return };
    let Ok(mut expected) = serde_json::from_slice::<Map<String, Value>>(payload) else {
        return;
    };
    let edits = edits(knobs);
    let body = spliced(&top, &edits);
    for edit in &edits {
        match edit {
            Edit::Set { key, value } => {
                let value = serde_json::from_str(value).expect("edits hold JSON");
                expected.insert((*key).to_owned(), value);
            }
            Edit::Remove { key } => {
                expected.shift_remove(*key);
            }
            Edit::Rename { key, to } => {
                if let Some(value) = expected.shift_remove(*key) {
                    expected.insert((*to).to_owned(), value);
                }
            }
        }
    }
    let again = scan(&body).expect("a spliced body is still a body");
    let found: Map<String, Value> =
        serde_json::from_slice(again.bytes()).expect("what the scanner takes serde takes");
    assert_eq!(found, expected);
    if edits.is_empty() {
        assert_eq!(body, payload);
    }
}

fn edits(knobs: Knobs) -> Vec<Edit> {
    const KEYS: [&str; 6] = ["model", "stream", "messages", "a", "max_tokens", "metadata"];
    const VALUES: [&str; 4] = ["true", "\"x\"", "{\"include_usage\":true}", "1.0"];
    let mut edits = Vec::new();
    for (place, key) in (0..).zip(KEYS) {
        if !knobs.bit(0, place) {
            continue;
        }
        edits.push(if knobs.bit(1, place) {
            Edit::Remove { key }
        } else {
            Edit::set(key, knobs.pick(2, &VALUES))
        });
    }
    edits
}

/// Opening never panics, and what opens is sealed to something that opens to the same.
pub fn envelope(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    let text = String::from_utf8_lossy(payload);
    let prefixed = format!("{}{text}", sealed::PREFIX);
    for text in [&*text, &prefixed] {
        if let Some(opened) = sealed::open(text) {
            assert!(sealed::is_envelope(text));
            let again = sealed::seal(&opened.opaque, opened.text.as_deref());
            assert_eq!(sealed::open(&again), Some(opened));
        }
    }
    let opaque = bardo_types::chat::Opaque::GeminiSignature(text.clone().into_owned());
    let thought = knobs.bit(0, 0).then_some(&*text);
    let opened = sealed::open(&sealed::seal(&opaque, thought)).expect("our own envelopes open");
    assert_eq!(opened.opaque, opaque);
    assert_eq!(opened.text.as_deref(), thought);
}
