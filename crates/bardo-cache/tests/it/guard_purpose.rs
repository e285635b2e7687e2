//! What something is for, and what a word means.

use crate::guard_pairs::{join, separate};

#[test]
fn a_flag_does_what_it_is_for() {
    join(&[
        (
            "What does the --force flag do?",
            "What is the --force flag for?",
        ),
        (
            "What does the timeout setting do?",
            "What is the timeout setting used for?",
        ),
    ]);
    separate(&[
        ("What does the flag do?", "What is the flag?"),
        ("What does the flag do?", "What do the flags do?"),
        (
            "What does the --force flag do?",
            "What does the --quiet flag do?",
        ),
        ("What does Bob do?", "What is the purpose of Bob?"),
    ]);
}

#[test]
fn a_meaning_is_asked_for_in_a_language_too() {
    join(&[
        (
            "What does static mean in Java?",
            "What is the meaning of static in Java?",
        ),
        ("What is TLA short for?", "What does TLA stand for?"),
        ("Define entropy", "What is entropy?"),
        ("entropy definition", "What is entropy?"),
    ]);
    separate(&[
        ("What does TLA stand for?", "What is TLA?"),
        (
            "What does static mean in Java?",
            "What does static mean in Go?",
        ),
        (
            "What does the error mean for users?",
            "What does the error mean?",
        ),
        ("Define entropy", "Define enthalpy"),
        ("Define a route", "What is a route?"),
        ("Define routes", "What are routes?"),
    ]);
}

#[test]
fn an_amount_is_not_what_its_noun_means() {
    join(&[
        ("How much is the late fee?", "What is the late fee?"),
        (
            "How high is Coca-Cola's dividend yield?",
            "What is Coca-Cola's dividend yield?",
        ),
        (
            "How high is inflation in Spain?",
            "What is inflation in Spain?",
        ),
    ]);
    separate(&[
        ("How much is the deposit?", "What is a deposit?"),
        ("How high is inflation?", "What is inflation?"),
        ("How long is the timeout?", "What is a timeout?"),
        ("How much is the late fee?", "How much is the early fee?"),
        (
            "What is the price of the deposit box?",
            "What is the deposit box?",
        ),
    ]);
}

#[test]
fn a_definition_says_what_something_is() {
    join(&[("What is slippage in trading?", "Define slippage in trading")]);
    separate(&[("Define variables in Rust", "What are constants in Rust?")]);
}

#[test]
fn what_a_term_means_is_what_it_is() {
    join(&[(
        "What is gerrymandering?",
        "Can you tell me what gerrymandering means?",
    )]);
}

#[test]
fn what_people_use_is_what_is_used() {
    join(&[
        (
            "What is a flash loan used for?",
            "What do people use a flash loan for?",
        ),
        (
            "What does the yield keyword do in Python?",
            "What's the yield keyword for in Python?",
        ),
    ]);
    separate(&[
        (
            "What is a flash loan used for?",
            "What do people use instead of a flash loan?",
        ),
        (
            "What's the yield keyword for in Python?",
            "What's the yield keyword for in Ruby?",
        ),
        (
            "What do people use a flash loan for?",
            "Where do people use a flash loan?",
        ),
    ]);
}
