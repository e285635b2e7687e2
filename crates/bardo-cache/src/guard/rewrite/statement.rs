//! Statements, wishes and titles that ask: "I want to cancel, how do I do that" is "how do I cancel".

use super::pattern::{
    NOUN, clause_end, is_asking, is_break, is_end, is_form_of_verb, is_of_class, is_said, is_verb,
    is_word, mark, opens, opens_longer, place_of, row_before, stand_at, states, words,
};
use crate::guard::atoms::is_past;
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// Leaves out "quick question" before a question of its own.
pub(super) fn announced_to_question(mut tokens: Vec<Token>) -> Vec<Token> {
    let opening = place_of(&tokens, 0..4, &["@tell"]);
    if let Some(at) = opening
        && tokens.get(at + 1).is_some_and(is_break)
        && tokens.len() > at + 2
    {
        tokens.drain(..=at + 1);
    }
    tokens
}

/// "Reversing a string": a title without another verb asks how it is done.
pub(super) fn title_to_how(mut tokens: Vec<Token>) -> Vec<Token> {
    // "Building" too: with an object behind it, it is no noun.
    let gerund = tokens
        .first()
        .is_some_and(|first| first.text.ends_with("ing") && is_form_of_verb(first));
    let object = is_word(tokens.get(1), &["a", "an", "the", "my"]);
    let asks = tokens.iter().any(is_asking);
    if gerund && object && !asks {
        tokens.insert(0, Token::word("@how"));
    }
    tokens
}

/// "I want to X, how do I do that?" asks how to X, "I cannot find X, where is it?" where X is, and "X
/// happened, what should I do?" what to do if X happened.
pub(super) fn statement_to_question(mut tokens: Vec<Token>) -> Vec<Token> {
    // Unlike `last_clause`, this passes a handle such as "@isabel" at the end.
    let end = tokens
        .iter()
        .rposition(|token| !is_break(token) && !token.text.starts_with("@is"));
    let Some(cut) = end.and_then(|end| tokens[..end].iter().rposition(is_break)) else {
        return tokens;
    };
    // The mark of the past at the end is the statement's.
    let said = |token: &&Token| is_said(token) && token.text != "@was";
    let question = tokens[cut..].iter().filter(said);
    let question: Vec<&str> = question.map(|token| token.text.as_str()).collect();
    let Some(follow_up) = FollowUp::of(&question) else {
        return tokens;
    };
    if tokens[..cut].iter().any(is_break) {
        return tokens;
    }
    match follow_up {
        FollowUp::How if is_word(tokens.first(), &["@how"]) => {
            tokens.truncate(cut);
            tokens.push(mark(false));
            tokens
        }
        FollowUp::How => opening_to(tokens, &WISHES, cut, "@how"),
        // "I need two, how do I get one?"
        FollowUp::HowToGet if is_word(tokens.get(2), &["a", "an", "my"]) => {
            let mut found = opening_to(tokens, &NEEDS, cut, "@how");
            if is_word(found.first(), &["@how"]) {
                found.insert(1, Token::word("get"));
            }
            found
        }
        FollowUp::Fix if names_error(&tokens[..cut]) => {
            let mut found = opening_to(tokens, &ERRORS, cut, "@how");
            if is_word(found.first(), &["@how"]) {
                found.insert(1, Token::word("fix"));
                return found;
            }
            what_if("whatdo", found, cut)
        }
        FollowUp::Where => opening_to(tokens, &SEARCHES, cut, "@where"),
        FollowUp::Fix => what_if("whatdo", tokens, cut),
        FollowUp::WhatIf(done) => what_if(done, tokens, cut),
        FollowUp::HowIf if states(&tokens) => {
            let mut found: Vec<Token> = tokens.drain(cut + 1..).collect();
            tokens.pop();
            while found.last().is_some_and(is_break) {
                found.pop();
            }
            found.push(Token::word("if"));
            found.append(&mut tokens);
            found
        }
        FollowUp::HowToGet | FollowUp::HowIf => tokens,
    }
}

/// What to do if the statement before `cut` holds.
fn what_if(done: &str, mut tokens: Vec<Token>, cut: usize) -> Vec<Token> {
    if states(&tokens) {
        let past = tokens[cut..].iter().any(|token| token.text == "@was");
        tokens.truncate(cut);
        tokens.splice(..0, words(&["@what", done, "if"]));
        tokens.push(mark(past));
    }
    tokens
}

