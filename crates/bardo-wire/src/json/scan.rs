use std::borrow::Cow;
use std::ops::Range;

use super::special::string_special;

/// Deepest nesting that a body may have; the parsers of peers stop at about this depth too.
const MAX_DEPTH: usize = 128;

/// Why a body is not JSON that we take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Not JSON at all.
    #[error("invalid JSON at byte {at}")]
    Syntax {
        /// Offset of the first byte that does not fit.
        at: usize,
    },
    /// The text is not UTF-8.
    #[error("invalid UTF-8 at byte {at}")]
    Utf8 {
        /// Offset of the first bad byte.
        at: usize,
    },
    /// Nested too deep.
    #[error("nested deeper than {MAX_DEPTH} levels at byte {at}")]
    TooDeep {
        /// Offset of the bracket too many.
        at: usize,
    },
    /// JSON, but not an object.
    #[error("the body must be a JSON object")]
    NotAnObject,
    /// A top-level member given twice; two readers could disagree about which counts.
    #[error("duplicate member at byte {at}")]
    Duplicate {
        /// Offset of the second key.
        at: usize,
    },
}

/// One member of the top-level object, by place in the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The key with its quotes.
    pub key: Range<usize>,
    /// Range of the value.
    pub value: Range<usize>,
    /// The key has escapes, so that it is another name than it looks like.
    has_escapes: bool,
}

/// The top level of a body: where each member is, nothing copied.
#[derive(Debug, Clone)]
pub struct TopLevel<'a> {
    bytes: &'a [u8],
    members: Cow<'a, [Member]>,
}

impl<'a> TopLevel<'a> {
    /// The value of `key` as written.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a str> {
        std::str::from_utf8(&self.bytes[self.member(key)?.value.clone()]).ok()
    }

    /// The bytes of the value of `key`, for searches in long values.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&'a [u8]> {
        Some(&self.bytes[self.member(key)?.value.clone()])
    }

    /// The string value of `key`, unescaped; `None` when absent or not a string.
    #[must_use]
    pub fn string(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.get(key)?).ok()
    }

    /// The place of `key`. Not inlined: a request is asked for a dozen.
    #[inline(never)]
    #[must_use]
    pub fn member(&self, key: &str) -> Option<&Member> {
        self.members.iter().find(|member| self.has_key(member, key))
    }

    /// Whether `member` goes by the name `key`, however its letters are escaped.
    pub(crate) fn has_key(&self, member: &Member, key: &str) -> bool {
        let quoted = &self.bytes[member.key.clone()];
        match member.has_escapes {
            false => quoted[1..quoted.len() - 1] == *key.as_bytes(),
            true => *key_text(quoted) == *key.as_bytes(),
        }
    }

    /// The name that `member` goes by.
    pub(crate) fn key(&self, member: &Member) -> Cow<'_, str> {
        match key_text(&self.bytes[member.key.clone()]) {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The name of a member, its escapes resolved.
    #[must_use]
    pub fn name(&self, member: &Member) -> Cow<'_, str> {
        self.key(member)
    }

    /// All members in order.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The whole body.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The whole body as text; [`scan`] has checked that it is.
    #[must_use]
    pub fn text(&self) -> &'a str {
        std::str::from_utf8(self.bytes).unwrap_or_default()
    }

    /// The places alone, to be put [`over`](Self::over) the same body again later.
    #[must_use]
    pub fn into_members(self) -> Vec<Member> {
        self.members.into_owned()
    }

    /// Puts places over the body that they were found in.
    #[must_use]
    pub fn over(bytes: &'a [u8], members: &'a [Member]) -> Self {
        Self {
            bytes,
            members: Cow::Borrowed(members),
        }
    }
}

/// Checks a body in one pass and notes where its top-level members are.
///
/// # Errors
/// See [`JsonError`]; the first problem found is told.
pub fn scan(body: &[u8]) -> Result<TopLevel<'_>, JsonError> {
    std::str::from_utf8(body).map_err(|error| JsonError::Utf8 {
        at: error.valid_up_to(),
    })?;
    let mut scanner = Scanner { bytes: body, at: 0 };
    scanner.space();
    if scanner.peek() != Some(b'{') {
        scanner.value()?;
        scanner.space();
        return if scanner.at == body.len() {
            Err(JsonError::NotAnObject)
        } else {
            Err(scanner.syntax())
        };
    }
    scanner.at += 1;
    let mut members: Vec<Member> = Vec::with_capacity(16);
    let mut keys = Keys {
        first: Vec::with_capacity(16),
        ..Keys::default()
    };
    scanner.space();
    if scanner.peek() == Some(b'}') {
        scanner.at += 1;
    } else {
        loop {
            scanner.space();
            let key = scanner.at;
            if scanner.peek() != Some(b'"') {
                return Err(scanner.syntax());
            }
            let has_escapes = scanner.string()?;
            let key = key..scanner.at;
            let name = match has_escapes {
                true => key_text(&body[key.clone()]),
                false => Cow::Borrowed(&body[key.start + 1..key.end - 1]),
            };
            if !keys.insert(name) {
                return Err(JsonError::Duplicate { at: key.start });
            }
            scanner.colon()?;
            let value = scanner.at;
            scanner.value()?;
            members.push(Member {
                key,
                value: value..scanner.at,
                has_escapes,
            });
            scanner.space();
            match scanner.next() {
                Some(b',') => {}
                Some(b'}') => break,
                _ => return Err(scanner.syntax_before()),
            }
        }
    }
    scanner.space();
    if scanner.at != body.len() {
        return Err(scanner.syntax());
    }
    Ok(TopLevel {
        bytes: body,
        members: Cow::Owned(members),
    })
}

