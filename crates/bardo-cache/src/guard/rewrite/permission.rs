//! What is allowed, possible, safe or legal: "is parking allowed" is "can I park".

use super::pattern::{
    REACH, clause_end, ends_as_participle, is_break, is_complete, is_end, is_gerund, is_named,
    is_noun, is_of_class, is_preposition, is_verb, is_word, mark, place_of, place_of_row, words,
};
use crate::guard::frame::is_auxiliary;
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// "Is parking allowed here" and "is parking here possible" are "can I park here".
pub(super) fn allowed_to_can_i(mut tokens: Vec<Token>) -> Vec<Token> {
    let gerund = tokens.get(1).is_some_and(is_gerund);
    // "Is building permitted": without an article it is what one does.
    let does = is_word(tokens.get(1), &["building", "meeting"]);
    if !is_word(tokens.first(), &["is"]) || !(gerund || does) {
        return tokens;
    }
    let end = clause_end(&tokens, 1);
    let judged = place_of(
        &tokens,
        2..end.min(2 + REACH),
        &["allowed", "permitted", "possible"],
    );
    let plain = |token: &Token| {
        !is_auxiliary(&token.text) && !matches!(token.text.as_str(), "not" | "if" | "and" | "or")
    };
    if let Some(at) = judged
        && tokens[1..at].iter().all(plain)
        && tokens.get(at + 1).is_none_or(|next| {
            is_end(next)
                || is_preposition(next)
                || matches!(next.text.as_str(), "without" | "here" | "during" | "while")
                || is_of_class(next, "time")
        })
    {
        tokens.remove(at);
        tokens.splice(..1, words(&["can", "i"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "Does X let me export data" is "can I export data in X".
pub(super) fn lets_me_to_can_i(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let lets = place_of(
        &tokens,
        2..end.min(1 + REACH),
        &["let", "allow", "permit", "enable"],
    );
    let Some(at) = lets.filter(|_| is_word(tokens.first(), &["does", "do"])) else {
        return tokens;
    };
    let verb = match is_word(tokens.get(at), &["let"]) {
        true => at + 2,
        false => at + 3,
    };
    let to = verb == at + 2 || is_word(tokens.get(at + 2), &["to"]);
    let who = is_word(tokens.get(at + 1), &["me", "you", "us"]);
    let place = is_named(&tokens[1..at]) && !is_word(tokens.get(1), &["they", "people"]);
    if to && who && place && verb < end && is_verb(tokens.get(verb)) {
        let mut found = words(&["can", "i"]);
        found.extend_from_slice(&tokens[verb..end]);
        found.push(Token::word("in"));
        found.extend_from_slice(&tokens[1..at]);
        found.extend(tokens.drain(end..));
        found.push(mark(false));
        return found;
    }
    tokens
}

/// "Can X be safely reheated" is "is it safe to reheat X".
pub(super) fn can_be_safely_to_is_safe(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["can"]) {
        return tokens;
    }
    let end = clause_end(&tokens, 1);
    let be = place_of(&tokens, 2..end.min(REACH), &["be"]);
    let judge = be.and_then(|be| match tokens.get(be + 1)?.text.as_str() {
        "safely" => Some((be, "safe")),
        "legally" => Some((be, "legal")),
        _ => None,
    });
    let Some((be, judge)) = judge else {
        return tokens;
    };
    let participle = tokens.get(be + 2).is_some_and(ends_as_participle);
    let named = tokens[1..be].iter().all(|token| {
        token.kind == TokenKind::Word
            && !matches!(
                token.text.as_str(),
                "i" | "you" | "we" | "it" | "they" | "not"
            )
    });
    if participle && named {
        let mut found = words(&["is", judge]);
        found.push(Token::word(TABLES.base(&tokens[be + 2].text)));
        found.extend_from_slice(&tokens[1..be]);
        found.extend(tokens.drain(be + 3..));
        return found;
    }
    tokens
}

/// "Are eggs safe to eat after a week" is "is it safe to eat eggs after a week".
pub(super) fn is_safe_to_to_it_is_safe(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let safe = place_of(&tokens, 2..end.min(6), &["safe", "unsafe", "dangerous"]);
    if let Some(at) = safe
        && is_word(tokens.first(), &["is", "are"])
        && is_noun(&tokens[1..at])
        && !is_word(tokens.get(1), &["my", "it"])
        && is_word(tokens.get(at + 1), &["to"])
        && is_verb(tokens.get(at + 2))
        && tokens.get(at + 3).is_some_and(|next| {
            is_preposition(next)
                || is_word(Some(next), &["after", "before", "during", "past", "while"])
        })
    {
        let thing: Vec<Token> = tokens.drain(1..at).collect();
        tokens.splice(4..4, thing);
    }
    tokens
}

/// "Is X configurable" is "can X be configured".
pub(super) fn configurable_to_can_be(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["is", "are"]) {
        return tokens;
    }
    let verb = |token: &Token| {
        let stem = token
            .text
            .strip_suffix("able")
            .or_else(|| token.text.strip_suffix("ible"))?;
        let fits = token.kind == TokenKind::Word && stem.len() > 3;
        (fits && TABLES.is_verb(&TABLES.base(stem))).then(|| format!("{stem}ed"))
    };
    let last = tokens
        .iter()
        .rposition(|token| !is_break(token) && token.text != "@is");
    let found = (2..tokens.len().min(REACH)).find_map(|at| Some((at, verb(&tokens[at])?)));
    if let Some((at, verb)) = found
        && (last == Some(at) || tokens.get(at + 1).is_some_and(is_preposition))
    {
        tokens[0] = Token::word("can");
        tokens[at] = Token::word(verb);
        tokens.insert(at, Token::word("be"));
        tokens.push(mark(false));
    }
    tokens
}

/// "Is X accepted as collateral" is "can X be used as collateral".
pub(super) fn accepted_as_to_used_as(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let verb = place_of_row(&tokens, 2..end.min(1 + REACH), [&["accepted"], &["as"]]);
    if let Some(at) = verb
        && is_word(tokens.first(), &["is", "are"])
        && is_word(
            tokens.get(at + 2),
            &["collateral", "payment", "proof", "id", "a"],
        )
        && is_named(&tokens[1..at])
    {
        tokens[at] = Token::word("used");
        tokens.insert(at, Token::word("be"));
        tokens[0] = Token::word("can");
        tokens.push(mark(false));
    }
    tokens
}

/// "Close" of "closing" and "skip" of "skipping".
fn infinitive(gerund: &str) -> String {
    let base = TABLES.base(gerund);
    let silent = format!("{base}e");
    let known = |word: &str| TABLES.verbs.contains(word) || TABLES.classes.contains_key(word);
    if known(&silent) { silent } else { base }
}

/// Beside the predicates of the lists, what is said of a deed.
const JUDGED: [&str; 8] = [
    "bad",
    "good",
    "dangerous",
    "harmful",
    "common",
    "necessary",
    "rude",
    "usual",
];

/// "Is skipping breakfast bad" is "is it bad to skip breakfast", and "is Venice worth visiting" is "is it worth
/// visiting Venice".
pub(super) fn doing_is_bad_to_it_is_bad_to_do(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["is"]) {
        return tokens;
    }
    let end = clause_end(&tokens, 1);
    let judged = |at: &usize| {
        tokens.get(*at).is_some_and(|token| {
            JUDGED.contains(&token.text.as_str()) || TABLES.predicates.contains(&token.text)
        })
    };
    let plain = |tokens: &[Token]| {
        !tokens.iter().any(|token| {
            is_auxiliary(&token.text)
                || is_word(
                    Some(token),
                    &["not", "if", "and", "or", "that", "too", "more"],
                )
        })
    };
    let bad = (2..end.min(2 + REACH)).find(judged);
    if let Some(at) = bad
        && tokens.get(1).is_some_and(|first| {
            first.text.ends_with("ing") && !TABLES.fixed.contains(first.text.as_str())
        })
        && plain(&tokens[1..at])
        && at + 1 == end
    {
        let predicate = tokens.remove(at);
        let verb = Token::word(infinitive(&tokens[1].text));
        let it = Token::word("it");
        tokens.splice(1..2, [it, predicate, Token::word("to"), verb]);
        return tokens;
    }
    let worth = place_of(&tokens, 2..end.min(2 + REACH), &["worth"]);
    if let Some(at) = worth
        && !is_word(tokens.get(1), &["it"])
        && is_noun(&tokens[1..at])
        && tokens.get(at + 1).is_some_and(is_gerund)
        && is_complete(&tokens, at + 2)
    {
        let thing: Vec<Token> = tokens.drain(1..at).collect();
        tokens.splice(3..3, thing);
        tokens.insert(1, Token::word("it"));
    }
    tokens
}
