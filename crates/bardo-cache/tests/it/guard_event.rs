//! What gets done, and the state after it.

use crate::guard_pairs::{join, separate};

#[test]
fn getting_declined_is_being_declined_where_something_happened() {
    join(&[("Why did my card get declined?", "Why was my card declined?")]);
    separate(&[
        ("How do I get paid?", "How do I pay?"),
        ("When do I get paid?", "When do I pay?"),
        ("Why did I get charged?", "Why did I charge?"),
        ("Does my account get locked?", "Is my account locked?"),
        (
            "Why did my card get declined?",
            "Why does my card get declined?",
        ),
    ]);
}

#[test]
fn what_gets_done_is_done_where_it_leaves_no_state() {
    join(&[(
        "How does the webhook get enabled?",
        "How is the webhook enabled?",
    )]);
    separate(&[
        ("How does 2FA get enabled?", "How do I disable 2FA?"),
        (
            "Does my account get locked if I fail?",
            "Is my account locked?",
        ),
        ("Do I get charged if I cancel?", "Do I charge if I cancel?"),
        (
            "Does the job get retried if it fails?",
            "Does the job retry if it passes?",
        ),
        ("How do I get paid?", "How do I pay?"),
    ]);
}

#[test]
fn a_result_that_lasts_is_a_state() {
    join(&[
        ("Is the login bug fixed?", "Has the login bug been fixed?"),
        ("Has the branch been merged?", "Is the branch merged?"),
    ]);
    separate(&[
        ("Has the bug been fixed?", "Has the bug been found?"),
        ("Has the bug been fixed?", "Is the bug being fixed?"),
        ("Has the bug been fixed?", "Is the bug not fixed?"),
        ("Has the bill been paid by Bob?", "Is the bill paid by Bob?"),
        ("Has the door been opened?", "Is the door open?"),
    ]);
}

#[test]
fn what_was_ever_done_has_been_done() {
    join(&[("Was Euler ever hacked?", "Has Euler been hacked?")]);
    separate(&[
        ("Was Euler ever hacked?", "Was Euler ever audited?"),
        ("Was it ever open on Sunday?", "Was it open on Sunday?"),
        ("Is it ever safe?", "Is it safe?"),
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

#[test]
fn what_happens_if_something_gets_done() {
    join(&[
        (
            "What happens to my LP tokens if the pool is paused?",
            "If the pool gets paused, what happens to my LP tokens?",
        ),
        (
            "Why do I get a null pointer exception?",
            "Why am I getting a NullPointerException?",
        ),
        (
            "When is the next halving?",
            "When will the next halving happen?",
        ),
    ]);
    separate(&[
        (
            "What happens if the pool gets paused?",
            "What happens if the pool gets pauses?",
        ),
        (
            "What happens if my card gets lost?",
            "What happens if my card is found?",
        ),
        (
            "What happens if my card gets declined?",
            "What happens if my card is not declined?",
        ),
        ("Why do I get a refund?", "Why did I get a refund?"),
        (
            "When will the next halving happen?",
            "When did the last halving happen?",
        ),
    ]);
}

#[test]
fn a_rule_that_holds_holds_in_one_case() {
    join(&[
        (
            "Do these headphones work with an iPhone?",
            "Will these headphones work with an iPhone?",
        ),
        (
            "Does checking my credit score lower it?",
            "Will checking my credit score lower it?",
        ),
    ]);
    separate(&[
        (
            "Will my insurance cover a rental car next year?",
            "Does my insurance cover a rental car?",
        ),
        (
            "Will the Fed lower rates in June?",
            "Does the Fed lower rates in May?",
        ),
        ("Will it rain?", "Does it rain?"),
        (
            "Will these headphones work with an iPhone?",
            "Did these headphones work with an iPhone?",
        ),
    ]);
}