/// A key without its quotes, its escapes resolved where it has any, so that `"mod\u0065l"` is
/// what every other reader takes it for.
fn key_text(quoted: &[u8]) -> Cow<'_, [u8]> {
    let plain = &quoted[1..quoted.len() - 1];
    if memchr::memchr(b'\\', plain).is_none() {
        return Cow::Borrowed(plain);
    }
    match serde_json::from_slice::<String>(quoted) {
        Ok(text) => Cow::Owned(text.into_bytes()),
        Err(_) => Cow::Borrowed(plain),
    }
}

/// The keys so far. A body has few, and a short list is the quickest to search; one that is made
/// of a million keys must not cost a million million comparisons.
#[derive(Default)]
struct Keys<'a> {
    first: Vec<Cow<'a, [u8]>>,
    more: std::collections::HashSet<Cow<'a, [u8]>>,
}

impl<'a> Keys<'a> {
    const FIRST_MAX: usize = 64;

    /// Notes a key; false when it was there already.
    fn insert(&mut self, key: Cow<'a, [u8]>) -> bool {
        if self.first.contains(&key) {
            return false;
        }
        if self.first.len() < Self::FIRST_MAX {
            self.first.push(key);
            return true;
        }
        self.more.insert(key)
    }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek();
        self.at += 1;
        byte
    }

    fn syntax(&self) -> JsonError {
        JsonError::Syntax {
            at: self.at.min(self.bytes.len()),
        }
    }

    fn syntax_before(&self) -> JsonError {
        JsonError::Syntax {
            at: (self.at - 1).min(self.bytes.len()),
        }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn colon(&mut self) -> Result<(), JsonError> {
        self.space();
        if self.next() != Some(b':') {
            return Err(self.syntax_before());
        }
        self.space();
        Ok(())
    }

    /// One value of any kind, without recursion: `open` holds a bit per level, set for objects.
    fn value(&mut self) -> Result<(), JsonError> {
        let mut open: u128 = 0;
        // The top-level object is the level around this value.
        let mut depth = 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                Some(bracket @ (b'{' | b'[')) => {
                    if depth == MAX_DEPTH {
                        return Err(JsonError::TooDeep { at: self.at });
                    }
                    self.at += 1;
                    self.space();
                    let is_object = bracket == b'{';
                    let closing = if is_object { b'}' } else { b']' };
                    if self.peek() == Some(closing) {
                        self.at += 1;
                    } else {
                        open = open << 1 | u128::from(is_object);
                        depth += 1;
                        if is_object {
                            self.key()?;
                        }
                        continue;
                    }
                }
                _ => return Err(self.syntax()),
            }
            // A value is complete: go on in, or close, the levels around it.
            loop {
                if depth == 1 {
                    return Ok(());
                }
                self.space();
                let is_object = open & 1 == 1;
                match self.next() {
                    Some(b',') => {
                        self.space();
                        if is_object {
                            self.key()?;
                        }
                        break;
                    }
                    Some(b'}') if is_object => {}
                    Some(b']') if !is_object => {}
                    _ => return Err(self.syntax_before()),
                }
                open >>= 1;
                depth -= 1;
            }
        }
    }

    fn key(&mut self) -> Result<(), JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.syntax());
        }
        self.string()?;
        self.colon()
    }

    /// Passes a string; answers whether it has escapes.
    fn string(&mut self) -> Result<bool, JsonError> {
        self.at += 1;
        let mut has_escapes = false;
        loop {
            let rest = &self.bytes[self.at.min(self.bytes.len())..];
            let Some(found) = string_special(rest) else {
                self.at = self.bytes.len();
                return Err(self.syntax());
            };
            self.at += found;
            match (rest[found], rest.get(found + 1)) {
                (b'"', _) => {
                    self.at += 1;
                    return Ok(has_escapes);
                }
                // The two escapes that nearly all are.
                (b'\\', Some(b'"' | b'n')) => self.at += 2,
                (b'\\', _) => self.escape()?,
                _ => return Err(self.syntax()),
            }
            has_escapes = true;
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        match self.next() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(()),
            Some(b'u') => {
                let unit = self.hex4()?;
                match unit {
                    0xD800..=0xDBFF => {
                        if self.next() != Some(b'\\') || self.next() != Some(b'u') {
                            return Err(self.syntax_before());
                        }
                        if (0xDC00..=0xDFFF).contains(&self.hex4()?) {
                            Ok(())
                        } else {
                            Err(self.syntax_before())
                        }
                    }
                    0xDC00..=0xDFFF => Err(self.syntax_before()),
                    _ => Ok(()),
                }
            }
            _ => Err(self.syntax_before()),
        }
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.next().and_then(|byte| char::from(byte).to_digit(16));
            unit = unit << 4 | digit.ok_or_else(|| self.syntax_before())?;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), JsonError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.next() {
            Some(b'0') => {}
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.syntax_before()),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), JsonError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.syntax());
        }
        self.digits();
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonError> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.syntax())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn members_are_found_as_written() {
        let body =
            br#" { "model" : "gpt-5.5", "n":1.0,"messages":[{"a":"\u00e9\"}{"}] , "x":{} } "#;
        let top = scan(body).unwrap();
        assert_eq!(top.string("model").as_deref(), Some("gpt-5.5"));
        assert_eq!(top.get("n"), Some("1.0"));
        assert_eq!(top.get("messages"), Some(r#"[{"a":"\u00e9\"}{"}]"#));
        assert_eq!(top.members().len(), 4);
    }

    #[test]
    fn problems_are_told_apart() {
        assert_eq!(scan(b"[1]").unwrap_err(), JsonError::NotAnObject);
        assert_eq!(
            scan(b"{\"a\":\"\xff\"}").unwrap_err(),
            JsonError::Utf8 { at: 6 }
        );
        assert_eq!(
            scan(b"{\"a\":1,\"a\":2}").unwrap_err(),
            JsonError::Duplicate { at: 7 }
        );
        assert!(matches!(
            scan(b"{\"a\":1,}"),
            Err(JsonError::Syntax { at: 7 })
        ));
        assert!(matches!(scan(b""), Err(JsonError::Syntax { at: 0 })));
        let deep =
            |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(scan(deep(127).as_bytes()).is_ok());
        assert!(matches!(
            scan(deep(128).as_bytes()),
            Err(JsonError::TooDeep { .. })
        ));
        assert!(matches!(
            scan("[".repeat(100_000).as_bytes()),
            Err(JsonError::TooDeep { .. })
        ));
    }

    #[test]
    fn an_escaped_key_is_the_key_it_spells() {
        let top = scan(br#"{"mod\u0065l":"a","n":1}"#).unwrap();
        assert_eq!(top.string("model").as_deref(), Some("a"));
        assert_eq!(
            scan(br#"{"model":"a","mod\u0065l":"b"}"#).unwrap_err(),
            JsonError::Duplicate { at: 13 }
        );
    }

    #[test]
    fn a_body_of_very_many_keys_is_scanned_and_its_duplicates_are_found() {
        let members: Vec<String> = (0..300_000).map(|n| format!("\"k{n}\":0")).collect();
        let body = format!("{{{}}}", members.join(","));
        assert_eq!(scan(body.as_bytes()).unwrap().members().len(), 300_000);
        for again in ["k1", "k299999"] {
            let body = format!("{{{},\"{again}\":1}}", members.join(","));
            let refused = scan(body.as_bytes()).unwrap_err();
            assert!(matches!(refused, JsonError::Duplicate { .. }), "{again}");
        }
    }

    fn json_like() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            "null|true|false|-?[0-9]{1,3}(\\.[0-9]{1,2})?([eE][+-]?[0-9]{1,2})?|\"[a-zé \\\\\"\u{1}]{0,6}\"|\"\\\\u[dD0][89aCc0-9][0-9]{2}\"",
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[{}]", items.join(", "))),
                prop::collection::vec(("[a-z]{1,3}", inner), 0..4).prop_map(|items| {
                    let members: Vec<String> = items
                        .into_iter()
                        .enumerate()
                        .map(|(i, (k, v))| format!("\"{k}{i}\":{v}"))
                        .collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
    }

    proptest! {
        /// Serde is the oracle: what it takes we take, and nothing else.
        #[test]
        fn accepts_exactly_what_serde_accepts(text in json_like(), cut in 0usize..200, junk in prop::option::of(any::<u8>())) {
            let mut body = format!("{{\"a\":{text}}}").into_bytes();
            if let Some(junk) = junk {
                let at = cut % body.len();
                body[at] = junk;
            }
            let ours = scan(&body);
            let serde = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&body);
            match (&ours, &serde) {
                (Err(JsonError::Duplicate { .. }), Ok(_)) => {}
                // Serde checks number ranges as well; the relay leaves those to the upstream.
                (Ok(_), Err(error)) if error.to_string().contains("number out of range") => {}
                _ => prop_assert_eq!(ours.is_ok(), serde.is_ok(), "{:?} / {:?}", ours, serde.map(|_| ())),
            }
        }
    }
}
