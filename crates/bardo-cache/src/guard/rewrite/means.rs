//! With what something is done, and what fits to what: "use X to import Y" is "import Y with X".

use super::pattern::{
    REACH, WHAT, clause_end, is_form_of_verb, is_gerund, is_named, is_noun, is_preposition,
    is_verb, is_word, mark, opens, place_before_break, place_of, place_of_row, words,
};
use crate::guard::frame::is_auxiliary;
use crate::guard::scan::Token;
use crate::guard::tables::TABLES;

/// "Use X to import Y" is "import Y with X". "Use a formula to count cells" is "count cells using a formula",
/// while "count cells with a formula" may count those that have one.
pub(super) fn use_to_do_to_do_with(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some(at) = place_of(&tokens, 0..tokens.len(), &["use"]) else {
        return tokens;
    };
    let to = place_before_break(&tokens, at + 2..tokens.len().min(at + REACH), &["to"]);
    let acts = |to: &usize| tokens.get(to + 1).is_some_and(is_form_of_verb);
    let Some(to) = to.filter(acts) else {
        return tokens;
    };
    let starts = at == 0 || tokens[at - 1].text == "@how" || is_word(tokens.get(at - 1), &["i"]);
    let plain = tokens[at + 1..to].iter().all(|token| {
        !token.text.starts_with('@') && !is_preposition(token) && !is_auxiliary(&token.text)
    });
    if starts && plain {
        let end = clause_end(&tokens, to);
        let tool: Vec<Token> = tokens.drain(at..=to).collect();
        let end = end - tool.len();
        let picks = TABLES.picking.contains(&TABLES.canonical(&tokens[at].text));
        let owned = end > at + 1 && picks && is_word(tool.get(1), &["a", "an"]);
        let with = words(&[if owned { "via" } else { "with" }])
            .into_iter()
            .chain(tool[1..tool.len() - 1].iter().cloned());
        tokens.splice(end..end, with);
    }
    tokens
}

/// "How can X be used to do it" is "how do I do it with X".
pub(super) fn used_to_do_to_do_with(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["how"], &["can"]]);
    let end = clause_end(&tokens, 2);
    let be = place_of_row(
        &tokens,
        3..end.min(2 + REACH),
        [&["be"], &["used"], &["to"]],
    );
    if let Some(be) = be.filter(|_| asks)
        && is_named(&tokens[2..be])
        && is_verb(tokens.get(be + 3))
    {
        let mut found = words(&["@how"]);
        found.extend_from_slice(&tokens[be + 3..end]);
        found.push(Token::word("with"));
        found.extend_from_slice(&tokens[2..be]);
        found.extend(tokens.drain(end..));
        return found;
    }
    tokens
}

/// "Which wallets are compatible with X" is "which wallets work with X".
pub(super) fn compatible_to_works_with(mut tokens: Vec<Token>) -> Vec<Token> {
    let at = place_of_row(&tokens, 2..tokens.len(), [&["compatible"], &["with"]]);
    let pronoun = |at: &usize| is_word(tokens.get(at + 2), &["it", "this", "that", "them", "me"]);
    let Some(at) = at.filter(|at| !pronoun(at)) else {
        return tokens;
    };
    if is_word(tokens.first(), &["is", "are"]) && is_named(&tokens[1..at]) {
        tokens[at] = Token::word("work");
        tokens[0] = Token::word("does");
    } else if is_word(tokens.first(), &WHAT)
        && is_word(tokens.get(at - 1), &["is", "are"])
        && is_noun(&tokens[1..at - 1])
    {
        tokens[at] = Token::word("work");
        tokens.remove(at - 1);
        tokens.push(mark(false));
    }
    tokens
}

/// "A regex for matching dates" is "a regex to match dates".
pub(super) fn for_doing_to_that_does(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 1..tokens.len() {
        let written = is_word(
            tokens.get(at - 1),
            &[
                "regex",
                "expression",
                "function",
                "script",
                "query",
                "program",
            ],
        );
        let gerund = tokens.get(at + 1).is_some_and(is_gerund);
        if written && gerund && is_word(tokens.get(at), &["for"]) {
            tokens[at] = Token::word("that");
        }
    }
    tokens
}
