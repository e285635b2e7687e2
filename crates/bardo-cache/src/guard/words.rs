//! Rewrites tokens to common wordings: contractions, written numbers, units, phrases.

use super::number;
use super::scan::{Token, TokenKind};
use super::tables::{Phrase, TABLES};
use super::{clauses, manner};

/// The tokens of a text with contractions, numbers and phrases in one form.
pub(super) fn rewritten(tokens: Vec<Token>) -> Vec<Token> {
    let tokens = manner::extracted(contractions(tokens));
    let tokens = opened(phrases(&tokens));
    let tokens = fronted(numbers(&tokens));
    let tokens = particles(tokens);
    let tokens = clauses::settled(phrases(&tokens));
    phrases(&tokens)
}

fn contractions(tokens: Vec<Token>) -> Vec<Token> {
    let mut found = Vec::with_capacity(tokens.len());
    for token in tokens {
        if token.kind != TokenKind::Word || !token.text.contains('\'') {
            found.push(token);
            continue;
        }
        let word = token.text.as_str();
        let (head, tail) = word.split_at(word.rfind('\'').unwrap_or_default());
        match (head, tail) {
            ("can" | "ca", "'t") => found.extend(["can", "not"].map(Token::word)),
            ("won", "'t") => found.extend(["will", "not"].map(Token::word)),
            ("shan", "'t") => found.extend(["shall", "not"].map(Token::word)),
            (_, "'t") => {
                found.push(Token::word(head.trim_end_matches('n')));
                found.push(Token::word("not"));
            }
            ("let", "'s") => {}
            (
                "what" | "who" | "where" | "how" | "when" | "why" | "it" | "that" | "there"
                | "here",
                "'s",
            ) => {
                found.extend([head, "is"].map(Token::word));
            }
            (_, "'s") => {
                found.push(Token::word(head));
                found.push(Token::word("@s"));
            }
            (_, "'re") => found.extend([head, "are"].map(Token::word)),
            (_, "'m") => found.extend([head, "am"].map(Token::word)),
            (_, "'ve") => found.extend([head, "have"].map(Token::word)),
            (_, "'ll") => found.extend([head, "will"].map(Token::word)),
            (_, "'d") => found.extend([head, "would"].map(Token::word)),
            _ => found.push(Token::word(word.replace('\'', ""))),
        }
    }
    found
}

/// Written numbers as digits, and each number with its unit.
fn numbers(tokens: &[Token]) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        let before = found.last().map_or("", |last| last.text.as_str());
        let counts = !matches!(
            before,
            "which"
                | "this"
                | "that"
                | "the"
                | "no"
                | "any"
                | "every"
                | "some"
                | "each"
                | "another"
                | "does"
        );
        let mut number = None;
        if token.kind == TokenKind::Number {
            let mut text = token.text.clone();
            at += 1;
            while let Some(zeros) = tokens
                .get(at)
                .filter(|t| t.kind == TokenKind::Word)
                .and_then(|t| number::zeros(&t.text))
            {
                text = scaled(&text, zeros);
                at += 1;
            }
            number = Some(text);
        } else if token.kind == TokenKind::Word && (counts || token.text != "one") {
            let from = if token.is_word("a")
                && tokens
                    .get(at + 1)
                    .is_some_and(|t| number::zeros(&t.text).is_some())
            {
                at + 1
            } else {
                at
            };
            let first = if from > at { Some("one") } else { None };
            let words = tokens[from..]
                .iter()
                .take(16)
                .take_while(|t| t.kind == TokenKind::Word)
                .map(|t| t.text.as_str());
            if let Some((value, read)) =
                number::written(first.into_iter().chain(words), before != "between")
            {
                at = from + read - usize::from(first.is_some());
                number = Some(value.to_string());
            }
        }
        match number.or_else(|| counted(token)) {
            Some(text) if at < tokens.len() && std::ptr::eq(&tokens[at], token) => {
                found.push(Token::new(TokenKind::Number, text));
                at += 1;
            }
            Some(text) => at = unit(text, tokens, at, &mut found),
            None => {
                found.push(token.clone());
                at += 1;
            }
        }
    }
    found
}