/// What a question behind a statement asks of it.
enum FollowUp {
    /// "How do I do that?"
    How,
    /// "How can I get one?"
    HowToGet,
    /// "How do I fix it?"
    Fix,
    /// "Where is it?"
    Where,
    /// "What should I do?" or "how do I fix it?": the phrase for what can or should be done.
    WhatIf(&'static str),
    /// A question of its own, such as "how do I cancel my order?"
    HowIf,
}

impl FollowUp {
    /// Reads the words of a question behind a statement.
    fn of(question: &[&str]) -> Option<Self> {
        Some(match question {
            ["@how" | "how"]
            | ["@how", "do", "it" | "that" | "this" | "so"]
            | ["how", "does", "it" | "that" | "this", "work"]
            | ["how", "is", "it" | "that" | "this", "done"]
            | ["@how", "proceed"]
            | ["@how", "go", "about", "it" | "that" | "this"] => Self::How,
            [
                "@how",
                "get" | "obtain" | "receive",
                "one" | "1" | "it" | "some",
            ] => Self::HowToGet,
            ["@how" | "@what" | "what" | "can", _, _, ..]
                if !question
                    .iter()
                    .any(|word| refers(word) || finds_out(word) || is_past(word)) =>
            {
                Self::HowIf
            }
            ["where" | "@where", "is", "it"] | ["where" | "@where", "are", "they"] => Self::Where,
            ["@what", "whatcan"] => Self::WhatIf("whatcan"),
            ["@how", "fix" | "solve" | "resolve", "it"] => Self::Fix,
            ["@what", "whatdo"] => Self::WhatIf("whatdo"),
            _ => return None,
        })
    }
}

/// Leaves out "for me" behind "define": who is told is the one who asks.
pub(super) fn told_for_me_to_told(mut tokens: Vec<Token>) -> Vec<Token> {
    const POLITE: [&str; 4] = ["please", "can", "could", "you"];
    let verb = tokens
        .iter()
        .position(|token| !is_word(Some(token), &POLITE));
    let tells = verb.is_some_and(|verb| is_word(tokens.get(verb), &["define"]));
    let last = tokens.iter().rposition(|token| !is_break(token));
    if let Some(at) = last.and_then(|last| row_before(&tokens, last + 1, [&["for"], &["me"]]))
        && tells
        && !tokens[..at].iter().any(is_break)
    {
        tokens.drain(at..at + 2);
    }
    tokens
}

/// "I need a Rust function that sorts" and "create one" ask for it to be written.
pub(super) fn need_function_to_write(mut tokens: Vec<Token>) -> Vec<Token> {
    const TEXTS: [&str; 3] = ["function", "query", "regex"];
    let needs = opens(&tokens, [&["i"], &["need", "want"], &["a", "an"]]);
    let end = clause_end(&tokens, 0);
    let creates = opens(&tokens, [&["create"], &["a", "an"]]);
    let article = if needs { 2 } else { 1 };
    let text = place_of(&tokens, article + 1..end.min(article + 1 + NOUN), &TEXTS);
    if text.is_some() && (needs || creates) {
        tokens.splice(..article, words(&["write"]));
    }
    tokens
}

/// Openings of a statement that says what is wanted.
const WISHES: [&[&str]; 5] = [
    &["i", "want"],
    &["i", "@must"],
    &["i", "would", "like", "to"],
    &["i", "am", "trying", "to"],
    &["i", "try", "to"],
];

/// Openings of a statement that names an error.
const ERRORS: [&[&str]; 4] = [
    &["i", "am", "getting"],
    &["i", "am", "seeing"],
    &["i", "get"],
    &["i", "keep", "getting"],
];

/// Whether a statement quotes an error or says that there is one.
fn names_error(statement: &[Token]) -> bool {
    statement.iter().any(|token| {
        matches!(token.kind, TokenKind::Quote | TokenKind::Code)
            || is_word(Some(token), &["error", "exception", "warning"])
    })
}

/// Whether "if" behind a verb would say what is found out: "I used a VPN. Can Netflix tell?" is not "can Netflix tell
/// if I used a VPN?"
fn finds_out(verb: &str) -> bool {
    let verb = TABLES.base(verb);
    TABLES.reporting.contains(&TABLES.canonical(&verb))
        || matches!(
            &*verb,
            "check"
                | "tell"
                | "see"
                | "detect"
                | "show"
                | "decid"
                | "decide"
                | "say"
                | "know"
                | "find"
        )
}

/// Whether a word of a question means something that was said before it.
fn refers(word: &&str) -> bool {
    matches!(
        *word,
        "it" | "that" | "this" | "they" | "them" | "these" | "those" | "one" | "1" | "he" | "she"
    )
}

/// Openings of a statement that says what is needed.
const NEEDS: [&[&str]; 2] = [&["i", "need"], &["i", "want"]];

/// Openings of a statement that says what is sought.
const SEARCHES: [&[&str]; 3] = [
    &["i", "@can", "not", "find"],
    &["i", "can", "not", "find"],
    &["i", "am", "search"],
];

/// The statement before `cut` with a question word in place of the opening it has.
fn opening_to(mut tokens: Vec<Token>, openings: &[&[&str]], cut: usize, asks: &str) -> Vec<Token> {
    let opening = openings
        .iter()
        .find(|opening| opens_longer(&tokens, opening));
    if let Some(opening) = opening {
        tokens.truncate(cut);
        tokens.splice(..opening.len(), words(&[asks]));
        tokens.push(mark(false));
    }
    tokens
}

/// "What do I do if I want to X" asks how to X, also where "if I want to X" stood first.
pub(super) fn if_i_want_to_how(mut tokens: Vec<Token>) -> Vec<Token> {
    let heads: &[&[&str]] = &[
        &["@what", "whatdo"],
        &["@what", "whatcan"],
        &["@how", "do", "it"],
        &["@how", "do", "that"],
        &["@how", "do", "this"],
    ];
    let Some(head) = heads.iter().find(|head| opens_longer(&tokens, head)) else {
        return tokens;
    };
    let passed = tokens[head.len()..].iter();
    let from = head.len() + passed.take_while(|token| !is_said(token)).count();
    let wishes = stand_at(&tokens, from, [&["if"], &["i"], &["want"]]);
    if wishes && tokens.len() > from + 3 {
        tokens.splice(..from + 3, words(&["@how"]));
    }
    tokens
}

/// "I want to cancel my order" asks how. Of a thing of another one it may be an order.
pub(super) fn i_want_to_how(mut tokens: Vec<Token>) -> Vec<Token> {
    let verb = tokens.get(2).is_some_and(is_form_of_verb);
    let last = tokens.iter().rposition(|token| !is_break(token));
    let single = last.is_some_and(|last| !tokens[..last].iter().any(is_end));
    if opens_longer(&tokens, &["i", "want"]) && verb && is_word(tokens.get(3), &["my"]) && single {
        tokens.splice(..2, words(&["@how"]));
    }
    tokens
}

/// "My laptop will not turn on. Why?" asks why it will not.
pub(super) fn stated_why_to_why(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some((cut, asked)) = last_clause(&tokens) else {
        return tokens;
    };
    let asks = matches!(
        asked[..],
        ["why" | "@why"]
            | ["why" | "@why", "is", "that" | "this" | "it"]
            | ["why" | "@why", "that" | "this" | "it"]
            | ["@what", "be", "the", "reason" | "cause"]
            | ["what", "can" | "could", "be", "the", "reason" | "cause"]
            | ["what", "is", "the", "reason" | "cause"]
    );
    let states = is_word(tokens.first(), &["my", "the", "our", "i"])
        && !tokens[..cut].iter().any(|token| {
            is_end(token)
                || is_word(
                    Some(token),
                    &["if", "when", "because", "but", "and", "what", "how"],
                )
        });
    if asks && states {
        tokens.truncate(cut);
        tokens.insert(0, Token::word("@why"));
    }
    tokens
}

/// "I want to pay by card, is that possible" is "can I pay by card".
pub(super) fn wish_possible_to_can(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some((cut, asked)) = last_clause(&tokens) else {
        return tokens;
    };
    let asks = matches!(
        asked[..],
        [
            "is",
            "that" | "this" | "it",
            "possible" | "allowed" | "okay" | "ok" | "permitted"
        ] | ["can", "that" | "this" | "it", "be", "done"]
            | ["can", "i", "do", "that" | "this" | "it" | "so"]
    );
    let wishes = opens(&tokens, [&["i"], &["want", "@must"]])
        && is_verb(tokens.get(2))
        && !tokens[..cut].iter().any(is_break);
    if asks && wishes {
        tokens.truncate(cut);
        tokens.splice(..2, words(&["can", "i"]));
    }
    tokens
}

/// The words of the last clause, and the place of the break before it.
fn last_clause(tokens: &[Token]) -> Option<(usize, Vec<&str>)> {
    let end = tokens.iter().rposition(is_said)?;
    let cut = tokens[..end].iter().rposition(is_break)?;
    let words = tokens[cut..].iter().filter(|token| is_said(token));
    Some((cut, words.map(|token| token.text.as_str()).collect()))
}

/// "Calculate the area of a circle of 3 cm" asks what it is. Without a number it may ask for a program.
pub(super) fn calculate_to_what(mut tokens: Vec<Token>) -> Vec<Token> {
    const RESULTS: [&str; 9] = [
        "area",
        "volume",
        "perimeter",
        "circumference",
        "product",
        "mean",
        "median",
        "average",
        "sum",
    ];
    let row: [&[&str]; 4] = [
        &["calculate", "compute", "find"],
        &["the"],
        &RESULTS,
        &["of"],
    ];
    let counts = tokens.iter().any(|token| token.kind == TokenKind::Number);
    let language = tokens.iter().any(|token| is_of_class(token, "language"));
    if counts && !language && opens(&tokens, row) {
        tokens[0] = Token::word("@what");
    }
    tokens
}
