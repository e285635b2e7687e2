//! Why something happens or does not: "what stops X from being Y" is "why can X not be Y".

use super::pattern::{
    REACH, WHAT, clause_end, is_break, is_gerund, is_named, is_of_class, is_preposition, is_verb,
    is_word, mark, opens, place_of, words,
};
use crate::guard::frame::is_auxiliary;
use crate::guard::scan::{Token, TokenKind};
use crate::guard::stems;
use crate::guard::tables::TABLES;

/// "What effect does X have on Y" and "what is the effect of X on Y" are "how does X affect Y".
pub(super) fn effect_to_affect(mut tokens: Vec<Token>) -> Vec<Token> {
    let noun = |at: usize| {
        tokens.get(at).is_some_and(|token| {
            matches!(
                TABLES.base(&token.text).as_str(),
                "effect" | "impact" | stems::INFLUENCE
            )
        })
    };
    let asks = is_word(tokens.first(), &WHAT);
    let on = place_of(&tokens, 0..tokens.len(), &["on"]);
    let Some(on) = on.filter(|_| asks) else {
        return tokens;
    };
    let (from, to, past) = if noun(1) && is_word(tokens.get(2), &["do", "does", "did"]) {
        let past = is_word(tokens.get(2), &["did"]);
        match is_word(tokens.get(on.saturating_sub(1)), &["have"]) {
            true => (3, on - 1, past),
            false => return tokens,
        }
    } else if let Some(of) = (2..5).find(|&at| noun(at - 1) && is_word(tokens.get(at), &["of"])) {
        (of + 1, on, is_word(tokens.get(1), &["was", "were"]))
    } else {
        return tokens;
    };
    if from >= to || tokens[from..to].iter().any(is_break) {
        return tokens;
    }
    let mut found = words(&["@how"]);
    found.extend_from_slice(&tokens[from..to]);
    found.push(Token::word("affect"));
    found.extend(tokens.drain(on + 1..));
    found.push(mark(past));
    found
}

