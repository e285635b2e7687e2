//! Rewrites questions of what is possible, needed or out of order to one form: "is parking allowed" is
//! "can I park", "why does X not work" is "why is X out of order".
//!
//! As in `clauses`, each rule names the words of its pattern.

use super::clauses::{REACH, is_break, is_word, words};
use super::questions::clause_end;
use super::scan::{Token, TokenKind};
use super::tables::TABLES;

/// The tokens with each known question in its common form.
pub(super) fn settled(tokens: Vec<Token>) -> Vec<Token> {
    let tokens = permitted(exact(tokens));
    let tokens = legalized(out_of_order(tokens));
    let tokens = gotten(kept(defined(tokens)));
    let tokens = prevented(renewed(becoming(counted(tokens))));
    lasted(tokens)
}

/// "What is X exactly" is "what exactly is X".
fn exact(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = ["what", "@what", "how", "@how", "why", "@why"];
    let end = clause_end(&tokens, 1.min(tokens.len()));
    if is_word(tokens.first(), &asks) && end > 2 && is_word(tokens.get(end - 1), &["exactly"]) {
        tokens.remove(end - 1);
    }
    tokens
}

/// "Is parking allowed here" and "is parking here possible" are "can I park here".
fn permitted(mut tokens: Vec<Token>) -> Vec<Token> {
    let gerund = tokens.get(1).is_some_and(is_gerund);
    // "Is building permitted": without an article it is what one does.
    let does = is_word(tokens.get(1), &["building", "meeting"]);
    if !is_word(tokens.first(), &["is"]) || !(gerund || does) {
        return tokens;
    }
    let end = clause_end(&tokens, 1);
    let judged = (2..end.min(2 + REACH))
        .find(|&at| is_word(tokens.get(at), &["allowed", "permitted", "possible"]));
    let plain = |token: &Token| {
        !super::frame::is_auxiliary(&token.text)
            && !matches!(token.text.as_str(), "not" | "if" | "and" | "or")
    };
    if let Some(at) = judged
        && tokens[1..at].iter().all(plain)
        && tokens.get(at + 1).is_none_or(|next| {
            is_break(next)
                || next.text.starts_with('@')
                || TABLES.prepositions.contains_key(next.text.as_str())
                || matches!(next.text.as_str(), "without" | "here" | "during" | "while")
                || TABLES.classes.get(next.text.as_str()) == Some(&"time")
        })
    {
        tokens.remove(at);
        tokens.splice(..1, words(&["can", "i"]));
        tokens.push(Token::word("@is"));
    }
    tokens
}

pub(super) fn is_gerund(token: &Token) -> bool {
    token.kind == TokenKind::Word
        && token.text.ends_with("ing")
        && !TABLES.fixed.contains(token.text.as_str())
        && TABLES.is_verb(&TABLES.base(&token.text))
}

/// "Can X be safely reheated" is "is it safe to reheat X".
fn legalized(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["can"]) {
        return tokens;
    }
    let end = clause_end(&tokens, 1);
    let be = (2..end.min(REACH)).find(|&at| is_word(tokens.get(at), &["be"]));
    let judge = be.and_then(|be| match tokens.get(be + 1)?.text.as_str() {
        "safely" => Some((be, "safe")),
        "legally" => Some((be, "legal")),
        _ => None,
    });
    let Some((be, judge)) = judge else {
        return tokens;
    };
    let participle = tokens.get(be + 2).is_some_and(|verb| {
        verb.text.ends_with("ed") || TABLES.participles.contains(verb.text.as_str())
    });
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

