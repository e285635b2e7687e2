//! What something has, includes or comes with: "what risks does X have" asks for the risks of X.

use super::pattern::{
    NOUN, REACH, WHAT, asked_of_noun, break_from, clause_end, is_complete, is_named, is_noun,
    is_of_class, is_preposition, is_word, mark, place_of, place_of_row, row_before, verb_behind,
    words,
};
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// "Does the hotel have parking" is "is there parking in the hotel".
pub(super) fn have_to_there_is(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["do", "does", "is"]) {
        return tokens;
    }
    let subject = is_word(
        tokens.get(1),
        &["the", "a", "an", "this", "that", "my", "your", "our"],
    ) || tokens.get(1).is_some_and(|token| {
        token.kind == TokenKind::Word
            && !TABLES.stop.contains(token.text.as_str())
            && !TABLES.determiners.contains(token.text.as_str())
    });
    let verb = place_of(&tokens, 2..tokens.len().min(REACH), &["have", "has"]);
    let Some(verb) = verb.filter(|_| subject) else {
        return tokens;
    };
    let plain = tokens[1..verb].iter().all(|token| {
        token.kind == TokenKind::Word
            && !token.text.starts_with('@')
            && !matches!(token.text.as_str(), "not" | "and" | "or" | "that" | "which")
            && !is_preposition(token)
    });
    let end = break_from(&tokens, verb);
    let object = tokens.get(verb + 1..end).unwrap_or_default();
    if !plain || object.is_empty() || is_word(object.first(), &["to", "been", "not", "no"]) {
        return tokens;
    }
    let mut found = words(&["is", "there"]);
    found.extend_from_slice(object);
    found.push(Token::word(held_by(object)));
    found.extend_from_slice(&tokens[1..verb]);
    found.extend(tokens.drain(end..));
    found
}

/// The preposition of who has a thing: parking is in a hotel, a cure is for an illness, and a side effect is
/// that of a drug.
fn held_by(object: &[Token]) -> &'static str {
    let key = object.last().map(|last| TABLES.canonical(&last.text));
    match key {
        Some(key) if TABLES.cures.contains(&key) => "for",
        Some(key) if TABLES.felt.contains(&key) => "of",
        _ => "in",
    }
}

/// "Is there free parking" is "is parking free", and neither is "parking in the free zone".
pub(super) fn free_to_no_charge(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["is", "are"]) {
        return tokens;
    }
    let ends = |token: &Token| {
        token.kind != TokenKind::Word || token.text.starts_with('@') || is_preposition(token)
    };
    let there = is_word(tokens.get(1), &["there"]);
    let from = if there { 3 } else { 1 };
    let end = tokens.iter().skip(from).position(ends);
    let end = end.map_or(tokens.len(), |end| from + end);
    if there && is_word(tokens.get(2), &["free"]) && end > from {
        tokens.insert(end, Token::word("nocharge"));
        tokens.drain(1..3);
    } else if !there && end > 2 && is_word(tokens.get(end - 1), &["free"]) {
        tokens[end - 1] = Token::word("nocharge");
    }
    tokens
}

/// "What risks does X have" asks for the risks of X, and "how much protein does X contain" for that in
/// X.
pub(super) fn has_to_of(mut tokens: Vec<Token>) -> Vec<Token> {
    let counts = ["@howmuch", "@howmany"];
    let (found, verbs): (_, &[&str]) = match asked_of_noun(&tokens, &WHAT) {
        Some(found) => (Some(found), &["have", "contain", "offer", "provide"]),
        None => (asked_of_noun(&tokens, &counts), &["have", "contain"]),
    };
    let Some((aux, past)) = found else {
        return tokens;
    };
    if let Some(at) = verb_behind(&tokens, aux + 1, verbs)
        && is_complete(&tokens, at + 1)
    {
        tokens.remove(at);
        tokens[aux] = Token::word("of");
        tokens.push(mark(past));
    }
    tokens
}

