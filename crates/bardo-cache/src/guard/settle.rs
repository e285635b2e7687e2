//! Joins wordings that differ in the kind of question, once the words of a text are read: "how do A and
//! B differ" and "what is the difference", "how high is the fee" and "what is the fee".

use super::atoms::{Atom, Relation};
use super::frame::{Asking, SentenceFrame};
use super::tables::TABLES;

fn has(atoms: &[Atom], key: &str) -> bool {
    atoms.iter().any(|atom| atom.key == key)
}

fn ends_in(atoms: &[Atom], key: &str) -> bool {
    let last = atoms.last();
    last.is_some_and(|last| last.key == key && last.role == Relation::Plain)
}

/// Brings the frame and the words of a text to the form that is compared.
pub(super) fn settle(frame: &mut SentenceFrame, atoms: &mut Vec<Atom>) {
    match frame.ask {
        Asking::YesNo if super::compare::offers_a_choice(atoms) => frame.ask = Asking::What,
        Asking::How if has(atoms, "differ") => frame.ask = Asking::What,
        Asking::HowMuch if has(atoms, "price") || measures_first(atoms) => {
            frame.ask = Asking::What;
        }
        Asking::HowLong if frame.grain.is_none() && lasts(atoms) => {
            frame.ask = Asking::What;
            frame.sum = true;
        }
        Asking::When
            if atoms
                .iter()
                .any(|atom| atom.key == "deadlin" && !atom.modifier) =>
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
            if has(atoms, "tak") {
                frame.foretold();
            }
            lasting(frame, atoms);
            // "How long does it last" and "how long is it".
            atoms.pop_if(|atom| atom.key == "last");
        }
        // "When does it happen" and "when is it".
        Asking::When if !frame.past && atoms.len() > 1 && ends_in(atoms, "happen") => {
            frame.foretold();
            atoms.pop();
        }
        Asking::When if atoms.iter().any(|atom| SCHEDULED.contains(&&*atom.key)) => {
            frame.foretold();
            happening(atoms);
        }
        _ => {}
    }
    moves(atoms);
    attributes(frame, atoms);
    occurrences(frame, atoms);
    if frame.ask == Asking::Nothing && programs(frame, atoms) {
        frame.ask = Asking::How;
        frame.present = true;
    }
}

/// Leaves out "take" and "need" of "how long does it take", which are not those of a person or of an
/// object: "how long do I take antibiotics".
fn lasting(frame: &SentenceFrame, atoms: &mut Vec<Atom>) {
    let person = matches!(
        frame.subject.as_deref(),
        Some("i" | "you" | "we" | "he" | "she" | "they")
    );
    let object = |next: &Atom| {
        next.role == Relation::Plain
            && !TABLES.is_verb(&TABLES.base(&next.shown))
            && !matches!(next.class, "time" | "number" | "negation")
    };
    let takes = |atom: &Atom| matches!(&*atom.key, "tak" | "require");
    let said: Vec<bool> = (0..atoms.len())
        .map(|at| takes(&atoms[at]) && (person || at > 0 && atoms.get(at + 1).is_some_and(object)))
        .collect();
    let mut said = said.into_iter();
    atoms.retain(|atom| said.next().unwrap_or_default() || !takes(atom));
}

/// Verbs of a price that moves.
const CHANGES: [&str; 5] = ["fall", "rise", "increase", "decrease", "crash"];

/// What moves, over which time, and between which chains.
fn moves(atoms: &mut Vec<Atom>) {
    // "The ETH price fell" and "ETH fell".
    let priced = (1..atoms.len()).find(|&at| {
        let (token, price) = (&atoms[at - 1], &atoms[at]);
        let named =
            token.class == "ticker" || matches!(&*token.key, "gold" | "oil" | "silver" | "stock");
        let ends = |next: &Atom| {
            next.role != Relation::Plain
                || next.key == "if"
                || matches!(next.class, "time" | "number" | "direction" | "quantifier")
        };
        let moved = atoms
            .get(at + 1)
            .is_some_and(|verb| CHANGES.contains(&&*verb.key));
        named
            && price.key == "price"
            && token.chunk == price.chunk
            && moved
            && atoms.get(at + 2).is_none_or(ends)
    });
    if let Some(at) = priced {
        atoms[at - 1].modifier = atoms[at].modifier;
        atoms.remove(at);
    }
    // "Is the price of Bitcoin over $60,000" and "is Bitcoin over $60,000".
    let over = |at: usize| {
        let next = atoms.get(at).map(|next| next.key.as_str());
        matches!(next, Some("morethan" | "lessthan"))
            && atoms.get(at + 1).is_some_and(|sum| sum.key.contains(' '))
    };
    let is_price = |at: usize| atoms.get(at).is_some_and(|atom| atom.key == "price");
    let is_token = |at: usize| atoms.get(at).is_some_and(|atom| atom.class == "ticker");
    if over(2) && is_price(0) && is_token(1) {
        atoms.remove(0);
    } else if over(2) && is_token(0) && is_price(1) {
        atoms.remove(1);
        atoms[0].modifier = false;
    }
    // "The volume of the last 24 hours" and "the 24h volume"; "the last hour" and "the last 60
    // minutes".
    let last = atoms.windows(2).position(|pair| {
        pair[0].key == "last" && matches!(&*pair[1].key, "24 hour" | "1 hour" | "1 minute")
    });
    if let Some(at) = last {
        let day = atoms[at + 1].key == "24 hour";
        if day && has(atoms, "volum") {
            atoms.remove(at);
        } else if !day {
            let key = if atoms[at + 1].key == "1 hour" {
                "hour"
            } else {
                "minut"
            };
            atoms[at + 1].key = key.to_owned();
        }
    }
    // "Move USDC from Ethereum to Arbitrum" bridges it.
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
    // "The deepest lake in the world" is the deepest of all.
    let most = atoms.iter().any(|atom| atom.class == "superlative");
    if most && !has(atoms, "second") {
        atoms.retain(|atom| {
            !(atom.key == "world" && atom.preposition == "in" && atom.definite && !atom.modifier)
        });
    }
    if has(atoms, "substitut") {
        atoms.retain(|atom| atom.key != "good");
    }
}

