//! Words that stand behind another preposition in each text.

use super::heads;
use super::places::WordPlaces;
use crate::guard::Signature;
use crate::guard::atoms::{Atom, Relation};
use crate::guard::mismatch::Mismatch;
use crate::guard::order::{compounds, relations_agree, roles_agree, shows_or_holds};
use crate::guard::tables::TABLES;

/// The first word whose relation in one text is not that in the other.
pub(super) fn relations(
    first: &Signature,
    second: &Signature,
    pairs: &[(usize, usize)],
) -> Option<Mismatch> {
    let (one, other) = (&first.atoms[..], &second.atoms[..]);
    let apart = |&&(a, b): &&(usize, usize)| {
        shows_or_holds(one, a, &other[b]) || heads::differ((one, a), (other, b))
    };
    if let Some(&(a, b)) = pairs.iter().find(apart) {
        return Some(relation(&one[a], &other[b]));
    }
    let eased = Eased::of(one, other);
    let pairs = || pairs.iter().map(|&(a, b)| (&one[a], &other[b]));
    // A compound taken apart in each text is two words in exchanged places.
    let only_as = |compound: fn(&Atom, &Atom) -> bool| {
        pairs().find(|(a, b)| !relations_agree(a, b) && compound(a, b))
    };
    let exchanged = only_as(compounds).filter(|_| only_as(|a, b| compounds(b, a)).is_some());
    let places = WordPlaces::of(first, second);
    pairs()
        .find(|pair| {
            let (a, b) = pair;
            (!roles_agree(a, b) || places.differ(a, b)) && !eased.agree(a, b)
        })
        .or(exchanged)
        .map(|(a, b)| relation(a, b))
}

/// Verbs of both texts beside which two prepositions say the same.
struct Eased {
    /// "Translate from X to Y" and "translate X to Y".
    transforms: bool,
    swaps: bool,
    pays: bool,
    adds: bool,
}

impl Eased {
    fn of(one: &[Atom], other: &[Atom]) -> Self {
        let both = |fits: fn(&[Atom]) -> bool| fits(one) && fits(other);
        Self {
            transforms: both(|atoms| {
                atoms
                    .iter()
                    .any(|atom| TABLES.transforms.contains(&atom.key))
                    && atoms.iter().any(|atom| atom.role == Relation::To)
            }),
            swaps: both(|atoms| atoms.iter().any(|atom| atom.key == "swap")),
            pays: both(|atoms| atoms.iter().any(|atom| atom.key == "pay")),
            adds: both(|atoms| {
                let has = |role| atoms.iter().any(|atom| atom.role == role);
                enrolls(atoms) && !(has(Relation::To) && has(Relation::In))
            }),
        }
    }

    fn agree(&self, a: &Atom, b: &Atom) -> bool {
        self.transforms && sources_agree(a, b)
            || self.swaps && targets_agree(a, b)
            || self.pays && means_agree(a, b)
            || self.adds && places_agree(a, b)
    }
}

/// Whether something is added that has no sum: "add a user", but not "add the numbers".
fn enrolls(atoms: &[Atom]) -> bool {
    let add = atoms.iter().position(|atom| atom.key == "add");
    let Some(object) = add.and_then(|add| atoms.get(add + 1)) else {
        return false;
    };
    let object = atoms.iter().rfind(|atom| atom.chunk == object.chunk);
    object.is_some_and(|object| TABLES.enrolled.contains(&object.key))
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

/// "Translate from X to Y" and "translate X to Y".
fn sources_agree(a: &Atom, b: &Atom) -> bool {
    use Relation::{From, Plain};
    matches!((a.role, b.role), (From, Plain) | (Plain, From))
}
