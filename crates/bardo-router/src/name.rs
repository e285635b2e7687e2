//! Comparison of model names, which each backend spells differently.

/// The spelling-free form of a model name: lower case, without vendor prefix, date stamp or
/// bracketed context mark, and with dots as dashes.
///
/// `anthropic/claude-opus-5.5`, `claude-opus-5-5` and `claude-opus-5-5-20260901[1m]` all give
/// `claude-opus-5-5`.
#[must_use]
pub fn normalize(name: &str) -> String {
    let name = name.trim();
    let name = name.rsplit_once('/').map_or(name, |(_, last)| last);
    let mut normal = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '[' | '@' => break,
            '.' | '_' => normal.push('-'),
            other => normal.push(other.to_ascii_lowercase()),
        }
    }
    if let Some((before, stamp)) = normal.rsplit_once('-')
        && stamp.len() == 8
        && stamp.starts_with("20")
        && stamp.bytes().all(|byte| byte.is_ascii_digit())
    {
        normal.truncate(before.len());
    }
    normal
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
        ] {
            assert_eq!(normalize(name), "claude-opus-5-5");
        }
        assert_eq!(normalize("gpt-5.4-mini"), "gpt-5-4-mini");
        assert_eq!(normalize("llama3:8b"), "llama3:8b");
        assert_ne!(normalize("gpt-5.4"), normalize("gpt-5.4-mini"));
    }
}