/// Prices, sums, distances and judgements.
fn attributes(frame: &mut SentenceFrame, atoms: &mut Vec<Atom>) {
    if matches!(frame.ask, Asking::What | Asking::HowMuch) && has(atoms, "price") {
        single(atoms);
        computed(atoms);
    }
    frame.sum |= measured(atoms);
    if frame.ask == Asking::What {
        levied(frame, atoms);
    }
    if has(atoms, "distanc") {
        apart(atoms);
    }
    if frame.ask == Asking::YesNo {
        judged(atoms);
    }
}

/// What happened, and where something of one's own is seen.
fn occurrences(frame: &mut SentenceFrame, atoms: &mut Vec<Atom>) {
    if frame.ask == Asking::Why {
        occurring(atoms);
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
        contained(atoms);
    }
    // "How can I see my invoices" and "where can I see my invoices".
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
    if frame.ask == Asking::Why {
        atoms.retain(|atom| atom.key != "constantly");
    }
    entered(frame, atoms);
}

/// "How much volume does it have" asks what its volume is.
fn measures_first(atoms: &[Atom]) -> bool {
    let chunk = atoms.first().map(|first| first.chunk);
    let head = atoms
        .iter()
        .take_while(|atom| Some(atom.chunk) == chunk)
        .last();
    head.is_some_and(|head| {
        TABLES.measures.contains(head.key.as_str()) && head.joined.is_none() && !head.modifier
    })
}

/// "How long is the timeout" asks what the timeout is: its noun is a duration and nothing is done.
fn lasts(atoms: &[Atom]) -> bool {
    let head = |atom: &Atom| {
        TABLES.durations.contains(atom.key.as_str()) && !atom.modifier && atom.joined.is_none()
    };
    let verb = |atom: &Atom| !atom.modifier && TABLES.is_verb(&TABLES.base(&atom.shown));
    atoms.iter().any(head) && !atoms.iter().any(verb)
}

/// "Reverse a list in Python" asks how it is done.
fn programs(frame: &SentenceFrame, atoms: &[Atom]) -> bool {
    let verb = atoms.first().is_some_and(|first| {
        TABLES.is_verb(&TABLES.base(&first.shown)) && first.role == Relation::Plain
    });
    let language = |atom: &Atom| atom.class == "language" && atom.role == Relation::In;
    verb && frame.persons.is_empty() && !frame.past && atoms.iter().any(language)
}

/// The price of one token is that of the token.
fn single(atoms: &mut [Atom]) {
    for atom in atoms.iter_mut().filter(|atom| atom.class == "number") {
        let unit = atom.key.strip_prefix("1 ").map(str::to_owned);
        let token = unit.filter(|unit| TABLES.classes.get(unit.as_str()) == Some(&"ticker"));
        if let Some(token) = token {
            atom.key = token;
            atom.class = "ticker";
        }
    }
}

/// "How high is the fee" is "what is the fee", while a tower has a height of its own.
fn measured(atoms: &mut Vec<Atom>) -> bool {
    let measure = |atom: &Atom| {
        TABLES.measures.contains(atom.key.as_str()) && !atom.modifier && atom.joined.is_none()
    };
    let own = match atoms.first().map(|first| first.key.as_str()) {
        Some("howhigh") => "height",
        Some("howbig") => "siz",
        _ => return false,
    };
    let has = atoms.iter().any(measure);
    if has {
        atoms.remove(0);
    } else {
        atoms[0].key = own.to_owned();
    }
    has
}

