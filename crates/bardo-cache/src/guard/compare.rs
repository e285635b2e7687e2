//! Compares two signatures and says what separates them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Signature;
use super::atoms::{Atom, Relation};
use super::frame::{Asking, SentenceFrame};
use super::mismatch::Mismatch;
use super::order::{self, compounds, relations_agree, roles_agree};
use super::tables::TABLES;
use super::tense;

/// The first difference between two frames.
pub(super) fn frames(one: &SentenceFrame, other: &SentenceFrame) -> Option<Mismatch> {
    if !asks_agree(one, other) {
        return Some(Mismatch::Question {
            one: one.ask.name(),
            other: other.ask.name(),
        });
    }
    let amount =
        |one: &SentenceFrame, other: &SentenceFrame| one.sum && !other.sum && other.indefinite;
    if amount(one, other) || amount(other, one) {
        return Some(Mismatch::Question {
            one: "how much",
            other: "what",
        });
    }
    if !modals_agree(one, other) {
        return Some(Mismatch::Modality {
            one: said(&one.modals),
            other: said(&other.modals),
        });
    }
    if tense::differs(one, other) {
        return Some(Mismatch::Tense);
    }
    if let (Some(one), Some(other)) = (one.grain, other.grain)
        && one != other
    {
        return Some(Mismatch::Question { one, other });
    }
    persons(one, other)
}

/// The first difference between words that are equal only as they are written.
pub(super) fn verbatim(one: &[Atom], other: &[Atom]) -> Option<Mismatch> {
    let differs = |(a, b): &(&Atom, &Atom)| a.key != b.key;
    if let Some((a, b)) = one.iter().zip(other).find(differs) {
        return Some(Mismatch::Changed {
            class: a.class,
            one: a.shown.clone(),
            other: b.shown.clone(),
        });
    }
    let rest = one.get(other.len()).or_else(|| other.get(one.len()))?;
    Some(Mismatch::OnlyInOne {
        class: rest.class,
        word: rest.shown.clone(),
    })
}

/// In open questions of "I", "you" or "we" a modal may be left out: "what do I do" and "what should I
/// do", but not "what must the header contain" and "what does it contain".
fn modals_agree(one: &SentenceFrame, other: &SentenceFrame) -> bool {
    let open = |frame: &SentenceFrame| {
        !matches!(frame.ask, Asking::YesNo | Asking::Nothing)
            && (frame.ask == Asking::How || !frame.persons.is_empty())
            && !frame.modals.contains(&"will")
    };
    let absent = one.modals.is_empty() || other.modals.is_empty();
    one.modals == other.modals || absent && open(one) && open(other)
}

/// "Which is safer, A or B" and "is A or B safer".
pub(super) fn offers_a_choice(atoms: &[Atom]) -> bool {
    let choice = atoms.iter().any(|atom| atom.joined == Some("or"));
    choice && atoms.iter().any(|atom| atom.class == "superlative")
}

/// "The ETH price" asks what it is, but "I have diabetes" and "the app is a game" ask nothing.
fn asks_agree(one: &SentenceFrame, other: &SentenceFrame) -> bool {
    let bare = |frame: &SentenceFrame| {
        frame.ask == Asking::Nothing && frame.persons.is_empty() && !frame.present
    };
    let what = |frame: &SentenceFrame| frame.ask == Asking::What;
    one.ask == other.ask || bare(one) && what(other) || what(one) && bare(other)
}

fn said(words: &[&str]) -> String {
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(" ")
    }
}

/// "You" and "I" are one person where they are the only one; owners and third persons are not.
fn persons(one: &SentenceFrame, other: &SentenceFrame) -> Option<Mismatch> {
    let separate = |one: &[&str], other: &[&str]| {
        Some(Mismatch::Person {
            one: said(one),
            other: said(other),
        })
    };
    let open = |frame: &SentenceFrame| !matches!(frame.ask, Asking::Nothing | Asking::YesNo);
    let done = one.done_to != other.done_to || one.done_to && one.persons != other.persons;
    if done && open(one) && open(other) {
        return separate(&one.persons, &other.persons);
    }
    // "Can she call me" is not "can she call you".
    let both = one.done_to && other.done_to && one.persons != other.persons;
    if both {
        return separate(&one.persons, &other.persons);
    }
    if one.acts_on(other) || other.acts_on(one) {
        return separate(&one.acts, &other.acts);
    }
    let addressed = one.is_addressed().zip(other.is_addressed());
    if addressed.is_some_and(|(one, other)| one != other) {
        let subject = |frame: &SentenceFrame| frame.subject.clone().unwrap_or_default();
        return Some(Mismatch::Person {
            one: subject(one),
            other: subject(other),
        });
    }
    if one.others != other.others {
        return separate(&one.others, &other.others);
    }
    // "Should I" is "should you", and "do I have it" is not "do you have it".
    let alone = |frame: &SentenceFrame| {
        let addressed = matches!(
            frame.ask,
            Asking::YesNo
                | Asking::What
                | Asking::Who
                | Asking::Whose
                | Asking::When
                | Asking::Where
                | Asking::Why
        );
        addressed && frame.modals.is_empty() && !frame.persons.is_empty()
    };
    if alone(one) && alone(other) && one.persons != other.persons {
        return separate(&one.persons, &other.persons);
    }
    let several = one.persons.len() > 1 || other.persons.len() > 1;
    if several && one.persons != other.persons {
        return separate(&one.persons, &other.persons);
    }
    let owned = !one.owners.is_empty() && !other.owners.is_empty();
    if owned && one.owners != other.owners {
        return separate(&one.owners, &other.owners);
    }
    None
}

