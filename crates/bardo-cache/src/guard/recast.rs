//! Rewrites questions whose clause is built in another way to one form: "does X let me Y" is "can I Y in
//! X", "what stops X from being Y" is "why can X not be Y", "X was painted by whom" is "by whom was X
//! painted".
//!
//! As in `clauses`, each rule names the words of its pattern.

use super::attributes::{goes_on, is_named, is_noun, mark};
use super::clauses::{REACH, is_break, is_word, words};
use super::permissions::is_gerund;
use super::questions::clause_end;
use super::scan::{Token, TokenKind};
use super::tables::TABLES;

const BE: [&str; 4] = ["is", "are", "was", "were"];

/// The tokens with each known question in its common form.
pub(super) fn settled(tokens: Vec<Token>) -> Vec<Token> {
    let tokens = by_whom(stranded(trailing(tokens)));
    let tokens = possible(reasoned(tokens));
    let tokens = hindered(permitting(tokens));
    let tokens = happening(lasting(tokens));
    let tokens = caused(aged(tokens));
    let tokens = recommended(changing(offered(tokens)));
    translated(accepted(eaten(tokens)))
}

pub(super) fn is_participle(token: &Token) -> bool {
    token.kind == TokenKind::Word
        && (token.text.ends_with("ed") && !TABLES.fixed.contains(token.text.as_str())
            || TABLES.participles.contains(token.text.as_str()))
}

pub(super) fn is_verb(token: Option<&Token>) -> bool {
    token.is_some_and(|token| {
        token.kind == TokenKind::Word && TABLES.verbs.contains(token.text.as_str())
    })
}

/// "Password reset how to" is "how to password reset".
fn trailing(mut tokens: Vec<Token>) -> Vec<Token> {
    let last = tokens.iter().rposition(|token| !is_break(token));
    let asks =
        |token: &Token| token.text.starts_with('@') || super::frame::is_auxiliary(&token.text);
    if let Some(last) = last.filter(|last| *last > 0)
        && tokens[last].is_word("@how")
        && !tokens[..last]
            .iter()
            .any(|token| asks(token) || is_break(token))
    {
        tokens.truncate(last);
        tokens.insert(0, Token::word("@how"));
        tokens.push(mark(false));
    }
    tokens
}

/// "Under which license is X published" is "which license is X published under".
fn stranded(mut tokens: Vec<Token>) -> Vec<Token> {
    let first = is_word(
        tokens.first(),
        &[
            "under", "with", "from", "by", "in", "on", "of", "about", "for", "to",
        ],
    );
    let asks = is_word(tokens.get(1), &["which", "what"]);
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let aux = tokens[..end.max(1).min(tokens.len())]
        .iter()
        .any(|token| super::frame::is_auxiliary(&token.text));
    if first && asks && aux && end > 4 {
        let preposition = tokens.remove(0);
        tokens.insert(end - 1, preposition);
    }
    // "Which colors is it available in" are those that are available.
    let open = is_word(tokens.first(), &["which", "what"]) && end > 2;
    if open
        && is_word(tokens.get(end - 2), &["available"])
        && is_word(tokens.get(end - 1), &["in", "on"])
    {
        tokens.remove(end - 1);
    }
    tokens
}

/// "X was painted by whom" is "by whom was X painted".
fn by_whom(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 0);
    let by = end.checked_sub(2).filter(|by| {
        is_word(tokens.get(*by), &["by"]) && is_word(tokens.get(by + 1), &["whom", "who"])
    });
    let be = by.and_then(|by| (1..by).find(|&at| is_word(tokens.get(at), &BE)));
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

/// The words of the last clause, and the place of the break before it.
fn question(tokens: &[Token]) -> Option<(usize, Vec<&str>)> {
    let plain = |token: &&Token| !is_break(token) && token.text != "@is";
    let end = tokens.iter().rposition(|token| plain(&token))?;
    let cut = tokens[..end].iter().rposition(is_break)?;
    let words = tokens[cut..].iter().filter(plain);
    Some((cut, words.map(|token| token.text.as_str()).collect()))
}

