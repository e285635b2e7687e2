//! Rewrites questions of one meaning to one form: "how much does X cost", "is X included in Y", "who
//! was X written by".
//!
//! As in `clauses`, each rule names the words of its pattern.

use super::clauses::{REACH, is_break, is_word, words};
use super::scan::{Token, TokenKind};
use super::tables::TABLES;

/// The tokens with each known question in its common form.
pub(super) fn settled(tokens: Vec<Token>) -> Vec<Token> {
    let tokens = quickened(performed(priced(tokens)));
    let tokens = needed(supported(tokens));
    included(done_by(aimed(tokens)))
}

/// The end of the first clause: a break, a mark, or the end of the text.
pub(super) fn clause_end(tokens: &[Token], from: usize) -> usize {
    let ends = |token: &Token| is_break(token) || token.text.starts_with('@');
    let end = tokens.iter().skip(from).position(ends);
    end.map_or(tokens.len(), |end| from + end)
}

/// "How much does X cost" is "what is the price of X".
fn priced(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["@howmuch", "what"]);
    let aux = is_word(tokens.get(1), &["do", "does", "did"]);
    let named = !is_word(
        tokens.get(2),
        &["i", "you", "we", "it", "they", "he", "she"],
    );
    let cost = (3..clause_end(&tokens, 1)).find(|&at| is_word(tokens.get(at), &["cost"]));
    if let Some(cost) = cost.filter(|_| asks && aux && named)
        && !is_word(tokens.get(cost + 1), &["to", "me", "you", "us"])
    {
        let past = is_word(tokens.get(1), &["did"]);
        tokens.remove(cost);
        tokens.splice(..2, words(&["@what", "price", "of"]));
        tokens.push(Token::word(if past { "@was" } else { "@is" }));
    }
    tokens
}

/// "How did X perform" is "what was the performance of X".
fn performed(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["how"]);
    let aux = is_word(
        tokens.get(1),
        &["did", "has", "have", "is", "are", "does", "do"],
    );
    let named = !is_word(
        tokens.get(2),
        &["i", "you", "we", "it", "they", "he", "she", "not"],
    );
    let verb = (3..clause_end(&tokens, 1).min(REACH)).find(|&at| {
        is_word(
            tokens.get(at),
            &["perform", "performed", "performing", "do", "done", "doing"],
        )
    });
    // "How does Go do error handling" asks something else.
    let ends = |next: &Token| {
        next.kind != TokenKind::Word
            || next.text.starts_with('@')
            || TABLES.prepositions.contains_key(next.text.as_str())
            || TABLES.classes.get(next.text.as_str()) == Some(&"time")
            || matches!(
                next.text.as_str(),
                "this" | "last" | "before" | "after" | "during" | "since"
            )
    };
    if let Some(verb) = verb.filter(|_| asks && aux && named)
        && tokens.get(verb + 1).is_none_or(ends)
    {
        let past = is_word(tokens.get(1), &["did", "has", "have"]);
        tokens.remove(verb);
        tokens.splice(..2, words(&["@what", "performance", "of"]));
        tokens.push(Token::word(if past { "@was" } else { "@is" }));
    }
    tokens
}

/// "Make X faster" is "speed up X".
fn quickened(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some(make) = tokens.iter().position(|token| token.is_word("make")) else {
        return tokens;
    };
    let end = clause_end(&tokens, make);
    let verb = match end.checked_sub(1).map(|last| tokens[last].text.as_str()) {
        Some("faster" | "quicker") => "speed-up",
        Some("slower") => "slow-down",
        Some("bigger" | "larger") => "increase",
        Some("smaller") => "reduce",
        _ => return tokens,
    };
    // "Make X bigger" is "increase the size of X".
    let of_size = matches!(verb, "increase" | "reduce") && !is_word(tokens.get(end - 2), &["size"]);
    if end > make + 2 && end - make <= REACH {
        tokens.remove(end - 1);
        tokens[make] = Token::word(verb);
        if of_size {
            tokens.splice(make + 1..make + 1, words(&["the", "size", "of"]));
        }
    }
    tokens
}

/// "Does it support X" is "is X supported".
fn supported(mut tokens: Vec<Token>) -> Vec<Token> {
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
        let bound = TABLES.prepositions.contains_key(word) || super::frame::is_auxiliary(word);
        token.kind == TokenKind::Word && !bound && !matches!(word, "not" | "that" | "if" | "when")
    });
    let it = is_word(tokens.first(), &["does"]) && is_word(tokens.get(1), &["it"]);
    if it && plain && end > 3 {
        let stem = verb.trim_end_matches('e');
        tokens.insert(end, Token::word(format!("{stem}ed")));
        tokens.splice(..3, words(&["is"]));
    }
    tokens
}