/// "How much is the late fee" is "what is the late fee": a fee has no price of its own.
/// "What is a fee" asks no amount.
fn levied(frame: &mut SentenceFrame, atoms: &mut Vec<Atom>) {
    let sum = atoms.first().is_some_and(|first| first.key == "price");
    let from = usize::from(sum);
    let Some(chunk) = atoms.get(from).map(|next| next.chunk) else {
        return;
    };
    let head = atoms[from..]
        .iter()
        .take_while(|atom| atom.chunk == chunk)
        .last();
    let Some(head) = head.filter(|head| {
        let key = head.key.as_str();
        let counts = TABLES.fees.contains(key)
            || TABLES.durations.contains(key)
            || TABLES.measures.contains(key);
        counts && head.joined.is_none() && !head.modifier
    }) else {
        return;
    };
    let alone = atoms[from..].iter().all(|atom| atom.chunk == chunk);
    frame.indefinite = alone && !head.definite;
    let sum = sum && TABLES.fees.contains(head.key.as_str());
    if sum && atoms[0].chunk != chunk {
        frame.sum = true;
        atoms.remove(0);
        for atom in atoms.iter_mut().filter(|atom| atom.chunk == chunk) {
            atom.role = Relation::Plain;
        }
    }
}

/// "How much is 15 % of 200" asks for no price.
fn computed(atoms: &mut Vec<Atom>) {
    if let [first, second, ..] = &atoms[..]
        && first.key == "price"
        && second.class == "number"
        && (!second.key.contains(' ') || second.key.ends_with("percent"))
    {
        atoms.remove(0);
        atoms[0].role = Relation::Plain;
    }
}

/// Verbs of what happens by plan: "when does it open" and "when will it open" ask the same.
const SCHEDULED: [&str; 11] = [
    "open", "close", "start", "end", "expire", "arrive", "renew", "ship", "releas", "publish",
    "deliver",
];

/// Moves a verb behind what it happens to: "the closing time of the shop" as "the shop closes".
fn happening(atoms: &mut [Atom]) {
    let verb = atoms
        .first()
        .is_some_and(|first| SCHEDULED.contains(&&*first.key));
    let of = |atom: &&Atom| matches!(atom.role, Relation::Of | Relation::For);
    let end = atoms.iter().skip(1).take_while(of).count();
    if verb && end > 0 {
        atoms[..=end].rotate_left(1);
    }
}

/// "Check if a key exists in a map" and "check if a key is in a map".
fn contained(atoms: &mut Vec<Atom>) {
    let exists = atoms.windows(2).position(|pair| {
        pair[0].key == "exist" && pair[1].role == Relation::In && pair[1].chunk != pair[0].chunk
    });
    if let Some(at) = exists {
        atoms.remove(at);
    }
}

/// What is shown or downloaded is found at a place.
fn is_looked_at(atom: &Atom) -> bool {
    matches!(&*atom.key, "view" | "download") && !atom.passive && atom.role == Relation::Plain
}

/// Verbs of what happens by itself: "the reasons for the fall of Rome" and "why did Rome fall".
const OCCURS: [&str; 8] = [
    "fall", "rise", "crash", "fail", "collaps", "decrease", "increase", "end",
];

/// Moves a noun of an event behind what it happens to, and leaves out "happen": "the causes of
/// earthquakes" and "why earthquakes happen".
fn occurring(atoms: &mut Vec<Atom>) {
    let event = atoms
        .first()
        .is_some_and(|first| OCCURS.contains(&&*first.key));
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

/// The distance from one place to another is that between both, in each order.
fn apart(atoms: &mut Vec<Atom>) {
    atoms.retain(|atom| atom.key != "between");
    for atom in atoms {
        if matches!(atom.role, Relation::From | Relation::To) {
            atom.role = Relation::Plain;
        }
    }
}

/// Moves the word that judges to the front: "is it safe to eat raw eggs", "is eating raw eggs safe",
/// "are raw eggs safe to eat". Words before a noun, as in "safe eggs", stay.
fn judged(atoms: &mut Vec<Atom>) {
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

/// What is done to a setting.
const SETS: [&str; 4] = ["modify", "update", "enable", "disable"];

/// What a program lets its user set.
const SETTINGS: [&str; 12] = [
    "password",
    "email",
    "profil",
    "alert",
    "creditcard",
    "languag",
    "username",
    "avatar",
    "darkmod",
    "2fa",
    "subscribe",
    "plan",
];

/// "Where do I turn on dark mode" and "how do I turn on dark mode": settings of a program are changed
/// where they are.
fn is_setting(frame: &SentenceFrame, atoms: &[Atom]) -> bool {
    let sets = atoms
        .first()
        .is_some_and(|first| SETS.contains(&&*first.key) && !first.passive);
    let things = || atoms.iter().skip(1).filter(|atom| atom.class != "negation");
    frame.ask == Asking::Where
        && !frame.past
        && frame.owners.iter().all(|owner| *owner == "my")
        && sets
        && things().any(|atom| SETTINGS.contains(&&*atom.key))
}

/// "A visa to enter Peru", "a visa to travel to Peru" and "a visa for Peru".
fn entered(frame: &SentenceFrame, atoms: &mut Vec<Atom>) {
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

#[cfg(test)]
mod tests;
