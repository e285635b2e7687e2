//! Brackets and other signs of code that no token has: "[-1]" and "[-1:]", "2 ** 3 ** 2" and "(2 ** 3) ** 2".

/// The signs of each run of characters that is code, sorted, so that the runs may change places.
pub(super) fn signs(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text.split_whitespace().filter_map(run).collect();
    if !found.is_empty()
        || text
            .split_whitespace()
            .any(|chunk| matches!(chunk, "<" | ">"))
    {
        found.extend(text.split_whitespace().filter_map(capitals));
    }
    found.sort_unstable();
    found
}

/// The signs of one run of characters, if it is code.
fn run(chunk: &str) -> Option<String> {
    let code = without_prose(chunk);
    let is_code = code.chars().count() > 1
        && (code.contains([
            '[', ']', '{', '}', '=', '<', '>', '*', '^', '|', '\\', '~', ';',
        ]) || is_variable(code)
            || is_bracketed(code));
    is_code.then(|| code.chars().filter(|c| !is_of_word(*c)).collect())
}

/// A run without the marks of the sentence and the quotes around it. In "$?", the sign is a name.
fn without_prose(chunk: &str) -> &str {
    let quotes = |c: char| matches!(c, '`' | '"' | '“' | '”' | '\'');
    let inner = chunk.trim_matches(quotes);
    if is_variable(inner) {
        return inner;
    }
    let ends = |c: char| matches!(c, '.' | ',' | '?' | '!' | ':' | ';') || quotes(c);
    inner.trim_end_matches(ends)
}

/// "$path" and "$?", but neither "$50" nor "$LINK".
fn is_variable(code: &str) -> bool {
    let name = code.strip_prefix('$').and_then(|rest| rest.chars().next());
    name.is_some_and(|first| !first.is_ascii_digit() && !first.is_uppercase() && first != '.')
}

/// "(1,)", "(2", "f(x)", but not "(the big one)".
fn is_bracketed(code: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit();
    let opens = code
        .strip_prefix('(')
        .is_some_and(|rest| rest.starts_with(digit));
    let closes = code
        .strip_suffix(')')
        .is_some_and(|rest| rest.ends_with(|c| digit(c) || c == ','));
    opens
        || closes
        || code
            .find('(')
            .is_some_and(|at| at > 0 && code.ends_with(')'))
}

/// Beside code, a literal in capitals: "'ABD'" is not "'abd'".
fn capitals(chunk: &str) -> Option<String> {
    let ends = |c: char| matches!(c, '.' | ',' | '?' | '!' | ':' | ')');
    let literal = chunk.trim_end_matches(ends).trim_start_matches('(');
    let quote = literal.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let word = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    word.contains(char::is_uppercase).then(|| word.to_owned())
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
