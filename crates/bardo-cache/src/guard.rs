//! The guard of the semantic cache: decides from the words alone whether two requests may share an
//! answer.
//!
//! Vectors of sentences place "turn on" beside "turn off" and 1,000 beside 10,000. The guard
//! therefore reads both texts and compares what carries their meaning: numbers with units and
//! signs, names, code, paths, negation, quantifiers, direction, person, tense, the kind of question
//! and every remaining word. It is strict by construction: a word that occurs in one text alone
//! separates the two, whether a table knows the word or not. Tables (`data/guard/*.txt`) only
//! *join* wordings: spellings, phrases, inflections, synonyms, and words without content.
//!
//! [`Signature::of`] reads a text once, in linear time and without I/O. [`Signature::difference`]
//! compares two signatures and explains the first difference in words, such as
//! `number "10" against "1"`.
//!
//! The stages, in their order:
//!
//! 1. `scan` cuts a text into tokens. `letters` knows capitals that count, `signs` punctuation that
//!    is asked about, `number` the forms of a number, `syntax` the brackets of code.
//! 2. `mention` marks words that a text is about. `contrast` notes short words that exclude each other,
//!    such as "this" and "that".
//! 3. `rewrite` brings wordings of one question to the same words: phrases, numbers, whole clauses.
//! 4. `frame` reads the kind of the question, modal verbs, tense and persons, and takes their words out.
//! 5. `atoms` reads each word that is left: its key, class, role and form. `stems` and `tables` find the
//!    key, which is equal for a word's forms and synonyms.
//! 6. `tense` and `settle` join wordings that differ in the kind of question, once the words are known.
//! 7. `compare` looks for the first difference of two texts. `order` knows which words may change places,
//!    `mismatch` says in words what separates.
//!
//! Two texts that ask different things share an answer: `Signature::parts` shows which words became equal.
//! If two words did, a row of `data/guard` is wrong. If a word is gone or stands elsewhere, a rewrite made it
//! so: open `rewrite.rs` and the module of that kind of question. If the words differ in order, preposition
//! or form alone, open `order.rs` or `compare.rs`.
//!
//! Two texts that ask the same are kept apart: the reason names the word. A word in one text only wants a
//! row in `data/guard`, or a rewrite if the clause is built in another way. A question, modal or person wants
//! `rewrite.rs` or `settle.rs`.

mod atoms;
mod compare;
mod contrast;
mod frame;
mod letters;
mod mention;
mod mismatch;
mod number;
mod order;
mod rewrite;
mod scan;
mod settle;
mod signs;
mod stems;
mod syntax;
mod tables;
mod tense;

pub use mismatch::Mismatch;

use atoms::Atom;
use contrast::Contrasts;
use frame::SentenceFrame;
use scan::{Token, TokenKind};
use tables::TABLES;

/// The longest text that is read, in bytes; longer texts are never equal to another.
pub const TEXT_BYTES_MAX: usize = 2_048;
/// The most meaningful words of a text; texts with more are never equal to another.
pub const ATOMS_MAX: usize = 64;

/// What carries the meaning of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    frame: SentenceFrame,
    contrasts: Contrasts,
    atoms: Vec<Atom>,
    complete: bool,
    /// In another language than the lists: words are equal as they are written, in their order.
    verbatim: bool,
    /// The signs of what is code.
    syntax: Vec<String>,
}

impl Signature {
    /// Reads a text. Texts above [`TEXT_BYTES_MAX`] or [`ATOMS_MAX`] are marked as too long.
    #[must_use]
    pub fn of(text: &str) -> Self {
        if text.len() > TEXT_BYTES_MAX {
            return Self::too_long();
        }
        let mut tokens = scan::tokens(text);
        if foreign(&tokens) {
            letters::spelled(text, &mut tokens);
            return Self::verbatim(text, &tokens);
        }
        mention::mark(&mut tokens);
        let contrasts = Contrasts::of(&tokens);
        let tokens = rewrite::rewritten(tokens);
        let (mut frame, tokens) = frame::read(tokens);
        let mut atoms = atoms::build(&tokens, frame.ask);
        atoms::note_capitals(&mut atoms, &letters::capitals(text));
        tense::settle(&mut frame, &atoms);
        settle::settle(&mut frame, &mut atoms);
        if atoms.len() > ATOMS_MAX {
            return Self::too_long();
        }
        Self {
            frame,
            contrasts,
            atoms,
            complete: true,
            verbatim: false,
            syntax: syntax::signs(text),
        }
    }

