//! Tool names that had to change on their way to an upstream.

use std::collections::{HashMap, HashSet};

/// Names as sent, by the names that the caller gave. Every look-up costs the same, however many
/// names a request brings.
#[derive(Debug, Default)]
pub(crate) struct Renames {
    /// As (sent, original), in the order in which they were found.
    list: Vec<(String, String)>,
    by_original: HashMap<String, usize>,
    sent: HashSet<String>,
}

impl Renames {
    /// Whether a new name was found for `original` already.
    pub(crate) fn has(&self, original: &str) -> bool {
        self.by_original.contains_key(original)
    }

    /// Whether another name is sent as `sent` already.
    pub(crate) fn sends(&self, sent: &str) -> bool {
        self.sent.contains(sent)
    }

    pub(crate) fn add(&mut self, sent: String, original: &str) {
        self.by_original
            .insert(original.to_owned(), self.list.len());
        self.sent.insert(sent.clone());
        self.list.push((sent, original.to_owned()));
    }

    /// The name to send for `name`.
    pub(crate) fn sent<'a>(&'a self, name: &'a str) -> &'a str {
        match self.by_original.get(name) {
            Some(&place) => &self.list[place].0,
            None => name,
        }
    }

    /// As (sent, original).
    pub(crate) fn into_list(self) -> Vec<(String, String)> {
        self.list
    }
}
