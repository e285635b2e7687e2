//! Content parts of a type that no other dialect has. They are relayed where the provider speaks the
//! dialect of the caller, and refused where a request is translated: without them the model would
//! answer another question.

use bardo_types::chat::{ChatRequest, Part, Role, ServerBlock};
use bardo_types::model::Dialect;

use crate::codec::BadRequest;

/// Checks the messages of a user before they are written in `dialect`.
///
/// # Errors
/// For the first part whose type is unknown, with its place and the types that are known.
pub(crate) fn check(request: &ChatRequest, dialect: Dialect) -> Result<(), BadRequest> {
    if request.dialect == dialect {
        return Ok(());
    }
    let leading = request.leading_system().len();
    for (at, message) in request.messages.iter().enumerate() {
        if message.role != Role::User {
            continue;
        }
        for (index, part) in message.parts.iter().enumerate() {
            let Part::Server(block) = part else {
                continue;
            };
            if let Some(known) = known_types(block) {
                let (list, outside) = match request.dialect {
                    Dialect::Anthropic => ("messages", leading),
                    Dialect::Gemini => ("contents", leading),
                    Dialect::Responses => ("input", 0),
                    Dialect::Chat | Dialect::Completions => ("messages", 0),
                };
                let at = at.saturating_sub(outside);
                return Err(BadRequest::new(
                    format!("{list}[{at}].content[{index}].type"),
                    format!(
                        "`{}` is no type of content part that this model accepts; use {known}",
                        block.kind
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// The types that the block's own dialect has for the content of users; `None` for a block that is
/// known there and has no meaning elsewhere, such as the result of a tool that the provider ran.
fn known_types(block: &ServerBlock) -> Option<&'static str> {
    let kind = block.kind.as_str();
    match block.dialect {
        Dialect::Chat => Some("`text`, `image_url`, `input_audio` or `file`"),
        Dialect::Responses => (kind != "computer_screenshot")
            .then_some("`input_text`, `input_image`, `input_audio` or `input_file`"),
        Dialect::Anthropic => {
            let is_known =
                kind.contains("tool") || matches!(kind, "container_upload" | "compaction");
            (!is_known).then_some("`text`, `image`, `document`, `search_result` or `tool_result`")
        }
        Dialect::Gemini | Dialect::Completions => None,
    }
}
