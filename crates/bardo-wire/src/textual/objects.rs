//! Calls as bare JSON: the whole answer, or a code fence that says it is JSON.

use std::sync::Arc;

use bardo_types::chat::ChatRequest;
use serde_json::value::RawValue;

use super::Ending;
use super::calls::CallPiece;
use super::words::Words;
use crate::json::{Str, wire_object};

/// Members that a call can begin with; anything else is an answer in JSON.
const FIRST_KEYS: [&str; 7] = [
    "name",
    "arguments",
    "parameters",
    "tool_calls",
    "function",
    "type",
    "id",
];

/// Parts calls from words, wherever the text is cut.
///
/// Nothing marks these calls, so only what can be nothing else is one: complete JSON with the
/// members of calls alone, of tools that the caller declared. All else stays words.
#[derive(Debug)]
pub(super) struct ObjectSplitter {
    request: Arc<ChatRequest>,
    state: ObjectsState,
    /// Text that is not decided yet.
    held: String,
    /// How much of it has been searched for the end of a line.
    searched: usize,
    words: Words,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObjectsState {
    /// Before the first words.
    Start,
    /// All of the answer may be one call.
    Whole,
    /// At the beginning of a line.
    Line,
    /// Within a line of words.
    Words,
    /// Within a fence of JSON.
    Fence {
        /// Where its content begins in the held text.
        head: usize,
        /// Where its present line does.
        line: usize,
    },
    /// Within another fence, of such a mark and length.
    Other(u8, usize),
}

impl ObjectSplitter {
    pub(super) fn new(request: Arc<ChatRequest>) -> Self {
        Self {
            request,
            state: ObjectsState::Start,
            held: String::new(),
            searched: 0,
            words: Words::default(),
        }
    }

    pub(super) fn push(&mut self, text: &str, out: &mut Vec<CallPiece>) {
        self.held.push_str(text);
        while self.step(out) {}
    }

    pub(super) fn finish(&mut self, ending: Ending, out: &mut Vec<CallPiece>) {
        if self.state == ObjectsState::Whole {
            let calls = (ending == Ending::Complete).then(|| self.calls(self.held.trim()));
            match calls.flatten() {
                Some(calls) => {
                    self.held.clear();
                    self.call(calls, out);
                    return;
                }
                None => {
                    self.state = ObjectsState::Line;
                    while self.step(out) {}
                }
            }
        }
        if let ObjectsState::Fence { head, .. } = self.state
            && ending == Ending::Complete
        {
            let inner = self.held[head..].trim_end();
            // The last line may be the fence's end, without a line break.
            let inner = inner.strip_suffix("```").unwrap_or(inner);
            if let Some(calls) = self.calls(inner.trim()) {
                self.held.clear();
                self.call(calls, out);
                return;
            }
        }
        let rest = std::mem::take(&mut self.held);
        self.words.say(&rest, out);
        self.words.end(out);
        self.state = ObjectsState::Words;
    }

    /// One decision; false when more text is needed.
    fn step(&mut self, out: &mut Vec<CallPiece>) -> bool {
        match self.state {
            ObjectsState::Start => self.start(),
            ObjectsState::Whole => false,
            ObjectsState::Line => self.line(out),
            ObjectsState::Words => self.words(out),
            ObjectsState::Fence { head, line } => self.fence(head, line, out),
            ObjectsState::Other(mark, length) => self.other(mark, length, out),
        }
    }

    fn start(&mut self) -> bool {
        let text = self.held.trim_start();
        let Some(first) = text.bytes().next() else {
            return false;
        };
        let object = match first {
            b'{' => Some(&text[1..]),
            b'[' => {
                let inner = text[1..].trim_start();
                if inner.is_empty() {
                    return false;
                }
                inner.strip_prefix('{')
            }
            _ => None,
        };
        let Some(object) = object else {
            self.state = ObjectsState::Line;
            return true;
        };
        match first_key(object) {
            FirstKey::More => false,
            FirstKey::OfCall => {
                self.state = ObjectsState::Whole;
                false
            }
            FirstKey::Other => {
                self.state = ObjectsState::Line;
                true
            }
        }
    }

    /// Decides whether a line begins a fence.
    fn line(&mut self, out: &mut Vec<CallPiece>) -> bool {
        let bytes = self.held.as_bytes();
        let indent = bytes.iter().take(3).take_while(|&&b| b == b' ').count();
        let Some(&mark) = bytes.get(indent) else {
            return false;
        };
        if !matches!(mark, b'`' | b'~') {
            self.state = ObjectsState::Words;
            return true;
        }
        let run = bytes[indent..].iter().take_while(|&&b| b == mark).count();
        if indent + run == bytes.len() {
            return false;
        }
        if run < 3 {
            self.state = ObjectsState::Words;
            return true;
        }
        let Some(end) = self.find_line_end() else {
            return false;
        };
        let info = self.held[indent + run..end].trim();
        let is_json = mark == b'`' && run == 3 && info.eq_ignore_ascii_case("json");
        if is_json {
            let head = end + 1;
            self.state = ObjectsState::Fence { head, line: head };
            self.searched = head;
            return true;
        }
        self.state = ObjectsState::Other(mark, run);
        self.say_up_to(end + 1, out);
        true
    }

    /// Where the line that is held ends.
    fn find_line_end(&mut self) -> Option<usize> {
        let found = memchr::memchr(b'\n', &self.held.as_bytes()[self.searched..]);
        match found {
            Some(at) => Some(self.searched + at),
            None => {
                self.searched = self.held.len();
                None
            }
        }
    }

