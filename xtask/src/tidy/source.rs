//! Just enough of Rust's syntax to measure it: what is code, where a test
//! module lies, where a function starts and ends.

use std::ops::Range;

/// A function and its extent in lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// The line of `fn`, counted from 1.
    pub(super) line: usize,
    pub(super) lines: usize,
}

/// What is not code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Comment,
    /// A string or a character.
    Literal,
}

/// The comments and literals of a text, in their order.
pub(super) fn pieces(text: &str) -> Vec<(Kind, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (kind, end) = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => (Kind::Comment, line_end(bytes, at)),
            b'/' if bytes[at..].starts_with(b"/*") => (Kind::Comment, block_comment_end(bytes, at)),
            b'"' => (Kind::Literal, string_end(bytes, at)),
            b'r' if !follows_word(bytes, at) => {
                (Kind::Literal, raw_string_end(bytes, at).unwrap_or(at))
            }
            b'\'' => (Kind::Literal, char_end(bytes, at).unwrap_or(at)),
            _ => (Kind::Comment, at),
        };
        if end > at {
            pieces.push((kind, at..end.min(bytes.len())));
        }
        at = end.max(at + 1);
    }
    pieces
}

/// The text with comments, strings and characters blanked out, byte for byte
/// in the same place, so that braces and words that remain are code.
pub(super) fn code_only(text: &str) -> String {
    let mut code = text.as_bytes().to_vec();
    for (_, range) in pieces(text) {
        for byte in &mut code[range] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    // Only ASCII was written over whole comments and literals.
    String::from_utf8_lossy(&code).into_owned()
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    find(bytes, at, b"\n")
}

fn block_comment_end(bytes: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = at;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let hashes = bytes[at + 1..].iter().take_while(|b| **b == b'#').count();
    let quote = at + 1 + hashes;
    if bytes.get(quote) != Some(&b'"') {
        return None;
    }
    let close = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    Some((find(bytes, quote + 1, &close) + close.len()).min(bytes.len()))
}

/// The end of a character literal; a lifetime has none.
fn char_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at + 1) == Some(&b'\\') {
        let close = find(bytes, at + 3, b"'");
        return Some((close + 1).min(bytes.len()));
    }
    let rest = std::str::from_utf8(bytes.get(at + 1..)?).ok()?;
    let width = rest.chars().next()?.len_utf8();
    (bytes.get(at + 1 + width) == Some(&b'\'')).then_some(at + width + 2)
}

fn find(bytes: &[u8], from: usize, what: &[u8]) -> usize {
    let from = from.min(bytes.len());
    let found = bytes[from..]
        .windows(what.len())
        .position(|window| window == what);
    found.map_or(bytes.len(), |offset| from + offset)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether the byte before is part of a name; a `b` or `c` prefix is not, as
/// in `br"…"`.
fn follows_word(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map(|i| bytes[i]);
    match before(1) {
        Some(b'b' | b'c') => before(2).is_some_and(is_word),
        Some(byte) => is_word(byte),
        None => false,
    }
}

/// Where the inline test modules of `code` lie, from their attribute to their
/// closing brace.
pub(super) fn test_modules(code: &str) -> Vec<Range<usize>> {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    code.match_indices(ATTRIBUTE)
        .filter_map(|(start, _)| {
            let rest = &code[start + ATTRIBUTE.len()..];
            let item = rest.trim_start().strip_prefix("mod ")?;
            let stop = item.find(['{', ';'])?;
            let open = code.len() - item.len() + stop;
            (code.as_bytes()[open] == b'{').then(|| start..closing_brace(code, open))
        })
        .collect()
}

/// The functions of `code` outside of `skipped`, inner ones included.
pub(super) fn functions(code: &str, skipped: &[Range<usize>]) -> Vec<Function> {
    let bytes = code.as_bytes();
    code.match_indices("fn ")
        .filter(|(at, _)| !follows_name(bytes, *at))
        .filter(|(at, _)| !skipped.iter().any(|range| range.contains(at)))
        .filter_map(|(at, _)| {
            let name: String = code[at + 3..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let open = body(bytes, at)?;
            let end = closing_brace(code, open);
            let newlines = |range: Range<usize>| code[range].matches('\n').count();
            (!name.is_empty()).then(|| Function {
                name,
                line: newlines(0..at) + 1,
                lines: newlines(at..end) + 1,
            })
        })
        .collect()
}

fn follows_name(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|i| is_word(bytes[i]))
}

/// The brace that opens the body of the function at `at`; a declaration or a
/// function pointer type has none.
fn body(bytes: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (i, byte) in bytes.iter().enumerate().skip(at) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(i),
            b';' | b'}' if depth == 0 => return None,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    None
}

fn closing_brace(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (i, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return i + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_not_code() {
        for text in [
            "// }{",
            "/* { /* { */ */",
            "\"{ \\\" {\"",
            "r#\"{\"{\"#",
            "br\"{\"",
            "'{'",
            "'\\''",
            "'\\u{7b}'",
            "\"é{\"",
        ] {
            let code = code_only(text);
            assert!(
                !code.contains(['{', '}', '"', '\'']),
                "{text} left {code:?}"
            );
            assert_eq!(code.len(), text.len(), "{text}");
        }
    }

    #[test]
    fn lifetimes_and_names_are_code() {
        let text = "fn a<'a>(b: &'a str, for_r: u8) { '{'; }";
        assert_eq!(code_only(text), "fn a<'a>(b: &'a str, for_r: u8) {    ; }");
    }

    #[test]
    fn a_test_module_spans_from_its_attribute_to_its_brace() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\nfn c() {}\n";
        let [range] = test_modules(code).try_into().unwrap();
        assert_eq!(&code[range], "#[cfg(test)]\nmod tests {\n fn b() {}\n}");
        assert_eq!(test_modules("#[cfg(test)]\nmod tests;\nfn a() {}"), []);
        assert_eq!(test_modules("#[cfg(test)]\nfn helper() {}"), []);
    }

    #[test]
    fn functions_have_names_and_lengths() {
        let code = "trait T { fn declared(&self) -> [u8; 2]; }\ntype F = fn (u8);\npub fn one() { }\nasync fn two<F: Fn(u8)>(\n    f: F,\n) where F: Send {\n    {}\n}\n";
        let found = functions(code, &[]);
        let expected = [("one", 3, 1), ("two", 4, 5)].map(|(name, line, lines)| Function {
            name: name.into(),
            line,
            lines,
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn functions_in_skipped_ranges_do_not_count() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\n";
        let found = functions(code, &test_modules(code));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].name, "a");
    }
}
