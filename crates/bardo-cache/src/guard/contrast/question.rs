//! What a question asks by its first words, where other words there ask something else: "how should banks
//! store it" and "how do banks store it".

use crate::guard::frame::is_auxiliary;
use crate::guard::scan::{Token, TokenKind, is_word};
use crate::guard::tables::TABLES;

/// The side of a contrast on which the question word or the conjunction at a place is.
pub(super) fn said(tokens: &[Token], at: usize) -> Option<&'static str> {
    match tokens[at].text.as_str() {
        "if" | "whether" if is_object(tokens, at) => Some("whether it is"),
        "when" if is_object(tokens, at) => Some("when it is"),
        "how" if is_word(tokens, at + 1, &["long"]) => lasting(tokens, at + 2),
        "how" => of_others(tokens, at).or_else(|| advice(tokens, at)),
        "why" => of_others(tokens, at),
        "what" => meaning(tokens, at)
            .or_else(|| advice(tokens, at))
            .or_else(|| of_others(tokens, at)),
        "what's" => meaning(tokens, at),
        "where" => advice(tokens, at).or_else(|| of_others(tokens, at)),
        "which" | "who" => advice(tokens, at),
        "when" => opening_hours(tokens, at).or_else(|| advice(tokens, at)),
        _ => None,
    }
}

/// What is said, seen or decided: "who decides if I am paid" and "who decides when I am paid".
fn is_object(tokens: &[Token], at: usize) -> bool {
    let told = |place: usize| {
        tokens.get(place).is_some_and(|token| {
            token.kind == TokenKind::Word
                && TABLES.reporting.contains(&TABLES.canonical(&token.text))
        })
    };
    let Some(before) = at.checked_sub(1) else {
        return false;
    };
    // "Ask my boss if", but not "show a warning if".
    let asked = |place: usize| {
        is_word(tokens, place, &["ask", "asked", "tell", "told", "tells"])
            || is_word(tokens, place + 1, &["me", "us", "you"]) && told(place)
    };
    told(before)
        || before.checked_sub(1).is_some_and(asked)
        || before.checked_sub(2).is_some_and(|place| {
            is_word(tokens, place, &["ask", "asked", "tell", "told", "tells"])
                && determines(tokens, place + 1)
        })
}

/// What others should or would do, and what they do. "How should you" and "how would one" ask how it is done.
fn of_others(tokens: &[Token], at: usize) -> Option<&'static str> {
    let anyone = [
        "i", "you", "we", "one", "someone", "somebody", "people", "anyone", "not",
    ];
    let subject = tokens.get(at + 2)?;
    if subject.kind != TokenKind::Word || anyone.contains(&subject.text.as_str()) {
        return None;
    }
    let how = tokens[at].is_word("how");
    match tokens[at + 1].text.as_str() {
        "should" if how => Some("others should"),
        "would" => Some("others would"),
        "do" | "does" => Some("others do"),
        "is" | "are" if how => Some("others do"),
        _ => None,
    }
}

/// What I should have, weigh or earn, and what I do; what we should do, and what we do.
fn advice(tokens: &[Token], at: usize) -> Option<&'static str> {
    let reach = at + 1..tokens.len().min(at + 5);
    let aux = reach
        .take_while(|&place| tokens[place].kind != TokenKind::Break)
        .find(|&place| is_word(tokens, place, &["should", "do", "am", "are"]))?;
    // "How should I" asks how it is done, as "how do I" does.
    if tokens[at].is_word("how") && aux == at + 1 {
        return None;
    }
    let verb = tokens.get(aux + 2)?;
    // To report a bug is done, and to report to a manager is so.
    let acts = verb.is_word("report") && !is_word(tokens, aux + 3, &["to"]);
    let base = TABLES.base(&verb.text);
    let state = is_word(tokens, aux + 1, &["i", "you"])
        && !acts
        && TABLES.states.contains(&TABLES.canonical(&verb.text));
    let ours = is_word(tokens, aux + 1, &["we"]) && base != "do";
    // "Which version am I running" and "which version should I be running".
    let ongoing = if is_word(tokens, aux, &["am", "are"]) {
        is_word(tokens, aux + 1, &["i", "we"]) && verb.text.ends_with("ing")
    } else {
        is_word(tokens, aux, &["should"]) && verb.is_word("be")
    };
    let said = match tokens[aux].text.as_str() {
        "should" => "should have",
        _ => "have",
    };
    (state || ours || ongoing).then_some(said)
}

