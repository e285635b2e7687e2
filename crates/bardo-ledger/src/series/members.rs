//! Members of the compact JSON of receipts, read in one pass without a tree.

use std::borrow::Cow;

use bardo_types::money::MicroUsd;

/// A place in a text, which only moves on: no byte is looked at twice. At the first thing that does
/// not belong there it moves to the end.
pub(super) struct TextCursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> TextCursor<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Moves into the object or array of this opening bracket. Elsewhere it moves behind the value
    /// that is there, and answers false.
    pub(super) fn enter(&mut self, bracket: u8) -> bool {
        self.skip_space();
        if self.byte() == Some(bracket) {
            self.at += 1;
            return true;
        }
        self.value();
        false
    }

    /// Name of the next member, whose value is next; `None` behind the last one.
    pub(super) fn member(&mut self) -> Option<&'a str> {
        if !self.has_item(b'}') {
            return None;
        }
        let start = self.at + 1;
        let Some(end) = self.string_end() else {
            self.end();
            return None;
        };
        self.at = end;
        self.skip_space();
        if self.byte() != Some(b':') {
            self.end();
            return None;
        }
        self.at += 1;
        self.skip_space();
        self.text.get(start..end - 1)
    }

    /// Whether an element is next; false behind the last one.
    pub(super) fn element(&mut self) -> bool {
        self.has_item(b']')
    }

    /// The value that is next, as it is written, of which the cursor is behind afterwards.
    pub(super) fn value(&mut self) -> Option<&'a str> {
        let start = self.at;
        let Some(end) = self.value_end() else {
            self.end();
            return None;
        };
        self.at = end;
        self.text.get(start..end)
    }

    fn end(&mut self) {
        self.at = self.text.len();
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.byte() {
            self.at += 1;
        }
    }

    /// Moves to the next item, or behind the bracket that closes.
    fn has_item(&mut self, closing: u8) -> bool {
        while let Some(byte) = self.byte() {
            match byte {
                b',' | b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                byte if byte == closing => {
                    self.at += 1;
                    return false;
                }
                b'"' => return true,
                // A member has a name.
                _ if closing == b'}' => break,
                _ => return true,
            }
        }
        self.end();
        false
    }

    /// Place after the value that is next; `None` where there is none.
    fn value_end(&mut self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        match self.byte()? {
            b'"' => self.string_end(),
            b'{' | b'[' => {
                let mut depth = 0_usize;
                while let Some(byte) = self.byte() {
                    match byte {
                        b'"' => {
                            self.at = self.string_end()?;
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => {
                            depth -= 1;
                            if depth == 0 {
                                return Some(self.at + 1);
                            }
                        }
                        _ => {}
                    }
                    self.at += 1;
                }
                None
            }
            b'}' | b']' | b',' | b':' => None,
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r');
                let rest = &bytes[self.at..];
                let length = rest.iter().position(ends).unwrap_or(rest.len());
                Some(self.at + length)
            }
        }
    }

    /// Place after the string that begins here. Strings are short, so eight bytes are looked at at
    /// once.
    fn string_end(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        loop {
            if let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
                let eight = u64::from_le_bytes(*eight);
                let found = zeros(eight ^ repeat(b'"')) | zeros(eight ^ repeat(b'\\'));
                if found == 0 {
                    at += 8;
                    continue;
                }
                at += (found.trailing_zeros() / 8) as usize;
            }
            match bytes.get(at)? {
                b'"' => return Some(at + 1),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }
}

/// The byte in all eight places.
const fn repeat(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// The highest bit of each byte that is 0, correct up to the first one from below.
const fn zeros(bytes: u64) -> u64 {
    bytes.wrapping_sub(repeat(1)) & !bytes & repeat(0x80)
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

    fn members(object: &str) -> Vec<(&str, &str)> {
        let mut cursor = TextCursor::of(object);
        let mut found = Vec::new();
        if cursor.enter(b'{') {
            while let Some(name) = cursor.member() {
                found.extend(cursor.value().map(|value| (name, value)));
            }
        }
        found
    }

    fn elements(array: &str) -> Vec<&str> {
        let mut cursor = TextCursor::of(array);
        let mut found = Vec::new();
        if cursor.enter(b'[') {
            while cursor.element() {
                found.extend(cursor.value());
            }
        }
        found
    }

    #[test]
    fn members_are_found_whatever_their_values_hold() {
        let object = r#"{"a":"x\",}","b":{"c":[1,{"d":"]"}]},"e":null,"f":-1.5,"g":[]}"#;
        let expected = [
            ("a", r#""x\",}""#),
            ("b", r#"{"c":[1,{"d":"]"}]}"#),
            ("e", "null"),
            ("f", "-1.5"),
            ("g", "[]"),
        ];
        assert_eq!(members(object), expected);
        let spaced = " { \"a\" : 1 , \"é\\\\\" : \"a string of more than eight bytes\" } ";
        let expected = [
            ("a", "1"),
            ("é\\\\", "\"a string of more than eight bytes\""),
        ];
        assert_eq!(members(spaced), expected);
        let found = elements(r#"[{"a":1},"b",3]"#);
        assert_eq!(found, [r#"{"a":1}"#, r#""b""#, "3"]);
    }

    #[test]
    fn what_follows_an_object_that_was_entered_is_found() {
        let mut cursor = TextCursor::of(r#"{"a":{"b":[{"c":1},{}]},"d":null,"e":2}"#);
        let mut names = Vec::new();
        assert!(cursor.enter(b'{'));
        while let Some(name) = cursor.member() {
            names.push(name);
            if cursor.enter(b'{') {
                names.extend(cursor.member());
                assert!(cursor.enter(b'['));
                while cursor.element() {
                    assert!(cursor.enter(b'{'));
                    while let Some(name) = cursor.member() {
                        names.push(name);
                        cursor.value();
                    }
                }
                assert_eq!(cursor.member(), None);
            }
        }
        assert_eq!(names, ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn strings_end_at_their_quote_however_long_they_are() {
        for length in 0..40 {
            for inner in ["x", "\\\"", "\\\\"] {
                let string = format!("\"{}{inner}\"", "y".repeat(length));
                let object = format!("{{\"a\":{string},\"b\":1}}");
                assert_eq!(members(&object), [("a", &*string), ("b", "1")]);
            }
        }
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
            "{\"\\",
            "{\"a\":{\"b\"",
        ] {
            assert_eq!(members(text).len(), 0, "{text}");
            assert_eq!(elements(text).len(), 0, "{text}");
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
