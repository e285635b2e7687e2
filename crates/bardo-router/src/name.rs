//! Comparison of model names, which each backend spells differently.

use std::borrow::Cow;

/// The spelling-free form of a model name: lower case, without vendor prefix, date stamp or
/// bracketed context mark, and with dots as dashes.
///
/// `anthropic/claude-opus-5.5`, `claude-opus-5-5` and `claude-opus-5-5-20260901[1m]` all give
/// `claude-opus-5-5`.
#[must_use]
pub fn normalize(name: &str) -> String {
    normal_form(name).into_owned()
}

/// The form that [`normalize`] gives, borrowed from a name that is written so.
pub(crate) fn normal_form(name: &str) -> Cow<'_, str> {
    let name = name.trim();
    let name = name.rsplit_once('/').map_or(name, |(_, last)| last);
    let name = &name[..name.find(['[', '@']).unwrap_or(name.len())];
    let is_other = |byte: u8| matches!(byte, b'.' | b'_' | b'A'..=b'Z');
    if !name.bytes().any(is_other) {
        return Cow::Borrowed(undated(name));
    }
    let dashed = name.chars().map(|letter| match letter {
        '.' | '_' => '-',
        other => other.to_ascii_lowercase(),
    });
    let mut normal = String::with_capacity(name.len());
    normal.extend(dashed);
    normal.truncate(undated(&normal).len());
    Cow::Owned(normal)
}

/// A name without a date stamp at its end.
fn undated(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((before, stamp)) if is_date(stamp) => before,
        _ => name,
    }
}

fn is_date(stamp: &str) -> bool {
    stamp.len() == 8 && stamp.starts_with("20") && stamp.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::normalize;

    #[test]
    fn spellings_of_one_model_agree() {
        for name in [
            "anthropic/claude-opus-5.5",
            "claude-opus-5-5",
            "Claude-Opus-5-5-20260901",
            "claude-opus-5-5[1m]",
            "claude-opus-5-5-20260901",
            "anthropic/claude-opus-5-5-20260901[1m]",
            "claude-opus-5-5@20260901",
        ] {
            assert_eq!(normalize(name), "claude-opus-5-5");
        }
        assert_eq!(normalize("gpt-5.4-mini"), "gpt-5-4-mini");
        assert_eq!(normalize("llama3:8b"), "llama3:8b");
        assert_ne!(normalize("gpt-5.4"), normalize("gpt-5.4-mini"));
    }
}
