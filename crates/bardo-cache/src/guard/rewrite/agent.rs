//! Who does something, or to whom it is done: "who was X written by" is "who wrote X".

use super::pattern::{
    BE, REACH, WHAT, clause_end, ends_as_participle, is_complete, is_end, is_form_of_verb,
    is_named, is_noun, is_participle, is_preposition, is_verb, is_word, mark, opens, participle_of,
    place_of, row_before, stand_at, words,
};
use crate::guard::frame::is_auxiliary;
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// "X was painted by whom" is "by whom was X painted".
pub(super) fn last_by_whom_to_front(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 0);
    let by = row_before(&tokens, end, [&["by"], &["whom", "who"]]);
    let be = by.and_then(|by| place_of(&tokens, 1..by, &BE));
    if let Some((by, be)) = by.zip(be)
        && is_named(&tokens[..be])
        && by == be + 2
        && is_participle(&tokens[be + 1])
    {
        let mut found = words(&["by", "whom", &tokens[be].text]);
        found.extend_from_slice(&tokens[..be]);
        found.push(tokens[be + 1].clone());
        found.extend(tokens.drain(end..));
        return found;
    }
    tokens
}

/// "Who was X written by" and "by whom was X written" are "who wrote X".
pub(super) fn done_by_to_who_did(mut tokens: Vec<Token>) -> Vec<Token> {
    let by = opens(&tokens, [&["by"], &["whom"]]);
    let be = usize::from(by) + 1;
    let asks = by || is_word(tokens.first(), &["who"]);
    if !asks || !is_word(tokens.get(be), &BE) {
        return tokens;
    }
    let end = clause_end(&tokens, be + 1);
    let verb = match by {
        true => end.checked_sub(1),
        false if is_word(tokens.get(end.saturating_sub(1)), &["by"]) => end.checked_sub(2),
        false => None,
    };
    let Some(verb) = verb.filter(|&verb| verb > be + 1 && ends_as_participle(&tokens[verb])) else {
        return tokens;
    };
    let past = is_word(tokens.get(be), &["was", "were"]);
    let mut found = vec![Token::word("who"), tokens[verb].clone()];
    found.extend_from_slice(&tokens[be + 1..verb]);
    found.extend(tokens.drain(end..));
    found.push(mark(past));
    found
}

/// "Does it support X" is "is X supported".
pub(super) fn does_it_support_to_is_supported(mut tokens: Vec<Token>) -> Vec<Token> {
    let verb = ["support", "include", "require", "accept", "cover"]
        .into_iter()
        .find(|verb| is_word(tokens.get(2), &[verb]));
    let Some(verb) = verb else {
        return tokens;
    };
    let end = clause_end(&tokens, 1);
    let rest = tokens.get(2..end).unwrap_or_default();
    let plain = rest.iter().all(|token| {
        let word = token.text.as_str();
        token.kind == TokenKind::Word
            && !is_preposition(token)
            && !is_auxiliary(word)
            && !matches!(word, "not" | "that" | "if" | "when")
    });
    let it = opens(&tokens, [&["does"], &["it"]]);
    if it && plain && end > 3 {
        tokens.insert(end, Token::word(participle_of(verb)));
        tokens.splice(..3, words(&["is"]));
    }
    tokens
}

/// "Which methods do you accept" is "which methods are accepted".
pub(super) fn you_accept_to_accepted(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &WHAT) {
        return tokens;
    }
    let aux = place_of(&tokens, 2..tokens.len().min(REACH), &["do", "does"]);
    let Some(aux) = aux else {
        return tokens;
    };
    let plain = tokens[1..aux].iter().all(|token| {
        token.kind == TokenKind::Word
            && !token.text.starts_with('@')
            && !TABLES.stop.contains(token.text.as_str())
    });
    // "Which orders did I cancel" says who did, and what "I" need is what "you" need.
    let requires = tokens
        .get(aux + 2)
        .is_some_and(|verb| TABLES.canonical(&verb.text) == "require");
    let anyone: &[&str] = if requires {
        &["i", "you", "we", "people"]
    } else {
        &["you"]
    };
    let person = is_word(tokens.get(aux), &["do"]) && is_word(tokens.get(aux + 1), anyone)
        || stand_at(&tokens, aux, [&["does"], &["it"]]);
    let verb = tokens.get(aux + 2).filter(|verb| {
        is_form_of_verb(verb) && !matches!(verb.text.as_str(), "have" | "be" | "do" | "get")
    });
    let last = tokens
        .get(aux + 3)
        .is_none_or(|next| is_end(next) || is_word(Some(next), &["to", "for", "in"]));
    let participle = verb.map(|verb| participle_of(&verb.text));
    if let Some(verb) = participle.filter(|_| plain && person && last) {
        tokens.splice(aux..aux + 3, words(&["are", &verb]));
    }
    tokens
}

/// "How does X compute its fees" is "how are the fees of X computed".
pub(super) fn computes_its_to_is_computed(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["how"], &["does"]]);
    let end = clause_end(&tokens, 2);
    let its = place_of(&tokens, 4..end.min(2 + REACH), &["its"]);
    let Some(its) = its.filter(|_| asks) else {
        return tokens;
    };
    let verb = tokens[its - 1].text.clone();
    let regular = is_verb(tokens.get(its - 1)) && !TABLES.forms.values().any(|base| *base == verb);
    if regular && is_named(&tokens[2..its - 1]) && end > its + 1 && is_noun(&tokens[its + 1..end]) {
        let mut found = words(&["how", "are"]);
        found.extend_from_slice(&tokens[2..its - 1]);
        found.push(Token::word("@s"));
        found.extend_from_slice(&tokens[its + 1..end]);
        found.push(Token::word(participle_of(&verb)));
        found.extend(tokens.drain(end..));
        return found;
    }
    tokens
}

/// "How is X calculated" is "how do you calculate X": what follows a rule, whoever does it. "How is X paid" asks of
/// those who pay.
pub(super) fn is_calculated_to_calculate(mut tokens: Vec<Token>) -> Vec<Token> {
    const RULED: [(&str, &str); 7] = [
        ("calculated", "calculate"),
        ("computed", "compute"),
        ("measured", "measure"),
        ("estimated", "estimate"),
        ("pronounced", "pronounce"),
        ("spelled", "spell"),
        ("diagnosed", "diagnose"),
    ];
    let end = clause_end(&tokens, 2);
    let verb = |at: usize| {
        RULED
            .iter()
            .find(|(done, _)| is_word(tokens.get(at), &[done]))
    };
    let asks = opens(&tokens, [&["how"], &["is", "are"]]);
    let found = (3..end.min(2 + REACH)).find_map(|at| Some((at, verb(at)?.1)));
    // How my score is calculated is known to those who do it.
    let owned = place_of(
        &tokens,
        2..end,
        &["my", "your", "our", "his", "her", "their"],
    );
    if let Some((at, does)) = found.filter(|_| asks && owned.is_none())
        && is_named(&tokens[2..at])
        && is_complete(&tokens, at + 1)
    {
        tokens.remove(at);
        tokens.splice(..2, words(&["@how", does]));
        tokens.push(mark(false));
    }
    tokens
}
