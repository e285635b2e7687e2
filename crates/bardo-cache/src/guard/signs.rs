//! Punctuation that is asked about, and ends nothing: "what does ?? do", "the difference between ; and :".

use super::frame::is_auxiliary;
use super::scan::{Token, TokenKind};
use super::tables::TABLES;

/// The sign in a run of characters, given the token before it and the text behind it.
///
/// Punctuation that stands alone is a sign where a word leads to it ("the", "is", "between"), where the
/// sentence goes on behind it, and where it is no usual ending of a sentence.
pub(super) fn sign<'a>(chunk: &'a str, before: Option<&Token>, after: &str) -> Option<&'a str> {
    if chunk.contains(char::is_alphanumeric) || chunk == "&" {
        return None;
    }
    let led = before.is_some_and(leads);
    let goes_on = after.trim_start().starts_with(char::is_lowercase)
        && before.is_some_and(|before| before.kind == TokenKind::Word);
    let dash =
        matches!(chunk, "," | "-" | "--" | "–" | "—" | "…") || chunk.trim_matches('.').is_empty();
    let ends = chunk.chars().all(|c| matches!(c, '?' | '!')) || chunk.chars().count() == 1;
    if dash {
        return led.then_some(chunk);
    }
    if ends {
        return (led || goes_on).then_some(chunk);
    }
    // "Between {} and []?": the last sign ends the question.
    let core = chunk.trim_end_matches(['.', ',', ';', '!', '?']);
    Some(if core.is_empty() { chunk } else { core })
}

/// Whether a word leads to what it stands before.
fn leads(token: &Token) -> bool {
    let word = token.text.as_str();
    token.kind == TokenKind::Word
        && (is_auxiliary(word)
            || TABLES.prepositions.contains_key(word)
            || TABLES.determiners.contains(word)
            || matches!(word, "between" | "and" | "or" | "vs" | "versus"))
}
