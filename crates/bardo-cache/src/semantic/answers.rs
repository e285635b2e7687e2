//! Whether two answers to one question agree.

use std::collections::BTreeSet;

use crate::guard::Signature;

/// The least cosine of two answers that agree although their words differ.
const ANSWER_SIMILARITY: f32 = 0.90;

/// Longest piece of an answer that is read at once, in bytes.
const PIECE_BYTES: usize = 256;

/// Compares a stored answer with a live one: equal words agree; otherwise their vectors must be
/// close and their facts equal (numbers, names of code, addresses, files, negations and
/// directions). `similarity` is the cosine of both answers; `None` where no embedder ran. Then the
/// result is `None`, unless the words are equal or the facts differ.
#[must_use]
pub fn verdict(stored: &str, live: &str, similarity: Option<f32>) -> Option<bool> {
    if normal(stored) == normal(live) {
        return Some(true);
    }
    if facts(stored) != facts(live) {
        return Some(false);
    }
    similarity.map(|cosine| cosine >= ANSWER_SIMILARITY)
}

/// Whether two answers agree as [`verdict`] says; answers that cannot be compared do not.
#[must_use]
pub fn agree(stored: &str, live: &str, similarity: Option<f32>) -> bool {
    verdict(stored, live, similarity) == Some(true)
}

/// Words in small letters, without punctuation and white space.
fn normal(text: &str) -> String {
    let words = text
        .split(|c: char| c.is_whitespace())
        .map(|word| {
            word.trim_matches(|c: char| {
                c.is_ascii_punctuation() && !matches!(c, '-' | '+' | '%' | '$')
            })
        })
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

/// What must be equal in two answers.
fn facts(text: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let mut piece = String::new();
    for word in text.split_whitespace() {
        if piece.len() + word.len() > PIECE_BYTES {
            collect(&piece, &mut found);
            piece.clear();
        }
        piece.push_str(word);
        piece.push(' ');
    }
    collect(&piece, &mut found);
    found
}

fn collect(piece: &str, found: &mut BTreeSet<(String, String)>) {
    let signature = Signature::of(piece);
    let facts = signature.facts();
    found.extend(facts.map(|(class, key)| (class.to_owned(), key.to_owned())));
}

#[cfg(test)]
mod tests {
    use super::{agree, verdict};

    #[test]
    fn answers_that_were_not_compared_neither_agree_nor_disagree() {
        let (one, other) = ("The fee is 10 USDC.", "You pay a fee of 10 USDC.");
        assert_eq!(verdict(one, other, None), None);
        assert_eq!(verdict(one, "The fee is 11 USDC.", None), Some(false));
        assert_eq!(verdict(one, "the fee is 10 USDC", None), Some(true));
    }

    #[test]
    fn equal_words_agree_without_an_embedder() {
        assert!(agree("It is  Paris.", "it is paris", None));
        assert!(!agree("It is Paris.", "It is Rome.", None));
    }

    #[test]
    fn close_answers_with_other_facts_disagree() {
        assert!(agree(
            "The fee is 10 USDC.",
            "You pay a fee of 10 USDC.",
            Some(0.95)
        ));
        assert!(!agree(
            "The fee is 10 USDC.",
            "You pay a fee of 1 USDC.",
            Some(0.99)
        ));
        assert!(!agree("It is safe.", "It is not safe.", Some(0.98)));
        assert!(!agree(
            "The fee is 10 USDC.",
            "The fee is 10 USDC now.",
            Some(0.5)
        ));
    }
}
