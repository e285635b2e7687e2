//! The active voice in one text and the passive voice in the other.

use crate::guard::Signature;
use crate::guard::atoms::{Atom, Relation};
use crate::guard::frame::Asking;
use crate::guard::tables::TABLES;

/// How a sentence was turned from the active to the passive voice.
pub(super) enum Turn {
    /// "How do I boil eggs" and "how are eggs boiled".
    WithoutAgent,
    /// "Does the insurance cover X" and "is X covered by the insurance".
    /// The role is that of the agent in the passive voice.
    WithAgent(Relation),
}

/// Whether the passive voice of a verb means what the active voice does. Without "by", the one who
/// acts has to be "I", "you" or "one", so that the verb comes first; with it, the words after "by"
/// are those before the verb.
pub(super) fn turned(first: &Signature, second: &Signature, a: &Atom, b: &Atom) -> Option<Turn> {
    let (active, passive, verb) = if a.participle {
        (second, first, b)
    } else {
        (first, second, a)
    };
    let at = active.atoms.iter().position(|atom| atom.key == verb.key)?;
    let subject: Vec<&str> = active.atoms[..at].iter().map(|atom| &*atom.key).collect();
    let in_role = |atoms: &[Atom], role| -> Vec<String> {
        let found = atoms.iter().filter(|atom| atom.role == role);
        found.map(|atom| atom.key.clone()).collect()
    };
    let mut role = Relation::By;
    let mut agent = in_role(&passive.atoms, role);
    // "Filter results by date" names no agent.
    if agent == in_role(&active.atoms, role) {
        agent.clear();
    }
    // "Is X required for Y" and "does Y require X".
    if agent.is_empty()
        && verb.key == "require"
        && active.frame.ask == Asking::YesNo
        && in_role(&active.atoms, Relation::For).is_empty()
    {
        role = Relation::For;
        agent = in_role(&passive.atoms, role);
    }
    // "How are prices determined on Uniswap" and "how does Uniswap determine prices". Chicago steals no
    // cars that are stolen there.
    let program =
        |atom: &Atom| matches!(atom.class, "protocol" | "chain" | "software" | "language");
    let mut places = passive
        .atoms
        .iter()
        .filter(|atom| atom.role == Relation::In);
    let hosted = TABLES.hosted.contains(&verb.key);
    let hosts = match active.frame.ask {
        Asking::How => hosted || places.all(program),
        Asking::YesNo => hosted,
        _ => false,
    };
    if agent.is_empty()
        && hosts
        && !subject.is_empty()
        && in_role(&active.atoms, Relation::In).is_empty()
    {
        role = Relation::In;
        agent = in_role(&passive.atoms, role);
    }
    if !agent.is_empty() {
        let object = matches!(
            active.frame.ask,
            Asking::What | Asking::Who | Asking::HowMany | Asking::HowMuch
        );
        let before = passive.atoms.iter().take_while(|atom| atom.key != verb.key);
        let before: Vec<&str> = before.filter(|_| object).map(|atom| &*atom.key).collect();
        let same = before
            .iter()
            .copied()
            .chain(agent.iter().map(String::as_str));
        return same.eq(subject).then_some(Turn::WithAgent(role));
    }
    let asks = matches!(
        active.frame.ask,
        Asking::How
            | Asking::HowLong
            | Asking::HowOften
            | Asking::When
            | Asking::Why
            | Asking::YesNo
    ) || active.frame.ask == Asking::Where && active.frame.modals == ["can"];
    // "How am I paid" is not "how do I pay", and "how is he paid" not "how does he pay".
    let acts = !matches!(
        active.frame.subject.as_deref(),
        Some("he" | "she" | "it" | "be" | "get")
    );
    let done_to = matches!(passive.frame.subject.as_deref(), None | Some("it"));
    if !(acts && done_to) {
        return None;
    }
    let unnamed = active.frame.persons.is_empty() && !active.frame.modals.is_empty();
    let generic = active.frame.ask == Asking::How || active.frame.persons.len() == 1 || unnamed;
    let manner = |word: &&str| !TABLES.movable.contains(*word);
    let unsaid = !subject.iter().any(manner);
    (unsaid && asks && generic).then_some(Turn::WithoutAgent)
}
