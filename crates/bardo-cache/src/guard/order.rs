//! The order of words, and which of them may move without another meaning.

use std::ops::Range;

use super::atoms::{Atom, Relation, place};
use super::mismatch::Mismatch;
use super::stems;
use super::tables::TABLES;

/// The first two words that stand in another order, where the order says something.
pub(super) fn changed(one: &[Atom], other: &[Atom], pairs: &[(usize, usize)]) -> Option<Mismatch> {
    let sides = sides_agree(one, other);
    let compares = |atom: &Atom| sides || matches!(&*atom.key, "differ" | stems::DISTANCE);
    let choices = crossed_choice(one, other);
    let written = |atom: &Atom| is_written_in(one, atom) && is_written_in(other, atom);
    for (at, &(a1, b1)) in pairs.iter().enumerate() {
        for &(a2, b2) in &pairs[at + 1..] {
            if b1 < b2 {
                continue;
            }
            let first = (&one[a1], &other[b1]);
            let second = (&one[a2], &other[b2]);
            let follows = |a: usize, b: usize| pairs.contains(&(a + 1, b + 1));
            let adjacent = adjacent(&one[a1..=a2]) && adjacent(&other[b2..=b1]);
            let moved = |distance, followed| WordMove {
                distance,
                followed,
                adjacent,
            };
            let parted = |atoms: &[Atom], [one, other]: [usize; 2]| {
                atoms[one].sentence != atoms[other].sentence
            };
            // "It is 9 am in Paris. What time is that in Rome?"
            let exchanged = parted(one, [a1, a2]) && parted(other, [b1, b2]);
            let clause = |a: usize, b: usize| is_of_clause(one, a) || is_of_clause(other, b);
            let free = !clause(a1, b1) && may_move(first, second, moved(b1 - b2, follows(a1, b1)))
                || !clause(a2, b2) && may_move(second, first, moved(a2 - a1, follows(a2, b2)))
                || compares(first.0)
                || compares(second.0)
                || written(first.0) && !is_conjunction(second.0)
                || written(second.0) && !is_conjunction(first.0)
                || alternatives(one, a1, a2) && alternatives(other, b2, b1)
                || choices.as_ref().is_some_and(|(first, second)| {
                    [a1, a2].iter().all(|at| first.contains(at))
                        && [b1, b2].iter().all(|at| second.contains(at))
                })
                || listed(one, a1, a2) && listed(other, b2, b1)
                || nominalized(one, [a1, a2], other, [b2, b1])
                || nominalized(other, [b2, b1], one, [a1, a2]);
            if exchanged || !free {
                return Some(Mismatch::Order {
                    one: one[a1].shown.clone(),
                    other: one[a2].shown.clone(),
                });
            }
        }
    }
    None
}

/// How two words changed places.
struct WordMove {
    /// How many words apart they are.
    distance: usize,
    /// One word comes behind the moved one, in both texts.
    followed: bool,
    /// Nothing but the two phrases of the words stands between them, in both texts.
    adjacent: bool,
}

/// Whether nothing but the phrases of the first and the last word stands between them.
fn adjacent(atoms: &[Atom]) -> bool {
    let (Some(first), Some(last)) = (atoms.first(), atoms.last()) else {
        return true;
    };
    let ends = [first.chunk, last.chunk];
    atoms.iter().all(|atom| ends.contains(&atom.chunk))
}

/// Whether a time or an adverb stands between two verbs, so that it says something of one of them: "users who
/// joined yesterday bought" is not "users who joined bought yesterday".
fn is_of_clause(atoms: &[Atom], at: usize) -> bool {
    let verb = |atom: &Atom| TABLES.is_verb(&TABLES.base(&atom.shown));
    let behind = at.checked_sub(1).is_some_and(|before| verb(&atoms[before]));
    let before = atoms.get(at + 1).is_some_and(verb);
    let moves = atoms[at].class == "time" || is_movable(&atoms[at]);
    moves && behind && before
}

