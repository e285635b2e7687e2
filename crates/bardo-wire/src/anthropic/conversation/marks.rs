//! Prompt-cache marks.

use std::borrow::Cow;

use bardo_types::chat::Role;
use bardo_types::json::RawJson;

use super::{Body, Conversation, Sent};
use crate::anthropic::lost::Lost;

/// Most marks a request may have.
const MARKS_MAX: usize = 4;

/// The usual mark.
pub(in crate::anthropic) fn ephemeral() -> RawJson {
    RawJson::parse(r#"{"type":"ephemeral"}"#).expect("a literal is JSON")
}

impl Conversation<'_> {
    /// How many marks the conversation has.
    pub(in crate::anthropic) fn marks(&self) -> usize {
        self.system
            .iter()
            .chain(self.turns.iter().flat_map(|turn| &turn.blocks))
            .map(marks_of)
            .sum()
    }

    /// Marks the end of the system prompt and of the last two user turns. The mark that was last
    /// in one request is last but one in the next, so that each request finds the entry that the
    /// one before it wrote.
    pub(in crate::anthropic) fn mark_automatically(&mut self) {
        mark_last(&mut self.system);
        for turn in self
            .turns
            .iter_mut()
            .rev()
            .filter(|turn| turn.role == Role::User)
            .take(2)
        {
            mark_last(&mut turn.blocks);
        }
    }

    /// Takes out the oldest marks of the turns until, with `others`, no more are left than the
    /// API takes.
    pub(in crate::anthropic) fn limit_marks(&mut self, others: usize, lost: &mut Lost) {
        let mut excess = (self.marks() + others).saturating_sub(MARKS_MAX);
        if excess == 0 {
            return;
        }
        lost.note("cache_control", "a request can have at most 4 cache marks");
        let turns = self.turns.iter_mut().flat_map(|turn| &mut turn.blocks);
        for block in turns.chain(&mut self.system) {
            if excess == 0 {
                return;
            }
            excess = unmark(block, excess);
        }
    }
}

fn marks_of(block: &Sent<'_>) -> usize {
    let inner = match &block.body {
        Body::Result { parts, .. } | Body::Document { parts, .. } => {
            parts.iter().map(marks_of).sum()
        }
        _ => 0,
    };
    inner + usize::from(block.cache.is_some())
}

/// Takes marks out of a block; answers how many are still too many.
fn unmark(block: &mut Sent<'_>, mut excess: usize) -> usize {
    if let Body::Result { parts, .. } | Body::Document { parts, .. } = &mut block.body {
        for part in parts {
            if excess > 0 {
                excess = unmark(part, excess);
            }
        }
    }
    if excess > 0 && block.cache.take().is_some() {
        excess -= 1;
    }
    excess
}

fn mark_last(blocks: &mut [Sent<'_>]) {
    if let Some(block) = blocks.iter_mut().rfind(|block| block.is_markable()) {
        block.cache = Some(Cow::Owned(ephemeral()));
    }
}
