//! The guard on pairs of texts, and what must hold for any text.

use bardo_cache::guard::{ATOMS_MAX, Mismatch, Signature, TEXT_BYTES_MAX, difference};
use proptest::prelude::*;
use serde_json::Value;

const PAIRS: &str = include_str!("../data/guard/pairs.jsonl");

fn pairs() -> impl Iterator<Item = (String, String, Value)> {
    PAIRS.lines().map(|line| {
        let value: Value = serde_json::from_str(line).expect("a pair is a line of JSON");
        let text = |name: &str| value[name].as_str().expect("a text").to_owned();
        (text("a"), text("b"), value)
    })
}

#[test]
fn no_near_miss_of_the_evaluation_shares_an_answer() {
    let near_misses: Vec<_> = pairs().filter(|(.., pair)| pair["same"] == false).collect();
    assert!(near_misses.len() >= 300);
    for (one, other, _) in near_misses {
        assert!(difference(&one, &other).is_some(), "{one} | {other}");
        assert!(difference(&other, &one).is_some(), "{other} | {one}");
    }
}

#[test]
fn paraphrases_that_look_alike_to_the_model_often_share_an_answer() {
    let above: Vec<_> = pairs()
        .filter(|(.., pair)| pair["same"] == true && pair["cosine"].as_f64() >= Some(0.85))
        .collect();
    let joined = above
        .iter()
        .filter(|(one, other, _)| difference(one, other).is_none())
        .count();
    assert!(
        joined * 100 >= above.len() * 40,
        "{joined} of {}",
        above.len()
    );
}

#[test]
fn a_pair_is_judged_alike_in_both_directions() {
    for (one, other, _) in pairs() {
        assert_eq!(
            difference(&one, &other).is_none(),
            difference(&other, &one).is_none(),
            "{one} | {other}"
        );
    }
}

#[track_caller]
fn separated(one: &str, other: &str, because: &str) {
    let found = difference(one, other).map(|found| found.to_string());
    assert_eq!(found.as_deref(), Some(because));
}

#[test]
fn a_difference_is_explained_in_words() {
    separated(
        "Sell 10 ETH",
        "Sell 1 ETH",
        "number \"10 eth\" against \"1 eth\"",
    );
    separated(
        "Turn off the lights",
        "Turn on the lights",
        "action \"turnoff\" against \"turnon\"",
    );
    separated(
        "swap ETH for USDC",
        "swap USDC for ETH",
        "order of \"eth\" and \"usdc\"",
    );
    separated(
        "send it to Bob",
        "send it from Bob",
        "\"bob\" after \"to\" against \"from\"",
    );
    separated(
        "Is it safe?",
        "Is it not safe?",
        "negation \"not\" in one text only",
    );
    separated(
        "Can I leave?",
        "Should I leave?",
        "modality \"can\" against \"should\"",
    );
    separated(
        "Why is it slow?",
        "How is it slow?",
        "question \"why\" against \"how\"",
    );
    separated(
        "What did the Fed say?",
        "What does the Fed say?",
        "past against present",
    );
    separated(
        "Is his car old?",
        "Is her car old?",
        "person \"he\" against \"she\"",
    );
    separated(
        "Can I call you?",
        "Can you call me?",
        "person \"I you\" against \"you I\"",
    );
    separated(
        "run `a.out`",
        "run `b.out`",
        "code \"a.out\" against \"b.out\"",
    );
}

#[test]
fn a_word_that_no_table_knows_separates() {
    separated(
        "What is a florp?",
        "What is a glorp?",
        "word \"florp\" against \"glorp\"",
    );
    separated(
        "What is a florp?",
        "What is a red florp?",
        "word \"red\" in one text only",
    );
}

#[test]
fn numbers_are_equal_by_value_and_unit() {
    for (one, other) in [
        ("pay 1k USDC", "pay 1,000 USDC"),
        ("wait ten minutes", "wait 10 min"),
        ("add twenty-five apples", "add 25 apples"),
        ("a fee of 10 bps", "a fee of 0.1 %"),
        ("raise 2 million dollars", "raise $2,000,000"),
        ("keep 1.50 EUR", "keep €1.5"),
    ] {
        assert_eq!(difference(one, other), None, "{one} | {other}");
    }
    for (one, other) in [
        ("set it to -5", "set it to 5"),
        ("pay $10", "pay €10"),
        ("wait 10 minutes", "wait 10 hours"),
        ("a fee of 10 bps", "a fee of 10 %"),
        ("pay 1,000 USDC", "pay 1,00 USDC"),
        ("from 5 to 10", "from 10 to 5"),
        ("use v2", "use v3"),
    ] {
        assert_ne!(difference(one, other), None, "{one} | {other}");
    }
}

#[test]
fn a_text_beyond_the_limits_shares_no_answer() {
    let long = "word ".repeat(TEXT_BYTES_MAX / 5 + 1);
    assert_eq!(difference(&long, &long), Some(Mismatch::TooLong));
    let many = (0..=ATOMS_MAX)
        .map(|n| format!("w{n} "))
        .collect::<String>();
    assert_eq!(difference(&many, &many), Some(Mismatch::TooLong));
    assert_eq!(difference("", ""), Some(Mismatch::Empty));
}

const ORDINARY: &[&str] = &[
    "how", "do", "i", "reset", "router", "password", "please", "the", "not", "cheap", "shoes",
    "price", "of", "cancel", "order", "before", "delivery", "why", "is", "sky", "blue",
];

fn sentence() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(ORDINARY), 1..12)
}

proptest! {
    #[test]
    fn a_signature_depends_on_nothing_but_the_text(text in "\\PC{0,200}") {
        prop_assert_eq!(Signature::of(&text), Signature::of(&text));
    }

    #[test]
    fn a_text_differs_from_itself_only_when_it_says_nothing(text in "[a-z0-9 ,.'$%-]{0,120}") {
        let found = difference(&text, &text);
        prop_assert!(matches!(found, None | Some(Mismatch::Empty)), "{found:?}");
    }

    #[test]
    fn white_space_and_case_of_ordinary_words_say_nothing(words in sentence()) {
        let plain = words.join(" ");
        let wide = words.join(" \t  ");
        prop_assert_eq!(Signature::of(&plain), Signature::of(&wide));
        prop_assert_eq!(Signature::of(&plain), Signature::of(&plain.to_uppercase()));
    }

    #[test]
    fn one_more_unknown_word_separates(words in sentence(), at in 0_usize..12) {
        let mut longer = words.clone();
        longer.insert(at.min(words.len()), "zorvex");
        prop_assert!(difference(&words.join(" "), &longer.join(" ")).is_some());
    }
}
