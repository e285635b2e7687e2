//! Persons in a text: who acts, who owns, and to whom something is done.

use super::{Asking, SentenceFrame, add, is_auxiliary};
use crate::guard::atoms::place;
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

impl SentenceFrame {
    pub(super) fn person(&mut self, word: &str) {
        match word {
            "i" | "we" => add(&mut self.cast, "I"),
            "he" => add(&mut self.cast, "he"),
            "she" => add(&mut self.cast, "she"),
            "they" => add(&mut self.cast, "they"),
            _ => {}
        }
        match word {
            "i" | "we" => self.first.0 = self.first.0.saturating_add(1),
            "me" | "us" => self.first.1 = self.first.1.saturating_add(1),
            _ => {}
        }
        match word {
            "i" | "me" | "we" | "us" | "myself" | "ourselves" => add(&mut self.persons, "I"),
            "you" | "yourself" => add(&mut self.persons, "you"),
            "my" | "mine" | "our" | "ours" => add(&mut self.owners, "my"),
            "your" | "yours" => add(&mut self.owners, "your"),
            "their" | "theirs" => add(&mut self.owners, "their"),
            "its" => self.of_it = true,
            "they" => add(&mut self.others, "they"),
            "he" | "him" | "his" | "himself" => add(&mut self.others, "he"),
            "she" | "her" | "hers" | "herself" => add(&mut self.others, "she"),
            _ => {}
        }
    }

    /// Notes whether a third person acts, or is one to whom something is done.
    pub(super) fn third(&mut self, tokens: &[Token], at: usize) {
        match tokens[at].text.as_str() {
            "he" => add(&mut self.acts, "he"),
            "she" => add(&mut self.acts, "she"),
            "they" => add(&mut self.acts, "they"),
            "him" => add(&mut self.objects, "he"),
            "her" if is_alone(tokens, at) => add(&mut self.objects, "she"),
            "them" => add(&mut self.objects, "they"),
            "it" if is_behind_verb(tokens, at) => add(&mut self.objects, "it"),
            "it" => add(&mut self.acts, "it"),
            _ => {}
        }
    }

    /// Whether a third person only acts here, and something is only done to it in the other frame.
    pub(in crate::guard) fn acts_on(&self, other: &Self) -> bool {
        let only = |person: &&str, one: &[&str], other: &[&str]| {
            one.contains(person) && !other.contains(person)
        };
        let acts = |person: &&&str| only(person, &self.acts, &self.objects);
        let done = |person: &&str| only(person, &other.objects, &other.acts);
        self.acts.iter().filter(acts).any(done)
    }

    /// Whether somebody else acts here, and I do in the other question, which has no word for it: "how does
    /// he know I am real" and "how to know he is real".
    pub(in crate::guard) fn is_of_another(&self, other: &Self) -> bool {
        let how = self.ask == Asking::How && other.ask == Asking::How;
        let implied = other.subject.is_none() && other.persons.is_empty();
        how && implied && self.is_addressed() == Some(false) && !self.persons.is_empty()
    }

    /// Whether this one asks for me, and the other for a thing of which it tells what I do: "where am I" and
    /// "where is the driver".
    pub(in crate::guard) fn asks_for_me(&self, other: &Self) -> bool {
        let opens = self.opens_past.or(self.tells.then_some(false)).is_some() && other.tells;
        opens
            && self.is_addressed() == Some(true)
            && other.subject.is_none()
            && !other.persons.is_empty()
    }

    /// Whether a third person does something to me here, and is one to whom I do it in the other text: "she
    /// owes me rent" and "I owe her rent".
    pub(in crate::guard) fn acts_on_me(&self, other: &Self) -> bool {
        let third = |who: &&&str| **who != "I" && !other.cast.contains(*who);
        let mut acting = self.cast.iter().filter(third);
        self.done_to && !other.done_to && acting.any(|who| other.others.contains(who))
    }

    /// Whether a third person acts here in the place of one who acts in the other text only: "if he has a cold"
    /// and "if I have a cold".
    pub(in crate::guard) fn replaces(&self, other: &Self) -> bool {
        let only = |one: &Self, other: &Self, first: bool| {
            let mut acting = one.cast.iter().filter(|who| first || **who != "I");
            acting.any(|who| !other.cast.contains(who))
        };
        only(self, other, false) && only(other, self, true)
    }

    /// Whether each text has an owner that the other one lacks: "his ETH" and "my ETH". Or what is mine in one
    /// text is a third person's in the other: "my brother wants me to pay his fine" and "to pay my fine".
    pub(in crate::guard) fn owners_replaced(&self, other: &Self) -> bool {
        let only = |one: &Self, other: &Self| {
            let mut owners = one.possessors.iter();
            owners.any(|owner| !other.possessors.contains(owner))
        };
        let theirs = |owner: &str| matches!(owner, "his" | "her" | "their");
        let mut both = self.possessors.iter().zip(&other.possessors);
        let as_many = self.possessors.len() == other.possessors.len();
        as_many && both.any(|pair| matches!(pair, (&"my", who) | (who, &"my") if theirs(who)))
            || only(self, other) && only(other, self)
    }

    /// Whether the same owners stand in another order: "my name on her booking" and "her name on my booking".
    pub(in crate::guard) fn owners_turned(&self, other: &Self) -> bool {
        let sorted = |frame: &Self| {
            let mut owners = frame.possessors.clone();
            owners.sort_unstable();
            owners
        };
        self.possessors != other.possessors && sorted(self) == sorted(other)
    }