/// Whether a word may stand on the other side of another one.
fn may_move(mover: (&Atom, &Atom), over: (&Atom, &Atom), moved: WordMove) -> bool {
    let WordMove {
        distance, followed, ..
    } = moved;
    let (a, b) = mover;
    // What "not", "all" or "but" says belongs to the words beside it.
    let bound = |atom: &Atom| {
        matches!(atom.class, "negation" | "quantifier" | "amount")
            || matches!(&*atom.key, "but" | "even" | "then")
    };
    if is_conjunction(over.0) || bound(over.0) || bound(a) {
        return false;
    }
    let apart = over.0.chunk != a.chunk && over.1.chunk != b.chunk;
    let strong = |role: Relation| !matches!(role, Relation::Plain | Relation::Of);
    // "In Aave on Arbitrum" is "on Arbitrum in Aave", but not "in Arbitrum on Aave".
    let exact = !strong(over.0.role) || a.class == "time" || a.preposition == b.preposition;
    // "5 pm in Rome in Tokyo time" is not "5 pm in Tokyo in Rome time".
    let exact = exact && a.modifier == b.modifier;
    // "Is it warmer in June than in May" and "in May than in June", but "at 5 pm on Friday".
    let times = a.class == "time" && over.0.class == "time";
    let apart = apart && !(times && a.preposition == over.0.preposition);
    let phrase =
        apart && moved.adjacent && strong(a.role) && roles_agree(a, b) && strong(b.role) && exact;
    let complement = |role| matches!(role, Relation::Of | Relation::In | Relation::For);
    // Of "the price of the fast charger", "fast" moves only together with "charger".
    let whole = |phrase: &Atom| !phrase.modifier || followed;
    let settled =
        over.0.role == over.1.role || !complement(over.0.role) && !complement(over.1.role);
    let joined = [a, b, over.0, over.1]
        .iter()
        .any(|atom| atom.joined.is_some());
    // "Services that Redis depends on" are not services that depend "on Redis".
    let closed = !over.0.open && !over.1.open;
    // "Exchanges" is a noun of its own in "the largest exchanges holders of it": a compound has "exchange".
    let several = |atom: &Atom| atom.plural && atom.modifier;
    let compound = distance <= 3
        && closed
        && !(several(a) || several(b))
        && settled
        && !joined
        && match (a.role, b.role) {
            // "The owner of the workspace deletes it" has no "workspace delete".
            (Relation::Of, Relation::Plain) => whole(a) && !is_deed(b),
            (Relation::Plain, Relation::Of) => whole(b) && !is_deed(a),
            (one, other) => {
                let apart = over.0.chunk != a.chunk || over.1.chunk != b.chunk;
                let behind = complement(one) && b.modifier && over.1.chunk == b.chunk && whole(a);
                let before = complement(other) && a.modifier && over.0.chunk == a.chunk && whole(b);
                apart && (behind || before)
            }
        };
    // "The January sale" is not "the January profits".
    let free = followed || !(a.modifier && b.modifier);
    let time = free && a.class == "time" && over.0.class != "time" && over.0.role == over.1.role;
    let alone = a.joined.is_none() && b.joined.is_none() && over.0.joined.is_none();
    // "A manual update" is not "updated manually".
    let form = a.shown.ends_with("ly") == b.shown.ends_with("ly");
    let adverb = free && form && distance <= 3 && alone && is_movable(a) && !is_movable(over.0);
    let superlative = free
        && a.class == "superlative"
        && over.0.class != "superlative"
        && a.role == b.role
        && over.0.role == over.1.role;
    // "Error 404" is "404 error", and "row 2" is not "2 rows". A "season 3 pass" is not a "3 season pass".
    let counts = over.0.modifier && over.1.modifier && a.key.len() < 3;
    let label = distance == 1
        && !counts
        && over.0.shown == over.1.shown
        && !(over.0.plural || a.key == "1")
        && matches!(a.class, "number" | "code" | "address")
        && over.0.class == "word"
        && a.chunk == over.0.chunk
        && b.chunk == over.1.chunk;
    phrase || compound || time || label || adverb || superlative
}

/// Whether a word is a verb that nothing follows in its phrase: "delete" of "delete the owner".
fn is_deed(atom: &Atom) -> bool {
    !atom.modifier && TABLES.is_verb(&TABLES.base(&atom.shown))
}

fn is_movable(atom: &Atom) -> bool {
    TABLES.movable.contains(atom.key.as_str())
}

