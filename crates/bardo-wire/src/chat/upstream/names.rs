//! Tool names and call ids that every service takes.

use std::borrow::Cow;
use std::collections::HashSet;

use bardo_types::chat::{ChatRequest, Part, Tool, ToolChoice};
use sha2::{Digest, Sha256};

use crate::renames::Renames;

/// Longest name of a tool.
const NAME_LIMIT: usize = 64;
/// Longest id of a call that all services take.
const ID_LIMIT: usize = 40;

/// Names that had to change.
pub(super) struct ToolNames(Renames);

impl ToolNames {
    /// Finds every name in a request that breaks the dialect's pattern and a unique one to send
    /// instead, which depends on the original name alone wherever that is free.
    pub(super) fn plan(request: &ChatRequest) -> Self {
        let mut names: Vec<&str> = request.tools.iter().filter_map(Tool::name).collect();
        for message in &request.messages {
            for part in &message.parts {
                if let Part::ToolCall(call) = part {
                    names.push(&call.name);
                }
            }
        }
        match &request.tool_choice {
            Some(ToolChoice::Named(name)) => names.push(name),
            Some(ToolChoice::Allowed { names: allowed, .. }) => {
                names.extend(allowed.iter().map(String::as_str));
            }
            _ => {}
        }
        let mut renamed = Renames::default();
        if names.iter().all(|name| is_fine(name, NAME_LIMIT)) {
            return Self(renamed);
        }
        let taken: HashSet<&str> = names.iter().copied().collect();
        for name in names {
            if is_fine(name, NAME_LIMIT) || renamed.has(name) {
                continue;
            }
            let mut salt = 0;
            let sent = loop {
                let candidate = cleaned(name, salt);
                if !taken.contains(candidate.as_str()) && !renamed.sends(&candidate) {
                    break candidate;
                }
                salt += 1;
            };
            renamed.add(sent, name);
        }
        Self(renamed)
    }

    /// The name to send for `name`.
    pub(super) fn sent<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.sent(name)
    }

    pub(super) fn into_renamed(self) -> Vec<(String, String)> {
        self.0.into_list()
    }
}

fn is_fine(name: &str, limit: usize) -> bool {
    !name.is_empty()
        && name.len() <= limit
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn cleaned(name: &str, salt: u32) -> String {
    let kept: String = name
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-') {
                letter
            } else {
                '_'
            }
        })
        .take(NAME_LIMIT - 9)
        .collect();
    let salted = if salt == 0 {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{name}#{salt}"))
    };
    format!("{kept}_{}", digest(&salted, 4))
}

/// An id of a call in letters that every service takes; the same everywhere for the same id.
pub(super) fn call_id(id: &str) -> Cow<'_, str> {
    if is_fine(id, ID_LIMIT) {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(format!("call_{}", digest(id, 12)))
    }
}

/// The first bytes of a SHA-256 in hex.
pub(super) fn digest(text: &str, bytes: usize) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter()
        .take(bytes)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
