//! The token estimate: one token is four bytes of UTF-8.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// What an image or another embedded file counts for.
pub(crate) const ATTACHMENT_TOKENS: usize = 85;

/// Tokens of a text, rounded up.
pub(crate) fn count(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

/// Renders a part of a request as prompt text, for counting and for cache prefixes.
///
/// Keys come in the order in which they were sent, because real prefix caches see bytes too.
/// Embedded files become a digest of fixed length, so a large image does not look like a novel.
pub(crate) fn render(value: &Value) -> String {
    let mut prompt = String::new();
    render_into(value, &mut prompt);
    prompt
}

fn render_into(value: &Value, prompt: &mut String) {
    match value {
        Value::Null => {}
        Value::Bool(flag) => prompt.push_str(if *flag { "true " } else { "false " }),
        Value::Number(number) => prompt.push_str(&format!("{number} ")),
        Value::String(text) if is_attachment(text) => {
            let digest = Sha256::digest(text.as_bytes());
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            let mut filled = hex.repeat(ATTACHMENT_TOKENS * 4 / hex.len() + 1);
            filled.truncate(ATTACHMENT_TOKENS * 4);
            prompt.push_str(&filled);
        }
        Value::String(text) => {
            prompt.push_str(text);
            prompt.push(' ');
        }
        Value::Array(items) => items.iter().for_each(|item| render_into(item, prompt)),
        Value::Object(fields) => {
            for (key, field) in fields.iter().filter(|(key, _)| *key != "cache_control") {
                prompt.push_str(key);
                prompt.push(' ');
                render_into(field, prompt);
            }
        }
    }
}

/// A data URL, or a long run of base64.
fn is_attachment(text: &str) -> bool {
    text.starts_with("data:")
        || (text.len() > 256
            && text.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
            }))
}

/// Cuts a text into pieces of at most `size` bytes, on character boundaries.
pub(crate) fn pieces(text: &str, size: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = floor_boundary(rest, size.max(1));
        let at = if at == 0 {
            rest.chars().next().map_or(rest.len(), char::len_utf8)
        } else {
            at
        };
        let (piece, tail) = rest.split_at(at);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// The largest character boundary that is not above `at`.
pub(crate) fn floor_boundary(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pieces_respect_characters_and_lose_nothing() {
        let text = "aä€😀 end";
        for size in 1..12 {
            let cut = pieces(text, size);
            assert_eq!(cut.concat(), text);
            assert!(cut.iter().all(|piece| piece.len() <= size.max(4)));
        }
    }

    #[test]
    fn an_image_counts_as_a_constant() {
        let image = json!({ "url": format!("data:image/png;base64,{}", "A".repeat(100_000)) });
        assert!(count(&render(&image)) < 100);
    }

    #[test]
    fn a_cache_marker_does_not_change_the_prompt() {
        let marked = json!([{ "text": "x", "cache_control": { "type": "ephemeral" } }]);
        assert_eq!(render(&marked), render(&json!([{ "text": "x" }])));
    }
}
