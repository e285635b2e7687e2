//! Cuts a text into tokens: words, numbers, literal spans, breaks.

use super::letters::{LetterCase, acronym, is_country, is_letter, is_ticker};
use super::mention::says_nothing;
use super::number;
use super::signs::{is_inch, is_marked, sign};
use super::tables::TABLES;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TokenKind {
    /// A word in lower case; phrases and inflections are still to be read.
    Word,
    /// A number in its canonical form; the unit is joined to it later.
    Number,
    /// Code in backticks, identifiers, versions.
    Code,
    /// Several words in quotes.
    Quote,
    /// An address, a hash, a key.
    Address,
    /// A URL or an e-mail address.
    Url,
    /// A path or the name of a file.
    Path,
    /// An operator or another sign that is not punctuation.
    Symbol,
    /// The end of a sentence, a clause or a line.
    Break,
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) text: String,
}

impl Token {
    pub(super) fn new(kind: TokenKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }

    pub(super) fn word(text: impl Into<String>) -> Self {
        Self::new(TokenKind::Word, text)
    }

    pub(super) fn is_word(&self, text: &str) -> bool {
        self.kind == TokenKind::Word && self.text == text
    }
}

/// Whether the token at a place is one of some words.
pub(super) fn is_word(tokens: &[Token], at: usize, words: &[&str]) -> bool {
    let token = tokens.get(at);
    token.is_some_and(|token| token.kind == TokenKind::Word && words.contains(&&*token.text))
}

/// The tokens of a text, in order.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let case = LetterCase::of(text);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            if first == '\n' {
                push_break(&mut found);
            }
            rest = &rest[first.len_utf8()..];
        } else if first == '"' && is_inch(&text[..text.len() - rest.len()], &mut found) {
            rest = &rest[1..];
        } else if let Some(close) = closing(first)
            && let Some((inner, after)) = span(&rest[first.len_utf8()..], close)
        {
            // A shell reads "$HOME" in these quotes, and not in others.
            if inner.contains(['$', '\\']) && matches!(first, '"' | '\'') {
                let words = inner.split_whitespace().collect::<Vec<_>>().join(" ");
                found.push(Token::new(TokenKind::Code, format!("{first}{words}")));
            } else {
                quoted(inner, first == '`', &mut found);
            }
            rest = after;
        } else {
            let end = chunk_end(rest);
            let after = &rest[end..];
            // "- 10 degrees" and "5 - 3": no break.
            let signs = matches!(&rest[..end], "-" | "–")
                && after.trim_start().starts_with(|c: char| c.is_ascii_digit());
            if signs {
                found.push(Token::new(TokenKind::Symbol, "-"));
            } else if let Some(sign) = sign(&rest[..end], found.last(), after) {
                found.push(Token::new(TokenKind::Symbol, sign));
            } else if is_nullable(&rest[..end], after) || is_marked(&rest[..end], after) {
                found.push(Token::new(TokenKind::Code, &rest[..end]));
            } else {
                chunk(&rest[..end], case, &mut found);
            }
            rest = after;
        }
    }
    for at in 0..found.len() {
        if is_letter(&found, at) {
            found[at].text.push('^');
        }
    }
    found
}

/// "An int? field": a type that may be null, where the sentence goes on.
fn is_nullable(chunk: &str, after: &str) -> bool {
    let goes_on = after.trim_start().starts_with(char::is_lowercase);
    let kind = chunk.strip_suffix('?').map(str::to_lowercase);
    goes_on && kind.is_some_and(|kind| TABLES.types.contains(kind.as_str()))
}

fn closing(open: char) -> Option<char> {
    match open {
        '`' => Some('`'),
        '"' => Some('"'),
        '\'' => Some('\''),
        '“' | '„' => Some('”'),
        '‘' => Some('’'),
        '«' => Some('»'),
        _ => None,
    }
}

/// The inside of a quoted span and what follows it.
fn span(rest: &str, close: char) -> Option<(&str, &str)> {
    let mut from = 0;
    loop {
        let at = from + rest[from..].find(close)?;
        let after = &rest[at + close.len_utf8()..];
        let apostrophe = matches!(close, '\'' | '’');
        if !(apostrophe && after.chars().next().is_some_and(char::is_alphanumeric)) {
            return (!rest[..at].trim().is_empty()).then_some((&rest[..at], after));
        }
        from = at + close.len_utf8();
    }
}

