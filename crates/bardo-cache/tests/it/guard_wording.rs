//! Words that are synonyms, and are not where the word itself or another sense is meant.

use crate::guard_pairs::{join, separate};

#[test]
fn a_word_that_is_asked_about_has_no_synonym() {
    separate(&[
        ("What rhymes with big?", "What rhymes with large?"),
        ("How do you spell parcel?", "How do you spell package?"),
        (
            "How many letters are in the word large?",
            "How many letters are in the word big?",
        ),
        (
            "What does the exit command do in Python?",
            "What does the quit command do in Python?",
        ),
    ]);
    join(&[(
        "What does the word ubiquitous mean?",
        "What is the meaning of the word ubiquitous?",
    )]);
}

#[test]
fn verbs_of_several_senses_are_equal_beside_certain_things_only() {
    separate(&[
        (
            "How do I fix a port in Docker Compose?",
            "How do I repair a port in Docker Compose?",
        ),
        ("How do I reduce a fraction?", "How do I lower a fraction?"),
        (
            "How do I make money in DeFi?",
            "How do I create money in DeFi?",
        ),
        (
            "How do I remove a photo from an album?",
            "How do I delete a photo from an album?",
        ),
        (
            "How do I get data out of Excel?",
            "How do I remove data from Excel?",
        ),
        ("What makes a contract valid?", "Why is a contract valid?"),
    ]);
    join(&[
        (
            "How do I fix a leaky faucet?",
            "How do I repair a leaky faucet?",
        ),
        (
            "How do I reduce my gas fees?",
            "How do I lower my gas fees?",
        ),
        (
            "How do I get a stain out of a shirt?",
            "How do I remove a stain from a shirt?",
        ),
        ("What makes the sky blue?", "Why is the sky blue?"),
    ]);
}

#[test]
fn what_may_happen_is_not_what_happened() {
    separate(&[
        (
            "What would happen if the moon disappeared?",
            "What happened when the moon disappeared?",
        ),
        (
            "How long have you worked here?",
            "How long did you work here?",
        ),
        ("Does it rain in Seattle?", "Is it raining in Seattle?"),
        (
            "How much is 1.000 euros in dollars?",
            "How much is 1 euro in dollars?",
        ),
    ]);
    join(&[(
        "What would happen if the moon disappeared?",
        "If the moon disappeared, what would happen?",
    )]);
}

#[test]
fn short_names_and_names_of_another_country() {
    join(&[
        (
            "How do I calculate the net present value of a project?",
            "How do I calculate the NPV of a project?",
        ),
        (
            "Can I roll a 401k into an individual retirement account?",
            "Can I roll a 401k into an IRA?",
        ),
        (
            "How long does a urinary tract infection last?",
            "How long does a UTI last?",
        ),
        (
            "How do I verify a JSON web token?",
            "How do I verify a JWT?",
        ),
        ("How do I change a diaper?", "How do I change a nappy?"),
        (
            "How do I replace a cracked windshield?",
            "How do I replace a cracked windscreen?",
        ),
        (
            "Is there a parking lot near the hotel?",
            "Is there a car park near the hotel?",
        ),
    ]);
    separate(&[
        (
            "How do I calculate the net present value of a project?",
            "How do I calculate the IRR of a project?",
        ),
        (
            "Is there a parking lot near the hotel?",
            "Is there parking near the hotel?",
        ),
        ("Where can I park my car?", "Where is the car park?"),
        ("Is there a car in the park?", "Is there a car park?"),
        (
            "How much random access memory do I need?",
            "How much memory do I need?",
        ),
        (
            "Does my virtual machine need a user interface?",
            "Does my VM need a user experience?",
        ),
    ]);
}
