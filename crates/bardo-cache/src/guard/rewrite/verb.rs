//! A verb with other words that says what another verb says: "perform a restart" is "restart".

use super::pattern::{
    REACH, clause_end, is_break, is_end, is_form_of_verb, is_gerund, is_named, is_noun,
    is_of_class, is_word, mark, opens, place_before_break, place_of, place_of_row, row_before,
    words,
};
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// "Make X faster" is "speed up X".
pub(super) fn make_faster_to_speed_up(mut tokens: Vec<Token>) -> Vec<Token> {
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

/// "Turn X into Y" is "convert X to Y".
pub(super) fn turn_into_to_convert_to(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 0..tokens.len() {
        if !is_word(tokens.get(at), &["turn", "change", "transform", "convert"]) {
            continue;
        }
        let into = place_before_break(&tokens, at + 2..tokens.len().min(at + REACH), &["into"]);
        if let Some(into) = into {
            tokens[at] = Token::word("convert");
            tokens[into] = Token::word("to");
        }
    }
    tokens
}

/// "How do you say X in French" is "translate X to French".
pub(super) fn say_in_to_translate_to(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["@how"], &["say"]]);
    let end = clause_end(&tokens, 1);
    let language = tokens
        .get(end.saturating_sub(1))
        .is_some_and(|last| is_of_class(last, "language"));
    let to = end.checked_sub(2).filter(|to| *to > 2);
    if let Some(to) = to.filter(|to| asks && language && is_word(tokens.get(*to), &["in"])) {
        tokens[to] = Token::word("to");
        tokens.splice(..2, words(&["translate"]));
        tokens.retain(|token| token.text != "@is");
    }
    tokens
}

/// "What is the Japanese for 'thank you'" is "translate X to Japanese".
pub(super) fn language_for_to_translate(mut tokens: Vec<Token>) -> Vec<Token> {
    let at = usize::from(opens(&tokens, [&["what"], &["is"]])) + 1;
    let asks = is_word(tokens.first(), &["what", "@what"]);
    let language = tokens
        .get(at + 1)
        .filter(|word| is_of_class(word, "language"));
    let Some(language) = language
        .filter(|_| asks && is_word(tokens.get(at), &["the"]))
        .cloned()
    else {
        return tokens;
    };
    let word = is_word(tokens.get(at + 2), &["word"]);
    let of = at + 2 + usize::from(word);
    let end = clause_end(&tokens, of + 1);
    // "What is the Python for loop" and "the Latin word of the day".
    let quoted = tokens
        .get(of + 1)
        .is_some_and(|token| token.kind == TokenKind::Quote);
    if quoted && is_word(tokens.get(of), &["for"]) {
        tokens.splice(end..end, [Token::word("to"), language]);
        tokens.splice(..=of, words(&["translate"]));
        tokens.retain(|token| token.text != "@is");
    }
    tokens
}

/// "What distinguishes A from B" and "what sets A apart from B" ask how they differ.
pub(super) fn sets_apart_to_differ(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 2);
    let sets = opens(&tokens, [&["what"], &["sets"]]);
    let differs = opens(&tokens, [&["@what"], &["differ"]]);
    let from = place_of(&tokens, 3..end, &["from"]);
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

/// "TCP vs UDP: what is the difference" asks what "TCP vs UDP" asks.
pub(super) fn versus_how_to_versus(mut tokens: Vec<Token>) -> Vec<Token> {
    let compares = place_of_row(&tokens, 1..tokens.len(), [&["differ"], &["and"]]);
    // "Who would win, A or B" is another question.
    let compares = compares.filter(|at| is_noun(&tokens[..*at]));
    let cut = compares.and_then(|at| (at + 2..tokens.len()).find(|cut| is_break(&tokens[*cut])));
    let Some(cut) = cut else {
        return tokens;
    };
    let asked = tokens[cut..]
        .iter()
        .filter(|token| !is_end(token) || token.text == "@what");
    let asked: Vec<&str> = asked.map(|token| token.text.as_str()).collect();
    let differs = matches!(
        asked[..],
        ["what", "is", "the", "difference" | "distinction"]
            | ["what", "are", "the", "differences"]
            | ["how", "are", "they", "different"]
            | ["how", "do", "they", "differ"]
            | ["@what", "differ"]
    );
    if differs {
        tokens.truncate(cut);
    }
    tokens
}

/// "What does X look like" is "how does X look": the phrases have left "like" out.
pub(super) fn look_like_to_how_look(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["what"], &["do", "does"]]);
    let end = clause_end(&tokens, 2);
    let look = row_before(&tokens, end, [&["look"]]).filter(|at| *at > 2);
    if look.is_some_and(|at| is_named(&tokens[2..at])) && asks {
        tokens[0] = Token::word("how");
    }
    tokens
}

/// "Do eggs count as dairy" is "are eggs dairy".
pub(super) fn counts_as_to_is(mut tokens: Vec<Token>) -> Vec<Token> {
    let count = place_of_row(
        &tokens,
        2..tokens.len().min(2 + REACH),
        [&["count"], &["as"]],
    );
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
pub(super) fn get_stronger_to_become_stronger(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 1..tokens.len() {
        let compares = is_of_class(&tokens[at], "superlative") && tokens[at].text.ends_with('r')
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

/// "Make X stop barking" is "stop X from barking".
pub(super) fn make_stop_to_stop_from(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 0..tokens.len() {
        let stop = place_before_break(&tokens, at + 2..tokens.len().min(at + REACH), &["stop"]);
        let Some(stop) = stop.filter(|_| is_word(tokens.get(at), &["make"])) else {
            continue;
        };
        let named =
            is_named(&tokens[at + 1..stop]) && !tokens[at + 1..stop].iter().any(is_form_of_verb);
        if named && tokens.get(stop + 1).is_some_and(is_gerund) {
            tokens[stop] = Token::word("from");
            tokens[at] = Token::word("stop");
        }
    }
    tokens
}

/// "While searching" is "when searching".
pub(super) fn while_doing_to_when_doing(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 1..tokens.len() {
        if tokens[at - 1].is_word("while") && tokens[at].text.ends_with("ing") {
            tokens[at - 1] = Token::word("when");
        }
    }
    tokens
}

/// "Stop X from starting" is "prevent X from starting".
pub(super) fn stop_from_to_prevent_from(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 0..tokens.len() {
        let from = place_before_break(&tokens, at + 2..tokens.len().min(at + REACH), &["from"]);
        let doing = from
            .and_then(|from| tokens.get(from + 1))
            .is_some_and(is_gerund);
        if doing && is_word(tokens.get(at), &["stop", "keep"]) {
            tokens[at] = Token::word("prevent");
        }
    }
    tokens
}

/// "Perform a restart of X" is "restart X", and "keeps crashing" is "crashes".
pub(super) fn perform_noun_to_verb(tokens: Vec<Token>) -> Vec<Token> {
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
        let repeats = opens(&tokens, [&["@why", "why"], &["do", "does", "did"]]);
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
            // To "make a trade on Uniswap" is no trade of Uniswap.
            let venue = tokens
                .get(at + 1)
                .is_some_and(|next| is_of_class(next, "protocol") || is_of_class(next, "chain"));
            if is_word(tokens.get(at), &["of", "on"]) && !(venue && tokens[at].is_word("on")) {
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
    let any = matches!(verb, "do" | "perform");
    (any || TABLES.carried.contains(&(verb, noun))) && TABLES.nominal.contains(noun)
}