fn quoted(inner: &str, is_code: bool, found: &mut Vec<Token>) {
    // Punctuation of the sentence may stand within: "it says 'in transit.'"
    let inner = match inner.strip_suffix([',', '.']) {
        Some(words) if !is_code && words.ends_with(char::is_alphanumeric) => words,
        _ => inner,
    };
    let text = inner.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().all(char::is_alphabetic) {
        if text.chars().all(char::is_lowercase) || !is_code {
            let mut word = text.to_lowercase();
            // The word itself is meant: "how do you use 'affect'" is not about an effect.
            if has_other_sense(&word) {
                word.push('^');
            }
            found.push(Token::word(word));
        } else {
            found.push(Token::new(TokenKind::Code, text));
        }
    } else if is_code {
        found.push(Token::new(TokenKind::Code, text));
    } else if is_term(&text) {
        let words = text.split(' ').map(str::to_lowercase);
        found.extend(words.map(Token::word));
    } else {
        found.push(Token::new(TokenKind::Quote, text.to_lowercase()));
    }
}

/// Whether a word is equal to others elsewhere, or says nothing there.
fn has_other_sense(word: &str) -> bool {
    TABLES.classes.contains_key(word)
        || TABLES.forms.contains_key(word)
        || TABLES.canonical(word) != TABLES.base(word)
        || says_nothing(word)
}

/// Whether words in quotes are what they are without them: "health factor".
fn is_term(text: &str) -> bool {
    const WORDS: usize = 3;
    let plain = |word: &str| {
        let letters = word.chars().all(char::is_alphabetic);
        letters && !has_other_sense(&word.to_lowercase())
    };
    text.split(' ').count() <= WORDS && text.split(' ').all(plain)
}

fn chunk_end(rest: &str) -> usize {
    rest.char_indices()
        .skip(1)
        .find(|(_, c)| c.is_whitespace() || matches!(c, '`' | '"' | '“' | '”' | '«' | '»'))
        .map_or(rest.len(), |(at, _)| at)
}

/// The text of a break behind which another sentence begins.
pub(super) const SENTENCE_END: &str = ".";

fn push_break(found: &mut Vec<Token>) {
    if found
        .last()
        .is_some_and(|last| last.kind != TokenKind::Break)
    {
        found.push(Token::new(TokenKind::Break, ""));
    }
}

const OPENING: &[char] = &['(', '[', '{', '\'', '‘', '"', '“', '”', '«', '»', '`', '’'];
const ENDING: &[char] = &[
    '.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '’', '‘', '"', '…', '”', '»', '`',
];

/// Reads one run of characters without white space.
fn chunk(chunk: &str, case: LetterCase, found: &mut Vec<Token>) {
    let body = chunk.trim_start_matches(OPENING);
    if body.len() < chunk.len() && chunk.starts_with(['(', '[', '{']) {
        push_break(found);
    }
    let call = body.trim_end_matches(['.', ',', ';', ':', '!', '?']);
    let ended = body.len() - call.len();
    let core = if call.ends_with("()") || call.ends_with("[]") {
        call
    } else {
        body.trim_end_matches(ENDING)
    };
    if core.is_empty() {
        if ended > 0 || body.is_empty() {
            push_break(found);
        }
        return;
    }
    if matches!(core, "-" | "—" | "–" | "--") {
        push_break(found);
        return;
    }
    classify(core, case, found);
    // "A 12' pipe", where no quote began.
    let feet = call[core.len().min(call.len())..].starts_with('\'')
        && core.ends_with(|c: char| c.is_ascii_digit())
        && found
            .last()
            .is_some_and(|last| last.kind == TokenKind::Number);
    if feet && body.len() == chunk.len() {
        found.push(Token::word("ft"));
    }
    // "My neighbors' dog", where no quote began.
    let owned = core.ends_with('s') && matches!(&call[core.len()..], "'" | "’");
    if owned && ended == 0 && body.len() == chunk.len() {
        found.push(Token::word("@s"));
        return;
    }
    if body.ends_with(',') {
        found.push(Token::new(TokenKind::Break, ","));
    } else if body.ends_with(['.', '?', '!']) {
        found.push(Token::new(TokenKind::Break, SENTENCE_END));
    } else if core.len() < body.len() {
        push_break(found);
    }
}

