//! Reads one token after the other, and what stands around it, into atoms.

use super::word::{is_certain, is_past, is_relative, is_subject, names};
use super::{Atom, Relation, place};
use crate::guard::frame::is_auxiliary;
use crate::guard::rewrite::is_particle_verb;
use crate::guard::scan::{SENTENCE_END, Token, TokenKind};
use crate::guard::tables::TABLES;

/// How a word stands beside a form of "be".
#[derive(Default, Clone, Copy)]
pub(super) struct Voice {
    passive: bool,
    participle: bool,
}

/// The atoms of the tokens that are read, and what the words before say of the next one.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) atoms: Vec<Atom>,
    /// The text asks what, how or when.
    pub(super) open: bool,
    /// The text asks how many or how much.
    pub(super) counts: bool,
    /// The text asks what.
    pub(super) what: bool,
    /// The text asks who.
    pub(super) who: bool,
    /// The text asks where or when.
    pub(super) placed: bool,
    /// The word before can stand before a verb.
    pub(super) finite: bool,
    /// The word before is "it", "he" or "she": "before it renews".
    pub(super) third: bool,
    /// The word before makes this one a noun: "Bob's orders", "the last orders", "2 orders".
    pub(super) named: bool,
    /// A preposition stands behind the form of "be".
    pub(super) aimed: bool,
    /// "Do", "does" or "did" stands before in the clause.
    pub(super) asked: bool,
    /// A modal verb stands before in the clause.
    pub(super) modal: bool,
    /// "Being" stands before the word.
    pub(super) being: bool,
    /// The form of "be" before is "be", "been" or "being".
    pub(super) bare: bool,
    /// A determiner of the current phrase names a certain thing.
    pub(super) definite: bool,
    /// "My", "its" or "a", if the current phrase begins with it.
    pub(super) determiner: &'static str,
    pub(super) role: Option<Relation>,
    pub(super) preposition: &'static str,
    pub(super) chunk: usize,
    /// The word before is "'s" of an owner.
    pub(super) owned: bool,
    /// Content of the current phrase was read.
    pub(super) filled: bool,
    /// Sentences that have ended.
    pub(super) sentence: usize,
    /// Words since a form of "be".
    pub(super) since_be: Option<usize>,
    pub(super) joined: Option<&'static str>,
    /// The word before, but for an article, is "as".
    pub(super) acts_as: bool,
    /// "Not" or the like stands before: "not displayed correctly".
    pub(super) denied: bool,
}

impl Builder {
    pub(super) fn token(&mut self, tokens: &[Token], at: usize) {
        let token = &tokens[at];
        self.finite = at > 0 && (is_subject(&tokens[at - 1]) || is_relative(tokens, at - 1));
        self.named = at > 0 && names(&tokens[at - 1]);
        self.third = at > 0 && matches!(tokens[at - 1].text.as_str(), "it" | "he" | "she");
        self.since_be = self
            .since_be
            .map(|words| words + 1)
            .filter(|words| *words <= 8);
        match token.kind {
            TokenKind::Break => {
                self.sentence += usize::from(token.text == SENTENCE_END);
                self.dangling();
                self.boundary();
                self.since_be = None;
                self.asked = false;
                self.modal = false;
            }
            TokenKind::Word => self.word(tokens, at),
            TokenKind::Number => self.literal(token, "number"),
            TokenKind::Code => self.literal(token, "code"),
            TokenKind::Quote => self.literal(token, "quote"),
            TokenKind::Address => self.literal(token, "address"),
            TokenKind::Url => self.literal(token, "URL"),
            TokenKind::Path => self.literal(token, "file"),
            TokenKind::Symbol => self.literal(token, "sign"),
        }
    }

    fn literal(&mut self, token: &Token, class: &'static str) {
        self.push(token.text.clone(), &token.text, class, Voice::default());
    }

    fn word(&mut self, tokens: &[Token], at: usize) {
        let word = tokens[at].text.as_str();
        // "Solana's price" is a compound, as "Solana price".
        if word == "@s" {
            self.definite = true;
            self.owned = true;
            return;
        }
        self.be(word);
        self.aimed |= TABLES.prepositions.contains_key(word);
        let main = self.main_verb(tokens, at);
        self.asked |= matches!(word, "do" | "does" | "did");
        self.modal |= word == "@aux";
        if let Some(key) = main {
            self.bounded();
            self.push(TABLES.canonical(key), word, "word", Voice::default());
            self.bounded();
        } else if let Some((written, name)) = TABLES.prepositions.get_key_value(word) {
            self.preposition(written, Relation::of(name), to_verb(tokens, at));
        } else if matches!(word, "and" | "or") {
            self.joined = Some(if word == "and" { "and" } else { "or" });
        } else if TABLES.determiners.contains(word) {
            self.determiner(word);
        } else if TABLES.stop.contains(word) || word.starts_with('@') {
            // "Where to does the ferry go" names the end of the way, and "where from" its start.
            let aimed = self.placed && self.atoms.is_empty() && is_auxiliary(word);
            if word.starts_with('@') || aimed {
                self.dangling();
            }
            self.bounded();
            self.acts_as = word == "as";
        } else if (!self.is_soft(word) || self.says(tokens, at))
            && !self.is_unquantified(tokens, at)
        {
            self.said(tokens, at);
        }
    }

