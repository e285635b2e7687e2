//! Rewrites questions of how, why and where to one form: "how does X compute its Y" is "how is the Y of X
//! computed", "what drove X up" is "why did X rise", "get X out of Y" is "remove X from Y".
//!
//! As in `clauses`, each rule names the words of its pattern.

use super::attributes::{WHAT, goes_on, is_named, is_noun, mark};
use super::clauses::{REACH, is_break, is_word, words};
use super::questions::clause_end;
use super::recast::{is_participle, is_verb};
use super::scan::Token;
use super::tables::TABLES;

/// The tokens with each known question in its common form.
pub(super) fn settled(tokens: Vec<Token>) -> Vec<Token> {
    let tokens = fitting(happening_if(its_own(tokens)));
    let tokens = with_tool(moved(tokens));
    let tokens = by_default(matching(tokens));
    let tokens = living(spoken(tokens));
    let tokens = capital(speed(tokens));
    let tokens = told(counted(tokens));
    returning(dieting(currency(judged(tokens))))
}

/// "Get a stain out of a shirt" is "remove a stain from a shirt", before "out of" is read as "from".
pub(super) fn extracted(mut tokens: Vec<Token>) -> Vec<Token> {
    let get = tokens
        .iter()
        .position(|token| is_word(Some(token), &["get", "take"]));
    let Some(get) = get else {
        return tokens;
    };
    let out = (get + 2..tokens.len().min(get + REACH))
        .take_while(|&at| !is_break(&tokens[at]))
        .find(|&at| {
            is_word(tokens.get(at), &["out"]) && is_word(tokens.get(at + 1), &["of"])
                || tokens[get].is_word("get") && is_word(tokens.get(at), &["off"])
        });
    let off = out.is_some_and(|out| tokens[out].is_word("off"));
    if let Some(out) = out
        && is_named(&tokens[get + 1..out])
        && !is_word(tokens.get(get + 1), &["the", "more", "most"])
        && !is_word(
            tokens.get(out + 2 - usize::from(off)),
            &["it", "this", "that", "work"],
        )
        && (!off || is_word(tokens.get(out + 1), &["my", "the", "a", "an", "your"]))
    {
        tokens[get] = Token::word("remove");
        tokens.splice(out..out + 2 - usize::from(off), words(&["from"]));
    }
    tokens
}

/// "How does X compute its fees" is "how are the fees of X computed".
fn its_own(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["how"]) && is_word(tokens.get(1), &["does"]);
    let end = clause_end(&tokens, 2.min(tokens.len()));
    let its = (4..end.min(2 + REACH)).find(|&at| is_word(tokens.get(at), &["its"]));
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
        found.push(Token::word(format!("{}ed", verb.trim_end_matches('e'))));
        found.extend(tokens.drain(end..));
        return found;
    }
    tokens
}

/// "If the pool gets paused" is "if the pool is paused".
fn happening_if(mut tokens: Vec<Token>) -> Vec<Token> {
    // "Why my payment got declined" is "why my payment was declined".
    let got = (2..clause_end(&tokens, 1.min(tokens.len())).min(REACH))
        .find(|&at| is_word(tokens.get(at), &["got"]));
    if let Some(got) = got
        && is_word(tokens.first(), &["@why", "why"])
        && tokens.get(got + 1).is_some_and(is_participle)
        && is_named(&tokens[1..got])
    {
        tokens[got] = Token::word("was");
    }
    for at in 0..tokens.len() {
        if !is_word(tokens.get(at), &["if", "when", "happenif", "unless"]) {
            continue;
        }
        let get = (at + 2..tokens.len().min(at + REACH))
            .take_while(|&place| !is_break(&tokens[place]))
            .find(|&place| is_word(tokens.get(place), &["get", "gets"]));
        if let Some(get) = get
            && tokens.get(get + 1).is_some_and(is_participle)
            && !is_word(
                tokens.get(get + 1),
                &[
                    "started", "married", "involved", "divorced", "engaged", "lost", "used",
                ],
            )
            && !tokens[at + 1..get]
                .iter()
                .any(|token| super::frame::is_auxiliary(&token.text) || token.is_word("not"))
        {
            tokens[get] = Token::word("is");
        }
    }
    tokens
}

