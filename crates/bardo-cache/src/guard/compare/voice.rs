//! The active voice in one text and the passive voice in the other.

use crate::guard::Signature;
use crate::guard::atoms::{Atom, Relation};
use crate::guard::frame::Asking;
use crate::guard::mismatch::Mismatch;
use crate::guard::tables::TABLES;

/// How a sentence was turned from the active to the passive voice.
enum Turn {
    /// "How do I boil eggs" and "how are eggs boiled".
    WithoutAgent,
    /// "Does the insurance cover X" and "is X covered by the insurance".
    /// The role is that of the agent in the passive voice.
    WithAgent(Relation),
}

/// What the verbs of two texts say of their voices.
#[derive(Default)]
pub(super) struct Turns<'a> {
    /// The role of who acts, in the passive voice, and the verb.
    agent: Option<(Relation, &'a str)>,
    /// Verbs of a state that stand in the other voice without an agent.
    unnamed: Vec<&'a str>,
}

impl<'a> Turns<'a> {
    /// Reads a verb of both texts; the difference, where one text has it in the passive voice and the
    /// other says another thing.
    pub(super) fn read(
        &mut self,
        first: &Signature,
        second: &Signature,
        a: &'a Atom,
        b: &Atom,
    ) -> Option<Mismatch> {
        let of_state = a.class == "state" && a.participle != b.participle;
        if !of_state && a.passive == b.passive {
            return None;
        }
        match turned(first, second, a, b) {
            Some(Turn::WithAgent(role)) => self.agent = Some((role, &a.key)),
            Some(Turn::WithoutAgent) if of_state => self.unnamed.push(&a.key),
            None if !of_state => {
                let word = a.shown.clone();
                return Some(Mismatch::Voice { word });
            }
            Some(Turn::WithoutAgent) | None => {}
        }
        None
    }

    /// Whether the place and the preposition of a word count: not those of a verb that was turned, nor of
    /// who acts.
    pub(super) fn keep(&self, a: &Atom, b: &Atom) -> bool {
        // "In a creek by a man" in the passive voice says nothing of "by a creek" in the active one.
        let acts = |role| match (a.role, b.role) {
            (other, Relation::Plain) | (Relation::Plain, other) => other == role,
            _ => false,
        };
        let agent = self
            .agent
            .is_some_and(|(role, verb)| acts(role) || a.key == verb);
        a.passive == b.passive && !agent && !self.unnamed.contains(&a.key.as_str())
    }
}

/// Whether the passive voice of a verb means what the active voice does. Without "by", the one who
/// acts has to be "I", "you" or "one", so that the verb comes first; with it, the words after "by"
/// are those before the verb.
fn turned(first: &Signature, second: &Signature, a: &Atom, b: &Atom) -> Option<Turn> {
    let (active, passive, verb) = if a.participle {
        (second, first, b)
    } else {
        (first, second, a)
    };
    let at = active.atoms.iter().position(|atom| atom.key == verb.key)?;
    let subject: Vec<&str> = active.atoms[..at].iter().map(|atom| &*atom.key).collect();
    let (role, agent) = agent(active, passive, verb, !subject.is_empty());
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
    let manner = |word: &&str| !TABLES.movable.contains(*word);
    let unsaid = !subject.iter().any(manner);
    let usual = match active.frame.persons[..] {
        ["you"] => is_by_you(active, verb),
        _ => is_usual(passive, verb),
    };
    let needed = verb.key == "require" || usual && !is_by_others(active, passive);
    (unsaid && needed && is_of_anyone(active, passive)).then_some(Turn::WithoutAgent)
}

/// The keys of the words that have a role.
fn in_role(atoms: &[Atom], role: Relation) -> Vec<String> {
    let found = atoms.iter().filter(|atom| atom.role == role);
    found.map(|atom| atom.key.clone()).collect()
}

/// Who acts in the passive voice, with the role there; nobody, where no word says it.
fn agent(
    active: &Signature,
    passive: &Signature,
    verb: &Atom,
    has_subject: bool,
) -> (Relation, Vec<String>) {
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
    if agent.is_empty() && hosts && has_subject && in_role(&active.atoms, Relation::In).is_empty() {
        role = Relation::In;
        agent = in_role(&passive.atoms, role);
    }
    (role, agent)
}

/// Whether the one who asks is the one who usually does it: "can soup be frozen", but not "can my claim be
/// denied" and "can a tenant be evicted". What will be done is done by others.
fn is_usual(passive: &Signature, verb: &Atom) -> bool {
    let mine = passive.frame.owners.contains(&"my");
    let foretold = passive.frame.modals.contains(&"will");
    let own = TABLES.own.contains(&verb.key) && !foretold;
    match passive.frame.ask {
        Asking::How if !mine => true,
        _ if mine => own,
        _ => own || TABLES.done.contains(&verb.key) && !foretold,
    }
}

/// Whether what "you" do is done: "will you ship my order" and "will my order be shipped". But "do you sell
/// shares" asks what you usually do, and "are the shares sold" how they are now.
fn is_by_you(active: &Signature, verb: &Atom) -> bool {
    let frame = &active.frame;
    let usually = frame.ask == Asking::YesNo && frame.modals.is_empty() && !frame.past;
    !usually || TABLES.hosted.contains(&verb.key)
}

/// Whether the passive voice tells what is done to "my" thing, or what was done, and the active voice what
/// I do myself: "how is my data used" and "how do I use my data", "why was the account closed" and "why
/// did I close the account".
fn is_by_others(active: &Signature, passive: &Signature) -> bool {
    let told = passive.frame.tells && passive.frame.persons.is_empty();
    let of_me = active.frame.subject.as_deref() == Some("i") && active.frame.modals.is_empty();
    let of_them = active.frame.subject.as_deref() == Some("they");
    told && (of_me || active.frame.ask == Asking::How && !of_them)
}

/// Whether it is anyone who acts in the active voice, and nobody to whom it is done in the passive voice.
fn is_of_anyone(active: &Signature, passive: &Signature) -> bool {
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
    let unnamed = active.frame.persons.is_empty() && !active.frame.modals.is_empty();
    let generic = active.frame.ask == Asking::How || active.frame.persons.len() == 1 || unnamed;
    acts && done_to && asks && generic
}
