//! Articles and capitals that say of what a word speaks: "prison" and "the prison", "Police" and "police".

use crate::guard::atoms::{Atom, Relation};
use crate::guard::frame::Asking;
use crate::guard::mismatch::Mismatch;
use crate::guard::tables::TABLES;

/// A word of which one text says something else by an article or a capital.
///
/// `is_subject` says that both texts ask what it is.
pub(super) fn difference(a: &Atom, b: &Atom, is_subject: bool) -> Option<Mismatch> {
    if let Some((class, one, other)) = capitals(a, b) {
        return Some(Mismatch::Changed { class, one, other });
    }
    (a.definite != b.definite && article_counts(a, b, is_subject)).then(|| named(a, b))
}

/// Two words of which each text names another one as the certain or the own one: "does this charger come
/// with a laptop" and "does a charger come with this laptop".
pub(super) fn exchanged<'a>(pairs: impl Iterator<Item = (&'a Atom, &'a Atom)>) -> Option<Mismatch> {
    let mut certain = [None; 2];
    let mut own = [None; 2];
    for (a, b) in pairs {
        for (side, (one, other)) in [(a, b), (b, a)].into_iter().enumerate() {
            if one.definite && other.determiner == "a" {
                certain[side].get_or_insert((a, b));
            }
            if one.determiner == "my" && other.definite && other.determiner != "my" {
                own[side].get_or_insert((a, b));
            }
        }
    }
    let [Some((a, b)), Some(_)] = [certain, own]
        .into_iter()
        .find(|sides| sides.iter().all(Option::is_some))?
    else {
        return None;
    };
    Some(named(a, b))
}

/// What is pointed at in one text, and all of its kind in the other: "are these drugs safe" and "are drugs
/// safe", "does this bread contain gluten" and "does bread contain gluten".
pub(super) fn pointed(
    (a, one): (&Atom, &[Atom]),
    (b, other): (&Atom, &[Atom]),
    ask: Asking,
    is_subject: bool,
) -> Option<Mismatch> {
    let asks = matches!(
        ask,
        Asking::YesNo | Asking::HowLong | Asking::HowMuch | Asking::HowMany
    );
    // "The meat halal" is one phrase here, as "the meat price" is.
    let alone = |atom: &Atom| !atom.modifier || one.len() == 2;
    let the = |atom: &Atom| {
        let certain = atom.definite && atom.determiner.is_empty() && alone(atom);
        is_subject && certain && TABLES.masses.contains(&atom.key)
    };
    let points = |atom: &Atom| matches!(atom.determiner, "this" | "that") || the(atom);
    let all = |atom: &Atom, atoms: &[Atom]| {
        !atom.definite && atom.determiner.is_empty() || is_object(atom, atoms)
    };
    // "Is this water safe" is "is it safe to drink this water".
    let elsewhere = |atoms: &[Atom]| !a.plural && atoms.iter().any(points);
    let only = |points_at: bool, (all_of, atoms): (&Atom, &[Atom])| {
        points_at && all(all_of, atoms) && !elsewhere(atoms)
    };
    let apart = only(points(a) && !is_object(a, one), (b, other))
        || only(points(b) && !is_object(b, other), (a, one));
    (asks && a.plural == b.plural && apart).then(|| named(a, b))
}

/// Whether a word stands behind a verb in its phrase, so that the determiner before is another one's: "can my
/// son eat fish".
fn is_object(atom: &Atom, atoms: &[Atom]) -> bool {
    let at = atoms.iter().position(|other| std::ptr::eq(other, atom));
    let before = at
        .and_then(|at| at.checked_sub(2))
        .and_then(|at| atoms.get(at..at + 2));
    before.is_some_and(|pair| {
        let one_phrase = pair.iter().all(|word| word.chunk == atom.chunk);
        one_phrase && TABLES.is_verb(&TABLES.base(&pair[1].shown))
    })
}

/// Says that a word stands behind another determiner in each text.
fn named(a: &Atom, b: &Atom) -> Mismatch {
    let written = |atom: &Atom| {
        let determiner = match atom.determiner {
            "" if atom.definite => "the",
            determiner => determiner,
        };
        format!("{determiner} {}", atom.shown).trim().to_owned()
    };
    Mismatch::Changed {
        class: "word",
        one: written(a),
        other: written(b),
    }
}

/// A name in one text, and in the other the word that it is too: "Rust" and "rust", "the population of
/// Turkey" and "of turkeys".
fn capitals(a: &Atom, b: &Atom) -> Option<(&'static str, String, String)> {
    let either = |words: fn(&str) -> bool| {
        let is_one = |atom: &Atom| words(atom.shown.trim_end_matches('^'));
        is_one(a) || is_one(b)
    };
    let stands_elsewhere =
        a.plural != b.plural || a.definite != b.definite || a.determiner != b.determiner;
    let is_homograph = either(|word| TABLES.homographs.contains(word));
    let same_word = TABLES.base(&a.shown) == TABLES.base(&b.shown);
    let named = stands_elsewhere && same_word || is_homograph;
    let another_type = a.shown != b.shown && either(|word| TABLES.types.contains(word));
    let (one, other) = match (a.capital, b.capital) {
        (Some(one), Some(other)) if named => (one, other),
        (one, other) if another_type => (one == Some(true), other == Some(true)),
        // A text in small letters says nothing of a name that a table knows: "rust" the language.
        (Some(true), None) | (None, Some(true)) if is_homograph && a.class == "word" => {
            (a.capital == Some(true), b.capital == Some(true))
        }
        _ => return None,
    };
    (one != other).then(|| {
        let written = |atom: &Atom, capital: bool| {
            let mut word = atom.shown.clone();
            if let Some(first) = word.get_mut(..1).filter(|_| capital) {
                first.make_ascii_uppercase();
            }
            word
        };
        ("name", written(a, one), written(b, other))
    })
}

/// Whether "the" makes another question of a word.
fn article_counts(a: &Atom, b: &Atom, is_subject: bool) -> bool {
    let the = |atom: &Atom| atom.definite && matches!(atom.determiner, "" | "this" | "that");
    let indefinite = a.determiner == "a" || b.determiner == "a";
    let inside = |atom: &Atom| {
        // "I am going to prison": "going to" is read as "will".
        let going = atom.role == Relation::Plain && atom.after_be;
        let placed = matches!(atom.role, Relation::In | Relation::To | Relation::From);
        !atom.modifier && (going || placed)
    };
    // "A third of it" is a part, and "the third of them" is one of several.
    let ordinal = a.key.ends_with("th") && a.key.starts_with(|c: char| c.is_ascii_digit());
    // "By day" is not "by the day", and most votes are not the most votes.
    ordinal && indefinite
        || is_rate(a) && is_rate(b)
        || a.key == "most"
        // "What is a base fee" asks what it is, and "what is the base fee" how much.
        || (is_subject || TABLES.unique.contains(&*a.key)) && indefinite && the(a) != the(b)
        // Who goes to prison is a prisoner, and who goes to the prison may be a visitor.
        || inside(a) && inside(b) && TABLES.institutions.contains(&*a.key)
}

/// "By day" or "by the day".
fn is_rate(atom: &Atom) -> bool {
    let period = matches!(
        &*atom.shown,
        "hour" | "day" | "night" | "week" | "month" | "year"
    );
    period && atom.role == Relation::By && !atom.modifier && atom.determiner.is_empty()
}
