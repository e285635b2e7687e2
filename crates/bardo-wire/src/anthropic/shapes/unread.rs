//! Members of content blocks that have no place in the neutral part.

use super::{Block, BlockKind, Content, Source};
use crate::json::{Extra, Members};

impl Block<'_> {
    /// Whether the block holds members that a relay sends on and its neutral part lacks.
    pub(in crate::anthropic) fn holds_unread_members(&self) -> bool {
        match self.kind {
            // Kept as written; a call keeps its other members.
            BlockKind::Other | BlockKind::ToolUse => false,
            BlockKind::Text | BlockKind::Thinking | BlockKind::Redacted => self.holds_more(),
            BlockKind::Image => self.holds_more() || self.source_holds_more(),
            BlockKind::Document => {
                self.holds_more() || self.source_holds_more() || self.cites_by_more()
            }
            BlockKind::SearchResult => {
                self.holds_more() || self.cites_by_more() || self.holds_other_than_text()
            }
            BlockKind::ToolResult => self.holds_more() || content_holds_more(self.content.as_ref()),
        }
    }

    fn holds_more(&self) -> bool {
        holds_values(&self.rest.extra)
    }

    fn source_holds_more(&self) -> bool {
        self.source.as_ref().is_some_and(Source::holds_more)
    }

    /// Whether `citations` says more than that they are on or off.
    fn cites_by_more(&self) -> bool {
        let is_switch =
            |members: Members<'_>| members.extra.iter().all(|(name, _)| &**name == "enabled");
        self.citations
            .is_some_and(|raw| !serde_json::from_str(raw.get()).is_ok_and(is_switch))
    }

    /// A search result keeps its texts alone.
    fn holds_other_than_text(&self) -> bool {
        let other = |block: &Block<'_>| block.kind != BlockKind::Text;
        match &self.content {
            Some(Content::List(blocks)) if blocks.iter().any(other) => true,
            content => content_holds_more(content.as_ref()),
        }
    }
}

impl Source<'_> {
    /// Each kind of source reads its own members.
    fn holds_more(&self) -> bool {
        let kind = self.kind.as_deref().unwrap_or_default();
        let belongs = |is_given: bool, kinds: &[&str]| !is_given || kinds.contains(&kind);
        let is_told_type = self.media_type.as_deref() != Some("text/plain") || kind != "text";
        holds_values(&self.extra)
            || is_told_type && !belongs(self.media_type.is_some(), &["base64"])
            || !belongs(self.data.is_some(), &["base64", "text"])
            || !belongs(self.url.is_some(), &["url"])
            || !belongs(self.file_id.is_some(), &["file"])
            || !belongs(self.content.is_some(), &["content"])
            || content_holds_more(self.content.as_ref())
    }
}

/// Whether some members are given: clients with types write those that are unset as `null`.
fn holds_values(extra: &Extra<'_>) -> bool {
    extra.iter().any(|(_, raw)| raw.get() != "null")
}

/// Whether a block in a list holds unread members.
pub(in crate::anthropic) fn content_holds_more(content: Option<&Content<'_>>) -> bool {
    match content {
        Some(Content::List(blocks)) => blocks.iter().any(Block::holds_unread_members),
        Some(Content::Text(_)) | None => false,
    }
}
