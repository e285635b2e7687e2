//! Numbers: written ones as digits, and each with its unit.

use crate::guard::frame::is_auxiliary;
use crate::guard::number;
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// Written numbers as digits, and each number with its unit: "one thousand" is "1000", "1 hr" is
/// "1 hour".
pub(super) fn written_to_digits(mut tokens: Vec<Token>) -> Vec<Token> {
    scale_before_currency(&mut tokens);
    let mut found: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        let before = found.last().map_or("", |last| last.text.as_str());
        let number = match token.kind {
            TokenKind::Number => Some(with_scale(&tokens, at)),
            TokenKind::Word => written(&tokens, at, before),
            _ => None,
        };
        if let Some((text, end)) = number {
            at = unit(text, &tokens, end, &mut found);
        } else {
            let counted = number_word(token).map(|text| Token::new(TokenKind::Number, text));
            found.push(counted.unwrap_or_else(|| token.clone()));
            at += 1;
        }
    }
    found
}

/// Of "$5 million", the scale stands behind the sign: "5 million dollars".
fn scale_before_currency(tokens: &mut [Token]) {
    for at in 2..tokens.len() {
        let currency = TABLES.classes.get(tokens[at - 1].text.as_str()) == Some(&"currency");
        let scaled =
            tokens[at].kind == TokenKind::Word && number::zeros(&tokens[at].text).is_some();
        if scaled && currency && tokens[at - 2].kind == TokenKind::Number {
            tokens.swap(at - 1, at);
        }
    }
}

/// "Version 4.2" is "v4.2", and "version 4" is "v4".
pub(super) fn version_to_v(mut tokens: Vec<Token>) -> Vec<Token> {
    let version = tokens.windows(2).position(|pair| {
        let digits = pair[1].text.chars().all(|c| c.is_ascii_digit() || c == '.');
        let numbered = matches!(pair[1].kind, TokenKind::Number | TokenKind::Code);
        pair[0].is_word("version") && numbered && digits
    });
    if let Some(at) = version {
        let number = tokens.remove(at + 1);
        tokens[at] = Token::new(TokenKind::Code, format!("v{}", number.text));
    }
    tokens
}

/// A number in digits times the scales behind it, as "10 million", and the place after them.
fn with_scale(tokens: &[Token], at: usize) -> (String, usize) {
    let mut text = tokens[at].text.clone();
    let mut at = at + 1;
    while let Some(zeros) = tokens
        .get(at)
        .filter(|next| next.kind == TokenKind::Word)
        .and_then(|next| number::zeros(&next.text))
    {
        text = scaled(&text, zeros);
        at += 1;
    }
    (text, at)
}

/// A written number and the place after it; "this one" has none.
fn written(tokens: &[Token], at: usize, before: &str) -> Option<(String, usize)> {
    if tokens[at].is_word("one") && TABLES.before_one.contains(before) {
        return None;
    }
    let next = tokens.get(at + 1);
    // "A hundred" is "one hundred".
    let one = tokens[at].is_word("a") && next.is_some_and(|t| number::zeros(&t.text).is_some());
    let from = at + usize::from(one);
    let words = tokens[from..]
        .iter()
        .take(16)
        .take_while(|t| t.kind == TokenKind::Word)
        .map(|t| t.text.as_str());
    let words = one.then_some("one").into_iter().chain(words);
    let (value, read) = number::written(words, before != "between")?;
    Some((value.to_string(), at + read))
}

/// As [`number::scaled`], for a number with a sign.
fn scaled(canonical: &str, zeros: usize) -> String {
    match canonical.strip_prefix('-') {
        Some(digits) => format!("-{}", number::scaled(digits, zeros)),
        None => number::scaled(canonical, zeros),
    }
}

/// Words that are numbers by themselves.
fn number_word(token: &Token) -> Option<String> {
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
    let zero = text.contains('.') && text.ends_with('0');
    let versioned = unit.is_none() && found.last().is_some_and(has_versions);
    let text = if zero && !versioned {
        scaled(&text, 0)
    } else {
        text
    };
    let (text, at) = match unit {
        Some(&"bps") => (format!("{} percent", number::hundredth(&text)), at + 1),
        Some(unit) => (format!("{text} {unit}"), at + 1),
        None => (text, at),
    };
    let (text, at) = halved(whole_unit(text), tokens, at, found);
    if text.is_empty() {
        return at;
    }
    let passes = passes(found, &text);
    if let Some(last) = found.last_mut().filter(|last| last.kind == TokenKind::Word) {
        match last.text.as_str() {
            "over" if passes => {}
            "over" | "above" | "beyond" => last.text = "morethan".to_owned(),
            "under" | "below" => last.text = "lessthan".to_owned(),
            _ => {}
        }
    }
    found.push(Token::new(TokenKind::Number, text));
    at
}

/// Whether "over" at the end of the words says where or during what, and not how much: "fly over 100 people",
/// "spread payments over 12 months".
fn passes(before: &[Token], number: &str) -> bool {
    let Some((over, before)) = before.split_last() else {
        return false;
    };
    let timed = ["day", "week", "month", "year", "hour"]
        .iter()
        .any(|unit| number.ends_with(unit));
    let clause = before
        .iter()
        .rev()
        .take_while(|token| token.kind != TokenKind::Break);
    let mut verbs = clause.map(|token| TABLES.base(&token.text));
    let lasts = before.last().is_some_and(|last| last.is_word("for"));
    over.is_word("over")
        && !lasts
        && verbs.any(|verb| {
            TABLES.crossing.contains(&verb) || timed && TABLES.spreading.contains(&verb)
        })
}

/// Whether the number behind a word may be a version, in which "3.10" is not "3.1".
fn has_versions(token: &Token) -> bool {
    let word = token.text.as_str();
    let named = matches!(
        TABLES.classes.get(word),
        Some(&("language" | "software" | "protocol"))
    ) || matches!(word, "version" | "release");
    let function = TABLES.stop.contains(word)
        || TABLES.determiners.contains(word)
        || TABLES.conjunctions.contains(word)
        || TABLES.prepositions.contains_key(word)
        || is_auxiliary(word)
        || word.starts_with('@');
    token.kind == TokenKind::Word && (named || !function && !TABLES.is_verb(&TABLES.base(word)))
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
