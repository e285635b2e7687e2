//! Rewrites whole clauses to one form: statements with a question behind them, "does X have Y", "what
//! effect does X have on Y", adjectives behind their noun, verbs that carry a noun.
//!
//! Each rule names the words of its pattern, so a clause that only resembles it stays as it is.

use super::scan::{Token, TokenKind};
use super::tables::TABLES;
use super::{attributes, manner, permissions, questions, recast, tools};

/// The most words of a subject between two words of a pattern.
pub(super) const REACH: usize = 8;

/// The tokens with each known clause in its common form.
pub(super) fn settled(tokens: Vec<Token>) -> Vec<Token> {
    let tokens = manner::settled(tools::settled(recast::settled(titled(tokens))));
    let tokens = wanted(wished(stated(tokens)));
    let tokens = freed(owned(tokens));
    let tokens = used(tokens);
    let tokens = affected(tokens);
    let tokens = turned(tokens);
    let tokens = permissions::settled(attributes::settled(tokens));
    let tokens = asked_for(able(tokens));
    let tokens = questions::settled(tokens);
    let tokens = postposed(tokens);
    carried(tokens)
}

pub(super) fn is_word(token: Option<&Token>, words: &[&str]) -> bool {
    token.is_some_and(|token| token.kind == TokenKind::Word && words.contains(&token.text.as_str()))
}

pub(super) fn is_break(token: &Token) -> bool {
    token.kind == TokenKind::Break
}

pub(super) fn words(list: &[&str]) -> Vec<Token> {
    list.iter().map(|word| Token::word(*word)).collect()
}

/// "Reversing a string": a title without another verb asks how it is done.
fn titled(mut tokens: Vec<Token>) -> Vec<Token> {
    let first = tokens.first().filter(|first| first.kind == TokenKind::Word);
    let gerund = first.is_some_and(|first| {
        first.text.ends_with("ing") && TABLES.is_verb(&TABLES.base(&first.text))
    });
    let object = is_word(tokens.get(1), &["a", "an", "the", "my"]);
    let asks = tokens
        .iter()
        .any(|token| token.text.starts_with('@') || super::frame::is_auxiliary(&token.text));
    if gerund && object && !asks {
        tokens.insert(0, Token::word("@how"));
    }
    tokens
}

/// "I want to X, how do I do that?" asks how to X, and "X happened, what should I do?" what to do if
/// X happened.
fn stated(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = tokens
        .iter()
        .rposition(|token| !is_break(token) && !token.text.starts_with("@is"));
    let Some(cut) = end.and_then(|end| tokens[..end].iter().rposition(is_break)) else {
        return tokens;
    };
    let question: Vec<&str> = tokens[cut..]
        .iter()
        .filter(|token| !is_break(token) && token.text != "@is")
        .map(|token| token.text.as_str())
        .collect();
    let one_clause = !tokens[..cut].iter().any(is_break);
    let done = matches!(
        question[..],
        ["@how" | "how"]
            | ["@how", "do", "it" | "that" | "this" | "so"]
            | ["how", "does", "it" | "that" | "this", "work"]
            | ["@how", "proceed"]
            | ["@how", "go", "about", "it" | "that" | "this"]
    );
    let sought = matches!(
        question[..],
        ["where" | "@where", "is", "it"] | ["where" | "@where", "are", "they"]
    );
    let fixed = matches!(
        question[..],
        ["@how", "fix" | "solve" | "resolve", "it" | "that" | "this"]
    );
    if one_clause && done && is_word(tokens.first(), &["@how"]) {
        tokens.truncate(cut);
        tokens.push(Token::word("@is"));
    } else if one_clause && done {
        let wish: &[&[&str]] = &[
            &["i", "want"],
            &["i", "@must"],
            &["i", "would", "like", "to"],
            &["i", "am", "trying", "to"],
            &["i", "try", "to"],
        ];
        let found = wish.iter().find(|wish| starts_with(&tokens, wish));
        if let Some(wish) = found {
            tokens.truncate(cut);
            tokens.drain(..wish.len());
            tokens.insert(0, Token::word("@how"));
            tokens.push(Token::word("@is"));
        }
    } else if one_clause
        && states(&tokens)
        && matches!(question[..], ["@how", _, _, ..])
        && !question.contains(&"it")
    {
        let mut found: Vec<Token> = tokens.drain(cut + 1..).collect();
        tokens.pop();
        while found.last().is_some_and(is_break) {
            found.pop();
        }
        found.push(Token::word("if"));
        found.append(&mut tokens);
        return found;
    } else if one_clause && sought {
        let search: &[&[&str]] = &[
            &["i", "@can", "not", "find"],
            &["i", "can", "not", "find"],
            &["i", "am", "search"],
        ];
        if let Some(search) = search.iter().find(|words| starts_with(&tokens, words)) {
            tokens.truncate(cut);
            tokens.splice(..search.len(), words(&["@where"]));
            tokens.push(Token::word("@is"));
        }
    } else if one_clause
        && (matches!(question[..], ["@what", "whatdo" | "whatcan"]) || fixed)
        && states(&tokens)
    {
        let may = question[..] == ["@what", "whatcan"];
        tokens.truncate(cut);
        let done = if may { "whatcan" } else { "whatdo" };
        tokens.splice(..0, words(&["@what", done, "if"]));
        tokens.push(Token::word("@is"));
    }
    tokens
}

