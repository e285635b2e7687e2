//! Letters and capitals that carry a meaning: "US" and "us", "hepatitis a", "LINK".

use super::frame::is_auxiliary;
use super::scan::{Token, TokenKind};
use super::tables::TABLES;

/// What capitals say in a text.
#[derive(Clone, Copy)]
pub(super) enum LetterCase {
    /// Capitals mark names.
    Mixed,
    /// Most letters are capitals, in fewer than four words: "US GDP".
    Short,
    /// Most letters are capitals, which say nothing.
    Shouted,
}

impl LetterCase {
    pub(super) fn of(text: &str) -> Self {
        let upper = text.chars().filter(|c| c.is_uppercase()).count();
        let lower = text.chars().filter(|c| c.is_lowercase()).count();
        if upper <= lower {
            Self::Mixed
        } else if text.split_whitespace().count() < 4 {
            Self::Short
        } else {
            Self::Shouted
        }
    }
}

/// Whether "a" and "i" are letters: "hepatitis a", "Elizabeth I", "a type I error".
pub(super) fn is_letter(tokens: &[Token], at: usize) -> bool {
    let word = |at: usize| {
        let token = tokens.get(at).filter(|token| token.kind == TokenKind::Word);
        token.map_or("", |token| token.text.as_str())
    };
    let before = at.checked_sub(1).map_or("", word);
    let ends = tokens
        .get(at + 1)
        .is_none_or(|next| next.kind == TokenKind::Break);
    let next = word(at + 1);
    let verb = is_auxiliary(next) || TABLES.is_verb(&TABLES.base(next));
    match word(at) {
        "a" => {
            let kind = matches!(
                before,
                "hepatitis" | "vitamin" | "influenza" | "column" | "protein"
            );
            // "Mv a b" and "does diff a b show", but not "a b tree".
            let called = at > 1 && word(at - 2) == "does";
            let follows = tokens.get(at + 2);
            let pair = next.len() == 1
                && next != "i"
                && (called
                    || follows.is_none_or(|after| {
                        after.kind == TokenKind::Break
                            || is_auxiliary(&after.text)
                            || TABLES.prepositions.contains_key(after.text.as_str())
                    }));
            ends || kind || pair
        }
        "s" => before == "size",
        "i" if ends => {
            let pronoun = matches!(before, "" | "than" | "as" | "and" | "or" | "but" | "not");
            !pronoun && !is_auxiliary(before)
        }
        "i" => {
            let kind = matches!(
                before,
                "type" | "phase" | "stage" | "class" | "grade" | "level"
            );
            kind && !next.is_empty() && !verb
        }
        _ => false,
    }
}

/// Capitals that would be a function word in small letters.
pub(super) fn acronym(core: &str) -> bool {
    matches!(
        core,
        "US" | "IT" | "WHO" | "AM" | "OR" | "AND" | "NOT" | "IN" | "IS" | "AS" | "ME"
    )
}

/// "Us" in small letters where no pronoun stands: "the us economy", "what is us inflation".
pub(super) fn is_country(part: &str, found: &[Token]) -> bool {
    let before = found.last().filter(|last| last.kind == TokenKind::Word);
    let Some(before) = before else {
        return part == "us";
    };
    let leads = match before.text.as_str() {
        "the" | "in" => true,
        "is" | "are" | "was" | "were" | "does" | "did" => found.len() > 1,
        _ => false,
    };
    part == "us" && leads
}

/// Capitals of a token that are a word in small letters.
pub(super) fn is_ticker(part: &str) -> bool {
    matches!(part, "LINK" | "UNI" | "OP")
}

/// The words inside the sentences of a text, in small letters, and whether each begins with a capital.
///
/// None where capitals say nothing: a text without capitals, or with most words in capitals.
pub(super) fn capitals(text: &str) -> Vec<(String, bool)> {
    if !matches!(LetterCase::of(text), LetterCase::Mixed) || !text.contains(char::is_uppercase) {
        return Vec::new();
    }
    let mut begins = true;
    let mut found = Vec::new();
    for chunk in text.split_whitespace() {
        let written = chunk.trim_matches(|c: char| !c.is_alphanumeric());
        let word = written.split(['\'', '’']).next().unwrap_or_default();
        if !begins && word.starts_with(char::is_alphabetic) {
            found.push((word.to_lowercase(), word.starts_with(char::is_uppercase)));
        }
        begins = chunk.ends_with(['.', '?', '!', ':']);
    }
    let capital = found.iter().filter(|(_, capital)| *capital).count();
    if capital > 2 && capital * 2 > found.len() {
        found.clear();
    }
    found
}

/// Letters between two words of a text, at most.
const REACH: usize = 96;

/// Gives the words of a text their capitals back, but for those that begin a sentence.
pub(super) fn spelled(text: &str, tokens: &mut [Token]) {
    let mut rest = text;
    let mut begins = true;
    for token in tokens {
        let found = (token.kind == TokenKind::Word)
            .then(|| {
                rest.char_indices()
                    .take(REACH)
                    .find(|(at, _)| same(&rest[*at..], &token.text))
            })
            .flatten();
        if let Some((at, _)) = found {
            let letters = token.text.chars().count();
            let written: String = rest[at..].chars().take(letters).collect();
            rest = rest[at..].split_at(written.len()).1;
            if !begins {
                token.text = written;
            }
        }
        begins = token.kind == TokenKind::Break && token.text != ",";
    }
}

/// Whether a text begins with a word, in small or capital letters.
fn same(text: &str, word: &str) -> bool {
    let letters = word.chars().count();
    let start: String = text.chars().take(letters).collect();
    start.to_lowercase() == word
}
