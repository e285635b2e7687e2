//! How long, how old, how high, and how many.

use crate::guard_pairs::{join, separate};

#[test]
fn a_duration_or_a_deadline_is_asked_for_in_two_ways() {
    join(&[
        (
            "How long is the return window?",
            "What is the return window?",
        ),
        (
            "How many days does shipping take?",
            "How long does shipping take?",
        ),
        (
            "When is the deadline for filing taxes?",
            "What is the deadline for filing taxes?",
        ),
        (
            "How old do you have to be to vote?",
            "What is the minimum age to vote?",
        ),
    ]);
    separate(&[
        ("How long is the timeout?", "What is the timeout error?"),
        ("How long is the timeout?", "What is the timeout for?"),
        (
            "How many days does shipping take?",
            "How many hours does shipping take?",
        ),
        (
            "How many days a week does it take?",
            "How long does it take?",
        ),
        ("When is the deadline?", "When was the deadline?"),
        (
            "How old do you have to be to vote?",
            "How old do you have to be to drive?",
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
fn the_age_at_an_event() {
    join(&[(
        "How old was Mozart when he died?",
        "At what age did Mozart die?",
    )]);
    separate(&[
        (
            "How old was Mozart when he died?",
            "How old was Mozart when he married?",
        ),
        (
            "How old was Mozart when he died?",
            "How old was Mozart when she died?",
        ),
        ("How old was Mozart when he died?", "When did Mozart die?"),
    ]);
}

#[test]
fn a_measure_has_no_height_of_its_own() {
    join(&[
        ("How high is the fee?", "What is the fee?"),
        (
            "What is the tool used for?",
            "What is the purpose of the tool?",
        ),
    ]);
    separate(&[
        ("How high is the tower?", "What is the tower?"),
        ("What is the height limit?", "What is the limit?"),
        ("What is the term of the loan?", "What is the loan?"),
        ("What is the tool used for?", "Who is the tool used by?"),
    ]);
}

#[test]
fn a_number_behind_a_noun_is_a_name_and_before_it_a_count() {
    join(&[("What does error 404 mean?", "What does a 404 error mean?")]);
    separate(&[
        ("Delete 2 rows", "Delete row 2"),
        ("Restart 3 pods", "Restart pod 3"),
        ("Show 1 page", "Show page 1"),
        ("Merge two accounts", "Merge account two"),
        ("How do I send 5 files?", "How do I send file 5?"),
        ("What are Bob's orders?", "What is Bob's order?"),
        ("Cancel my last orders", "Cancel my last order"),
        ("Delete the failed backups", "Delete the failed backup"),
    ]);
}

#[test]
fn what_is_counted_stands_on_each_side() {
    join(&[
        (
            "How many pods are running?",
            "What's the number of running pods?",
        ),
        ("How many eggs are in a dozen?", "A dozen is how many eggs?"),
    ]);
    separate(&[
        (
            "How many pods are running?",
            "How many pods are not running?",
        ),
        (
            "How many running pods are there?",
            "How many pending pods are there?",
        ),
        (
            "How many eggs are in a dozen?",
            "How many dozen are in an egg?",
        ),
        (
            "What is the maximum number of users I can add?",
            "What is the number of users I added?",
        ),
    ]);
}