/// The first difference between the atoms of two signatures.
pub(super) fn atoms(first: &Signature, second: &Signature) -> Option<Mismatch> {
    let (one, other) = (&first.atoms[..], &second.atoms[..]);
    let (mut pairs, left, right) = aligned(one, other);
    if let Some(difference) = unmatched(&left, &right) {
        return Some(difference);
    }
    let mut agents = None;
    let mut turned_over = Vec::new();
    for &(a, b) in &pairs {
        let (a, b) = (&one[a], &other[b]);
        if tense::goes_on(a, b) || tense::goes_on(b, a) {
            return Some(Mismatch::Changed {
                class: "form",
                one: a.shown.clone(),
                other: b.shown.clone(),
            });
        }
        if tense::counts_differ(a, b) {
            return Some(Mismatch::Number {
                one: a.shown.clone(),
                other: b.shown.clone(),
            });
        }
        if a.class == "state" && a.participle != b.participle {
            match turned(first, second, a, b) {
                Some(Turn::WithAgent(role)) => agents = Some((role, a.key.as_str())),
                Some(Turn::WithoutAgent) => turned_over.push(a.key.as_str()),
                None => {}
            }
        } else if a.passive != b.passive {
            match turned(first, second, a, b) {
                Some(Turn::WithoutAgent) => {}
                Some(Turn::WithAgent(role)) => agents = Some((role, a.key.as_str())),
                None => {
                    return Some(Mismatch::Voice {
                        word: a.shown.clone(),
                    });
                }
            }
        }
    }
    if let Some(difference) = joints(one, other, &pairs) {
        return Some(difference);
    }
    pairs.retain(|&(a, b)| {
        let (a, b) = (&one[a], &other[b]);
        let agent = agents
            .is_some_and(|(role, verb)| (a.role == role) != (b.role == role) || a.key == verb);
        a.passive == b.passive && !agent && !turned_over.contains(&a.key.as_str())
    });
    let changes = |atoms: &[Atom]| {
        atoms
            .iter()
            .any(|atom| TABLES.transforms.contains(&atom.key))
            && atoms.iter().any(|atom| atom.role == Relation::To)
    };
    let transforms = changes(one) && changes(other);
    let swaps = [one, other].iter().all(|atoms| {
        let swap = |atom: &Atom| atom.key == "swap";
        atoms.iter().any(swap)
    });
    let pays = [one, other]
        .iter()
        .all(|atoms| atoms.iter().any(|atom| atom.key == "pay"));
    let adds = [one, other].iter().all(|atoms| {
        let count = |role| atoms.iter().filter(|atom| atom.role == role).count();
        let add = atoms.iter().any(|atom| atom.key == "add");
        add && (count(Relation::To) == 0 || count(Relation::In) == 0)
    });
    order::changed(one, other, &pairs).or_else(|| {
        let apart = |&&(a, b): &&(usize, usize)| order::shows_or_holds(one, a, &other[b]);
        if let Some(&(a, b)) = pairs.iter().find(apart) {
            return Some(relation(&one[a], &other[b]));
        }
        let pairs = || pairs.iter().map(|&(a, b)| (&one[a], &other[b]));
        let agree = |a, b| {
            roles_agree(a, b)
                || transforms && sources_agree(a, b)
                || swaps && targets_agree(a, b)
                || pays && means_agree(a, b)
                || adds && places_agree(a, b)
        };
        // A compound taken apart in each text is two words in exchanged places.
        let only_as = |compound: fn(&Atom, &Atom) -> bool| {
            pairs().find(|(a, b)| !relations_agree(a, b) && compound(a, b))
        };
        let exchanged = only_as(compounds).filter(|_| only_as(|a, b| compounds(b, a)).is_some());
        pairs()
            .find(|(a, b)| !agree(a, b))
            .or(exchanged)
            .map(|(a, b)| relation(a, b))
    })
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

/// "And" in one text where the other has "or".
fn joints(one: &[Atom], other: &[Atom], pairs: &[(usize, usize)]) -> Option<Mismatch> {
    let joins = |atoms: &[Atom], by| atoms.iter().filter(|atom| atom.joined == Some(by)).count();
    let more = |by| joins(one, by).cmp(&joins(other, by));
    // "A or B" against "B and A", whatever stands first.
    if more("or") != Ordering::Equal && more("or") == more("and").reverse() {
        let (a, b) = if more("or") == Ordering::Greater {
            ("or", "and")
        } else {
            ("and", "or")
        };
        return Some(Mismatch::Changed {
            class: "word",
            one: a.to_owned(),
            other: b.to_owned(),
        });
    }
    for &(a, b) in pairs {
        if let (Some(a), Some(b)) = (one[a].joined, other[b].joined)
            && a != b
        {
            return Some(Mismatch::Changed {
                class: "word",
                one: a.to_owned(),
                other: b.to_owned(),
            });
        }
    }
    None
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

fn sources_agree(a: &Atom, b: &Atom) -> bool {
    use Relation::{From, Plain};
    matches!((a.role, b.role), (From, Plain) | (Plain, From))
}

/// How a sentence was turned from the active to the passive voice.
enum Turn {
    /// "How do I boil eggs" and "how are eggs boiled".
    WithoutAgent,
    /// "Does the insurance cover X" and "is X covered by the insurance".
    /// The role is that of the agent in the passive voice.
    WithAgent(Relation),
}

/// Verbs that say the same of a place and of who acts there: "is X supported in Python".
const HOSTED: [&str; 5] = ["support", "accept", "include", "allow", "cover"];

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
    let hosted = HOSTED.contains(&&*verb.key);
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

/// Pairs of equal atoms in order, and what remains on each side. Of a key that occurs several times, equal
/// words are paired first: "an int to an Integer" is not "an Integer to an int".
fn aligned<'a>(
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

fn unmatched(left: &[&Atom], right: &[&Atom]) -> Option<Mismatch> {
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
