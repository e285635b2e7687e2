use std::sync::Arc;

use bardo_types::chat::ChatRequest;
use bardo_types::model::ToolFormat;

use super::Ending;
use super::fences::{Fences, Tag, tag_at};
use super::loose;
use super::notation::Notation;
use super::words::Words;
use super::xml::Declared;

pub(super) const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";

/// A piece of an answer with calls in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallPiece {
    /// Text between calls.
    Words(String),
    /// A call of a tool.
    Call {
        /// Name of the tool.
        name: String,
        /// Its arguments as JSON text; text that does not parse when the call was cut off.
        arguments: String,
        /// The call was written to its end.
        complete: bool,
    },
}

/// Parts calls that stand between tags from words.
///
/// Both notations between `<tool_call>` tags are understood whichever the model is meant to use. A
/// call in a code fence is words.
#[derive(Debug)]
pub(super) struct TagSplitter {
    request: Arc<ChatRequest>,
    notation: &'static Notation,
    state: CallsState,
    /// Text that is not decided yet; within a call, all of it.
    held: String,
    words: Words,
    fences: Fences,
}

#[derive(Debug)]
enum CallsState {
    Words,
    /// After an opening tag of so many bytes; what follows decides.
    Opened(usize),
    Json(Scan),
    Xml {
        /// Where the function begins in the held text.
        from: usize,
        searched: usize,
        /// The closing tag of the value that the search is in.
        within: Option<&'static str>,
    },
    /// After a call, before what may close it.
    Closing,
}

/// How far an object has been read.
#[derive(Debug)]
struct Scan {
    from: usize,
    at: usize,
    quote: Option<u8>,
    escaped: bool,
    open: Vec<u8>,
}

impl TagSplitter {
    pub(super) fn new(request: Arc<ChatRequest>, format: ToolFormat) -> Self {
        Self {
            request,
            notation: Notation::of(format),
            state: CallsState::Words,
            held: String::new(),
            words: Words::default(),
            fences: Fences::default(),
        }
    }

    pub(super) fn push(&mut self, text: &str, out: &mut Vec<CallPiece>) {
        self.held.push_str(text);
        while self.step(out) {}
    }

    pub(super) fn finish(&mut self, ending: Ending, out: &mut Vec<CallPiece>) {
        match std::mem::replace(&mut self.state, CallsState::Words) {
            CallsState::Words | CallsState::Opened(_) => {
                let rest = std::mem::take(&mut self.held);
                self.words.say(&rest, out);
            }
            CallsState::Closing => self.held.clear(),
            CallsState::Json(scan) => self.finish_json(&scan, ending, out),
            CallsState::Xml { from, .. } => self.finish_xml(from, ending, out),
        }
        self.words.end(out);
    }

    /// One decision; false when more text is needed.
    fn step(&mut self, out: &mut Vec<CallPiece>) -> bool {
        match &self.state {
            CallsState::Words => self.words(out),
            CallsState::Opened(tag) => {
                let tag = *tag;
                self.opened(tag, out)
            }
            CallsState::Json(_) => self.json(out),
            CallsState::Xml { .. } => self.xml(out),
            CallsState::Closing => self.closing(),
        }
    }

    fn words(&mut self, out: &mut Vec<CallPiece>) -> bool {
        let mut sure = 0;
        let mut opened = None;
        while sure < self.held.len() {
            let rest = &self.held[sure..];
            if self.fences.at_line_start() && !self.fences.begin_line(rest) {
                break;
            }
            let next = if self.fences.inside() {
                memchr::memchr(b'\n', rest.as_bytes())
            } else {
                memchr::memchr2(b'\n', b'<', rest.as_bytes())
            };
            let Some(next) = next else {
                sure = self.held.len();
                break;
            };
            if rest.as_bytes()[next] == b'\n' {
                sure += next + 1;
                self.fences.end_line();
                continue;
            }
            sure += next;
            match self.opener(&self.held[sure..]) {
                (Tag::Here, length) => {
                    opened = Some(length);
                    break;
                }
                (Tag::Perhaps, _) => break,
                (Tag::No, _) => sure += 1,
            }
        }
        let words: String = self.held.drain(..sure).collect();
        self.words.say(&words, out);
        if let Some(length) = opened {
            self.state = CallsState::Opened(length);
        }
        opened.is_some()
    }

    /// A tag that opens a call.
    fn opener(&self, text: &str) -> (Tag, usize) {
        let outer = tag_at(text, self.notation.open);
        if outer != Tag::No || !self.notation.bare {
            return (outer, self.notation.open.len());
        }
        (tag_at(text, self.notation.function), 0)
    }

    fn opened(&mut self, tag: usize, out: &mut Vec<CallPiece>) -> bool {
        let inner = self.held[tag..].trim_start();
        let from = self.held.len() - inner.len();
        if inner.is_empty() {
            return false;
        }
        if self.notation.json && inner.starts_with('{') {
            self.state = CallsState::Json(Scan {
                from,
                at: from,
                quote: None,
                escaped: false,
                open: Vec::new(),
            });
            return true;
        }
        match tag_at(inner, self.notation.function) {
            Tag::Here => {
                self.state = CallsState::Xml {
                    from,
                    searched: from,
                    within: None,
                };
            }
            Tag::Perhaps => return false,
            Tag::No => self.give_up(tag, out),
        }
        true
    }

