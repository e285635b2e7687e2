//! Prices, sums and measures: "how high is the fee" is "what is the fee".

use super::has;
use crate::guard::atoms::{Atom, Relation};
use crate::guard::frame::{Asking, SentenceFrame};
use crate::guard::stems;
use crate::guard::tables::TABLES;

/// Leaves out a price where what is said of it is said of the token.
pub(super) fn price_untold(atoms: &mut Vec<Atom>) {
    price_moved(atoms);
    price_over(atoms);
}

/// "The ETH price fell" and "ETH fell".
fn price_moved(atoms: &mut Vec<Atom>) {
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
            .is_some_and(|verb| TABLES.price_moves.contains(&verb.key));
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
}

/// "Is the price of Bitcoin over $60,000" and "is Bitcoin over $60,000".
fn price_over(atoms: &mut Vec<Atom>) {
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
}

/// Parts of a day and seasons: "each night" is not "all night".
const RECURRENT: [&str; 12] = [
    "night",
    "day",
    "morning",
    "evening",
    "afternoon",
    "weekend",
    "week",
    "month",
    "summer",
    "winter",
    "spring",
    "autumn",
];

/// "Every file" is "all files", where no amount is said: "the limit for each user" is not "the limit for
/// all users", "a folder for each client" is not "a folder for all clients", and each player can win.
pub(super) fn each_to_all(frame: &SentenceFrame, atoms: &mut [Atom]) {
    // "Files above 5 MB" are no sum.
    let compares = |at: usize| {
        let before = at.checked_sub(1).map_or("", |before| &*atoms[before].key);
        matches!(before, "morethan" | "lessthan" | "atleast" | "atmost")
    };
    let counts = |at: usize| {
        let atom = &atoms[at];
        let key = atom.key.as_str();
        atom.class == "number" && !compares(at)
            || TABLES.fees.contains(key)
            || TABLES.durations.contains(key)
            || TABLES.measures.contains(key)
            || matches!(key, "total" | "sum" | "average" | "memory" | "money")
    };
    let each = atoms.iter().position(|atom| atom.key == "each");
    let recurs = |each: usize| {
        let next = atoms.get(each + 1);
        next.is_some_and(|next| RECURRENT.contains(&next.key.as_str()))
    };
    let one = |each: usize| each == 0 && frame.modals.contains(&"can");
    let each = each.filter(|&each| !recurs(each) && !is_shared(atoms, each) && !one(each));
    if let Some(each) = each.filter(|_| !(0..atoms.len()).any(counts)) {
        atoms[each].key = "all".to_owned();
    }
}

/// Whether there is one thing for all, or one for each: "save each sheet as a PDF", "a folder for each client".
fn is_shared(atoms: &[Atom], each: usize) -> bool {
    let goal = matches!(atoms[each].role, Relation::For | Relation::To);
    let before = each.checked_sub(1).map(|before| &atoms[before]);
    let given = goal && before.is_some_and(|thing| thing.determiner == "a");
    // "Give each child a gift".
    let gives = ["give", "send", "offer", "assign", "lend", "grant"];
    let gets = before.is_some_and(|verb| {
        let mut gives = gives.iter();
        gives.any(|give| verb.key == TABLES.canonical(give))
    });
    let made = |atom: &Atom| {
        let goal = atom.acts_as || matches!(atom.preposition, "into" | "to");
        let gift = gets && atom.role == Relation::Plain;
        atom.determiner == "a" && (goal || gift)
    };
    given || atoms[each..].iter().any(made)
}

/// Reads the words of a price or of a sum in one form.
pub(super) fn settle(frame: &mut SentenceFrame, atoms: &mut Vec<Atom>) {
    if matches!(frame.ask, Asking::What | Asking::HowMuch) && has(atoms, "price") {
        one_of_token(atoms);
        result_untold(atoms);
    }
    frame.sum |= how_high_to_what(atoms);
    if frame.ask == Asking::What {
        price_of_fee(frame, atoms);
    }
}

/// "How much volume does it have" asks what its volume is.
pub(super) fn is_of_measure(atoms: &[Atom]) -> bool {
    let chunk = atoms.first().map(|first| first.chunk);
    let head = atoms
        .iter()
        .take_while(|atom| Some(atom.chunk) == chunk)
        .last();
    head.is_some_and(|head| {
        TABLES.measures.contains(head.key.as_str()) && head.joined.is_none() && !head.modifier
    })
}

/// The price of one token is that of the token.
fn one_of_token(atoms: &mut [Atom]) {
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
fn how_high_to_what(atoms: &mut Vec<Atom>) -> bool {
    let measure = |atom: &Atom| {
        TABLES.measures.contains(atom.key.as_str()) && !atom.modifier && atom.joined.is_none()
    };
    let own = match atoms.first().map(|first| first.key.as_str()) {
        Some("howhigh") => "height",
        Some("howbig") => stems::SIZE,
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
fn price_of_fee(frame: &mut SentenceFrame, atoms: &mut Vec<Atom>) {
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
fn result_untold(atoms: &mut Vec<Atom>) {
    if let [first, second, ..] = &atoms[..]
        && first.key == "price"
        && second.class == "number"
        && (!second.key.contains(' ') || second.key.ends_with("percent"))
    {
        atoms.remove(0);
        atoms[0].role = Relation::Plain;
    }
}