    fn verbatim(text: &str, tokens: &[Token]) -> Self {
        let atoms = atoms::verbatim(tokens);
        if atoms.len() > ATOMS_MAX {
            return Self::too_long();
        }
        Self {
            frame: SentenceFrame::default(),
            contrasts: Contrasts::default(),
            atoms,
            complete: true,
            verbatim: true,
            syntax: syntax::signs(text),
        }
    }

    /// Why a text can equal no other, itself included; `None` where it can.
    #[must_use]
    pub fn unusable(&self) -> Option<Mismatch> {
        match (self.complete, self.atoms.is_empty()) {
            (false, _) => Some(Mismatch::TooLong),
            (true, true) => Some(Mismatch::Empty),
            (true, false) => None,
        }
    }

    /// The first difference that forbids a shared answer; `None` when the texts may share one.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<Mismatch> {
        if !(self.complete && other.complete) {
            return Some(Mismatch::TooLong);
        }
        if self.atoms.is_empty() {
            return Some(Mismatch::Empty);
        }
        if self.syntax != other.syntax {
            return Some(Mismatch::Changed {
                class: "code",
                one: self.syntax.join(" "),
                other: other.syntax.join(" "),
            });
        }
        if self.verbatim || other.verbatim {
            return compare::verbatim(&self.atoms, &other.atoms);
        }
        // "A 0 a 0": words that occur twice could be compared crosswise.
        if self == other {
            return None;
        }
        compare::frames(&self.frame, &other.frame)
            .or_else(|| self.contrasts.difference(&other.contrasts))
            .or_else(|| compare::atoms(self, other))
            .or_else(|| compare::atoms(other, self).map(Mismatch::mirrored))
    }

    /// The words that two answers must have in common: their classes and what is compared.
    pub fn facts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        const FACTS: [&str; 14] = [
            "number",
            "code",
            "address",
            "URL",
            "file",
            "sign",
            "negation",
            "quantifier",
            "direction",
            "action",
            "chain",
            "protocol",
            "ticker",
            "currency",
        ];
        let facts = self.atoms.iter().filter(|atom| FACTS.contains(&atom.class));
        facts.map(|atom| (atom.class, atom.key.as_str()))
    }

    /// Each meaningful word: its class, what is compared, and the word as it was written.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&'static str, &str, &str)> {
        let atoms = self.atoms.iter();
        atoms.map(|atom| (atom.class, atom.key.as_str(), atom.shown.as_str()))
    }

    fn too_long() -> Self {
        Self {
            frame: SentenceFrame::default(),
            contrasts: Contrasts::default(),
            atoms: Vec::new(),
            complete: false,
            verbatim: false,
            syntax: Vec::new(),
        }
    }
}

/// Whether a text is in another language than the lists: two of its function words, or a letter of
/// another alphabet.
fn foreign(tokens: &[Token]) -> bool {
    let words = || tokens.iter().filter(|token| token.kind == TokenKind::Word);
    let mut known: Vec<&str> = words()
        .map(|token| token.text.as_str())
        .filter(|word| TABLES.foreign.contains(word))
        .collect();
    known.sort_unstable();
    known.dedup();
    let mut letters = words()
        .flat_map(|token| token.text.chars())
        .filter(|c| c.is_alphabetic());
    known.len() >= 2 || letters.any(|c| !c.is_ascii() && !('\u{c0}'..='\u{24f}').contains(&c))
}

/// The first difference between two texts, or `None` when they may share an answer.
#[must_use]
pub fn difference(one: &str, other: &str) -> Option<Mismatch> {
    Signature::of(one).difference(&Signature::of(other))
}
