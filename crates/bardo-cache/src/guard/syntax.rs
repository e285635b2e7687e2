//! Brackets and other signs of code that no token has: "[-1]" and "[-1:]", "2 ** 3 ** 2" and "(2 ** 3) ** 2".

/// What follows a sentence, and may be its punctuation.
const ENDING: [char; 6] = ['.', ',', '?', '!', ':', ';'];

/// The signs of each run of characters that is code, sorted, so that the runs may change places.
pub(super) fn signs(text: &str) -> Vec<String> {
    let chunks: Vec<&str> = text.split_whitespace().collect();
    let logical = chunks.iter().any(|chunk| is_logical(chunk));
    let mut found: Vec<String> = chunks
        .iter()
        .filter_map(|chunk| run(chunk, logical))
        .chain(chunks.windows(2).filter_map(nullable))
        .collect();
    if !found.is_empty() || chunks.iter().any(|chunk| matches!(*chunk, "<" | ">" | "=")) {
        found.extend(chunks.iter().filter_map(|chunk| capitals(chunk)));
    }
    found.sort_unstable();
    found
}

/// Operators between which brackets say what belongs together.
fn is_logical(chunk: &str) -> bool {
    matches!(chunk, "AND" | "OR" | "NOT" | "XOR")
}

/// The signs of one run of characters, if it is code.
fn run(chunk: &str, logical: bool) -> Option<String> {
    let code = without_prose(chunk);
    let bracketed = is_bracketed(code) || logical && code.contains(['(', ')']);
    let is_code = code.chars().count() > 1
        && (code.contains(CODE) || is_variable(code) || is_format(code) || bracketed);
    is_code.then(|| {
        let mut before = ' ';
        let mut signs = String::new();
        for c in code.chars() {
            if !is_of_word(c) || before == '%' {
                signs.push(c);
            }
            before = c;
        }
        signs
    })
}

/// Signs that prose has not.
const CODE: &[char] = &[
    '[', ']', '{', '}', '=', '<', '>', '*', '^', '|', '\\', '~', ';',
];

/// A run without the punctuation of the sentence and the quotes around it. In "$?", the sign is a name.
fn without_prose(chunk: &str) -> &str {
    let inner = chunk.trim_matches(|c| matches!(c, '`' | '“' | '”'));
    let inner = unquoted(inner).unwrap_or(inner);
    if is_variable(inner) || inner.len() > 2 && inner.ends_with(';') && !is_plain(inner) {
        return inner;
    }
    let ended = inner.trim_end_matches(|c| ENDING.contains(&c) || c == '`');
    unquoted(ended).unwrap_or(ended)
}

/// A run without the quotes at both of its ends.
fn unquoted(chunk: &str) -> Option<&str> {
    let quote = chunk.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    chunk.strip_prefix(quote)?.strip_suffix(quote)
}

/// A word or a number with the punctuation of a sentence.
fn is_plain(chunk: &str) -> bool {
    let word = chunk.trim_end_matches(ENDING);
    word.chars()
        .all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’'))
}

/// "$path" and "$?", but neither "$50" nor "$LINK".
fn is_variable(code: &str) -> bool {
    let name = code.strip_prefix('$').and_then(|rest| rest.chars().next());
    name.is_some_and(|first| !first.is_ascii_digit() && !first.is_uppercase() && first != '.')
}

/// "%Y" of a format.
fn is_format(code: &str) -> bool {
    let mut rest = code.split('%').skip(1);
    rest.any(|behind| behind.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// "(1,)", "(2", "(x", "f(x)", but not "(the big one)".
fn is_bracketed(code: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit();
    let name = |inner: &str| {
        inner.len() == 1 && inner != "a" && inner != "I" && !inner.contains(['(', ')'])
    };
    let opens = code
        .strip_prefix('(')
        .is_some_and(|rest| rest.starts_with(digit) || name(rest));
    let closes = code
        .strip_suffix(')')
        .is_some_and(|rest| rest.ends_with(|c| digit(c) || c == ',') || name(rest));
    opens
        || closes
        || code
            .find('(')
            .is_some_and(|at| at > 0 && code.ends_with(')'))
}

/// "String? = null": a type that may be null.
fn nullable(pair: &[&str]) -> Option<String> {
    let [kind, next] = pair else { return None };
    (kind.ends_with('?') && next.starts_with('=')).then(|| "?".to_owned())
}

/// Beside code, a literal or an ending in capitals: "'ABD'" is not "'abd'", and "a.PDF" not "a.pdf".
fn capitals(chunk: &str) -> Option<String> {
    let literal = chunk.trim_end_matches(|c| ENDING.contains(&c) || c == ')');
    let literal = literal.trim_start_matches('(');
    let ending = literal
        .rsplit_once('.')
        .filter(|(name, _)| !name.is_empty());
    let word = unquoted(literal).or(ending.map(|(_, ending)| ending))?;
    word.contains(char::is_uppercase).then(|| word.to_owned())
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
