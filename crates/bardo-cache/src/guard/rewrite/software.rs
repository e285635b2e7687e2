//! Commands, options and defaults of programs: "which git command removes X" is "how do I remove X with
//! git".

use super::pattern::{
    REACH, WHAT, asked_of_noun, clause_end, is_form_of_verb, is_noun, is_of_class, is_verb,
    is_word, mark, noun_from, opens, place_of, place_of_row, row_before, stand_at, verb_behind,
    words,
};
use crate::guard::frame::is_auxiliary;
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// "What is the git command that removes X" is "how do I remove X with git".
pub(super) fn command_that_to_how_with(mut tokens: Vec<Token>) -> Vec<Token> {
    let command = place_of(&tokens, 0..6, &["command", "commands", "statement"]);
    let Some(at) = command.filter(|at| *at > 1 && is_word(tokens.first(), &WHAT)) else {
        return tokens;
    };
    let tool = at - 1;
    let plain = tokens[1..tool]
        .iter()
        .all(|token| is_word(Some(token), &["the", "is", "a"]));
    if !plain || !is_software(&tokens[tool]) {
        return tokens;
    }
    let verb = match tokens.get(at + 1).map(|next| next.text.as_str()) {
        Some("to" | "that" | "which") => at + 2,
        Some("for")
            if tokens
                .get(at + 2)
                .is_some_and(|next| next.text.ends_with("ing")) =>
        {
            at + 2
        }
        Some(_) if tool == 1 => {
            // "Which git command do I use to remove X".
            let used = ["do", "should", "can", "i", "you", "use", "run"];
            let uses = |token: &Token| is_word(Some(token), &used);
            match place_of(&tokens, at + 1..at + 6, &["to"]) {
                Some(to) if tokens[at + 1..to].iter().all(uses) => to + 1,
                _ => at + 1,
            }
        }
        _ => return tokens,
    };
    let does = tokens
        .get(verb)
        .is_some_and(|token| is_form_of_verb(token) && !is_auxiliary(&token.text));
    if does {
        let end = clause_end(&tokens, verb);
        let tool = tokens[tool].clone();
        tokens[verb] = Token::word(TABLES.base(&tokens[verb].text));
        tokens.splice(end..end, [Token::word("with"), tool]);
        tokens.splice(..verb, words(&["@how"]));
        tokens.push(mark(false));
    }
    tokens
}

/// Whether a token names a program, or what takes commands as a program does.
fn is_software(token: &Token) -> bool {
    is_program(token) && token.kind == TokenKind::Word
        || is_word(Some(token), &["linux", "kubectl", "bash", "sql"])
}

/// Whether a token stands for a program of the lists.
fn is_program(token: &Token) -> bool {
    TABLES.classes.get(TABLES.canonical(&token.text).as_str()) == Some(&"software")
}

/// "The --dry-run flag" is "--dry-run".
pub(super) fn option_noun_to_option(mut tokens: Vec<Token>) -> Vec<Token> {
    const NOUNS: [&str; 6] = ["flag", "option", "switch", "parameter", "argument", "flags"];
    let mut at = 1;
    while at < tokens.len() {
        let option = tokens[at - 1].kind == TokenKind::Path && tokens[at - 1].text.starts_with('-');
        if option && is_word(tokens.get(at), &NOUNS) {
            tokens.remove(at);
        }
        at += 1;
    }
    tokens
}

/// "Which flag do I use to enable it" is "which flag enables it".
pub(super) fn option_i_use_to_option_that_does(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let to = place_of(&tokens, 4..end.min(1 + REACH), &["to"]);
    let Some(to) = to.filter(|_| is_word(tokens.first(), &WHAT)) else {
        return tokens;
    };
    let aux = to - 3;
    let uses = stand_at(
        &tokens,
        aux,
        [&["do", "can"], &["i", "you", "we"], &["use"]],
    );
    let tool = aux > 1 && {
        let key = TABLES.canonical(&tokens[aux - 1].text);
        TABLES.tools.contains(&key) || matches!(&*key, "envvar" | "var" | "endpoint")
    };
    if uses && tool && is_noun(&tokens[1..aux]) && is_verb(tokens.get(to + 1)) {
        tokens.drain(aux..=to);
        tokens.push(mark(false));
    }
    tokens
}