fn classify(core: &str, case: LetterCase, found: &mut Vec<Token>) {
    let lower = core.to_lowercase();
    if core.contains("://") || lower.starts_with("www.") || is_mail(core) {
        found.push(Token::new(TokenKind::Url, core.trim_end_matches('/')));
    } else if is_address(core) {
        found.push(Token::new(TokenKind::Address, address(core)));
    } else if is_path(core) {
        found.push(Token::new(TokenKind::Path, core));
    } else if is_date_pattern(core) {
        found.push(Token::new(TokenKind::Code, core));
    } else if number::starts(core) {
        number::read(core, found);
    } else if core.contains("::") || core.contains('_') || core.ends_with("()") {
        found.push(Token::new(TokenKind::Code, core));
    } else if !core.chars().any(char::is_alphanumeric) {
        symbols(core, found);
    } else if let Some((left, right)) = core.split_once(['/', '—', '–', '|', '&']) {
        let sign = core[left.len()..].chars().next();
        parts(left, case, found);
        if sign == Some('&') {
            found.push(Token::word("and"));
        }
        if !right.is_empty() {
            classify(right.trim_start_matches(OPENING), case, found);
        }
    } else {
        parts(core, case, found);
    }
}

fn symbols(core: &str, found: &mut Vec<Token>) {
    if core == "&" {
        found.push(Token::word("and"));
    } else if !core.is_empty() {
        found.push(Token::new(TokenKind::Symbol, core));
    }
}

/// Words with hyphens, dots or signs inside.
fn parts(core: &str, case: LetterCase, found: &mut Vec<Token>) {
    if core.is_empty() {
        return;
    }
    if let Some(unit) = number::capital_unit(core) {
        found.push(Token::word(unit));
        return;
    }
    // "2 T salt" are tablespoons, and "2 t" teaspoons.
    let counted = found
        .last()
        .is_some_and(|last| last.kind == TokenKind::Number);
    if let Some(unit) = number::large_unit(core).filter(|_| counted) {
        found.push(Token::word(unit));
        return;
    }
    if counted
        && core.len() == 1
        && core != "A"
        && core.starts_with(|c: char| c.is_ascii_uppercase())
    {
        found.push(Token::word(core));
        return;
    }
    let lower = core.to_lowercase().replace('’', "'");
    let letters = lower.trim_start_matches('$');
    if letters.len() < lower.len() && letters.chars().all(char::is_alphanumeric) {
        if is_ticker(&letters.to_uppercase()) {
            found.push(Token::word(format!("{letters}^")));
        } else {
            plain(letters, found);
        }
    } else if is_special_name(&lower) {
        found.push(Token::word(lower));
    } else if lower.contains('.') {
        if is_abbreviation(&lower) {
            let letters = lower.replace('.', "");
            let name = letters != "am" && acronym(&letters.to_uppercase());
            let mark = if name { "^" } else { "" };
            found.push(Token::word(format!("{letters}{mark}")));
        } else if lower.split('.').all(|part| part.len() > 1) || lower.starts_with('.') {
            found.push(Token::new(TokenKind::Path, lower));
        } else {
            found.push(Token::new(TokenKind::Code, lower));
        }
    } else if lower
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '\'' | '-'))
    {
        let written = core.replace('’', "'");
        for part in written.split('-').filter(|part| !part.is_empty()) {
            let letter = core == "A" && found.last().is_some_and(|t| t.kind != TokenKind::Break);
            let name = match case {
                LetterCase::Mixed => acronym(part) || is_ticker(part) || letter,
                LetterCase::Shouted => part == "US",
                LetterCase::Short => matches!(part, "US" | "IT" | "WHO"),
            };
            // "us-west-2" is a region, and "us" in it no pronoun.
            // "Legal in OK" names a state.
            let placed = found.last().is_some_and(|last| last.is_word("in"));
            let name = name || placed && matches!(part, "OK" | "HI");
            let name = name || is_country(part, found) || part == "us" && part.len() < core.len();
            let part = &*part.to_lowercase();
            if name {
                found.push(Token::word(format!("{part}^")));
            } else if part.starts_with(|c: char| c.is_ascii_digit()) {
                number::read(part, found);
            } else {
                plain(part, found);
            }
        }
    } else {
        found.push(Token::new(TokenKind::Code, core));
    }
}

