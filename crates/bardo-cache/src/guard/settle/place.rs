//! Where something is, is seen or goes.

use crate::guard::atoms::{Atom, Relation};
use crate::guard::frame::{Asking, SentenceFrame};
use crate::guard::tables::TABLES;

use super::has;

/// "Move USDC from Ethereum to Arbitrum" bridges it.
pub(super) fn transfer_to_bridge(atoms: &mut [Atom]) {
    let chain = |role| {
        atoms
            .iter()
            .any(|atom: &Atom| atom.class == "chain" && atom.role == role)
    };
    if chain(Relation::From) && chain(Relation::To) {
        for atom in atoms.iter_mut().filter(|atom| atom.key == "transfer") {
            atom.key = "bridge".to_owned();
        }
    }
}

/// "The deepest lake in the world" is the deepest of all.
pub(super) fn world_untold(atoms: &mut Vec<Atom>) {
    let most = atoms.iter().any(|atom| atom.class == "superlative");
    if most && !has(atoms, "second") {
        atoms.retain(|atom| {
            !(atom.key == "world" && atom.preposition == "in" && atom.definite && !atom.modifier)
        });
    }
}

/// The distance from one place to another is that between both, in each order.
pub(super) fn distance_both_ways(atoms: &mut Vec<Atom>) {
    atoms.retain(|atom| atom.key != "between");
    for atom in atoms {
        if matches!(atom.role, Relation::From | Relation::To) {
            atom.role = Relation::Plain;
        }
    }
}

/// "Check if a key exists in a map" and "check if a key is in a map".
pub(super) fn exists_in_to_in(atoms: &mut Vec<Atom>) {
    let exists = atoms.windows(2).position(|pair| {
        pair[0].key == "exist" && pair[1].role == Relation::In && pair[1].chunk != pair[0].chunk
    });
    if let Some(at) = exists {
        atoms.remove(at);
    }
}

/// "How can I see my invoices" and "where can I see my invoices"; settings of a program are changed
/// where they are.
pub(super) fn seen_where_it_is(frame: &mut SentenceFrame, atoms: &mut Vec<Atom>) {
    let own = frame.owners == ["my"] && matches!(frame.ask, Asking::How | Asking::Where);
    let looked = own && atoms.len() > 1 && atoms.first().is_some_and(is_looked_at);
    if is_setting(frame, atoms) {
        frame.ask = Asking::How;
        frame.modals.retain(|modal| *modal != "can");
    } else if looked {
        frame.ask = Asking::Where;
        frame.modals.retain(|modal| *modal != "can");
        if atoms[0].key == "view" {
            atoms.remove(0);
        }
    }
}

/// What is shown or downloaded is found at a place.
fn is_looked_at(atom: &Atom) -> bool {
    matches!(&*atom.key, "view" | "download") && !atom.passive && atom.role == Relation::Plain
}

/// "Where do I turn on dark mode" and "how do I turn on dark mode": settings of a program are changed
/// where they are.
fn is_setting(frame: &SentenceFrame, atoms: &[Atom]) -> bool {
    let sets = atoms
        .first()
        .is_some_and(|first| TABLES.sets.contains(&first.key) && !first.passive);
    let things = || atoms.iter().skip(1).filter(|atom| atom.class != "negation");
    frame.ask == Asking::Where
        && !frame.past
        && frame.owners.iter().all(|owner| *owner == "my")
        && sets
        && things().any(|atom| TABLES.settings.contains(&atom.key))
}

/// "A visa to enter Peru", "a visa to travel to Peru" and "a visa for Peru".
pub(super) fn visa_for(frame: &SentenceFrame, atoms: &mut Vec<Atom>) {
    let visa = atoms.iter().position(|atom| atom.key == "visa");
    let Some(visa) = visa.filter(|_| frame.ask == Asking::YesNo) else {
        return;
    };
    let enters = |atom: &Atom| matches!(&*atom.key, "enter" | "visit" | "travel");
    if let [verb, place, ..] = &atoms[visa + 1..]
        && enters(verb)
        && matches!(place.role, Relation::Plain | Relation::To)
    {
        atoms.remove(visa + 1);
        atoms[visa + 1].role = Relation::For;
        atoms[visa + 1].preposition = "for";
    }
}