/// "Which wallets are compatible with X" is "which wallets work with X".
fn fitting(mut tokens: Vec<Token>) -> Vec<Token> {
    let at = (2..tokens.len()).find(|&at| {
        is_word(tokens.get(at), &["compatible"]) && is_word(tokens.get(at + 1), &["with"])
    });
    let pronoun = |at: &usize| is_word(tokens.get(at + 2), &["it", "this", "that", "them", "me"]);
    let Some(at) = at.filter(|at| !pronoun(at)) else {
        return tokens;
    };
    if is_word(tokens.first(), &["is", "are"]) && is_named(&tokens[1..at]) {
        tokens[at] = Token::word("work");
        tokens[0] = Token::word("does");
    } else if is_word(tokens.first(), &WHAT)
        && is_word(tokens.get(at - 1), &["is", "are"])
        && is_noun(&tokens[1..at - 1])
    {
        tokens[at] = Token::word("work");
        tokens.remove(at - 1);
        tokens.push(mark(false));
    }
    tokens
}

/// "What moved oil prices" is "why did oil prices move", and "what drove gold up" is "why did gold
/// rise".
fn moved(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["what"]) {
        return tokens;
    }
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let time = (2..end)
        .find(|&at| {
            TABLES.classes.get(tokens[at].text.as_str()) == Some(&"time")
                || is_word(tokens.get(at), &["last", "in", "on", "since"])
        })
        .unwrap_or(end);
    let (to, verb) = match tokens
        .get(time.saturating_sub(1))
        .map(|last| last.text.as_str())
    {
        _ if is_word(tokens.get(1), &["moved"]) => (time, "move"),
        Some("up" | "higher") => (time - 1, "rise"),
        Some("down" | "lower") => (time - 1, "fall"),
        _ => return tokens,
    };
    let drives = is_word(tokens.get(1), &["moved", "drove", "pushed", "sent"]);
    let more = tokens[2.min(to)..to]
        .iter()
        .any(|token| is_word(Some(token), &["more", "most", "me", "you"]));
    if drives && to > 2 && !more && is_named(&tokens[2..to]) {
        let mut found = words(&["@why"]);
        found.extend_from_slice(&tokens[2..to]);
        found.push(Token::word(verb));
        found.extend(tokens.drain(time..));
        found.push(mark(true));
        return found;
    }
    tokens
}

/// "How can X be used to do it" is "how do I do it with X".
fn with_tool(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["how"]) && is_word(tokens.get(1), &["can"]);
    let end = clause_end(&tokens, 2.min(tokens.len()));
    let be = (3..end.min(2 + REACH)).find(|&at| {
        is_word(tokens.get(at), &["be"])
            && is_word(tokens.get(at + 1), &["used"])
            && is_word(tokens.get(at + 2), &["to"])
    });
    if let Some(be) = be.filter(|_| asks)
        && is_named(&tokens[2..be])
        && is_verb(tokens.get(be + 3))
    {
        let mut found = words(&["@how"]);
        found.extend_from_slice(&tokens[be + 3..end]);
        found.push(Token::word("with"));
        found.extend_from_slice(&tokens[2..be]);
        found.extend(tokens.drain(end..));
        return found;
    }
    tokens
}

/// "A regex for matching dates" is "a regex to match dates".
fn matching(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 1..tokens.len() {
        let written = is_word(
            tokens.get(at - 1),
            &[
                "regex",
                "expression",
                "function",
                "script",
                "query",
                "program",
            ],
        );
        let gerund = tokens
            .get(at + 1)
            .is_some_and(super::permissions::is_gerund);
        if written && gerund && is_word(tokens.get(at), &["for"]) {
            tokens[at] = Token::word("that");
        }
    }
    tokens
}

