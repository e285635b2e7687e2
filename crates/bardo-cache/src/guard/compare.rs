//! Compares two signatures and says what separates them.

mod alignment;
mod articles;
mod heads;
mod persons;
mod places;
mod relations;
mod voice;
mod wording;

use std::cmp::Ordering;

use super::Signature;
use super::atoms::{Atom, Relation};
use super::frame::{Asking, SentenceFrame};
use super::mismatch::Mismatch;
use super::order;
use super::tables::TABLES;
use super::tense;

use alignment::{aligned, unmatched};
use persons::persons;
use relations::relations;
use voice::Turns;

/// The first difference between two frames.
pub(super) fn frames(one: &SentenceFrame, other: &SentenceFrame) -> Option<Mismatch> {
    if !asks_agree(one, other) {
        return Some(Mismatch::Question {
            one: one.ask.name(),
            other: other.ask.name(),
        });
    }
    let amount =
        |one: &SentenceFrame, other: &SentenceFrame| one.sum && !other.sum && other.indefinite;
    if amount(one, other) || amount(other, one) {
        return Some(Mismatch::Question {
            one: "how much",
            other: "what",
        });
    }
    if !modals_agree(one, other) {
        return Some(Mismatch::Modality {
            one: said(&one.modals),
            other: said(&other.modals),
        });
    }
    let stated = !one.stated.is_empty() && !other.stated.is_empty();
    if stated && one.stated != other.stated {
        return Some(Mismatch::Modality {
            one: said(&one.stated),
            other: said(&other.stated),
        });
    }
    if tense::differs(one, other) {
        return Some(Mismatch::Tense);
    }
    if let (Some(one), Some(other)) = (one.grain, other.grain)
        && one != other
    {
        return Some(Mismatch::Question { one, other });
    }
    persons(one, other)
}

/// The first difference between words that are equal only as they are written.
pub(super) fn verbatim(one: &[Atom], other: &[Atom]) -> Option<Mismatch> {
    let differs = |(a, b): &(&Atom, &Atom)| a.key != b.key;
    if let Some((a, b)) = one.iter().zip(other).find(differs) {
        return Some(Mismatch::Changed {
            class: a.class,
            one: a.shown.clone(),
            other: b.shown.clone(),
        });
    }
    let rest = one.get(other.len()).or_else(|| other.get(one.len()))?;
    Some(Mismatch::OnlyInOne {
        class: rest.class,
        word: rest.shown.clone(),
    })
}

/// In open questions of "I", "you" or "we" a modal may be left out: "what do I do" and "what should I
/// do", but not "what must the header contain" and "what does it contain".
fn modals_agree(one: &SentenceFrame, other: &SentenceFrame) -> bool {
    // "How much can I earn" is not "how much do I earn".
    let counts = |frame: &SentenceFrame, modal: &str| match frame.ask {
        Asking::HowMuch | Asking::HowMany => matches!(modal, "can" | "should"),
        Asking::What | Asking::Who | Asking::HowOften | Asking::HowLong => modal == "can",
        Asking::How | Asking::When => modal == "should",
        Asking::Why => matches!(modal, "should" | "must"),
        _ => false,
    };
    let open = |frame: &SentenceFrame| {
        !matches!(frame.ask, Asking::YesNo | Asking::Nothing)
            && (frame.ask == Asking::How || !frame.persons.is_empty())
            && !frame.modals.contains(&"will")
            && !frame.modals.iter().any(|modal| counts(frame, modal))
    };
    let absent = one.modals.is_empty() || other.modals.is_empty();
    one.modals == other.modals || absent && open(one) && open(other)
}

/// "Which is safer, A or B" and "is A or B safer".
pub(super) fn offers_a_choice(atoms: &[Atom]) -> bool {
    let choice = atoms.iter().any(|atom| atom.joined == Some("or"));
    choice && atoms.iter().any(|atom| atom.class == "superlative")
}

/// Words as a reason shows them.
fn said(words: &[&str]) -> String {
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(" ")
    }
}

/// "The ETH price" asks what it is, but "I have diabetes" and "the app is a game" ask nothing.
fn asks_agree(one: &SentenceFrame, other: &SentenceFrame) -> bool {
    let bare = |frame: &SentenceFrame| {
        frame.ask == Asking::Nothing && frame.persons.is_empty() && !frame.present
    };
    let what = |frame: &SentenceFrame| frame.ask == Asking::What;
    one.ask == other.ask || bare(one) && what(other) || what(one) && bare(other)
}