/// "How do I make git ignore a folder" is "how do I ignore a folder in git".
pub(super) fn make_program_do_to_do_in_program(mut tokens: Vec<Token>) -> Vec<Token> {
    let makes = opens(&tokens, [&["@how"], &["make", "tell"]]);
    let program = tokens.get(2).is_some_and(is_program);
    if makes && program {
        let verb = 3 + usize::from(is_word(tokens.get(3), &["to"]));
        let end = clause_end(&tokens, verb);
        let does = is_verb(tokens.get(verb)) || is_word(tokens.get(verb), &["ignore"]);
        if does && end > verb + 1 {
            let program = tokens[2].clone();
            tokens.splice(end..end, [Token::word("in"), program]);
            tokens.drain(1..verb);
        }
    }
    tokens
}

/// "Which port is used by default" and "which port does X use by default" ask for the default port.
pub(super) fn used_by_default_to_default(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &WHAT) {
        return tokens;
    }
    let end = clause_end(&tokens, 1);
    let by = place_of_row(&tokens, 2..end.saturating_sub(1), [&["by"], &["default"]]);
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
    let found = match asked_of_noun(&tokens, &WHAT) {
        Some((aux, false)) => verb_behind(&tokens, aux + 1, &["use"])
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

/// "How long is the timeout by default" is "how long is the default timeout".
pub(super) fn last_by_default_to_default(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let by = row_before(&tokens, end, [&["by"], &["default"]]);
    let is = opens(&tokens, [&["@howlong"], &["is"], &["the"]]);
    if let Some(by) = by.filter(|by| is && *by > 3)
        && is_noun(&tokens[3..by])
    {
        tokens.drain(by..by + 2);
        tokens.insert(3, Token::word("default"));
    }
    tokens
}

/// "What does `x` do", "what is `x` for" and "explain the command `x`" ask what `x` is.
pub(super) fn code_does_to_what_is(mut tokens: Vec<Token>) -> Vec<Token> {
    const KINDS: [&str; 6] = [
        "command",
        "formula",
        "expression",
        "snippet",
        "statement",
        "regex",
    ];
    let code = |token: Option<&Token>| token.is_some_and(|token| token.kind == TokenKind::Code);
    let end = clause_end(&tokens, 1);
    let does = opens(&tokens, [&["what"], &["do", "does"]]).then(|| {
        let verb = place_of(&tokens, 3..end, &["do", "mean"])?;
        let last = verb + 1 == end || is_word(tokens.get(verb + 1), &["in"]);
        (last && verb == 3).then_some(verb)
    });
    if let Some(verb) = does.flatten().filter(|_| code(tokens.get(2))) {
        tokens.remove(verb);
        tokens.splice(..2, words(&["@what"]));
        tokens.push(mark(false));
        return tokens;
    }
    let is = usize::from(opens(&tokens, [&["what"], &["is"]])) + 1;
    if !is_word(tokens.first(), &["what", "@what"]) {
        return tokens;
    }
    let the = is + usize::from(is_word(tokens.get(is), &["the", "this"]));
    let asks = is_word(tokens.get(the), &["purpose", "effect", "meaning"])
        && is_word(tokens.get(the + 1), &["of"]);
    let from = if asks { the + 2 } else { the };
    let kind = usize::from(is_word(tokens.get(from), &KINDS));
    if code(tokens.get(from + kind)) && (asks || kind > 0) {
        tokens.splice(..from + kind, words(&["@what"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "Java's garbage collection" is "garbage collection in Java".
pub(super) fn languages_thing_to_thing_in(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some(at) =
        place_of_row(&tokens, 0..tokens.len(), [&["@s"]]).and_then(|at| at.checked_sub(1))
    else {
        return tokens;
    };
    let language = is_of_class(&tokens[at], "language");
    let goes_on = |token: &Token| {
        token.kind == TokenKind::Word
            && !token.text.starts_with('@')
            && !is_word(
                Some(token),
                &["work", "works", "in", "is", "are", "and", "or", "for"],
            )
            && !is_auxiliary(&token.text)
    };
    let thing = tokens[at + 2..]
        .iter()
        .take_while(|token| goes_on(token))
        .count();
    if language && (1..=3).contains(&thing) && is_noun(&tokens[at + 2..at + 2 + thing]) {
        let language = tokens.remove(at);
        tokens.remove(at);
        let works = usize::from(is_word(tokens.get(at + thing), &["work", "works"]));
        let to = at + thing + works;
        tokens.splice(to..to, [Token::word("in"), language]);
    }
    tokens
}