/// Leaves out "quick question" before a question of its own.
fn opened(mut tokens: Vec<Token>) -> Vec<Token> {
    let opening = tokens
        .iter()
        .take(4)
        .position(|token| token.is_word("@tell"));
    if let Some(at) = opening
        && tokens
            .get(at + 1)
            .is_some_and(|next| next.kind == TokenKind::Break)
        && tokens.len() > at + 2
    {
        tokens.drain(..=at + 1);
    }
    tokens
}

/// Moves a clause that stands before the question behind it: "in Go, how do I" and "if it fails,
/// what".
fn fronted(mut tokens: Vec<Token>) -> Vec<Token> {
    let starts = tokens.first().is_some_and(|first| {
        first.kind == TokenKind::Word
            && (TABLES.prepositions.contains_key(first.text.as_str())
                || matches!(
                    first.text.as_str(),
                    "if" | "when"
                        | "before"
                        | "after"
                        | "during"
                        | "each"
                        | "every"
                        | "without"
                        | "instead"
                ))
    });
    let comma = tokens
        .iter()
        .position(|token| token.kind == TokenKind::Break && token.text == ",");
    if let Some(at) = comma.filter(|at| starts && at + 2 < tokens.len()) {
        let clause: Vec<_> = tokens.drain(..=at).collect();
        while tokens
            .last()
            .is_some_and(|last| last.kind == TokenKind::Break)
        {
            tokens.pop();
        }
        // "If it fails, what happens" is the phrase "what happens if".
        let goes_on = tokens
            .last()
            .is_some_and(|last| last.is_word("happens") || last.is_word("happen"));
        if !goes_on {
            tokens.push(Token::new(TokenKind::Break, ""));
        }
        tokens.extend(clause);
    }
    tokens
}

fn scaled(canonical: &str, zeros: usize) -> String {
    match canonical.strip_prefix('-') {
        Some(digits) => format!("-{}", number::scaled(digits, zeros)),
        None => number::scaled(canonical, zeros),
    }
}

/// Words that are numbers by themselves.
fn counted(token: &Token) -> Option<String> {
    let text = match token.text.as_str() {
        "twice" => "2 times",
        "thrice" => "3 times",
        "ii" => "2",
        "iii" => "3",
        _ => return None,
    };
    (token.kind == TokenKind::Word).then(|| text.to_owned())
}

/// Pushes a number with the unit that follows it; returns the place after both.
fn unit(text: String, tokens: &[Token], at: usize, found: &mut Vec<Token>) -> usize {
    let next = tokens
        .get(at)
        .filter(|token| token.kind == TokenKind::Word || token.text == "%");
    let unit = next.and_then(|token| TABLES.units.get(token.text.as_str()));
    let (text, at) = match unit {
        Some(&"bps") => (format!("{} percent", number::hundredth(&text)), at + 1),
        Some(unit) => (format!("{text} {unit}"), at + 1),
        None => (text, at),
    };
    let (text, at) = halved(whole_unit(text), tokens, at, found);
    if text.is_empty() {
        return at;
    }
    if let Some(last) = found.last_mut().filter(|last| last.kind == TokenKind::Word) {
        match last.text.as_str() {
            "over" | "above" | "beyond" => last.text = "morethan".to_owned(),
            "under" | "below" => last.text = "lessthan".to_owned(),
            _ => {}
        }
    }
    found.push(Token::new(TokenKind::Number, text));
    at
}

/// 60 minutes are an hour, and 12 months a year.
fn whole_unit(text: String) -> String {
    match text.as_str() {
        "60 second" => "1 minute",
        "60 minute" => "1 hour",
        "12 month" => "1 year",
        _ => return text,
    }
    .to_owned()
}

