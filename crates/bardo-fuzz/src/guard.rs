//! The target for the guard of the semantic cache.

use bardo_cache::guard::{Mismatch, Signature, TEXT_BYTES_MAX};

use crate::Knobs;

/// Signatures depend on the text alone, are equal to themselves, judge alike in both directions,
/// and see no difference in the width of white space.
pub fn guard(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    let text = String::from_utf8_lossy(payload);
    let signature = Signature::of(&text);
    assert_eq!(signature, Signature::of(&text));
    let own = signature.difference(&signature);
    assert!(matches!(
        own,
        None | Some(Mismatch::Empty | Mismatch::TooLong)
    ));

    let wide = text.replace(' ', "  ");
    if wide.len() <= TEXT_BYTES_MAX {
        assert_eq!(signature, Signature::of(&wide));
    }

    let middle = text.floor_char_boundary(text.len() * usize::from(knobs.0[0]) / 255);
    let (one, other) = text.split_at(middle);
    let (one, other) = (Signature::of(one), Signature::of(other));
    assert_eq!(
        one.difference(&other).is_none(),
        other.difference(&one).is_none()
    );
}
