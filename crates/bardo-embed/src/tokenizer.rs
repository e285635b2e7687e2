//! The tokenizer of uncased BERT models: clean, split, then pieces of words.

use std::borrow::Cow;
use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// A longer word is unknown to the model.
const WORD_CHARS_MAX: usize = 100;
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// Words and pieces of words with their numbers.
#[derive(Debug)]
pub struct Vocabulary {
    /// Pieces that start a word.
    starts: HashMap<Cow<'static, str>, u32>,
    /// Pieces that go on with a word, without their mark `##`.
    continuations: HashMap<Cow<'static, str>, u32>,
    /// Bytes of the longest piece.
    longest: usize,
    special: [u32; 5],
}

/// A vocabulary lacks a token that every BERT model has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the vocabulary has no line {0}")]
pub struct VocabularyError(&'static str);

/// A text as numbers of the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// The numbers, with one for the start and one for the end.
    pub ids: Vec<u32>,
    /// True where the text has more tokens than were wanted.
    pub cut: bool,
}

impl Vocabulary {
    /// Reads a vocabulary: one piece a line, numbered from zero.
    ///
    /// # Errors
    /// When a special token is missing.
    pub fn parse(text: Cow<'static, str>) -> Result<Self, VocabularyError> {
        let mut starts = HashMap::new();
        let mut continuations = HashMap::new();
        for (line, id) in lines(text).zip(0..) {
            match line.strip_prefix("##") {
                Some(_) if line.len() > 2 => continuations.insert(without_mark(line), id),
                _ => starts.insert(line, id),
            };
        }
        let pieces = starts.keys().chain(continuations.keys());
        let longest = pieces.map(|piece| piece.len()).max().unwrap_or(0);
        let mut special = [0; 5];
        for (id, name) in special.iter_mut().zip(SPECIAL) {
            *id = *starts.get(name).ok_or(VocabularyError(name))?;
        }
        Ok(Self {
            starts,
            continuations,
            longest,
            special,
        })
    }

    /// Turns a text into at most `max` tokens. Reading stops at the first token too many, but the
    /// time has no bound by `max` alone: a word of any length is one token, and spaces and marks
    /// are none. So callers limit the bytes of a text.
    #[must_use]
    pub fn encode(&self, text: &str, max: usize) -> Tokens {
        let [_, _, start, end, _] = self.special;
        let mut pieces = Pieces {
            vocabulary: self,
            ids: vec![start],
            max: max.saturating_sub(1).max(1),
            word: String::new(),
            chars: 0,
        };
        let cut = !pieces.read(text);
        let mut ids = pieces.ids;
        ids.push(end);
        Tokens { ids, cut }
    }

    fn unknown(&self) -> u32 {
        self.special[1]
    }
}

fn lines(text: Cow<'static, str>) -> Box<dyn Iterator<Item = Cow<'static, str>>> {
    match text {
        Cow::Borrowed(text) => Box::new(text.lines().map(Cow::Borrowed)),
        Cow::Owned(text) => {
            let lines: Vec<_> = text.lines().map(|line| Cow::Owned(line.into())).collect();
            Box::new(lines.into_iter())
        }
    }
}

fn without_mark(line: Cow<'static, str>) -> Cow<'static, str> {
    match line {
        Cow::Borrowed(line) => Cow::Borrowed(&line[2..]),
        Cow::Owned(mut line) => {
            line.drain(..2);
            Cow::Owned(line)
        }
    }
}

/// What is known while a text is read.
struct Pieces<'a> {
    vocabulary: &'a Vocabulary,
    ids: Vec<u32>,
    /// Room in `ids`, without the token of the end.
    max: usize,
    word: String,
    /// Characters of the word; `word` holds no more than matter.
    chars: usize,
}

impl Pieces<'_> {
    /// Each step answers false where the room has ended.
    fn read(&mut self, mut text: &str) -> bool {
        while let Some((at, which)) = next_special(text) {
            let special = self.vocabulary.special[which];
            if !(self.read_words(&text[..at]) && self.put(special)) {
                return false;
            }
            text = &text[at + SPECIAL[which].len()..];
        }
        self.read_words(text)
    }

    fn read_words(&mut self, text: &str) -> bool {
        let cleaned = text.chars().filter(|&c| !is_dropped(c));
        let spaced = cleaned.flat_map(|c| {
            let around = is_ideograph(c).then_some(' ');
            let c = if c.is_whitespace() { ' ' } else { c };
            around.into_iter().chain([c]).chain(around)
        });
        let bare = spaced
            .nfd()
            .filter(|c| c.general_category() != GeneralCategory::NonspacingMark);
        for c in bare.flat_map(char::to_lowercase) {
            let fits = if c.is_whitespace() {
                self.end_word()
            } else if is_punctuation(c) {
                self.end_word() && {
                    self.push(c);
                    self.end_word()
                }
            } else {
                self.push(c);
                true
            };
            if !fits {
                return false;
            }
        }
        self.end_word()
    }

    fn push(&mut self, c: char) {
        self.chars += 1;
        if self.chars <= WORD_CHARS_MAX {
            self.word.push(c);
        }
    }

    fn end_word(&mut self) -> bool {
        if self.chars == 0 {
            return true;
        }
        let word = std::mem::take(&mut self.word);
        let pieces = if self.chars > WORD_CHARS_MAX {
            None
        } else {
            self.split(&word)
        };
        self.chars = 0;
        let fits = match pieces {
            Some(pieces) => pieces.into_iter().all(|id| self.put(id)),
            None => self.put(self.vocabulary.unknown()),
        };
        // The next word uses the memory of this one.
        self.word = word;
        self.word.clear();
        fits
    }

    /// The longest piece first; a word with a part that no piece fits is unknown as a whole.
    fn split(&self, word: &str) -> Option<Vec<u32>> {
        let mut ids = Vec::new();
        let mut rest = word;
        while !rest.is_empty() {
            let pieces = if ids.is_empty() {
                &self.vocabulary.starts
            } else {
                &self.vocabulary.continuations
            };
            let longest = rest.floor_char_boundary(self.vocabulary.longest);
            let (length, id) = (1..=longest)
                .rev()
                .filter_map(|length| Some((length, *pieces.get(rest.get(..length)?)?)))
                .next()?;
            ids.push(id);
            rest = &rest[length..];
        }
        Some(ids)
    }

    fn put(&mut self, id: u32) -> bool {
        let room = self.ids.len() < self.max;
        if room {
            self.ids.push(id);
        }
        room
    }
}

fn next_special(text: &str) -> Option<(usize, usize)> {
    text.match_indices('[').find_map(|(at, _)| {
        let which = SPECIAL
            .iter()
            .position(|name| text[at..].starts_with(name))?;
        Some((at, which))
    })
}

fn is_dropped(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\0' | '\u{fffd}' => true,
        _ => matches!(
            c.general_category(),
            GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse
        ),
    }
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || (!c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Punctuation)
}

/// True for the characters that the model reads one by one.
fn is_ideograph(c: char) -> bool {
    matches!(
        u32::from(c),
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x20000..=0x2A6DF
            | 0x2A700..=0x2B73F
            | 0x2B740..=0x2B81F
            | 0x2B920..=0x2CEAF
            | 0xF900..=0xFAFF
            | 0x2F800..=0x2FA1F
    )
}