/// "Which risks come with X" asks for the risks of X.
pub(super) fn come_with_to_of(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let come = place_of(&tokens, 2..end.min(1 + NOUN), &["come", "comes"]);
    if let Some(at) = come
        && is_word(tokens.first(), &WHAT)
        && is_noun(&tokens[1..at])
        && is_word(tokens.get(at + 1), &["with"])
        && at + 2 < end
    {
        tokens.splice(at..at + 2, words(&["of"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "Which pools have the highest yield" are the pools with the highest yield.
pub(super) fn has_most_to_with_most(mut tokens: Vec<Token>) -> Vec<Token> {
    let from = if is_word(tokens.get(1), &["are", "is"]) {
        2
    } else {
        1
    };
    let end = clause_end(&tokens, from);
    let yields = is_word(
        tokens.get(end.saturating_sub(1)),
        &["yield", "apy", "apr", "rate", "dividend", "dividends"],
    );
    let verbs: &[&str] = match yields {
        true => &["have", "has", "pay", "pays", "offer", "offers"],
        false => &["have", "has"],
    };
    let have = place_of(
        &tokens,
        from + 1..tokens.len().min(from + 1 + 2 * NOUN),
        verbs,
    );
    let Some(at) = have.filter(|_| is_word(tokens.first(), &WHAT)) else {
        return tokens;
    };
    let most = at + 1 + usize::from(is_word(tokens.get(at + 1), &["the"]));
    let is_most = tokens.get(most).is_some_and(|word| {
        is_of_class(word, "superlative") || matches!(word.text.as_str(), "most" | "least")
    });
    if is_most && is_named(&tokens[from..at]) {
        tokens[at] = Token::word("with");
        tokens.push(mark(false));
    }
    tokens
}

/// "Is X included in Y" and "does Y come with X" are "does Y include X".
pub(super) fn included_in_to_includes(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let place = |word: &str| place_of(&tokens, 2..end, &[word]);
    if is_word(tokens.first(), &["is", "are"]) {
        let Some(verb) = place("included").filter(|verb| *verb <= REACH) else {
            return tokens;
        };
        let plain = tokens[1..verb]
            .iter()
            .chain(&tokens[end.min(verb + 2)..end])
            .all(|token| {
                token.kind == TokenKind::Word
                    && !matches!(token.text.as_str(), "not" | "it" | "there")
                    && !is_preposition(token)
            });
        if plain && is_word(tokens.get(verb + 1), &["in", "with", "by"]) && verb + 2 < end {
            let mut found = words(&["does"]);
            found.extend_from_slice(&tokens[verb + 2..end]);
            found.push(Token::word("include"));
            found.extend_from_slice(&tokens[1..verb]);
            found.extend(tokens.drain(end..));
            return found;
        }
    } else if is_word(tokens.first(), &["does", "do"])
        && let Some(come) = place("come")
        && is_word(tokens.get(come + 1), &["with"])
        && !is_word(tokens.get(1), &["i", "you", "we", "he", "she", "they"])
    {
        tokens.splice(come..come + 2, words(&["include"]));
    }
    tokens
}

/// "What is included in X" and "what comes with X" ask what X includes.
pub(super) fn what_is_in_to_includes(mut tokens: Vec<Token>) -> Vec<Token> {
    let included = is_word(tokens.get(1), &["is"]) && is_word(tokens.get(2), &["included"]);
    let from = match included {
        true => 3,
        false if is_word(tokens.get(1), &["come", "comes"]) => 2,
        false => return tokens,
    };
    let end = clause_end(&tokens, from);
    if is_word(tokens.first(), &["what"])
        && is_word(tokens.get(from), &["in", "with"])
        && end > from + 1
        && is_named(&tokens[from + 1..end])
    {
        tokens.insert(end, Token::word("include"));
        tokens.splice(..=from, words(&["@what"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "What colors does X come in" is "what colors is X available in".
pub(super) fn come_in_to_available_in(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let does = place_of(&tokens, 2..end.min(4), &["does", "do"]);
    let come = row_before(&tokens, end, [&["come"], &["in"]]);
    if let Some((does, come)) = does.zip(come)
        && is_word(tokens.first(), &["what", "which"])
        && does + 1 < come
        && is_named(&tokens[does + 1..come])
    {
        tokens[come] = Token::word("available");
        tokens.remove(come + 1);
        tokens[does] = Token::word("is");
    }
    tokens
}

/// "The world's longest river" is "the longest river in the world", in which "in the world" says nothing.
pub(super) fn worlds_longest_to_longest(mut tokens: Vec<Token>) -> Vec<Token> {
    let world = place_of_row(&tokens, 0..tokens.len(), [&["world"], &["@s"]]);
    // Neither "Disney World's" nor "the ancient world's".
    if let Some(at) = world
        && at > 0
        && tokens[at - 1].is_word("the")
        && tokens
            .get(at + 2)
            .is_some_and(|next| is_of_class(next, "superlative"))
    {
        tokens.drain(at..at + 2);
    }
    tokens
}

/// "Can I board if I don't have a ticket" is "can I board without a ticket". Whether my son can is another question.
pub(super) fn if_i_lack_to_without(mut tokens: Vec<Token>) -> Vec<Token> {
    let row: [&[&str]; 5] = [&["if"], &["i"], &["@aux2"], &["not"], &["have", "use"]];
    let mine = is_word(tokens.first(), &["@how"]) || is_word(tokens.get(1), &["i"]);
    let lacks = place_of_row(&tokens, 2..tokens.len(), row);
    if let Some(at) = lacks.filter(|_| mine)
        && is_word(tokens.get(at + 5), &["a", "an", "the", "my"])
    {
        tokens.splice(at..at + 5, words(&["without"]));
    }
    tokens
}
