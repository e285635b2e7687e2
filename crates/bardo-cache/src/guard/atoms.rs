//! The meaningful words of a text, each with its class and its role.

use super::frame::Asking;
use super::scan::{Token, TokenKind};
use super::tables::TABLES;

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
    /// Behind "the", "my" or "this".
    pub(super) definite: bool,
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

/// Words that begin a clause: no phrase goes on beyond them.
pub(super) const CONJUNCTIONS: [&str; 9] = [
    "if", "because", "while", "before", "after", "until", "since", "although", "instead",
];

/// How a word stands beside a form of "be".
#[derive(Default, Clone, Copy)]
struct Voice {
    passive: bool,
    participle: bool,
}

#[derive(Default)]
struct Builder {
    atoms: Vec<Atom>,
    /// The text asks what, how or when.
    open: bool,
    /// The text asks how many or how much.
    counts: bool,
    /// The text asks what.
    what: bool,
    /// The text asks who.
    who: bool,
    /// The text asks where or when.
    placed: bool,
    /// The word before can stand before a verb.
    finite: bool,
    /// The word before is "it", "he" or "she": "before it renews".
    third: bool,
    /// The word before makes this one a noun: "Bob's orders", "the last orders", "2 orders".
    named: bool,
    /// A preposition stands behind the form of "be".
    aimed: bool,
    /// "Do", "does" or "did" stands before in the clause.
    asked: bool,
    /// A modal verb stands before in the clause.
    modal: bool,
    /// "Being" stands before the word.
    being: bool,
    /// The form of "be" before is "be", "been" or "being".
    bare: bool,
    /// A determiner of the current phrase names a certain thing.
    definite: bool,
    role: Option<Relation>,
    preposition: &'static str,
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
        self.finite = at > 0 && is_subject(&tokens[at - 1]);
        self.named = at > 0 && names(&tokens[at - 1]);
        self.third = at > 0 && matches!(tokens[at - 1].text.as_str(), "it" | "he" | "she");
        self.since_be = self
            .since_be
            .map(|words| words + 1)
            .filter(|words| *words <= 8);
        match token.kind {
            TokenKind::Break => {
                self.dangling();
                self.boundary();
                self.since_be = None;
                self.asked = false;
                self.modal = false;
            }
            TokenKind::Word => self.word(tokens, at),
            TokenKind::Number => {
                self.push(token.text.clone(), &token.text, "number", Voice::default())
            }
            TokenKind::Code => self.push(token.text.clone(), &token.text, "code", Voice::default()),
            TokenKind::Quote => {
                self.push(token.text.clone(), &token.text, "quote", Voice::default())
            }
            TokenKind::Address => {
                self.push(token.text.clone(), &token.text, "address", Voice::default())
            }
            TokenKind::Url => self.push(token.text.clone(), &token.text, "URL", Voice::default()),
            TokenKind::Path => self.push(token.text.clone(), &token.text, "file", Voice::default()),
            TokenKind::Symbol => {
                self.push(token.text.clone(), &token.text, "sign", Voice::default())
            }
        }
    }

    fn word(&mut self, tokens: &[Token], at: usize) {
        let word = tokens[at].text.as_str();
        // "Solana's price" is a compound, as "Solana price".
        if word == "@s" {
            self.definite = true;
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
            self.aimed = false;
            self.being = word == "being";
            self.bare = matches!(word, "be" | "been" | "being");
        }
        self.aimed |= TABLES.prepositions.contains_key(word);
        let main = self.main_verb(tokens, at);
        self.asked |= matches!(word, "do" | "does" | "did");
        self.modal |= word == "@aux";
        if let Some(key) = main {
            self.bounded();
            self.push(TABLES.canonical(key), word, "word", Voice::default());
            self.bounded();
        } else if let Some((written, name)) = TABLES.prepositions.get_key_value(word) {
            let verb = tokens.get(at + 1).is_some_and(|next| {
                next.kind == TokenKind::Word
                    && (TABLES.verbs.contains(next.text.as_str()) || next.text == "checkif")
            });
            let compared = self.role == Some(Relation::Than) && !self.filled;
            self.bounded();
            if compared {
                self.role = Some(Relation::Than);
                self.preposition = "than";
            } else if !(word == "to" && verb) {
                self.role = Some(Relation::of(name));
                self.preposition = written;
            }
        } else if matches!(word, "and" | "or") {
            self.joined = Some(if word == "and" { "and" } else { "or" });
        } else if TABLES.determiners.contains(word) {
            let relative = word == "that" && self.filled;
            if self.filled {
                let kept = self.joined.is_some().then_some(self.role).flatten();
                self.bounded();
                self.role = kept;
            }
            self.definite = TABLES.definite.contains(word) && !relative;
        } else if TABLES.stop.contains(word) || word.starts_with('@') {
            if word.starts_with('@') {
                self.dangling();
            }
            self.bounded();
        } else if (!self.is_soft(word) || self.says(tokens, at))
            && !self.is_unquantified(tokens, at)
        {
            // "What does the price of gold drive": the verb is no part of "of gold".
            let last = tokens.get(at + 1).is_none_or(|next| {
                next.kind == TokenKind::Break
                    || next.text.starts_with('@')
                    || TABLES.classes.get(next.text.as_str()) == Some(&"time")
            });
            if last && self.asked && self.filled && TABLES.is_verb(&TABLES.base(word)) {
                self.bounded();
            }
            // "Is lost luggage covered": what follows "is" at the start belongs to the subject.
            let attributive = at == 1 && matches!(tokens[0].text.as_str(), "is" | "are");
            self.content(word, attributive);
        }
    }

    /// "Have" and "do" where they are no auxiliaries: "who has a lawyer", "what does a nurse do".
    fn main_verb(&self, tokens: &[Token], at: usize) -> Option<&'static str> {
        match tokens[at].text.as_str() {
            "have" | "has" | "had" | "having" => {
                (!super::tense::is_perfect(tokens, at)).then_some("own")
            }
            "do" if self.asked || self.modal => Some("do"),
            "done" | "doing" if at > 0 => Some("do"),
            "do" | "does" | "did" if self.who => is_deed(tokens, at).then_some("do"),
            _ => None,
        }
    }

    fn content(&mut self, word: &str, attributive: bool) {
        let noun = matches!(word, "speed" | "seed" | "feed" | "need" | "breed" | "red");
        // "Can it be run" against "what is run".
        let same = matches!(word, "run" | "set" | "put" | "cut" | "shut");
        let participle = word.ends_with("ed") && !noun
            || TABLES.participles.contains(word)
            || same && self.bare && self.since_be == Some(1);
        let passive = participle && self.since_be.is_some() && !attributive;
        let key = TABLES.canonical(word);
        if self.is_soft(&key) && !matches!(word, "available" | "current") {
            return;
        }
        let class = TABLES
            .classes
            .get(key.as_str())
            .or_else(|| TABLES.classes.get(word));
        let class = class.copied().unwrap_or("word");
        let voice = Voice {
            passive: passive && class != "state",
            participle: passive,
        };
        let clause = CONJUNCTIONS.contains(&key.as_str());
        if clause {
            self.bounded();
        }
        self.push(key, word, class, voice);
        let written = match word.strip_suffix("ed") {
            _ if word == "may-month" => Some("may"),
            Some(verb) if super::words::particle_verb(verb) => Some(verb),
            _ => None,
        };
        if let (Some(atom), Some(written)) = (self.atoms.last_mut(), written) {
            written.clone_into(&mut atom.shown);
        }
        if clause {
            self.boundary();
        }
    }

    fn push(&mut self, key: String, shown: &str, class: &'static str, voice: Voice) {
        if let Some(last) = self.atoms.last_mut() {
            last.modifier = last.chunk == self.chunk && self.joined.is_none();
        }
        let after_be = self.since_be.is_some() && !self.aimed;
        let ongoing = shown.ends_with("ing") && !TABLES.fixed.contains(shown);
        self.atoms.push(Atom {
            key,
            shown: shown.to_owned(),
            class,
            role: self.role.unwrap_or(Relation::Plain),
            preposition: self.role.map_or("", |_| self.preposition),
            chunk: self.chunk,
            modifier: false,
            passive: voice.passive,
            participle: voice.participle,
            progressive: after_be && (ongoing || self.being && voice.participle),
            after_be,
            open: false,
            past: self.finite && is_past(shown) && !voice.participle,
            plural: self.is_plural(shown),
            definite: self.definite,
            joined: self.joined.take(),
        });
        self.filled = true;
    }

    fn is_soft(&self, word: &str) -> bool {
        TABLES.soft.contains(word) || self.open && TABLES.mild.contains(word)
    }

    /// "Some" and "any" say nothing behind "there", "have" and "what are": "are there any dogs". As the
    /// subject they do: "do some plans include backups".
    fn is_unquantified(&self, tokens: &[Token], at: usize) -> bool {
        if !matches!(tokens[at].text.as_str(), "some" | "any") {
            return false;
        }
        let Some(before) = at.checked_sub(1).map(|before| &tokens[before]) else {
            return false;
        };
        match before.text.as_str() {
            "there" | "have" | "has" | "had" | "need" | "want" | "without" | "not" => true,
            "is" | "are" | "were" | "was" => {
                self.what && at > 1 && tokens[at - 2].kind == TokenKind::Break
            }
            _ => before.kind == TokenKind::Break && at == 1,
        }
    }

    /// Soft words that say something where they stand: "how many seats are available" and "the
    /// available balance", "a current account" but not "the current price".
    fn says(&self, tokens: &[Token], at: usize) -> bool {
        if !matches!(tokens[at].text.as_str(), "available" | "current") {
            return false;
        }
        let next = tokens.get(at + 1).filter(|next| {
            let word = next.text.as_str();
            let function = TABLES.stop.contains(word)
                || TABLES.determiners.contains(word)
                || TABLES.prepositions.contains_key(word)
                || word.starts_with('@');
            next.kind == TokenKind::Word && !function
        });
        let key = next.map(|next| TABLES.canonical(&next.text));
        let measured = key.is_some_and(|key| {
            TABLES.measures.contains(key.as_str())
                || matches!(TABLES.classes.get(key.as_str()), Some(&("ticker" | "time")))
                || matches!(
                    key.as_str(),
                    "status" | "state" | "dat" | "tim" | "valu" | "market"
                )
        });
        match tokens[at].text.as_str() {
            "available" => self.counts || next.is_some(),
            "current" => next.is_some() && !measured,
            _ => false,
        }
    }

    /// Verbs in the third person look like a plural: they are one only where a phrase starts.
    fn is_plural(&self, word: &str) -> bool {
        if matches!(word, "children" | "men" | "women" | "people" | "indices") {
            return true;
        }
        if !word.ends_with('s') || word.ends_with("ss") {
            return false;
        }
        let base = TABLES.base(word);
        let verb = TABLES.is_verb(&base) && !self.named && (self.filled || self.third);
        base.len() < word.len() && !verb
    }

    /// A preposition without a word behind it: "which chain do I bridge to" against "bridge from",
    /// "what did Darwin write about" against "what did Darwin write".
    fn dangling(&mut self) {
        let Some(role) = self.role.filter(|_| !self.filled) else {
            return;
        };
        if let Some(last) = self.atoms.last_mut().filter(|_| role == Relation::In) {
            last.open = true;
        }
        // "Where does it run on" is "where does it run".
        let placed = self.placed && role == Relation::In;
        let early = matches!(role, Relation::In | Relation::Of | Relation::About);
        let begins = early && self.atoms.is_empty();
        if !(placed || begins || matches!(role, Relation::Plain | Relation::Than)) {
            self.role = None;
            let preposition = std::mem::take(&mut self.preposition);
            let key = match role {
                Relation::In => place(preposition),
                role => role.name(),
            };
            self.push(key.to_owned(), preposition, "word", Voice::default());
        }
    }

    /// Ends a phrase that "and" or "or" goes on beyond.
    fn bounded(&mut self) {
        let joined = self.joined;
        self.boundary();
        self.joined = joined;
    }

    fn boundary(&mut self) {
        self.role = None;
        self.filled = false;
        self.joined = None;
        self.definite = false;
        self.chunk += 1;
    }
}

