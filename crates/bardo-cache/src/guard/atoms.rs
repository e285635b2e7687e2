//! The meaningful words of a text, each with its class and its role.

use super::scan::{Token, TokenKind};
use super::tables::TABLES;

/// The relation in which a word stands, from the preposition before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Plain,
    Of,
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
    /// Stands before another word of its phrase, as "router" in "router password".
    pub(super) modifier: bool,
    /// Words of one phrase have one number.
    pub(super) chunk: usize,
    /// Something is done to it: "is bitten" against "bites".
    pub(super) passive: bool,
    /// Joined to the word before it by "and" or "or".
    pub(super) joined: Option<&'static str>,
}

/// Reads the atoms of tokens whose question words are gone.
pub(super) fn build(tokens: &[Token]) -> Vec<Atom> {
    let mut builder = Builder::default();
    for at in 0..tokens.len() {
        builder.token(tokens, at);
    }
    builder.atoms
}

#[derive(Default)]
struct Builder {
    atoms: Vec<Atom>,
    role: Option<Relation>,
    chunk: usize,
    /// Content of the current phrase was read.
    filled: bool,
    /// Words since a form of "be".
    since_be: Option<usize>,
    joined: Option<&'static str>,
}

impl Builder {
    fn token(&mut self, tokens: &[Token], at: usize) {
        let token = &tokens[at];
        self.since_be = self
            .since_be
            .map(|words| words + 1)
            .filter(|words| *words <= 4);
        match token.kind {
            TokenKind::Break => {
                self.boundary();
                self.since_be = None;
            }
            TokenKind::Word => self.word(tokens, at),
            TokenKind::Number => self.push(token.text.clone(), &token.text, "number", false),
            TokenKind::Code => self.push(token.text.clone(), &token.text, "code", false),
            TokenKind::Quote => self.push(token.text.clone(), &token.text, "quote", false),
            TokenKind::Address => self.push(token.text.clone(), &token.text, "address", false),
            TokenKind::Url => self.push(token.text.clone(), &token.text, "URL", false),
            TokenKind::Path => self.push(token.text.clone(), &token.text, "file", false),
            TokenKind::Symbol => self.push(token.text.clone(), &token.text, "sign", false),
        }
    }

    fn word(&mut self, tokens: &[Token], at: usize) {
        let word = tokens[at].text.as_str();
        // "Solana's price" is a compound, as "Solana price".
        if word == "@s" {
            return;
        }
        if matches!(
            word,
            "is" | "are"
                | "was"
                | "were"
                | "be"
                | "been"
                | "being"
                | "am"
                | "get"
                | "got"
                | "gets"
                | "getting"
        ) {
            self.since_be = Some(0);
        }
        if let Some(name) = TABLES.prepositions.get(word) {
            let verb = tokens.get(at + 1).is_some_and(|next| {
                next.kind == TokenKind::Word && TABLES.verbs.contains(next.text.as_str())
            });
            self.boundary();
            if !(word == "to" && verb) {
                self.role = Some(Relation::of(name));
            }
        } else if matches!(word, "and" | "or") {
            self.joined = Some(if word == "and" { "and" } else { "or" });
        } else if TABLES.determiners.contains(word) {
            if self.filled {
                let kept = self.joined.is_some().then_some(self.role).flatten();
                self.boundary();
                self.role = kept;
            }
        } else if TABLES.stop.contains(word) || word.starts_with('@') {
            let joined = self.joined;
            self.boundary();
            self.joined = joined;
        } else if !TABLES.soft.contains(word) {
            self.content(word);
        }
    }

    fn content(&mut self, word: &str) {
        let participle = word.ends_with("ed") || TABLES.participles.contains(word);
        let passive = participle && self.since_be.is_some();
        let key = TABLES.canonical(word);
        if TABLES.soft.contains(key.as_str()) {
            return;
        }
        let class = TABLES
            .classes
            .get(key.as_str())
            .or_else(|| TABLES.classes.get(word));
        let class = class.copied().unwrap_or("word");
        self.push(key, word, class, passive && class != "state");
    }

    fn push(&mut self, key: String, shown: &str, class: &'static str, passive: bool) {
        if let Some(last) = self.atoms.last_mut() {
            last.modifier = last.chunk == self.chunk && self.joined.is_none();
        }
        self.atoms.push(Atom {
            key,
            shown: shown.to_owned(),
            class,
            role: self.role.unwrap_or(Relation::Plain),
            chunk: self.chunk,
            modifier: false,
            passive,
            joined: self.joined.take(),
        });
        self.filled = true;
    }

    fn boundary(&mut self) {
        self.role = None;
        self.filled = false;
        self.joined = None;
        self.chunk += 1;
    }
}
