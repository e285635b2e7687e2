//! Input items to neutral messages.
//!
//! Neighboring items of the model (reasoning, words, calls) become one assistant message, and
//! neighboring tool outputs one user message.

use bardo_types::chat::{
    Audio, CacheMark, Citation, Document, DocumentSource, Image, MediaSource, Message, Part, Role,
    ServerBlock, Text, ToolCall, ToolInput, ToolResult,
};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use serde_json::value::RawValue;

use crate::codec::BadRequest;
use crate::json::Str;
use crate::kit::namespaces;
use crate::kit::openai::media_source;
use crate::responses::request::decode::ADDITIONAL_TOOLS;
use crate::responses::shapes::{Content, ContentPart, Item};
use crate::responses::{annotations, reasoning_item};

/// Appends the messages that `items` stand for.
pub(in crate::responses) fn messages(
    items: Vec<Item<'_>>,
    messages: &mut Vec<Message>,
) -> Result<(), BadRequest> {
    let mut builder = HistoryBuilder {
        messages,
        open: JoinableMessage::None,
    };
    for (index, item) in items.into_iter().enumerate() {
        builder
            .item(item)
            .map_err(|problem| problem.at(format!("input[{index}]")))?;
    }
    Ok(())
}

/// What is wrong within an item: the member and the fix.
struct Problem {
    member: String,
    message: String,
}

impl Problem {
    fn new(member: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            member: member.into(),
            message: message.into(),
        }
    }

    fn missing(member: &str) -> Self {
        Self::new(
            member,
            format!("`{member}` is missing; it must be a string"),
        )
    }

    fn at(self, path: String) -> BadRequest {
        BadRequest::new(
            format!("{path}.{}", self.member),
            format!("in `{path}`: {}", self.message),
        )
    }
}

/// Which message the next item may join.
#[derive(Clone, Copy, PartialEq)]
enum JoinableMessage {
    None,
    Assistant,
    Results,
}

struct HistoryBuilder<'a> {
    messages: &'a mut Vec<Message>,
    open: JoinableMessage,
}

impl HistoryBuilder<'_> {
    fn item(&mut self, item: Item<'_>) -> Result<(), Problem> {
        match item.kind() {
            "message" => self.message(item),
            "function_call" => self.call(&item, false),
            "custom_tool_call" => self.call(&item, true),
            "function_call_output" => self.output(item, false),
            "custom_tool_call_output" => self.output(item, true),
            "reasoning" => {
                self.reasoning(&item);
                Ok(())
            }
            // Read beside the request's own tools.
            ADDITIONAL_TOOLS => Ok(()),
            kind => {
                let block = Part::Server(ServerBlock {
                    dialect: Dialect::Responses,
                    kind: kind.to_owned(),
                    raw: item.rebuilt(),
                });
                if speaks_for_the_caller(kind) {
                    self.join(JoinableMessage::Results).parts.push(block);
                } else {
                    self.join(JoinableMessage::Assistant).parts.push(block);
                }
                Ok(())
            }
        }
    }

    /// The message that an item of this sort belongs to, begun if need be.
    fn join(&mut self, sort: JoinableMessage) -> &mut Message {
        if self.open != sort {
            self.open = sort;
            let role = if sort == JoinableMessage::Assistant {
                Role::Assistant
            } else {
                Role::User
            };
            self.messages.push(Message::new(role, Vec::new()));
        }
        self.messages
            .last_mut()
            .expect("a message was just pushed or is open")
    }

    fn message(&mut self, item: Item<'_>) -> Result<(), Problem> {
        let (role, developer) = match item.role.as_deref() {
            Some("user") => (Role::User, false),
            Some("assistant") => (Role::Assistant, false),
            Some("system") => (Role::System, false),
            Some("developer") => (Role::System, true),
            _ => {
                return Err(Problem::new(
                    "role",
                    "`role` must be \"user\", \"assistant\", \"system\" or \"developer\"",
                ));
            }
        };
        let parts = match item.content {
            Some(content) => parts(content, "content")?,
            None => {
                return Err(Problem::new(
                    "content",
                    "`content` is missing; it must be a string or a list of content parts",
                ));
            }
        };
        if role == Role::Assistant {
            self.join(JoinableMessage::Assistant).parts.extend(parts);
        } else {
            self.open = JoinableMessage::None;
            self.messages.push(Message {
                developer,
                ..Message::new(role, parts)
            });
        }
        Ok(())
    }

    fn call(&mut self, item: &Item<'_>, custom: bool) -> Result<(), Problem> {
        let text = |key| {
            item.string(key)
                .map_err(|key| Problem::new(key, format!("`{key}` must be a string")))
        };
        let id = text("call_id")?.ok_or_else(|| Problem::missing("call_id"))?;
        let name = text("name")?.ok_or_else(|| Problem::missing("name"))?;
        let input = if custom {
            ToolInput::Text(text("input")?.map(Str::into_string).unwrap_or_default())
        } else {
            ToolInput::Json(text("arguments")?.map(Str::into_string).unwrap_or_default())
        };
        let name = match text("namespace")? {
            Some(namespace) => namespaces::flat(&namespace, &name),
            None => name.into_string(),
        };
        let extra = item.others(&["call_id", "name", "input", "arguments"]);
        let parts = &mut self.join(JoinableMessage::Assistant).parts;
        let opaque = reasoning_item::take_call_state(parts);
        parts.push(Part::ToolCall(ToolCall {
            input,
            opaque,
            extra,
            ..ToolCall::new(id.into_string(), name, "")
        }));
        Ok(())
    }

    fn output(&mut self, item: Item<'_>, custom: bool) -> Result<(), Problem> {
        let call_id = item
            .string("call_id")
            .map_err(|key| Problem::new(key, "`call_id` must be a string"))?
            .ok_or_else(|| Problem::missing("call_id"))?
            .into_string();
        let parts = match item.output {
            Some(output) => parts(output, "output")?,
            None => {
                return Err(Problem::new(
                    "output",
                    "`output` is missing; it must be a string or a list of content parts",
                ));
            }
        };
        self.join(JoinableMessage::Results)
            .parts
            .push(Part::ToolResult(ToolResult {
                call_id,
                parts,
                is_error: false,
                custom,
                cache: None,
            }));
        Ok(())
    }

    fn reasoning(&mut self, item: &Item<'_>) {
        let raw = item.rebuilt();
        let parts = &mut self.join(JoinableMessage::Assistant).parts;
        reasoning_item::read(&raw, parts);
    }
}

