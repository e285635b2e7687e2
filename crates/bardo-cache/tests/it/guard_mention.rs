//! Words that are meant as words, without quotes.

use bardo_cache::guard::Signature;

use crate::guard_pairs::{join, separate};

#[test]
fn a_word_that_a_text_is_about_is_compared_as_written() {
    separate(&[
        ("When do I use its?", "When do I use it's?"),
        ("When do I use who?", "When do I use whom?"),
        ("When should you use there?", "When should you use their?"),
        ("When do I use this?", "When do I use these?"),
        ("When do I use can?", "When do I use may?"),
        ("When to use lay?", "When to use laid?"),
        ("How do I use was?", "How do I use were?"),
        ("What does affect mean?", "What does effect mean?"),
        ("Use its in a sentence.", "Use it's in a sentence."),
        ("Use affect in a sentence.", "Use effect in a sentence."),
        (
            "How do you say child in Dutch?",
            "How do you say children in Dutch?",
        ),
        (
            "How do you say a in Spanish?",
            "How do you say the in Spanish?",
        ),
        (
            "How do you say cat in Dutch?",
            "How do you say cats in Dutch?",
        ),
        ("How do I use Swift?", "How do I use swift?"),
        ("How do you spell its?", "How do you spell it's?"),
        ("How is who used?", "How is whom used?"),
        ("When should who be used?", "When should whom be used?"),
        ("Should I use who here?", "Should I use whom here?"),
        (
            "When is it correct to use its?",
            "When is it correct to use it's?",
        ),
        (
            "Please use its in a sentence.",
            "Please use it's in a sentence.",
        ),
        ("Can you spell its?", "Can you spell it's?"),
        ("What is child in Dutch?", "What is children in Dutch?"),
        ("Is its a word?", "Is it's a word?"),
        ("How do I write its?", "How do I write it's?"),
        ("Translate child to Dutch", "Translate children to Dutch"),
        (
            "What is the difference between who and whom?",
            "What is the difference between that and which?",
        ),
        ("How is led pronounced?", "How is lead pronounced?"),
        ("How do you pronounce a?", "How do you pronounce the?"),
    ]);
    join(&[
        ("How do I use who?", "How can I use who?"),
        (
            "How do you say child in Dutch?",
            "How do I say child in Dutch?",
        ),
        ("How do I use Redis?", "How can I use Redis?"),
        ("What does APR mean?", "What is the meaning of APR?"),
    ]);
}

#[test]
fn a_command_is_a_name() {
    separate(&[
        (
            "How do I use find on Linux?",
            "How do I use locate on Linux?",
        ),
        (
            "How do I install find on Linux?",
            "How do I install locate on Linux?",
        ),
        (
            "What does the run button do?",
            "What does the execute button do?",
        ),
        ("What does docker run do?", "What does docker execute do?"),
    ]);
}

#[test]
fn the_reason_has_the_word_as_it_was_written() {
    let reason = |one: &str, other: &str| {
        let difference = Signature::of(one).difference(&Signature::of(other));
        difference.expect("they differ").to_string()
    };
    assert_eq!(
        reason("When do I use its?", "When do I use it's?"),
        "word \"its\" against \"it's\""
    );
    assert_eq!(
        reason("When do I use who?", "When do I use whom?"),
        "word \"who\" against \"whom\""
    );
}

#[test]
fn a_quoted_word_without_content_is_compared_as_written() {
    separate(&[
        (
            "When do I use \"who\" instead of \"whom\"?",
            "When do I use \"who\" instead of \"which\"?",
        ),
        (
            "Is \"data\" singular or plural in formal English?",
            "Is \"datum\" singular or plural in formal English?",
        ),
    ]);
}

#[test]
fn a_quoted_term_is_the_term() {
    join(&[
        (
            "What is a health factor on Aave?",
            "On Aave, what does \"health factor\" mean?",
        ),
        (
            "What does it mean when my tracking says \"in transit\"?",
            "What does it mean when my tracking says \"in transit.\"?",
        ),
        (
            "What is imposter syndrome?",
            "What does \"imposter syndrome\" mean?",
        ),
    ]);
    separate(&[(
        "Who directed \"Big Fish\"?",
        "Who directed \"Big Brother\"?",
    )]);
}
