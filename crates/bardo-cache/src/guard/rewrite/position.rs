//! Words that stand in another place of the same question: "password reset how to", "in Go, how do I".

use super::pattern::{
    NOUN, WHAT, clause_end, is_asking, is_break, is_complete, is_listed, is_named, is_noun,
    is_of_class, is_preposition, is_said, is_word, mark, opens, place_of, stand_at, states,
};
use crate::guard::frame::is_auxiliary;
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// Moves a clause that stands before the question behind it: "in Go, how do I" and "if it fails,
/// what".
pub(super) fn first_clause_to_end(mut tokens: Vec<Token>) -> Vec<Token> {
    let starts = tokens.first().is_some_and(|first| {
        first.kind == TokenKind::Word
            && (is_preposition(first) || TABLES.fronted.contains(first.text.as_str()))
    });
    let comma = tokens
        .iter()
        .position(|token| is_break(token) && token.text == ",");
    if let Some(at) = comma.filter(|at| starts && at + 2 < tokens.len()) {
        let clause: Vec<_> = tokens.drain(..=at).collect();
        while tokens.last().is_some_and(is_break) {
            tokens.pop();
        }
        // "If it fails, what happens" is the phrase "what happens if".
        let goes_on = tokens
            .last()
            .is_some_and(|last| last.is_word("happens") || last.is_word("happen"));
        // A time belongs to the whole question: "yesterday, did X win against Y".
        let time = clause.len() == 2 && is_of_class(&clause[0], "time");
        if !goes_on && !time {
            tokens.push(Token::new(TokenKind::Break, ""));
        }
        tokens.extend(clause);
    }
    tokens
}

/// "Python: reverse a string" is "reverse a string in Python".
pub(super) fn first_language_to_end(mut tokens: Vec<Token>) -> Vec<Token> {
    let class = tokens
        .first()
        .and_then(|first| TABLES.classes.get(first.text.as_str()));
    let breaks = tokens.iter().filter(|token| is_break(token)).count();
    let ends = usize::from(tokens.last().is_some_and(is_break));
    let named = class == Some(&"language") && tokens.get(1).is_some_and(is_break);
    if named && breaks == 1 + ends && tokens.len() > 3 + ends {
        let language = tokens.remove(0);
        tokens.remove(0);
        let end = tokens.len() - ends;
        tokens.splice(end..end, [Token::word("in"), language]);
    }
    tokens
}

/// "Password reset how to" is "how to password reset".
pub(super) fn last_how_to_front(mut tokens: Vec<Token>) -> Vec<Token> {
    let last = tokens.iter().rposition(|token| !is_break(token));
    if let Some(last) = last.filter(|last| *last > 0)
        && tokens[last].is_word("@how")
        && !tokens[..last]
            .iter()
            .any(|token| is_asking(token) || is_break(token))
    {
        tokens.truncate(last);
        tokens.insert(0, Token::word("@how"));
        tokens.push(mark(false));
    }
    tokens
}

/// "Under which license is X published" is "which license is X published under".
pub(super) fn first_preposition_to_end(mut tokens: Vec<Token>) -> Vec<Token> {
    let first = is_listed(tokens.first(), &TABLES.stranded);
    let asks = is_word(tokens.get(1), &["which", "what"]);
    let end = clause_end(&tokens, 1);
    let aux = tokens[..end.max(1).min(tokens.len())]
        .iter()
        .any(|token| is_auxiliary(&token.text));
    if first && asks && aux && end > 4 {
        let preposition = tokens.remove(0);
        tokens.insert(end - 1, preposition);
    }
    // "Which colors is it available in" are those that are available.
    let open = is_word(tokens.first(), &["which", "what"]) && end > 2;
    if open && stand_at(&tokens, end - 2, [&["available"], &["in", "on"]]) {
        tokens.remove(end - 1);
    }
    tokens
}

/// "What is X exactly" is "what exactly is X".
pub(super) fn exactly_to_nothing(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = ["what", "@what", "how", "@how", "why", "@why"];
    let end = clause_end(&tokens, 1);
    if is_word(tokens.first(), &asks) && end > 2 && is_word(tokens.get(end - 1), &["exactly"]) {
        tokens.remove(end - 1);
    }
    tokens
}

