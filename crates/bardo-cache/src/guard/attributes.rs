//! Rewrites questions for an attribute of a thing to one form: "what risks does X have" and "what
//! risks come with X" are "the risks of X", "what does the flag do" asks for its purpose.
//!
//! As in `clauses`, each rule names the words of its pattern.

use super::clauses::{is_break, is_word, words};
use super::questions::clause_end;
use super::scan::{Token, TokenKind};
use super::tables::TABLES;

pub(super) const WHAT: [&str; 3] = ["what", "which", "@what"];
const PRONOUNS: [&str; 12] = [
    "i", "you", "we", "he", "she", "it", "they", "this", "that", "these", "those", "one",
];
/// The most words of a noun with its adjectives.
const NOUN: usize = 4;

/// The tokens with each known question in its common form.
pub(super) fn settled(tokens: Vec<Token>) -> Vec<Token> {
    let tokens = adjective(exchanged(tokens));
    let tokens = worth(defaulted(distinguished(ruled(tokens))));
    let tokens = meant(purposed(tokens));
    let tokens = consumed(owned(demanded(tokens)));
    let tokens = superlative(attached(tokens));
    contents(located(tokens))
}

/// Whether words are a noun with its adjectives: no verb, pronoun, preposition or negation.
pub(super) fn is_noun(tokens: &[Token]) -> bool {
    let plain = |token: &Token| {
        let word = token.text.as_str();
        token.kind != TokenKind::Break
            && !word.starts_with('@')
            && !TABLES.prepositions.contains_key(word)
            && !super::frame::is_auxiliary(word)
            && !PRONOUNS.contains(&word)
            && !matches!(word, "be" | "if" | "when" | "to" | "there")
            && TABLES.classes.get(word) != Some(&"negation")
    };
    !tokens.is_empty() && tokens.len() <= NOUN && tokens.iter().all(plain)
}

/// A thing with an owner of its own: "my plan", "the plan", "Curve", but not "I".
pub(super) fn is_named(tokens: &[Token]) -> bool {
    let bound = |token: &Token| {
        let word = token.text.as_str();
        token.kind == TokenKind::Break
            || word.starts_with('@') && word != "@s"
            || super::frame::is_auxiliary(word)
            || matches!(word, "be" | "if" | "when" | "to" | "and" | "or" | "there")
            || TABLES.classes.get(word) == Some(&"negation")
    };
    let pronoun = |token: &Token| PRONOUNS.contains(&token.text.as_str());
    let named = tokens.len() > 1 || tokens.first().is_some_and(|first| !pronoun(first));
    (1..=8).contains(&tokens.len()) && named && !tokens.iter().any(bound)
}

/// Whether a clause ends at a place, or goes on with a preposition or a time.
pub(super) fn goes_on(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_none_or(|next| {
        let word = next.text.as_str();
        next.kind == TokenKind::Break
            || word.starts_with('@')
            || TABLES.prepositions.contains_key(word)
            || TABLES.classes.get(word) == Some(&"time")
    })
}

pub(super) fn mark(past: bool) -> Token {
    Token::word(if past { "@was" } else { "@is" })
}

/// The parts of "what N does X": the auxiliary, and whether it tells the past.
fn asked(tokens: &[Token], firsts: &[&str]) -> Option<(usize, bool)> {
    let aux = (2..tokens.len().min(2 + NOUN))
        .find(|&at| is_word(tokens.get(at), &["do", "does", "did"]))?;
    let fits = is_word(tokens.first(), firsts) && is_noun(&tokens[1..aux]);
    fits.then(|| (aux, is_word(tokens.get(aux), &["did"])))
}

/// The place of a verb behind the subject that stands at `from`.
fn verb(tokens: &[Token], from: usize, verbs: &[&str]) -> Option<usize> {
    let end = clause_end(tokens, from.min(tokens.len()));
    let at = (from + 1..end).find(|&at| is_word(tokens.get(at), verbs))?;
    is_named(&tokens[from..at]).then_some(at)
}