/// "I want to cancel my order" asks how. Of a thing of another one it may be an order.
fn wanted(mut tokens: Vec<Token>) -> Vec<Token> {
    let verb = tokens.get(2).is_some_and(|verb| {
        verb.kind == TokenKind::Word && TABLES.is_verb(&TABLES.base(&verb.text))
    });
    let single = tokens
        .iter()
        .rposition(|token| !is_break(token))
        .is_some_and(|end| {
            !tokens[..end]
                .iter()
                .any(|token| is_break(token) || token.text.starts_with('@'))
        });
    if starts_with(&tokens, &["i", "want"]) && verb && is_word(tokens.get(3), &["my"]) && single {
        tokens.splice(..2, words(&["@how"]));
    }
    tokens
}

/// "What do I do if I want to X" asks how to X, also where "if I want to X" stood first.
fn wished(mut tokens: Vec<Token>) -> Vec<Token> {
    let heads: &[&[&str]] = &[
        &["@what", "whatdo"],
        &["@what", "whatcan"],
        &["@how", "do", "it"],
        &["@how", "do", "that"],
        &["@how", "do", "this"],
    ];
    let Some(head) = heads.iter().find(|head| starts_with(&tokens, head)) else {
        return tokens;
    };
    let passed = |token: &&Token| is_break(token) || token.text == "@is";
    let from = head.len() + tokens[head.len()..].iter().take_while(passed).count();
    let wishes = ["if", "i", "want"]
        .iter()
        .enumerate()
        .all(|(at, word)| is_word(tokens.get(from + at), &[word]));
    if wishes && tokens.len() > from + 3 {
        tokens.splice(..from + 3, words(&["@how"]));
    }
    tokens
}

fn starts_with(tokens: &[Token], list: &[&str]) -> bool {
    tokens.len() > list.len()
        && tokens
            .iter()
            .zip(list)
            .all(|(token, word)| token.is_word(word))
}

fn states(tokens: &[Token]) -> bool {
    is_word(tokens.first(), &["i", "my", "the", "we", "our"])
}

/// "Does the hotel have parking" is "is there parking in the hotel".
fn owned(mut tokens: Vec<Token>) -> Vec<Token> {
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
    let verb = (2..tokens.len().min(REACH)).find(|&at| is_word(tokens.get(at), &["have", "has"]));
    let Some(verb) = verb.filter(|_| subject) else {
        return tokens;
    };
    let plain = tokens[1..verb].iter().all(|token| {
        token.kind == TokenKind::Word
            && !token.text.starts_with('@')
            && !matches!(token.text.as_str(), "not" | "and" | "or" | "that" | "which")
            && !TABLES.prepositions.contains_key(token.text.as_str())
    });
    let end = tokens[verb..]
        .iter()
        .position(is_break)
        .map_or(tokens.len(), |cut| verb + cut);
    let object = tokens.get(verb + 1..end).unwrap_or_default();
    if !plain || object.is_empty() || is_word(object.first(), &["to", "been", "not", "no"]) {
        return tokens;
    }
    let mut found = words(&["is", "there"]);
    found.extend_from_slice(object);
    found.push(Token::word("in"));
    found.extend_from_slice(&tokens[1..verb]);
    found.extend(tokens.drain(end..));
    found
}

