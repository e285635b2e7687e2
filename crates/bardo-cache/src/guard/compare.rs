//! Compares two signatures and says what separates them.

mod alignment;
mod persons;
mod voice;

use std::cmp::Ordering;

use super::Signature;
use super::atoms::{Atom, Relation};
use super::frame::{Asking, SentenceFrame};
use super::mismatch::Mismatch;
use super::order::{self, compounds, relations_agree, roles_agree};
use super::tables::TABLES;
use super::tense;

use alignment::{aligned, unmatched};
use persons::persons;
use voice::{Turn, turned};

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
    let open = |frame: &SentenceFrame| {
        !matches!(frame.ask, Asking::YesNo | Asking::Nothing)
            && (frame.ask == Asking::How || !frame.persons.is_empty())
            && !frame.modals.contains(&"will")
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
    let mut agents = None;
    let mut turned_over = Vec::new();
    for &(a, b) in &pairs {
        let (a, b) = (&one[a], &other[b]);
        if tense::goes_on(a, b) || tense::goes_on(b, a) {
            return Some(Mismatch::Changed {
                class: "form",
                one: a.shown.clone(),
                other: b.shown.clone(),
            });
        }
        if tense::counts_differ(a, b) {
            return Some(Mismatch::Number {
                one: a.shown.clone(),
                other: b.shown.clone(),
            });
        }
        if a.class == "state" && a.participle != b.participle {
            match turned(first, second, a, b) {
                Some(Turn::WithAgent(role)) => agents = Some((role, a.key.as_str())),
                Some(Turn::WithoutAgent) => turned_over.push(a.key.as_str()),
                None => {}
            }
        } else if a.passive != b.passive {
            match turned(first, second, a, b) {
                Some(Turn::WithoutAgent) => {}
                Some(Turn::WithAgent(role)) => agents = Some((role, a.key.as_str())),
                None => {
                    return Some(Mismatch::Voice {
                        word: a.shown.clone(),
                    });
                }
            }
        }
    }
    if let Some(difference) = joints(one, other, &pairs) {
        return Some(difference);
    }
    pairs.retain(|&(a, b)| {
        let (a, b) = (&one[a], &other[b]);
        let agent = agents
            .is_some_and(|(role, verb)| (a.role == role) != (b.role == role) || a.key == verb);
        a.passive == b.passive && !agent && !turned_over.contains(&a.key.as_str())
    });
    let changes = |atoms: &[Atom]| {
        atoms
            .iter()
            .any(|atom| TABLES.transforms.contains(&atom.key))
            && atoms.iter().any(|atom| atom.role == Relation::To)
    };
    let transforms = changes(one) && changes(other);
    let swaps = [one, other].iter().all(|atoms| {
        let swap = |atom: &Atom| atom.key == "swap";
        atoms.iter().any(swap)
    });
    let pays = [one, other]
        .iter()
        .all(|atoms| atoms.iter().any(|atom| atom.key == "pay"));
    let adds = [one, other].iter().all(|atoms| {
        let count = |role| atoms.iter().filter(|atom| atom.role == role).count();
        let add = atoms.iter().any(|atom| atom.key == "add");
        add && (count(Relation::To) == 0 || count(Relation::In) == 0)
    });
    order::changed(one, other, &pairs).or_else(|| {
        let apart = |&&(a, b): &&(usize, usize)| order::shows_or_holds(one, a, &other[b]);
        if let Some(&(a, b)) = pairs.iter().find(apart) {
            return Some(relation(&one[a], &other[b]));
        }
        let pairs = || pairs.iter().map(|&(a, b)| (&one[a], &other[b]));
        let agree = |a, b| {
            roles_agree(a, b)
                || transforms && sources_agree(a, b)
                || swaps && targets_agree(a, b)
                || pays && means_agree(a, b)
                || adds && places_agree(a, b)
        };
        // A compound taken apart in each text is two words in exchanged places.
        let only_as = |compound: fn(&Atom, &Atom) -> bool| {
            pairs().find(|(a, b)| !relations_agree(a, b) && compound(a, b))
        };
        let exchanged = only_as(compounds).filter(|_| only_as(|a, b| compounds(b, a)).is_some());
        pairs()
            .find(|(a, b)| !agree(a, b))
            .or(exchanged)
            .map(|(a, b)| relation(a, b))
    })
}

/// One word behind two prepositions, as they were written where both are of one role.
fn relation(a: &Atom, b: &Atom) -> Mismatch {
    let named = |atom: &Atom| match atom.role {
        Relation::In if a.role == b.role => atom.preposition,
        role => role.name(),
    };
    Mismatch::Relation {
        word: a.shown.clone(),
        one: named(a),
        other: named(b),
    }
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

/// "Swap ETH for USDC" and "swap ETH to USDC".
fn targets_agree(a: &Atom, b: &Atom) -> bool {
    use Relation::{For, To};
    matches!(a.class, "ticker" | "currency") && matches!((a.role, b.role), (For, To) | (To, For))
}

/// "Pay in USDC" and "pay with USDC".
fn means_agree(a: &Atom, b: &Atom) -> bool {
    use Relation::{In, With};
    matches!(a.class, "ticker" | "currency") && matches!((a.role, b.role), (In, With) | (With, In))
}

/// "Add a network to the wallet" and "add a network in the wallet", where nothing else has a place.
fn places_agree(a: &Atom, b: &Atom) -> bool {
    let (to, place) = match (a.role, b.role) {
        (Relation::To, Relation::In) => (a, b),
        (Relation::In, Relation::To) => (b, a),
        _ => return false,
    };
    to.preposition == "to" && place.preposition == "in"
}

fn sources_agree(a: &Atom, b: &Atom) -> bool {
    use Relation::{From, Plain};
    matches!((a.role, b.role), (From, Plain) | (Plain, From))
}
