//! Words that a text is about: "when do I use its", "how do you say child in Dutch". They are compared as they
//! are written, whatever they say elsewhere.

use super::frame::is_auxiliary;
use super::scan::{Token, TokenKind};
use super::tables::TABLES;

/// What makes a word a mention.
#[derive(Clone, Copy)]
enum Reading {
    /// The word itself: its spelling and its form count.
    Written,
    /// The word or the thing: "when do I use Redis". The form counts where it is irregular.
    Named,
}

/// Marks the words that are meant as words. A marked word is in no list, and equals only itself.
pub(super) fn mark(tokens: &mut [Token]) {
    let Some((from, to, reading)) = mentioned(tokens) else {
        return;
    };
    for token in &mut tokens[from..to] {
        if token.kind == TokenKind::Word && is_marked(&token.text, reading) {
            // "It's" is no contraction here.
            token.text = format!("{}^", token.text.replace('\'', "^"));
        }
    }
}

/// The words that a text is about.
fn mentioned(tokens: &[Token]) -> Option<(usize, usize, Reading)> {
    let word = |at: usize, words: &[&str]| is_word(tokens, at, words);
    let end = clause_end(tokens);
    if word(0, &["what"]) && word(1, &["do", "does", "did"]) {
        return (end == 4 && word(3, &["mean"])).then_some((2, 3, Reading::Named));
    }
    if word(0, &["how"]) && word(1, &["is", "are"]) {
        let last = end.checked_sub(1).filter(|last| *last > 2)?;
        let spelled = word(last, &["spelled", "spelt", "pronounced", "written"]);
        return spelled.then_some((2, last, Reading::Written));
    }
    let verb = asked_verb(tokens)?;
    let placed = (verb + 2..end).find(|&at| word(at, &["in", "on"]));
    let to = placed.unwrap_or(end);
    let alone = to == verb + 2;
    let sentence = alone && word(to + 1, &["a"]) && word(to + 2, &["sentence"]);
    let says = word(verb, &["say", "spell", "pronounce"]) && to > verb + 1;
    // "How do I say no to my boss" is about no word.
    if sentence || says && (placed.is_some() || to <= verb + 3) {
        return Some((verb + 1, to, Reading::Written));
    }
    let uses = alone && word(verb, &["use", "install"]);
    uses.then_some((verb + 1, to, Reading::Named))
}

/// The verb behind "how do I" or "when to", or at the start.
fn asked_verb(tokens: &[Token]) -> Option<usize> {
    let word = |at: usize, words: &[&str]| is_word(tokens, at, words);
    if !word(0, &["how", "when", "where"]) {
        return Some(0);
    }
    if word(1, &["to"]) {
        return Some(2);
    }
    let asks = word(1, &["do", "should", "can", "could", "would", "must"]);
    (asks && word(2, &["i", "you", "we", "one", "people"])).then_some(3)
}

/// Whether a word has another form or meaning elsewhere.
fn is_marked(word: &str, reading: Reading) -> bool {
    let base = TABLES.base(word);
    let inflected = ["s", "ed", "ing"].iter().any(|end| word.ends_with(end)) && base != word;
    let key = TABLES.canonical(word);
    let formed = match reading {
        Reading::Written => inflected,
        Reading::Named => false,
    };
    // "What does staking mean" asks what is done, and "swift" may be a language or a bird.
    let is_term = matches!(reading, Reading::Named) && word.ends_with("ing")
        || TABLES.homographs.contains(word);
    formed || says_nothing(word) || TABLES.forms.contains_key(word) || key != base && !is_term
}

/// Whether a word has no content of its own.
fn says_nothing(word: &str) -> bool {
    let asks = [
        "who", "whom", "whose", "which", "what", "when", "where", "why", "how", "there",
    ];
    let lists = [
        &TABLES.stop,
        &TABLES.determiners,
        &TABLES.soft,
        &TABLES.mild,
        &TABLES.conjunctions,
        &TABLES.pronouns,
    ];
    asks.contains(&word)
        || word.contains('\'')
        || is_auxiliary(word)
        || TABLES.prepositions.contains_key(word)
        || lists.iter().any(|list| list.contains(word))
}

/// Where the first clause ends.
fn clause_end(tokens: &[Token]) -> usize {
    let ends = |token: &Token| token.kind == TokenKind::Break;
    tokens.iter().position(ends).unwrap_or(tokens.len())
}

fn is_word(tokens: &[Token], at: usize, words: &[&str]) -> bool {
    let token = tokens.get(at);
    token.is_some_and(|token| token.kind == TokenKind::Word && words.contains(&&*token.text))
}