/// "What temperature is normal for a baby" is "what is the normal temperature for a baby".
pub(super) fn adjective_behind_is_to_front(mut tokens: Vec<Token>) -> Vec<Token> {
    let be = place_of(&tokens, 2..tokens.len().min(2 + NOUN), &["is", "are"]);
    if let Some(be) = be
        && is_word(tokens.first(), &WHAT)
        && is_noun(&tokens[1..be])
        && is_listed(tokens.get(be + 1), &TABLES.judged)
        && is_complete(&tokens, be + 2)
    {
        let adjective = tokens.remove(be + 1);
        tokens.remove(be);
        tokens.insert(1, adjective);
        tokens.push(mark(false));
    }
    tokens
}

/// "What is the reason for the high usage" is "why is the usage high".
pub(super) fn why_high_usage_to_usage_high(mut tokens: Vec<Token>) -> Vec<Token> {
    const DEGREES: [&str; 6] = ["high", "low", "slow", "large", "expensive", "volatile"];
    let asks = opens(&tokens, [&["@why"], &["@is"]]);
    let at = 2 + usize::from(is_word(tokens.get(2), &["the"]));
    let end = clause_end(&tokens, at);
    if asks && is_word(tokens.get(at), &DEGREES) && end > at + 1 && is_noun(&tokens[at + 1..end]) {
        let degree = tokens.remove(at);
        tokens.insert(end - 1, degree);
        tokens[1] = Token::word("is");
    }
    tokens
}

/// "A query that is slow" is "a slow query".
pub(super) fn relative_adjective_to_front(mut tokens: Vec<Token>) -> Vec<Token> {
    let mut at = 1;
    while at + 2 < tokens.len() {
        let relative = stand_at(&tokens, at, [&["that", "which"], &["is", "are"]])
            && tokens[at - 1].kind == TokenKind::Word
            && !tokens[at - 1].text.starts_with('@');
        let adjective = &tokens[at + 2];
        let simple = adjective.kind == TokenKind::Word
            && !adjective.text.starts_with('@')
            && !TABLES.stop.contains(adjective.text.as_str())
            && !TABLES.determiners.contains(adjective.text.as_str())
            && !is_preposition(adjective)
            && !matches!(
                TABLES.classes.get(adjective.text.as_str()).copied(),
                Some("negation" | "quantifier")
            );
        let last = tokens.get(at + 3).is_none_or(|next| {
            is_break(next) || is_word(Some(next), &["in", "on", "at", "for"]) || next.text == "@is"
        });
        if relative && simple && last {
            let opens = |token: &Token| {
                TABLES.determiners.contains(token.text.as_str())
                    || is_preposition(token)
                    || token.text.starts_with('@')
                    || TABLES.is_verb(&TABLES.base(&token.text))
                    || token.kind != TokenKind::Word
            };
            let from = tokens[..at - 1]
                .iter()
                .rposition(opens)
                .map_or(0, |place| place + 1);
            let adjective = tokens.remove(at + 2);
            tokens.drain(at..at + 2);
            tokens.insert(from, adjective);
        }
        at += 1;
    }
    tokens
}

/// "Russia has how many time zones" is "how many time zones does Russia have".
pub(super) fn has_how_many_to_how_many_has(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 0);
    let has = place_of(&tokens, 1..end, &["has", "have"]);
    let asks = |at: usize| is_word(tokens.get(at + 1), &["@howmany", "@howmuch"]);
    if let Some(at) = has.filter(|&at| asks(at))
        && is_named(&tokens[..at])
        && clause_end(&tokens, at + 2) > at + 2
    {
        let end = clause_end(&tokens, at + 2);
        tokens.insert(end, Token::word("have"));
        let subject: Vec<Token> = tokens.drain(..=at).take(at).collect();
        let behind = end - at - 1;
        tokens.splice(behind..behind, subject);
        tokens.insert(behind, Token::word("does"));
    }
    tokens
}

/// "How do I stay logged in? Your app logs me out." has its question last.
pub(super) fn first_question_to_end(mut tokens: Vec<Token>) -> Vec<Token> {
    let last = tokens.iter().rposition(is_said).map_or(0, |last| last + 1);
    let mut cuts = (0..last).filter(|&at| is_break(&tokens[at]));
    let (Some(cut), None) = (cuts.next(), cuts.next()) else {
        return tokens;
    };
    let asks = tokens.first().is_some_and(is_asking) && tokens[cut].text != ",";
    if asks && states(&tokens[cut + 1..]) {
        let said: Vec<Token> = tokens.drain(cut + 1..last).collect();
        let cut = tokens.remove(cut);
        tokens.insert(0, cut);
        tokens.splice(..0, said);
    }
    tokens
}
