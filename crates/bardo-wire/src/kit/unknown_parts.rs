//! Content parts of a type that no other dialect has. They are relayed where the provider speaks the
//! dialect of the caller, and refused where a request is translated: without them the model would
//! answer another question.

use bardo_types::chat::{ChatRequest, Message, Part, Role, ServerBlock};
use bardo_types::model::Dialect;

use crate::codec::BadRequest;

/// Characters of an unknown type that a refusal repeats.
const KIND_CHARS: usize = 64;

/// Checks all messages before they are written in `dialect`, with the results of tools in them.
///
/// # Errors
/// For the first part whose type is unknown, with its place and the types that are known.
pub(crate) fn check(request: &ChatRequest, dialect: Dialect) -> Result<(), BadRequest> {
    if request.dialect == dialect {
        return Ok(());
    }
    for (at, message) in request.messages.iter().enumerate() {
        for (index, part) in message.parts.iter().enumerate() {
            let found = match part {
                Part::Server(block) => known_types(block, message.role).map(|known| {
                    let inner = format!(".content[{index}].type");
                    let place = match (request.dialect, message.role) {
                        // Neighboring items of the model are joined to one message.
                        (Dialect::Responses, Role::Assistant) => String::new(),
                        _ => place(request, at, 0),
                    };
                    (block, known, place + &inner)
                }),
                Part::ToolResult(result) => {
                    let blocks = result.parts.iter().enumerate();
                    let mut unknown = blocks.filter_map(|(inner, part)| match part {
                        Part::Server(block) => Some((inner, block, known_in_results(block)?)),
                        _ => None,
                    });
                    unknown.next().map(|(inner, block, known)| {
                        let inner = match request.dialect {
                            Dialect::Anthropic => {
                                format!(".content[{index}].content[{inner}].type")
                            }
                            Dialect::Responses => format!(".output[{inner}].type"),
                            _ => format!(".content[{inner}].type"),
                        };
                        (block, known, place(request, at, index) + &inner)
                    })
                }
                _ => None,
            };
            if let Some((block, known, place)) = found {
                return Err(refusal(request.dialect, block, known, place));
            }
        }
    }
    Ok(())
}

fn refusal(dialect: Dialect, block: &ServerBlock, known: &str, place: String) -> BadRequest {
    let kind: String = block.kind.chars().take(KIND_CHARS).collect();
    let what = match known.starts_with("an item") {
        true => "item or content part",
        false => "content part",
    };
    let message = format!("the {what} `{kind}` cannot be translated for this model; use {known}");
    // Neighboring items are joined while they are read, so an index could be another item's.
    let param = match dialect {
        Dialect::Responses if place.starts_with('.') => "input".to_owned(),
        _ => place,
    };
    BadRequest::new(param, message).unreadable()
}

/// The place of a message in the body; `part` is the index of a tool's result within it. Empty
/// where the body's own index is not known.
fn place(request: &ChatRequest, at: usize, part: usize) -> String {
    let before = &request.messages[..at];
    let results = |message: &Message| {
        let parts = message.parts.iter();
        parts
            .filter(|part| matches!(part, Part::ToolResult(_)))
            .count()
    };
    match request.dialect {
        // The member `system` is read as the first message.
        Dialect::Anthropic => {
            let leading = usize::from(
                before
                    .first()
                    .is_some_and(|first| first.role == Role::System),
            );
            format!("messages[{}]", at - leading)
        }
        // Neighboring results of tools are joined to one message.
        Dialect::Chat | Dialect::Completions | Dialect::Gemini => {
            let at: usize = before.iter().map(|message| results(message).max(1)).sum();
            format!("messages[{}]", at + part)
        }
        Dialect::Responses => {
            let is_plain = |message: &Message| {
                message.role == Role::User && results(message) == 0 && message.parts.len() == 1
            };
            match before.iter().all(is_plain) {
                true => format!("input[{}]", at + part),
                false => String::new(),
            }
        }
    }
}

/// The types that the block's own dialect has for content of a role; `None` for a block that is
/// known there and has no meaning elsewhere, such as the result of a tool that the provider ran.
fn known_types(block: &ServerBlock, role: Role) -> Option<&'static str> {
    let kind = block.kind.as_str();
    match block.dialect {
        Dialect::Chat if role == Role::Assistant => {
            let is_known = matches!(kind, "thinking" | "redacted_thinking" | "reasoning");
            (!is_known).then_some("`text` or `refusal`")
        }
        Dialect::Chat => Some("`text`, `image_url`, `input_audio` or `file`"),
        Dialect::Responses if is_known_item(kind) => None,
        // Items are joined with the parts of messages.
        Dialect::Responses if role == Role::Assistant => Some(
            "an item of type `message`, `function_call`, `function_call_output` or `reasoning`, and in the content of \
            the assistant a part of type `output_text` or `refusal`",
        ),
        Dialect::Responses => Some("`input_text`, `input_image`, `input_audio` or `input_file`"),
        Dialect::Anthropic => {
            let is_known = is_known_block(kind);
            let known = match role {
                Role::System => "`text`",
                Role::User => "`text`, `image`, `document`, `search_result` or `tool_result`",
                Role::Assistant => "`text`, `thinking` or `tool_use`",
            };
            (!is_known).then_some(known)
        }
        Dialect::Gemini | Dialect::Completions => None,
    }
}

/// As [`known_types`], for content within the result of a tool.
fn known_in_results(block: &ServerBlock) -> Option<&'static str> {
    match block.dialect {
        Dialect::Chat => Some("`text` or `image_url`"),
        Dialect::Responses => (block.kind != "computer_screenshot")
            .then_some("`input_text`, `input_image` or `input_file`"),
        Dialect::Anthropic => (!is_known_block(&block.kind))
            .then_some("`text`, `image`, `document` or `search_result`"),
        Dialect::Gemini | Dialect::Completions => None,
    }
}

/// Blocks of Messages that only Anthropic understands. Its tools that run on its side have many
/// types, and each has `tool` in its name.
fn is_known_block(kind: &str) -> bool {
    kind.contains("tool") || matches!(kind, "container_upload" | "compaction" | "fallback")
}

/// Items of Responses that only OpenAI understands, and parts of them.
fn is_known_item(kind: &str) -> bool {
    kind.ends_with("_call")
        || kind.ends_with("_output")
        || kind.starts_with("mcp_")
        || kind.contains("compaction")
        || matches!(
            kind,
            "item_reference" | "configuration_update" | "computer_screenshot"
        )
}
