//! What is recommended, and what is used in place of it.

use crate::guard_pairs::{join, separate};

#[test]
fn recommendations_and_substitutes() {
    join(&[
        (
            "Can you recommend a dinner I can make in 20 minutes?",
            "Please suggest a dinner I can make in 20 minutes.",
        ),
        (
            "What can I use instead of butter?",
            "What is a good substitute for butter?",
        ),
        (
            "What is the best substitute for butter?",
            "What is the best butter substitute?",
        ),
    ]);
    separate(&[
        (
            "Can you recommend a gift for my wife?",
            "Can you recommend a gift for my husband?",
        ),
        (
            "Can you recommend a hotel in Rome?",
            "Do you recommend a hotel in Rome?",
        ),
        (
            "Can you recommend a hotel in Rome?",
            "What is a hotel in Rome?",
        ),
        (
            "What can I use instead of butter?",
            "What can I use with butter?",
        ),
        (
            "What is a good substitute for butter?",
            "What is a bad substitute for butter?",
        ),
    ]);
}

#[test]
fn what_is_recommended_or_needed_to_enter() {
    join(&[
        (
            "Which perfume do you recommend for men?",
            "What is a good perfume for men?",
        ),
        (
            "Do I need a visa for Thailand?",
            "Is a visa necessary to enter Thailand?",
        ),
    ]);
    separate(&[
        (
            "Which perfume do you recommend for men?",
            "Which perfume do you recommend for women?",
        ),
        (
            "Which perfume do you recommend?",
            "Which perfume would I recommend?",
        ),
        (
            "Do I need a visa to enter Thailand?",
            "Do I need a visa to leave Thailand?",
        ),
        (
            "Do I need a visa for Thailand?",
            "Do I need a visa from Thailand?",
        ),
        (
            "Do I need a visa to work in Thailand?",
            "Do I need a visa to enter Thailand?",
        ),
    ]);
}