    /// The first `length` bytes are no call after all.
    fn give_up(&mut self, length: usize, out: &mut Vec<CallPiece>) {
        let words: String = self.held.drain(..length).collect();
        self.words.say(&words, out);
        self.fences.resume_within_line();
        self.state = CallsState::Words;
    }

    fn json(&mut self, out: &mut Vec<CallPiece>) -> bool {
        let CallsState::Json(scan) = &mut self.state else {
            return false;
        };
        let ended = scan.run(self.held.as_bytes());
        let (from, at) = (scan.from, scan.at);
        let object = match ended {
            Scanned::More => return false,
            Scanned::Closed => self.held[from..at].to_owned(),
            Scanned::Unbalanced => scan.closed(&self.held[from..at]),
        };
        match loose::read_call(&object) {
            Some((name, arguments)) => {
                self.words.call(name, arguments, true, out);
                self.held.drain(..at);
                self.state = CallsState::Closing;
            }
            None => self.give_up(at, out),
        }
        true
    }

    fn finish_json(&mut self, scan: &Scan, ending: Ending, out: &mut Vec<CallPiece>) {
        let held = std::mem::take(&mut self.held);
        let text = &held[scan.from..];
        let read = match ending {
            Ending::Complete => {
                // An unbalanced quote hides the closing tag from the scan.
                let text = text.trim_end();
                let text = text.strip_suffix(CLOSE).unwrap_or(text).trim_end();
                loose::read_call(&scan.closed(text)).or_else(|| loose::read_call(text))
            }
            Ending::Cut => loose::read_cut_call(text),
        };
        match read {
            Some((name, arguments)) => {
                self.words
                    .call(name, arguments, ending == Ending::Complete, out)
            }
            None => self.words.say(&held, out),
        }
    }

    fn xml(&mut self, out: &mut Vec<CallPiece>) -> bool {
        let CallsState::Xml {
            from,
            searched,
            within,
        } = &mut self.state
        else {
            return false;
        };
        let from = *from;
        let Some(end) = self.notation.find_end(&self.held, searched, within) else {
            return false;
        };
        let whole = end.at + end.length;
        match self.notation.read(
            &self.held[from..end.at],
            &Declared::of(&self.request.tools),
            false,
        ) {
            Some((name, arguments)) => {
                self.words.call(name, arguments, true, out);
                self.held.drain(..whole);
                self.state = CallsState::Closing;
            }
            None => self.give_up(whole, out),
        }
        true
    }

    fn finish_xml(&mut self, from: usize, ending: Ending, out: &mut Vec<CallPiece>) {
        let held = std::mem::take(&mut self.held);
        let cut = ending == Ending::Cut;
        match self
            .notation
            .read(&held[from..], &Declared::of(&self.request.tools), cut)
        {
            Some((name, arguments)) if ending == Ending::Complete => {
                self.words.call(name, arguments, true, out);
            }
            Some((name, mut arguments)) => {
                // Without its brace the text does not parse, so nobody runs half a call.
                arguments.pop();
                self.words.call(name, arguments, false, out);
            }
            None => self.words.say(&held, out),
        }
    }

    /// After a call: its closing tag, and braces that some models write too many of; or the next
    /// call between the same tags.
    fn closing(&mut self) -> bool {
        let braces = self.notation.json;
        let rest = self
            .held
            .trim_start_matches(|c: char| c.is_whitespace() || braces && c == '}');
        let from = self.held.len() - rest.len();
        let to = match tag_at(rest, self.notation.close) {
            Tag::Perhaps => return false,
            Tag::Here => from + self.notation.close.len(),
            Tag::No => from,
        };
        if to == from && !braces {
            match tag_at(rest, self.notation.function) {
                Tag::Perhaps => return false,
                Tag::Here => {
                    self.held.drain(..from);
                    self.state = CallsState::Opened(0);
                    return true;
                }
                Tag::No => {}
            }
        }
        let skipped: String = self.held.drain(..to).collect();
        self.fences.resume_within_line();
        if skipped.ends_with('\n') {
            self.fences.end_line();
        }
        self.state = CallsState::Words;
        true
    }
}

enum Scanned {
    More,
    /// The object is complete.
    Closed,
    /// A closing tag came before the last brace.
    Unbalanced,
}

impl Scan {
    fn run(&mut self, text: &[u8]) -> Scanned {
        while let Some(&byte) = text.get(self.at) {
            if let Some(quote) = self.quote {
                if self.escaped {
                    self.escaped = false;
                } else if byte == b'\\' {
                    self.escaped = true;
                } else if byte == quote {
                    self.quote = None;
                }
            } else {
                match byte {
                    b'"' | b'\'' => self.quote = Some(byte),
                    b'{' => self.open.push(b'}'),
                    b'[' => self.open.push(b']'),
                    b'}' | b']' => {
                        self.open.pop();
                        if self.open.is_empty() {
                            self.at += 1;
                            return Scanned::Closed;
                        }
                    }
                    b'<' => {
                        let rest = &text[self.at..];
                        if rest.starts_with(CLOSE.as_bytes()) {
                            return Scanned::Unbalanced;
                        }
                        if CLOSE.as_bytes().starts_with(rest) {
                            return Scanned::More;
                        }
                    }
                    _ => {}
                }
            }
            self.at += 1;
        }
        Scanned::More
    }

    /// The text with the brackets that it lacks.
    fn closed(&self, text: &str) -> String {
        let mut closed = text.trim_end().to_owned();
        closed.extend(self.open.iter().rev().map(|&bracket| char::from(bracket)));
        closed
    }
}