    /// Notes a form of "be" or "get" for the words behind it.
    fn be(&mut self, word: &str) {
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
    }

    /// Ends the phrase before a preposition, and begins one in its role, unless "to" is that of a verb.
    fn preposition(&mut self, written: &'static str, role: Relation, before_verb: bool) {
        let compared = self.role == Some(Relation::Than) && !self.filled;
        // "Devices that I download to on this plan" are not those that I download from.
        let kept = matches!(
            self.role,
            Some(Relation::In | Relation::Of | Relation::Plain | Relation::Than)
        );
        if !kept {
            self.dangling();
        }
        self.bounded();
        if compared {
            self.role = Some(Relation::Than);
            self.preposition = "than";
        } else if !before_verb {
            self.role = Some(role);
            self.preposition = written;
        }
    }

    /// Begins a phrase with an article or the like, in the same role behind "and" or "or".
    fn determiner(&mut self, word: &str) {
        let relative = word == "that" && self.filled;
        if self.filled {
            let kept = self.joined.is_some().then_some(self.role).flatten();
            self.bounded();
            self.role = kept;
        }
        self.definite = TABLES.definite.contains(word) && !relative;
        self.determiner = match word {
            "my" | "our" => "my",
            "your" => "your",
            "its" => "its",
            "this" | "these" => "this",
            "that" if !relative => "that",
            "those" => "that",
            "a" | "an" => "a",
            _ => "",
        };
    }

    /// Reads a word that says something.
    fn said(&mut self, tokens: &[Token], at: usize) {
        let word = tokens[at].text.as_str();
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

    fn content(&mut self, word: &str, attributive: bool) {
        let noun = matches!(word, "speed" | "seed" | "feed" | "need" | "breed" | "red");
        // "Can it be run" against "what is run".
        let same = matches!(word, "run" | "set" | "put" | "cut" | "shut");
        let participle = word.ends_with("ed") && !noun
            || TABLES.participles.contains(word)
            || same && self.bare && self.since_be == Some(1);
        let passive = participle && self.since_be.is_some() && !attributive;
        let key = TABLES.canonical(word);
        let restricts = matches!(word, "available" | "current") || is_certain(word);
        if self.is_soft(&key) && !restricts {
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
        self.denied |= class == "negation";
        let clause = TABLES.conjunctions.contains(key.as_str());
        if clause {
            self.bounded();
        }
        self.push(key, word, class, voice);
        let written = match word.strip_suffix("ed") {
            _ if word == "may-month" => Some("may"),
            Some(verb) if is_particle_verb(verb) => Some(verb),
            _ => None,
        };
        if let (Some(atom), Some(written)) = (self.atoms.last_mut(), written) {
            written.clone_into(&mut atom.shown);
        }
        if clause {
            self.boundary();
        }
    }

    pub(super) fn push(&mut self, key: String, shown: &str, class: &'static str, voice: Voice) {
        if let Some(last) = self.atoms.last_mut() {
            last.modifier = last.chunk == self.chunk && self.joined.is_none();
        }
        let after_be = self.since_be.is_some() && !self.aimed;
        let being = self.being;
        let ongoing = shown.ends_with("ing") && !TABLES.fixed.contains(shown);
        self.atoms.push(Atom {
            key,
            shown: shown.to_owned(),
            class,
            role: self.role.unwrap_or(Relation::Plain),
            preposition: self.role.map_or("", |_| self.preposition),
            chunk: self.chunk,
            sentence: self.sentence,
            modifier: false,
            passive: voice.passive,
            participle: voice.participle,
            progressive: after_be
                && (ongoing || being && (voice.participle || self.since_be == Some(1))),
            after_be,
            open: false,
            past: self.finite && is_past(shown) && !voice.participle,
            plural: self.is_plural(shown),
            capital: None,
            definite: self.definite,
            determiner: self.determiner,
            owned: std::mem::take(&mut self.owned),
            acts_as: std::mem::take(&mut self.acts_as),
            joined: self.joined.take(),
        });
        self.filled = true;
    }

    /// A preposition without a word behind it: "which chain do I bridge to" against "bridge from",
    /// "what did Darwin write about" against "what did Darwin write".
    pub(super) fn dangling(&mut self) {
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
                Relation::To if preposition == "onto" => preposition,
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
        self.owned = false;
        self.determiner = "";
        self.chunk += 1;
    }
}

/// "To" before a verb: "a way to sell".
fn to_verb(tokens: &[Token], at: usize) -> bool {
    tokens[at].text == "to"
        && tokens.get(at + 1).is_some_and(|next| {
            next.kind == TokenKind::Word
                && (TABLES.verbs.contains(next.text.as_str()) || next.text == "checkif")
        })
}