/// "What stops X from being executed" is "why can X not be executed".
pub(super) fn stops_to_why_not(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(
        &tokens,
        [&["what"], &["stops", "prevents", "keeps", "blocks"]],
    );
    let end = clause_end(&tokens, 2);
    let from = place_of(&tokens, 3..end.min(2 + REACH), &["from"]);
    let Some(from) = from.filter(|_| asks) else {
        return tokens;
    };
    let verb = match tokens.get(from + 1) {
        Some(verb) if verb.text == "being" => "be".to_owned(),
        Some(verb) if is_gerund(verb) => TABLES.base(&verb.text),
        _ => return tokens,
    };
    if is_named(&tokens[2..from]) && from + 1 < end {
        tokens[from + 1] = Token::word(verb);
        tokens.remove(from);
        tokens.splice(..2, words(&["@why", "can", "not"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "How do I get X to do it" is "how do I make X do it".
pub(super) fn get_to_do_to_make_do(mut tokens: Vec<Token>) -> Vec<Token> {
    let get = tokens.iter().take(3).position(|token| token.is_word("get"));
    let Some(get) = get.filter(|get| *get > 0 && is_word(tokens.first(), &["@how"])) else {
        return tokens;
    };
    let end = clause_end(&tokens, get);
    let to = place_of(&tokens, get + 3..end.min(get + REACH), &["to"]);
    if let Some(to) = to
        && is_word(tokens.get(get + 1), &["my", "the", "our", "a"])
        && is_named(&tokens[get + 1..to])
        && is_verb(tokens.get(to + 1))
        && !is_word(
            tokens.get(to + 1),
            &["work", "park", "camp", "market", "page", "file"],
        )
        && !TABLES
            .papers
            .contains(&TABLES.canonical(&tokens[to - 1].text))
    {
        tokens.remove(to);
        tokens[get] = Token::word("make");
    }
    tokens
}

/// "What moved oil prices" is "why did oil prices move", and "what drove gold up" is "why did gold
/// rise".
pub(super) fn what_moved_to_why_moved(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["what"]) {
        return tokens;
    }
    let end = clause_end(&tokens, 1);
    let time = (2..end)
        .find(|&at| {
            is_of_class(&tokens[at], "time")
                || is_word(tokens.get(at), &["last", "in", "on", "since"])
        })
        .unwrap_or(end);
    let (to, verb) = match tokens
        .get(time.saturating_sub(1))
        .map(|last| last.text.as_str())
    {
        _ if is_word(tokens.get(1), &["moved"]) => (time, "move"),
        Some("up" | "higher") => (time - 1, "rise"),
        Some("down" | "lower") => (time - 1, "fall"),
        _ => return tokens,
    };
    let drives = is_word(tokens.get(1), &["moved", "drove", "pushed", "sent"]);
    let more = tokens[2.min(to)..to]
        .iter()
        .any(|token| is_word(Some(token), &["more", "most", "me", "you"]));
    if drives && to > 2 && !more && is_named(&tokens[2..to]) {
        let mut found = words(&["@why"]);
        found.extend_from_slice(&tokens[2..to]);
        found.push(Token::word(verb));
        found.extend(tokens.drain(time..));
        found.push(mark(true));
        return found;
    }
    tokens
}

/// "Why does not X work" is "why does X not work", which is out of order. "Not" of another place stays
/// with its verb: "why do banks not trust people who work".
pub(super) fn why_not_to_verb(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["@why", "why"]) {
        return tokens;
    }
    let end = clause_end(&tokens, 1);
    let (not, from) = match tokens.iter().take(4).position(|token| token.is_word("not")) {
        Some(at) if at > 0 && is_auxiliary_or_mark(&tokens[at - 1]) => (at, at + 1),
        _ => return tokens,
    };
    let end = if end <= not {
        clause_end(&tokens, from)
    } else {
        end
    };
    let named = tokens.get(from..end.saturating_sub(1)).unwrap_or_default();
    let belongs = |token: &Token| {
        token.kind == TokenKind::Word
            && !is_auxiliary(&token.text)
            && !is_relative(&token.text)
            && !is_preposition(token)
    };
    let plain = named.iter().all(|token| {
        let word = token.text.as_str();
        belongs(token) && !matches!(word, "i" | "you" | "we" | "they" | "he" | "she" | "to")
    });
    let works = is_word(
        tokens.get(end.saturating_sub(1)),
        &["work", "working", "function", "functioning"],
    );
    let quantified = named.iter().any(|token| {
        matches!(
            TABLES.classes.get(token.text.as_str()).copied(),
            Some("quantifier" | "amount" | "negation")
        )
    });
    // "Why does X not match" and "why does not X match".
    let verb = (from + 1..end).find(|&at| {
        let before = tokens[at - 1].text.as_str();
        TABLES.is_verb(&TABLES.base(&tokens[at].text))
            && !TABLES.determiners.contains(before)
            && !TABLES.prepositions.contains_key(before)
    });
    if let Some(verb) =
        verb.filter(|_| !works && !quantified && !named.is_empty() && not + 1 == from)
        && tokens[from..verb].iter().all(belongs)
    {
        let no = tokens.remove(not);
        tokens.insert(verb - 1, no);
        return tokens;
    }
    if plain && works && !named.is_empty() && !is_word(named.first(), &["only", "all"]) {
        tokens[end - 1] = Token::word("notwork");
        tokens.remove(not);
    }
    tokens
}

/// An auxiliary, also where its tense is a mark by now.
fn is_auxiliary_or_mark(token: &Token) -> bool {
    token.text == "@aux2" || is_auxiliary(&token.text)
}

/// What begins a clause that says more of a noun.
fn is_relative(word: &str) -> bool {
    matches!(word, "who" | "that" | "which" | "whose" | "whom")
}
