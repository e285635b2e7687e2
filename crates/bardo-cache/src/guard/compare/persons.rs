//! Compares the persons of two texts.

use super::said;
use crate::guard::frame::{Asking, SentenceFrame};
use crate::guard::mismatch::Mismatch;

/// "You" and "I" are one person where they are the only one; owners and third persons are not.
pub(super) fn persons(one: &SentenceFrame, other: &SentenceFrame) -> Option<Mismatch> {
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
