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

mod atoms;
mod compare;
mod frame;
mod number;
mod scan;
mod tables;
mod words;

pub use compare::Mismatch;

use atoms::Atom;
use frame::SentenceFrame;

/// The longest text that is read, in bytes; longer texts are never equal to another.
pub const TEXT_BYTES_MAX: usize = 2_048;
/// The most meaningful words of a text; texts with more are never equal to another.
pub const ATOMS_MAX: usize = 64;

/// What carries the meaning of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    frame: SentenceFrame,
    atoms: Vec<Atom>,
    complete: bool,
}

impl Signature {
    /// Reads a text. Texts above [`TEXT_BYTES_MAX`] or [`ATOMS_MAX`] are marked as too long.
    #[must_use]
    pub fn of(text: &str) -> Self {
        if text.len() > TEXT_BYTES_MAX {
            return Self::too_long();
        }
        let tokens = words::rewritten(scan::tokens(text));
        let (mut frame, tokens) = frame::read(tokens);
        let mut atoms = atoms::build(&tokens);
        frame::settle(&mut frame, &mut atoms);
        if atoms.len() > ATOMS_MAX {
            return Self::too_long();
        }
        Self {
            frame,
            atoms,
            complete: true,
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
        compare::frames(&self.frame, &other.frame)
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

    fn too_long() -> Self {
        Self {
            frame: SentenceFrame::default(),
            atoms: Vec::new(),
            complete: false,
        }
    }
}

/// The first difference between two texts, or `None` when they may share an answer.
#[must_use]
pub fn difference(one: &str, other: &str) -> Option<Mismatch> {
    Signature::of(one).difference(&Signature::of(other))
}
