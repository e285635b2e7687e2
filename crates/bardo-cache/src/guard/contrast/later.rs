//! The time of a question behind another sentence: "It was approved. When will it arrive?" and "When did it
//! arrive?"

use crate::guard::scan::{Token, TokenKind};

/// Words between the question word and its auxiliary: "which deadlines does it set".
const REACH: usize = 3;

/// The time of a question that begins behind a break.
pub(super) fn said(tokens: &[Token], at: usize) -> Option<&'static str> {
    let behind = at.checked_sub(1).map(|before| tokens[before].kind);
    if behind != Some(TokenKind::Break) {
        return None;
    }
    if !super::asks(&tokens[at]) {
        return time(&tokens[at]);
    }
    let clause = tokens[at + 1..].iter().take(REACH);
    let mut clause = clause.take_while(|token| token.kind == TokenKind::Word);
    clause.find_map(time)
}

fn time(token: &Token) -> Option<&'static str> {
    match token.text.as_str() {
        "did" | "was" | "were" => Some("asks what was"),
        "does" | "do" | "is" | "are" => Some("asks what is"),
        "will" => Some("asks what will be"),
        _ => None,
    }
}