/// A comparison of two things, or a distance between two places, names them in each order: "A and B
/// in Go" is "B and A in Go", but "iPhone 14 and Pixel 8" is not "iPhone 8 and Pixel 14".
fn sides_agree(one: &[Atom], other: &[Atom]) -> bool {
    let (Some((a, b, rest)), Some((c, d, tail))) = (sides(one), sides(other)) else {
        return false;
    };
    rest == tail && (a == c && b == d || a == d && b == c)
}

/// The keys of both sides and of what follows them.
fn sides(atoms: &[Atom]) -> Option<(Vec<&str>, Vec<&str>, Vec<&str>)> {
    fn keys<'a>(atoms: &[&'a Atom]) -> Vec<&'a str> {
        atoms.iter().map(|atom| &*atom.key).collect()
    }
    let compares = |atom: &&Atom| matches!(&*atom.key, "differ" | stems::DISTANCE | "between");
    atoms.iter().find(compares)?;
    let atoms: Vec<&Atom> = atoms.iter().filter(|atom| !compares(atom)).collect();
    if let [one, other] = atoms[..] {
        return Some((vec![&one.key], vec![&other.key], Vec::new()));
    }
    let mut joints = (0..atoms.len()).filter(|&at| atoms[at].joined == Some("and"));
    let (Some(joint), None) = (joints.next(), joints.next()) else {
        return None;
    };
    let end = (joint..atoms.len())
        .find(|&at| atoms[at].chunk != atoms[joint].chunk && atoms[at].role != Relation::Plain);
    let (sides, rest) = atoms.split_at(end.unwrap_or(atoms.len()));
    let (first, second) = sides.split_at(joint);
    Some((keys(first), keys(second), keys(rest)))
}

fn is_conjunction(atom: &Atom) -> bool {
    TABLES.conjunctions.contains(atom.key.as_str())
}

/// "In Python" belongs to the whole question where no other language is named, and no clause is joined
/// to another one.
fn is_written_in(atoms: &[Atom], atom: &Atom) -> bool {
    let mut languages = atoms.iter().filter(|other| other.class == "language");
    let one =
        languages.next().is_some_and(|first| first.key == atom.key) && languages.next().is_none();
    let clauses = atoms
        .iter()
        .any(|other| other.joined.is_some() || is_conjunction(other) || other.key == "but");
    let modified = atoms
        .windows(2)
        .any(|pair| pair[0].key == atom.key && pair[0].modifier && pair[1].class != "negation");
    one && atom.role == Relation::In && !modified && !clauses
}

/// Two nouns joined by "and", of which each is a phrase of its own: "pros and cons".
fn listed(atoms: &[Atom], first: usize, second: usize) -> bool {
    let (Some(a), Some(b)) = (atoms.get(first), atoms.get(second)) else {
        return false;
    };
    let ends = |atom: &Atom| {
        atoms
            .get(second + 1)
            .is_none_or(|next| next.chunk != atom.chunk || &*next.key == "together")
    };
    // "Take A and B together", "both A and B". "Add A and B" may say which comes first.
    let together = atoms.iter().any(|atom| &*atom.key == "together");
    let verb = |atom: &Atom| TABLES.is_verb(&TABLES.base(&atom.shown));
    let before = |atom: &Atom| &*atom.key == "both" || together && verb(atom);
    let begins = first == 0 || atoms[first - 1].chunk != a.chunk || before(&atoms[first - 1]);
    let noun = |atom: &Atom| {
        !atom.passive
            && matches!(atom.class, "word" | "ticker" | "protocol")
            && !TABLES.is_verb(&atom.key)
    };
    let once = atoms.iter().filter(|atom| atom.joined.is_some()).count() == 1;
    let ordered = |atom: &Atom| TABLES.ratios.contains(&atom.key);
    second == first + 1
        && b.joined == Some("and")
        && once
        && begins
        && ends(b)
        && noun(a)
        && noun(b)
        && !atoms.iter().any(ordered)
}

/// Two words joined by "or".
fn alternatives(atoms: &[Atom], first: usize, second: usize) -> bool {
    second == first + 1 && atoms[second].joined == Some("or")
}

