//! What the rewrites look for in a text: words, breaks, the end of a clause, nouns and verbs.
//!
//! Each matcher is written once, here; a rewrite adds the words of its own pattern.

use std::collections::HashSet;
use std::ops::Range;

use crate::guard::frame::is_auxiliary;
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// The most words of a subject between two words of a pattern.
pub(super) const REACH: usize = 8;
/// The most words of a noun with its adjectives.
pub(super) const NOUN: usize = 4;

/// What asks which of several things is meant.
pub(super) const WHAT: [&str; 3] = ["what", "which", "@what"];
/// The finite forms of "be", but for "am".
pub(super) const BE: [&str; 4] = ["is", "are", "was", "were"];

/// Whether a token is one of some words.
pub(super) fn is_word(token: Option<&Token>, words: &[&str]) -> bool {
    token.is_some_and(|token| token.kind == TokenKind::Word && words.contains(&token.text.as_str()))
}

/// Whether a token is a word of a list.
pub(super) fn is_listed(token: Option<&Token>, list: &HashSet<&str>) -> bool {
    token.is_some_and(|token| token.kind == TokenKind::Word && list.contains(token.text.as_str()))
}

/// Whether a text opens with words, of which each may be one of several: `[["what"], ["do", "does"]]`.
pub(super) fn opens<const N: usize>(tokens: &[Token], row: [&[&str]; N]) -> bool {
    stand_at(tokens, 0, row)
}

/// Whether a row of words stands at a place; each may be one of several, as for [`opens`].
pub(super) fn stand_at<const N: usize>(tokens: &[Token], at: usize, row: [&[&str]; N]) -> bool {
    let mut row = row.iter().enumerate();
    row.all(|(next, words)| is_word(tokens.get(at + next), words))
}

/// Whether a text opens with words and goes on behind them.
pub(super) fn opens_longer(tokens: &[Token], words: &[&str]) -> bool {
    tokens.len() > words.len()
        && tokens
            .iter()
            .zip(words)
            .all(|(token, word)| token.is_word(word))
}

/// The first place in a range that holds one of some words.
pub(super) fn place_of(tokens: &[Token], range: Range<usize>, words: &[&str]) -> Option<usize> {
    let mut places = range;
    places.find(|&at| is_word(tokens.get(at), words))
}

/// The first place in a range at which a row of words begins.
pub(super) fn place_of_row<const N: usize>(
    tokens: &[Token],
    range: Range<usize>,
    row: [&[&str]; N],
) -> Option<usize> {
    let mut places = range;
    places.find(|&at| stand_at(tokens, at, row))
}

/// The place of a row of words that ends before `end`.
pub(super) fn row_before<const N: usize>(
    tokens: &[Token],
    end: usize,
    row: [&[&str]; N],
) -> Option<usize> {
    let at = end.checked_sub(N)?;
    stand_at(tokens, at, row).then_some(at)
}

/// As [`place_of`], up to the first break in the range.
pub(super) fn place_before_break(
    tokens: &[Token],
    range: Range<usize>,
    words: &[&str],
) -> Option<usize> {
    let mut places = range.take_while(|&at| !is_break(&tokens[at]));
    places.find(|&at| is_word(tokens.get(at), words))
}

/// Whether a sentence, a clause or a line ends with a token.
pub(super) fn is_break(token: &Token) -> bool {
    token.kind == TokenKind::Break
}

/// Whether a clause ends with a token: a break, or a mark such as "@is".
pub(super) fn is_end(token: &Token) -> bool {
    is_break(token) || token.text.starts_with('@')
}

/// The end of the clause that is read from a place on, which is the end of the text at most.
pub(super) fn clause_end(tokens: &[Token], from: usize) -> usize {
    let end = tokens.iter().skip(from).position(is_end);
    end.map_or(tokens.len(), |end| from + end)
}

/// The first break from a place on, or the end of the text. Unlike [`clause_end`], it passes marks: "Bob's
/// plan" goes on behind "@s".
pub(super) fn break_from(tokens: &[Token], from: usize) -> usize {
    let cut = tokens.iter().skip(from).position(is_break);
    cut.map_or(tokens.len(), |cut| from + cut)
}

/// Whether a clause is complete before a place: it ends there, or goes on with a preposition or a time.
pub(super) fn is_complete(tokens: &[Token], at: usize) -> bool {
    tokens
        .get(at)
        .is_none_or(|next| is_end(next) || is_preposition(next) || is_of_class(next, "time"))
}

/// Words of a list as tokens.
pub(super) fn words(list: &[&str]) -> Vec<Token> {
    list.iter().map(|word| Token::word(*word)).collect()
}

/// The mark of the tense that a rewrite took away: it stands at the end and separates no words.
pub(super) fn mark(past: bool) -> Token {
    Token::word(if past { "@was" } else { "@is" })
}

/// Whether a token is a preposition.
pub(super) fn is_preposition(token: &Token) -> bool {
    TABLES.prepositions.contains_key(token.text.as_str())
}

