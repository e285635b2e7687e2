//! The order of the rewrites, where it matters.

use super::*;
use crate::guard::scan::{self, TokenKind};

/// The words of a text once it is rewritten, without breaks and the marks at its end.
fn words(text: &str) -> Vec<String> {
    let said = |token: &Token| {
        token.kind != TokenKind::Break && !matches!(token.text.as_str(), "@is" | "@was")
    };
    let tokens = rewritten(scan::tokens(text)).into_iter();
    tokens.filter(said).map(|token| token.text).collect()
}

#[track_caller]
fn rewrites(rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        assert_eq!(words(text).join(" "), *expected, "{text}");
    }
}

#[test]
fn rewrites_of_words_follow_one_another() {
    rewrites(&[
        ("Why can't it start?", "why can it not start"),
        (
            "Explain what the flag does in Java",
            "@what purpose of the flag in java",
        ),
        (
            "Tell me what slippage means in plain English",
            "@what slippage simply",
        ),
        (
            "Can you tell me how much the plan costs?",
            "@what price of the plan",
        ),
        (
            "What happens if a person dies?",
            "@what happenif someone dies",
        ),
        ("Get a stain out of a shirt", "remove a stain from a shirt"),
        ("Turn the light off", "turnoff the light"),
        ("If it fails, what happens?", "@what happenif it fails"),
        ("Is it above five hundred?", "is it morethan 500"),
        ("Add them one by one", "add them sequential"),
    ]);
}

#[test]
fn a_rewrite_reads_what_the_one_before_it_made() {
    rewrites(&[
        (
            "If I want to cancel my order, what do I do?",
            "@how cancel my order",
        ),
        (
            "Does the hotel have free parking?",
            "is parking nocharge in the hotel",
        ),
        ("What effect does X have on Y?", "@how x affect y"),
        ("What is TLA short for?", "@what tla standfor"),
        ("Does it require a card?", "do i need a card"),
        ("What stops X from starting?", "@why can x not start"),
        ("By whom was X painted?", "@who paint x"),
    ]);
}

#[test]
fn a_text_without_a_known_clause_stays_as_it_is() {
    rewrites(&[
        ("the red house on the hill", "the red house on the hill"),
        ("rain falls in spring", "rain falls in spring"),
        ("", ""),
    ]);
}
