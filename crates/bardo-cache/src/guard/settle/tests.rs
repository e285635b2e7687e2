//! Each key that the code compares is one that a text can have; `stems` names those that are no words.

use crate::guard::tables::TABLES;

const SOURCES: [&str; 14] = [
    include_str!("../settle.rs"),
    include_str!("amount.rs"),
    include_str!("event.rs"),
    include_str!("place.rs"),
    include_str!("../atoms.rs"),
    include_str!("../atoms/builder.rs"),
    include_str!("../atoms/word.rs"),
    include_str!("../compare.rs"),
    include_str!("../compare/alignment.rs"),
    include_str!("../compare/places.rs"),
    include_str!("../compare/relations.rs"),
    include_str!("../compare/voice.rs"),
    include_str!("../order.rs"),
    include_str!("../tense.rs"),
];

/// The literals of `matches!` and `==` over the key of a word.
fn compared(source: &'static str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for part in source.split("matches!(").skip(1) {
        let (head, rest) = part.split_once('"').unwrap_or_default();
        if head.contains("key") && !head.contains(';') && !head.contains("classes") {
            let literals = rest.split(')').next().unwrap_or_default();
            found.extend(literals.split('"').step_by(2));
        }
    }
    for part in source.split("key == \"").skip(1) {
        found.extend(part.split('"').next());
    }
    found
}

/// Whether a word is its own key. Numbers have a unit.
fn is_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_digit()) || TABLES.canonical(key) == key
}

#[test]
fn every_key_of_the_code_is_a_key_of_the_lists() {
    let compared = SOURCES.into_iter().flat_map(compared);
    let dead: Vec<&str> = compared.filter(|key| !is_key(key)).collect();
    assert!(dead.is_empty(), "{dead:?}");
}
