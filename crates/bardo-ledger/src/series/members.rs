//! Members of the compact JSON of receipts, read in one pass without a tree.

use std::borrow::Cow;

use bardo_types::money::MicroUsd;

/// Members of an object: names, and values as they are written. It ends at the first thing that is
/// no member.
pub(super) struct TextMembers<'a>(&'a str);

impl<'a> TextMembers<'a> {
    /// The members of an object; none where the text is no object.
    pub(super) fn of(object: &'a str) -> Self {
        let inner = object.trim().strip_prefix('{');
        Self(inner.unwrap_or_default())
    }
}

impl<'a> Iterator for TextMembers<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = item(self.0);
        if !rest.starts_with('"') {
            return None;
        }
        let end = string_end(rest.as_bytes(), 0)?;
        let (name, rest) = (&rest[1..end - 1], &rest[end..]);
        let rest = match rest.strip_prefix(':') {
            Some(rest) => rest,
            None => rest.trim_start().strip_prefix(':')?,
        };
        let rest = match rest.as_bytes().first() {
            Some(b' ' | b'\n' | b'\t' | b'\r') => rest.trim_start(),
            _ => rest,
        };
        let end = value_end(rest)?;
        self.0 = &rest[end..];
        Some((name, &rest[..end]))
    }
}

/// Elements of an array, as they are written.
pub(super) struct TextElements<'a>(&'a str);

impl<'a> TextElements<'a> {
    /// The elements of an array; none where the text is no array.
    pub(super) fn of(array: &'a str) -> Self {
        let inner = array.trim().strip_prefix('[');
        Self(inner.unwrap_or_default())
    }
}

impl<'a> Iterator for TextElements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = item(self.0);
        let end = value_end(rest)?;
        self.0 = &rest[end..];
        Some(&rest[..end])
    }
}

/// The text from the next item on. Receipts are compact, so that nearly always one comma goes.
fn item(text: &str) -> &str {
    let rest = text.strip_prefix(',').unwrap_or(text);
    match rest.as_bytes().first() {
        Some(b',' | b' ' | b'\n' | b'\t' | b'\r') => {
            rest.trim_start_matches([',', ' ', '\n', '\t', '\r'])
        }
        _ => rest,
    }
}

/// Length of the value at the beginning of the text; `None` where there is none.
fn value_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    match bytes.first()? {
        b'"' => string_end(bytes, 0),
        b'{' | b'[' => {
            let (mut depth, mut at) = (0_usize, 0_usize);
            while let Some(byte) = bytes.get(at) {
                match byte {
                    b'"' => {
                        at = string_end(bytes, at)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
            None
        }
        b'}' | b']' | b',' | b':' => None,
        _ => {
            let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r');
            Some(bytes.iter().position(ends).unwrap_or(bytes.len()))
        }
    }
}

/// Place after the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// The text of a string; `None` where the value is none.
pub(super) fn text(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(next) = rest.next() {
        if next != '\\' {
            text.push(next);
            continue;
        }
        text.push(match rest.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => escaped(&mut rest)?,
            other => other,
        });
    }
    Some(Cow::Owned(text))
}

/// The character of four digits, or of two groups of them.
fn escaped(rest: &mut std::str::Chars<'_>) -> Option<char> {
    let first = unit(rest)?;
    if !(0xd800..0xdc00).contains(&first) {
        return Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    let second = match (rest.next(), rest.next()) {
        (Some('\\'), Some('u')) => unit(rest)?,
        _ => return None,
    };
    let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400);
    let code = low.map(|low| 0x1_0000 + ((first - 0xd800) << 10) + low);
    let found = code.and_then(char::from_u32);
    Some(found.unwrap_or(char::REPLACEMENT_CHARACTER))
}

fn unit(rest: &mut std::str::Chars<'_>) -> Option<u32> {
    let digits = rest.as_str().get(..4)?;
    *rest = rest.as_str()[4..].chars();
    u32::from_str_radix(digits, 16).ok()
}

/// A whole number; `None` where the value is none.
pub(super) fn number(value: &str) -> Option<u64> {
    value.parse().ok()
}

/// An amount in a string; `None` where the value is none.
pub(super) fn amount(value: &str) -> Option<MicroUsd> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    MicroUsd::from_usd(inner).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_whatever_their_values_hold() {
        let object = r#"{"a":"x\",}","b":{"c":[1,{"d":"]"}]},"e":null,"f":-1.5,"g":[]}"#;
        let found: Vec<_> = TextMembers::of(object).collect();
        let expected = [
            ("a", r#""x\",}""#),
            ("b", r#"{"c":[1,{"d":"]"}]}"#),
            ("e", "null"),
            ("f", "-1.5"),
            ("g", "[]"),
        ];
        assert_eq!(found, expected);
        let elements: Vec<_> = TextElements::of(r#"[{"a":1},"b",3]"#).collect();
        assert_eq!(elements, [r#"{"a":1}"#, r#""b""#, "3"]);
    }

    #[test]
    fn what_is_no_json_has_no_members_and_ends() {
        for text in [
            "",
            "{",
            "{}",
            "[",
            "{\"a",
            "{\"a\":",
            "{\"a\":\"",
            "}{",
            "nul",
            "{,:}",
        ] {
            assert_eq!(TextMembers::of(text).count(), 0, "{text}");
            assert_eq!(TextElements::of(text).count(), 0, "{text}");
        }
    }

    #[test]
    fn strings_lose_their_escapes() {
        for (value, found) in [
            (r#""plain""#, Some("plain")),
            (r#""a\n\"b\"\\\/""#, Some("a\n\"b\"\\/")),
            (r#""\u00e9\ud83d\ude00""#, Some("é😀")),
            (r#""\ud83d""#, None),
            ("null", None),
            ("7", None),
        ] {
            assert_eq!(text(value).as_deref(), found, "{value}");
        }
    }
}
