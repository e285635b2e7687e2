//! Characters that a server splits over two chunks of a stream.
//!
//! A program that counts text in UTF-16 units, as JavaScript does, can cut between the two halves of
//! a character beyond U+FFFF: one chunk ends in `\ud83d`, the next one begins with `\ude00`. Neither
//! is a text by itself (RFC 8259, section 8.2). A first half whose second one never comes is left out.

use std::borrow::Cow;

/// Bytes of an escape of four digits.
const ESCAPE: usize = 6;

/// Joins the halves of characters over the chunks of one answer.
#[derive(Default)]
pub(super) struct HalfCharacter {
    /// The escape that the last text ended in.
    first: Option<[u8; ESCAPE]>,
}

impl HalfCharacter {
    /// A chunk whose first half, if it ends a text, is kept back, and whose second half, if it begins
    /// a text, has the first one before it.
    pub(super) fn join<'a>(&mut self, chunk: &'a [u8]) -> Cow<'a, [u8]> {
        let mut joined = Cow::Borrowed(chunk);
        let second = halves(chunk).find(|&at| begins_text(chunk, at));
        if let Some((first, at)) = self.first.zip(second) {
            joined.to_mut().splice(at..at, first);
            self.first = None;
        }
        let last = halves(&joined).find(|&at| ends_text(&joined, at));
        if let Some(at) = last {
            let escape = joined.to_mut().drain(at..at + ESCAPE).collect::<Vec<u8>>();
            self.first = escape.try_into().ok();
        }
        joined
    }
}

/// The places of the escapes of surrogates.
fn halves(json: &[u8]) -> impl Iterator<Item = usize> {
    memchr::memchr_iter(b'\\', json).filter(|&at| {
        json.len() >= at + ESCAPE
            && json[at + 1] == b'u'
            && b"dD".contains(&json[at + 2])
            && !is_escaped(json, at)
    })
}

/// Whether the byte at a place has a backslash before it that is itself no escaped one.
fn is_escaped(json: &[u8], at: usize) -> bool {
    let before = json[..at].iter().rev();
    before.take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Whether a text begins with the second half of a character at this place.
fn begins_text(json: &[u8], at: usize) -> bool {
    b"cdefCDEF".contains(&json[at + 3])
        && at > 0
        && json[at - 1] == b'"'
        && !is_escaped(json, at - 1)
}

/// Whether a text ends in the first half of a character at this place.
fn ends_text(json: &[u8], at: usize) -> bool {
    b"89abAB".contains(&json[at + 3]) && json.get(at + ESCAPE) == Some(&b'"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(chunks: &[&str]) -> Vec<String> {
        let mut half = HalfCharacter::default();
        let joined = chunks.iter().map(|chunk| half.join(chunk.as_bytes()));
        let texts = joined.map(|json| String::from_utf8(json.into_owned()).unwrap());
        texts.collect()
    }

    #[test]
    fn halves_of_a_character_come_together_in_the_second_chunk() {
        for (chunks, expected) in [
            (
                [r#"{"c":"a \ud83d"}"#, r#"{"c":"\ude00 b"}"#],
                [r#"{"c":"a "}"#, r#"{"c":"\ud83d\ude00 b"}"#],
            ),
            // In capitals, and with an empty text between.
            (
                [r#"{"c":"\uD83D"}"#, r#"{"i":"","c":"\uDE00"}"#],
                [r#"{"c":""}"#, r#"{"i":"","c":"\uD83D\uDE00"}"#],
            ),
            // Whole characters, and texts that only look like escapes.
            (
                [r#"{"c":"\ud83d\ude00"}"#, r#"{"c":"\u00e9\\ude00"}"#],
                [r#"{"c":"\ud83d\ude00"}"#, r#"{"c":"\u00e9\\ude00"}"#],
            ),
            (
                [r#"{"c":"C:\\ud83d"}"#, r#"{"c":"\"\ude00"}"#],
                [r#"{"c":"C:\\ud83d"}"#, r#"{"c":"\"\ude00"}"#],
            ),
            // The second half may begin no text.
            (
                [r#"{"c":"a\ud83d"}"#, r#"{"c":"b"}"#],
                [r#"{"c":"a"}"#, r#"{"c":"b"}"#],
            ),
        ] {
            assert_eq!(joined(&chunks), expected);
        }
    }

    #[test]
    fn several_characters_in_a_row_are_joined() {
        let chunks = [
            r#"{"c":"\ud83d"}"#,
            r#"{"c":"\ude00\ud83d"}"#,
            r#"{"c":""}"#,
            r#"{"c":"\ude01"}"#,
        ];
        assert_eq!(
            joined(&chunks).concat(),
            r#"{"c":""}{"c":"\ud83d\ude00"}{"c":""}{"c":"\ud83d\ude01"}"#
        );
    }
}
