//! Who does a deed that is judged: "is it legal for a friend to vote" and "is it legal to vote for a friend".

use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// The most words of the one behind "for".
const NAMED: usize = 4;

/// The side of a contrast on which "for" is: what is behind it does something, or something is done for it.
pub(super) fn said(tokens: &[Token], at: usize) -> Option<&'static str> {
    if !tokens[at].is_word("for") {
        return None;
    }
    let behind = &tokens[at + 1..];
    let to = behind
        .iter()
        .take(NAMED + 1)
        .take_while(|token| token.kind == TokenKind::Word)
        .position(|token| token.is_word("to"));
    if to.is_some_and(|to| to > 0 && behind.get(to + 1).is_some_and(is_verb)) {
        return Some("for one to do");
    }
    let before = tokens.get(at.checked_sub(1)?)?;
    // "Is eating rice bad for dogs": they eat. "Is eating rice good for losing weight" asks for a purpose.
    if behind
        .first()
        .is_some_and(|next| next.text.ends_with("ing"))
    {
        return None;
    }
    let judged = TABLES.predicates.contains(&TABLES.canonical(&before.text))
        || matches!(
            before.text.as_str(),
            "bad" | "good" | "dangerous" | "harmful"
        );
    let done = (0..at).any(|place| {
        tokens[place].is_word("to") && is_verb(&tokens[place + 1])
            || tokens[place].text.ends_with("ing") && is_verb(&tokens[place])
    });
    done.then_some(if judged {
        "for one to do"
    } else {
        "done for one"
    })
}

fn is_verb(token: &Token) -> bool {
    token.kind == TokenKind::Word && TABLES.is_verb(&TABLES.base(&token.text))
}
