//! Who acts, what is denied, and what is asked of a time.

use crate::guard_pairs::{join, separate};

#[test]
fn who_did_it_is_not_left_out() {
    separate(&[
        ("Which orders did I cancel?", "Which orders did you cancel?"),
        (
            "Which payments did I receive?",
            "Which payments did you receive?",
        ),
        (
            "Which orders did we cancel?",
            "Which orders did they cancel?",
        ),
        ("Which shows do I watch?", "Which shows do you watch?"),
        ("Which orders did I cancel?", "Which orders were cancelled?"),
    ]);
    join(&[
        (
            "Which payment methods do you accept?",
            "Which payment methods are accepted?",
        ),
        ("Which documents do I need?", "Which documents are needed?"),
        (
            "Which languages does it support?",
            "Which languages are supported?",
        ),
    ]);
}

#[test]
fn what_one_takes_or_needs_is_no_duration_of_its_own() {
    separate(&[
        (
            "How long do I take antibiotics?",
            "How long do antibiotics take?",
        ),
        ("How long do I need a cast?", "How long is a cast?"),
        ("How long should I take aspirin?", "How long is aspirin?"),
        (
            "How long do patients take antibiotics?",
            "How long do antibiotics take patients?",
        ),
        ("What is the population mean?", "What is the population?"),
        ("What is the sample mean?", "What is the sample?"),
    ]);
    join(&[
        ("How long does shipping take?", "How long is shipping?"),
        (
            "How long does it take to ship?",
            "How long does shipping take?",
        ),
        ("What does idempotent mean?", "What is idempotent?"),
    ]);
}

#[test]
fn a_negation_stays_with_its_verb() {
    separate(&[
        (
            "Why do companies not hire people who smoke?",
            "Why do companies hire people who don't smoke?",
        ),
        (
            "Why do banks not trust people who work?",
            "Why do banks trust people who don't work?",
        ),
        (
            "Why don't banks trust people who work?",
            "Why do banks trust people who don't work?",
        ),
        (
            "Why do browsers not open pages that load?",
            "Why do browsers open pages that don't load?",
        ),
        (
            "Which drivers do not have to pay the toll?",
            "Which drivers must not pay the toll?",
        ),
        (
            "Who doesn't have to wear a mask?",
            "Who must not wear a mask?",
        ),
        (
            "Who is not required to wear a mask?",
            "Who must not wear a mask?",
        ),
        ("Who need not pay?", "Who must not pay?"),
        (
            "Who doesn't always have to pay?",
            "Who must not always pay?",
        ),
    ]);
    join(&[
        (
            "Why does my router not work?",
            "Why doesn't my router work?",
        ),
        ("Why doesn't the key match?", "Why does the key not match?"),
        (
            "Who doesn't have to wear a mask?",
            "Who does not need to wear a mask?",
        ),
    ]);
}

#[test]
fn what_happened_is_not_what_happens() {
    separate(&[
        (
            "What happened when the Fed cut rates?",
            "What happens when the Fed cuts rates?",
        ),
        (
            "What happened when the bank failed?",
            "What happens if the bank fails?",
        ),
        ("What happened if I cancelled?", "What happens if I cancel?"),
    ]);
    join(&[("What happens when I cancel?", "What happens if I cancel?")]);
}
