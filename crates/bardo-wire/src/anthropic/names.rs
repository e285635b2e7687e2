use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use bardo_types::chat::{ChatRequest, Part, Tool, ToolChoice};
use sha2::{Digest, Sha256};

use crate::renames::Renames;

/// Longest tool name the API takes.
const NAME_MAX: usize = 128;

fn allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_valid_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(allowed)
}

fn cleaned(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii() && allowed(c as u8) {
                c
            } else {
                '_'
            }
        })
        .collect()
}

/// Eight hex digits that tell texts apart once they have been cleaned.
fn fingerprint(text: &str) -> String {
    Sha256::digest(text.as_bytes())[..4]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Names of tools as this provider takes them.
#[derive(Debug, Default)]
pub(super) struct ToolNames {
    /// Those that had to change.
    renamed: Renames,
}

impl ToolNames {
    /// Finds every name in the request that has to change, and what to.
    pub(super) fn of(request: &ChatRequest) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for tool in &request.tools {
            match tool {
                Tool::Function { name, .. } | Tool::Custom { name, .. } => names.push(name),
                // The provider's own names are never changed, only kept free.
                Tool::Server { name, .. } => {
                    names.extend(name.as_deref().filter(|name| is_valid_name(name)));
                }
            }
        }
        for message in &request.messages {
            names.extend(message.parts.iter().filter_map(|part| match part {
                Part::ToolCall(call) if !is_valid_name(&call.name) => Some(call.name.as_str()),
                _ => None,
            }));
        }
        match &request.tool_choice {
            Some(ToolChoice::Named(name)) => names.push(name),
            Some(ToolChoice::Allowed { names: some, .. }) => {
                names.extend(some.iter().map(String::as_str));
            }
            _ => {}
        }
        let taken: HashSet<&str> = names.iter().copied().collect();
        let mut renamed = Renames::default();
        for name in &names {
            if is_valid_name(name) || renamed.has(name) {
                continue;
            }
            let mut sent = cleaned(name);
            let is_taken = taken.contains(sent.as_str()) || renamed.sends(&sent);
            if sent.is_empty() || sent.len() > NAME_MAX || is_taken {
                sent.truncate(NAME_MAX - 9);
                sent = format!("{sent}_{}", fingerprint(name));
            }
            renamed.add(sent, name);
        }
        Self { renamed }
    }

    /// The name to send for `name`.
    pub(super) fn sent<'a>(&'a self, name: &'a str) -> &'a str {
        self.renamed.sent(name)
    }

    pub(super) fn into_renamed(self) -> Vec<(String, String)> {
        self.renamed.into_list()
    }
}

/// Ids of calls as this provider takes them: of its alphabet, and each used once.
#[derive(Debug, Default)]
pub(super) struct CallIds<'a> {
    /// Caller's id to the one sent for its latest use.
    latest: HashMap<&'a str, Cow<'a, str>>,
    used: HashSet<Cow<'a, str>>,
    /// How often an id was used that comes more than once.
    repeated: HashMap<Cow<'a, str>, usize>,
}

impl<'a> CallIds<'a> {
    /// The id to send for a call.
    pub(super) fn call(&mut self, id: &'a str) -> Cow<'a, str> {
        let clean: Cow<'a, str> = if !id.is_empty() && id.bytes().all(allowed) {
            Cow::Borrowed(id)
        } else {
            Cow::Owned(format!("{}_{}", cleaned(id), fingerprint(id)))
        };
        let mut sent = clean.clone();
        if !self.used.insert(sent.clone()) {
            // The search goes on where the last one for this id ended.
            let uses = self.repeated.entry(clean.clone()).or_insert(1);
            loop {
                *uses += 1;
                sent = Cow::Owned(format!("{clean}_{uses}"));
                if self.used.insert(sent.clone()) {
                    break;
                }
            }
        }
        self.latest.insert(id, sent.clone());
        sent
    }

    /// The id to send for the result of the latest call with that id.
    pub(super) fn result(&self, id: &str) -> Option<Cow<'a, str>> {
        self.latest.get(id).cloned()
    }
}
