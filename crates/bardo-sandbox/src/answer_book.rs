//! Answers to questions that are known in advance, for simulations that need a certain length.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::script::{Facts, Output, Said};
use crate::world::locked;

/// A text, and the output tokens that it counts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownAnswer {
    pub(crate) text: String,
    pub(crate) tokens: u64,
}

/// Answers by the last text of the user. Clones share their answers.
#[derive(Debug, Clone, Default)]
pub struct AnswerBook(Arc<Mutex<HashMap<String, KnownAnswer>>>);

impl AnswerBook {
    /// From now on every model answers `question` with `text`, and counts `tokens` of output. A
    /// request for JSON gets the smallest JSON that fits, at the same count.
    pub fn set(&self, question: &str, text: &str, tokens: u64) {
        let answer = KnownAnswer {
            text: text.to_owned(),
            tokens,
        };
        locked(&self.0).insert(question.trim().to_owned(), answer);
    }

    /// The known answer to the last text of the user; `None` where there is none.
    pub(crate) fn find(&self, facts: &Facts) -> Option<KnownAnswer> {
        let held = locked(&self.0);
        if held.is_empty() {
            return None;
        }
        let last = facts.said.iter().rev().find_map(|said| match said {
            Said::User(text) => Some(text.trim()),
            Said::Assistant => None,
        });
        held.get(last?).cloned()
    }
}

impl KnownAnswer {
    /// Whether the text itself may be said, in the form that the request wants.
    pub(crate) fn fits(&self, facts: &Facts) -> bool {
        facts.output == Output::Free && facts.harness.schema.is_none()
    }
}
