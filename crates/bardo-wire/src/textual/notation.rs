//! The tags between which models write their calls.

use bardo_types::model::ToolFormat;

use super::fences::{Tag, begun_tag, tag_at};
use super::xml::Declared;
use super::{invoke, xml};

/// How one family of models writes calls between tags.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Notation {
    /// Opens a call, or several.
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Opens a call that is written as tags.
    pub(super) function: &'static str,
    pub(super) function_end: &'static str,
    /// A call may also be one JSON object.
    pub(super) json: bool,
    /// A call may stand without the tags around it.
    pub(super) bare: bool,
    /// Tags around values, within which nothing else counts.
    values: &'static [(&'static str, &'static str)],
}

/// Hermes and Qwen: `<tool_call>{json}</tool_call>`.
const OBJECTS: Notation = Notation {
    open: "<tool_call>",
    close: "</tool_call>",
    function: xml::FUNCTION,
    function_end: xml::FUNCTION_END,
    json: true,
    bare: false,
    values: &[],
};

/// Qwen3-Coder, which sometimes leaves out the outer tag.
const FUNCTIONS: Notation = Notation {
    bare: true,
    ..OBJECTS
};

/// Older models of Anthropic: `<function_calls>`, and one `<invoke>` for each call.
const INVOCATIONS: Notation = Notation {
    open: "<function_calls>",
    close: "</function_calls>",
    function: invoke::INVOKE,
    function_end: invoke::INVOKE_END,
    json: false,
    bare: false,
    values: &[
        (invoke::PARAMETER, invoke::PARAMETER_END),
        (invoke::PARAMETERS, invoke::PARAMETERS_END),
    ],
};

/// Where a call that is written as tags ends.
pub(super) struct End {
    pub(super) at: usize,
    /// Length of the tag that ends it.
    pub(super) length: usize,
}

impl Notation {
    pub(super) fn of(format: ToolFormat) -> &'static Self {
        match format {
            ToolFormat::QwenXml => &FUNCTIONS,
            ToolFormat::Anthropic => &INVOCATIONS,
            _ => &OBJECTS,
        }
    }

    /// Reads a call from its opening tag up to its end; `cut` where more of it was to come.
    pub(super) fn read(
        &self,
        text: &str,
        tools: &Declared<'_>,
        cut: bool,
    ) -> Option<(String, String)> {
        if *self == INVOCATIONS {
            invoke::read_call(text, tools, cut)
        } else {
            xml::read_call(text, tools)
        }
    }

    /// Looks on from `searched` for the end of the call; `within` is the closing tag of the value
    /// that the search is in. Both are kept for when more text is there.
    pub(super) fn find_end(
        &self,
        text: &str,
        searched: &mut usize,
        within: &mut Option<&'static str>,
    ) -> Option<End> {
        loop {
            let rest = &text[*searched..];
            if let Some(close) = *within {
                let Some(at) = rest.find(close) else {
                    *searched = text.len() - begun_tag(rest, close);
                    return None;
                };
                *searched += at + close.len();
                *within = None;
                continue;
            }
            let Some(at) = memchr::memchr(b'<', rest.as_bytes()) else {
                *searched = text.len();
                return None;
            };
            *searched += at;
            let rest = &rest[at..];
            let ends = [(self.function_end, None), (self.close, None)];
            let values = self
                .values
                .iter()
                .map(|(open, close)| (*open, Some(*close)));
            let mut tags = ends.into_iter().chain(values);
            let Some((tag, value)) = tags.find(|(tag, _)| tag_at(rest, tag) != Tag::No) else {
                *searched += 1;
                continue;
            };
            if !rest.starts_with(tag) {
                return None;
            }
            if value.is_none() {
                // What closes everything is no part of the call and is looked at again.
                let length = if tag == self.close { 0 } else { tag.len() };
                return Some(End {
                    at: *searched,
                    length,
                });
            }
            *searched += tag.len();
            *within = value;
        }
    }
}