/// What stands before a noun: an owner, a number, a word of order such as "last", or a participle.
fn names(token: &Token) -> bool {
    let word = token.text.as_str();
    let ordered = matches!(
        word,
        "last" | "first" | "next" | "previous" | "open" | "new" | "old" | "pending" | "recent"
    );
    let described = word.len() > 4 && (word.ends_with("ed") || word.ends_with("ly"));
    token.kind == TokenKind::Number || word == "@s" || ordered || described
}

/// "Who does the laundry": "do" with its object and without another verb.
fn is_deed(tokens: &[Token], at: usize) -> bool {
    let clause = tokens[at + 1..].iter();
    let clause: Vec<&Token> = clause
        .take_while(|token| token.kind != TokenKind::Break)
        .collect();
    let determined = |token: &Token| TABLES.determiners.contains(token.text.as_str());
    let verb =
        |pair: &[&Token]| !determined(pair[0]) && TABLES.is_verb(&TABLES.base(&pair[1].text));
    clause.first().is_some_and(|first| determined(first)) && !clause.windows(2).any(verb)
}

/// What can stand before a finite verb: a question word, a pronoun or a noun.
fn is_subject(token: &Token) -> bool {
    let word = token.text.as_str();
    match token.kind {
        TokenKind::Break => true,
        TokenKind::Word => {
            !TABLES.determiners.contains(word)
                && !TABLES.prepositions.contains_key(word)
                && !matches!(word, "and" | "or")
        }
        _ => false,
    }
}

fn is_past(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ed") && !TABLES.fixed.contains(word)
        || TABLES.pasts.contains(word)
}