/// "50 % of" is "half of": the text is empty then.
fn halved(text: String, tokens: &[Token], at: usize, found: &mut Vec<Token>) -> (String, usize) {
    if text == "50 percent" && tokens.get(at).is_some_and(|next| next.is_word("of")) {
        found.push(Token::word("half"));
        return (String::new(), at);
    }
    (text, at)
}

/// Moves a particle from the end of its clause to its verb: "turn the light off".
fn particles(mut tokens: Vec<Token>) -> Vec<Token> {
    const REACH: usize = 6;
    let mut at = 0;
    while at < tokens.len() {
        let verb = tokens[at].kind == TokenKind::Word
            && TABLES
                .separable
                .contains(TABLES.base(&tokens[at].text).as_str());
        if verb {
            let end = (at + REACH).min(tokens.len());
            let clause = tokens[at..end]
                .iter()
                .position(|t| t.kind == TokenKind::Break)
                .map_or(end, |cut| at + cut);
            let particle = (at + 2..clause).find(|&place| {
                let last = tokens.get(place + 1).is_none_or(|t| {
                    t.kind == TokenKind::Break
                        || t.text.starts_with('@')
                        || matches!(
                            t.text.as_str(),
                            "and"
                                | "or"
                                | "when"
                                | "if"
                                | "for"
                                | "at"
                                | "in"
                                | "after"
                                | "before"
                                | "from"
                                | "with"
                                | "without"
                                | "using"
                                | "automatically"
                        )
                });
                last && tokens[place].kind == TokenKind::Word
                    && matches!(
                        tokens[place].text.as_str(),
                        "on" | "off" | "up" | "down" | "out" | "in" | "back" | "away"
                    )
            });
            if let Some(place) = particle {
                let word = tokens.remove(place);
                tokens.insert(at + 1, word);
            }
        }
        at += 1;
    }
    tokens
}

/// Verbs that a phrase joins with their particle.
pub(super) fn particle_verb(word: &str) -> bool {
    matches!(
        word,
        "turnon" | "turnoff" | "backup" | "rollback" | "shutdown"
    )
}

/// Applies the longest phrase at each place.
fn phrases(tokens: &[Token]) -> Vec<Token> {
    let mut found = Vec::with_capacity(tokens.len());
    // Marks of tense go to the end, where they separate no words.
    let mut tenses = Vec::new();
    let mut at = 0;
    let bases: Vec<String> = tokens
        .iter()
        .map(|token| match token.kind {
            TokenKind::Word => TABLES.base(&token.text),
            _ => String::new(),
        })
        .collect();
    while at < tokens.len() {
        let starts = found.last().is_none_or(|last: &Token| {
            last.kind == TokenKind::Break || matches!(last.text.as_str(), "@tell" | "@polite")
        });
        match longest(tokens, &bases, at, starts) {
            Some(phrase) => {
                tenses.extend(phrase.tense.map(Token::word));
                match phrase.to[..] {
                    // "Turned on" stays a participle.
                    [verb] if tokens[at].text.ends_with("ed") && particle_verb(verb) => {
                        found.push(Token::word(format!("{verb}ed")));
                    }
                    _ => found.extend(phrase.to.iter().map(|word| Token::word(*word))),
                }
                at += phrase.from.len();
            }
            None => {
                found.push(tokens[at].clone());
                at += 1;
            }
        }
    }
    found.extend(tenses);
    found
}

fn longest(tokens: &[Token], bases: &[String], at: usize, starts: bool) -> Option<&'static Phrase> {
    if tokens[at].kind != TokenKind::Word {
        return None;
    }
    let rules = TABLES.phrases.get(&bases[at])?;
    rules.iter().find(|rule| {
        (starts || !rule.starts)
            && rule
                .exact
                .iter()
                .zip(&tokens[at..])
                .all(|(word, token)| token.text == *word)
            && bases[at..].starts_with(&rule.from)
    })
}
