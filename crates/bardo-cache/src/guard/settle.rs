//! Joins wordings that differ in the kind of question, once the words of a text are read: "how do A and
//! B differ" and "what is the difference", "how high is the fee" and "what is the fee".

mod amount;
mod event;
mod place;

use super::atoms::{Atom, Relation};
use super::compare::offers_a_choice;
use super::frame::{Asking, SentenceFrame};
use super::stems;
use super::tables::TABLES;

/// Brings the frame and the words of a text to the form that is compared.
pub(super) fn settle(frame: &mut SentenceFrame, atoms: &mut Vec<Atom>) {
    asked(frame, atoms);
    amount::price_untold(atoms);
    event::last_span(atoms);
    place::transfer_to_bridge(atoms);
    place::world_untold(atoms);
    if has(atoms, stems::SUBSTITUTE) {
        atoms.retain(|atom| atom.key != "good");
    }
    amount::settle(frame, atoms);
    if has(atoms, stems::DISTANCE) {
        place::distance_both_ways(atoms);
    }
    if frame.ask == Asking::YesNo {
        judgement_to_front(atoms);
    }
    if matches!(frame.ask, Asking::YesNo | Asking::Nothing | Asking::How) {
        amount::each_to_all(frame, atoms);
    }
    occurrences(frame, atoms);
    if frame.ask == Asking::Nothing && programs(frame, atoms) {
        frame.ask = Asking::How;
        frame.present = true;
    }
}

fn has(atoms: &[Atom], key: &str) -> bool {
    atoms.iter().any(|atom| atom.key == key)
}

fn ends_in(atoms: &[Atom], key: &str) -> bool {
    let last = atoms.last();
    last.is_some_and(|last| last.key == key && last.role == Relation::Plain)
}

/// "How are A and B different" is "how do A and B differ".
fn different_to_differ(atoms: &mut [Atom]) {
    let two = atoms.iter().any(|atom| atom.joined == Some("and"));
    let last = atoms.last_mut();
    if let Some(last) = last.filter(|last| two && last.key == "different") {
        "differ".clone_into(&mut last.key);
        last.after_be = false;
    }
}

/// Brings the kind of a question to that of another wording, by the words that it has.
fn asked(frame: &mut SentenceFrame, atoms: &mut Vec<Atom>) {
    if frame.ask == Asking::How {
        different_to_differ(atoms);
    }
    match frame.ask {
        Asking::YesNo if offers_a_choice(atoms) => frame.ask = Asking::What,
        Asking::How if has(atoms, "differ") => frame.ask = Asking::What,
        Asking::HowMuch if has(atoms, "price") || amount::is_of_measure(atoms) => {
            frame.ask = Asking::What;
        }
        Asking::HowLong if frame.grain.is_none() && event::is_of_duration(atoms) => {
            frame.ask = Asking::What;
            frame.sum = true;
        }
        Asking::When
            if atoms
                .iter()
                .any(|atom| atom.key == stems::DEADLINE && !atom.modifier) =>
        {
            frame.ask = Asking::What;
        }
        // "Will I lose it if I cancel" and "do I lose it when I cancel".
        Asking::YesNo if has(atoms, "if") => frame.foretold(),
        // "Why won't it connect" and "why doesn't it connect", of a thing.
        Asking::Why if has(atoms, "not") => frame.foretold(),
        Asking::Nothing if has(atoms, "not") && frame.persons.is_empty() => {
            let timed = atoms.iter().any(|atom| atom.class == "time");
            frame.modals.retain(|modal| *modal != "will" || timed);
        }
        Asking::What if has(atoms, "happenif") || has(atoms, "happen") => {
            frame.foretold();
        }
        Asking::What if has(atoms, "amount") => {
            frame.ask = Asking::HowMuch;
            atoms.retain(|atom| atom.key != "amount");
        }
        // "What does X mean", but not "what is the mean".
        Asking::What
            if atoms.len() > 1
                && atoms
                    .last()
                    .is_some_and(|last| last.key == "mean" && !last.after_be) =>
        {
            atoms.pop();
        }
        Asking::Where => {
            let kept = |atom: &Atom| {
                frame.modals.is_empty() && atom.passive && matches!(&*atom.key, "store" | "save")
            };
            atoms.retain(|atom| atom.key != "locate" && !kept(atom));
        }
        Asking::HowLong => {
            if has(atoms, stems::TAKE) {
                frame.foretold();
            }
            event::duration_untold(frame, atoms);
            // "How long does it last" and "how long is it".
            atoms.pop_if(|atom| atom.key == "last");
        }
        // "When does it happen" and "when is it".
        Asking::When if !frame.past && atoms.len() > 1 && ends_in(atoms, "happen") => {
            frame.foretold();
            atoms.pop();
        }
        Asking::When
            if atoms
                .iter()
                .any(|atom| TABLES.scheduled.contains(&atom.key)) =>
        {
            frame.foretold();
            event::scheduled_behind(atoms);
        }
        _ => {}
    }
}