/// "Is there free parking" is "is parking free", and neither is "parking in the free zone".
fn freed(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["is", "are"]) {
        return tokens;
    }
    let ends = |token: &Token| {
        token.kind != TokenKind::Word
            || token.text.starts_with('@')
            || TABLES.prepositions.contains_key(token.text.as_str())
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

/// "Use X to import Y" is "import Y with X".
fn used(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some(at) = tokens
        .iter()
        .position(|token| is_word(Some(token), &["use"]))
    else {
        return tokens;
    };
    let to = (at + 2..tokens.len().min(at + REACH))
        .take_while(|&place| tokens[place].kind != TokenKind::Break)
        .find(|&place| is_word(tokens.get(place), &["to"]));
    let verb = |place: usize| {
        tokens.get(place + 1).is_some_and(|verb| {
            verb.kind == TokenKind::Word && TABLES.is_verb(&TABLES.base(&verb.text))
        })
    };
    let Some(to) = to.filter(|&to| verb(to)) else {
        return tokens;
    };
    let starts = at == 0 || tokens[at - 1].text == "@how" || is_word(tokens.get(at - 1), &["i"]);
    let plain = tokens[at + 1..to].iter().all(|token| {
        !token.text.starts_with('@')
            && !TABLES.prepositions.contains_key(token.text.as_str())
            && !super::frame::is_auxiliary(&token.text)
    });
    if starts && plain {
        let end = tokens[to..]
            .iter()
            .position(|token| is_break(token) || token.text.starts_with('@'));
        let end = end.map_or(tokens.len(), |end| to + end);
        let tool: Vec<Token> = tokens.drain(at..=to).collect();
        let end = end - tool.len();
        let with = words(&["with"])
            .into_iter()
            .chain(tool[1..tool.len() - 1].iter().cloned());
        tokens.splice(end..end, with);
    }
    tokens
}

/// "What effect does X have on Y" and "what is the effect of X on Y" are "how does X affect Y".
fn affected(mut tokens: Vec<Token>) -> Vec<Token> {
    let noun = |at: usize| {
        tokens.get(at).is_some_and(|token| {
            matches!(
                TABLES.base(&token.text).as_str(),
                "effect" | "impact" | "influenc"
            )
        })
    };
    let asks = is_word(tokens.first(), &["what", "which", "@what"]);
    let on = tokens
        .iter()
        .position(|token| is_word(Some(token), &["on"]));
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
    found.push(Token::word(if past { "@was" } else { "@is" }));
    found
}

/// "Turn X into Y" is "convert X to Y".
fn turned(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 0..tokens.len() {
        if !is_word(tokens.get(at), &["turn", "change", "transform", "convert"]) {
            continue;
        }
        let into = (at + 2..tokens.len().min(at + REACH))
            .take_while(|&place| !is_break(&tokens[place]))
            .find(|&place| is_word(tokens.get(place), &["into"]));
        if let Some(into) = into {
            tokens[at] = Token::word("convert");
            tokens[into] = Token::word("to");
        }
    }
    tokens
}

/// "Is X configurable" is "can X be configured".
fn able(mut tokens: Vec<Token>) -> Vec<Token> {
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
        && (last == Some(at)
            || tokens
                .get(at + 1)
                .is_some_and(|next| TABLES.prepositions.contains_key(next.text.as_str())))
    {
        tokens[0] = Token::word("can");
        tokens[at] = Token::word(verb);
        tokens.insert(at, Token::word("be"));
        tokens.push(Token::word("@is"));
    }
    tokens
}

/// "Which methods do you accept" is "which methods are accepted".
fn asked_for(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["what", "which", "@what"]) {
        return tokens;
    }
    let aux = (2..tokens.len().min(REACH)).find(|&at| is_word(tokens.get(at), &["do", "does"]));
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
        &["i", "you", "we", "they", "people"]
    } else {
        &["you"]
    };
    let person = is_word(tokens.get(aux), &["do"]) && is_word(tokens.get(aux + 1), anyone)
        || is_word(tokens.get(aux), &["does"]) && is_word(tokens.get(aux + 1), &["it"]);
    let verb = tokens.get(aux + 2).filter(|verb| {
        verb.kind == TokenKind::Word
            && !matches!(verb.text.as_str(), "have" | "be" | "do" | "get")
            && TABLES.is_verb(&TABLES.base(&verb.text))
    });
    let last = tokens.get(aux + 3).is_none_or(|next| {
        is_break(next) || next.text.starts_with('@') || is_word(Some(next), &["to", "for", "in"])
    });
    let ended = verb.map(|verb| match verb.text.strip_suffix('e') {
        Some(stem) => format!("{stem}ed"),
        None => format!("{}ed", verb.text),
    });
    if let Some(verb) = ended.filter(|_| plain && person && last) {
        tokens.splice(aux..aux + 3, words(&["are", &verb]));
    }
    tokens
}