/// "How long is the timeout by default" is "how long is the default timeout".
fn by_default(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let by = end.checked_sub(2).filter(|by| {
        is_word(tokens.get(*by), &["by"]) && is_word(tokens.get(by + 1), &["default"])
    });
    let is = is_word(tokens.first(), &["@howlong"])
        && is_word(tokens.get(1), &["is"])
        && is_word(tokens.get(2), &["the"]);
    if let Some(by) = by.filter(|by| is && *by > 3)
        && is_noun(&tokens[3..by])
    {
        tokens.drain(by..by + 2);
        tokens.insert(3, Token::word("default"));
    }
    tokens
}

/// "Which language do people in Brazil speak" is "which language is spoken in Brazil".
fn spoken(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let aux = (2..end.min(5)).find(|&at| {
        is_word(tokens.get(at), &["do"])
            && is_word(tokens.get(at + 1), &["people"])
            && is_word(tokens.get(at + 2), &["in"])
    });
    if let Some(aux) = aux
        && is_word(tokens.first(), &["what", "which"])
        && is_noun(&tokens[1..aux])
        && end > aux + 4
        && is_verb(tokens.get(end - 1))
        && is_noun(&tokens[aux + 3..end - 1])
    {
        let verb = tokens.remove(end - 1);
        let done = format!("{}ed", verb.text.trim_end_matches('e'));
        tokens.splice(aux..aux + 2, words(&["are", &done]));
    }
    tokens
}

