//! Short words and signs that make another question of the same words: "decide if" and "decide when".

use crate::guard_pairs::{join, separate};

#[test]
fn signs_that_belong_to_a_word_count() {
    separate(&[
        ("What does cd .. do?", "What does cd . do?"),
        ("How do I use ls ..?", "How do I use ls .?"),
        ("What does cp . .. do?", "What does cp .. . do?"),
        (
            "What does git diff a..b show?",
            "What does git diff a...b show?",
        ),
        ("How do I compile a.c?", "How do I compile ac?"),
        (
            "How do I use save! in Rails?",
            "How do I use save in Rails?",
        ),
        (
            "Does try? rethrow errors in Swift?",
            "Does try! rethrow errors in Swift?",
        ),
        ("What does mv a b do?", "What does mv b a do?"),
        ("How do I buy a size S shirt?", "How do I buy a size shirt?"),
        ("How heavy is a 12' pipe?", "How heavy is a 12\" pipe?"),
        (
            "How much should a 5'6 woman weigh?",
            "How much should a 56 woman weigh?",
        ),
        ("Is weed legal in OK?", "Is weed legal in HI?"),
    ]);
    join(&[
        ("How heavy is a 12\" pipe?", "How heavy is a 12 inch pipe?"),
        ("How heavy is a 12' pipe?", "How heavy is a 12 foot pipe?"),
        ("Is it OK to drink coffee?", "Is it ok to drink coffee?"),
        (
            "What is the inflation rate in the U.S.?",
            "What is the inflation rate in the US?",
        ),
    ]);
}