/// What a value of mine or of a certain kind means, and what it is: "what does my score mean" and "what is
/// my score". A term is what it means.
fn meaning(tokens: &[Token], at: usize) -> Option<&'static str> {
    let of = |words: &[&str]| {
        tokens
            .iter()
            .any(|token| words.contains(&token.text.as_str()))
    };
    let is = tokens[at].text == "what's" || is_word(tokens, at + 1, &["is", "are"]);
    if is {
        return (!of(&["mean", "means", "meaning", "meant", "definition"]))
            .then_some("the thing itself");
    }
    let end = (at + 2..tokens.len())
        .find(|&place| tokens[place].kind == TokenKind::Break)
        .unwrap_or(tokens.len());
    let means = is_word(tokens, at + 1, &["do", "does"]) && is_word(tokens, end - 1, &["mean"]);
    let term = is_word(
        tokens,
        at + 3,
        &["term", "word", "phrase", "acronym", "abbreviation", "name"],
    );
    let mine = ["my", "your", "our", "his", "her", "their"];
    let certain = is_word(tokens, at + 2, &["the", "this"]) && !term;
    let owned = certain || is_word(tokens, at + 2, &mine);
    let from = at + 2 + usize::from(is_word(tokens, at + 2, &["a", "an", "the"]));
    let rated = is_word(
        tokens,
        from,
        &[
            "high", "low", "good", "bad", "normal", "positive", "negative",
        ],
    );
    (means && (owned || rated)).then_some("its meaning")
}

/// How long something takes until it does what it does, and how long it does that.
fn lasting(tokens: &[Token], from: usize) -> Option<&'static str> {
    let words = &tokens[from..];
    let place = |words: &[Token], of: &[&str]| {
        words
            .iter()
            .position(|token| of.contains(&token.text.as_str()))
    };
    let first = words.first()?.text.as_str();
    let take = place(
        words,
        &["take", "takes", "need", "needs", "require", "requires"],
    );
    let it = is_word(words, 1, &["it"]);
    let person = is_word(words, 1, &["i", "you", "we", "he", "she", "they"]);
    match take {
        Some(take) => {
            let to = place(&words[take..], &["to"])?;
            let named = !it || to > 1;
            (named && !person).then_some("takes to do")
        }
        None if matches!(first, "is" | "are" | "was" | "were") => Some("is long"),
        None if matches!(first, "do" | "does" | "did") && !person => {
            let last = words.iter().rfind(|token| token.kind == TokenKind::Word)?;
            let lasts = last.is_word("last") && !words.iter().any(is_span);
            Some(if lasts { "lasts" } else { "does" })
        }
        None => None,
    }
}

/// What has no other length than its time, as a trial or a film.
fn is_span(token: &Token) -> bool {
    token.kind == TokenKind::Word && {
        let key = TABLES.canonical(&token.text);
        TABLES.spans.contains(&key) || TABLES.durations.contains(&key)
    }
}

/// When a shop will open, and when it opens each day.
fn opening_hours(tokens: &[Token], at: usize) -> Option<&'static str> {
    let opens = tokens[at..]
        .iter()
        .any(|token| is_word(std::slice::from_ref(token), 0, &["open", "close"]));
    let said = match tokens.get(at + 1)?.text.as_str() {
        "will" => "will open",
        "do" | "does" => "opens",
        _ => return None,
    };
    opens.then_some(said)
}

/// Whether a token makes the next one a noun.
fn determines(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| {
        TABLES.determiners.contains(token.text.as_str()) && !is_auxiliary(&token.text)
    })
}
