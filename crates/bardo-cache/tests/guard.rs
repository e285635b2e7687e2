//! The guard on pairs of texts, and what must hold for any text.

use std::collections::BTreeSet;

use bardo_cache::guard::{ATOMS_MAX, Mismatch, Signature, TEXT_BYTES_MAX, difference};
use proptest::prelude::*;
use serde_json::Value;

const SETS: [&str; 6] = [
    include_str!("../data/guard/pairs.jsonl"),
    include_str!("../data/guard/fresh.jsonl"),
    include_str!("../data/guard/wordings.jsonl"),
    include_str!("../data/guard/near-misses.jsonl"),
    include_str!("../data/guard/domains.jsonl"),
    include_str!("../data/guard/judge.jsonl"),
];

/// Sets whose paraphrases are worded freely, so that most are refused.
const FREE: [&str; 7] = [
    include_str!("../data/guard/blind.jsonl"),
    include_str!("../data/guard/unread.jsonl"),
    include_str!("../data/guard/free.jsonl"),
    include_str!("../data/guard/authors.jsonl"),
    include_str!("../data/guard/grammar.jsonl"),
    include_str!("../data/guard/strangers.jsonl"),
    include_str!("../data/guard/adversarial.jsonl"),
];

fn pairs() -> impl Iterator<Item = (String, String, Value)> {
    SETS.iter().flat_map(|set| set.lines()).map(|line| {
        let value: Value = serde_json::from_str(line).expect("a pair is a line of JSON");
        let text = |name: &str| value[name].as_str().expect("a text").to_owned();
        (text("a"), text("b"), value)
    })
}

