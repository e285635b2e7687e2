//! Which of two things is the certain or the own one, and what is true of one or of all.

use crate::guard_pairs::{join, separate};

#[test]
fn determiners_that_change_places_count() {
    separate(&[
        (
            "Does a charger come with this laptop?",
            "Does this charger come with a laptop?",
        ),
        (
            "How do I connect a wallet to my app?",
            "How do I connect my wallet to an app?",
        ),
        (
            "Can my son use this card to buy the phone?",
            "Can the son use my card to buy this phone?",
        ),
        (
            "Is this bag bigger than that box?",
            "Is that bag bigger than this box?",
        ),
    ]);
    join(&[(
        "How do I connect my wallet to the app?",
        "How can I connect my wallet to the app?",
    )]);
}

#[test]
fn one_of_its_kind_is_not_its_kind() {
    separate(&[
        ("Are these drugs safe?", "Are drugs safe?"),
        ("Can I use your card?", "Can I use a card?"),
        ("What is my blood type?", "What is blood type?"),
        ("I want to know my credit limit", "What is credit limit?"),
        ("Tell me my account number", "What is account number?"),
        (
            "Is a number of users growing?",
            "Is the number of users growing?",
        ),
    ]);
    join(&[
        ("What is my blood type?", "What's my blood type?"),
        ("I want to know my credit limit", "What is my credit limit?"),
        (
            "Show me my open positions on GMX",
            "show my GMX open positions",
        ),
    ]);
}
