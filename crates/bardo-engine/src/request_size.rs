//! What a request tells of its size before it is sent.

use std::sync::LazyLock;

use bardo_ledger::hold::prompt_tokens_upper;
use bardo_types::model::Dialect;
use bardo_wire::json::TopLevel;
use memchr::memmem::Finder;

static SEARCH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("search"));

/// Searches that are reckoned with where a request offers them to the model.
const SEARCHES: u64 = 5;

/// The size of a request, as far as its members tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Tokens of the prompt, rather too many than too few.
    pub(crate) prompt: u64,
    /// Tokens of output per answer, where the caller set a limit.
    pub(crate) output: Option<u64>,
    /// How many answers are asked for.
    pub(crate) choices: u64,
    /// Searches that the provider may run.
    pub(crate) searches: u64,
}

impl Size {
    pub(crate) fn of(dialect: Dialect, top: &TopLevel<'_>) -> Self {
        let number = |key: &str| whole_number(top.get(key)?.trim());
        // Servers that do not refuse a limit of 0 take it for none. Anthropic keeps to it.
        let limit = |key: &str| number(key).filter(|limit| *limit > 0);
        let output = match dialect {
            Dialect::Chat => limit("max_completion_tokens").max(limit("max_tokens")),
            Dialect::Responses => limit("max_output_tokens"),
            Dialect::Anthropic | Dialect::Completions | Dialect::Gemini => number("max_tokens"),
        };
        let choices = match dialect {
            Dialect::Chat => number("n"),
            Dialect::Completions => number("best_of").max(number("n")),
            Dialect::Responses | Dialect::Anthropic | Dialect::Gemini => None,
        };
        let searches = [
            "tools",
            "plugins",
            "web_search_options",
            "venice_parameters",
        ]
        .iter()
        .filter_map(|key| top.raw(key))
        .any(|json| SEARCH.find(json).is_some());
        Self {
            prompt: prompt_tokens_upper(top.bytes()),
            output,
            choices: choices.unwrap_or(1).max(1),
            searches: if searches { SEARCHES } else { 0 },
        }
    }

    /// Tokens of all answers, where the caller set a limit.
    pub(crate) fn output_of_all(&self) -> Option<u64> {
        self.output
            .map(|output| output.saturating_mul(self.choices))
    }
}

/// A number as JSON means it, so `1e2` and `100.0` are 100; what is no whole number is rounded up.
/// `None` where it is none, or negative.
pub(crate) fn whole_number(json: &str) -> Option<u64> {
    let (whole, rest) = decimal(json, 0)?;
    Some(whole.saturating_add(u64::from(rest)))
}

/// An amount in USD as 10⁻⁶ USD, rounded down; `None` where it is none, or negative.
pub(crate) fn micro_usd(text: &str) -> Option<u64> {
    decimal(text, 6).map(|(whole, _)| whole)
}

/// The whole part of a decimal number times ten to the power of `shift`, and whether there is more
/// behind it.
fn decimal(json: &str, shift: i64) -> Option<(u64, bool)> {
    let (mantissa, exponent) = match json.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (json, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if whole.is_empty() || !digits().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let point = i64::try_from(whole.len()).ok()? + i64::from(exponent) + shift;
    let mut value = 0_u64;
    let mut rest = false;
    for (at, digit) in (0_i64..).zip(digits()) {
        if at < point {
            value = value
                .saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'));
        } else {
            rest |= digit != b'0';
        }
    }
    let missing = point - i64::try_from(digits().count()).ok()?;
    for _ in 0..missing.clamp(0, 20) {
        value = value.saturating_mul(10);
    }
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dialect: Dialect, body: &str) -> Size {
        Size::of(dialect, &bardo_wire::json::scan(body.as_bytes()).unwrap())
    }

    #[test]
    fn limits_and_choices_are_read_as_each_dialect_writes_them() {
        let body =
            r#"{"max_tokens":5,"max_completion_tokens":7,"max_output_tokens":9,"n":3,"best_of":4}"#;
        let check = |dialect, expected| {
            let size = read(dialect, body);
            assert_eq!((size.output, size.choices), expected, "{dialect:?}");
        };
        check(Dialect::Chat, (Some(7), 3));
        check(Dialect::Responses, (Some(9), 1));
        check(Dialect::Anthropic, (Some(5), 1));
        check(Dialect::Completions, (Some(5), 4));
        assert_eq!(read(Dialect::Chat, body).output_of_all(), Some(21));
        assert_eq!(
            read(Dialect::Chat, r#"{"max_tokens":null,"n":0}"#).output_of_all(),
            None
        );
        assert_eq!(read(Dialect::Chat, r#"{"max_tokens":0}"#).output, None);
        assert_eq!(
            read(Dialect::Responses, r#"{"max_output_tokens":0.0}"#).output,
            None
        );
        assert_eq!(
            read(Dialect::Anthropic, r#"{"max_tokens":0}"#).output,
            Some(0)
        );
    }

    #[test]
    fn numbers_are_read_as_json_means_them() {
        for (json, expected) in [
            ("100", Some(100)),
            ("1e2", Some(100)),
            ("1E+2", Some(100)),
            ("100.0", Some(100)),
            ("1.005e2", Some(101)),
            ("1000e-1", Some(100)),
            ("0.5", Some(1)),
            ("0", Some(0)),
            ("0e99", Some(0)),
            ("5e-9", Some(1)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", Some(u64::MAX)),
            ("1e400", Some(u64::MAX)),
            ("-1", None),
            ("null", None),
            ("\"100\"", None),
        ] {
            assert_eq!(whole_number(json), expected, "{json}");
        }
    }

    #[test]
    fn amounts_are_rounded_down() {
        for (text, expected) in [
            ("0.25", Some(250_000)),
            ("0.1000001", Some(100_000)),
            ("0.30000000000000004", Some(300_000)),
            ("1e-7", Some(0)),
            ("2.5e-3", Some(2_500)),
            ("1e400", Some(u64::MAX)),
            ("7", Some(7_000_000)),
            ("-1", None),
            ("1,5", None),
            ("$1", None),
            ("NaN", None),
            ("", None),
        ] {
            assert_eq!(micro_usd(text), expected, "{text}");
        }
    }

    #[test]
    fn searches_are_reckoned_with_where_they_are_offered() {
        let tool = r#"{"tools":[{"type":"web_search_20260209","name":"web_search"}]}"#;
        assert_eq!(read(Dialect::Anthropic, tool).searches, SEARCHES);
        let words = r#"{"messages":"search the web","tools":[{"name":"f"}]}"#;
        assert_eq!(read(Dialect::Anthropic, words).searches, 0);
    }
}
