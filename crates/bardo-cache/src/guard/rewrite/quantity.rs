//! How many, how long, how old, and the most that is possible: "how large can X be" asks for a maximum.

use super::pattern::{
    REACH, WHAT, clause_end, is_break, is_gerund, is_listed, is_named, is_noun, is_preposition,
    is_word, mark, opens, place_of, place_of_row, stand_at, words,
};
use crate::guard::scan::Token;
use crate::guard::tables::TABLES;

/// "How many days does X take" is "how long does X take", in days.
pub(super) fn how_many_days_to_how_long(mut tokens: Vec<Token>) -> Vec<Token> {
    let grain = match tokens.get(1).map(|unit| unit.text.as_str()) {
        Some("minutes") => "@minutes",
        Some("hours") => "@hours",
        Some("days") => "@days",
        Some("weeks") => "@weeks",
        Some("months") => "@months",
        Some("years") => "@years",
        _ => return tokens,
    };
    let asks = is_word(tokens.first(), &["@howmany"])
        && is_word(tokens.get(2), &["do", "does", "did", "will"]);
    let end = clause_end(&tokens, 2);
    if asks && end > 4 && is_word(tokens.get(end - 1), &["take", "last"]) {
        tokens.splice(..2, words(&["@howlong", grain]));
    }
    tokens
}

/// "How old was X when she died" is "at what age did X die".
pub(super) fn old_when_to_age_at(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["@what"], &["age"], &["was", "were"]]);
    let end = clause_end(&tokens, 3);
    let when = place_of(&tokens, 4..end.min(3 + REACH), &["when"]);
    let pronoun = when.and_then(|when| match tokens.get(when + 1)?.text.as_str() {
        "he" => Some("@he"),
        "she" => Some("@she"),
        "they" => Some("@they"),
        _ => None,
    });
    if let Some(when) = when.filter(|_| asks)
        && is_named(&tokens[3..when])
        && let Some(who) = pronoun
        && when + 2 < end
        && !is_word(tokens.get(when + 2), &["was", "were", "is", "are", "had"])
    {
        tokens.drain(when..when + 2);
        tokens.splice(..3, words(&["what", "age", "did"]));
        tokens.push(Token::word(who));
    }
    tokens
}

/// "How many running pods" are "how many pods that are running", and "a dozen is how many eggs" asks
/// how many eggs are in a dozen.
pub(super) fn running_pods_to_pods_running(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let gerund = tokens.get(1).is_some_and(is_gerund);
    if is_word(tokens.first(), &["@howmany"]) && gerund && is_noun(&tokens[2.min(end)..end]) {
        let verb = tokens.remove(1);
        tokens.splice(end - 1..end - 1, [Token::word("are"), verb]);
        return tokens;
    }
    let asks = (2..tokens.len().min(6)).find(|&at| tokens[at].text == "@howmany");
    if let Some(at) = asks
        && is_word(tokens.get(at - 1), &["is", "equals", "makes"])
        && is_word(tokens.first(), &["a", "an"])
        && is_noun(&tokens[1..at - 1])
    {
        let end = clause_end(&tokens, at + 1);
        if end > at + 1 && is_noun(&tokens[at + 1..end]) {
            let mut found = words(&["@howmany"]);
            found.extend_from_slice(&tokens[at + 1..end]);
            found.push(Token::word("in"));
            found.extend_from_slice(&tokens[..at - 1]);
            found.extend(tokens.drain(end..));
            return found;
        }
    }
    tokens
}

/// "How large can X be" and "how long can a password be" ask for a maximum.
pub(super) fn can_be_to_maximum(mut tokens: Vec<Token>) -> Vec<Token> {
    let (from, attribute) = match tokens.first().map(|first| first.text.as_str()) {
        Some("@what") if is_word(tokens.get(1), &["size"]) => (2, "size"),
        Some("@howlong") => (1, "length"),
        _ => return tokens,
    };
    let end = clause_end(&tokens, from);
    let be = end.checked_sub(1).filter(|be| {
        *be > from + 1 && is_word(tokens.get(*be), &["be"]) && is_word(tokens.get(from), &["can"])
    });
    if let Some(be) = be
        && is_named(&tokens[from + 1..be])
    {
        tokens.remove(be);
        tokens.splice(..=from, words(&["@what", "maximum", attribute, "of"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "The upload size limit" is "the maximum upload size".
pub(super) fn size_limit_to_maximum_size(mut tokens: Vec<Token>) -> Vec<Token> {
    let limit = place_of_row(
        &tokens,
        1..tokens.len(),
        [&["size", "length"], &["limit", "limits"]],
    );
    let Some(at) = limit.filter(|_| is_word(tokens.first(), &WHAT)) else {
        return tokens;
    };
    let the = tokens[..at].iter().rposition(|token| {
        TABLES.determiners.contains(token.text.as_str())
            || is_preposition(token)
            || is_word(Some(token), &["@what", "what", "is"])
    });
    if let Some(the) = the
        && is_noun(&tokens[the + 1..=at])
    {
        tokens.remove(at + 1);
        tokens.insert(the + 1, Token::word("maximum"));
    }
    tokens
}

/// "What is the maximum number of X I can have" is "how many X can I have".
pub(super) fn maximum_number_to_how_many(mut tokens: Vec<Token>) -> Vec<Token> {
    let from = usize::from(is_word(tokens.get(1), &["is"])) + 1;
    let from = from + usize::from(is_word(tokens.get(from), &["the"]));
    // "The number of" is a question word by now.
    let number = is_word(tokens.first(), &WHAT)
        && stand_at(&tokens, from, [&["maximum", "max"], &["@howmany"]]);
    let end = clause_end(&tokens, from + 2);
    let can = place_of(&tokens, from + 3..end, &["can"]);
    if let Some(can) = can.filter(|_| number) {
        let who = is_word(tokens.get(can - 1), &["i", "you", "we"]);
        if is_noun(&tokens[from + 2..can - usize::from(who)]) {
            tokens.splice(..from + 2, words(&["@howmany"]));
            tokens.push(mark(false));
        }
    }
    tokens
}

/// "How much memory can X use" asks for the memory limit of X.
pub(super) fn can_use_to_limit(tokens: Vec<Token>) -> Vec<Token> {
    let asks =
        is_word(tokens.first(), &["@howmuch"]) && is_listed(tokens.get(1), &TABLES.resources);
    let end = clause_end(&tokens, 2);
    let can =
        is_word(tokens.get(2), &["can"]) && is_word(tokens.get(end.saturating_sub(1)), &["use"]);
    let allowed = tokens.get(end).is_some_and(|next| next.text == "@can")
        && is_word(tokens.get(2), &["is", "are"])
        && is_word(tokens.get(end + 1), &["use"])
        && tokens[end + 2..]
            .iter()
            .all(|token| is_break(token) || token.text == "@is");
    let named = match (can, allowed) {
        (true, _) => 3..end - 1,
        (_, true) => 3..end,
        _ => return tokens,
    };
    if asks && named.start < named.end && is_named(&tokens[named.clone()]) {
        let mut found = words(&["@what", &tokens[1].text, "limit", "of"]);
        found.extend_from_slice(&tokens[named]);
        found.push(mark(false));
        return found;
    }
    tokens
}
