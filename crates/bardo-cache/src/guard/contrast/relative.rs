//! Relative clauses: "coins, which are volatile" are all coins, and "coins which are volatile" are some. "The
//! shoes in the box that was damaged" says that the box was, and "that were damaged" that the shoes were.

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