/// "The euro to dollar exchange rate" is "the exchange rate from euro to dollar".
fn exchanged(mut tokens: Vec<Token>) -> Vec<Token> {
    let rate = (3..tokens.len()).find(|&at| {
        is_word(tokens.get(at), &["exchange"]) && is_word(tokens.get(at + 1), &["rate"])
    });
    if let Some(at) = rate
        && is_word(tokens.get(at - 2), &["to"])
        && is_noun(&tokens[at - 1..at])
        && is_noun(&tokens[at - 3..at - 2])
        && (at == 3 || is_word(tokens.get(at - 4), &["the", "@what", "is", "of", "for"]))
    {
        let rate: Vec<Token> = tokens.drain(at..at + 2).collect();
        tokens.insert(at - 3, Token::word("from"));
        tokens.splice(at - 3..at - 3, rate);
    }
    tokens
}

/// Adjectives that say the same before their noun and behind "is": "which dose is normal".
const JUDGED: [&str; 9] = [
    "normal",
    "good",
    "typical",
    "reasonable",
    "ideal",
    "healthy",
    "common",
    "usual",
    "primary",
];

/// "What temperature is normal for a baby" is "what is the normal temperature for a baby".
fn adjective(mut tokens: Vec<Token>) -> Vec<Token> {
    let be = (2..tokens.len().min(2 + NOUN)).find(|&at| is_word(tokens.get(at), &["is", "are"]));
    if let Some(be) = be
        && is_word(tokens.first(), &WHAT)
        && is_noun(&tokens[1..be])
        && is_word(tokens.get(be + 1), &JUDGED)
        && goes_on(&tokens, be + 2)
    {
        let adjective = tokens.remove(be + 1);
        tokens.remove(be);
        tokens.insert(1, adjective);
        tokens.push(mark(false));
    }
    tokens
}