/// What happened, and where it is seen.
fn occurrences(frame: &mut SentenceFrame, atoms: &mut Vec<Atom>) {
    if frame.ask == Asking::Why {
        event::event_behind(atoms);
    }
    // "Was it ever hacked" and "has it been hacked", where no time is named.
    if frame.ask == Asking::YesNo
        && frame.past
        && !atoms
            .iter()
            .any(|atom| matches!(atom.class, "time" | "number" | "negation"))
    {
        atoms.retain(|atom| atom.key != "ever");
    }
    // A record holds: it was and is the highest price.
    let record = |atom: &Atom| matches!(&*atom.key, "alltimehigh" | "alltimelow");
    if frame.ask == Asking::What && atoms.iter().any(record) {
        frame.past &= atoms.iter().any(|atom| atom.class == "time");
    }
    if has(atoms, "checkif") {
        place::exists_in_to_in(atoms);
    }
    place::seen_where_it_is(frame, atoms);
    if frame.ask == Asking::Why {
        atoms.retain(|atom| atom.key != "constantly");
    }
    place::visa_for(frame, atoms);
}

/// "Reverse a list in Python" asks how it is done.
fn programs(frame: &SentenceFrame, atoms: &[Atom]) -> bool {
    let verb = atoms.first().is_some_and(|first| {
        TABLES.is_verb(&TABLES.base(&first.shown)) && first.role == Relation::Plain
    });
    let language = |atom: &Atom| {
        atom.class == "language" && matches!(atom.role, Relation::In | Relation::With)
    };
    verb && frame.persons.is_empty() && !frame.past && atoms.iter().any(language)
}

/// Moves the word that judges to the front: "is it safe to eat raw eggs", "is eating raw eggs safe",
/// "are raw eggs safe to eat". Words before a noun, as in "safe eggs", stay.
fn judgement_to_front(atoms: &mut Vec<Atom>) {
    let judges = |atom: &Atom| TABLES.predicates.contains(atom.key.as_str());
    let mut places = (0..atoms.len()).filter(|&at| judges(&atoms[at]));
    let (Some(at), None) = (places.next(), places.next()) else {
        return;
    };
    drop(places);
    if atoms[at].modifier || atoms[at].joined.is_some() {
        return;
    }
    let mut predicate = atoms.remove(at);
    let object_first = at > 0 && at + 1 == atoms.len() && TABLES.is_verb(&atoms[at].key);
    if let Some(before) = at.checked_sub(1)
        && atoms[before].chunk == predicate.chunk
    {
        atoms[before].modifier = false;
    }
    if object_first {
        let verb = atoms.remove(at);
        atoms.insert(0, verb);
    }
    predicate.chunk = usize::MAX;
    predicate.role = Relation::Plain;
    atoms.insert(0, predicate);
}

#[cfg(test)]
mod tests;