/// Whether a token, as it is written, belongs to a class.
pub(super) fn is_of_class(token: &Token, class: &str) -> bool {
    TABLES.classes.get(token.text.as_str()) == Some(&class)
}

/// Whether words are a noun with its adjectives: no verb, pronoun, preposition or negation.
pub(super) fn is_noun(tokens: &[Token]) -> bool {
    let plain = |token: &Token| {
        let word = token.text.as_str();
        !is_end(token)
            && !is_preposition(token)
            && !is_auxiliary(word)
            && !TABLES.pronouns.contains(word)
            && !matches!(word, "be" | "if" | "when" | "to" | "there")
            && !is_of_class(token, "negation")
    };
    !tokens.is_empty() && tokens.len() <= NOUN && tokens.iter().all(plain)
}

/// Whether words name a thing: "my plan", "the plan of Bob", "Curve", but not "I".
pub(super) fn is_named(tokens: &[Token]) -> bool {
    let bound = |token: &Token| {
        let word = token.text.as_str();
        is_end(token) && word != "@s"
            || is_auxiliary(word)
            || matches!(word, "be" | "if" | "when" | "to" | "and" | "or" | "there")
            || is_of_class(token, "negation")
    };
    let pronoun = |token: &Token| TABLES.pronouns.contains(token.text.as_str());
    let named = tokens.len() > 1 || tokens.first().is_some_and(|first| !pronoun(first));
    (1..=8).contains(&tokens.len()) && named && !tokens.iter().any(bound)
}

/// Where a noun begins behind its article, in a range that it fills.
pub(super) fn noun_from(tokens: &[Token], from: usize, to: usize) -> Option<usize> {
    let from = from + usize::from(is_word(tokens.get(from), &["the"]));
    (from < to && is_noun(&tokens[from..to])).then_some(from)
}

/// Whether a token asks, so that the text is a question: an auxiliary, or a mark such as "@how".
pub(super) fn is_asking(token: &Token) -> bool {
    token.text.starts_with('@') || is_auxiliary(&token.text)
}

/// Whether a token is a verb as it is in the list, without an ending: "delete".
pub(super) fn is_verb(token: Option<&Token>) -> bool {
    token.is_some_and(|token| {
        token.kind == TokenKind::Word && TABLES.verbs.contains(token.text.as_str())
    })
}

/// Whether a token is a verb in any form: "deletes", "deleting".
pub(super) fn is_form_of_verb(token: &Token) -> bool {
    token.kind == TokenKind::Word && TABLES.is_verb(&TABLES.base(&token.text))
}

/// Whether a token is a verb that ends in "-ing" and is no noun of its own, as "building" is.
pub(super) fn is_gerund(token: &Token) -> bool {
    token.text.ends_with("ing")
        && !TABLES.fixed.contains(token.text.as_str())
        && is_form_of_verb(token)
}

/// Whether a word is a participle of the past: "deleted", "bitten", but not "speed".
pub(super) fn is_participle(token: &Token) -> bool {
    token.kind == TokenKind::Word
        && (token.text.ends_with("ed") && !TABLES.fixed.contains(token.text.as_str())
            || TABLES.participles.contains(token.text.as_str()))
}

/// As [`is_participle`], for any token and without regard to words that end in "ed" and are none:
/// for places where nothing else can stand.
pub(super) fn ends_as_participle(token: &Token) -> bool {
    token.text.ends_with("ed") || TABLES.participles.contains(token.text.as_str())
}

/// The participle of a regular verb: "store" and "stored".
pub(super) fn participle_of(verb: &str) -> String {
    format!("{}ed", verb.strip_suffix('e').unwrap_or(verb))
}

/// The parts of "what N does X": the place of the auxiliary, and whether it tells the past.
pub(super) fn asked_of_noun(tokens: &[Token], firsts: &[&str]) -> Option<(usize, bool)> {
    let aux = place_of(
        tokens,
        2..tokens.len().min(2 + NOUN),
        &["do", "does", "did"],
    )?;
    let fits = is_word(tokens.first(), firsts) && is_noun(&tokens[1..aux]);
    fits.then(|| (aux, is_word(tokens.get(aux), &["did"])))
}

/// The place of a verb behind the subject that stands at `from`.
pub(super) fn verb_behind(tokens: &[Token], from: usize, verbs: &[&str]) -> Option<usize> {
    let at = place_of(tokens, from + 1..clause_end(tokens, from), verbs)?;
    is_named(&tokens[from..at]).then_some(at)
}

/// Whether a token is neither a break nor the mark of the present.
pub(super) fn is_said(token: &Token) -> bool {
    !is_break(token) && token.text != "@is"
}

/// Whether a text opens as a statement of one's own things does.
pub(super) fn states(tokens: &[Token]) -> bool {
    is_word(tokens.first(), &["i", "my", "the", "we", "our", "your"])
}

#[cfg(test)]
mod tests;
