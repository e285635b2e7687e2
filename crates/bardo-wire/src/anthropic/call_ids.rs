//! Ids of calls as the Messages API takes them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::kit::tool_names::{cleaned, digest, is_plain};

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
        let clean: Cow<'a, str> = if !id.is_empty() && id.bytes().all(is_plain) {
            Cow::Borrowed(id)
        } else {
            Cow::Owned(format!("{}_{}", cleaned(id), digest(id, 4)))
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