#[test]
fn no_near_miss_of_the_evaluation_shares_an_answer() {
    let near_misses: Vec<_> = pairs().filter(|(.., pair)| pair["same"] == false).collect();
    assert!(near_misses.len() >= 2_400);
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
        "Cancel my order",
        "Cancel my orders",
        "one or several: \"order\" against \"orders\"",
    );
    separated(
        "Is the server updated?",
        "Is the server updating?",
        "form \"updated\" against \"updating\"",
    );
    separated(
        "What day is the match?",
        "What time is the match?",
        "question \"what day\" against \"what time\"",
    );
    separated(
        "Is 5 Mb enough?",
        "Is 5 MB enough?",
        "number \"5 megabit\" against \"5 mb\"",
    );
    separated(
        "Is the light turned on?",
        "Does the light turn on?",
        "active against passive \"turnon\"",
    );
    separated(
        "Can I travel in May?",
        "Can I travel in June?",
        "time \"may\" against \"june\"",
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

#[test]
fn more_than_45_percent_of_the_paraphrases_that_no_list_was_tuned_on_share_an_answer() {
    let held: Vec<_> = SETS[2]
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a pair is a line of JSON"))
        .filter(|pair| pair["same"] == true && pair["split"] == "held-out")
        .collect();
    let joins = |pair: &&Value| {
        let text = |name: &str| pair[name].as_str().expect("a text");
        pair["cosine"].as_f64() >= Some(0.90) && difference(text("a"), text("b")).is_none()
    };
    let joined = held.iter().filter(joins).count();
    assert!(held.len() >= 100);
    assert!(joined * 100 > held.len() * 45, "{joined} of {}", held.len());
}

/// All texts of the sets, each once.
fn texts() -> BTreeSet<String> {
    pairs().flat_map(|(one, other, _)| [one, other]).collect()
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Words that count at the end of a clause only, or in a phrase.
const FUNCTION: [&str; 10] = [
    "able", "against", "for", "from", "into", "through", "to", "toward", "using", "with",
];

/// Plain words with content of their own.
fn content() -> Vec<String> {
    let words: BTreeSet<String> = texts()
        .iter()
        .flat_map(|text| {
            text.split_whitespace()
                .map(|word| bare(word).to_lowercase())
        })
        .filter(|word| word.len() > 2 && word.chars().all(|c| c.is_ascii_alphabetic()))
        .filter(|word| Signature::of(word).unusable().is_none())
        .filter(|word| !FUNCTION.contains(&word.as_str()))
        .collect();
    words.into_iter().collect()
}

/// Words that say the same in their phrases: before a number, after "where can I", in "the best way
/// to" and "gas fees".
const ALIKE: [(&str, &str); 66] = [
    ("purpose", "point"),
    ("exchange", "exchanges"),
    ("exchanges", "exchange"),
    ("take", "lasts"),
    ("take", "ever"),
    ("volatile", "volatility"),
    ("happens", "exactly"),
    ("check", "tested"),
    ("below", "under"),
    ("offer", "carry"),
    ("way", "command"),
    ("interest", "generally"),
    ("want", "require"),
    ("file", "location"),
    ("check", "tests"),
    ("cancel", "stopping"),
    ("command", "process"),
    ("use", "redeem"),
    ("out", "get"),
    ("better", "wise"),
    ("tell", "give"),
    ("number", "quantity"),
    ("configuration", "config"),
    ("saved", "located"),
    ("out", "generally"),
    ("see", "tested"),
    ("want", "got"),
    ("case", "when"),
    ("way", "methods"),
    ("percent", "percentage"),
    ("use", "apply"),
    ("located", "kept"),
    ("log", "login"),
    ("greater", "exceed"),
    ("minutes", "minute"),
    ("causes", "make"),
    ("receive", "getting"),
    ("find", "know"),
    ("frequently", "often"),
    ("way", "procedure"),
    ("open", "makes"),
    ("way", "formula"),
    ("best", "right"),
    ("fees", "prices"),
    ("gas", "network"),
    ("gas", "transaction"),
    ("over", "above"),
    ("above", "over"),
    ("under", "below"),
    ("view", "find"),
    ("find", "view"),
    ("find", "getting"),
    ("set", "configured"),
    ("delivery", "shipping"),
    ("want", "steps"),
    ("want", "generally"),
    ("get", "received"),
    ("check", "known"),
    ("take", "possible"),
    ("over", "generally"),
    ("big", "high"),
    ("last", "required"),
    ("house", "home"),
    ("mean", "ever"),
    ("depositing", "supply"),
    ("store", "keep"),
];

#[test]
fn no_near_miss_beside_free_wordings_is_joined() {
    let mut near_misses = 0;
    for line in FREE.iter().flat_map(|set| set.lines()) {
        let pair: Value = serde_json::from_str(line).expect("a pair is a line of JSON");
        let [a, b] = ["a", "b"].map(|name| pair[name].as_str().expect("a text"));
        if pair["same"] == false {
            near_misses += 1;
            assert!(difference(a, b).is_some(), "{a} | {b}");
            assert!(difference(b, a).is_some(), "{b} | {a}");
        }
    }
    assert_eq!(near_misses, 12_095);
}

#[test]
fn another_content_word_in_the_place_of_one_separates_every_text() {
    const DRAWS: usize = 3;
    let words = content();
    let mut draw = 0_usize;
    let mut joined: Vec<String> = Vec::new();
    for text in texts() {
        let signature = Signature::of(&text);
        for word in text.split_whitespace().map(bare) {
            if words.binary_search(&word.to_lowercase()).is_err() {
                continue;
            }
            for _ in 0..DRAWS {
                draw = (draw + 7_919) % words.len();
                let other = &words[draw];
                if difference(word, other).is_none() {
                    continue;
                }
                let changed = text.replacen(word, other, 1);
                let joins = signature.difference(&Signature::of(&changed)).is_none();
                if joins && !ALIKE.contains(&(word, other.as_str())) {
                    joined.push(format!("{text} | {changed}"));
                }
            }
        }
    }
    assert!(joined.is_empty(), "{joined:#?}");
}

#[test]
fn a_negation_at_any_place_separates_every_text() {
    for text in texts() {
        let signature = Signature::of(&text);
        let words: Vec<&str> = text.split_whitespace().collect();
        for at in 1..words.len() {
            for no in ["not", "never"] {
                let mut denied = words.clone();
                denied.insert(at, no);
                let denied = denied.join(" ");
                let found = signature.difference(&Signature::of(&denied));
                assert!(found.is_some(), "{text} | {denied}");
            }
        }
    }
}

#[test]
fn two_names_in_exchanged_places_separate_every_text() {
    let symmetric = [
        "differ", "between", "distance", " far ", " and ", " or ", "/", "compare", " hot in ",
    ];
    let mut checked = 0;
    let mut joined: Vec<String> = Vec::new();
    for text in texts() {
        if symmetric.iter().any(|word| text.contains(word)) {
            continue;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let names: Vec<usize> = (1..words.len())
            .filter(|&at| bare(words[at]).starts_with(|c: char| c.is_uppercase()))
            .filter(|&at| bare(words[at]).len() > 1)
            .collect();
        for (place, &first) in names.iter().enumerate() {
            for &second in &names[place + 1..] {
                let (one, two) = (bare(words[first]), bare(words[second]));
                if second == first + 1 || difference(one, two).is_none() {
                    continue;
                }
                let mut exchanged: Vec<String> = words.iter().map(|&word| word.into()).collect();
                exchanged[first] = words[first].replacen(one, two, 1);
                exchanged[second] = words[second].replacen(two, one, 1);
                let exchanged = exchanged.join(" ");
                if difference(&text, &exchanged).is_none() {
                    joined.push(format!("{text} | {exchanged}"));
                }
                checked += 1;
            }
        }
    }
    assert!(joined.is_empty(), "{joined:#?}");
    assert!(checked > 50, "{checked}");
}

#[test]
fn letters_that_only_look_alike_separate() {
    for (one, other) in [
        ("Send 5 USDC to Ana", "Send 5 USDC to Аna"),
        ("Is paypal safe?", "Is pаypal safe?"),
        ("pay 10 USDC", "pay 1\u{200b}0 USDC"),
        ("pay 10 USDC", "pay \u{202e}10 USDC"),
        ("pay 10 USDC", "pay １０ USDC"),
        ("reset the router", "re\u{ad}set the router"),
        ("ignore the error", "ign\u{0}ore the error"),
    ] {
        assert_ne!(difference(one, other), None, "{one:?} | {other:?}");
    }
}

#[test]
fn other_languages_share_an_answer_by_equal_words_alone() {
    for (one, other) in [
        (
            "¿Puedo pagar a Ana con la tarjeta?",
            "¿Puedo pagar Ana con la tarjeta?",
        ),
        (
            "Wie kann ich die Karte sperren?",
            "Wie kann ich die Karten sperren?",
        ),
        (
            "Comment payer les frais du compte?",
            "Comment payer des frais du compte?",
        ),
        (
            "como envio el dinero de Ana a Luis",
            "como envio el dinero a Ana de Luis",
        ),
        ("der Vertrag ist nicht gut", "der Vertrag ist gut"),
    ] {
        assert_ne!(difference(one, other), None, "{one} | {other}");
    }
    let (one, other) = (
        "Wie kann ich die Karte sperren?",
        "wie kann ich die Karte sperren",
    );
    assert_eq!(difference(one, other), None);
}

#[test]
fn a_word_that_occurs_twice_does_not_separate_a_text_from_itself() {
    for text in [
        "a a's 0",
        "a 0 the 0",
        "my charger and a charger and the charger",
    ] {
        assert_eq!(difference(text, text), None, "{text}");
    }
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

/// The rules look at words around a place: a text that begins or ends anywhere must be read too.
#[test]
fn each_part_of_a_text_is_read() {
    let openings = [
        "",
        "what statement",
        "which command",
        "what is",
        "how much",
        "how",
        "why",
        "is",
        "does",
        "can",
    ];
    for (one, _, _) in pairs() {
        let words: Vec<&str> = one.split(' ').collect();
        for at in (0..words.len()).step_by(2) {
            let opening = openings[(at + words.len()) % openings.len()];
            let rest = words[at..].join(" ");
            for text in [format!("{opening} {rest}"), words[..at].join(" ")] {
                let read = Signature::of(&text);
                let equal = read.difference(&read).is_none();
                assert!(equal || read.unusable().is_some(), "{text}");
            }
        }
    }
    for opening in openings {
        assert!(difference(opening, "What is the capital of Peru?").is_some());
    }
}
