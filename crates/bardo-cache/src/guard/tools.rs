//! Rewrites questions for a command, an option or a limit to one form: "which git command removes X" is
//! "how do I remove X with git", "how large can X be" asks for its maximum size.
//!
//! As in `clauses`, each rule names the words of its pattern.

use super::attributes::{WHAT, is_named, is_noun, mark};
use super::clauses::{REACH, is_break, is_word, words};
use super::questions::clause_end;
use super::recast::is_verb;
use super::scan::{Token, TokenKind};
use super::tables::TABLES;

/// The tokens with each known question in its common form.
pub(super) fn settled(tokens: Vec<Token>) -> Vec<Token> {
    let tokens = purposed(commanded(optioned(tokens)));
    let tokens = at_most(employed(tokens));
    let tokens = counted(limited(tokens));
    paid(taxed(sized(tokens)))
}

fn is_software(token: &Token) -> bool {
    let class = TABLES.classes.get(TABLES.canonical(&token.text).as_str());
    class == Some(&"software") && token.kind == TokenKind::Word
        || token.is_word("linux")
        || token.is_word("kubectl")
        || token.is_word("bash")
        || token.is_word("sql")
}

/// "What is the git command that removes X" is "how do I remove X with git".
fn commanded(mut tokens: Vec<Token>) -> Vec<Token> {
    let command = tokens
        .iter()
        .take(6)
        .position(|token| is_word(Some(token), &["command", "commands", "statement"]));
    let Some(at) = command.filter(|at| *at > 1 && is_word(tokens.first(), &WHAT)) else {
        return tokens;
    };
    let tool = at - 1;
    let opens = tokens[1..tool]
        .iter()
        .all(|token| is_word(Some(token), &["the", "is", "a"]));
    if !opens || !is_software(&tokens[tool]) {
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
        Some(_) if tool == 1 => match (at + 1..at + 6).find(|&to| is_word(tokens.get(to), &["to"]))
        {
            Some(to)
                if tokens[at + 1..to].iter().all(|token| {
                    is_word(
                        Some(token),
                        &["do", "should", "can", "i", "you", "use", "run"],
                    )
                }) =>
            {
                to + 1
            }
            _ => at + 1,
        },
        _ => return tokens,
    };
    let does = tokens.get(verb).is_some_and(|token| {
        token.kind == TokenKind::Word
            && TABLES.is_verb(&TABLES.base(&token.text))
            && !super::frame::is_auxiliary(&token.text)
    });
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

/// "The --dry-run flag" is "--dry-run".
fn optioned(mut tokens: Vec<Token>) -> Vec<Token> {
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

/// "What the flag does" is "what does the flag do".
fn purposed(mut tokens: Vec<Token>) -> Vec<Token> {
    let from = 1;
    let end = clause_end(&tokens, from.min(tokens.len()));
    let last = (2..end).find(|&at| is_word(tokens.get(at), &["do", "does"]));
    let Some(last) = last.filter(|_| is_word(tokens.first(), &["what", "@what"])) else {
        return tokens;
    };
    let told = is_word(tokens.get(last), &["does"]) && last + 1 == end;
    if told && is_named(&tokens[from..last]) {
        let mut found = words(&["what", "does"]);
        found.extend_from_slice(&tokens[from..last]);
        found.push(Token::word("do"));
        found.extend(tokens.drain(end..));
        return found;
    }
    tokens
}

/// "Which flag do I use to enable it" is "which flag enables it".
fn employed(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let to = (4..end.min(1 + REACH)).find(|&at| is_word(tokens.get(at), &["to"]));
    let Some(to) = to.filter(|_| is_word(tokens.first(), &WHAT)) else {
        return tokens;
    };
    let aux = to - 3;
    let uses = is_word(tokens.get(aux), &["do", "can"])
        && is_word(tokens.get(aux + 1), &["i", "you", "we"])
        && is_word(tokens.get(aux + 2), &["use"]);
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

/// "How large can X be" and "how long can a password be" ask for a maximum.
fn at_most(mut tokens: Vec<Token>) -> Vec<Token> {
    let (from, attribute) = match tokens.first().map(|first| first.text.as_str()) {
        Some("@what") if is_word(tokens.get(1), &["size"]) => (2, "size"),
        Some("@howlong") => (1, "length"),
        _ => return tokens,
    };
    let end = clause_end(&tokens, from);
    let be = end.checked_sub(1).filter(|be| {
        *be > from + 1 && is_word(tokens.get(*be), &["be"]) && is_word(tokens.get(from), &["can"])
    });
    if let Some(be) = be
        && is_named(&tokens[from + 1..be])
    {
        tokens.remove(be);
        tokens.splice(..=from, words(&["@what", "maximum", attribute, "of"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "The upload size limit" is "the maximum upload size".
fn sized(mut tokens: Vec<Token>) -> Vec<Token> {
    let limit = (1..tokens.len()).find(|&at| {
        is_word(tokens.get(at), &["size", "length"])
            && is_word(tokens.get(at + 1), &["limit", "limits"])
    });
    let Some(at) = limit.filter(|_| is_word(tokens.first(), &WHAT)) else {
        return tokens;
    };
    let the = tokens[..at].iter().rposition(|token| {
        TABLES.determiners.contains(token.text.as_str())
            || TABLES.prepositions.contains_key(token.text.as_str())
            || is_word(Some(token), &["@what", "what", "is"])
    });
    if let Some(the) = the
        && is_noun(&tokens[the + 1..=at])
    {
        tokens.remove(at + 1);
        tokens.insert(the + 1, Token::word("maximum"));
    }
    tokens
}

/// "What is the maximum number of X I can have" is "how many X can I have".
fn limited(mut tokens: Vec<Token>) -> Vec<Token> {
    let from = usize::from(is_word(tokens.get(1), &["is"])) + 1;
    let from = from + usize::from(is_word(tokens.get(from), &["the"]));
    // "The number of" is a question word by now.
    let number = is_word(tokens.first(), &WHAT)
        && is_word(tokens.get(from), &["maximum", "max"])
        && is_word(tokens.get(from + 1), &["@howmany"]);
    let end = clause_end(&tokens, (from + 2).min(tokens.len()));
    let can = (from + 3..end).find(|&at| is_word(tokens.get(at), &["can"]));
    if let Some(can) = can.filter(|_| number) {
        let who = is_word(tokens.get(can - 1), &["i", "you", "we"]);
        if is_noun(&tokens[from + 2..can - usize::from(who)]) {
            tokens.splice(..from + 2, words(&["@howmany"]));
            tokens.push(mark(false));
        }
    }
    tokens
}

/// What a program is given up to a limit.
const RESOURCES: [&str; 6] = ["memory", "ram", "cpu", "storage", "bandwidth", "swap"];

/// "How much memory can X use" asks for the memory limit of X.
fn counted(tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["@howmuch"]) && is_word(tokens.get(1), &RESOURCES);
    let end = clause_end(&tokens, 2.min(tokens.len()));
    let can =
        is_word(tokens.get(2), &["can"]) && is_word(tokens.get(end.saturating_sub(1)), &["use"]);
    let allowed = tokens.get(end).is_some_and(|next| next.text == "@can")
        && is_word(tokens.get(2), &["is", "are"])
        && is_word(tokens.get(end + 1), &["use"])
        && tokens[end + 2..]
            .iter()
            .all(|token| is_break(token) || token.text == "@is");
    let named = match (can, allowed) {
        (true, _) => 3..end - 1,
        (_, true) => 3..end,
        _ => return tokens,
    };
    if asks && named.start < named.end && is_named(&tokens[named.clone()]) {
        let mut found = words(&["@what", &tokens[1].text, "limit", "of"]);
        found.extend_from_slice(&tokens[named]);
        found.push(mark(false));
        return found;
    }
    tokens
}

/// "Are stock gains taxable" is "must I pay tax on stock gains".
fn taxed(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let taxed = (2..end.min(1 + REACH)).find(|&at| is_word(tokens.get(at), &["taxable", "taxed"]));
    if let Some(at) = taxed
        && is_word(tokens.first(), &["is", "are"])
        && is_named(&tokens[1..at])
        && super::attributes::goes_on(&tokens, at + 1)
    {
        let mut found = words(&["@must", "i", "pay", "tax", "on"]);
        found.extend_from_slice(&tokens[1..at]);
        found.extend(tokens.drain(at + 1..));
        return found;
    }
    tokens
}

/// "What did X pay for Y" is "how much did X pay for Y".
fn paid(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let asks = is_word(tokens.first(), &["what"]) && is_word(tokens.get(1), &["did", "does", "do"]);
    let pay = (3..end.min(2 + REACH)).find(|&at| is_word(tokens.get(at), &["pay-for", "pay"]));
    if let Some(at) = pay.filter(|_| asks)
        && is_named(&tokens[2..at])
        && (tokens[at].is_word("pay-for") || is_word(tokens.get(at + 1), &["to"]))
        && at + 1 < end
    {
        tokens[0] = Token::word("@howmuch");
        if is_word(tokens.get(at + 2), &["buy", "acquire", "purchase"]) {
            tokens.splice(at..at + 3, words(&["pay-for"]));
        }
    }
    tokens
}
