//! What happens to a thing, and the state after it: "does X get retried" is "is X retried".

use super::pattern::{
    REACH, clause_end, ends_as_participle, is_break, is_listed, is_named, is_of_class,
    is_participle, is_word, opens, place_before_break, place_of, stand_at, words,
};
use crate::guard::frame::is_auxiliary;
use crate::guard::scan::Token;
use crate::guard::tables::TABLES;

/// "Has X been deprecated" is "is X deprecated", where no time, place or agent follows.
pub(super) fn has_been_done_to_is_done(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let been = end.checked_sub(2).filter(|been| {
        *been > 1
            && is_word(tokens.get(*been), &["been"])
            && is_listed(tokens.get(been + 1), &TABLES.results)
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

/// "Does X get retried if Y" is "is X retried if Y", and "how X gets enabled" is "how is X enabled".
pub(super) fn gets_done_to_is_done(mut tokens: Vec<Token>) -> Vec<Token> {
    let how = is_word(tokens.first(), &["how", "@how"]);
    let from = 1 + usize::from(is_word(tokens.get(1), &["does", "do"]));
    let end = clause_end(&tokens, from);
    let get = place_of(&tokens, from + 1..end.min(from + REACH), &["get", "gets"])
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
        && is_listed(tokens.get(get + 1), &TABLES.events)
    {
        tokens.remove(get);
        tokens[0] = Token::word("is");
    }
    tokens
}

/// "Who got paged" is "who was paged".
pub(super) fn who_got_done_to_was_done(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["who", "@who"], &["got"]]);
    let done = tokens.get(2).is_some_and(is_participle);
    if asks && done && !is_listed(tokens.get(2), &TABLES.gotten) {
        tokens[1] = Token::word("was");
    }
    tokens
}

/// "If the pool gets paused" is "if the pool is paused".
pub(super) fn if_gets_done_to_if_is_done(mut tokens: Vec<Token>) -> Vec<Token> {
    // "Why my payment got declined" is "why my payment was declined".
    let got = place_of(&tokens, 2..clause_end(&tokens, 1).min(REACH), &["got"]);
    if let Some(got) = got
        && is_word(tokens.first(), &["@why", "why"])
        && tokens.get(got + 1).is_some_and(is_participle)
        && is_named(&tokens[1..got])
    {
        tokens[got] = Token::word("was");
    }
    for at in 0..tokens.len() {
        if !is_word(
            tokens.get(at),
            &["if", "when", "happenif", "happenedif", "unless"],
        ) {
            continue;
        }
        let get = place_before_break(
            &tokens,
            at + 2..tokens.len().min(at + REACH),
            &["get", "gets"],
        );
        if let Some(get) = get
            && tokens.get(get + 1).is_some_and(is_participle)
            && !is_listed(tokens.get(get + 1), &TABLES.gotten)
            && !is_word(tokens.get(get + 1), &["used"])
            && !tokens[at + 1..get]
                .iter()
                .any(|token| is_auxiliary(&token.text) || token.is_word("not"))
        {
            tokens[get] = Token::word("is");
        }
    }
    tokens
}

/// "Why did X get declined" is "why was X declined". "Does it get locked" is no state, as "is it locked"
/// is, and "how do I get paid" is not "how do I pay".
pub(super) fn did_get_done_to_was_done(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let get = place_of(&tokens, 2..end.min(2 + REACH), &["get"]);
    let Some(get) = get else {
        return tokens;
    };
    let done = tokens.get(get + 1).is_some_and(|next| {
        ends_as_participle(next)
            && !TABLES.fixed.contains(next.text.as_str())
            && !TABLES.gotten.contains(next.text.as_str())
            && next.text != "dressed"
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
        .all(|token| !is_break(token) && !is_auxiliary(&token.text));
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

/// "How do I get my passport renewed" is "how do I renew my passport".
pub(super) fn get_renewed_to_renew(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let owned = opens(&tokens, [&["@how"], &["get"], &["my", "the", "a", "our"]]);
    let done = (4..end.min(2 + REACH)).find(|&at| is_listed(tokens.get(at), &TABLES.services));
    if let Some(at) = done.filter(|_| owned) {
        let verb = tokens.remove(at);
        tokens[1] = Token::word(TABLES.base(&verb.text));
    }
    tokens
}

/// "Will my insurance cover X" is "does it cover X", and "will checking my score lower it" is "does checking lower
/// it": they ask for a rule. "Will the Fed lower rates" asks what will happen.
pub(super) fn will_cover_to_covers(mut tokens: Vec<Token>) -> Vec<Token> {
    const THINGS: [&str; 2] = ["cover", "include"];
    const DEEDS: [&str; 3] = ["affect", "hurt", "lower"];
    let mine = is_word(tokens.get(1), &["my", "your", "our", "this", "these"]);
    let deed = tokens.get(1).is_some_and(|word| word.text.ends_with("ing"));
    let end = clause_end(&tokens, 0);
    let verb = (2..end.min(2 + REACH)).find(|&at| {
        let verb = tokens.get(at);
        mine && (is_word(verb, &THINGS) || stand_at(&tokens, at, [&["work"], &["with"]]))
            || deed && is_word(verb, &DEEDS)
    });
    if let Some(at) = verb
        && is_word(tokens.first(), &["will"])
        && is_named(&tokens[1..at])
        && !tokens[..end].iter().any(|token| is_of_class(token, "time"))
    {
        tokens[0] = Token::word("does");
    }
    tokens
}

/// "Is there an expiry date on X" is "do X expire".
pub(super) fn expiry_date_to_expire(mut tokens: Vec<Token>) -> Vec<Token> {
    let row: [&[&str]; 6] = [
        &["is"],
        &["there"],
        &["a", "an"],
        &["expiry", "expiration"],
        &["date"],
        &["on", "for"],
    ];
    let end = clause_end(&tokens, 6);
    if opens(&tokens, row) && end > 6 && is_named(&tokens[6..end]) {
        tokens.insert(end, Token::word("expire"));
        tokens.splice(..6, words(&["do"]));
    }
    tokens
}
