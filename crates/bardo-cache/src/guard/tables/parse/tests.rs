//! No row of the lists is set twice, and none is out of reach.

use std::collections::HashMap;

use super::*;
use crate::guard::tables::TABLES;

/// The words that stand in two rows, with both rows.
fn twice(rows: impl Iterator<Item = (String, &'static str)>) -> Vec<String> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut found = Vec::new();
    for (word, row) in rows {
        if let Some(before) = seen.insert(word.clone(), row) {
            found.push(format!("{word}: {before}, {row}"));
        }
    }
    found
}

#[test]
fn no_rewriting_stands_twice() {
    let rows = lines(PHRASES, "=>").chain(lines(FRAMES, "=>"));
    let rows = rows.flat_map(|(from, to)| from.split('|').map(move |from| (from, to)));
    let found = twice(rows.map(|(from, to)| (from.trim().to_owned(), to)));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_word_has_two_classes() {
    let rows = lines(CLASSES, ":");
    let rows = rows.flat_map(|(class, words)| entries(words).map(move |word| (word, class)));
    let found = twice(rows.map(|(word, class)| (word.to_owned(), class)));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_word_is_a_synonym_of_two() {
    let rows = lines(SYNONYMS, ":").chain(lines(NAMES, ":"));
    let mut keys: HashMap<String, &str> = HashMap::new();
    let mut found = Vec::new();
    for (key, words) in rows {
        for word in entries(words).chain([key]) {
            let before = keys.insert(TABLES.base(word), key);
            found.extend(before.filter(|before| *before != key).map(|_| word));
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn words_that_are_asked_with_keys_are_keys() {
    let lists = [&TABLES.uncounted, &TABLES.movable];
    let words = lists.into_iter().flatten();
    let dead: Vec<_> = words
        .filter(|word| TABLES.canonical(word) != **word)
        .collect();
    assert!(dead.is_empty(), "{dead:?}");
}
