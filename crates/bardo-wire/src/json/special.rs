//! Finding the end of a JSON string.

/// Most strings are short, and are searched eight bytes at a time up to here.
const SHORT: usize = 16;
/// The few long ones are most of a body, and go by blocks that the processor compares at once.
const BLOCK: usize = 32;

/// The first quote, backslash or control byte.
pub(super) fn string_special(bytes: &[u8]) -> Option<usize> {
    let (short, long) = bytes.split_at(bytes.len().min(SHORT));
    if let Some(found) = special_by_words(short) {
        return Some(found);
    }
    let (blocks, _) = long.as_chunks::<BLOCK>();
    let plain = blocks
        .iter()
        .take_while(|block| !has_special(block))
        .count();
    let at = plain * BLOCK;
    special_by_words(&long[at..]).map(|found| SHORT + at + found)
}

/// The first quote or backslash in a text that is known to have no control bytes: see
/// [`has_control`].
pub(super) fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    let (short, long) = bytes.split_at(bytes.len().min(SHORT));
    special_by_words(short)
        .or_else(|| memchr::memchr2(b'"', b'\\', long).map(|found| SHORT + found))
}

/// Whether there is a control byte anywhere. A body as programs write it has none.
pub(super) fn has_control(bytes: &[u8]) -> bool {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let block = |found, block: &[u8; BLOCK]| found | block.iter().fold(0, control);
    rest.iter().fold(blocks.iter().fold(0, block), control) != 0
}

/// Looks at every byte whatever it finds, which is what lets the compiler take many at once.
fn has_special(block: &[u8; BLOCK]) -> bool {
    let special = |found, &byte: &u8| {
        control(found, &byte) | u8::from(byte == b'"') | u8::from(byte == b'\\')
    };
    block.iter().fold(0, special) != 0
}

fn control(found: u8, &byte: &u8) -> u8 {
    found | u8::from(byte < 0x20)
}

fn special_by_words(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let special = |word: u64| {
        let quote = word ^ (ONES * b'"' as u64);
        let slash = word ^ (ONES * b'\\' as u64);
        // Each term has a byte's high bit set where that byte is zero (or, for the last, < 0x20).
        // A borrow can mark a later byte falsely, never an earlier one, so the lowest is right.
        (quote.wrapping_sub(ONES) & !quote
            | slash.wrapping_sub(ONES) & !slash
            | word.wrapping_sub(ONES * 0x20) & !word)
            & HIGHS
    };
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = special(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(index * 8 + marks.trailing_zeros() as usize / 8);
        }
    }
    rest.iter()
        .position(|&byte| matches!(byte, b'"' | b'\\') || byte < 0x20)
        .map(|found| words.len() * 8 + found)
}

#[cfg(test)]
mod tests {
    use super::{has_control, quote_or_backslash, string_special};

    #[test]
    fn the_first_special_byte_is_found_wherever_it_is() {
        let plain = "é\u{7f} \u{10ffff}!x".repeat(12).into_bytes();
        assert_eq!(string_special(&plain), None);
        assert_eq!(quote_or_backslash(&plain), None);
        assert!(!has_control(&plain));
        for special in [b'"', b'\\', 0, b'\n', 0x1f] {
            for at in 0..plain.len() {
                let mut bytes = plain.clone();
                bytes[at] = special;
                assert_eq!(string_special(&bytes), Some(at), "{special} at {at}");
                assert_eq!(has_control(&bytes), special < 0x20, "{special} at {at}");
                if special >= 0x20 {
                    assert_eq!(quote_or_backslash(&bytes), Some(at), "{special} at {at}");
                }
                // A later one changes nothing.
                let last = bytes.len() - 1;
                bytes[last] = b'"';
                assert_eq!(string_special(&bytes), Some(at), "{special} at {at}");
            }
        }
    }
}