/// "My laptop will not turn on. Why?" asks why it will not.
fn reasoned(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some((cut, asked)) = question(&tokens) else {
        return tokens;
    };
    let asks = matches!(
        asked[..],
        ["why" | "@why"]
            | ["why" | "@why", "is", "that" | "this" | "it"]
            | ["why" | "@why", "that" | "this" | "it"]
            | ["@what", "be", "the", "reason" | "cause"]
            | ["what", "can" | "could", "be", "the", "reason" | "cause"]
            | ["what", "is", "the", "reason" | "cause"]
    );
    let states = is_word(tokens.first(), &["my", "the", "our", "i"])
        && !tokens[..cut].iter().any(|token| {
            is_break(token)
                || token.text.starts_with('@')
                || is_word(
                    Some(token),
                    &["if", "when", "because", "but", "and", "what", "how"],
                )
        });
    if asks && states {
        tokens.truncate(cut);
        tokens.insert(0, Token::word("@why"));
    }
    tokens
}

/// "I want to pay by card, is that possible" is "can I pay by card".
fn possible(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some((cut, asked)) = question(&tokens) else {
        return tokens;
    };
    let asks = matches!(
        asked[..],
        [
            "is",
            "that" | "this" | "it",
            "possible" | "allowed" | "okay" | "ok" | "permitted"
        ] | ["can", "that" | "this" | "it", "be", "done"]
            | ["can", "i", "do", "that" | "this" | "it" | "so"]
    );
    let wishes = is_word(tokens.first(), &["i"])
        && is_word(tokens.get(1), &["want", "@must"])
        && is_verb(tokens.get(2))
        && !tokens[..cut].iter().any(is_break);
    if asks && wishes {
        tokens.truncate(cut);
        tokens.splice(..2, words(&["can", "i"]));
    }
    tokens
}

