//! Verbs, and nouns that say what a verb does.

use crate::guard_pairs::{join, separate};

#[test]
fn verbs_and_their_nouns() {
    join(&[
        (
            "How long does it take to withdraw ETH?",
            "How long does ETH withdrawal take?",
        ),
        ("How do I rotate an API key?", "API key rotation how to"),
        (
            "What are the steps for password recovery?",
            "What are the steps to recover a password?",
        ),
    ]);
    separate(&[
        (
            "How long does it take to withdraw ETH?",
            "How long does USDC withdrawal take?",
        ),
        (
            "How do I delete a project?",
            "How does project deletion work?",
        ),
        ("Is user validation needed?", "Should users validate it?"),
        (
            "What is the risk of police shooting?",
            "What is the risk of shooting police?",
        ),
        (
            "What is the fee for ETH withdrawal?",
            "What is the fee for an ETH deposit?",
        ),
    ]);
}

#[test]
fn a_plan_is_no_report() {
    separate(&[
        ("When will the sale begin?", "When did the sale begin?"),
        ("Why won't it connect?", "Why didn't it connect?"),
        (
            "How long will the refund take?",
            "How long did the refund take?",
        ),
        (
            "Will I lose my data if I cancel?",
            "Did I lose my data if I cancelled?",
        ),
    ]);
    join(&[
        ("When will the sale begin?", "When does the sale begin?"),
        ("Why won't it connect?", "Why doesn't it connect?"),
    ]);
}

#[test]
fn one_verb_or_several_words() {
    join(&[
        (
            "How do you say \"good morning\" in French?",
            "Translate \"good morning\" to French",
        ),
        (
            "How can I make a Docker image smaller?",
            "How do I reduce the size of a Docker image?",
        ),
        (
            "Is the dollar getting stronger?",
            "Is the dollar strengthening?",
        ),
    ]);
    separate(&[
        (
            "How do you say \"good morning\" in French?",
            "Translate \"good morning\" from French",
        ),
        (
            "How can I make a Docker image smaller?",
            "How can I make a Docker image bigger?",
        ),
        (
            "How can I make the font bigger?",
            "How can I make the image bigger?",
        ),
        (
            "Is the dollar getting stronger?",
            "Is the dollar getting weaker?",
        ),
    ]);
}

#[test]
fn what_is_kept_from_happening_is_prevented() {
    join(&[
        (
            "How can I prevent users from deleting a form?",
            "How do I keep users from deleting a form?",
        ),
        (
            "How do I stop my dog from eating grass?",
            "How can I get my dog to stop eating grass?",
        ),
        (
            "How do I exclude node_modules when searching with grep?",
            "How can I exclude node_modules while searching with grep?",
        ),
        (
            "TCP vs UDP: how are they different?",
            "What is the difference between TCP and UDP?",
        ),
        (
            "Concurrency vs parallelism: what's the distinction?",
            "What is the difference between concurrency and parallelism?",
        ),
    ]);
    separate(&[
        (
            "How do I keep users from submitting a form twice?",
            "How do I keep users submitting a form twice?",
        ),
        (
            "How do I get my dog to stop barking at night?",
            "How do I get my dog to start barking at night?",
        ),
        (
            "How do I stop my dog from barking at my cat?",
            "How do I get my cat to stop barking at my dog?",
        ),
        (
            "Is it bad to drink while eating?",
            "Is it bad to drink before eating?",
        ),
        (
            "TCP vs UDP: how are they different?",
            "TCP vs UDP: how are they similar?",
        ),
        (
            "TCP vs UDP: how are they different?",
            "TCP vs UDP: which is faster?",
        ),
    ]);
}