/// Where each text names two phrases joined by "or", if the other text has them in the other order: "a hot wallet or
/// a cold wallet".
fn crossed_choice(one: &[Atom], other: &[Atom]) -> Option<(Range<usize>, Range<usize>)> {
    let ((first, second), (third, fourth)) = (choice(one)?, choice(other)?);
    let equal = |a: &Range<usize>, b: &Range<usize>| {
        let (a, b) = (&one[a.clone()], &other[b.clone()]);
        a.iter()
            .map(|atom| &atom.key)
            .eq(b.iter().map(|atom| &atom.key))
    };
    let crossed = equal(&first, &fourth) && equal(&second, &third);
    crossed.then_some((first.start..second.end, third.start..fourth.end))
}

/// The places of both phrases of a choice, where a text has a single one.
fn choice(atoms: &[Atom]) -> Option<(Range<usize>, Range<usize>)> {
    let mut joints = (1..atoms.len()).filter(|&at| atoms[at].joined.is_some());
    let (Some(joint), None) = (joints.next(), joints.next()) else {
        return None;
    };
    let chunk = |at: usize| atoms[at].chunk;
    // "Which is cheaper, A or B".
    let compares = |at: usize| atoms[at].class == "superlative";
    let from = (0..joint)
        .rev()
        .take_while(|&at| chunk(at) == chunk(joint - 1) && !compares(at))
        .last()?;
    let to = (joint..atoms.len())
        .take_while(|&at| chunk(at) == chunk(joint) && !compares(at))
        .last()?
        + 1;
    (atoms[joint].joined == Some("or")).then_some((from..joint, joint..to))
}

pub(super) fn roles_agree(a: &Atom, b: &Atom) -> bool {
    use Relation::Of;
    if a.class == "time" && (a.role == Of) != (b.role == Of) && !a.modifier && !b.modifier {
        return false;
    }
    relations_agree(a, b) || compounds(a, b) || compounds(b, a)
}

/// "The office wifi" in the first text and "the wifi in the office" in the second.
pub(super) fn compounds(a: &Atom, b: &Atom) -> bool {
    a.modifier && matches!(b.role, Relation::Of | Relation::In | Relation::For)
}

pub(super) fn relations_agree(a: &Atom, b: &Atom) -> bool {
    use Relation::{For, In, Of, Plain, With};
    // "One in five" is a share, and "one of five" one of them.
    let bare = a.class == "number" && !a.key.contains(' ');
    if bare && matches!((a.role, b.role), (Of, In) | (In, Of)) {
        return false;
    }
    // "In 3 days" is when, and "for 3 days" how long.
    if a.class == "number" && (a.role == For) != (b.role == For) {
        return false;
    }
    let hosted = matches!(
        a.class,
        "language" | "software" | "protocol" | "chain" | "time"
    );
    // "In 3 days" is at their end, and "within 3 days" before it.
    let within = |atom: &Atom| atom.preposition == "within";
    if a.class == "number" && within(a) != within(b) {
        return false;
    }
    if (a.role, b.role) == (In, In) {
        return hosted || place(a.preposition) == place(b.preposition);
    }
    // "Into the truck" is inside it, and "onto the truck" on top.
    let within = |atom: &Atom| atom.preposition == "into";
    let upon = |atom: &Atom| matches!(atom.preposition, "onto" | "upon");
    if within(a) && upon(b) || upon(a) && within(b) {
        return false;
    }
    if (a.role, b.role) == (With, With) {
        return a.preposition == b.preposition || are_means(a.preposition, b.preposition);
    }
    a.role == b.role
        || matches!(a.class, "time" | "negation")
            && matches!((a.role, b.role), (Plain, In) | (In, Plain))
        || matches!(a.class, "language" | "software")
            && matches!((a.role, b.role), (In, With) | (With, In))
        || a.key == "account" && matches!((a.role, b.role), (In, For) | (For, In))
        || a.class == "protocol" && matches!((a.role, b.role), (In, With) | (With, In))
        || a.class == "time" && matches!((a.role, b.role), (For, Plain) | (Plain, For))
        || matches!(
            (a.role, b.role),
            (Plain | Of, Plain | Of) | (Of, In) | (In, Of) | (Of, For) | (For, Of)
        )
}

