//! Words that are synonyms elsewhere, and are not where the word itself is meant.

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
        if counts && TABLES.base(&a.shown) != TABLES.base(&b.shown) {
            return Some(Mismatch::Changed {
                class: "word",
                one: a.shown.clone(),
                other: b.shown.clone(),
            });
        }
    }
    None
}

/// Whether a word is a name before another one: "exit" in "the exit command".
fn names(atoms: &[Atom], at: usize) -> bool {
    let next = atoms.get(at + 1);
    atoms[at].modifier && next.is_some_and(|next| TABLES.named.contains(&next.key))
}

/// Whether something is taken from a place where it is only shown: "a photo from an album".
fn is_from_link(atoms: &[Atom]) -> bool {
    let linked = |atom: &Atom| atom.role == Relation::From && TABLES.linked.contains(&atom.key);
    atoms.iter().any(linked)
}
