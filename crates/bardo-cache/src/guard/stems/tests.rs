//! What the lists must keep, so that no two of their words become one by chance.

use std::collections::BTreeSet;

use super::*;
use crate::guard::tables::TABLES;

const LISTS: [&str; 4] = [
    include_str!("../../../data/guard/synonyms.txt"),
    include_str!("../../../data/guard/contexts.txt"),
    include_str!("../../../data/guard/classes.txt"),
    include_str!("../../../data/guard/lists.txt"),
];

/// Every word of a list, in small letters.
fn words() -> BTreeSet<&'static str> {
    LISTS
        .iter()
        .flat_map(|list| list.lines())
        .filter(|line| !line.starts_with('#') && !line.starts_with("foreign:"))
        .flat_map(|line| line.split(|c: char| !c.is_ascii_lowercase()))
        .filter(|word| word.len() > 1)
        .collect()
}

#[test]
fn no_list_has_two_words_that_differ_by_a_last_letter_and_share_a_base() {
    let words = words();
    assert!(words.len() > 1_000);
    let mut shared = Vec::new();
    for word in &words {
        let Some(last) = word.chars().last() else {
            continue;
        };
        for longer in [format!("{word}e"), format!("{word}{last}")] {
            let joined = TABLES.base(word) == TABLES.base(&longer);
            // One word in two spellings, words that are not compared, and base forms.
            let same = matches!(&*longer, "enroll" | "here" | "include" | "name");
            if joined && !same && words.contains(longer.as_str()) {
                shared.push(longer);
            }
        }
    }
    assert!(shared.is_empty(), "{shared:?}");
}

#[test]
fn words_that_are_kept_whole_share_no_base_with_the_shorter_word() {
    for word in TABLES.silent.iter().chain(&TABLES.whole) {
        assert_eq!(TABLES.base(word), *word);
        let shorter = &word[..word.len() - 1];
        let irregular = TABLES.forms.contains_key(shorter);
        assert!(irregular || TABLES.base(shorter) != *word, "{shorter}");
        let plural = format!("{word}s");
        if !TABLES.fixed.contains(plural.as_str()) {
            assert_eq!(TABLES.base(&plural), *word);
        }
    }
}

#[test]
fn an_ending_returns_to_the_word_it_stands_behind() {
    for (word, base) in [
        ("taping", "tape"),
        ("tapping", "tap"),
        ("noted", "note"),
        ("filed", "file"),
        ("filled", "fil"),
        ("routing", "route"),
        ("casting", "cast"),
        ("severed", "sever"),
        ("planes", "plane"),
        ("plans", "plan"),
        ("canvas", "canvas"),
        ("polls", "poll"),
        ("making", "mak"),
    ] {
        assert_eq!(TABLES.base(word), base, "{word}");
    }
}

#[test]
fn a_named_key_is_that_of_its_word() {
    let named = [
        (DATE, "date"),
        (DEADLINE, "deadline"),
        (DISTANCE, "distance"),
        (INFLUENCE, "influence"),
        (MINUTE, "minute"),
        (SIZE, "size"),
        (SUBSTITUTE, "substitute"),
        (TAKE, "take"),
        (TIME, "time"),
        (VALUE, "value"),
        (VOLUME, "volume"),
    ];
    for (key, word) in named {
        let found = [TABLES.base(word), TABLES.canonical(word)];
        assert!(found.iter().any(|found| found == key), "{word}: {found:?}");
    }
}