/// The first difference between the atoms of two signatures.
pub(super) fn atoms(first: &Signature, second: &Signature) -> Option<Mismatch> {
    let (one, other) = (&first.atoms[..], &second.atoms[..]);
    let (mut pairs, left, right) = aligned(one, other);
    if let Some(difference) = unmatched(&left, &right) {
        return Some(difference);
    }
    let mut turns = Turns::default();
    let what = |frame: &SentenceFrame| frame.ask == Asking::What && frame.tells;
    let tells = what(&first.frame) && what(&second.frame);
    let start = one.iter().map(|atom| atom.chunk).min();
    let defined = |atom: &Atom| start == Some(atom.chunk);
    // "The water in Rome" is water in Rome.
    let placed = one.iter().any(|atom| atom.role == Relation::In);
    for &(a, b) in &pairs {
        let complement = complement((one, a), (other, b));
        let (a, b) = (&one[a], &other[b]);
        let owned = || {
            let (one, other) = ((&first.frame, a), (&second.frame, b));
            persons::owners(one, other).or_else(|| persons::receivers(one, other))
        };
        let subject = first.frame.ask == Asking::YesNo && defined(a);
        let counted = first.frame.ask.is_decided() && !subject;
        let all = || articles::pointed((a, one), (b, other), first.frame.ask, subject && !placed);
        let now = || tense::habit_differs((&first.frame, a), (&second.frame, b));
        let difference = form(a, b, counted)
            .or_else(now)
            .or_else(all)
            .or_else(|| articles::difference(a, b, defined(a) && tells))
            .or(complement)
            .or_else(owned)
            .or_else(|| turns.read(first, second, a, b));
        if difference.is_some() {
            return difference;
        }
    }
    let atoms = pairs.iter().map(|&(a, b)| (&one[a], &other[b]));
    if let Some(difference) = articles::exchanged(atoms) {
        return Some(difference);
    }
    let written = wording::difference(first, second, &pairs);
    if written.is_some() {
        return written;
    }
    if let Some(difference) = joints(one, other, &pairs) {
        return Some(difference);
    }
    // "What is it like" is not "what does it like".
    let tastes = first.frame.tells != second.frame.tells;
    if let Some(like) = one.iter().find(|atom| tastes && atom.shown == "suchas") {
        let word = like.shown.clone();
        return Some(Mismatch::Voice { word });
    }
    let told = pairs
        .iter()
        .any(|&(a, b)| tense::clause_differs(&one[a], &other[b], &second.frame));
    pairs.retain(|&(a, b)| turns.keep(&one[a], &other[b]));
    order::changed(one, other, &pairs)
        .or_else(|| relations(first, second, &pairs))
        .or(told.then_some(Mismatch::Tense))
}

/// A word that goes on in one text only, or names several things in one text only. Where words are
/// `counted`, "a dog" is one.
fn form(a: &Atom, b: &Atom, counted: bool) -> Option<Mismatch> {
    let shown = || (a.shown.clone(), b.shown.clone());
    let differs = |a, b| tense::goes_on(a, b) || does_and_is_done(a, b);
    if differs(a, b) || differs(b, a) {
        let (class, (one, other)) = ("form", shown());
        Some(Mismatch::Changed { class, one, other })
    } else if tense::counts_differ(a, b, counted) {
        let (one, other) = shown();
        Some(Mismatch::Number { one, other })
    } else {
        None
    }
}

/// Before a noun, what does something is not what it is done to: "a boring coworker" and "a bored coworker".
fn does_and_is_done(a: &Atom, b: &Atom) -> bool {
    let ends = |atom: &Atom, ending| {
        atom.modifier && atom.shown.ends_with(ending) && !TABLES.fixed.contains(&*atom.shown)
    };
    let done = ends(b, "ed") || b.modifier && TABLES.participles.contains(&*b.shown);
    ends(a, "ing") && done
}

/// Behind some verbs, the form of the next one says what is meant: "stop playing" is not "stop to play",
/// and "remember paying" is not "remember to pay".
fn complement(one: (&[Atom], usize), other: (&[Atom], usize)) -> Option<Mismatch> {
    let behind = |(atoms, at): (&[Atom], usize)| {
        let verb = at.checked_sub(1).map_or("", |before| &*atoms[before].key);
        matches!(verb, "stop" | "remember" | "forget" | "regret" | "formerly")
    };
    let (a, b) = (&one.0[one.1], &other.0[other.1]);
    // "Before each test" is many times, and "before all tests" is once.
    let first = |(atoms, at): (&[Atom], usize)| {
        at.checked_sub(1)
            .is_some_and(|before| matches!(&*atoms[before].shown, "before" | "after"))
    };
    if first(one) && first(other) && (a.shown == "all") != (b.shown == "all") {
        let (class, one, other) = ("quantifier", a.shown.clone(), b.shown.clone());
        return Some(Mismatch::Changed { class, one, other });
    }
    let gerund = |atom: &Atom| atom.shown.ends_with("ing") && !TABLES.fixed.contains(&*atom.shown);
    let changed = gerund(a) != gerund(b);
    let deed = changed && (describes_or_does(one, other) || describes_or_does(other, one));
    (deed || behind(one) && behind(other) && changed).then(|| Mismatch::Changed {
        class: "form",
        one: a.shown.clone(),
        other: b.shown.clone(),
    })
}

/// Whether a word describes the next one, and is done to it in the other text: "start a hedge fund" and "start
/// hedging a fund".
fn describes_or_does(noun: (&[Atom], usize), verb: (&[Atom], usize)) -> bool {
    let ((nouns, a), (verbs, b)) = (noun, verb);
    let (Some(named), Some(object)) = (nouns.get(a + 1), verbs.get(b + 1)) else {
        return false;
    };
    let describes = nouns[a].modifier && nouns[a].chunk == named.chunk;
    let does = verbs[b].shown.ends_with("ing") && verbs[b].chunk != object.chunk;
    describes && does && named.key == object.key
}

/// "And" in one text where the other has "or".
fn joints(one: &[Atom], other: &[Atom], pairs: &[(usize, usize)]) -> Option<Mismatch> {
    let joins = |atoms: &[Atom], by| atoms.iter().filter(|atom| atom.joined == Some(by)).count();
    let more = |by| joins(one, by).cmp(&joins(other, by));
    // "A or B" against "B and A", whatever stands first.
    if more("or") != Ordering::Equal && more("or") == more("and").reverse() {
        let (a, b) = if more("or") == Ordering::Greater {
            ("or", "and")
        } else {
            ("and", "or")
        };
        return Some(Mismatch::Changed {
            class: "word",
            one: a.to_owned(),
            other: b.to_owned(),
        });
    }
    for &(a, b) in pairs {
        if let (Some(a), Some(b)) = (one[a].joined, other[b].joined)
            && a != b
        {
            return Some(Mismatch::Changed {
                class: "word",
                one: a.to_owned(),
                other: b.to_owned(),
            });
        }
    }
    None
}
