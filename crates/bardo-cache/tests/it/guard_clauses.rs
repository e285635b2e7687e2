//! Clauses of several kinds, and any order of the words of their patterns.

use bardo_cache::guard::{Mismatch, difference};
use proptest::prelude::*;

use crate::guard_pairs::{join, separate};

#[test]
fn who_acts_is_not_what_is_done_to_somebody() {
    separate(&[
        (
            "How do I invite the users that left?",
            "How do I invite the users left?",
        ),
        (
            "How do I invite people who registered?",
            "How do I invite people registered?",
        ),
        (
            "What do people who teach at university need?",
            "What do people taught at university need?",
        ),
        (
            "How many people who hire were there in May?",
            "How many people hired were there in May?",
        ),
        (
            "Do contractors who work remotely get benefits?",
            "Do contractors, who work remotely, get benefits?",
        ),
    ]);
    join(&[
        (
            "Who are the students that passed the exam?",
            "Who are the students who passed the exam?",
        ),
        (
            "List the files that I deleted.",
            "List the files I deleted.",
        ),
        (
            "Why was Germany defeated by the Soviet Union in 1945?",
            "What is the reason that Germany was defeated by the Soviet Union in 1945?",
        ),
        (
            "Which users who signed up got the bonus?",
            "Which users signed up and got the bonus?",
        ),
    ]);
}

#[test]
fn clauses_of_one_meaning_join_and_their_neighbours_do_not() {
    join(&[
        (
            "How much does a taxi to Rome cost?",
            "What is the price of a taxi to Rome?",
        ),
        (
            "How did gold perform last year?",
            "What was the performance of gold last year?",
        ),
        ("How old is the Earth?", "What is the Earth's age?"),
        ("Swap ETH for USDC", "Swap ETH to USDC"),
        (
            "How can I make my query faster?",
            "How do I speed up my query?",
        ),
        (
            "Is a visa required for traveling to Peru?",
            "Do I need a visa to travel to Peru?",
        ),
        (
            "Reverse a list in Python",
            "How do I reverse a list in Python?",
        ),
        ("What is the price of one ETH?", "What is the price of ETH?"),
        ("What is 15% of 200?", "How much is 15 percent of 200?"),
        (
            "Which planets have no moons?",
            "Which planets do not have moons?",
        ),
        (
            "Do you have student discounts?",
            "Are there student discounts?",
        ),
        (
            "Explain how photosynthesis works",
            "How does photosynthesis work?",
        ),
        (
            "Is lost luggage covered by the insurance?",
            "Does the insurance cover lost luggage?",
        ),
    ]);
    separate(&[
        (
            "How much does a taxi to Rome cost?",
            "What is the price of a taxi from Rome?",
        ),
        (
            "How does Go do error handling?",
            "What is the performance of Go error handling?",
        ),
        ("Swap ETH for USDC", "Swap USDC to ETH"),
        ("Send ETH for USDC", "Send ETH to USDC"),
        (
            "How can I make my query slower?",
            "How do I speed up my query?",
        ),
        (
            "Is the lawyer required to testify?",
            "Do I need the lawyer to testify?",
        ),
        ("What is the price of 10 ETH?", "What is the price of ETH?"),
        ("Do you have a car?", "Do I have a car?"),
        ("Is the database backed up?", "Does the database back up?"),
    ]);
}

/// Words of the patterns of clauses, and breaks between them.
const PATTERN: &[&str] = &[
    "does",
    "do",
    "did",
    "is",
    "are",
    "was",
    "has",
    "it",
    "i",
    "you",
    "support",
    "include",
    "included",
    "required",
    "needed",
    "come",
    "with",
    "by",
    "whom",
    "who",
    "what",
    "how",
    "much",
    "cost",
    "perform",
    "make",
    "faster",
    "for",
    "used",
    "to",
    "if",
    "happens",
    "if",
    "may",
    "some",
    "any",
    "or",
    "and",
    "not",
    ",",
    "?",
    "written",
    "traveling",
    "high",
    "price",
    "1",
    "eth",
    "in",
    "python",
    "reverse",
    "last",
    "long",
    "available",
    "current",
    "the",
    "a",
];

proptest! {
    #[test]
    fn any_order_of_the_words_of_a_pattern_is_read(
        words in prop::collection::vec(prop::sample::select(PATTERN), 1..9),
    ) {
        let text = words.join(" ");
        let found = difference(&text, &text);
        prop_assert!(matches!(found, None | Some(Mismatch::Empty)), "{text}: {found:?}");
    }
}
