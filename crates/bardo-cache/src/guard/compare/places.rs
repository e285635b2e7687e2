//! Whether a word that moved into or out of a phrase is still said of the same noun.

use crate::guard::Signature;
use crate::guard::atoms::{Atom, Relation};
use crate::guard::order::{compounds, relations_agree};
use crate::guard::stems;
use crate::guard::tables::TABLES;

/// The places of words in two texts.
pub(super) struct WordPlaces<'a> {
    first: &'a Signature,
    second: &'a Signature,
    /// Both texts compare two things, which may stand in each order.
    compares: bool,
}

impl<'a> WordPlaces<'a> {
    pub(super) fn of(first: &'a Signature, second: &'a Signature) -> Self {
        let compares = |atom: &Atom| matches!(&*atom.key, "differ" | "between" | stems::DISTANCE);
        Self {
            first,
            second,
            compares: first.atoms.iter().any(compares),
        }
    }

    /// Whether a word belongs to another noun in the second text: "my neighbor's dog barks" and "my dog
    /// barks at my neighbor".
    pub(super) fn differ(&self, a: &Atom, b: &Atom) -> bool {
        let moved = |a: &Atom, b: &Atom| {
            b.role == Relation::Of && a.role == Relation::Plain
                || !relations_agree(a, b) && compounds(a, b)
        };
        let elsewhere = moved(a, b) && !is_beside(self.first, a, self.second, b)
            || moved(b, a) && !is_beside(self.second, b, self.first, a);
        elsewhere && !self.compares && a.class != "time"
    }
}

/// Whether a word in one text describes the noun that its phrase stands behind in the other: "the office
/// wifi" and "the wifi in the office".
fn is_beside(one: &Signature, word: &Atom, other: &Signature, phrase: &Atom) -> bool {
    let (Some(at), Some(from)) = (place(one, word), place(other, phrase)) else {
        return true;
    };
    if phrase.role != Relation::Of && acts(one, at) {
        return false;
    }
    let head = other.atoms[..from]
        .iter()
        .rfind(|atom| atom.chunk != phrase.chunk);
    // The next word is described in any phrase: "the U.S. GDP".
    let described = one.atoms[at + 1..].iter().enumerate();
    let described = described
        .take_while(|(next, atom)| *next == 0 || atom.chunk == word.chunk)
        .map(|(_, atom)| atom);
    let object = one.atoms[..at].iter().rev().take(2);
    head.is_none_or(|head| described.chain(object).any(|atom| atom.key == head.key))
}

/// Whether a word at the start acts: in "how does Postgres lock rows" the rows are not "in Postgres", where
/// somebody else locks them.
fn acts(text: &Signature, at: usize) -> bool {
    let verb = text.atoms.get(at + 1).is_some_and(|next| {
        let ended = next.shown.ends_with("ing") || next.shown.ends_with("ed");
        !next.participle && !ended && TABLES.is_verb(&TABLES.base(&next.shown))
    });
    let asked = text.frame.opens_past.is_some() && !text.frame.tells;
    at == 0 && asked && verb
}

/// The place of a word in its text.
fn place(text: &Signature, word: &Atom) -> Option<usize> {
    text.atoms.iter().position(|atom| std::ptr::eq(atom, word))
}