/// "A query that is slow" is "a slow query".
fn postposed(mut tokens: Vec<Token>) -> Vec<Token> {
    let mut at = 1;
    while at + 2 < tokens.len() {
        let relative = is_word(tokens.get(at), &["that", "which"])
            && is_word(tokens.get(at + 1), &["is", "are"])
            && tokens[at - 1].kind == TokenKind::Word
            && !tokens[at - 1].text.starts_with('@');
        let adjective = &tokens[at + 2];
        let simple = adjective.kind == TokenKind::Word
            && !adjective.text.starts_with('@')
            && !TABLES.stop.contains(adjective.text.as_str())
            && !TABLES.determiners.contains(adjective.text.as_str())
            && !TABLES.prepositions.contains_key(adjective.text.as_str())
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
                    || TABLES.prepositions.contains_key(token.text.as_str())
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

/// "Perform a restart of X" is "restart X", and "keeps crashing" is "crashes".
fn carried(tokens: Vec<Token>) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let mut noun = at + 1;
        if is_word(tokens.get(noun), &["a", "an", "the"]) {
            noun += 1;
        }
        let carries = tokens.get(noun).is_some_and(|token| {
            token.kind == TokenKind::Word
                && carries(&tokens[at].text, &token.text)
                && (noun > at + 1 || !tokens[at].is_word("do"))
        });
        // "Keep the job running" and "how do I keep running" mean another thing.
        let repeats = is_word(tokens.first(), &["@why", "why"])
            && is_word(tokens.get(1), &["do", "does", "did"]);
        let keeps = (is_word(tokens.get(at), &["keeps"])
            || repeats && is_word(tokens.get(at), &["keep"]))
            && tokens
                .get(at + 1)
                .is_some_and(|next| next.text.ends_with("ing"));
        // "Make a POST request" is "send a POST request".
        let requests = is_word(tokens.get(at), &["make", "making"])
            && (at + 2..at + 5).any(|place| is_word(tokens.get(place), &["request", "requests"]))
            && !is_word(tokens.get(at + 2), &["to", "for"]);
        if requests {
            let sends = tokens[at].is_word("make");
            found.push(Token::word(if sends { "send" } else { "sending" }));
            at += 1;
        } else if carries {
            found.push(tokens[noun].clone());
            at = noun + 1;
            if is_word(tokens.get(at), &["of", "on"]) {
                at += 1;
            }
        } else if keeps {
            at += 1;
        } else {
            found.push(tokens[at].clone());
            at += 1;
        }
    }
    found
}

/// Whether a verb with a noun behind it says what the noun alone says: to "run a test" is to test, and
/// to "make a test" is not.
fn carries(verb: &str, noun: &str) -> bool {
    let named = match verb {
        "do" | "perform" => true,
        "run" => matches!(
            noun,
            "test"
                | "search"
                | "update"
                | "upgrade"
                | "check"
                | "backup"
                | "restore"
                | "comparison"
                | "calculation"
                | "conversion"
                | "migration"
                | "installation"
                | "deployment"
        ),
        "make" => matches!(
            noun,
            "payment"
                | "purchase"
                | "deposit"
                | "withdrawal"
                | "transfer"
                | "donation"
                | "comparison"
                | "calculation"
                | "conversion"
                | "backup"
                | "trade"
                | "swap"
                | "search"
                | "cancellation"
                | "summary"
                | "description"
                | "return"
                | "update"
        ),
        "give" | "provide" => matches!(
            noun,
            "explanation" | "summary" | "description" | "comparison" | "review"
        ),
        _ => false,
    };
    named && TABLES.nominal.contains(noun)
}
