//! Words that are synonyms elsewhere, and are not where the word itself is meant.

use std::collections::HashSet;

use crate::guard::Signature;
use crate::guard::atoms::{Atom, Relation};
use crate::guard::mismatch::Mismatch;
use crate::guard::tables::TABLES;

/// The first word that is written in another way where that counts.
pub(super) fn difference(
    first: &Signature,
    second: &Signature,
    pairs: &[(usize, usize)],
) -> Option<Mismatch> {
    let (one, other) = (&first.atoms[..], &second.atoms[..]);
    let mentioned = first.contrasts.mentions && second.contrasts.mentions;
    let unlinked = is_from_link(one) && is_from_link(other);
    let shaped = one.iter().any(|atom| TABLES.shapes.contains(&atom.key));
    for &(a, b) in pairs {
        let counts = mentioned
            || names(one, a) && names(other, b)
            || unlinked && one[a].key == "remove"
            || shaped && one[a].key == "decrease";
        let (a, b) = (&one[a], &other[b]);
        // "Rhymes with cats" is not "rhymes with cat".
        let sounds = mentioned && a.role == Relation::With && a.plural != b.plural;
        if sounds || counts && TABLES.base(&a.shown) != TABLES.base(&b.shown) {
            return Some(Mismatch::Changed {
                class: "word",
                one: a.shown.clone(),
                other: b.shown.clone(),
            });
        }
    }
    None
}

/// Whether a word is the name of a command: "exit" in "the exit command", and "run" in "docker run".
fn names(atoms: &[Atom], at: usize) -> bool {
    let beside = |place: usize, list: &HashSet<String>| {
        let other = atoms.get(place);
        other.is_some_and(|other| list.contains(&other.key) && other.chunk == atoms[at].chunk)
    };
    let before = at.checked_sub(1);
    let commanded = before.is_some_and(|before| beside(before, &TABLES.commanders));
    if atoms[at].modifier {
        beside(at + 1, &TABLES.named)
    } else {
        commanded
    }
}

/// Whether something is taken from a place where it is only shown: "a photo from an album".
fn is_from_link(atoms: &[Atom]) -> bool {
    let linked = |atom: &Atom| atom.role == Relation::From && TABLES.linked.contains(&atom.key);
    atoms.iter().any(linked)
}
