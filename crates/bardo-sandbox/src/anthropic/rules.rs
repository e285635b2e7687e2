//! The names that a request may use, read from `data/anthropic_request.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// Fields, content blocks, tool types and beta values that the API knows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rules {
    pub(crate) betas: Vec<String>,
    /// Top-level fields, with the beta that unlocks the ones that need one.
    pub(crate) fields: BTreeMap<String, Option<String>>,
    pub(crate) blocks: BTreeMap<String, BlockRule>,
    pub(crate) tools: BTreeMap<String, ToolRule>,
}

/// Where a content block may stand and which fields it has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlockRule {
    pub(crate) roles: Vec<String>,
    pub(crate) required: Vec<String>,
    pub(crate) optional: Vec<String>,
    #[serde(default)]
    pub(crate) beta: Option<String>,
}

/// A tool type that Anthropic defines.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolRule {
    /// The only name that this type may carry; toolsets have none.
    pub(crate) name: Option<String>,
    pub(crate) optional: Vec<String>,
    #[serde(default)]
    pub(crate) beta: Option<String>,
    /// The family of a tool that runs on Anthropic's side.
    #[serde(default)]
    pub(crate) server: Option<String>,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/anthropic_request.json"))
        .expect("the embedded request table is valid, a test parses it")
});

pub(crate) fn rules() -> &'static Rules {
    &RULES
}

/// Whether one of the betas in the header unlocks something that needs `needed`,
/// a list of full values or prefixes separated by `|`.
pub(crate) fn unlocked(needed: &str, betas: &[String]) -> bool {
    needed
        .split('|')
        .any(|prefix| betas.iter().any(|beta| beta.starts_with(prefix)))
}

/// Whether the API takes this value in `anthropic-beta`: one it knows, or one that
/// at least has the form `name-YYYY-MM-DD`, since new ones appear every week.
pub(crate) fn is_beta(value: &str) -> bool {
    if RULES.betas.iter().any(|known| known == value) {
        return true;
    }
    let mut parts: Vec<&str> = value.rsplitn(4, '-').collect();
    parts.reverse();
    let [name, year, month, day] = parts.as_slice() else {
        return false;
    };
    let digits =
        |text: &str, count| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && digits(year, 4)
        && digits(month, 2)
        && digits(day, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_known_betas_and_dated_ones() {
        for value in [
            "claude-code-20250219",
            "context-management-2025-06-27",
            "some-new-thing-2026-11-01",
        ] {
            assert!(is_beta(value), "{value}");
        }
        for value in [
            "",
            "bogus",
            "thing-26-11-01",
            "-2026-11-01",
            "Thing-2026-11-01",
        ] {
            assert!(!is_beta(value), "{value}");
        }
    }

    #[test]
    fn a_beta_unlocks_by_prefix() {
        let betas = vec!["compact-2026-01-12".to_owned()];
        assert!(unlocked("context-management-|compact-", &betas));
        assert!(!unlocked("compact-2026-09-04", &betas));
    }
}
