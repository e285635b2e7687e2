use super::Ending;
use super::fences::{Fences, Tag, begun_tag, tag_at};

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Whether thinking begins with its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    /// The tag is always written.
    Written,
    /// Templates of models that always think put the tag into the prompt, so the answer may
    /// begin with thinking right away.
    MayBeMissing,
}

/// A piece of what a model said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThinkPiece {
    /// A piece of thinking.
    Thought(String),
    /// A piece of the answer.
    Words(String),
}

/// Parts `<think>…</think>` from the answer, wherever the text is cut.
///
/// A tag opens thinking at the start of the text or of a line outside code fences; anywhere else
/// it is just words. Line breaks next to the tags belong to them.
#[derive(Debug)]
pub struct ThinkSplitter {
    opener: Opener,
    /// The answer is JSON, so tags within it are data.
    json: bool,
    state: ThinkState,
    /// Text that is not decided yet.
    held: String,
    /// Everything that was taken for thinking without having seen a tag.
    assumed: String,
    fences: Fences,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ThinkState {
    Start,
    Thinking { assumed: bool, begun: bool },
    AfterThinking,
    Words,
}

impl ThinkSplitter {
    /// A splitter for one answer.
    #[must_use]
    pub fn new(opener: Opener) -> Self {
        Self {
            opener,
            json: false,
            state: ThinkState::Start,
            held: String::new(),
            assumed: String::new(),
            fences: Fences::default(),
        }
    }

    /// The answer itself is JSON: only what comes before it can be thinking.
    #[must_use]
    pub fn before_json(mut self) -> Self {
        self.json = true;
        self
    }

    /// The provider tells thinking apart itself, so an opening tag is never missing.
    pub fn thinking_came_apart(&mut self) {
        self.opener = Opener::Written;
    }

    /// Takes the next text.
    pub fn push(&mut self, text: &str, out: &mut Vec<ThinkPiece>) {
        self.held.push_str(text);
        while self.step(out) {}
    }

    /// The text is over: what was held is decided.
    ///
    /// Text that was taken for thinking because a tag may have been missing, but whose end never
    /// came, was cut within its thinking, or else it was the answer and is said again as such.
    pub fn finish(&mut self, ending: Ending, out: &mut Vec<ThinkPiece>) {
        let rest = std::mem::take(&mut self.held);
        match self.state {
            ThinkState::Thinking { assumed, .. } => {
                self.think(&rest, out);
                if assumed && ending == Ending::Complete {
                    say(std::mem::take(&mut self.assumed), out);
                }
            }
            ThinkState::AfterThinking => {}
            ThinkState::Start | ThinkState::Words => say(rest, out),
        }
        self.state = ThinkState::Words;
    }

    /// One decision; false when more text is needed.
    fn step(&mut self, out: &mut Vec<ThinkPiece>) -> bool {
        match self.state {
            ThinkState::Start => self.start(),
            ThinkState::Thinking { .. } => self.thinking(out),
            ThinkState::AfterThinking => {
                let spaces = self.held.len() - self.held.trim_start().len();
                self.held.drain(..spaces);
                if self.held.is_empty() {
                    return false;
                }
                self.state = ThinkState::Words;
                true
            }
            ThinkState::Words => self.words(out),
        }
    }

    fn start(&mut self) -> bool {
        let begun = self.held.trim_start();
        if begun.is_empty() {
            return false;
        }
        let spaces = self.held.len() - begun.len();
        match tag_at(begun, OPEN) {
            Tag::Here => {
                self.held.drain(..spaces + OPEN.len());
                self.state = ThinkState::Thinking {
                    assumed: false,
                    begun: false,
                };
                return true;
            }
            Tag::Perhaps => return false,
            Tag::No => {}
        }
        // A call of a tool or a JSON value is an answer, whatever came before it.
        let call = tag_at(begun, super::calls::OPEN);
        if self.opener == Opener::MayBeMissing && call == Tag::Perhaps {
            return false;
        }
        let answers = call == Tag::Here || self.json && begun.starts_with(['{', '[']);
        self.state = if self.opener == Opener::MayBeMissing && !answers {
            ThinkState::Thinking {
                assumed: true,
                begun: false,
            }
        } else {
            ThinkState::Words
        };
        true
    }

    fn thinking(&mut self, out: &mut Vec<ThinkPiece>) -> bool {
        if let Some(end) = self.held.find(CLOSE) {
            let rest = self.held.split_off(end + CLOSE.len());
            let mut thought = std::mem::replace(&mut self.held, rest);
            thought.truncate(end);
            self.think(thought.trim_end(), out);
            self.assumed.clear();
            self.state = ThinkState::AfterThinking;
            return true;
        }
        let sure = self.held.len() - begun_tag(&self.held, CLOSE);
        let sure = self.held[..sure].trim_end().len();
        let thought: String = self.held.drain(..sure).collect();
        self.think(&thought, out);
        false
    }

    fn think(&mut self, thought: &str, out: &mut Vec<ThinkPiece>) {
        let ThinkState::Thinking { assumed, begun } = self.state else {
            return;
        };
        if assumed {
            self.assumed.push_str(thought);
        }
        let thought = if begun { thought } else { thought.trim_start() };
        if !thought.is_empty() {
            self.state = ThinkState::Thinking {
                assumed,
                begun: true,
            };
            match out.last_mut() {
                Some(ThinkPiece::Thought(open)) => open.push_str(thought),
                _ => out.push(ThinkPiece::Thought(thought.to_owned())),
            }
        }
    }

    fn words(&mut self, out: &mut Vec<ThinkPiece>) -> bool {
        if self.json {
            say(std::mem::take(&mut self.held), out);
            return false;
        }
        let mut sure = 0;
        let mut opened = false;
        while sure < self.held.len() {
            let rest = &self.held[sure..];
            if self.fences.at_line_start() {
                let tag = if self.fences.inside() {
                    Tag::No
                } else {
                    tag_at(rest, OPEN)
                };
                opened = tag == Tag::Here;
                if tag != Tag::No || !self.fences.begin_line(rest) {
                    break;
                }
            }
            match rest.find('\n') {
                Some(end) => {
                    sure += end + 1;
                    self.fences.end_line();
                }
                None => sure = self.held.len(),
            }
        }
        say(self.held.drain(..sure).collect(), out);
        if opened {
            self.held.drain(..OPEN.len());
            self.state = ThinkState::Thinking {
                assumed: false,
                begun: false,
            };
        }
        opened
    }
}

fn say(words: String, out: &mut Vec<ThinkPiece>) {
    match out.last_mut() {
        _ if words.is_empty() => {}
        Some(ThinkPiece::Words(open)) => open.push_str(&words),
        _ => out.push(ThinkPiece::Words(words)),
    }
}
