//! What a word is where it stands: a main verb, a plural, a word without content.

use super::builder::Builder;
use crate::guard::frame::is_auxiliary;
use crate::guard::scan::{Token, TokenKind};
use crate::guard::stems;
use crate::guard::tables::TABLES;
use crate::guard::tense::is_perfect;

impl Builder {
    /// "Have" and "do" where they are no auxiliaries: "who has a lawyer", "what does a nurse do".
    pub(super) fn main_verb(&self, tokens: &[Token], at: usize) -> Option<&'static str> {
        match tokens[at].text.as_str() {
            "have" | "has" | "had" | "having" => (!is_perfect(tokens, at)).then_some("possess"),
            "do" if self.asked || self.modal => Some("do"),
            "done" | "doing" if at > 0 => Some("do"),
            "do" | "does" | "did" if self.who => is_deed(tokens, at).then_some("do"),
            _ => None,
        }
    }

    pub(super) fn is_soft(&self, word: &str) -> bool {
        // What many do, few may do properly.
        let is_manner = self.counts && matches!(word, "properly" | "correctly");
        let is_mild = self.open && !self.denied && !is_manner && TABLES.mild.contains(word);
        TABLES.soft.contains(word) || is_mild
    }

    /// "Some" and "any" say nothing behind "there", "have" and "what are": "are there any dogs". As the
    /// subject they do: "do some plans include backups".
    pub(super) fn is_unquantified(&self, tokens: &[Token], at: usize) -> bool {
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
    pub(super) fn says(&self, tokens: &[Token], at: usize) -> bool {
        if is_certain(&tokens[at].text) {
            return !at.checked_sub(1).is_some_and(|before| {
                let before = tokens[before].text.as_str();
                TABLES.determiners.contains(before) || matches!(before, "any" | "no" | "one")
            });
        }
        if !matches!(tokens[at].text.as_str(), "available" | "current") {
            return false;
        }
        // "The current Ethereum gas price" is that of now, as "the current gas price".
        let class = |at: usize| {
            tokens
                .get(at)
                .and_then(|next| TABLES.classes.get(&*next.text))
        };
        let of_chain = usize::from(class(at + 1) == Some(&"chain"));
        let next = tokens.get(at + 1 + of_chain).filter(|next| {
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
                    "status" | "state" | stems::DATE | stems::TIME | stems::VALUE | "market"
                )
        });
        match tokens[at].text.as_str() {
            "available" => self.counts || next.is_some(),
            "current" => next.is_some() && !measured,
            _ => false,
        }
    }

    /// Verbs in the third person look like a plural: they are one only where a phrase starts.
    pub(super) fn is_plural(&self, word: &str) -> bool {
        if matches!(word, "children" | "men" | "women" | "people" | "indices") {
            return true;
        }
        if !word.ends_with('s') || word.ends_with("ss") {
            return false;
        }
        let base = TABLES.base(word);
        // "The three largest exchanges" are several.
        let behind = self.atoms.last();
        let counted = behind.is_some_and(|atom| matches!(atom.class, "number" | "superlative"));
        let acts = !self.named && !counted && (self.filled || self.third);
        let verb = TABLES.is_verb(&base) && acts;
        base.len() < word.len() && !verb
    }
}

/// Words that restrict several things: "delete certain emails", but not "delete a certain email".
pub(super) fn is_certain(word: &str) -> bool {
    matches!(word, "specific" | "particular" | "certain")
}

/// What stands before a noun: an owner, a number, a word of order such as "last", or a participle.
pub(super) fn names(token: &Token) -> bool {
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
pub(super) fn is_subject(token: &Token) -> bool {
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

/// Whether "that" stands behind a noun: "cases that began".
pub(super) fn is_relative(tokens: &[Token], at: usize) -> bool {
    let noun = at.checked_sub(1).map(|before| &tokens[before]);
    let noun = noun.filter(|noun| noun.kind == TokenKind::Word && is_subject(noun));
    tokens[at].is_word("that") && noun.is_some_and(|noun| !is_auxiliary(&noun.text))
}

/// Whether a word is written in a form of the past.
pub(in crate::guard) fn is_past(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ed") && !TABLES.fixed.contains(word)
        || TABLES.pasts.contains(word)
}
