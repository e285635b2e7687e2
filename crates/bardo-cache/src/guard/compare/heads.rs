//! Prepositions that say another thing behind certain words: "the fear of dogs" and "the fear in dogs".

use crate::guard::atoms::{Atom, Relation};
use crate::guard::tables::TABLES;

/// Whether a word stands in another relation in the second text, by what stands before it.
pub(super) fn differ(one: (&[Atom], usize), other: (&[Atom], usize)) -> bool {
    let (a, b) = (&one.0[one.1], &other.0[other.1]);
    of_or_in(head(one), a, b)
        || aims_elsewhere(one, other)
        || is_priced_in(one, b)
        || aims_at(one, b)
        || of_untold(one, other)
        || acts_as(one, other)
        || sizes(one, other)
}

/// The word before the phrase of a word.
fn head((atoms, at): (&[Atom], usize)) -> Option<&Atom> {
    let before = atoms[..at].iter();
    before.rev().find(|atom| atom.chunk != atoms[at].chunk)
}

/// "The fear of dogs" and "the fear in dogs", "the rewards of validators" and "the rewards for validators",
/// "the price of Bitcoin" and "the price in Bitcoin", "the University of Texas" and "the university in
/// Texas".
fn of_or_in(head: Option<&Atom>, a: &Atom, b: &Atom) -> bool {
    let Some(head) = head.filter(|_| a.role == Relation::Of) else {
        return false;
    };
    match b.role {
        Relation::In => {
            let titled = head.capital == Some(true) && a.class != "time";
            let valued = a.class == "ticker" || a.class == "currency" && head.key == "price";
            titled || valued || TABLES.felt.contains(&head.key)
        }
        Relation::For => TABLES.given.contains(&head.key) && TABLES.actors.contains(&a.key),
        _ => false,
    }
}

/// What one does or has, and what is aimed at one: "the sanctions of Russia" or "Russia's sanctions", and "the
/// sanctions on Russia". What a place holds is "of" it and "in" it; a label is "of" what it is "for".
fn aims_elsewhere(one: (&[Atom], usize), other: (&[Atom], usize)) -> bool {
    let (a, b) = (&one.0[one.1], &other.0[other.1]);
    let Some(noun) = owned(one)
        .or_else(|| described(one, b))
        .or_else(|| possessed(one, other))
    else {
        return false;
    };
    if a.class == "time" || a.role == b.role {
        return false;
    }
    match b.role {
        Relation::In => {
            let file = matches!(a.class, "file" | "code");
            let inert = file || TABLES.inert.contains(&a.key) || is_done(one);
            !inert && !TABLES.contained.contains(&noun.key)
        }
        Relation::For => {
            let label = TABLES.labels.contains(&noun.key) && !TABLES.actors.contains(&a.key);
            !label && !TABLES.games.contains(&a.key)
        }
        _ => false,
    }
}

/// "Stake" of "Tesla" in "Tesla's stake".
fn owned((atoms, at): (&[Atom], usize)) -> Option<&Atom> {
    let next = atoms.get(at + 1).filter(|next| next.owned)?;
    phrase(atoms, at)
        .last()
        .filter(|last| last.chunk == next.chunk)
}

/// "Ruling" in "the court ruling", which is that of the court, and none on it.
fn described<'a>((atoms, at): (&'a [Atom], usize), b: &Atom) -> Option<&'a Atom> {
    let on = b.role == Relation::In && b.preposition == "on";
    let noun = phrase(atoms, at).skip(1).last().filter(|_| on)?;
    TABLES.deeds.contains(&noun.key).then_some(noun)
}

/// "Stake" of "Tesla" in "the stake of Tesla". "Half of my Compound loan" is half of a loan on Compound.
fn possessed<'a>(one: (&'a [Atom], usize), other: (&[Atom], usize)) -> Option<&'a Atom> {
    let (atoms, at) = one;
    let beside = |head: &Atom| phrase(atoms, at).skip(1).any(|atom| atom.key == head.key);
    let of = atoms[at].role == Relation::Of && !head(other).is_some_and(beside);
    head(one).filter(|_| of)
}

/// The words of a phrase from one of them on.
fn phrase(atoms: &[Atom], from: usize) -> impl Iterator<Item = &Atom> {
    let chunk = atoms.get(from).map(|first| first.chunk);
    let behind = atoms.iter().skip(from);
    behind.take_while(move |atom| Some(atom.chunk) == chunk)
}

/// Whether a phrase is of what is done: "the risks of providing liquidity" are those "in providing liquidity".
fn is_done((atoms, at): (&[Atom], usize)) -> bool {
    let first = atoms[..=at]
        .iter()
        .find(|atom| atom.chunk == atoms[at].chunk);
    let gerund =
        |atom: &Atom| atom.shown.ends_with("ing") && TABLES.is_verb(&TABLES.base(&atom.shown));
    first.is_some_and(gerund)
}

/// "The price in Bitcoin" and "the Bitcoin price". With another token beside it, that one is priced.
fn is_priced_in((atoms, at): (&[Atom], usize), b: &Atom) -> bool {
    let a = &atoms[at];
    let value = |atom: &Atom| matches!(atom.class, "ticker" | "currency");
    let alone = atoms.iter().filter(|atom| value(atom)).count() == 1;
    let priced = head((atoms, at)).is_some_and(|head| head.key == "price");
    value(a) && alone && priced && a.role == Relation::In && b.role == Relation::Plain
}

/// "Bark at the car" and "bark in the car".
fn aims_at((atoms, at): (&[Atom], usize), b: &Atom) -> bool {
    let aims = |atom: &Atom| TABLES.aiming.contains(&atom.key);
    atoms[at].preposition == "at"
        && b.role == Relation::In
        && b.preposition != "at"
        && atoms[..at].iter().any(aims)
}

/// "Smell of gas" and "smell gas".
fn of_untold(one: (&[Atom], usize), other: (&[Atom], usize)) -> bool {
    let (a, b) = (&one.0[one.1], &other.0[other.1]);
    let roles = a.role == Relation::Of && b.role == Relation::Plain && !b.modifier;
    let verb = same_before(one, other).is_some_and(|verb| TABLES.senses.contains(&verb.key));
    roles && verb
}

/// "Sue as a tenant" and "sue a tenant".
fn acts_as(one: (&[Atom], usize), other: (&[Atom], usize)) -> bool {
    let (a, b) = (&one.0[one.1], &other.0[other.1]);
    let roles = a.acts_as && !b.acts_as && b.role == Relation::Plain;
    let acts = |verb: &Atom| TABLES.is_verb(&TABLES.base(&verb.shown));
    roles && same_before(one, other).is_some_and(|verb| acts(verb) || b.determiner == "a")
}

/// "Chunks of 4" and "4 chunks": how much is in each, and how many there are.
fn sizes(one: (&[Atom], usize), other: (&[Atom], usize)) -> bool {
    let (a, b) = (&one.0[one.1], &other.0[other.1]);
    let alone = a.class == "number" && a.role == Relation::Of && !a.modifier;
    let counted = other.0.get(other.1 + 1).filter(|_| alone && b.modifier);
    counted.is_some_and(|noun| noun.plural && head(one).is_some_and(|sized| sized.key == noun.key))
}

/// The word before two words, if it is one word in both texts.
fn same_before<'a>(one: (&'a [Atom], usize), other: (&'a [Atom], usize)) -> Option<&'a Atom> {
    let before = |(atoms, at): (&'a [Atom], usize)| at.checked_sub(1).map(|before| &atoms[before]);
    let (verb, same) = before(one).zip(before(other))?;
    (verb.key == same.key).then_some(verb)
}
