//! What happens, when and for how long.

use super::has;
use crate::guard::atoms::{Atom, Relation};
use crate::guard::frame::SentenceFrame;
use crate::guard::stems;
use crate::guard::tables::TABLES;

/// Leaves out "take" and "need" of "how long does it take", which are not those of a person or of an
/// object: "how long do I take antibiotics".
pub(super) fn duration_untold(frame: &SentenceFrame, atoms: &mut Vec<Atom>) {
    let person = matches!(
        frame.subject.as_deref(),
        Some("i" | "you" | "we" | "he" | "she" | "they")
    );
    let object = |next: &Atom| {
        next.role == Relation::Plain
            && !TABLES.is_verb(&TABLES.base(&next.shown))
            && !matches!(next.class, "time" | "number" | "negation")
    };
    let takes = |atom: &Atom| matches!(&*atom.key, stems::TAKE | "require");
    let said: Vec<bool> = (0..atoms.len())
        .map(|at| takes(&atoms[at]) && (person || at > 0 && atoms.get(at + 1).is_some_and(object)))
        .collect();
    let mut said = said.into_iter();
    atoms.retain(|atom| said.next().unwrap_or_default() || !takes(atom));
}

/// "How long is the timeout" asks what the timeout is: its noun is a duration and nothing is done.
pub(super) fn is_of_duration(atoms: &[Atom]) -> bool {
    let head = |atom: &Atom| {
        TABLES.durations.contains(atom.key.as_str()) && !atom.modifier && atom.joined.is_none()
    };
    let verb = |atom: &Atom| !atom.modifier && TABLES.is_verb(&TABLES.base(&atom.shown));
    atoms.iter().any(head) && !atoms.iter().any(verb)
}

/// "The volume of the last 24 hours" and "the 24h volume"; "the last hour" and "the last 60 minutes".
pub(super) fn last_span(atoms: &mut Vec<Atom>) {
    let last = atoms.windows(2).position(|pair| {
        pair[0].key == "last" && matches!(&*pair[1].key, "24 hour" | "1 hour" | "1 minute")
    });
    if let Some(at) = last {
        let day = atoms[at + 1].key == "24 hour";
        if day && has(atoms, stems::VOLUME) {
            atoms.remove(at);
        } else if !day {
            let key = if atoms[at + 1].key == "1 hour" {
                "hour"
            } else {
                stems::MINUTE
            };
            atoms[at + 1].key = key.to_owned();
        }
    }
}

/// Moves a verb behind what it happens to: "the closing time of the shop" as "the shop closes".
pub(super) fn scheduled_behind(atoms: &mut [Atom]) {
    let verb = atoms
        .first()
        .is_some_and(|first| TABLES.scheduled.contains(&first.key));
    let of = |atom: &&Atom| matches!(atom.role, Relation::Of | Relation::For);
    let end = atoms.iter().skip(1).take_while(of).count();
    if verb && end > 0 {
        atoms[..=end].rotate_left(1);
    }
}

/// Moves a noun of an event behind what it happens to, and leaves out "happen": "the causes of
/// earthquakes" and "why earthquakes happen".
pub(super) fn event_behind(atoms: &mut Vec<Atom>) {
    let event = atoms
        .first()
        .is_some_and(|first| TABLES.occurs.contains(&first.key));
    if let Some(next) = atoms
        .get(1)
        .filter(|next| event && next.role == Relation::Of)
    {
        let chunk = next.chunk;
        let end = atoms[1..]
            .iter()
            .take_while(|atom| atom.chunk == chunk)
            .count();
        atoms[..=end].rotate_left(1);
    }
    if atoms.len() > 1 {
        atoms.pop_if(|last| last.key == "happen" && last.role == Relation::Plain);
    }
}
