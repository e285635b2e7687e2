//! Where something is found or kept.

use crate::guard_pairs::{join, separate};

#[test]
fn a_place_is_where_something_is_found_or_kept() {
    join(&[
        (
            "Where can my invoices be found?",
            "Where can I find my invoices?",
        ),
        (
            "I can't find my invoices, where are they?",
            "Where are my invoices?",
        ),
        (
            "Where do you store the backups?",
            "Where are the backups stored?",
        ),
        (
            "How can I see my invoices?",
            "Where can I view my invoices?",
        ),
    ]);
    separate(&[
        (
            "Where can my invoices be found?",
            "Where can my invoices be paid?",
        ),
        (
            "Where do I store the backups?",
            "Where are the backups stored?",
        ),
        (
            "How can I see the northern lights?",
            "Where can I see the northern lights?",
        ),
        (
            "I can find my keys, where are they?",
            "I can't find my keys, where are they?",
        ),
        ("How do I pay my invoices?", "Where do I pay my invoices?"),
    ]);
}

#[test]
fn a_language_moves_only_where_it_is_the_only_one() {
    join(&[
        (
            "How do I print in Python without a newline?",
            "How do I print without a newline in Python?",
        ),
        (
            "How do I center a div in CSS?",
            "How do I center a div with CSS?",
        ),
    ]);
    separate(&[
        (
            "How do I print in Python without a newline?",
            "How do I print in Python with a newline?",
        ),
        (
            "How do I write Go in Python?",
            "How do I write Python in Go?",
        ),
        (
            "Does it fail in Python but pass without a cache?",
            "Does it fail without a cache but pass in Python?",
        ),
    ]);
}

#[test]
fn what_is_seen_spoken_or_used_at_a_place() {
    join(&[
        (
            "How do I turn on dark mode?",
            "Where do I turn on dark mode?",
        ),
        (
            "How do I update my credit card details?",
            "Where can I change my credit card details?",
        ),
        (
            "In which folder is the config file?",
            "Where is the config file?",
        ),
        (
            "How can I get a stain out of a shirt?",
            "How do I remove a stain from a shirt?",
        ),
        (
            "What language is spoken in Brazil?",
            "Which language do people in Brazil speak?",
        ),
        (
            "What is the currency of Japan?",
            "Which currency is used in Japan?",
        ),
        (
            "What is the deepest lake in the world?",
            "Which lake is the deepest?",
        ),
        (
            "How do I remove ice from my windshield?",
            "What's the best way to get ice off my windshield?",
        ),
        (
            "How do I remove liquidity from a pool?",
            "How can I take liquidity out of a pool?",
        ),
    ]);
    separate(&[
        ("Where do I change my tires?", "How do I change my tires?"),
        (
            "Where do I change my password?",
            "When do I change my password?",
        ),
        (
            "Where do I turn on dark mode?",
            "Where do I turn off dark mode?",
        ),
        (
            "In which folder is the config file?",
            "In which format is the config file?",
        ),
        (
            "How do I get out of my contract?",
            "How do I remove my contract?",
        ),
        (
            "How can I get a stain out of a shirt?",
            "How can I get a shirt out of a stain?",
        ),
        (
            "How do I get money out of my account?",
            "How do I get money into my account?",
        ),
        (
            "Which language do people in Brazil speak?",
            "Which language do people in Spain speak?",
        ),
        (
            "Which city is Australia's capital?",
            "Which city is Austria's capital?",
        ),
        (
            "Which city is Australia's capital?",
            "Which city is Australia's largest?",
        ),
        (
            "Which currency is used in Japan?",
            "Which currency was used in Japan?",
        ),
        (
            "What is the deepest lake in the world?",
            "What is the deepest lake in Europe?",
        ),
        (
            "What is the deepest lake in the world?",
            "What is the largest lake?",
        ),
        (
            "How do I get ice off my windshield?",
            "How do I get my windshield off the ice?",
        ),
        (
            "How do I take liquidity out of a pool?",
            "How do I put liquidity into a pool?",
        ),
    ]);
}

#[test]
fn a_source_is_where_something_comes_from() {
    join(&[
        (
            "Where does Ethena's yield come from?",
            "What is the source of Ethena's yield?",
        ),
        (
            "Where does the money come from?",
            "What is the source of the money?",
        ),
        (
            "What is the longest river in the world?",
            "Which is the world's longest river?",
        ),
    ]);
    separate(&[
        (
            "What is the source of Ethena's yield?",
            "Where does Ethena's yield go?",
        ),
        (
            "What is the world's longest river?",
            "What is the world's longest rivers?",
        ),
        (
            "What is the world's longest river?",
            "What is Asia's longest river?",
        ),
    ]);
}