/// "Does X let me export data" is "can I export data in X".
fn permitting(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let lets = (2..end.min(1 + REACH))
        .find(|&at| is_word(tokens.get(at), &["let", "allow", "permit", "enable"]));
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

/// "What stops X from being executed" is "why can X not be executed".
fn hindered(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["what"])
        && is_word(tokens.get(1), &["stops", "prevents", "keeps", "blocks"]);
    let end = clause_end(&tokens, 2.min(tokens.len()));
    let from = (3..end.min(2 + REACH)).find(|&at| is_word(tokens.get(at), &["from"]));
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

/// Participles of what lasts once it is done: "has it been fixed" and "is it fixed".
const RESULTS: [&str; 9] = [
    "deprecated",
    "discontinued",
    "fixed",
    "resolved",
    "completed",
    "merged",
    "patched",
    "retired",
    "abolished",
];

/// "Has X been deprecated" is "is X deprecated", where no time, place or agent follows.
fn lasting(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let been = end.checked_sub(2).filter(|been| {
        *been > 1
            && is_word(tokens.get(*been), &["been"])
            && is_word(tokens.get(been + 1), &RESULTS)
    });
    let last = |token: &Token| is_break(token) || token.text == "@is";
    if let Some(been) = been.filter(|_| tokens[end..].iter().all(last))
        && is_word(tokens.first(), &["has"])
        && is_named(&tokens[1..been])
        && !tokens[1..been]
            .iter()
            .any(|token| is_word(Some(token), &["ever", "it", "already", "just", "only"]))
    {
        tokens.remove(been);
        tokens[0] = Token::word("is");
    }
    tokens
}

/// Participles of what happens and leaves no state of its own, as "locked" does.
const EVENTS: [&str; 10] = [
    "retried",
    "charged",
    "refunded",
    "notified",
    "billed",
    "sent",
    "triggered",
    "called",
    "executed",
    "logged",
];

/// "Does X get retried if Y" is "is X retried if Y", and "how X gets enabled" is "how is X enabled".
fn happening(mut tokens: Vec<Token>) -> Vec<Token> {
    let how = is_word(tokens.first(), &["how", "@how"]);
    let from = 1 + usize::from(is_word(tokens.get(1), &["does", "do"]));
    let end = clause_end(&tokens, from.min(tokens.len()));
    let get = (from + 1..end.min(from + REACH))
        .find(|&at| is_word(tokens.get(at), &["get", "gets"]))
        .filter(|&at| tokens.get(at + 1).is_some_and(is_participle));
    let Some(get) = get.filter(|get| is_named(&tokens[from..*get])) else {
        return tokens;
    };
    let person = is_word(
        tokens.get(from),
        &["i", "you", "we", "they", "he", "she", "people"],
    );
    let condition = tokens[get..]
        .iter()
        .any(|token| is_word(Some(token), &["if", "when"]));
    if person {
        return tokens;
    }
    if how {
        tokens.remove(get);
        tokens.splice(1..from, words(&["is"]));
    } else if is_word(tokens.first(), &["does", "do"])
        && condition
        && is_word(tokens.get(get + 1), &EVENTS)
    {
        tokens.remove(get);
        tokens[0] = Token::word("is");
    }
    tokens
}

/// "How old was X when she died" is "at what age did X die".
fn aged(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["@what"])
        && is_word(tokens.get(1), &["age"])
        && is_word(tokens.get(2), &["was", "were"]);
    let end = clause_end(&tokens, 3.min(tokens.len()));
    let when = (4..end.min(3 + REACH)).find(|&at| is_word(tokens.get(at), &["when"]));
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

/// "How do I get X to do it" is "how do I make X do it".
fn caused(mut tokens: Vec<Token>) -> Vec<Token> {
    let get = tokens.iter().take(3).position(|token| token.is_word("get"));
    let Some(get) = get.filter(|get| *get > 0 && is_word(tokens.first(), &["@how"])) else {
        return tokens;
    };
    let end = clause_end(&tokens, get);
    let to = (get + 3..end.min(get + REACH)).find(|&at| is_word(tokens.get(at), &["to"]));
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

/// "What colors does X come in" is "what colors is X available in".
fn offered(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let does = (2..end.min(4)).find(|&at| is_word(tokens.get(at), &["does", "do"]));
    let come = end.checked_sub(2).filter(|come| {
        is_word(tokens.get(*come), &["come"]) && is_word(tokens.get(come + 1), &["in"])
    });
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

/// "At what temperature does X boil" asks for the boiling point of X.
fn changing(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["what", "@what"])
        && is_word(tokens.get(1), &["temperature"])
        && is_word(tokens.get(2), &["does", "do"]);
    let end = clause_end(&tokens, 3.min(tokens.len()));
    let point = match tokens
        .get(end.saturating_sub(1))
        .map(|verb| verb.text.as_str())
    {
        Some("boil") => "boilingpoint",
        Some("melt") => "meltingpoint",
        Some("freeze") => "freezingpoint",
        _ => return tokens,
    };
    if asks && end > 4 && is_named(&tokens[3..end - 1]) {
        tokens.remove(end - 1);
        tokens.splice(..3, words(&["@what", point, "of"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "Which perfume do you recommend" is "what is a good perfume".
fn recommended(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let aux = (2..end.min(5)).find(|&at| is_word(tokens.get(at), &["do", "would"]));
    if let Some(aux) = aux
        && is_word(tokens.first(), &["what", "which"])
        && is_word(tokens.get(aux + 1), &["you"])
        && is_word(tokens.get(aux + 2), &["recommend", "suggest"])
        && is_noun(&tokens[1..aux])
        && goes_on(&tokens, aux + 3)
    {
        tokens.drain(aux..aux + 3);
        tokens.splice(..1, words(&["@what", "good"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "Are eggs safe to eat after a week" is "is it safe to eat eggs after a week".
fn eaten(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let safe =
        (2..end.min(6)).find(|&at| is_word(tokens.get(at), &["safe", "unsafe", "dangerous"]));
    if let Some(at) = safe
        && is_word(tokens.first(), &["is", "are"])
        && is_noun(&tokens[1..at])
        && !is_word(tokens.get(1), &["my", "it"])
        && is_word(tokens.get(at + 1), &["to"])
        && is_verb(tokens.get(at + 2))
        && tokens.get(at + 3).is_some_and(|next| {
            TABLES.prepositions.contains_key(next.text.as_str())
                || is_word(Some(next), &["after", "before", "during", "past", "while"])
        })
    {
        let thing: Vec<Token> = tokens.drain(1..at).collect();
        tokens.splice(4..4, thing);
    }
    tokens
}

/// "Is X accepted as collateral" is "can X be used as collateral".
fn accepted(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let verb = (2..end.min(1 + REACH))
        .find(|&at| is_word(tokens.get(at), &["accepted"]) && is_word(tokens.get(at + 1), &["as"]));
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

/// "How do you say X in French" is "translate X to French".
fn translated(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["@how"]) && is_word(tokens.get(1), &["say"]);
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let language = tokens
        .get(end.saturating_sub(1))
        .is_some_and(|last| TABLES.classes.get(last.text.as_str()) == Some(&"language"));
    let to = end.checked_sub(2).filter(|to| *to > 2);
    if let Some(to) = to.filter(|to| asks && language && is_word(tokens.get(*to), &["in"])) {
        tokens[to] = Token::word("to");
        tokens.splice(..2, words(&["translate"]));
        tokens.retain(|token| token.text != "@is");
    }
    tokens
}
