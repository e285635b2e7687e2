//! Pairs the words of two texts, and finds the first word without a pair.

use std::collections::BTreeMap;

use crate::guard::atoms::Atom;
use crate::guard::mismatch::Mismatch;
use crate::guard::tables::TABLES;

/// Pairs of equal atoms in order, and what remains on each side. Of a key that occurs several times, equal
/// words are paired first: "an int to an Integer" is not "an Integer to an int".
pub(super) fn aligned<'a>(
    one: &'a [Atom],
    other: &'a [Atom],
) -> (Vec<(usize, usize)>, Vec<&'a Atom>, Vec<&'a Atom>) {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, atom) in other.iter().enumerate() {
        places.entry(&atom.key).or_default().push(at);
    }
    let mut pairs = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let word = |atom: &Atom| TABLES.base(&atom.shown);
    for (at, atom) in one.iter().enumerate() {
        let found = places.get_mut(atom.key.as_str());
        let equal = found.and_then(|found| {
            let several = found.len() > 1;
            let equal = |place: &usize| !several || word(&other[*place]) == word(atom);
            let at = found.iter().position(equal)?;
            Some(found.remove(at))
        });
        match equal {
            Some(place) => pairs.push((at, place)),
            None => open.push(at),
        }
    }
    let mut left = Vec::new();
    for at in open {
        let found = places.get_mut(one[at].key.as_str());
        match found.filter(|found| !found.is_empty()) {
            Some(found) => pairs.push((at, found.remove(0))),
            None => left.push(&one[at]),
        }
    }
    pairs.sort_unstable();
    let mut used = vec![false; other.len()];
    for &(_, place) in &pairs {
        used[place] = true;
    }
    let right = other
        .iter()
        .zip(used)
        .filter(|(_, used)| !used)
        .map(|(atom, _)| atom)
        .collect();
    (pairs, left, right)
}

/// The first word that the other text lacks, with one of the same class if there is one.
pub(super) fn unmatched(left: &[&Atom], right: &[&Atom]) -> Option<Mismatch> {
    let same_class = left.iter().find_map(|a| {
        let b = right.iter().find(|b| b.class == a.class)?;
        Some((a, b))
    });
    let any = left.first().zip(right.first());
    if let Some((a, b)) = same_class.or(any) {
        return Some(Mismatch::Changed {
            class: a.class,
            one: a.shown.clone(),
            other: b.shown.clone(),
        });
    }
    let only = left.first().or(right.first())?;
    Some(Mismatch::OnlyInOne {
        class: only.class,
        word: only.shown.clone(),
    })
}