/// Prepositions that name one means: "sync with Dropbox" is not "sync via Dropbox", while "using" may be
/// either.
fn are_means(one: &str, other: &str) -> bool {
    let means = |word: &str| matches!(word, "via" | "through" | "using");
    let company = |word: &str| matches!(word, "with" | "alongside");
    means(one) && means(other)
        || company(one) && company(other)
        || matches!((one, other), ("with", "using") | ("using", "with"))
}

/// "A picture of Paris" in one text and "a picture in Paris" in the other: what it shows, and where it
/// is. "A cup of coffee" and "a coffee cup": what it holds, and what it is for. "The invoice of Bob" and
/// "the invoice for Bob": who writes it, and who gets it.
pub(super) fn shows_or_holds(one: &[Atom], a: usize, b: &Atom) -> bool {
    use Relation::{For, In, Of};
    let head = one[..a].iter().rfind(|atom| atom.chunk != one[a].chunk);
    let Some(head) = head.filter(|head| !head.modifier && one[a].role == Of) else {
        return false;
    };
    let shows = TABLES.depictions.contains(&head.key) && matches!(b.role, In | For);
    let holds =
        TABLES.containers.contains(&head.key) && (b.modifier && !one[a].modifier || b.role == For);
    let aimed = TABLES.aimed.contains(&head.key) && b.role == For;
    aimed || shows && !b.modifier || holds
}

/// "Withdraw ETH" and "ETH withdrawal": a verb before its object, and its noun behind it. The places are those
/// of the first and the last word, the verb and its object or the object and the noun.
fn nominalized(
    verbal: &[Atom],
    [verb, last]: [usize; 2],
    nominal: &[Atom],
    [object, noun]: [usize; 2],
) -> bool {
    const REACH: usize = 3;
    let before = &nominal[..object];
    // "Someone else driving my car" has another object, so someone else drives.
    let behind = nominal.get(noun + 1);
    let acts_on = behind.is_some_and(|next| next.role == Relation::Plain && next.definite);
    let (verbal, nominal) = (&verbal[verb..=last], &nominal[object..=noun]);
    let (verb, object, noun) = (&verbal[0], &nominal[0], &nominal[nominal.len() - 1]);
    verbal.len() <= REACH + 1
        && nominal.len() <= REACH + 1
        && verb.key == noun.key
        && names_deed(verb, noun)
        && is_phrase(&verbal[1..])
        && is_phrase(nominal)
        && object.modifier
        && !is_subject(verb, object, noun)
        && !(noun.shown.ends_with("ing") && (acts_on || is_hindered(before)))
        && !TABLES.actors.contains(&object.key)
}

/// Whether a noun is that of a verb: "withdrawal" of "withdraw".
fn names_deed(verb: &Atom, noun: &Atom) -> bool {
    const ENDINGS: [&str; 5] = ["al", "tion", "sion", "ment", "very"];
    let ends = |atom: &Atom| ENDINGS.iter().any(|ending| atom.shown.ends_with(ending));
    let acts = TABLES.is_verb(&TABLES.base(&verb.shown)) || TABLES.is_verb(&verb.key);
    acts && !ends(verb)
        && !verb.passive
        && !noun.after_be
        && (ends(noun) || noun.shown.ends_with("ing"))
}

/// Whether words are a noun and what describes it: not "before eating" and not "eat before".
fn is_phrase(atoms: &[Atom]) -> bool {
    let Some(first) = atoms.first() else {
        return true;
    };
    let clause = |atom: &Atom| {
        is_conjunction(atom) || TABLES.fronted.contains(&*atom.shown) || atom.class == "negation"
    };
    atoms
        .iter()
        .all(|atom| atom.chunk == first.chunk && atom.joined.is_none() && !clause(atom))
}

/// Whether a verb stands before that says what somebody else does: "stop email bouncing".
fn is_hindered(before: &[Atom]) -> bool {
    before.iter().any(|atom| TABLES.hinder.contains(&atom.key))
}

/// Whether a word before "-ing" does it: "my cat scratching". "The instances running" are "the running
/// instances".
fn is_subject(verb: &Atom, object: &Atom, noun: &Atom) -> bool {
    let certain = object.definite || !object.determiner.is_empty();
    let described = verb.modifier && verb.shown == noun.shown;
    noun.shown.ends_with("ing") && certain && !described
}
