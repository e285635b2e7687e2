//! Names and ids that fit an upstream's patterns.

use std::borrow::Cow;

use bardo_types::chat::{ChatRequest, Part, Tool};
use sha2::{Digest, Sha256};

use super::namespaces;
use crate::renames::Renames;

/// Longest tool name, call id, cache key and user id that the API takes.
const LONGEST: usize = 64;

/// Tool names as an upstream takes them.
#[derive(Debug, Default)]
pub(super) struct Names {
    renamed: Renames,
}

impl Names {
    /// Looks through tools and history for names that do not fit.
    pub(super) fn of_request(request: &ChatRequest) -> Self {
        let defined = request.tools.iter().filter_map(|tool| match tool {
            Tool::Server { .. } => None,
            // Those go out within their namespace, under their own short name.
            tool if namespaces::of(tool).is_some() => None,
            tool => tool.name(),
        });
        let called = request
            .messages
            .iter()
            .flat_map(|message| &message.parts)
            .filter_map(|part| match part {
                Part::ToolCall(call) if namespaces::of_call(call).is_none() => {
                    Some(call.name.as_str())
                }
                _ => None,
            });
        let mut names = Self::default();
        for name in defined.chain(called) {
            if !fits(name) && !names.renamed.has(name) {
                names.renamed.add(fitted(name), name);
            }
        }
        names
    }

    /// The name to send for `name`.
    pub(super) fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.renamed.sent(name)
    }

    /// The name to send for a tool.
    pub(super) fn sent(&self, tool: &Tool) -> String {
        self.of(tool.name().unwrap_or_default()).to_owned()
    }

    pub(super) fn into_renamed(self) -> Vec<(String, String)> {
        self.renamed.into_list()
    }
}

fn allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn fits(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len()) && name.chars().all(allowed)
}

/// The cleaned name with a digest of the original, so that no two names fall together.
fn fitted(name: &str) -> String {
    let clean: String = name
        .chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .take(LONGEST - 9)
        .collect();
    format!("{clean}_{}", digest(name, 4))
}

fn digest(text: &str, bytes: usize) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .take(bytes)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A call id that the API takes; the same id always gives the same text, so pairs stay pairs.
pub(super) fn call_id(id: &str) -> Cow<'_, str> {
    if id.len() <= LONGEST && !id.is_empty() {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(format!("call_{}", digest(id, 16)))
    }
}

/// An opaque key within the API's limit: itself, or its digest.
pub(super) fn key(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(digest(text, 32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_fit_become_unique_ones_that_do() {
        let long = "x".repeat(65);
        for name in ["mcp.server/tool", "größe", "", long.as_str()] {
            assert!(!fits(name));
            assert!(fits(&fitted(name)), "{name}");
        }
        assert_ne!(fitted("a.b"), fitted("a/b"));
        assert!(fits("get_weather-2"));
    }

    #[test]
    fn ids_and_keys_keep_to_the_limit() {
        assert_eq!(call_id("toolu_1"), "toolu_1");
        assert!(call_id(&"a".repeat(100)).len() <= 64);
        assert_eq!(key(&"u".repeat(200)).len(), 64);
    }
}
