//! Compares the persons of two texts.

use super::said;
use crate::guard::atoms::Atom;
use crate::guard::frame::{Asking, SentenceFrame};
use crate::guard::mismatch::Mismatch;
use crate::guard::tables::TABLES;

/// "My" thing in one text and any such thing in the other, where nobody acts: "is my account locked" and
/// "is an account locked", but not "how do I lock my account" and "how do I lock an account".
pub(super) fn owners(
    one: (&SentenceFrame, &Atom),
    other: (&SentenceFrame, &Atom),
) -> Option<Mismatch> {
    let nobody = |frame: &SentenceFrame| {
        frame.persons.is_empty()
            && !matches!(frame.ask, Asking::How | Asking::HowLong | Asking::Nothing)
    };
    let determiners = (one.1.determiner, other.1.determiner);
    // "Who covers my loss" is not "who covers its loss", whatever else is mine.
    let of_it = matches!(determiners, ("my", "its") | ("its", "my"));
    // "Your card" is not "a card", whoever uses it.
    let yours = matches!(determiners, ("your", "a") | ("a", "your"));
    let any = matches!(determiners, ("my", "a") | ("a", "my"));
    // "What is my blood type" is not "what is blood type", and "I want to know my blood type" is not either.
    let defines = |frame: &SentenceFrame| frame.ask == Asking::What && frame.tells;
    let wants = |frame: &SentenceFrame| frame.ask == Asking::What && frame.opens_past.is_none();
    let mine = |frame: &SentenceFrame| frame.owners.contains(&"my");
    let bare = |one: &Atom, other: &Atom| {
        one.determiner == "my" && other.determiner.is_empty() && !other.definite
    };
    let bare = bare(one.1, other.1) || bare(other.1, one.1);
    let wanted = wants(one.0) && defines(other.0) || defines(one.0) && wants(other.0);
    let defined =
        bare && (defines(one.0) && defines(other.0) || wanted && mine(one.0) != mine(other.0));
    // "Sold me a loan" is not "sold my loan".
    let got = any && one.0.done_to != other.0.done_to;
    (of_it || yours || defined || got || any && nobody(one.0) && nobody(other.0)).then(|| {
        Mismatch::Person {
            one: one.1.determiner.to_owned(),
            other: other.1.determiner.to_owned(),
        }
    })
}

/// What is handed to me, and to somebody else on my behalf: "send me 50 USDC" and "send 50 USDC for me".
pub(super) fn receivers(
    one: (&SentenceFrame, &Atom),
    other: (&SentenceFrame, &Atom),
) -> Option<Mismatch> {
    let to_me = |frame: &SentenceFrame| frame.done_to && frame.first.0 == 0;
    let for_me = |frame: &SentenceFrame| !frame.done_to && frame.first.0 == 0 && frame.first.1 > 0;
    let apart = to_me(one.0) && for_me(other.0) || for_me(one.0) && to_me(other.0);
    let shown = |frame: &SentenceFrame| if frame.done_to { "me" } else { "for me" };
    (apart && TABLES.handed.contains(&one.1.key)).then(|| Mismatch::Person {
        one: shown(one.0).to_owned(),
        other: shown(other.0).to_owned(),
    })
}

/// "You" and "I" are one person where they are the only one; owners and third persons are not.
pub(super) fn persons(one: &SentenceFrame, other: &SentenceFrame) -> Option<Mismatch> {
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
    if let Some(difference) = roles(one, other) {
        return Some(difference);
    }
    // "The dog barks at me" is not "the dog barks at the neighbor".
    if one.at_me != other.at_me {
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
            Asking::Nothing
                | Asking::YesNo
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
    // "Can you sell my data" is not "can I sell my data".
    let mine = |frame: &SentenceFrame| frame.ask != Asking::How && frame.owners == ["my"];
    let named = !one.persons.is_empty() && !other.persons.is_empty();
    if mine(one) && mine(other) && named && one.persons != other.persons {
        return separate(&one.persons, &other.persons);
    }
    // "Who I called" is not "who called".
    let who = one.ask == Asking::Who && other.ask == Asking::Who;
    if who && one.persons.is_empty() != other.persons.is_empty() {
        return separate(&one.persons, &other.persons);
    }
    if one.owners_turned(other) || one.owners_replaced(other) {
        return separate(&one.possessors, &other.possessors);
    }
    let several = one.persons.len() > 1 || other.persons.len() > 1;
    if several && one.persons != other.persons {
        return separate(&one.persons, &other.persons);
    }
    // "Its records" are not "my records".
    let of_it = |one: &SentenceFrame, other: &SentenceFrame| {
        one.of_it && !other.of_it && one.owners.is_empty() && !other.owners.is_empty()
    };
    if of_it(one, other) || of_it(other, one) {
        return separate(&one.owners, &other.owners);
    }
    let owned = !one.owners.is_empty() && !other.owners.is_empty();
    if owned && one.owners != other.owners {
        return separate(&one.owners, &other.owners);
    }
    None
}

/// Who acts, who is acted on, and behind which preposition a person stands.
fn roles(one: &SentenceFrame, other: &SentenceFrame) -> Option<Mismatch> {
    // "Call me back" is not "call them back".
    let third = |one: &SentenceFrame, other: &SentenceFrame| {
        one.done_to && !other.done_to && one.objects.is_empty() && !other.objects.is_empty()
    };
    // "You refunded me" is not "you refunded them".
    let mine = |one: &SentenceFrame, other: &SentenceFrame| {
        let mut objects = other.objects.iter();
        let theirs = objects.any(|who| *who != "it" && !one.objects.contains(who));
        theirs && one.first.1 > other.first.1
    };
    // "Cancel it" is not "cancel them".
    let single = |one: &SentenceFrame, other: &SentenceFrame| {
        let only = |frame: &SentenceFrame, who, not| {
            frame.objects.contains(&who) && !frame.objects.contains(&not)
        };
        only(one, "it", "they") && only(other, "they", "it")
    };
    if mine(one, other) || mine(other, one) || single(one, other) || single(other, one) {
        return separate(&one.objects, &other.objects);
    }
    if third(one, other) || third(other, one) {
        return separate(&one.persons, &other.persons);
    }
    // "Pay him for it" is not "pay him with it".
    if one.aims != other.aims {
        return separate(&one.aims, &other.aims);
    }
    let beside = !one.asides.is_empty() && !other.asides.is_empty();
    if beside && one.asides != other.asides {
        let words = |frame: &SentenceFrame| {
            let asides = frame.asides.iter();
            let words = asides.flat_map(|&(role, person)| [role, person]);
            words.collect::<Vec<_>>()
        };
        return separate(&words(one), &words(other));
    }
    if one.replaces(other) || other.replaces(one) {
        return separate(&one.cast, &other.cast);
    }
    if one.turns_on_me(other) || other.turns_on_me(one) {
        let (one, other) = if one.turns_on_me(other) {
            ("I", "me")
        } else {
            ("me", "I")
        };
        return separate(&[one], &[other]);
    }
    if one.exchanges(other) || one.acts_on_me(other) || other.acts_on_me(one) {
        return separate(&one.cast, &other.cast);
    }
    let another = one.is_of_another(other) || other.is_of_another(one);
    if another || one.asks_for_me(other) || other.asks_for_me(one) {
        return separate(&one.persons, &other.persons);
    }
    None
}

fn separate(one: &[&str], other: &[&str]) -> Option<Mismatch> {
    Some(Mismatch::Person {
        one: said(one),
        other: said(other),
    })
}
