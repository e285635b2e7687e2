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
    if let Some(folder) = folder(chunk, before, after) {
        return Some(folder);
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

/// The points that name a folder and end no sentence: "cd ..", "ls .?", "cp . target".
fn folder<'a>(chunk: &'a str, before: Option<&Token>, after: &str) -> Option<&'a str> {
    let dots = chunk.trim_end_matches(['?', '!', ',']);
    let on = |c: char| c.is_lowercase() || c == '.';
    let goes_on = before.is_some() && after.trim_start().starts_with(on);
    let names = dots == ".." || dots == "." && (dots.len() < chunk.len() || goes_on);
    names.then_some(dots)
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

/// "Save! in Rails" and "try? in Swift": a sign that belongs to the word, where the sentence goes on.
pub(super) fn is_marked(chunk: &str, after: &str) -> bool {
    let Some(word) = chunk.strip_suffix(['!', '?']) else {
        return false;
    };
    let next = after.split_whitespace().next().unwrap_or_default();
    let on = next.starts_with(char::is_lowercase);
    let joins = TABLES.prepositions.contains_key(next) || matches!(next, "and" | "or" | "vs");
    let named = chunk.ends_with('!') && word.chars().all(char::is_lowercase);
    let calls = named || TABLES.is_verb(&TABLES.base(word));
    on && (matches!(word, "try" | "as") || joins && calls)
}

/// Reads the sign behind a number as inches: "a 12" pipe". Behind feet it says nothing new: "5'6"".
pub(super) fn is_inch(before: &str, found: &mut Vec<Token>) -> bool {
    let Some(last) = found.last() else {
        return false;
    };
    let kind = last.kind;
    let feet = last.text.contains('\'');
    let counted = before.ends_with(|c: char| c.is_ascii_digit());
    if counted && kind == TokenKind::Number {
        found.push(Token::word("inch"));
    }
    counted && (kind == TokenKind::Number || kind == TokenKind::Code && feet)
}