/// "How long do elephants live" asks for their lifespan.
fn living(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["@howlong"]) && is_word(tokens.get(1), &["do", "does"]);
    let end = clause_end(&tokens, 2.min(tokens.len()));
    let live = (3..end.min(REACH)).find(|&at| is_word(tokens.get(at), &["live"]));
    if let Some(live) = live.filter(|_| asks)
        && is_named(&tokens[2..live])
        && (live + 1 == end || is_word(tokens.get(live + 1), &["in"]))
    {
        tokens.remove(live);
        tokens.splice(..2, words(&["@what", "lifespan", "of"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "How fast does light travel" asks for the speed of light.
fn speed(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["@what"])
        && is_word(tokens.get(1), &["speed"])
        && is_word(tokens.get(2), &["do", "does"]);
    let end = clause_end(&tokens, 3.min(tokens.len()));
    let travel = (4..end.min(3 + REACH)).find(|&at| is_word(tokens.get(at), &["travel", "move"]));
    if let Some(at) = travel.filter(|_| asks)
        && is_named(&tokens[3..at])
        && goes_on(&tokens, at + 1)
    {
        tokens.remove(at);
        tokens[2] = Token::word("of");
        tokens.push(mark(false));
    }
    tokens
}

/// "Which city is Australia's capital" is "what is Australia's capital".
fn capital(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 0);
    let owned = tokens.iter().any(|token| token.text == "@s");
    let end = if owned {
        tokens.iter().position(is_break).unwrap_or(tokens.len())
    } else {
        end
    };
    if is_word(tokens.first(), &["what", "which"])
        && is_word(tokens.get(1), &["city"])
        && is_word(tokens.get(2), &["is"])
        && owned
        && is_word(tokens.get(end.saturating_sub(1)), &["capital"])
    {
        tokens.remove(1);
    }
    tokens
}

/// "How many running pods" are "how many pods that are running", and "a dozen is how many eggs" asks
/// how many eggs are in a dozen.
fn counted(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1.min(tokens.len()));
    let gerund = tokens.get(1).is_some_and(super::permissions::is_gerund);
    if is_word(tokens.first(), &["@howmany"]) && gerund && is_noun(&tokens[2.min(end)..end]) {
        let verb = tokens.remove(1);
        tokens.splice(end - 1..end - 1, [Token::word("are"), verb]);
        return tokens;
    }
    let asks = (2..tokens.len().min(6)).find(|&at| tokens[at].text == "@howmany");
    if let Some(at) = asks
        && is_word(tokens.get(at - 1), &["is", "equals", "makes"])
        && is_word(tokens.first(), &["a", "an"])
        && is_noun(&tokens[1..at - 1])
    {
        let end = clause_end(&tokens, at + 1);
        if end > at + 1 && is_noun(&tokens[at + 1..end]) {
            let mut found = words(&["@howmany"]);
            found.extend_from_slice(&tokens[at + 1..end]);
            found.push(Token::word("in"));
            found.extend_from_slice(&tokens[..at - 1]);
            found.extend(tokens.drain(end..));
            return found;
        }
    }
    tokens
}

/// "How do I make git ignore a folder" is "how do I ignore a folder in git".
fn told(mut tokens: Vec<Token>) -> Vec<Token> {
    let makes = is_word(tokens.first(), &["@how"]) && is_word(tokens.get(1), &["make", "tell"]);
    let program = tokens.get(2).is_some_and(|program| {
        TABLES.classes.get(TABLES.canonical(&program.text).as_str()) == Some(&"software")
    });
    if makes && program {
        let verb = 3 + usize::from(is_word(tokens.get(3), &["to"]));
        let end = clause_end(&tokens, verb.min(tokens.len()));
        let does = is_verb(tokens.get(verb)) || is_word(tokens.get(verb), &["ignore"]);
        if does && end > verb + 1 {
            let program = tokens[2].clone();
            tokens.splice(end..end, [Token::word("in"), program]);
            tokens.drain(1..verb);
        }
    }
    tokens
}

/// "What is the reason for the high usage" is "why is the usage high".
fn judged(mut tokens: Vec<Token>) -> Vec<Token> {
    const DEGREES: [&str; 6] = ["high", "low", "slow", "large", "expensive", "volatile"];
    let asks = is_word(tokens.first(), &["@why"]) && is_word(tokens.get(1), &["@is"]);
    let at = 2 + usize::from(is_word(tokens.get(2), &["the"]));
    let end = clause_end(&tokens, at.min(tokens.len()));
    if asks && is_word(tokens.get(at), &DEGREES) && end > at + 1 && is_noun(&tokens[at + 1..end]) {
        let degree = tokens.remove(at);
        tokens.insert(end - 1, degree);
        tokens[1] = Token::word("is");
    }
    tokens
}

/// "Which currency is used in Japan" asks for the currency of Japan.
fn currency(mut tokens: Vec<Token>) -> Vec<Token> {
    if is_word(tokens.first(), &["what", "which"])
        && is_word(tokens.get(1), &["currency", "voltage", "alphabet"])
        && is_word(tokens.get(2), &["is"])
        && is_word(tokens.get(3), &["used"])
        && is_word(tokens.get(4), &["in"])
    {
        tokens.remove(3);
    }
    tokens
}

/// "What is the diet of pandas" is "what do pandas eat".
fn dieting(mut tokens: Vec<Token>) -> Vec<Token> {
    let opens = ["what", "is", "the", "diet", "of"];
    let end = clause_end(&tokens, opens.len().min(tokens.len()));
    if opens
        .iter()
        .enumerate()
        .all(|(at, word)| is_word(tokens.get(at), &[word]))
        && end > opens.len()
        && is_noun(&tokens[opens.len()..end])
    {
        tokens.insert(end, Token::word("eat"));
        tokens.splice(..opens.len(), words(&["what", "do"]));
    }
    tokens
}

/// "What does the function return" asks for its return value.
fn returning(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["what"]) && is_word(tokens.get(1), &["do", "does"]);
    let end = clause_end(&tokens, 2.min(tokens.len()));
    let verb = (3..end.min(2 + REACH)).find(|&at| is_word(tokens.get(at), &["return"]));
    if let Some(at) = verb.filter(|_| asks)
        && is_named(&tokens[2..at])
        && !is_word(tokens.get(2), &["people", "customers", "users"])
        && (at + 1 == end || is_word(tokens.get(at + 1), &["in"]))
    {
        tokens.remove(at);
        tokens.splice(..2, words(&["@what", "returnvalue", "of"]));
        tokens.push(mark(false));
    }
    tokens
}