/// "What is X for" and "what is X used for" ask for the purpose of X.
fn aimed(mut tokens: Vec<Token>) -> Vec<Token> {
    let starts = is_word(tokens.first(), &["what"]) && is_word(tokens.get(1), &["is", "are"]);
    let from = if starts { 2 } else { 1 };
    let end = clause_end(&tokens, from);
    let asks = starts || is_word(tokens.first(), &["@what"]);
    let last = end.checked_sub(1).filter(|last| asks && *last > from);
    let Some(last) = last.filter(|last| is_word(tokens.get(*last), &["for"])) else {
        return tokens;
    };
    let used = is_word(tokens.get(last - 1), &["used"]);
    let to = if used { last - 1 } else { last };
    let plain = tokens[from..to].iter().all(|token| {
        token.kind != TokenKind::Word
            || !super::frame::is_auxiliary(&token.text)
                && (!TABLES.is_verb(&TABLES.base(&token.text))
                    || TABLES.tools.contains(&TABLES.canonical(&token.text)))
                && !matches!(token.text.as_str(), "i" | "you" | "we" | "they" | "it")
    });
    if plain && to > from {
        tokens.drain(to..=last);
        tokens.splice(..from, words(&["@what", "purpose", "of"]));
        tokens.push(Token::word("@is"));
    }
    tokens
}

/// "Is X included in Y" and "does Y come with X" are "does Y include X".
fn included(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let place = |word: &str| (2..end).find(|&at| is_word(tokens.get(at), &[word]));
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
                    && !TABLES.prepositions.contains_key(token.text.as_str())
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

/// "Who was X written by" and "by whom was X written" are "who wrote X".
fn done_by(mut tokens: Vec<Token>) -> Vec<Token> {
    let by = is_word(tokens.first(), &["by"]) && is_word(tokens.get(1), &["whom"]);
    let be = usize::from(by) + 1;
    let asks = by || is_word(tokens.first(), &["who"]);
    if !asks || !is_word(tokens.get(be), &["is", "are", "was", "were"]) {
        return tokens;
    }
    let end = clause_end(&tokens, be + 1);
    let verb = match by {
        true => end.checked_sub(1),
        false if is_word(tokens.get(end.saturating_sub(1)), &["by"]) => end.checked_sub(2),
        false => None,
    };
    let participle = |token: &Token| {
        token.text.ends_with("ed") || TABLES.participles.contains(token.text.as_str())
    };
    let Some(verb) = verb.filter(|&verb| verb > be + 1 && participle(&tokens[verb])) else {
        return tokens;
    };
    let past = is_word(tokens.get(be), &["was", "were"]);
    let mut found = vec![Token::word("who"), tokens[verb].clone()];
    found.extend_from_slice(&tokens[be + 1..verb]);
    found.extend(tokens.drain(end..));
    found.push(Token::word(if past { "@was" } else { "@is" }));
    found
}

/// "Is X required to do it" is "do I need X to do it".
fn needed(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["is", "are"]) {
        return tokens;
    }
    let end = clause_end(&tokens, 1);
    let verb = (2..end.min(REACH))
        .find(|&at| is_word(tokens.get(at), &["required", "needed", "necessary"]));
    let Some(verb) = verb else {
        return obliged(tokens);
    };
    let plain = tokens[1..verb].iter().all(|token| {
        token.kind == TokenKind::Word
            && !matches!(
                token.text.as_str(),
                "it" | "there" | "not" | "this" | "that"
            )
            && !TABLES.prepositions.contains_key(token.text.as_str())
    });
    let gerund = tokens.get(verb + 2).is_some_and(|next| {
        let travels = next.text.ends_with("ing") || next.text == "travel";
        travels && TABLES.is_verb(&TABLES.base(&next.text))
    });
    let last = verb + 1 == end;
    let aims =
        is_word(tokens.get(verb + 1), &["to"]) || is_word(tokens.get(verb + 1), &["for"]) && gerund;
    if plain && (last || aims) {
        if aims {
            tokens[verb + 1] = Token::word(if gerund { "@aux" } else { "to" });
        }
        tokens.remove(verb);
        tokens.splice(..1, words(&["do", "i", "need"]));
    }
    tokens
}

/// "Is a visa required to enter" is "do I need a visa to enter": "required to" is a mark by now. "Is the
/// lawyer required to testify" asks of a duty.
fn obliged(mut tokens: Vec<Token>) -> Vec<Token> {
    let must = clause_end(&tokens, 1);
    let last = must
        .checked_sub(1)
        .filter(|last| *last > 0 && must <= REACH);
    let papers = last.is_some_and(|last| {
        TABLES
            .papers
            .contains(&TABLES.canonical(&tokens[last].text))
            || TABLES.classes.get(tokens[last].text.as_str()) == Some(&"ticker")
    });
    let plain = tokens[1..must].iter().all(|token| {
        token.kind == TokenKind::Word
            && !TABLES.prepositions.contains_key(token.text.as_str())
            && !matches!(token.text.as_str(), "it" | "there" | "not")
    });
    if papers && plain && is_word(tokens.get(must), &["@must"]) {
        tokens[must] = Token::word("to");
        tokens.splice(..1, words(&["do", "i", "need"]));
    }
    tokens
}