    /// Whether the same persons act in the other order: "I think he lied" and "he thinks I lied".
    pub(in crate::guard) fn exchanges(&self, other: &Self) -> bool {
        let all = |one: &Self, other: &Self| one.cast.iter().all(|who| other.cast.contains(who));
        all(self, other) && all(other, self) && self.cast != other.cast
    }

    /// Whether I do something here that is done to me in the other text: "a review I left for a seller" and
    /// "a review a seller left for me".
    pub(in crate::guard) fn turns_on_me(&self, other: &Self) -> bool {
        let twice = |(acting, acted_on): (u8, u8)| acting.saturating_add(acted_on) > 1;
        let turned = self.first.0 > other.first.0 && self.first.1 < other.first.1;
        // "She isn't talking to our mother. Should I mediate?" and "... to me. Should our mother mediate?"
        let asked = !self.modals.is_empty() && self.modals == other.modals;
        let replaced = asked && self.is_addressed() == Some(true) && other.subject.is_none();
        turned && (replaced || twice(self.first) && twice(other.first))
    }

    /// Whether the pronoun behind the first auxiliary is the first or second person.
    pub(in crate::guard) fn is_addressed(&self) -> Option<bool> {
        let subject = self.subject.as_deref()?;
        match subject {
            "i" | "you" | "we" => Some(true),
            "he" | "she" | "it" | "they" => Some(false),
            _ => None,
        }
    }
}

/// A word that says who owns what stands behind it.
pub(super) fn possessor(tokens: &[Token], at: usize) -> Option<&'static str> {
    Some(match tokens[at].text.as_str() {
        "my" | "our" => "my",
        "your" => "your",
        "his" => "his",
        "her" if !is_alone(tokens, at) => "her",
        "their" => "their",
        "its" => "its",
        _ => return None,
    })
}

/// "You", "me" or "us" behind a verb.
pub(super) fn is_object(tokens: &[Token], at: usize) -> bool {
    matches!(tokens[at].text.as_str(), "you" | "me" | "us") && is_behind_verb(tokens, at)
}

/// "Me" or "us" behind "at", "by", "from" or "against".
pub(super) fn is_behind_preposition(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).map_or("", |before| &tokens[before].text);
    matches!(tokens[at].text.as_str(), "me" | "us")
        && matches!(before, "at" | "by" | "from" | "against")
}

/// The preposition before a third person. "What can I do about it" is "what can I do".
pub(super) fn preposition(tokens: &[Token], at: usize) -> Option<&'static str> {
    let third = match tokens[at].text.as_str() {
        "it" | "them" | "him" => true,
        "her" => is_alone(tokens, at),
        _ => false,
    };
    let before = &tokens[at.checked_sub(1)?].text;
    let (written, role) = TABLES.prepositions.get_key_value(before.as_str())?;
    match *role {
        _ if !third => None,
        "of" | "about" => None,
        "in" => Some(place(written)),
        role => Some(role),
    }
}

/// The preposition before a person, with the person: "about me", "of them".
pub(super) fn aside(tokens: &[Token], at: usize) -> Option<(&'static str, &'static str)> {
    let (person, third) = match tokens[at].text.as_str() {
        "me" | "us" => ("I", false),
        "you" => ("you", false),
        "them" => ("they", true),
        "him" => ("he", true),
        "her" if is_alone(tokens, at) => ("she", true),
        _ => return None,
    };
    let before = &tokens[at.checked_sub(1)?].text;
    let role = TABLES.prepositions.get(before.as_str())?;
    (!third || matches!(*role, "of" | "about")).then_some((*role, person))
}

/// The person who is to do what another one wants: "my landlord wants me to leave".
pub(super) fn wanted(tokens: &[Token], at: usize) -> Option<&'static str> {
    let wants = matches!(
        tokens[at.checked_sub(1)?].text.as_str(),
        "wants" | "wanted" | "asks" | "asked" | "expects" | "expected" | "needs" | "needed"
    );
    let to = tokens.get(at + 1).is_some_and(|next| next.is_word("to"));
    let person = match tokens[at].text.as_str() {
        "me" | "us" => "me to",
        "you" => "you to",
        "him" | "her" | "it" | "them" => "them to",
        _ => return None,
    };
    (wants && to).then_some(person)
}

/// Whether a word stands behind what can be a verb.
fn is_behind_verb(tokens: &[Token], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| &tokens[before]) else {
        return false;
    };
    let word = before.text.as_str();
    before.kind == TokenKind::Word
        && !is_auxiliary(word)
        && !word.starts_with('@')
        && !TABLES.prepositions.contains_key(word)
        && !TABLES.stop.contains(word)
        && !TABLES.conjunctions.contains(word)
        && !matches!(
            word,
            "when"
                | "and"
                | "or"
                | "what"
                | "happenif"
                | "happenedif"
                | "not"
                | "how"
                | "why"
                | "where"
        )
}

/// "Her" that owns nothing: "who loves her", but not "who loves her son".
fn is_alone(tokens: &[Token], at: usize) -> bool {
    tokens.get(at + 1).is_none_or(|next| {
        let word = next.text.as_str();
        next.kind == TokenKind::Break
            || word.starts_with('@')
            || matches!(word, "and" | "or")
            || TABLES.prepositions.contains_key(word)
            || TABLES.determiners.contains(word)
            || TABLES.stop.contains(word)
            || TABLES.conjunctions.contains(word)
            || TABLES.classes.get(word) == Some(&"time")
    })
}
