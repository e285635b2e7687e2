//! Finding the end of a JSON string.

/// Bytes that are looked at at once in short strings.
const WORD: usize = 8;
/// The few long strings are most of a body, and go by blocks that the processor compares at once.
const BLOCK: usize = 32;

/// The first quote, backslash or control byte.
#[inline]
pub(super) fn string_special(bytes: &[u8]) -> Option<usize> {
    // Most pieces of strings are shorter than a word.
    let Some((word, rest)) = bytes.split_first_chunk::<WORD>() else {
        return special_by_words(bytes);
    };
    let marks = special(u64::from_le_bytes(*word));
    if marks != 0 {
        return Some(marks.trailing_zeros() as usize / 8);
    }
    special_in_long(rest).map(|found| WORD + found)
}

#[inline(never)]
fn special_in_long(bytes: &[u8]) -> Option<usize> {
    let (first, long) = bytes.split_at(bytes.len().min(BLOCK));
    if let Some(found) = special_by_words(first) {
        return Some(found);
    }
    let (blocks, _) = long.as_chunks::<BLOCK>();
    let plain = blocks
        .iter()
        .take_while(|block| !has_special(block))
        .count();
    let at = plain * BLOCK;
    special_by_words(&long[at..]).map(|found| BLOCK + at + found)
}

/// Looks at every byte whatever it finds, which is what lets the compiler take many at once.
fn has_special(block: &[u8; BLOCK]) -> bool {
    let special = |found, &byte: &u8| {
        found | u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\')
    };
    block.iter().fold(0, special) != 0
}

/// The high bit of each special byte of a word; of those that are set, the lowest is right.
fn special(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let quote = word ^ (ONES * b'"' as u64);
    let slash = word ^ (ONES * b'\\' as u64);
    // Each term has a byte's high bit set where that byte is zero (or, for the last, < 0x20).
    // A borrow can mark a later byte falsely, never an earlier one.
    (quote.wrapping_sub(ONES) & !quote
        | slash.wrapping_sub(ONES) & !slash
        | word.wrapping_sub(ONES * 0x20) & !word)
        & HIGHS
}

fn special_by_words(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<WORD>();
    for (index, word) in words.iter().enumerate() {
        let marks = special(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(index * WORD + marks.trailing_zeros() as usize / 8);
        }
    }
    if rest.is_empty() {
        return None;
    }
    match bytes.last_chunk::<WORD>() {
        // It begins in bytes that have none.
        Some(word) => {
            let marks = special(u64::from_le_bytes(*word));
            let found = marks.trailing_zeros() as usize / 8;
            (marks != 0).then_some(bytes.len() - WORD + found)
        }
        None => rest
            .iter()
            .position(|&byte| matches!(byte, b'"' | b'\\') || byte < 0x20),
    }
}

#[cfg(test)]
mod tests {
    use super::string_special;

    #[test]
    fn the_first_special_byte_is_found_wherever_it_is() {
        let plain = "é\u{7f} \u{10ffff}!x".repeat(12).into_bytes();
        assert_eq!(string_special(&plain), None);
        for special in [b'"', b'\\', 0, b'\n', 0x1f] {
            for at in 0..plain.len() {
                let mut bytes = plain.clone();
                bytes[at] = special;
                assert_eq!(string_special(&bytes), Some(at), "{special} at {at}");
                // A later one changes nothing.
                let last = bytes.len() - 1;
                bytes[last] = b'"';
                assert_eq!(string_special(&bytes), Some(at), "{special} at {at}");
            }
        }
    }
}