/// "How does the return policy work" is "what is the return policy".
fn ruled(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["how"]) && is_word(tokens.get(1), &["does"]);
    if let Some(at) = verb(&tokens, 2, &["work"]).filter(|_| asks)
        && is_word(tokens.get(at - 1), &["policy"])
        && goes_on(&tokens, at + 1)
    {
        tokens.remove(at);
        tokens.splice(..2, words(&["@what"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "What distinguishes A from B" and "what sets A apart from B" ask how they differ.
fn distinguished(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 2.min(tokens.len()));
    let sets = is_word(tokens.first(), &["what"]) && is_word(tokens.get(1), &["sets"]);
    let differs = is_word(tokens.first(), &["@what"]) && is_word(tokens.get(1), &["differ"]);
    let from = (3..end).find(|&at| is_word(tokens.get(at), &["from"]));
    let Some(from) = from else {
        return tokens;
    };
    let apart = is_word(tokens.get(from - 1), &["apart"]);
    let joined = tokens[2..from]
        .iter()
        .any(|token| is_word(Some(token), &["and", "or"]));
    if !joined && (sets && apart || differs) {
        tokens[from] = Token::word("and");
        if sets {
            tokens.remove(from - 1);
            tokens.splice(..2, words(&["@what", "differ"]));
            tokens.push(mark(false));
        }
    }
    tokens
}

/// "How much is ETH worth" and "what is ETH worth" ask for the price of ETH.
fn worth(mut tokens: Vec<Token>) -> Vec<Token> {
    let priced = ["@what", "price", "of"];
    let short = is_word(tokens.first(), &["what"]) && is_word(tokens.get(1), &["is", "are", "was"]);
    let long = tokens.len() > 3 && (0..3).all(|at| tokens[at].is_word(priced[at]));
    let from = match (short, long) {
        (true, _) => 2,
        (_, true) => 3,
        _ => return tokens,
    };
    if let Some(at) = verb(&tokens, from, &["worth"])
        && goes_on(&tokens, at + 1)
    {
        tokens.remove(at);
        if short {
            let past = is_word(tokens.get(1), &["was"]);
            tokens.splice(..2, words(&priced));
            tokens.push(mark(past));
        }
    }
    tokens
}

/// "Which port is used by default" and "which port does X use by default" ask for the default port.
fn defaulted(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &WHAT) {
        return tokens;
    }
    let end = clause_end(&tokens, 1);
    let by = (2..end.saturating_sub(1))
        .find(|&at| is_word(tokens.get(at), &["by"]) && is_word(tokens.get(at + 1), &["default"]));
    let Some(by) = by.filter(|by| by + 2 == end) else {
        return tokens;
    };
    let of = |noun: &[Token], thing: &[Token]| {
        let mut found = words(&["@what", "default"]);
        found.extend_from_slice(noun);
        if !thing.is_empty() {
            found.push(Token::word("of"));
            found.extend_from_slice(thing);
        }
        found
    };
    let found = match asked(&tokens, &WHAT) {
        Some((aux, false)) => verb(&tokens, aux + 1, &["use"])
            .filter(|at| at + 1 == by)
            .map(|at| of(&tokens[1..aux], &tokens[aux + 1..at])),
        _ => {
            let verb = if is_word(tokens.get(by - 1), &["used"]) {
                by - 1
            } else {
                by
            };
            let last =
                is_word(tokens.get(verb - 1), &["is", "are"]) && is_noun(&tokens[1..verb - 1]);
            let first = is_word(tokens.get(1), &["is", "are"]) && verb == by;
            match (last, first.then(|| noun_from(&tokens, 2, by)).flatten()) {
                (true, _) => Some(of(&tokens[1..verb - 1], &[])),
                (_, Some(from)) => Some(of(&tokens[from..by], &[])),
                _ => None,
            }
        }
    };
    if let Some(mut found) = found {
        found.extend(tokens.drain(end..));
        found.push(mark(false));
        return found;
    }
    tokens
}

/// Where a noun begins behind its article.
fn noun_from(tokens: &[Token], from: usize, to: usize) -> Option<usize> {
    let from = from + usize::from(is_word(tokens.get(from), &["the"]));
    (from < to && is_noun(&tokens[from..to])).then_some(from)
}

/// "What does the flag do" asks for the purpose of the flag. Of a person or a program it asks more.
fn purposed(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["what"]) && is_word(tokens.get(1), &["do", "does"]);
    if !asks {
        return tokens;
    }
    let end = clause_end(&tokens, 2);
    let does = |at: &usize| {
        is_word(tokens.get(*at), &["do"]) && (at + 1 == end || is_word(tokens.get(at + 1), &["in"]))
    };
    let Some(last) = (3..end).find(does) else {
        return tokens;
    };
    let tool = |token: &Token| {
        token.kind == TokenKind::Path && token.text.starts_with('-')
            || TABLES.tools.contains(&TABLES.canonical(&token.text))
    };
    if is_named(&tokens[2..last]) && tool(&tokens[last - 1]) {
        tokens.remove(last);
        tokens.splice(..2, words(&["@what", "purpose", "of"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "What does X mean in Java" is "what is the meaning of X in Java", and "what is X short for" is
/// "what does X stand for".
fn meant(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 2.min(tokens.len()));
    if is_word(tokens.first(), &["what"]) && is_word(tokens.get(1), &["do", "does"]) {
        let refers = verb(&tokens, 2, &["refer"])
            .filter(|at| at + 2 == end && is_word(tokens.get(at + 1), &["to"]));
        let means = verb(&tokens, 2, &["mean"])
            .filter(|at| at + 1 == end || is_word(tokens.get(at + 1), &["in", "on"]));
        if let Some(at) = refers.or(means) {
            tokens.drain(at..=at + usize::from(refers.is_some()));
            tokens.splice(..2, words(&["@what"]));
            tokens.push(mark(false));
        }
    } else if is_word(tokens.first(), &["what"])
        && is_word(tokens.get(1), &["is", "are"])
        && end > 4
        && is_word(tokens.get(end - 2), &["short"])
        && is_word(tokens.get(end - 1), &["for"])
        && is_noun(&tokens[2..end - 2])
    {
        tokens.splice(end - 2..end, words(&["standfor"]));
        tokens.splice(..2, words(&["@what"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "What risks does X have" asks for the risks of X, and "how much protein does X contain" for that in
/// X.
fn owned(mut tokens: Vec<Token>) -> Vec<Token> {
    let counts = ["@howmuch", "@howmany"];
    let (found, verbs): (_, &[&str]) = match asked(&tokens, &WHAT) {
        Some(found) => (Some(found), &["have", "contain", "offer", "provide"]),
        None => (asked(&tokens, &counts), &["have", "contain"]),
    };
    let Some((aux, past)) = found else {
        return tokens;
    };
    if let Some(at) = verb(&tokens, aux + 1, verbs)
        && goes_on(&tokens, at + 1)
    {
        tokens.remove(at);
        tokens[aux] = Token::word("of");
        tokens.push(mark(past));
    }
    tokens
}

/// "Which permissions does X need" asks which are required for X.
fn demanded(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some((aux, past)) = asked(&tokens, &WHAT) else {
        return tokens;
    };
    let at = verb(&tokens, aux + 1, &["need", "require"]);
    let last = |at: &usize| {
        tokens
            .get(at + 1)
            .is_none_or(|next| is_break(next) || next.text.starts_with('@'))
    };
    if let Some(at) = at.filter(last) {
        tokens.remove(at);
        let be = if past { "were" } else { "are" };
        tokens.splice(aux..=aux, words(&[be, "required", "for"]));
    }
    tokens
}

/// "How much memory does X use" asks for the memory usage of X.
fn consumed(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some((aux, past)) = asked(&tokens, &["@howmuch"]) else {
        return tokens;
    };
    if let Some(at) = verb(&tokens, aux + 1, &["use", "consume"])
        && goes_on(&tokens, at + 1)
        && !is_word(tokens.get(at + 1), &["to", "for"])
    {
        tokens.remove(at);
        tokens.splice(aux..=aux, words(&["usage", "of"]));
        tokens[0] = Token::word("@what");
        tokens.push(mark(past));
    }
    tokens
}

/// "Which risks come with X" asks for the risks of X.
fn attached(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let come = (2..end.min(1 + NOUN)).find(|&at| is_word(tokens.get(at), &["come", "comes"]));
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
fn superlative(mut tokens: Vec<Token>) -> Vec<Token> {
    let from = if is_word(tokens.get(1), &["are", "is"]) {
        2
    } else {
        1
    };
    let end = clause_end(&tokens, from.min(tokens.len()));
    let yields = is_word(
        tokens.get(end.saturating_sub(1)),
        &["yield", "apy", "apr", "rate", "dividend", "dividends"],
    );
    let verbs: &[&str] = match yields {
        true => &["have", "has", "pay", "pays", "offer", "offers"],
        false => &["have", "has"],
    };
    let have = (from + 1..tokens.len().min(from + 1 + 2 * NOUN))
        .find(|&at| is_word(tokens.get(at), verbs));
    let Some(at) = have.filter(|_| is_word(tokens.first(), &WHAT)) else {
        return tokens;
    };
    let most = at + 1 + usize::from(is_word(tokens.get(at + 1), &["the"]));
    let is_most = tokens.get(most).is_some_and(|word| {
        TABLES.classes.get(word.text.as_str()) == Some(&"superlative")
            || matches!(word.text.as_str(), "most" | "least")
    });
    if is_most && is_named(&tokens[from..at]) {
        tokens[at] = Token::word("with");
        tokens.push(mark(false));
    }
    tokens
}

/// "Where can X be found" is "where is X".
fn located(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["where"]) && is_word(tokens.get(1), &["can", "could"]);
    let end = clause_end(&tokens, 1.min(tokens.len()));
    if asks
        && end > 4
        && is_word(tokens.get(end - 2), &["be"])
        && is_word(tokens.get(end - 1), &["found", "located", "seen", "viewed"])
        && is_named(&tokens[2..end - 2])
    {
        tokens.drain(end - 2..end);
        tokens.splice(..2, words(&["@where"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "What is included in X" and "what comes with X" ask what X includes.
fn contents(mut tokens: Vec<Token>) -> Vec<Token> {
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
