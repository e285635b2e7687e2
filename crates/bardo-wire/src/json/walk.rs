//! A walk over JSON that was validated before: it finds single values and skips the rest.

use std::borrow::Cow;

/// A place in validated JSON. Bytes that are no JSON end a walk early and cause no panic.
pub(crate) struct Walker<'a> {
    json: &'a [u8],
    at: usize,
}

impl<'a> Walker<'a> {
    /// Before the first value of `json`.
    pub(crate) fn over(json: &'a [u8]) -> Self {
        let mut walker = Self { json, at: 0 };
        walker.space();
        walker
    }

    /// The first byte of the value ahead.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.json.get(self.at).copied()
    }

    /// The bytes from here on.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.json.get(self.at..).unwrap_or_default()
    }

    /// The text ahead as written between its quotes; the walker stays before it.
    pub(crate) fn text(&self) -> &'a [u8] {
        inner(self.quoted().0)
    }

    /// The text ahead with its quotes, and whether it has escapes.
    fn quoted(&self) -> (&'a [u8], bool) {
        let rest = self.rest();
        let (end, has_escapes) = string_end(rest);
        (rest.get(..end).unwrap_or(rest), has_escapes)
    }

    /// The text ahead, its escapes resolved; `None` for a value of another kind.
    pub(crate) fn string(&self) -> Option<Cow<'a, str>> {
        if self.peek() != Some(b'"') {
            return None;
        }
        match self.quoted() {
            (quoted, false) => Some(Cow::Borrowed(std::str::from_utf8(inner(quoted)).ok()?)),
            (quoted, true) => Some(Cow::Owned(serde_json::from_slice(quoted).ok()?)),
        }
    }

    /// Takes the value ahead as it is written.
    pub(crate) fn written(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let start = self.at;
        self.skip();
        rest[..self.at - start].trim_ascii_end()
    }

    /// The kind of the value ahead, in words that follow "is".
    pub(crate) fn found(&self) -> &'static str {
        match self.peek() {
            Some(b'"') => "a text",
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b't') => "`true`",
            Some(b'f') => "`false`",
            Some(b'n') => "null",
            _ => "a number",
        }
    }

    /// Goes behind the value ahead.
    pub(crate) fn skip(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => self.at += string_end(self.rest()).0,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' | b',' if depth == 0 => return,
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Visits each entry of the list ahead with its index. The visitor goes behind the entry, or
    /// leaves it to be skipped.
    pub(crate) fn entries<E>(
        &mut self,
        mut visit: impl FnMut(&mut Self, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        self.at += 1;
        let mut index = 0;
        while self.ahead(b']') {
            let before = self.at;
            visit(self, index)?;
            self.leave(before);
            index += 1;
        }
        Ok(())
    }

    /// Visits each member of the object ahead with its name.
    pub(crate) fn members<E>(
        &mut self,
        mut visit: impl FnMut(&mut Self, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.at += 1;
        while self.ahead(b'}') {
            let start = self.at;
            let (quoted, has_escapes) = self.quoted();
            let name = match has_escapes {
                true => key_name(quoted),
                false => Cow::Borrowed(inner(quoted)),
            };
            self.at += quoted.len();
            self.space();
            if self.peek() != Some(b':') {
                // No object after all.
                self.leave(start);
                continue;
            }
            self.at += 1;
            self.space();
            let before = self.at;
            visit(self, &name)?;
            self.leave(before);
        }
        Ok(())
    }

    /// Whether another entry begins here; goes behind the bracket otherwise.
    fn ahead(&mut self, close: u8) -> bool {
        loop {
            self.space();
            match self.peek() {
                None => return false,
                Some(b',') => self.at += 1,
                Some(byte) if byte == close => {
                    self.at += 1;
                    return false;
                }
                Some(_) => return true,
            }
        }
    }

    /// Makes sure that the walk goes on behind the value that began at `before`.
    fn leave(&mut self, before: usize) {
        if self.at == before {
            self.skip();
        }
        if self.at == before {
            self.at += 1;
        }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }
}

/// The bytes of the string at the start of `json`, with its quotes, and whether it has escapes.
fn string_end(json: &[u8]) -> (usize, bool) {
    let mut at = 1;
    let mut has_escapes = false;
    loop {
        let rest = json.get(at..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            None => return (json.len().max(1), has_escapes),
            Some(found) if rest[found] == b'"' => return (at + found + 1, has_escapes),
            Some(found) => at += found + 2,
        }
        has_escapes = true;
    }
}

/// What stands between quotes.
fn inner(quoted: &[u8]) -> &[u8] {
    let end = quoted.len().saturating_sub(1);
    quoted.get(1..end).unwrap_or_default()
}

/// A name with its escapes resolved.
fn key_name(quoted: &[u8]) -> Cow<'_, [u8]> {
    match serde_json::from_slice::<String>(quoted) {
        Ok(name) => Cow::Owned(name.into_bytes()),
        Err(_) => Cow::Borrowed(inner(quoted)),
    }
}