/// Single letters with a point behind each: "u.s", but not the range "a..b" and the file "a.c".
fn is_abbreviation(lower: &str) -> bool {
    let file = matches!(lower.rsplit_once('.'), Some((name, "c" | "h" | "o" | "r" | "s")) if name.len() == 1 && lower != "u.s");
    let mut parts = lower.split('.');
    !file && parts.all(|part| part.chars().count() == 1)
}

/// A pattern of dates, in which "MM" is the month and "mm" the minute: "YYYY-MM-DD", "HHmm".
fn is_date_pattern(core: &str) -> bool {
    let letter = |c: char| matches!(c, 'Y' | 'y' | 'M' | 'm' | 'D' | 'd' | 'H' | 'h' | 's' | 'S');
    core.chars()
        .all(|c| letter(c) || matches!(c, '-' | '/' | '.' | ':'))
        && ["YY", "yy", "HH", "hh", "DD", "dd"]
            .iter()
            .any(|pair| core.contains(pair))
}

/// Names of languages that end in signs.
fn is_special_name(lower: &str) -> bool {
    let letters = lower.trim_end_matches(['+', '#']);
    letters.len() < lower.len() && letters.len() <= 4 && letters.chars().all(char::is_alphabetic)
}

/// A word, cut where letters meet digits: "b12", "web3" and "ERC20" equal "b 12", "web 3", "erc 20".
fn plain(word: &str, found: &mut Vec<Token>) {
    match word.find(|c: char| c.is_ascii_digit()) {
        Some(at) if at > 0 && !word.contains('\'') => {
            let (head, tail) = word.split_at(at);
            if tail.chars().all(|c| c.is_ascii_digit()) {
                if matches!(head, "v" | "ver" | "version") {
                    found.push(Token::new(TokenKind::Code, format!("v{tail}")));
                } else {
                    // "S3" and "A100": the letter is no "'s" and no article.
                    let function = TABLES.stop.contains(head) || TABLES.determiners.contains(head);
                    let mark = if function { "^" } else { "" };
                    found.push(Token::word(format!("{head}{mark}")));
                    found.push(Token::new(TokenKind::Number, number::canonical(tail)));
                }
            } else {
                found.push(Token::new(TokenKind::Code, word));
            }
        }
        _ => found.push(Token::word(word)),
    }
}

fn is_mail(core: &str) -> bool {
    core.split_once('@')
        .is_some_and(|(user, host)| !user.is_empty() && host.contains('.'))
        || core.starts_with('@') && core.len() > 1
}

fn is_address(core: &str) -> bool {
    if let Some(hex) = core.strip_prefix("0x").or_else(|| core.strip_prefix("0X")) {
        return !hex.is_empty()
            && hex
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '…' || c == '.');
    }
    let digits = core.chars().filter(char::is_ascii_digit).count();
    let letters = core.chars().filter(char::is_ascii_alphabetic).count();
    let all = core.chars().count();
    digits + letters == all && digits >= 2 && letters >= 2 && all >= 16
}

/// Hexadecimal without regard to case; other alphabets depend on it.
fn address(core: &str) -> String {
    let hex = core.trim_start_matches("0x").trim_start_matches("0X");
    if hex.chars().all(|c| c.is_ascii_hexdigit()) {
        core.to_ascii_lowercase()
    } else {
        core.to_owned()
    }
}

fn is_path(core: &str) -> bool {
    let rooted = ["/", "./", "../", "~/", "--", "\\"]
        .iter()
        .any(|start| core.starts_with(start) && core.len() > start.len());
    let drive = core.get(1..3) == Some(":\\");
    let inner = core.contains('/') && core.contains('.') && core.chars().any(char::is_alphabetic);
    let option = core.starts_with('-')
        && core.chars().nth(1).is_some_and(char::is_alphabetic)
        && core.chars().count() <= 3;
    // rsync copies the content of "src/", and "src" as a whole.
    let folder = core.len() > 1 && core.ends_with('/');
    rooted || drive || inner || option || folder || core.contains('\\')
}