    fn words(&mut self, out: &mut Vec<CallPiece>) -> bool {
        if self.held.is_empty() {
            return false;
        }
        let (end, next) = match memchr::memchr(b'\n', self.held.as_bytes()) {
            Some(at) => (at + 1, ObjectsState::Line),
            None => (self.held.len(), ObjectsState::Words),
        };
        self.state = next;
        self.say_up_to(end, out);
        true
    }

    fn fence(&mut self, head: usize, from: usize, out: &mut Vec<CallPiece>) -> bool {
        let Some(end) = self.find_line_end() else {
            return false;
        };
        self.searched = end + 1;
        if self.held[from..end].trim() != "```" {
            self.state = ObjectsState::Fence {
                head,
                line: end + 1,
            };
            return true;
        }
        self.state = ObjectsState::Line;
        match self.calls(self.held[head..from].trim()) {
            Some(calls) => {
                self.held.drain(..=end);
                self.searched = 0;
                self.call(calls, out);
            }
            None => self.say_up_to(end + 1, out),
        }
        true
    }

    fn other(&mut self, mark: u8, length: usize, out: &mut Vec<CallPiece>) -> bool {
        let Some(end) = self.find_line_end() else {
            return false;
        };
        let line = self.held[..end].trim();
        if line.len() >= length && line.bytes().all(|byte| byte == mark) {
            self.state = ObjectsState::Line;
        }
        self.say_up_to(end + 1, out);
        true
    }

    fn say_up_to(&mut self, end: usize, out: &mut Vec<CallPiece>) {
        let words: String = self.held.drain(..end).collect();
        self.searched = 0;
        self.words.say(&words, out);
    }

    fn call(&mut self, calls: Vec<(String, String)>, out: &mut Vec<CallPiece>) {
        for (name, arguments) in calls {
            self.words.call(name, arguments, true, out);
        }
    }

    /// The calls that a JSON text is; all of it, or it is none.
    fn calls(&self, json: &str) -> Option<Vec<(String, String)>> {
        let list: Vec<&RawValue> = if json.starts_with('[') {
            serde_json::from_str(json).ok()?
        } else {
            let object: CallObject<'_> = serde_json::from_str(json).ok()?;
            match object.tool_calls {
                Some(_) if object.has_more_than_calls() => return None,
                Some(list) => list,
                None => return self.one(&object).map(|call| vec![call]),
            }
        };
        let read = |raw: &&RawValue| self.one(&serde_json::from_str(raw.get()).ok()?);
        let calls: Option<Vec<_>> = list.iter().map(read).collect();
        calls.filter(|calls| !calls.is_empty())
    }

    fn one(&self, object: &CallObject<'_>) -> Option<(String, String)> {
        if !object.extra.is_empty() || object.tool_calls.is_some() {
            return None;
        }
        if let Some(function) = object.function {
            let inner: CallObject<'_> = serde_json::from_str(function.get()).ok()?;
            let is_plain = inner.function.is_none() && object.name.is_none();
            return if is_plain { self.one(&inner) } else { None };
        }
        let name = object.name.as_deref()?;
        let is_declared = self
            .request
            .tools
            .iter()
            .any(|tool| tool.name() == Some(name));
        let arguments = match (object.arguments, object.parameters) {
            (Some(arguments), None) | (None, Some(arguments)) => arguments_of(arguments)?,
            _ => return None,
        };
        is_declared.then(|| (name.to_owned(), arguments))
    }
}

wire_object! {
    struct CallObject<'a> {
        "name" => name: Option<Str<'a>>,
        "arguments" => arguments: Option<&'a RawValue>,
        "parameters" => parameters: Option<&'a RawValue>,
        "tool_calls" => tool_calls: Option<Vec<&'a RawValue>>,
        "function" => function: Option<&'a RawValue>,
        "type" => kind: Option<Str<'a>>,
        "id" => id: Option<Str<'a>>,
    }
}

impl CallObject<'_> {
    fn has_more_than_calls(&self) -> bool {
        !self.extra.is_empty()
            || self.name.is_some()
            || self.arguments.is_some()
            || self.parameters.is_some()
            || self.function.is_some()
    }
}

/// An object, or a string that holds one.
fn arguments_of(raw: &RawValue) -> Option<String> {
    let text = raw.get();
    if text.starts_with('{') {
        return Some(text.to_owned());
    }
    let inner: String = serde_json::from_str(text).ok()?;
    let is_object = inner.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(&inner).is_ok();
    is_object.then_some(inner)
}

enum FirstKey {
    More,
    OfCall,
    Other,
}

/// Looks at the first key of an object, from behind its brace.
fn first_key(object: &str) -> FirstKey {
    let text = object.trim_start();
    if text.is_empty() {
        return FirstKey::More;
    }
    let Some(key) = text.strip_prefix('"') else {
        return FirstKey::Other;
    };
    match key.split_once('"') {
        Some((key, _)) if FIRST_KEYS.contains(&key) => FirstKey::OfCall,
        Some(_) => FirstKey::Other,
        None if FIRST_KEYS.iter().any(|known| known.starts_with(key)) => FirstKey::More,
        None => FirstKey::Other,
    }
}

/// The calls of one message, as the model would write them with or without words before.
pub(super) fn write_calls(calls: &[(String, String)], after_words: bool) -> String {
    let entries: Vec<String> = calls
        .iter()
        .map(|(name, arguments)| {
            let name = serde_json::Value::from(name.as_str());
            format!("{{\"name\": {name}, \"arguments\": {arguments}}}")
        })
        .collect();
    let json = format!("{{\"tool_calls\": [{}]}}", entries.join(", "));
    if after_words {
        format!("```json\n{json}\n```")
    } else {
        json
    }
}