/// "Why does not X work" is "why does X not work", which is out of order. "Not" of another place stays
/// with its verb: "why do banks not trust people who work".
fn out_of_order(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["@why", "why"]) {
        return tokens;
    }
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let (not, from) = match tokens.iter().take(4).position(|token| token.is_word("not")) {
        Some(at) if at > 0 && is_auxiliary(&tokens[at - 1]) => (at, at + 1),
        _ => return tokens,
    };
    let end = if end <= not {
        clause_end(&tokens, from)
    } else {
        end
    };
    let named = tokens.get(from..end.saturating_sub(1)).unwrap_or_default();
    let plain = named.iter().all(|token| {
        let word = token.text.as_str();
        token.kind == TokenKind::Word
            && !super::frame::is_auxiliary(word)
            && !TABLES.prepositions.contains_key(word)
            && !is_relative(word)
            && !matches!(word, "i" | "you" | "we" | "they" | "he" | "she" | "to")
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
        && tokens[from..verb].iter().all(|token| {
            token.kind == TokenKind::Word
                && !super::frame::is_auxiliary(&token.text)
                && !is_relative(&token.text)
                && !TABLES.prepositions.contains_key(token.text.as_str())
        })
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

fn is_auxiliary(token: &Token) -> bool {
    token.text == "@aux2" || super::frame::is_auxiliary(&token.text)
}

/// What begins a clause that says more of a noun.
fn is_relative(word: &str) -> bool {
    matches!(word, "who" | "that" | "which" | "whose" | "whom")
}

/// "Define entropy" is "what is entropy". "Define a variable" is done, not explained.
fn defined(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 0);
    // "Define slippage in trading".
    let placed = (2..end).find(|&at| is_word(tokens.get(at), &["in"]));
    let end = placed.filter(|at| at + 2 == end).unwrap_or(end);
    let noun = |token: &Token| {
        token.kind == TokenKind::Word
            && (!token.text.ends_with('s') || token.text.ends_with("ss"))
            && !TABLES.determiners.contains(token.text.as_str())
            && !TABLES.prepositions.contains_key(token.text.as_str())
            && !TABLES.stop.contains(token.text.as_str())
    };
    let last = end.checked_sub(1).filter(|last| *last > 0 && end <= 3);
    let ends = end + 1 >= tokens.len() || placed == Some(end) && end + 3 >= tokens.len();
    let Some(last) = last.filter(|_| ends) else {
        return tokens;
    };
    if is_word(tokens.first(), &["define"]) && tokens[1..end].iter().all(noun) {
        tokens[0] = Token::word("@what");
    } else if placed.is_none()
        && is_word(tokens.get(last), &["definition", "meaning"])
        && tokens[..last].iter().all(noun)
    {
        tokens.remove(last);
        tokens.insert(0, Token::word("@what"));
    }
    tokens
}

/// "Do eggs count as dairy" is "are eggs dairy".
fn counted(mut tokens: Vec<Token>) -> Vec<Token> {
    let count = (2..tokens.len().min(2 + REACH))
        .find(|&at| is_word(tokens.get(at), &["count"]) && is_word(tokens.get(at + 1), &["as"]));
    if let Some(at) = count
        && is_word(tokens.first(), &["do", "does"])
        && !tokens[1..at]
            .iter()
            .any(|token| is_break(token) || token.is_word("not"))
        && !is_word(tokens.get(1), &["i", "you", "we", "they"])
    {
        tokens.drain(at..at + 2);
        tokens[0] = Token::word("is");
    }
    tokens
}

/// "Getting stronger" is "becoming stronger".
fn becoming(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 1..tokens.len() {
        let compares = TABLES.classes.get(tokens[at].text.as_str()) == Some(&"superlative")
            && tokens[at].text.ends_with('r')
            || matches!(tokens[at].text.as_str(), "stronger" | "weaker");
        let verb = match tokens[at - 1].text.as_str() {
            "get" => "become",
            "gets" => "becomes",
            "getting" => "becoming",
            "got" => "became",
            _ => continue,
        };
        if compares {
            tokens[at - 1] = Token::word(verb);
        }
    }
    tokens
}

/// "Stop X from starting" is "prevent X from starting".
fn prevented(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 0..tokens.len() {
        let from = (at + 2..tokens.len().min(at + REACH))
            .take_while(|&place| !is_break(&tokens[place]))
            .find(|&place| is_word(tokens.get(place), &["from"]));
        let doing = from
            .and_then(|from| tokens.get(from + 1))
            .is_some_and(is_gerund);
        if doing && is_word(tokens.get(at), &["stop", "keep"]) {
            tokens[at] = Token::word("prevent");
        }
    }
    tokens
}

/// Participles of what an owner has others do: "how do I get my passport renewed".
const SERVICES: [&str; 8] = [
    "renewed",
    "repaired",
    "fixed",
    "verified",
    "unlocked",
    "replaced",
    "cleaned",
    "translated",
];

/// "How do I get my passport renewed" is "how do I renew my passport".
fn renewed(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let owned = is_word(tokens.first(), &["@how"])
        && is_word(tokens.get(1), &["get"])
        && is_word(tokens.get(2), &["my", "the", "a", "our"]);
    let done = (4..end.min(2 + REACH)).find(|&at| is_word(tokens.get(at), &SERVICES));
    if let Some(at) = done.filter(|_| owned) {
        let verb = tokens.remove(at);
        tokens[1] = Token::word(TABLES.base(&verb.text));
    }
    tokens
}

/// "Why did X get declined" is "why was X declined". "Does it get locked" is no state, as "is it locked"
/// is, and "how do I get paid" is not "how do I pay".
fn gotten(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let get = (2..end.min(2 + REACH)).find(|&at| is_word(tokens.get(at), &["get"]));
    let Some(get) = get else {
        return tokens;
    };
    let done = tokens.get(get + 1).is_some_and(|next| {
        let participle =
            next.text.ends_with("ed") || TABLES.participles.contains(next.text.as_str());
        participle
            && !TABLES.fixed.contains(next.text.as_str())
            && !matches!(
                next.text.as_str(),
                "started" | "married" | "dressed" | "involved" | "lost" | "engaged" | "divorced"
            )
    });
    let why = is_word(tokens.first(), &["why", "@why"]);
    let aux = (0..get).find(|&at| {
        is_word(tokens.get(at), &["did", "will"]) || why && is_word(tokens.get(at), &["do", "does"])
    });
    let Some(aux) = aux.filter(|aux| *aux < 2 && done) else {
        return tokens;
    };
    let how = is_word(tokens.first(), &["how", "@how"]);
    let named = tokens[aux + 1..get]
        .iter()
        .all(|token| token.kind != TokenKind::Break && !super::frame::is_auxiliary(&token.text));
    if named && !how {
        match tokens[aux].text.as_str() {
            "will" => tokens[get] = Token::word("be"),
            past => {
                tokens[aux] = Token::word(if past == "did" { "was" } else { "is" });
                tokens.remove(get);
            }
        }
    }
    tokens
}

/// "Where do you store the backups" is "where are the backups stored". "Where do I store them" asks
/// for advice.
fn kept(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["where", "@where"])
        && is_word(tokens.get(1), &["do"])
        && is_word(tokens.get(2), &["you", "we", "they"]);
    if !asks {
        return tokens;
    }
    let verb = tokens.get(3).map(|verb| match verb.text.as_str() {
        "keep" => "kept".to_owned(),
        word => match word.strip_suffix('e') {
            Some(stem) => format!("{stem}ed"),
            None => format!("{word}ed"),
        },
    });
    let end = clause_end(&tokens, 3);
    if let Some(verb) =
        verb.filter(|_| is_word(tokens.get(3), &["keep", "store", "save", "host"]) && end > 4)
    {
        tokens.insert(end, Token::word(verb));
        tokens.splice(..4, words(&["where", "are"]));
    }
    tokens
}

/// "How many days does X take" is "how long does X take", in days.
fn lasted(mut tokens: Vec<Token>) -> Vec<Token> {
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
