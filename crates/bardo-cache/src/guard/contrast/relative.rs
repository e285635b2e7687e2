//! Relative clauses: "coins, which are volatile" are all coins, and "coins which are volatile" are some. "The
//! shoes in the box that was damaged" says that the box was, and "that were damaged" that the shoes were.

use crate::guard::atoms::is_past;
use crate::guard::frame::is_auxiliary;
use crate::guard::mention::says_nothing;
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// The side of a contrast on which a word is, by the comma before it and the verb behind it.
pub(super) fn said(tokens: &[Token], at: usize) -> Option<&'static str> {
    let before = tokens.get(at.checked_sub(1)?)?;
    let apart = before.kind == TokenKind::Break;
    match tokens[at].text.as_str() {
        "who" | "which" if apart => follows_noun(tokens, at - 1).then_some("all of which"),
        "who" | "which" => follows_noun(tokens, at).then_some("those which"),
        "that" if follows_noun(tokens, at) => match tokens.get(at + 1)?.text.as_str() {
            "is" | "was" | "has" => Some("one that"),
            "are" | "were" | "have" => Some("several that"),
            _ => None,
        },
        "said" | "says" | "thought" | "thinks" | "claimed" | "claims" if apart => {
            let closes = |token: &Token| token.kind == TokenKind::Break;
            tokens[at..].iter().any(closes).then_some("by the way")
        }
        "said" | "says" | "thought" | "thinks" | "claimed" | "claims" => Some("reported"),
        _ => None,
    }
}

/// Whether the thing before a word does something, or something is done to it: "users that left" and "users
/// left".
pub(super) fn voice(tokens: &[Token], at: usize) -> Option<&'static str> {
    match tokens[at].text.as_str() {
        "who" | "which" | "that" => acts(tokens, at).then_some("acts"),
        _ => is_done_to(tokens, at).then_some("done to"),
    }
}

/// Whether a verb stands behind "who" or "that", and a noun before it.
fn acts(tokens: &[Token], at: usize) -> bool {
    let verb = |next: &Token| {
        let name = next.text.as_str();
        // "The reason that Germany lost" is one clause and no noun.
        let is_verb = TABLES.is_verb(&TABLES.base(name)) || is_done(name);
        next.kind == TokenKind::Word
            && (is_verb || tokens[at].text != "that")
            && !says_nothing(name)
    };
    follows_noun(tokens, at) && tokens.get(at + 1).is_some_and(verb)
}

/// Whether a participle stands behind its noun, and that behind something else: "ask the people taught", but not
/// "my payment failed", "why was Germany defeated", "what people taught the class" and "which users paid".
fn is_done_to(tokens: &[Token], at: usize) -> bool {
    const FINITE: [&str; 8] = ["is", "are", "was", "were", "be", "has", "have", "had"];
    if !is_done(&tokens[at].text) || !follows_noun(tokens, at) {
        return false;
    }
    let closes = |token: &Token| token.kind == TokenKind::Break;
    let clause = tokens[..at]
        .iter()
        .rposition(closes)
        .map_or(0, |end| end + 1);
    let before = tokens.get(clause..at - 1).unwrap_or_default();
    let finite = |token: &Token| FINITE.contains(&&*token.text);
    let asks = |token: &Token| {
        matches!(&*token.text, "which" | "what" | "how" | "many" | "much")
            || TABLES.determiners.contains(&*token.text)
    };
    let object = tokens.get(at + 1).is_some_and(|next| {
        TABLES.determiners.contains(&*next.text) || TABLES.pronouns.contains(&*next.text)
    });
    let led = |token: &Token| !TABLES.determiners.contains(&*token.text);
    let asked = tokens[at..].iter().any(finite) && before.iter().any(led);
    !object && !before.iter().any(finite) && (asked || !before.iter().all(asks))
}

/// Whether a word may be a participle of the past.
fn is_done(word: &str) -> bool {
    is_past(word) || TABLES.participles.contains(word) || word == "left"
}

/// Whether the word before a place can be a noun: none of "tell me which", "and who", "decides who".
fn follows_noun(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    before.is_some_and(|word| {
        let name = word.text.as_str();
        word.kind == TokenKind::Word
            && !says_nothing(name)
            && !is_auxiliary(name)
            && !TABLES.is_verb(&TABLES.base(name))
            && !TABLES.reporting.contains(&TABLES.canonical(name))
    })
}
