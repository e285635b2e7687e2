//! Statements, wishes and openings that ask.

use bardo_cache::guard::difference;

use crate::guard_pairs::{join, separate};

#[test]
fn a_wish_asks_how_it_is_fulfilled() {
    join(&[
        (
            "I'd like to return a product. How does it work?",
            "How do I return a product?",
        ),
        (
            "I want to delete my account, how?",
            "How do I delete my account?",
        ),
        (
            "If I want to reset my router, what do I do?",
            "How do I reset my router?",
        ),
        (
            "I want to cancel my subscription",
            "How do I cancel my subscription?",
        ),
    ]);
    separate(&[
        (
            "I don't want to delete my account, how?",
            "I want to delete my account, how?",
        ),
        (
            "What do I do if I want to sell?",
            "What do I do if I want to buy?",
        ),
        (
            "I want to write a poem about love",
            "How do I write a poem about love?",
        ),
        (
            "I want to cancel my subscription",
            "I do not want to cancel my subscription",
        ),
        ("How can I help with moving?", "How do I move?"),
    ]);
}

#[test]
fn a_statement_before_a_question_is_its_condition() {
    join(&[(
        "I forgot my passcode, how do I unlock my phone?",
        "How do I unlock my phone if I forgot my passcode?",
    )]);
    separate(&[
        (
            "I forgot my passcode, how do I unlock my phone?",
            "How do I unlock my phone if I know my passcode?",
        ),
        (
            "My app is slow, how do I speed up the phone?",
            "My phone is slow, how do I speed up the app?",
        ),
        (
            "I lost my card, how do I order a new one?",
            "I lost my card, how do I cancel the new one?",
        ),
    ]);
}

#[test]
fn a_wish_with_is_that_possible_asks_whether_i_can() {
    join(&[
        (
            "I want to pay by card, is that possible?",
            "Can I pay by card?",
        ),
        (
            "I need to change my flight, can that be done?",
            "Can I change my flight?",
        ),
    ]);
    separate(&[
        (
            "I want to pay by card, is that possible?",
            "Can I pay by check?",
        ),
        (
            "I want to pay by card, is that possible?",
            "Should I pay by card?",
        ),
        (
            "I want to keep my card, is that possible?",
            "Can I keep your card?",
        ),
        ("I do not want to pay, is that possible?", "Can I pay?"),
    ]);
}

#[test]
fn a_statement_with_why_asks_why() {
    join(&[
        (
            "My laptop won't turn on. Why?",
            "Why won't my laptop turn on?",
        ),
        (
            "My laptop won't turn on, why is that?",
            "Why won't my laptop turn on?",
        ),
        (
            "My pods never start. What could be the cause?",
            "Why do my pods never start?",
        ),
    ]);
    separate(&[
        (
            "My laptop won't turn on. Why?",
            "Why won't my laptop turn off?",
        ),
        (
            "My order is late. Why?",
            "My order is late. What should I do?",
        ),
        ("My order is late. Why?", "My orders are late. Why?"),
        ("My dog bit a cat. Why?", "Why did a cat bite my dog?"),
    ]);
}

#[test]
fn openings_of_one_question_join() {
    for (question, wordings) in [
        (
            "How do I reset my router?",
            &[
                "Could you tell me how I can reset my router?",
                "I need to reset my router. How do I do that?",
                "How would I go about resetting my router?",
                "Which steps do I need to take to reset my router?",
                "How can my router be reset?",
            ][..],
        ),
        (
            "Who wrote Hamlet?",
            &[
                "Who was Hamlet written by?",
                "By whom was Hamlet written?",
                "Who's the author of Hamlet?",
            ],
        ),
        (
            "Does the plan include backups?",
            &[
                "Are backups included in the plan?",
                "Does the plan come with backups?",
                "Can you tell me whether the plan includes backups?",
            ],
        ),
        (
            "What happens if I miss a payment?",
            &[
                "If I miss a payment, what happens?",
                "What if I miss a payment?",
            ],
        ),
        (
            "How long does the course last?",
            &[
                "How long is the course?",
                "What is the length of the course?",
            ],
        ),
    ] {
        for wording in wordings {
            assert_eq!(
                difference(question, wording),
                None,
                "{question} | {wording}"
            );
        }
    }
}

#[test]
fn a_statement_stands_before_or_behind_its_question() {
    join(&[
        (
            "Your app keeps logging me out every hour. How do I stay logged in?",
            "How do I stay logged in? Your app keeps logging me out every hour.",
        ),
        (
            "My flight was cancelled. What are my rights?",
            "What are my rights if my flight was cancelled?",
        ),
        (
            "I was charged twice for order 5521, can you refund one of the charges?",
            "Can you refund one of the charges? I was charged twice for order 5521.",
        ),
        (
            "I need a copy of my marriage certificate. How can I get one?",
            "How do I get a copy of my marriage certificate?",
        ),
    ]);
    separate(&[
        (
            "My flight was cancelled. What are my rights?",
            "What are my rights if my flight was delayed?",
        ),
        (
            "My flight was cancelled. What are my rights?",
            "What are my rights unless my flight was cancelled?",
        ),
        (
            "My flight was cancelled. What are my rights?",
            "My flight was not cancelled. What are my rights?",
        ),
        (
            "I need a copy of my marriage certificate. How can I get one?",
            "I lost a copy of my marriage certificate. How can I get one?",
        ),
        (
            "I need a copy of my marriage certificate. How can I get one?",
            "How do I get my marriage certificate?",
        ),
        (
            "My cat bit my dog. What are the risks?",
            "What are the risks if my dog bit my cat?",
        ),
    ]);
}

#[test]
fn what_is_told_is_told_to_me() {
    join(&[
        ("Define dividend yield for me.", "What is a dividend yield?"),
        (
            "Please define race condition for me.",
            "What is a race condition?",
        ),
    ]);
    separate(&[
        ("Write a will.", "Write a will for my wife."),
        ("Define a class for me.", "What is an instance?"),
        ("Write a will for me.", "Write a will for my wife."),
    ]);
}
