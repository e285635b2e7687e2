//! Tool names that an upstream takes. Names that fit are sent as they are, byte for byte, because
//! prompt caches of providers depend on them.

use std::collections::{HashMap, HashSet};

use bardo_types::chat::{ChatRequest, Part, Tool, ToolCall, ToolChoice};
use bardo_types::model::Dialect;
use sha2::{Digest, Sha256};

use crate::kit::namespaces;

/// Bytes that a digest takes behind a cleaned name: an underscore and eight hex digits.
const DIGEST_BYTES: usize = 9;

/// The rule of a dialect's upstreams for tool names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameRule {
    /// Longest name in bytes.
    max: usize,
    /// Characters allowed beside ASCII letters, digits, `_` and `-`.
    also: &'static [u8],
    /// Names begin with a letter or an underscore.
    letter_first: bool,
    /// Functions of a namespace are sent within it, under their own short names.
    namespaces: bool,
}

impl NameRule {
    /// The rule of a dialect's upstreams.
    pub(crate) const fn of(dialect: Dialect) -> Self {
        let plain = Self {
            max: 64,
            also: b"",
            letter_first: false,
            namespaces: false,
        };
        match dialect {
            Dialect::Chat | Dialect::Completions => plain,
            Dialect::Anthropic => Self { max: 128, ..plain },
            Dialect::Responses => Self {
                namespaces: true,
                ..plain
            },
            Dialect::Gemini => Self {
                max: 128,
                also: b".:",
                letter_first: true,
                ..plain
            },
        }
    }

    fn fits(&self, name: &str) -> bool {
        name.len() <= self.max
            && name
                .bytes()
                .all(|byte| is_plain(byte) || self.also.contains(&byte))
            && name
                .bytes()
                .next()
                .is_some_and(|first| self.takes_first(first))
    }

    /// Whether a tool goes out under a name that this rule does not bind.
    fn keeps(&self, tool: &Tool) -> bool {
        matches!(tool, Tool::Server { .. }) || (self.namespaces && namespaces::of(tool).is_some())
    }

    fn takes_first(&self, byte: u8) -> bool {
        !self.letter_first || byte.is_ascii_alphabetic() || byte == b'_'
    }

    /// Other names for `name`: its own letters first, then with a digest of the original behind
    /// them, then with ever other digests.
    fn spellings(&self, name: &str) -> impl Iterator<Item = String> {
        let mut clean = cleaned(name);
        if clean
            .bytes()
            .next()
            .is_some_and(|first| !self.takes_first(first))
        {
            clean.insert(0, '_');
        }
        let head = &clean[..clean.len().min(self.max - DIGEST_BYTES)];
        let head = head.trim_end_matches('_').to_owned();
        let bare = (1..=self.max).contains(&clean.len()).then_some(clean);
        let salted = (0_u64..).map({
            let name = name.to_owned();
            move |salt| match salt {
                0 => format!("{head}_{}", digest(&name, 4)),
                salt => format!("{head}_{}", digest(&format!("{name}#{salt}"), 4)),
            }
        });
        bare.into_iter().chain(salted)
    }
}

/// Tool names as one upstream takes them. Every look-up costs the same, however many names a
/// request brings.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    /// Names that changed, as (sent, original), in the order in which they were found.
    renamed: Vec<(String, String)>,
    by_original: HashMap<String, usize>,
}

impl ToolNames {
    /// Finds every name in a request that the upstream refuses, and another to send instead that
    /// no tool of the request has.
    pub(crate) fn plan(request: &ChatRequest, rule: NameRule) -> Self {
        let mut names = Self::default();
        let all = || used(request, rule).chain(chosen(request));
        if all().all(|name| rule.fits(name)) {
            return names;
        }
        let kept: HashSet<&str> = request
            .tools
            .iter()
            .filter(|tool| rule.keeps(tool))
            .filter_map(Tool::name)
            .collect();
        let mut taken: HashSet<String> = all().map(str::to_owned).collect();
        let chosen = chosen(request).filter(|name| !kept.contains(name));
        for name in used(request, rule).chain(chosen) {
            if rule.fits(name) || names.by_original.contains_key(name) {
                continue;
            }
            let sent = rule.spellings(name).find(|sent| !taken.contains(sent));
            let sent = sent.expect("the spellings of a name never end");
            taken.insert(sent.clone());
            names
                .by_original
                .insert(name.to_owned(), names.renamed.len());
            names.renamed.push((sent, name.to_owned()));
        }
        names
    }

    /// The name to send for `name`.
    pub(crate) fn sent<'a>(&'a self, name: &'a str) -> &'a str {
        match self.by_original.get(name) {
            Some(&place) => &self.renamed[place].0,
            None => name,
        }
    }

    /// Names that changed, as (sent, original).
    pub(crate) fn into_renamed(self) -> Vec<(String, String)> {
        self.renamed
    }
}

/// Names of tools, and of calls in the history. Names of tools that the provider runs are never
/// changed, only kept free.
fn used(request: &ChatRequest, rule: NameRule) -> impl Iterator<Item = &str> {
    let defined = request.tools.iter().filter_map(move |tool| match tool {
        Tool::Server { name, .. } => name.as_deref().filter(|name| rule.fits(name)),
        tool => tool.name().filter(|_| !rule.keeps(tool)),
    });
    let outside = move |call: &ToolCall| !rule.namespaces || namespaces::of_call(call).is_none();
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let called = parts.filter_map(move |part| match part {
        Part::ToolCall(call) if outside(call) => Some(call.name.as_str()),
        _ => None,
    });
    defined.chain(called)
}

/// Names in the choice of a tool.
fn chosen(request: &ChatRequest) -> impl Iterator<Item = &str> {
    let names = match &request.tool_choice {
        Some(ToolChoice::Named(name)) => std::slice::from_ref(name),
        Some(ToolChoice::Allowed { names, .. }) => names,
        _ => &[],
    };
    names.iter().map(String::as_str)
}

/// Letters that every dialect takes in names of tools and in ids of calls.
pub(crate) fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// `text` with an underscore for every character that not every dialect takes.
pub(crate) fn cleaned(text: &str) -> String {
    text.chars()
        .map(|letter| match u8::try_from(letter) {
            Ok(byte) if is_plain(byte) => letter,
            _ => '_',
        })
        .collect()
}

/// The first bytes of a SHA-256 in hex.
pub(crate) fn digest(text: &str, bytes: usize) -> String {
    use std::fmt::Write as _;
    let mut hex = String::with_capacity(bytes * 2);
    for byte in &Sha256::digest(text.as_bytes())[..bytes] {
        write!(hex, "{byte:02x}").expect("memory takes whatever is written");
    }
    hex
}

#[cfg(test)]
mod tests;
