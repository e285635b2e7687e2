//! The meaningful words of a text, each with its class and its role.

mod builder;
mod word;

pub(super) use word::is_past;

use super::frame::Asking;
use super::scan::{Token, TokenKind};
use super::tables::TABLES;

use builder::{Builder, Voice};

/// The relation in which a word stands, from the preposition before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Plain,
    Of,
    About,
    In,
    For,
    To,
    From,
    By,
    With,
    Than,
    Against,
}

impl Relation {
    fn of(name: &str) -> Self {
        match name {
            "of" => Self::Of,
            "about" => Self::About,
            "in" => Self::In,
            "for" => Self::For,
            "to" => Self::To,
            "from" => Self::From,
            "by" => Self::By,
            "with" => Self::With,
            "than" => Self::Than,
            "against" => Self::Against,
            _ => Self::Plain,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain => "no preposition",
            Self::Of => "of",
            Self::About => "about",
            Self::In => "in",
            Self::For => "for",
            Self::To => "to",
            Self::From => "from",
            Self::By => "by",
            Self::With => "with",
            Self::Than => "than",
            Self::Against => "against",
        }
    }
}

/// One meaningful word, number or literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Atom {
    /// What is compared.
    pub(super) key: String,
    /// The word as it was written, in lower case.
    pub(super) shown: String,
    /// The class of the word in explanations.
    pub(super) class: &'static str,
    pub(super) role: Relation,
    /// The preposition as it was written.
    pub(super) preposition: &'static str,
    /// Stands before another word of its phrase, as "router" in "router password".
    pub(super) modifier: bool,
    /// Words of one phrase have one number.
    pub(super) chunk: usize,
    /// Words of one sentence have one number.
    pub(super) sentence: usize,
    /// Something is done to it: "is bitten" against "bites".
    pub(super) passive: bool,
    /// A participle after a form of "be", whatever its class.
    pub(super) participle: bool,
    /// Behind a form of "be": "is failing", "is being tested".
    pub(super) progressive: bool,
    /// Behind a form of "be", with no preposition between.
    pub(super) after_be: bool,
    /// A preposition such as "on" ends the clause behind it: "what does it depend on".
    pub(super) open: bool,
    /// Written in a form of the past, without "be" before it.
    pub(super) past: bool,
    /// Written in the plural.
    pub(super) plural: bool,
    /// Whether it begins with a capital; none where that says nothing, as at the start of a sentence.
    pub(super) capital: Option<bool>,
    /// Behind "the", "my" or "this".
    pub(super) definite: bool,
    /// The determiner of its phrase: "my" for "our" too, "your", "its", "this" for
    /// "these" too, "that" for "those" too, and "a" for "an"; "" for others and for none.
    pub(super) determiner: &'static str,
    /// Behind "'s": "profit" in "Tesla's profit".
    pub(super) owned: bool,
    /// Behind "as": "sue as a tenant" against "sue a tenant".
    pub(super) acts_as: bool,
    /// Joined to the word before it by "and" or "or".
    pub(super) joined: Option<&'static str>,
}

/// The preposition of a place: "at the office" is "in the office", but "on the car" is not "in the car".
pub(super) fn place(preposition: &str) -> &str {
    match preposition {
        "at" | "within" | "inside" => "in",
        other => other,
    }
}

/// Reads the atoms of tokens whose question words are gone.
pub(super) fn build(tokens: &[Token], ask: Asking) -> Vec<Atom> {
    let mut builder = Builder {
        open: !matches!(ask, Asking::Nothing | Asking::YesNo),
        what: ask == Asking::What,
        who: ask == Asking::Who,
        placed: matches!(ask, Asking::Where | Asking::When),
        counts: matches!(ask, Asking::HowMany | Asking::HowMuch),
        ..Builder::default()
    };
    for at in 0..tokens.len() {
        builder.token(tokens, at);
    }
    builder.dangling();
    beside(&mut builder.atoms);
    builder.atoms
}

/// Notes which words a text writes with a capital.
pub(super) fn note_capitals(atoms: &mut [Atom], capitals: &[(String, bool)]) {
    for atom in atoms {
        // A word that is meant as a word has a mark behind it.
        let shown = atom.shown.trim_end_matches('^');
        let written = capitals.iter().find(|(word, _)| word == shown);
        atom.capital = written.map(|(_, capital)| *capital);
    }
}

/// Each word and literal as it is written.
pub(super) fn verbatim(tokens: &[Token]) -> Vec<Atom> {
    let written = tokens.iter().filter(|token| token.kind != TokenKind::Break);
    let mut builder = Builder::default();
    for token in written {
        let class = match token.kind {
            TokenKind::Number => "number",
            TokenKind::Word | TokenKind::Break => "word",
            _ => "code",
        };
        builder.push(token.text.clone(), &token.text, class, Voice::default());
    }
    builder.atoms
}

/// Replaces words that have a synonym beside certain other words.
fn beside(atoms: &mut [Atom]) {
    let keys: Vec<String> = atoms.iter().map(|atom| atom.key.clone()).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    for atom in atoms {
        if let Some(key) = TABLES.beside(&atom.key, &keys) {
            key.clone_into(&mut atom.key);
        }
    }
}