/// Kinds that carry what the caller's side did, not what the model did.
fn speaks_for_the_caller(kind: &str) -> bool {
    kind.ends_with("_output")
        || matches!(
            kind,
            "mcp_approval_response"
                | "item_reference"
                | "configuration_update"
                | "compaction_trigger"
        )
}

/// Content parts, or one text.
fn parts(content: Content<'_>, member: &str) -> Result<Vec<Part>, Problem> {
    content.into_parts(|index, part| {
        content_part(part).map_err(|problem| Problem {
            member: format!("{member}[{index}].{}", problem.member),
            ..problem
        })
    })
}

fn content_part(part: ContentPart<'_>) -> Result<Part, Problem> {
    let cache = part.prompt_cache_breakpoint.and_then(mark);
    match part.kind.as_deref() {
        Some("input_text" | "output_text" | "text" | "summary_text" | "reasoning_text") => {
            let text = part.text.ok_or_else(|| Problem::missing("text"))?;
            Ok(Part::Text(Text {
                text: text.into_string(),
                citations: citations(part.annotations.as_deref().unwrap_or_default()),
                cache,
                opaque: None,
            }))
        }
        Some("refusal") => {
            let text = part.refusal.ok_or_else(|| Problem::missing("refusal"))?;
            Ok(Part::Refusal(text.into_string()))
        }
        Some("input_image") => {
            let source = match (part.image_url, part.file_id) {
                (Some(url), _) => media_source(url.into_string()),
                (None, Some(id)) => MediaSource::File(id.into_string()),
                (None, None) => {
                    return Err(Problem::new(
                        "image_url",
                        "an `input_image` needs `image_url` (an https or data URL) or `file_id`",
                    ));
                }
            };
            Ok(Part::Image(Image {
                source,
                detail: part.detail.map(Str::into_string),
                cache,
            }))
        }
        Some("input_file") => file(part, cache),
        Some("input_audio") => {
            let audio = part
                .input_audio
                .ok_or_else(|| Problem::new("input_audio", "`input_audio` is missing"))?;
            Ok(Part::Audio(Audio {
                data: audio.data.map(Str::into_string).unwrap_or_default(),
                format: audio.format.map(Str::into_string).unwrap_or_default(),
                id: None,
            }))
        }
        Some(kind) => Ok(Part::Server(ServerBlock {
            dialect: Dialect::Responses,
            kind: kind.to_owned(),
            raw: part.rebuilt(),
        })),
        None => Err(Problem::new(
            "type",
            "`type` is missing; use \"input_text\", \"input_image\" or \"input_file\"",
        )),
    }
}

fn file(part: ContentPart<'_>, cache: Option<CacheMark>) -> Result<Part, Problem> {
    let title = part.filename.map(Str::into_string);
    let source = match (part.file_data, part.file_url, part.file_id) {
        (Some(data), _, _) => match media_source(data.into_string()) {
            // Base64 without the `data:` in front; only the name tells the type then.
            MediaSource::Url(data) => MediaSource::Base64 {
                media_type: type_of_name(title.as_deref()).to_owned(),
                data,
            },
            source => source,
        },
        (None, Some(url), _) => MediaSource::Url(url.into_string()),
        (None, None, Some(id)) => MediaSource::File(id.into_string()),
        (None, None, None) => {
            return Err(Problem::new(
                "file_data",
                "an `input_file` needs `file_data` (a data URL), `file_url` or `file_id`",
            ));
        }
    };
    Ok(Part::Document(Document {
        source: DocumentSource::Media(source),
        title,
        context: None,
        citations: false,
        cache,
    }))
}

fn type_of_name(name: Option<&str>) -> &'static str {
    match name
        .and_then(|name| name.rsplit_once('.'))
        .map(|(_, end)| end)
    {
        Some("txt") => "text/plain",
        Some("md") => "text/markdown",
        Some("csv") => "text/csv",
        Some("json") => "application/json",
        Some("html") => "text/html",
        _ => "application/pdf",
    }
}

fn mark(raw: &RawValue) -> Option<CacheMark> {
    (raw.get() != "null").then(|| CacheMark(raw.into()))
}

/// Annotations of earlier output. Their offsets count within their own part, which is all the
/// caller sends back.
fn citations(list: &[&RawValue]) -> Vec<Citation> {
    list.iter()
        .map(|raw| annotations::read(RawJson::from(*raw), 0))
        .collect()
}
