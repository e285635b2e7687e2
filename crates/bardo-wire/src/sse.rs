//! Server-sent events: framing only.
//!
//! Bytes may arrive cut anywhere. CR, LF and CRLF end lines; comments, `event`, `data`, `id` and
//! `retry` are understood; several `data` lines join with a newline; a BOM at the start is
//! skipped.

/// One complete event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event` line, empty when there was none.
    pub name: &'a str,
    /// The joined `data` lines. Not valid UTF-8 only where the upstream broke the protocol.
    pub data: &'a [u8],
}

/// An event outgrew the parser's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oversized;

/// Frames a byte stream into events with a bounded buffer.
#[derive(Debug)]
pub struct SseParser {
    /// The unfinished event: whole lines and a partial one.
    buffer: Vec<u8>,
    /// How far `buffer` has been searched for an event end.
    searched: usize,
    limit: usize,
    started: bool,
    name: String,
    data: Vec<u8>,
}

impl SseParser {
    /// A parser that gives up on an event larger than `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            searched: 0,
            limit,
            started: false,
            name: String::new(),
            data: Vec::new(),
        }
    }

    /// Takes the next bytes and hands each event that they complete to `take`.
    ///
    /// Events without data (comments, lone `event:` lines) are skipped.
    ///
    /// # Errors
    /// When an unfinished event outgrows the limit.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(SseEvent<'_>),
    ) -> Result<(), Oversized> {
        self.buffer.extend_from_slice(bytes);
        if !self.started {
            if self.buffer.len() < 3 && b"\xef\xbb\xbf".starts_with(&self.buffer) {
                return Ok(());
            }
            if self.buffer.starts_with(b"\xef\xbb\xbf") {
                self.buffer.drain(..3);
            }
            self.started = true;
        }
        let mut consumed = 0;
        while let Some(end) = event_end(&self.buffer[consumed..], self.searched - consumed) {
            let Self {
                buffer, name, data, ..
            } = self;
            let block = &buffer[consumed..consumed + end];
            if read_block(block, name, data) {
                take(SseEvent { name, data });
            }
            consumed += end;
            self.searched = consumed;
        }
        self.buffer.drain(..consumed);
        // A later byte may complete an ending that starts within the last three.
        self.searched = self.buffer.len().saturating_sub(3);
        if self.buffer.len() > self.limit {
            Err(Oversized)
        } else {
            Ok(())
        }
    }

    /// The upstream closed. An event whose blank line is missing is handed over, because real
    /// servers end that way; a last line that was cut makes the event torn, and it is dropped.
    pub fn finish(&mut self, mut take: impl FnMut(SseEvent<'_>)) {
        let Self {
            buffer, name, data, ..
        } = self;
        let last_line = memchr::memrchr2(b'\n', b'\r', buffer).map_or(0, |end| end + 1);
        let whole = last_line == buffer.len() || is_whole_data_line(&buffer[last_line..]);
        if whole && read_block(buffer, name, data) {
            take(SseEvent { name, data });
        }
        buffer.clear();
        self.searched = 0;
    }
}

/// Whether a line without its end is complete all the same: JSON that parses proves it.
fn is_whole_data_line(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"data:") else {
        return false;
    };
    let rest = rest.trim_ascii();
    rest == b"[DONE]" || serde_json::from_slice::<serde::de::IgnoredAny>(rest).is_ok()
}

/// The length of the first complete event in `bytes`, its blank line included; `None` when it is
/// not complete yet. `searched` bytes are known to hold no end.
///
/// A CR at the very end may be half of a CRLF, so it ends nothing yet.
#[must_use]
pub fn event_end(bytes: &[u8], searched: usize) -> Option<usize> {
    let mut at = searched.saturating_sub(3);
    while let Some(found) = memchr::memchr2(b'\n', b'\r', &bytes[at..]) {
        let line_end = at + found;
        let next = after_line_end(bytes, line_end)?;
        let rest = bytes.get(next)?;
        if matches!(rest, b'\n' | b'\r') {
            return match (rest, bytes.get(next + 1)) {
                (b'\r', None) => None,
                (b'\r', Some(b'\n')) => Some(next + 2),
                _ => Some(next + 1),
            };
        }
        at = next;
    }
    None
}

/// The bytes that are missing to the blank line that ends the event in `bytes`, where it came last
/// and its provider left the blank line out.
#[must_use]
pub fn missing_end(bytes: &[u8]) -> &'static [u8] {
    match bytes {
        [.., b'\n', b'\n']
        | [.., b'\r', b'\r']
        | [.., b'\n', b'\r', b'\n']
        | [.., b'\n', b'\r'] => b"",
        [.., b'\r'] => b"\r",
        [.., b'\n'] => b"\n",
        _ => b"\n\n",
    }
}

fn after_line_end(bytes: &[u8], at: usize) -> Option<usize> {
    match (bytes[at], bytes.get(at + 1)) {
        (b'\r', None) => None,
        (b'\r', Some(b'\n')) => Some(at + 2),
        _ => Some(at + 1),
    }
}

/// Reads the lines of one event; answers whether it has data.
fn read_block(block: &[u8], name: &mut String, data: &mut Vec<u8>) -> bool {
    name.clear();
    data.clear();
    let mut has_data = false;
    let mut rest = block;
    while !rest.is_empty() {
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        let (field, value) = match memchr::memchr(b':', line) {
            Some(0) => continue,
            Some(colon) => (
                &line[..colon],
                line[colon + 1..]
                    .strip_prefix(b" ")
                    .unwrap_or(&line[colon + 1..]),
            ),
            None => (line, &b""[..]),
        };
        match field {
            b"data" => {
                if has_data {
                    data.push(b'\n');
                }
                data.extend_from_slice(value);
                has_data = true;
            }
            b"event" => {
                name.clear();
                name.push_str(&String::from_utf8_lossy(value));
            }
            _ => {}
        }
    }
    has_data
}

#[cfg(test)]
mod tests;
