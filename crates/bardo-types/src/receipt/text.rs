//! The text of a receipt as stores keep it: JSON, with short codes in place of the names of members
//! that nearly every receipt has. That is less than half of the JSON.

use std::borrow::Cow;
use std::sync::Arc;

/// First byte of a code. JSON never has it: control characters are escaped there.
const MARK: char = '\u{1}';

/// A name of a member, and the two bytes that stand for it and its marks.
struct CodedName {
    name: &'static str,
    /// The name with its marks: `"model":`.
    written: &'static str,
    /// The code after a comma.
    member: &'static str,
}

/// Declares names by their codes. Receipts are kept with them, so a code never gets another name.
macro_rules! names {
    ($($code:literal $name:literal,)*) => {
        const NAMES: &[(u8, CodedName)] = &[$((
            $code.as_bytes()[0],
            CodedName {
                name: $name,
                written: concat!("\"", $name, "\":"),
                member: concat!(",\u{1}", $code),
            },
        ),)*];
    };
}

names! {
    "A" "request_id", "B" "client_request_id", "C" "trace_id", "D" "created", "E" "created_ms",
    "F" "status", "G" "dialect", "H" "stream", "I" "model_requested", "J" "model",
    "K" "model_answered", "L" "provider", "M" "upstream_request_id", "N" "session",
    "O" "subsystem", "P" "key", "Q" "attempts", "R" "passed_over", "S" "outcome", "T" "class",
    "U" "ms", "V" "payment", "W" "usage", "X" "saved_usage", "Y" "input_tokens",
    "Z" "fresh_input_tokens", "a" "cache_read_tokens", "b" "cache_write_5m_tokens",
    "c" "cache_write_1h_tokens", "d" "output_tokens", "e" "reasoning_tokens",
    "f" "audio_input_tokens", "g" "audio_output_tokens", "h" "web_searches", "i" "byok",
    "j" "estimated", "k" "cost", "l" "mode", "m" "provider_payment", "n" "billed", "o" "currency",
    "p" "provider_cost", "q" "spread", "r" "spread_bps", "s" "charge", "t" "shortfall",
    "u" "list_price", "v" "savings", "w" "cache_savings", "x" "balance", "y" "cache",
    "z" "cache_age_s", "0" "cache_similarity", "1" "cache_reason", "2" "degraded",
    "3" "optimizations", "4" "verification", "5" "routing", "6" "timings_ms", "7" "timings_us",
    "8" "reserved", "9" "sent", "!" "head", "#" "first_content", "$" "total", "%" "read",
    "&" "limited", "'" "hash_lookup", "(" "screened", ")" "prepared", "*" "planned",
    "+" "semantic_lookup", "-" "settled",
}

/// Names with their marks, by code.
const BY_CODE: [&str; 128] = {
    let mut names = [""; 128];
    let mut at = 0;
    while at < NAMES.len() {
        let code = NAMES[at].0 as usize;
        assert!(names[code].is_empty(), "two names have one code");
        names[code] = NAMES[at].1.written;
        at += 1;
    }
    names
};

/// The code of a member after a comma, such as `,\u{1}J` for `,"model":`. Meant for constants: a name
/// without a code does not compile.
///
/// # Panics
/// When the name has no code.
#[must_use]
pub const fn member(name: &str) -> &'static str {
    let mut at = 0;
    while !is_same(NAMES[at].1.name.as_bytes(), name.as_bytes()) {
        at += 1;
    }
    NAMES[at].1.member
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The whole text of a receipt: JSON, with or without codes in place of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptText(Arc<str>);

impl<T: Into<Arc<str>>> From<T> for ReceiptText {
    /// Takes JSON, and texts as they were kept.
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl ReceiptText {
    /// The text as it is kept.
    #[must_use]
    pub fn as_kept(&self) -> &str {
        &self.0
    }

    /// The text as JSON, with all names.
    #[must_use]
    pub fn json(&self) -> Cow<'_, str> {
        json(&self.0)
    }
}

/// The JSON of a text as stores keep it.
#[must_use]
pub fn json(kept: &str) -> Cow<'_, str> {
    let Some(first) = kept.find(MARK) else {
        return Cow::Borrowed(kept);
    };
    let mut json = String::with_capacity(kept.len() * 5 / 2);
    let (before, mut rest) = kept.split_at(first);
    json.push_str(before);
    while let Some(at) = rest.find(MARK) {
        json.push_str(&rest[..at]);
        let code = rest.as_bytes().get(at + 1).copied().map(usize::from);
        let name = code.and_then(|code| BY_CODE.get(code)).copied();
        match name {
            Some(name) if !name.is_empty() => {
                json.push_str(name);
                rest = &rest[at + 2..];
            }
            // Of a newer version, or damaged: nothing is hidden.
            _ => {
                json.push(MARK);
                rest = &rest[at + 1..];
            }
        }
    }
    json.push_str(rest);
    Cow::Owned(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_names_and_all_else_stays() {
        let kept = format!(
            "{{{}\"gpt\",\"note\":\"é\"{}1}}",
            &member("model")[1..],
            member("settled")
        );
        let text = ReceiptText::from(kept.clone());
        assert_eq!(text.json(), r#"{"model":"gpt","note":"é","settled":1}"#);
        assert_eq!(text.as_kept(), kept);
        let plain = r#"{"model":"a","note":"é"}"#;
        assert!(matches!(json(plain), Cow::Borrowed(same) if same == plain));
    }

    #[test]
    fn each_name_has_a_code_of_its_own() {
        for (at, (code, coded)) in NAMES.iter().enumerate() {
            assert!(code.is_ascii_graphic() && !br#"",:\[]{}"#.contains(code));
            assert_eq!(json(&coded.member[1..]), coded.written);
            let is_double = |other: &(u8, CodedName)| other.1.name == coded.name;
            assert!(!NAMES[..at].iter().any(is_double), "{}", coded.name);
        }
    }

    #[test]
    fn damaged_texts_are_shown_as_they_are() {
        for kept in ["\u{1}", "{\u{1}", "a\u{1}é", "\u{1}\u{1}J", "\u{1}~"] {
            let shown = json(kept);
            assert!(shown.starts_with(kept.chars().next().unwrap_or_default()));
        }
        assert_eq!(json("\u{1}\u{1}J"), "\u{1}\"model\":");
    }
}
