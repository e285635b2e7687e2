//! Code fences, and tags that may be cut.

/// Whether a text starts with a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Here,
    /// The text may become a tag when more of it arrives.
    Perhaps,
    No,
}

pub(super) fn tag_at(text: &str, tag: &str) -> Tag {
    if text.starts_with(tag) {
        Tag::Here
    } else if tag.starts_with(text) {
        Tag::Perhaps
    } else {
        Tag::No
    }
}

/// How many bytes at the end of `text` may be the beginning of `tag`.
pub(super) fn begun_tag(text: &str, tag: &str) -> usize {
    let bytes = text.as_bytes();
    (1..tag.len().min(bytes.len() + 1))
        .rev()
        .find(|&length| bytes.ends_with(&tag.as_bytes()[..length]))
        .unwrap_or(0)
}

/// Whether the text is inside a Markdown code fence, followed line by line.
#[derive(Debug, Clone)]
pub(super) struct Fences {
    open: Option<(u8, usize)>,
    /// The text to come begins a line.
    line_start: bool,
}

impl Default for Fences {
    fn default() -> Self {
        Self {
            open: None,
            line_start: true,
        }
    }
}

impl Fences {
    pub(super) fn inside(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn at_line_start(&self) -> bool {
        self.line_start
    }

    /// Looks at `rest`, which begins a line, for a fence. Answers false, and keeps its state,
    /// when more text is needed to tell.
    pub(super) fn begin_line(&mut self, rest: &str) -> bool {
        let bytes = rest.as_bytes();
        let indent = bytes.iter().take(3).take_while(|&&b| b == b' ').count();
        let Some(&mark) = bytes.get(indent) else {
            return false;
        };
        if matches!(mark, b'`' | b'~') {
            let run = bytes[indent..].iter().take_while(|&&b| b == mark).count();
            let Some(after) = bytes.get(indent + run) else {
                return false;
            };
            match self.open {
                None if run >= 3 => self.open = Some((mark, run)),
                Some((open, length))
                    if open == mark && run >= length && after.is_ascii_whitespace() =>
                {
                    self.open = None;
                }
                _ => {}
            }
        }
        self.line_start = false;
        true
    }

    /// A line ended.
    pub(super) fn end_line(&mut self) {
        self.line_start = true;
    }

    /// Something other than lines of text stood here.
    pub(super) fn resume_within_line(&mut self) {
        self.line_start = false;
    }
}
