//! Marks for the prompt cache.

use std::borrow::Cow;

use bardo_types::Losses;
use bardo_types::chat::{
    CacheMark, CacheTtl, DocumentSource, IMAGE_BYTES, MarkPlan, Role, tokens_of_bytes,
};
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Dialect};

use super::{BlockBody, Conversation, Sent};
use crate::json::Members;

/// Most marks a request may have.
const MARKS_MAX: usize = 4;

/// A caller's mark as it is sent: whole where it is one of this API, with its lifetime; else the
/// usual one.
pub(in crate::anthropic) fn sent_mark(from: Dialect, mark: &CacheMark) -> Cow<'_, RawJson> {
    let CacheMark(raw) = mark;
    let is_ours = from == Dialect::Anthropic
        || raw.read::<Members<'_>>().is_ok_and(|members| {
            let kind = members.get("type");
            kind.is_some_and(|kind| kind.get() == "\"ephemeral\"")
        });
    match is_ours {
        true => Cow::Borrowed(raw),
        false => Cow::Owned(CacheTtl::FiveMinutes.mark()),
    }
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

    /// Marks the end of the system prompt, of `system` tokens with the tools before it, and of the
    /// last two user turns, where the model caches so much. The mark that was last in one request is
    /// last but one in the next, so that each request finds the entry that the one before it wrote.
    /// The plan says for how long, and which of them.
    pub(in crate::anthropic) fn mark_automatically(
        &mut self,
        plan: MarkPlan,
        system: u64,
        caps: &Capabilities,
    ) {
        if let Some(ttl) = plan.stable.filter(|_| caps.caches(system)) {
            mark_last(&mut self.system, ttl);
        }
        let Some(ttl) = plan.turns else { return };
        let mut behind: usize = self.turns.iter().map(|turn| sizes(&turn.blocks)).sum();
        let mut marks = 2;
        for turn in self.turns.iter_mut().rev() {
            if turn.role == Role::User {
                if caps.caches(system + tokens_of_bytes(behind)) {
                    mark_last(&mut turn.blocks, ttl);
                }
                marks -= 1;
            }
            if marks == 0 {
                return;
            }
            behind -= sizes(&turn.blocks);
        }
    }

    /// Takes out the oldest marks of the turns until, with `others`, no more are left than the
    /// API takes. Answers how many are too many without any of them.
    pub(in crate::anthropic) fn limit_marks(&mut self, others: usize, lost: &mut Losses) -> usize {
        let mut excess = (self.marks() + others).saturating_sub(MARKS_MAX);
        if excess > 0 {
            lost.lose("cache_control", "a request can have at most 4 cache marks");
        }
        let turns = self.turns.iter_mut().flat_map(|turn| &mut turn.blocks);
        for block in turns.chain(&mut self.system) {
            if excess == 0 {
                break;
            }
            excess = unmark(block, excess);
        }
        excess
    }
}

/// Bytes of the content of blocks.
fn sizes(blocks: &[Sent<'_>]) -> usize {
    blocks.iter().map(size).sum()
}

fn size(block: &Sent<'_>) -> usize {
    match &block.body {
        BlockBody::Text { text, .. } => text.len(),
        BlockBody::Image(_) => IMAGE_BYTES,
        BlockBody::Document {
            document,
            text,
            parts,
            ..
        } => match (&document.source, text) {
            (_, Some(text)) | (DocumentSource::Text(text), None) => text.len(),
            (DocumentSource::Media(media), None) => media.bytes(),
            (DocumentSource::Parts(_), None) => sizes(parts),
        },
        BlockBody::Search { result, .. } => result.content.iter().map(|text| text.text.len()).sum(),
        BlockBody::Thinking { text, .. } => text.len(),
        BlockBody::Redacted(data) => data.len(),
        BlockBody::Call { name, call, .. } => name.len() + call.input.text().len(),
        BlockBody::Result { parts, .. } => sizes(parts),
        BlockBody::Raw(raw) => raw.as_str().len(),
    }
}

fn marks_of(block: &Sent<'_>) -> usize {
    let inner = match &block.body {
        BlockBody::Result { parts, .. } | BlockBody::Document { parts, .. } => {
            parts.iter().map(marks_of).sum()
        }
        _ => 0,
    };
    inner + usize::from(block.cache.is_some())
}

/// Takes marks out of a block; answers how many are still too many.
fn unmark(block: &mut Sent<'_>, mut excess: usize) -> usize {
    if let BlockBody::Result { parts, .. } | BlockBody::Document { parts, .. } = &mut block.body {
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

fn mark_last(blocks: &mut [Sent<'_>], ttl: CacheTtl) {
    if let Some(block) = blocks.iter_mut().rfind(|block| block.is_markable()) {
        block.cache = Some(Cow::Owned(ttl.mark()));
    }
}
